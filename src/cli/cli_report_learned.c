#include "cli_report_learned.h"
#include "cli_page.h"
#include "cli_runs.h"

#include <string.h>

enum { TEXT = 512, CELL = 32 };

static bool is_kind(const json_t *run, const char *kind) {
    const char *text = cli_run_text(run, "kind");
    return text && strcmp(text, kind) == 0;
}

static const char *train_of(const json_t *run) {
    const char *train = cli_run_text(json_object_get(run, "problem_parameters"), "train");
    return train ? train : "?";
}

static json_int_t whole(const json_t *object, const char *key) {
    return json_integer_value(json_object_get(object, key));
}

static double number(const json_t *object, const char *key) {
    return json_number_value(json_object_get(object, key));
}

static const char *share_text(const json_t *model, const char *key, char text[CELL]) {
    if (!json_is_number(json_object_get(model, key)))
        return NULL;
    snprintf(text, CELL, "%.1f%%", 100.0 * number(model, key));
    return text;
}

static const char *loss_text(const json_t *model, const char *key, char text[CELL]) {
    return cli_run_number(model, key, "%.4f", text, CELL);
}

/* ---- clean ---- */

static void put_clean_models(FILE *out, json_t *models) {
    static const char *const titles[] = {"Trained on", "Right on validation rows",
                                         "Right on test rows"};
    const char *key;
    json_t *model;
    if (json_object_size(models) == 0)
        return;
    cli_html_table_begin(out, "lrr", titles);
    json_object_foreach(models, key, model) {
        char val[CELL], test[CELL];
        const char *cells[] = {cli_run_text(model, "name"), share_text(model, "val_accuracy", val),
                               share_text(model, "test_accuracy", test)};
        cli_html_table_row(out, "lrr", cells);
    }
    cli_html_table_end(out);
}

static void put_clean(FILE *out, const json_t *run, const json_t *result) {
    char text[TEXT];
    const json_t *truth = json_object_get(result, "truth");
    json_int_t rows = whole(result, "rows"), suspects = whole(result, "suspects");
    snprintf(text, sizeof text,
             "%.200s: %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
             " rows are suspect (%.1f%%). Their label has a probability below %.4g.",
             train_of(run), suspects, rows, 100.0 * (double)suspects / (double)rows,
             number(result, "threshold"));
    cli_html_element(out, "p", text);
    if (json_is_object(truth)) {
        snprintf(text, sizeof text,
                 "Of %" JSON_INTEGER_FORMAT
                 " labels that are known to be wrong, %" JSON_INTEGER_FORMAT
                 " are among them (%.1f%%); %.1f%% of the suspects are wrong. AUROC %.4f.",
                 whole(truth, "wrong"), whole(truth, "found"), 100.0 * number(truth, "recall"),
                 100.0 * number(truth, "precision"), number(truth, "auroc_probability"));
        cli_html_element(out, "p", text);
    }
    put_clean_models(out, json_object_get(result, "models"));
}

/* ---- tune ---- */

static void put_tune_models(FILE *out, const json_t *models) {
    static const char columns[] = "lrrrr";
    static const char *const keys[] = {"none", "one", "many"};
    static const char *const titles[] = {"Penalties", "Loss on stopping rows", "Right",
                                         "Loss on test rows", "Right"};
    cli_html_table_begin(out, columns, titles);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const json_t *model = json_object_get(models, keys[i]);
        char stop[CELL], stop_right[CELL], test[CELL], test_right[CELL];
        const char *cells[] = {cli_run_text(model, "name"), loss_text(model, "stop_loss", stop),
                               share_text(model, "stop_accuracy", stop_right),
                               loss_text(model, "test_loss", test),
                               share_text(model, "test_accuracy", test_right)};
        if (json_is_object(model))
            cli_html_table_row(out, columns, cells);
    }
    cli_html_table_end(out);
}

static void put_tune(FILE *out, const json_t *run, const json_t *result) {
    char text[TEXT];
    const char *message = cli_run_text(run, "message");
    snprintf(text, sizeof text, "%.200s: %.250s.", train_of(run), message ? message : "");
    cli_html_element(out, "p", text);
    put_tune_models(out, json_object_get(result, "models"));
}

/* ---- Either ---- */

bool cli_report_learned(FILE *out, const json_t *run) {
    const json_t *result = json_object_get(run, "result");
    if (!is_kind(run, "clean") && !is_kind(run, "tune"))
        return false;
    if (!json_is_object(result))
        cli_html_element(out, "p", "The run has no result yet.");
    else if (is_kind(run, "clean"))
        put_clean(out, run, result);
    else
        put_tune(out, run, result);
    return true;
}

void cli_report_learned_question(FILE *out, const json_t *run) {
    char text[TEXT];
    if (is_kind(run, "clean"))
        snprintf(text, sizeof text, "Which labels of %.200s are wrong?", train_of(run));
    else if (is_kind(run, "tune"))
        snprintf(text, sizeof text,
                 "Which penalties make a model of %.200s right on rows that it has not seen?",
                 train_of(run));
    else
        return;
    cli_html_element(out, "p", text);
}

bool cli_report_learned_title(const json_t *run, char *title, size_t size) {
    if (is_kind(run, "clean"))
        snprintf(title, size, "Wrong labels in %.80s", train_of(run));
    else if (is_kind(run, "tune"))
        snprintf(title, size, "Penalties for %.80s", train_of(run));
    else
        return false;
    return true;
}
