/* Labels: numbers or texts become classes, or stay numbers when they are real targets. */
#include "base/number_text.h"
#include "data/reading.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- One at a time ---- */

/* Adds the text to the list, and says by *many whether there are too many different ones. */
static blv_error add_text(blv_reading *r, blv_list *list, const char *text, size_t length,
                          bool *many) {
    int32_t *place = blv_list_room(list, 1, sizeof *place);
    int32_t number = place ? blv_texts_number(&r->classes, text, length) : -1;
    BLV_CHECK(blv_need_memory(number >= 0, r->why));
    *place = number;
    list->count++;
    *many = r->classes.items.count > r->options.max_classes;
    return BLV_OK;
}

static blv_error reject_classes(blv_reading *r, const char *source) {
    return blv_explain(r->why, BLV_E_FORMAT,
                       "%s: more than %zu different labels; allow more classes, or take them as "
                       "real targets",
                       source, r->options.max_classes);
}

bool blv_label_number(const blv_reading *r, const char *text, double *value) {
    return blv_number_parse(text, value) == 0 ||
           (r->comma_labels && blv_comma_number(text, strlen(text), value));
}

blv_error blv_add_target(blv_reading *r, double target) {
    double *place = blv_list_room(&r->target, 1, sizeof *place);
    BLV_CHECK(blv_need_memory(place, r->why));
    *place = target;
    r->target.count++;
    return BLV_OK;
}

/* The labels so far, which are numbers, as real targets. */
static blv_error make_targets(blv_reading *r) {
    const int32_t *label = r->label.items;
    double value = 0.0;
    for (size_t i = 0; i < r->label.count; i++) {
        const bool missing = label[i] < 0; /* the row will be left out */
        if (!missing)
            blv_label_number(r, blv_texts_at(&r->classes, (size_t)label[i]), &value);
        BLV_CHECK(blv_add_target(r, missing ? NAN : value));
    }
    r->label.count = 0;
    return BLV_OK;
}

static bool all_numbers(const blv_reading *r, bool *whole) {
    double value;
    *whole = true;
    for (size_t n = 0; n < r->classes.items.count; n++) {
        if (!blv_label_number(r, blv_texts_at(&r->classes, n), &value))
            return false;
        *whole = *whole && value == floor(value);
    }
    return true;
}

/* Whether the labels are measured rather than named: numbers, many of them different, and not
 * whole or with few rows each. */
static bool look_real(const blv_reading *r, size_t rows) {
    enum { FEW = 20, ROWS_EACH = 10 };
    const size_t different = r->classes.items.count;
    bool whole;
    if (r->options.targets != BLV_TARGETS_AUTO || r->numbered || r->truth.count > 0 ||
        different <= FEW || !all_numbers(r, &whole))
        return false;
    return !whole || different * ROWS_EACH > rows;
}

/* More classes than there may be are measured numbers, where they can be; the texts of so many are
 * not kept. */
static blv_error take_as_targets(blv_reading *r, const blv_list *list, bool *taken) {
    *taken = list == &r->label && !r->options.truth && !r->share && look_real(r, r->label.count);
    if (!*taken)
        return BLV_OK;
    BLV_CHECK(make_targets(r));
    r->options.real_targets = r->many_labels = true;
    return blv_need_memory(blv_dataset_note(r->dataset,
                                            "the labels are taken as real numbers: more than %zu "
                                            "different ones",
                                            r->options.max_classes),
                           r->why);
}

blv_error blv_add_label_text(blv_reading *r, blv_list *list, const char *text, size_t length,
                             const char *shown, size_t line) {
    bool many = false;
    BLV_CHECK(add_text(r, list, text, length, &many));
    if (many) {
        bool taken;
        BLV_CHECK(take_as_targets(r, list, &taken));
        many = !taken;
    }
    if (!many)
        return BLV_OK;
    char source[256];
    snprintf(source, sizeof source, "%s: line %zu", shown, line);
    return reject_classes(r, source);
}

static blv_error add_number(blv_reading *r, double label, const char *source) {
    char text[32];
    bool many = false;
    if (r->options.real_targets)
        return blv_add_target(r, label);
    if (!(fabs(label) <= 9007199254740992.0) || label != floor(label))
        return blv_explain(r->why, BLV_E_FORMAT,
                           "%s: label %g of row %zu is not a whole number; expected classes, or "
                           "that they are taken as real targets",
                           source, label, r->label.count);
    int length = snprintf(text, sizeof text, "%.0f", label + 0.0);
    r->numbered = true;
    BLV_CHECK(add_text(r, &r->label, text, (size_t)length, &many));
    return many ? reject_classes(r, source) : BLV_OK;
}

blv_error blv_add_label_numbers(blv_reading *r, const double *labels, size_t count,
                                const char *source) {
    for (size_t i = 0; i < count; i++)
        BLV_CHECK(add_number(r, labels[i], source));
    return BLV_OK;
}

