/* The runs of a suite with a command: a method chooses rows, and a network that is trained on them
 * is tested. `coreset`: once, of all rows. `continual`: for the memory of tasks that come one after
 * the other. Settings are chosen by rows that are held out; the test rows have no part in it. */
#include "bench/bench.h"

#include "bilevel/continual.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the training rows for choosing settings, and of all rows where there is no file to test on. */
static const double held_out_share = 0.2;
static const char chosen_by[] = "val_accuracy";

/* ---- Settings ---- */

/* 0 and "": the default. */
typedef struct settings {
    int64_t size, tasks, memory, steps, iters, candidates;
    int imbalanced, task_known;
    double initial, ridge, reward;
    char net[BLV_TEXT_SIZE], label[BLV_TEXT_SIZE];
} settings;

#define COUNT(key_)                                                                                \
    { #key_, BLV_INT, offsetof(settings, key_), "1", 1.0, 1e9, NULL, "" }
#define POSITIVE(key_)                                                                             \
    { #key_, BLV_REAL, offsetof(settings, key_), "1", DBL_MIN, HUGE_VAL, NULL, "" }
#define SWITCH(key_)                                                                               \
    { #key_, BLV_CHOICE, offsetof(settings, key_), "off", 0.0, 0.0, "off|on", "" }
#define TEXT(key_)                                                                                 \
    { #key_, BLV_TEXT, offsetof(settings, key_), "", 0.0, 0.0, NULL, "" }
static const blv_param coreset_params[] = {COUNT(size), COUNT(steps), TEXT(net), TEXT(label), {0}};
static const blv_param continual_params[] = {
    COUNT(tasks), COUNT(memory), SWITCH(imbalanced), SWITCH(task_known),
    COUNT(steps), TEXT(net),     TEXT(label),        {0}};
static const blv_param method_params[] = {COUNT(iters),     POSITIVE(initial), POSITIVE(ridge),
                                          POSITIVE(reward), COUNT(candidates), {0}};

static blv_error take_settings(const bench *b, const char *owner, const blv_values *set,
                               const blv_param *params, settings *s) {
    blv_message reason = {0};
    blv_error error = bench_set_params(set, params, s, owner, &reason);
    return error == BLV_OK
               ? BLV_OK
               : blv_explain(b->suite.why, error, "%s: %.400s", b->suite.path, reason.text);
}

static blv_error read_settings(const bench *b, const bench_job *job, settings *s) {
    const bool continual = b->suite.command == BENCH_CONTINUAL;
    *s = (settings){0};
    BLV_CHECK(take_settings(b, "problem_set", &job->problem_set,
                            continual ? continual_params : coreset_params, s));
    BLV_CHECK(take_settings(b, bench_job_entry(b, job), &job->set, method_params, s));
    return continual || s->size > 0
               ? BLV_OK
               : bench_reject(&b->suite, "problem_set: 'size' is missing: the rows to choose");
}

blv_error bench_check_choice(const bench *b, const bench_job *job) {
    settings ignored;
    return read_settings(b, job, &ignored);
}

/* ---- The suite ---- */

static const char *const coreset_measures[] = {"test_accuracy", "weighted_accuracy",
                                               "linear_accuracy", NULL};
static const char *const continual_measures[] = {"average_accuracy", "forgetting", NULL};

static blv_error expect_measure(const bench_suite *suite, const char *where, const char *word) {
    const char *const *known =
        suite->command == BENCH_CONTINUAL ? continual_measures : coreset_measures;
    for (size_t i = 0; known[i]; i++)
        if (strcmp(known[i], word) == 0)
            return BLV_OK;
    return bench_reject(suite, "%s is '%s': expected %s, %s%s%s", where, word, known[0], known[1],
                        known[2] ? ", " : "", known[2] ? known[2] : "");
}

/* The file of the rows to train on, and that of the rows to test on where there is one. */
static const char *file_of(const bench *b, size_t variant, const char *name) {
    const blv_value *file = blv_values_find(&b->suite.variants[variant].files, name);
    return file ? file->text : NULL;
}

blv_error bench_check_choices(const bench *b) {
    const bench_suite *suite = &b->suite;
    BLV_CHECK(expect_measure(suite, "metric", suite->metric));
    for (size_t i = 0; i < suite->show.count; i++)
        BLV_CHECK(expect_measure(suite, "show", suite->show.items[i]));
    if (strcmp(suite->choose, chosen_by) != 0)
        return bench_reject(suite,
                            "tuning.choose is '%s': expected %s: settings are chosen by rows that "
                            "are held out",
                            suite->choose, chosen_by);
    for (size_t v = 0; v < suite->variant_count; v++)
        if (!file_of(b, v, "train"))
            return bench_reject(suite, "data: 'train' is missing");
    return BLV_OK;
}

/* ---- Rows ---- */

void bench_rows_free(bench_rows *kept) {
    blv_dataset_release(kept->rows);
    blv_dataset_release(kept->test);
    blv_dataset_release(kept->fitted);
    blv_dataset_release(kept->held_out);
    *kept = (bench_rows){0};
}

/* Four fifths and one, always the same. */
static blv_error divide(const blv_dataset *rows, blv_dataset **most, blv_dataset **rest,
                        blv_message *why) {
    const double sizes[] = {1.0 - held_out_share, held_out_share};
    blv_dataset *part[2] = {NULL, NULL};
    BLV_CHECK(blv_dataset_split(rows, sizes, 2, true, 0, part, why));
    *most = part[0];
    *rest = part[1];
    return BLV_OK;
}

static blv_error read_rows(bench_rows *kept, const bench *b, const settings *s) {
    const char *const files[] = {file_of(b, kept->variant, "train"),
                                 file_of(b, kept->variant, "test")};
    const blv_read_options reading = {.size = sizeof reading,
                                      .precision = (blv_precision)b->suite.precision,
                                      .layout = BLV_LAYOUT_DENSE,
                                      .label = *s->label ? s->label : NULL};
    BLV_CHECK(blv_dataset_read(&kept->rows, files[0], &reading, b->suite.why));
    BLV_CHECK(blv_dataset_expect_classes(kept->rows, files[0], b->suite.why));
    if (files[1])
        BLV_CHECK(blv_dataset_read(&kept->test, files[1], &reading, b->suite.why));
    blv_dataset *const all[] = {kept->rows, kept->test};
    BLV_CHECK(blv_dataset_align(all, files, 2, b->suite.why));
    BLV_CHECK(blv_dataset_scale(all, kept->test ? 2 : 1, BLV_SCALE_UNIT, b->suite.why));
    if (kept->test)
        return BLV_OK;
    blv_dataset *whole = kept->rows;
    kept->rows = NULL;
    blv_error error = divide(whole, &kept->rows, &kept->test, b->suite.why);
    blv_dataset_release(whole);
    return error;
}

static blv_error take_rows(bench_rows *kept, const bench *b, const bench_job *job,
                           const settings *s) {
    if (!kept->rows || kept->variant != job->variant) {
        bench_rows_free(kept);
        kept->variant = job->variant;
        blv_error error = read_rows(kept, b, s);
        if (error != BLV_OK) {
            bench_rows_free(kept);
            return error;
        }
    }
    return job->kind == BENCH_TUNING && !kept->fitted
               ? divide(kept->rows, &kept->fitted, &kept->held_out, b->suite.why)
               : BLV_OK;
}

/* ---- A choice of rows ---- */

/* A run that is made. */
typedef struct choosing {
    settings s;
    const bench *b;
    const bench_job *job;
    bool tuning;
    const blv_dataset *rows, *test;
    blv_selection selection;
    bench_record *record;
} choosing;

/* A network of its own for each of the measures. */
static blv_error judge(const choosing *c, const blv_dataset *subset, const double *weight,
                       blv_values *point) {
    const char *net = *c->s.net ? c->s.net : NULL;
    const struct {
        const char *name, *net;
        const double *weight;
    } measures[] = {{c->tuning ? chosen_by : coreset_measures[0], net, NULL},
                    {coreset_measures[1], net, weight},
                    {coreset_measures[2], "mlp:in-out", NULL}};
    for (size_t i = 0; i < (c->tuning ? 1 : 3); i++) {
        const blv_classifier_options how = {.size = sizeof how,
                                            .net = measures[i].net,
                                            .threads = c->b->request->threads,
                                            .seed = c->job->seed};
        double accuracy = NAN;
        BLV_CHECK(blv_judge_rows(subset, measures[i].weight, c->test, &how, (size_t)c->s.steps,
                                 &accuracy, c->b->suite.why));
        BLV_CHECK(blv_values_add_real(point, measures[i].name, accuracy));
    }
    return BLV_OK;
}

static blv_error choose_once(const choosing *c) {
    blv_message *why = c->b->suite.why;
    const size_t count = c->selection.count;
    size_t *index = calloc(count, sizeof *index);
    double *weight = calloc(count, sizeof *weight);
    blv_dataset *subset = NULL;
    blv_values *point = NULL;
    const double begin = bench_clock(CLOCK_MONOTONIC);
    blv_error error =
        index && weight ? blv_select(c->rows, &c->selection, index, weight, why) : BLV_E_MEMORY;
    if (error == BLV_OK)
        error = bench_record_point(c->record, 1, bench_clock(CLOCK_MONOTONIC) - begin, &point);
    if (error == BLV_OK)
        error = blv_dataset_select(c->rows, index, count, &subset, why);
    if (error == BLV_OK)
        error = judge(c, subset, weight, point);
    blv_dataset_release(subset);
    free(index);
    free(weight);
    return error;
}

/* ---- Tasks one after the other ---- */

static blv_error add_task_point(const choosing *c, const blv_continual_pass *pass, size_t after) {
    double average, forgetting;
    blv_values *point;
    blv_continual_after(pass, after, &average, &forgetting);
    BLV_CHECK(bench_record_point(c->record, after, pass->seconds_after[after - 1], &point));
    BLV_CHECK(blv_values_add_real(point, c->tuning ? chosen_by : continual_measures[0], average));
    return blv_values_add_real(point, c->tuning ? "val_forgetting" : continual_measures[1],
                               forgetting);
}

static blv_error choose_in_sequence(const choosing *c) {
    const settings *s = &c->s;
    const blv_continual_options options = {.size = sizeof options,
                                           .methods = &c->selection.method,
                                           .method_count = 1,
                                           .tasks = (size_t)s->tasks,
                                           .memory = (size_t)s->memory,
                                           .seeds = 1,
                                           .seed = c->job->seed,
                                           .threads = c->b->request->threads,
                                           .imbalanced = s->imbalanced == 1,
                                           .task_known = s->task_known == 1,
                                           .net = *s->net ? s->net : NULL,
                                           .steps = (size_t)s->steps,
                                           .selection = c->selection};
    blv_continual_result *result = NULL;
    BLV_CHECK(blv_continual(c->rows, c->test, &options, &result, NULL, c->b->suite.why));
    const blv_continual_pass *pass = &result->passes[0];
    blv_error error = BLV_OK;
    for (size_t after = c->tuning ? pass->tasks : 1; after <= pass->tasks && error == BLV_OK;
         after++)
        error = add_task_point(c, pass, after);
    blv_continual_result_destroy(result);
    return error;
}

blv_error bench_choose_rows(bench_rows *kept, const bench *b, const bench_job *job,
                            bench_record *record) {
    choosing c = {.b = b, .job = job, .tuning = job->kind == BENCH_TUNING, .record = record};
    BLV_CHECK(read_settings(b, job, &c.s));
    BLV_CHECK(take_rows(kept, b, job, &c.s));
    c.rows = c.tuning ? kept->fitted : kept->rows;
    c.test = c.tuning ? kept->held_out : kept->test;
    c.selection = (blv_selection){.size = sizeof(blv_selection),
                                  .method = blv_selection_method_find(job->solver, NULL),
                                  .count = (size_t)c.s.size,
                                  .seed = job->seed,
                                  .threads = b->request->threads,
                                  .iterations = (uint64_t)c.s.iters,
                                  .first = c.s.initial,
                                  .ridge = c.s.ridge,
                                  .C = c.s.reward,
                                  .candidates = (size_t)c.s.candidates};
    return b->suite.command == BENCH_CONTINUAL ? choose_in_sequence(&c) : choose_once(&c);
}
