#include "cli_table.h"
#include "cli_text.h"
#include "cli_tune.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { INDENT = 2, CELL = 24 };

static const char *const kind_words[] = {[BLV_PENALTY_PER_FEATURE] = "per feature",
                                         [BLV_PENALTY_PER_CLASS] = "per class",
                                         [BLV_PENALTY_ONE] = "one",
                                         [BLV_PENALTY_GROUPS] = "groups"};

char *cli_tune_message(const cli_tune_result *r) {
    const cli_tuning *t = r->tuning;
    return t->kept ? cli_print("%zu learned penalties are kept: gain in loss %.4g +- %.2g",
                               t->penalties, t->gain, t->gain_error)
                   : cli_print("one penalty for all, %.4g", t->single);
}

/* ---- Text ---- */

static void format_number(double value, char text[CELL]) {
    snprintf(text, CELL, "%.4f", value);
    if (isnan(value))
        snprintf(text, CELL, "-");
}

static void add_model(cli_table *table, const char *name, const char *penalty, const cli_tuned *m) {
    char text[5][CELL];
    if (!m->weights)
        return;
    format_number(m->fit.loss, text[0]);
    format_number(m->stop.loss, text[1]);
    format_number(m->stop.accuracy, text[2]);
    format_number(m->test.loss, text[3]);
    format_number(m->test.accuracy, text[4]);
    const char *cells[] = {name, penalty, text[0], text[1], text[2], text[3], text[4]};
    cli_table_row(table, cells);
}

static void format_range(const cli_tuning *t, char text[CELL]) {
    double low = INFINITY, high = 0.0;
    for (size_t k = 0; k < t->penalties; k++) {
        low = fmin(low, t->penalty[k]);
        high = fmax(high, t->penalty[k]);
    }
    snprintf(text, CELL, "%.1e .. %.1e", low, high);
}

static void print_models(const cli_tuning *t) {
    cli_table table = {.align = "llrrrrr"};
    const char *head[] = {"PENALTIES", "",          "FIT LOSS", "STOP LOSS",
                          "ACCURACY",  "TEST LOSS", "ACCURACY"};
    char single[CELL], none[CELL], many[CELL];
    snprintf(single, sizeof single, "%.4g", t->single);
    snprintf(none, sizeof none, "%.0e", t->none);
    format_range(t, many);
    cli_table_row(&table, head);
    add_model(&table, "hardly any", none, &t->with_none);
    add_model(&table, "one for all", single, &t->with_single);
    add_model(&table, kind_words[t->kind], many, &t->with_many);
    cli_table_print(&table, INDENT, stdout);
}

static void print_choice(const cli_tuning *t) {
    if (isnan(t->gain_error)) {
        printf("\nThe model has one penalty for all, %.4g.\n", t->single);
        return;
    }
    printf("\nGain in loss on the stopping rows: %.4g, standard error %.2g. ", t->gain,
           t->gain_error);
    if (t->kept)
        printf("The %zu learned penalties are kept.\n", t->penalties);
    else
        printf("That is no clear gain: the model has one penalty for all, %.4g.\n", t->single);
}

void cli_tune_text(const cli_tune_result *r) {
    const cli_tuning *t = r->tuning;
    printf("%s: %zu rows for training, %zu for fitting penalties, %zu for stopping\n\n",
           t->learning->train, blv_dataset_view_of(t->sets->train)->rows,
           blv_dataset_view_of(t->fit)->rows, blv_dataset_view_of(t->stop)->rows);
    print_models(t);
    print_choice(t);
    if (t->with_many.weights)
        printf("Solver %s, %" PRIu64 " iterations, the best was %" PRIu64 ", %.4g s.\n",
               t->learning->solver->name, t->iterations, t->best_iteration, t->seconds);
    if (t->refit)
        printf("All models were trained once more, on the validation rows too.\n");
    if (r->request->out)
        printf("%s: the model\n", r->request->out);
    if (r->request->penalties)
        printf("%s: %zu penalties\n", r->request->penalties, r->names->count);
    int64_t id = t->learning->work->record.id;
    if (id)
        printf("Stored as run %" PRId64 "; 'bilevel report %" PRId64 "' writes a page about it\n",
               id, id);
}

/* ---- JSON ---- */

static json_t *model_object(const char *name, const cli_tuned *m) {
    if (!m->weights)
        return json_null();
    json_t *object = cli_json_object();
    cli_json_set(object, "name", cli_json_text(name));
    cli_json_set(object, "fit_loss", cli_json_real(m->fit.loss));
    cli_json_set(object, "fit_accuracy", cli_json_real(m->fit.accuracy));
    cli_json_set(object, "stop_loss", cli_json_real(m->stop.loss));
    cli_json_set(object, "stop_accuracy", cli_json_real(m->stop.accuracy));
    cli_json_set(object, "test_loss", cli_json_real(m->test.loss));
    cli_json_set(object, "test_accuracy", cli_json_real(m->test.accuracy));
    return object;
}

json_t *cli_tune_object(const cli_tune_result *r) {
    const cli_tuning *t = r->tuning;
    int64_t id = t->learning->work->record.id;
    json_t *object = cli_json_object(), *models = cli_json_object();
    cli_json_set(object, "train", cli_json_text(t->learning->train));
    cli_json_set(object, "val", cli_json_text(t->learning->val));
    cli_json_set(object, "test", cli_json_text(t->learning->test));
    cli_json_set(object, "train_rows", cli_json_whole(blv_dataset_view_of(t->sets->train)->rows));
    cli_json_set(object, "fit_rows", cli_json_whole(blv_dataset_view_of(t->fit)->rows));
    cli_json_set(object, "stop_rows", cli_json_whole(blv_dataset_view_of(t->stop)->rows));
    cli_json_set(object, "penalty", cli_json_text(kind_words[t->kind]));
    cli_json_set(object, "penalties", cli_json_whole(r->names->count));
    cli_json_set(object, "single_penalty", cli_json_real(t->single));
    cli_json_set(object, "gain", cli_json_real(t->gain));
    cli_json_set(object, "gain_error", cli_json_real(t->gain_error));
    cli_json_set(object, "kept", json_boolean(t->kept));
    cli_json_set(models, "none", model_object("hardly any", &t->with_none));
    cli_json_set(models, "one", model_object("one for all", &t->with_single));
    cli_json_set(models, "many", model_object(kind_words[t->kind], &t->with_many));
    cli_json_set(models, "result",
                 model_object(t->kept ? kind_words[t->kind] : "one for all", cli_tuning_result(t)));
    cli_json_set(object, "models", models);
    cli_json_set(object, "solver", cli_json_text(t->learning->solver->name));
    cli_json_set(object, "seed", cli_json_whole(t->learning->seed));
    cli_json_set(object, "iterations", cli_json_whole(t->iterations));
    cli_json_set(object, "best_iteration", cli_json_whole(t->best_iteration));
    cli_json_set(object, "seconds", cli_json_real(t->seconds));
    cli_json_set(object, "counts", cli_json_counts(&t->counts));
    cli_json_set(object, "setup_counts", cli_json_counts(&t->setup_counts));
    cli_json_set(object, "certificate",
                 t->certified ? cli_certificate_object(&t->certificate) : json_null());
    cli_json_set(object, "run", id ? cli_json_whole((uint64_t)id) : json_null());
    cli_json_set(object, "out", cli_json_text(r->request->out));
    cli_json_set(object, "penalties_file", cli_json_text(r->request->penalties));
    return object;
}
