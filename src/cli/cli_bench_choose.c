#include "cli_bench_choose.h"
#include "cli_continual.h"
#include "cli_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the training rows for choosing settings, and of all rows where there is no file to test on. */
static const double held_out = 0.2;
static const char linear[] = "mlp:in-out";
static const char chosen_by[] = "val_accuracy";

/* What a run is asked. */
typedef struct task {
    cli_choosing choosing;
    uint64_t size, tasks, memory;
    bool imbalanced, task_known;
} task;

typedef struct chooser {
    const bench *b;
    size_t variant;                 /* SIZE_MAX: there are no rows yet */
    blv_dataset *rows, *test;       /* of the variant */
    blv_dataset *fitted, *held_out; /* parts of rows, for choosing settings; NULL until needed */
} chooser;

static bool is_continual(const bench *b) {
    return b->suite.command == BENCH_CONTINUAL;
}

/* ---- Settings ---- */

typedef enum kind { COUNT, POSITIVE, SWITCH, TEXT } kind;
enum { OF_CORESET = 1, OF_CONTINUAL = 2, OF_BOTH = 3 };

static const struct setting {
    const char *key;
    kind kind;
    int of;
    bool of_method; /* an entry may set it */
    size_t place;   /* in a task */
} settings[] = {
    {"size", COUNT, OF_CORESET, false, offsetof(task, size)},
    {"tasks", COUNT, OF_CONTINUAL, false, offsetof(task, tasks)},
    {"memory", COUNT, OF_CONTINUAL, false, offsetof(task, memory)},
    {"imbalanced", SWITCH, OF_CONTINUAL, false, offsetof(task, imbalanced)},
    {"task_known", SWITCH, OF_CONTINUAL, false, offsetof(task, task_known)},
    {"net", TEXT, OF_BOTH, false, offsetof(task, choosing.net)},
    {"steps", COUNT, OF_BOTH, false, offsetof(task, choosing.steps)},
    {"label", TEXT, OF_BOTH, false, offsetof(task, choosing.reading.label)},
    {"iters", COUNT, OF_BOTH, true, offsetof(task, choosing.iterations)},
    {"initial", POSITIVE, OF_BOTH, true, offsetof(task, choosing.first)},
    {"ridge", POSITIVE, OF_BOTH, true, offsetof(task, choosing.ridge)},
    {"reward", POSITIVE, OF_BOTH, true, offsetof(task, choosing.reward)},
    {"candidates", COUNT, OF_BOTH, true, offsetof(task, choosing.candidates)},
};
enum { SETTINGS = sizeof settings / sizeof settings[0], MOST = 1000000000 };

static int refuse_value(const bench *b, const char *where, const char *key, const char *text,
                        const char *expected) {
    cli_complain("%s: %s: %s '%s': expected %s", b->suite.path, where, key, text, expected);
    return CLI_REFUSED;
}

static int refuse_key(const bench *b, const char *where, const char *key, int of, bool method) {
    cli_nearest nearest = {.word = key};
    for (size_t i = 0; i < SETTINGS; i++)
        if ((settings[i].of & of) && (settings[i].of_method || !method))
            cli_nearest_try(&nearest, settings[i].key);
    cli_complain("%s: %s: there is no setting '%s'%s%s%s", b->suite.path, where, key,
                 nearest.best ? "; did you mean '" : "", nearest.best ? nearest.best : "",
                 nearest.best ? "'?" : "");
    return CLI_REFUSED;
}

static int take_value(const bench *b, const char *where, const struct setting *s,
                      const blv_value *value, task *t) {
    char text[BLV_SHOWN_SIZE];
    char *place = (char *)t + s->place;
    blv_value_show(value, text);
    switch (s->kind) {
    case COUNT: {
        uint64_t count = 0;
        if (!cli_parse_whole(text, MOST, &count) || count == 0)
            return refuse_value(b, where, s->key, text, "a whole number from 1 to 1000000000");
        memcpy(place, &count, sizeof count);
        return CLI_DONE;
    }
    case POSITIVE: {
        double number = 0.0;
        if (!cli_parse_real(text, &number) || !(number > 0.0))
            return refuse_value(b, where, s->key, text, "a number above 0");
        memcpy(place, &number, sizeof number);
        return CLI_DONE;
    }
    case SWITCH: {
        const bool on = strcmp(text, "on") == 0;
        if (!on && strcmp(text, "off") != 0)
            return refuse_value(b, where, s->key, text, "on or off");
        memcpy(place, &on, sizeof on);
        return CLI_DONE;
    }
    case TEXT: {
        const char *word = value->kind == BLV_VALUE_TEXT ? value->text : NULL;
        if (!word)
            return refuse_value(b, where, s->key, text, "a text");
        memcpy(place, &word, sizeof word);
        return CLI_DONE;
    }
    }
    return CLI_DONE;
}

