/* Labels: numbers or texts become classes, or stay numbers when they are real targets. */
#include "base/decimal.h"
#include "data/reading.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- One at a time ---- */

static blv_error reject_classes(blv_reading *r, const char *source) {
    return blv_explain(r->why, BLV_E_FORMAT,
                       "%s: more than %zu different labels; allow more classes, or take them as "
                       "real targets",
                       source, r->options.max_classes);
}

blv_error blv_add_label_text(blv_reading *r, blv_label_texts *texts, const char *text,
                             size_t length, size_t line) {
    blv_error error = blv_label_texts_add(texts, text, length);
    if (error == BLV_E_FORMAT) {
        char source[256];
        snprintf(source, sizeof source, "%s: line %zu", r->shown, line);
        return reject_classes(r, source);
    }
    return error ? blv_explain_memory(r->why) : BLV_OK;
}

/* ---- All at once ---- */

bool blv_put_labels(blv_reading *r, blv_label_texts *texts, double **target) {
    if (texts)
        return blv_label_texts_finish(texts, r->dataset);
    double *taken = *target;
    *target = NULL;
    return !taken || blv_dataset_put(r->dataset, BLV_PART_TARGET,
                                     blv_trimmed(taken, r->dataset->view.rows, sizeof *taken));
}

static blv_error add_number(blv_reading *r, blv_label_texts *texts, double label, size_t row,
                            const char *source) {
    char text[32];
    if (!(fabs(label) <= 9007199254740992.0) || label != floor(label))
        return blv_explain(r->why, BLV_E_FORMAT,
                           "%s: label %g of row %zu is not a whole number; expected classes, or "
                           "that they are taken as real targets",
                           source, label, row);
    int length = snprintf(text, sizeof text, "%.0f", label + 0.0);
    blv_error error = blv_label_texts_add(texts, text, (size_t)length);
    if (error == BLV_E_FORMAT)
        return reject_classes(r, source);
    return error ? blv_explain_memory(r->why) : BLV_OK;
}

blv_error blv_take_number_labels(blv_reading *r, const double *labels, const char *source) {
    size_t rows = r->dataset->view.rows;
    bool real = r->options.real_targets;
    double *target = real ? blv_data_copy(labels, rows, sizeof *labels) : NULL;
    blv_label_texts *texts = real ? NULL : blv_label_texts_new(r->options.max_classes);
    blv_error error = texts || target ? BLV_OK : blv_explain_memory(r->why);
    for (size_t i = 0; !error && texts && i < rows; i++)
        error = add_number(r, texts, labels[i], i, source);
    if (!error && !blv_put_labels(r, texts, &target))
        error = blv_explain_memory(r->why);
    blv_label_texts_free(texts);
    return error;
}

/* ---- A file of labels ---- */

static blv_error reject_count(blv_reading *r, const char *path, size_t count) {
    return blv_explain(r->why, BLV_E_FORMAT, "%s: %zu labels; expected %zu, one for each row",
                       blv_shown_path(path), count, r->dataset->view.rows);
}

static blv_error take_idx_labels(blv_reading *r, blv_input *input, const char *path) {
    blv_idx idx;
    void *labels = NULL;
    BLV_CHECK(blv_idx_open(&idx, input, r->why));
    if (idx.dims != 1)
        return blv_explain(r->why, BLV_E_FORMAT, "%s: %zu dimensions; expected labels with one",
                           blv_shown_path(path), idx.dims);
    if (idx.count != r->dataset->view.rows)
        return reject_count(r, path, (size_t)idx.count);
    blv_error error = blv_idx_read(&idx, BLV_F64, &labels, r->why);
    if (!error)
        error = blv_take_number_labels(r, labels, blv_shown_path(path));
    free(labels);
    return error;
}