blv_error blv_put_labels(blv_reading *r) {
    bool put = true;
    if (r->label.count > 0 && look_real(r, r->dataset->view.rows)) {
        BLV_CHECK(make_targets(r));
        BLV_CHECK(blv_need_memory(
            blv_dataset_note(r->dataset, "the labels are taken as real numbers: %zu different ones",
                             r->classes.items.count),
            r->why));
    }
    if (r->label.count > 0)
        put = blv_dataset_put_classes(r->dataset, &r->classes, &r->label, &r->truth);
    else if (r->target.count > 0)
        put =
            blv_dataset_put(r->dataset, BLV_PART_TARGET, blv_list_take(&r->target, sizeof(double)));
    return blv_need_memory(put, r->why);
}

/* ---- A file of labels ---- */

static blv_error reject_count(blv_reading *r, const char *shown, size_t count) {
    return blv_explain(r->why, BLV_E_FORMAT, "%s: %zu labels; expected %zu, one for each row",
                       shown, count, r->dataset->view.rows);
}

static blv_error add_idx_labels(blv_reading *r, blv_input *input, const char *shown) {
    blv_idx idx;
    void *labels = NULL;
    BLV_CHECK(blv_idx_open(&idx, input, r->why));
    if (idx.dims != 1)
        return blv_explain(r->why, BLV_E_FORMAT, "%s: %zu dimensions; expected labels with one",
                           shown, idx.dims);
    if (idx.count != r->dataset->view.rows)
        return reject_count(r, shown, (size_t)idx.count);
    blv_error error = blv_idx_read(&idx, BLV_F64, &labels, r->why);
    if (!error)
        error = blv_add_label_numbers(r, labels, (size_t)idx.count, shown);
    free(labels);
    return error;
}

static blv_error add_array_labels(blv_reading *r, blv_input *input, const char *shown) {
    blv_npz *npz = NULL;
    unsigned char *held = NULL;
    blv_error error = blv_npz_open_input(&npz, &held, input, r->why);
    const char *name = error ? NULL : blv_npz_label_name(npz);
    if (name)
        error = blv_add_npz_labels(r, npz, name);
    else if (!error)
        error = blv_explain(r->why, BLV_E_NAME,
                            "%s: no array of labels; expected y, labels or target", shown);
    blv_npz_close(npz);
    free(held);
    return error;
}

static blv_error add_label_line(blv_reading *r, const char *p, size_t length, const char *shown,
                                size_t line) {
    bool real = r->options.real_targets;
    double target;
    while (length > 0 && p[length - 1] && strchr(" \t\r", p[length - 1]))
        length--;
    if (length == 0)
        return BLV_OK;
    if (r->label.count + r->target.count == r->dataset->view.rows)
        return blv_explain(r->why, BLV_E_FORMAT,
                           "%s: line %zu: a label too many; expected %zu, one for each row", shown,
                           line, r->dataset->view.rows);
    if (!real && memchr(p, 0, length))
        return blv_explain(r->why, BLV_E_FORMAT, "%s: line %zu: the label has a zero byte", shown,
                           line);
    if (!real)
        return blv_add_label_text(r, &r->label, p, length, shown, line);
    if (blv_decimal(p, &target) == p + length && isfinite(target))
        return blv_add_target(r, target);
    return blv_explain(r->why, BLV_E_FORMAT, "%s: line %zu: expected a number, found %s", shown,
                       line, blv_show(p, length).text);
}

static blv_error add_text_labels(blv_reading *r, blv_input *input, const char *shown) {
    char *begin = NULL, *end = NULL;
    const char *p = NULL;
    bool last;
    size_t line = 1;
    for (;;) {
        BLV_CHECK(blv_input_lines(input, p, &begin, &end, &last, r->why));
        if (begin == end)
            break;
        for (p = begin; p < end; line++) {
            const char *newline = memchr(p, '\n', (size_t)(end - p));
            BLV_CHECK(add_label_line(r, p, (size_t)(newline - p), shown, line));
            p = newline + 1;
        }
    }
    size_t count = r->label.count + r->target.count;
    return count == r->dataset->view.rows ? BLV_OK : reject_count(r, shown, count);
}

static blv_error add_labels(blv_reading *r, blv_input *input, const char *shown) {
    blv_format format;
    BLV_CHECK(blv_detect_format(input, &format, r->why));
    switch (format) {
    case BLV_FORMAT_IDX:
        return add_idx_labels(r, input, shown);
    case BLV_FORMAT_NPY:
    case BLV_FORMAT_NPZ:
        return add_array_labels(r, input, shown);
    case BLV_FORMAT_LIBSVM: /* text: numbers */
    case BLV_FORMAT_CSV:    /* text: words */
        return add_text_labels(r, input, shown);
    default:
        return blv_explain(r->why, BLV_E_FORMAT,
                           "%s: expected labels as IDX, NPY, NPZ or text, one a line", shown);
    }
}

blv_error blv_read_label_file(blv_reading *r, const char *path) {
    blv_input *input;
    BLV_CHECK(blv_input_open(&input, path, r->why));
    blv_input_limit(input, &(blv_memory_limit){.most = r->options.max_memory,
                                               .file_bytes = blv_input_size(input)});
    blv_error error = add_labels(r, input, blv_shown_path(path));
    blv_input_close(input);
    return error;
}