static int take_settings(const bench *b, const char *where, const blv_values *set, bool method,
                         task *t) {
    const int of = is_continual(b) ? OF_CONTINUAL : OF_CORESET;
    int code = CLI_DONE;
    for (size_t k = 0; k < set->count && code == CLI_DONE; k++) {
        const char *key = set->items[k].name;
        size_t i = 0;
        while (i < SETTINGS && (strcmp(settings[i].key, key) != 0 || !(settings[i].of & of) ||
                                (method && !settings[i].of_method)))
            i++;
        code = i < SETTINGS ? take_value(b, where, &settings[i], &set->items[k], t)
                            : refuse_key(b, where, key, of, method);
    }
    return code;
}

static int read_task(const bench *b, const bench_job *job, task *t) {
    *t = (task){.choosing = cli_choosing_begin(), .tasks = 5, .memory = 100};
    t->choosing.reading.precision = (blv_precision)b->suite.precision;
    t->choosing.reading.layout = BLV_LAYOUT_DENSE;
    t->choosing.threads = b->request->threads;
    int code = take_settings(b, "problem_set", &job->problem_set, false, t);
    if (code == CLI_DONE)
        code = take_settings(b, b->suite.entries[job->entry].id, &job->set, true, t);
    if (code == CLI_DONE && !is_continual(b) && t->size == 0) {
        cli_complain("%s: problem_set: 'size' is missing: the rows to choose", b->suite.path);
        code = CLI_REFUSED;
    }
    return code;
}

/* ---- The suite ---- */

static const char *const coreset_measures[] = {"test_accuracy", "weighted_accuracy",
                                               "linear_accuracy", NULL};
static const char *const continual_measures[] = {"average_accuracy", "forgetting", NULL};

static int expect_measure(const bench *b, const char *where, const char *word) {
    const char *const *known = is_continual(b) ? continual_measures : coreset_measures;
    for (size_t i = 0; known[i]; i++)
        if (strcmp(known[i], word) == 0)
            return CLI_DONE;
    cli_complain("%s: %s is '%s': expected %s, %s%s%s", b->suite.path, where, word, known[0],
                 known[1], known[2] ? ", " : "", known[2] ? known[2] : "");
    return CLI_REFUSED;
}

static int check_measures(const bench *b) {
    const bench_suite *suite = &b->suite;
    int code = expect_measure(b, "metric", suite->metric);
    for (size_t i = 0; i < suite->show.count && code == CLI_DONE; i++)
        code = expect_measure(b, "show", suite->show.items[i]);
    if (code == CLI_DONE && strcmp(suite->choose, chosen_by) != 0) {
        cli_complain("%s: tuning.choose is '%s': expected %s: settings are chosen by rows that are "
                     "held out",
                     suite->path, suite->choose, chosen_by);
        code = CLI_REFUSED;
    }
    return code;
}

static const char *name_of(const bench *b, size_t variant, const char *key) {
    const blv_value *file = blv_values_find(&b->suite.variants[variant].data, key);
    return file ? file->text : NULL;
}

/* The files, test being NULL where the suite names none; to be freed. */
static int find_files(const bench *b, size_t variant, char **train, char **test) {
    const char *train_name = name_of(b, variant, "train");
    const char *test_name = name_of(b, variant, "test");
    *train = *test = NULL;
    if (!train_name) {
        cli_complain("%s: data: 'train' is missing", b->suite.path);
        return CLI_REFUSED;
    }
    blv_message why = {0};
    blv_error error = bench_data(b, train_name, train, &why);
    if (error == BLV_OK && test_name)
        error = bench_data(b, test_name, test, &why);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}

