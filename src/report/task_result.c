#include "report/html.h"
#include "report/run_page.h"
#include "report/table.h"
#include "store/record.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct result {
    uint64_t rows, suspects;
    double estimated_wrong, false_alarms;
    bool all_may_be_right;
    char **cautions;
    size_t caution_count;
    blv_values truth; /* clean; empty: not known */
    char *models;     /* JSON: {key: {"name", numbers}} */
    char *model;      /* clean */
    bool real, kept;  /* tune */
    double gain, gain_error;
    char *penalty_of; /* JSON: {name: penalty} */
} result;
static const blv_field result_fields[] = {BLV_FIELD(result, rows, WHOLE),
                                          BLV_FIELD(result, suspects, WHOLE),
                                          BLV_FIELD(result, estimated_wrong, REAL),
                                          BLV_FIELD(result, false_alarms, REAL),
                                          BLV_FIELD(result, all_may_be_right, BOOL),
                                          BLV_FIELD_ARRAY(result, cautions, caution_count, TEXTS),
                                          BLV_FIELD(result, truth, VALUES),
                                          BLV_FIELD(result, models, JSON),
                                          BLV_FIELD(result, model, TEXT),
                                          BLV_FIELD(result, real, BOOL),
                                          BLV_FIELD(result, kept, BOOL),
                                          BLV_FIELD(result, gain, REAL),
                                          BLV_FIELD(result, gain_error, REAL),
                                          BLV_FIELD(result, penalty_of, JSON),
                                          {0}};

/* ---- Names ---- */

static bool is_kind(const blv_run_info *run, const char *kind) {
    return run->kind && strcmp(run->kind, kind) == 0;
}

bool report_is_task(const blv_run_info *run) {
    return is_kind(run, "clean") || is_kind(run, "tune");
}

static const char *train_of(const blv_run_info *run) {
    const blv_value *train = blv_values_find(&run->problem_parameters, "train");
    return train && train->kind == BLV_VALUE_TEXT ? train->text : "?";
}

void report_task_title(const blv_run_info *run, char *title, size_t size) {
    if (report_is_task(run))
        snprintf(title, size, "%s %.80s",
                 is_kind(run, "clean") ? "Wrong labels in" : "Penalties for", train_of(run));
}

/* ---- Tables of models ---- */

/* A row for each model: its name, and what the columns say. */
static blv_error put_models(FILE *out, const char *models, const char *align,
                            const char *const *titles, const char *const *columns) {
    const char *key;
    json_t *all = models ? json_loads(models, 0, NULL) : NULL, *value;
    blv_error error = BLV_OK;
    blv_arena arena = {0};
    if (json_object_size(all) > 0)
        report_html_table_begin(out, align, titles);
    json_object_foreach(all, key, value) {
        blv_values model;
        const char *cells[5] = {json_string_value(json_object_get(value, "name"))};
        if (strcmp(key, "result") == 0) /* one of the others */
            continue;
        if (!cells[0] || (error = blv_values_read(&model, value)) != BLV_OK)
            break;
        for (size_t i = 0; columns[i]; i++) {
            const double number = blv_values_number(&model, columns[i]);
            bool share = strstr(columns[i], "accuracy");
            cells[i + 1] =
                report_number(&arena, share ? "%.1f%%" : "%.4f", share ? 100.0 * number : number);
        }
        report_html_table_row(out, align, cells);
        blv_values_free(&model);
    }
    if (json_object_size(all) > 0)
        report_html_table_end(out);
    json_decref(all);
    error = arena.failed ? BLV_E_MEMORY : error;
    blv_arena_free(&arena);
    return error;
}

/* ---- Answers ---- */