static blv_error take_array_labels(blv_reading *r, blv_input *input, const char *path) {
    blv_npz *npz = NULL;
    unsigned char *held = NULL;
    blv_error error = blv_npz_open_input(&npz, &held, input, r->why);
    if (!error) {
        const char *name = blv_npz_label_name(npz);
        error = name ? blv_take_npz_labels(r, npz, name)
                     : blv_explain(r->why, BLV_E_NAME,
                                   "%s: no array of labels; expected y, labels or target",
                                   blv_shown_path(path));
    }
    blv_npz_close(npz);
    free(held);
    return error;
}

typedef struct text_labels {
    blv_reading *r;
    const char *path;
    blv_label_texts *texts; /* NULL: numbers */
    double *target;
    size_t count, line;
} text_labels;

static blv_error take_label_line(text_labels *t, const char *p, size_t length) {
    while (length > 0 && p[length - 1] && strchr(" \t\r", p[length - 1]))
        length--;
    if (length == 0)
        return BLV_OK;
    if (t->count == t->r->dataset->view.rows)
        return blv_explain(t->r->why, BLV_E_FORMAT,
                           "%s: line %zu: a label too many; expected %zu, one for each row",
                           blv_shown_path(t->path), t->line, t->count);
    if (t->texts && memchr(p, 0, length))
        return blv_explain(t->r->why, BLV_E_FORMAT, "%s: line %zu: the label has a zero byte",
                           blv_shown_path(t->path), t->line);
    if (t->texts) {
        blv_reading as_file = *t->r;
        as_file.shown = blv_shown_path(t->path);
        t->count++;
        return blv_add_label_text(&as_file, t->texts, p, length, t->line);
    }
    assert(t->target);
    double *target = &t->target[t->count++];
    if (blv_decimal(p, target) == p + length && isfinite(*target))
        return BLV_OK;
    return blv_explain(t->r->why, BLV_E_FORMAT, "%s: line %zu: expected a number, found %s",
                       blv_shown_path(t->path), t->line, blv_show(p, length).text);
}

static blv_error take_label_lines(text_labels *t, blv_input *input) {
    const char *p = NULL;
    for (;;) {
        char *begin = NULL, *end = NULL;
        bool last;
        blv_error error = blv_input_lines(input, p, &begin, &end, &last, t->r->why);
        if (error || begin == end)
            return error;
        for (p = begin; p < end; t->line++) {
            const char *newline = memchr(p, '\n', (size_t)(end - p));
            error = take_label_line(t, p, (size_t)(newline - p));
            if (error)
                return error;
            p = newline + 1;
        }
    }
}

static blv_error take_text_labels(blv_reading *r, blv_input *input, const char *path) {
    text_labels t = {.r = r, .path = path, .line = 1};
    if (r->options.real_targets)
        t.target = blv_data_alloc(r->dataset->view.rows, sizeof *t.target);
    else
        t.texts = blv_label_texts_new(r->options.max_classes);
    blv_error error = t.target || t.texts ? BLV_OK : blv_explain_memory(r->why);
    if (!error)
        error = take_label_lines(&t, input);
    if (!error && t.count != r->dataset->view.rows)
        error = reject_count(r, path, t.count);
    if (!error && !blv_put_labels(r, t.texts, &t.target))
        error = blv_explain_memory(r->why);
    free(t.target);
    blv_label_texts_free(t.texts);
    return error;
}

blv_error blv_read_label_file(blv_reading *r, const char *path) {
    blv_input *input;
    blv_format format;
    blv_error error = blv_input_open(&input, path, r->why);
    if (!error)
        error = blv_detect_format(input, &format, r->why);
    if (!error) {
        switch (format) {
        case BLV_FORMAT_IDX:
            error = take_idx_labels(r, input, path);
            break;
        case BLV_FORMAT_NPY:
        case BLV_FORMAT_NPZ:
            error = take_array_labels(r, input, path);
            break;
        case BLV_FORMAT_LIBSVM: /* text: numbers */
        case BLV_FORMAT_CSV:    /* text: words */
            error = take_text_labels(r, input, path);
            break;
        default:
            error = blv_explain(r->why, BLV_E_FORMAT,
                                "%s: expected labels as IDX, NPY, NPZ or text, one a line",
                                blv_shown_path(path));
        }
    }
    blv_input_close(input);
    return error;
}