/* Those above have said what is wrong. */
static void end_unless(int code) {
    if (code != CLI_DONE)
        exit(code);
}

static blv_error check_suite(const bench *b, blv_message *why) {
    (void)why;
    end_unless(check_measures(b));
    for (size_t v = 0; v < b->suite.variant_count; v++) {
        char *train, *test;
        end_unless(find_files(b, v, &train, &test));
        free(train);
        free(test);
    }
    return BLV_OK;
}

static blv_error check_jobs(const bench *b, blv_message *why) {
    (void)why;
    task ignored;
    for (size_t i = 0; i < b->job_count; i++)
        end_unless(read_task(b, &b->jobs[i], &ignored));
    return BLV_OK;
}

/* ---- Rows ---- */

static void forget_rows(chooser *c) {
    blv_dataset_release(c->rows);
    blv_dataset_release(c->test);
    blv_dataset_release(c->fitted);
    blv_dataset_release(c->held_out);
    c->rows = c->test = c->fitted = c->held_out = NULL;
    c->variant = SIZE_MAX;
}

/* Four fifths and one, always the same. */
static int divide(const blv_dataset *rows, blv_dataset **most, blv_dataset **rest) {
    const double sizes[] = {1.0 - held_out, held_out};
    blv_dataset *part[2] = {NULL, NULL};
    blv_message why = {0};
    blv_error error = blv_dataset_split(rows, sizes, 2, true, 0, part, &why);
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    *most = part[0];
    *rest = part[1];
    return CLI_DONE;
}

static int hold_out_test(chooser *c) {
    blv_dataset *all = c->rows;
    c->rows = NULL;
    int code = divide(all, &c->rows, &c->test);
    blv_dataset_release(all);
    return code;
}

static int take_rows(chooser *c, size_t variant, const task *t) {
    if (c->variant == variant)
        return CLI_DONE;
    forget_rows(c);
    char *train, *test;
    int code = find_files(c->b, variant, &train, &test);
    cli_choosing files = t->choosing;
    files.data = train;
    files.test = test;
    if (code == CLI_DONE)
        code = cli_choosing_load(&files, &c->rows, &c->test);
    if (code == CLI_DONE && !test)
        code = hold_out_test(c);
    free(train);
    free(test);
    if (code == CLI_DONE)
        c->variant = variant;
    else
        forget_rows(c);
    return code;
}

/* ---- A choice of rows ---- */

static void set_real(blv_values *point, const char *name, double value) {
    if (blv_values_add_real(point, name, value) != BLV_OK)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
}

static blv_values *new_point(bench_record *record, uint64_t iteration, double seconds) {
    blv_values *point = bench_record_point(record);
    if (!point || blv_values_add_int(point, "iteration", (int64_t)iteration) != BLV_OK)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
    set_real(point, "seconds", seconds);
    return point;
}

static int judge(const task *t, const char *net, const blv_dataset *subset, const double *weight,
                 const blv_dataset *test, const bench_job *job, blv_values *point,
                 const char *key) {
    cli_choosing choosing = t->choosing;
    double accuracy = NAN;
    choosing.net = net;
    int code = cli_choosing_judge(&choosing, subset, weight, test, job->seed, &accuracy);
    set_real(point, key, accuracy);
    return code;
}

static int judge_choice(const task *t, const bench_job *job, const blv_dataset *subset,
                        const double *weight, const blv_dataset *test, blv_values *point) {
    if (job->kind == BENCH_TUNING)
        return judge(t, t->choosing.net, subset, NULL, test, job, point, chosen_by);
    int code = judge(t, t->choosing.net, subset, NULL, test, job, point, coreset_measures[0]);
    if (code == CLI_DONE)
        code = judge(t, t->choosing.net, subset, weight, test, job, point, coreset_measures[1]);
    if (code == CLI_DONE)
        code = judge(t, linear, subset, NULL, test, job, point, coreset_measures[2]);
    return code;
}