static blv_error put_clean(FILE *out, const blv_run_info *run, const result *r) {
    static const char *const titles[] = {"Trained on", "Right on validation rows",
                                         "Right on test rows"};
    static const char *const columns[] = {"val_accuracy", "test_accuracy", NULL};
    report_html_print(
        out, "p",
        "%.200s: %" PRIu64 " of %" PRIu64 " rows are suspect (%.1f%%). Estimated "
        "share of wrong labels: %.1f%%%s.",
        train_of(run), r->suspects, r->rows, 100.0 * (double)r->suspects / (double)r->rows,
        100.0 * r->estimated_wrong,
        r->all_may_be_right && r->estimated_wrong >= 0.0005 ? ", and none is about as likely" : "");
    if (!isnan(r->false_alarms))
        report_html_print(out, "p", "Right labels expected among the suspects: %.0f%%.",
                          100.0 * r->false_alarms);
    for (size_t i = 0; i < r->caution_count; i++)
        report_html_print(out, "p", "Caution: %.300s.", r->cautions[i]);
    if (r->truth.count > 0)
        report_html_print(out, "p",
                          "Of %.0f labels that are known to be wrong, %.0f are among them "
                          "(%.1f%%); %.1f%% of the suspects are wrong. AUROC %.4f.",
                          blv_values_number(&r->truth, "wrong"),
                          blv_values_number(&r->truth, "found"),
                          100.0 * blv_values_number(&r->truth, "recall"),
                          100.0 * blv_values_number(&r->truth, "precision"),
                          blv_values_number(&r->truth, "auroc_probability"));
    if (r->model)
        report_html_print(out, "p", "Model: %.200s.", r->model);
    return put_models(out, r->models, "lrr", titles, columns);
}

/* A bar for each penalty, on a scale of decades; what it is of is told where the mouse is. */
static void put_penalties(FILE *out, const char *text) {
    enum { WIDTH = 640, HEIGHT = 160 };
    json_t *all = text ? json_loads(text, 0, NULL) : NULL, *value;
    const double count = (double)json_object_size(all);
    const char *name;
    double low = INFINITY, high = -INFINITY, place = 0.0;
    json_object_foreach(all, name, value) {
        low = fmin(low, log10(json_real_value(value)));
        high = fmax(high, log10(json_real_value(value)));
    }
    if (count > 1.0 && isfinite(low) && isfinite(high)) {
        const double from = floor(low) - (floor(low) == low), to = fmax(ceil(high), from + 1.0);
        fprintf(out, "<figure><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"penalties\">\n",
                WIDTH, HEIGHT);
        json_object_foreach(all, name, value) {
            const double part = (log10(json_real_value(value)) - from) / (to - from);
            fprintf(out, "<path d=\"M%.2f %dv%.2fh%.2fV%dz\" fill=\"#3b6ea5\"><title>",
                    place / count * WIDTH, HEIGHT, -HEIGHT * part, fmax(0.8 / count * WIDTH, 0.5),
                    HEIGHT);
            report_html_text(out, name);
            fprintf(out, ": %.3g</title></path>\n", json_real_value(value));
            place += 1.0;
        }
        fprintf(out,
                "</svg><figcaption>%.0f penalties in their order, from 1e%+.0f (bottom) to 1e%+.0f "
                "(top)</figcaption></figure>\n",
                count, from, to);
    }
    json_decref(all);
}

static blv_error put_tune(FILE *out, const blv_run_info *run, const result *r) {
    static const char *const titles[2][5] = {
        {"Penalties", "Loss on held-out rows", "Right", "Loss on test rows", "Right"},
        {"Penalties", "RMSE on held-out rows", "R2", "RMSE on test rows", "R2"}};
    static const char *const columns[2][5] = {
        {"held_out_loss", "held_out_accuracy", "test_loss", "test_accuracy", NULL},
        {"held_out_rmse", "held_out_r2", "test_rmse", "test_r2", NULL}};
    report_html_print(out, "p", "%.200s: %.250s.", train_of(run), run->message ? run->message : "");
    if (!isnan(r->gain_error))
        report_html_print(out, "p",
                          "Gain of many penalties over one, in the loss on rows that neither "
                          "was learned from: %.4g, standard error %.2g. %s",
                          r->gain, r->gain_error,
                          r->kept ? "They are kept." : "That is not clear: one penalty is kept.");
    BLV_CHECK(put_models(out, r->models, "lrrrr", titles[r->real], columns[r->real]));
    put_penalties(out, r->penalty_of);
    return BLV_OK;
}

blv_error report_task_answer(FILE *out, const blv_run_info *run) {
    result r;
    blv_error error =
        run->result ? blv_record_parse(result_fields, &r, run->result, NULL) : BLV_E_FORMAT;
    if (error == BLV_E_MEMORY)
        return error;
    if (error != BLV_OK) {
        report_html_element(out, "p", "The run has no result yet.");
        return BLV_OK;
    }
    error = is_kind(run, "clean") ? put_clean(out, run, &r) : put_tune(out, run, &r);
    blv_record_free(result_fields, &r);
    return error;
}