static int choose_rows(const task *t, const bench_job *job, const blv_dataset *rows,
                       const blv_dataset *test, bench_record *points) {
    const size_t size = (size_t)t->size;
    blv_message why = {0};
    const blv_selection how = cli_choosing_selection(
        &t->choosing, blv_selection_method_find(job->solver, &why), size, job->seed);
    size_t *index = cli_alloc(size, sizeof *index);
    double *weight = cli_alloc(size, sizeof *weight);
    blv_dataset *subset = NULL;
    const double begin = cli_seconds();
    blv_error error = blv_select(rows, &how, index, weight, &why);
    const double seconds = cli_seconds() - begin;
    int code =
        error == BLV_OK ? cli_select_rows(rows, index, size, &subset) : cli_refuse(error, why.text);
    if (code == CLI_DONE)
        code = judge_choice(t, job, subset, weight, test, new_point(points, 1, seconds));
    blv_dataset_release(subset);
    free(index);
    free(weight);
    return code;
}

/* ---- A stream of tasks ---- */

static void add_stream_point(const cli_stream_end *end, size_t tasks, size_t after,
                             const bench_job *job, bench_record *points) {
    const bool tuning = job->kind == BENCH_TUNING;
    double average, forgetting;
    cli_stream_sums(end, tasks, after, &average, &forgetting);
    blv_values *point = new_point(points, after, end->seconds_after[after - 1]);
    set_real(point, tuning ? chosen_by : continual_measures[0], average);
    set_real(point, tuning ? "val_forgetting" : continual_measures[1], forgetting);
}

static int expect_tasks(const bench *b, const task *t, const blv_dataset *rows) {
    const size_t classes = blv_dataset_view_of(rows)->classes;
    if (t->tasks >= 2 && t->tasks <= classes && t->memory >= t->tasks)
        return CLI_DONE;
    cli_complain("%s: problem_set: %llu tasks and a memory of %llu; expected from 2 to %zu tasks, "
                 "as there are classes, and a row in memory for each",
                 b->suite.path, (unsigned long long)t->tasks, (unsigned long long)t->memory,
                 classes);
    return CLI_REFUSED;
}

static int pass_tasks(const bench *b, const task *t, const bench_job *job, const blv_dataset *rows,
                      const blv_dataset *test, bench_record *points) {
    const cli_stream stream = {.choosing = &t->choosing,
                               .rows = rows,
                               .test = test,
                               .tasks = (size_t)t->tasks,
                               .memory = (size_t)t->memory,
                               .imbalanced = t->imbalanced,
                               .task_known = t->task_known};
    blv_message why = {0};
    cli_stream_end end = {0};
    int code = expect_tasks(b, t, rows);
    if (code == CLI_DONE)
        code =
            cli_continual(&stream, blv_selection_method_find(job->solver, &why), job->seed, &end);
    const size_t first = job->kind == BENCH_TUNING ? stream.tasks : 1;
    for (size_t after = first; code == CLI_DONE && after <= stream.tasks; after++)
        add_stream_point(&end, stream.tasks, after, job, points);
    cli_stream_end_free(&end);
    return code;
}

/* ---- Runs ---- */

static blv_error open_rows(const bench *b, void **rows) {
    chooser *c = cli_alloc(1, sizeof *c);
    *c = (chooser){.b = b, .variant = SIZE_MAX};
    *rows = c;
    return BLV_OK;
}

static void close_rows(void *rows) {
    forget_rows(rows);
    free(rows);
}

static blv_error choose(void *rows_kept, const bench_job *job, bench_record *record,
                        blv_message *why) {
    (void)why;
    chooser *c = rows_kept;
    const bool tuning = job->kind == BENCH_TUNING;
    task t;
    end_unless(read_task(c->b, job, &t));
    end_unless(take_rows(c, job->variant, &t));
    if (tuning && !c->fitted)
        end_unless(divide(c->rows, &c->fitted, &c->held_out));
    const blv_dataset *rows = tuning ? c->fitted : c->rows;
    const blv_dataset *test = tuning ? c->held_out : c->test;
    end_unless(is_continual(c->b) ? pass_tasks(c->b, &t, job, rows, test, record)
                                  : choose_rows(&t, job, rows, test, record));
    return BLV_OK;
}

const bench_chooser cli_bench_chooser = {check_suite, check_jobs, open_rows, choose, close_rows};
