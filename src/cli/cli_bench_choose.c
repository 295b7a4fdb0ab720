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

struct cli_chooser {
    const cli_bench *bench;
    size_t variant;                 /* SIZE_MAX: there are no rows yet */
    blv_dataset *rows, *test;       /* of the variant */
    blv_dataset *fitted, *held_out; /* parts of rows, for choosing settings; NULL until needed */
};

static bool is_continual(const cli_bench *bench) {
    return strcmp(bench->suite.command, "continual") == 0;
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

static int refuse_value(const cli_bench *bench, const char *where, const char *key,
                        const char *text, const char *expected) {
    cli_complain("%s: %s: %s '%s': expected %s", bench->suite.path, where, key, text, expected);
    return CLI_REFUSED;
}

static int refuse_key(const cli_bench *bench, const char *where, const char *key, int of,
                      bool method) {
    cli_nearest nearest = {.word = key};
    for (size_t i = 0; i < SETTINGS; i++)
        if ((settings[i].of & of) && (settings[i].of_method || !method))
            cli_nearest_try(&nearest, settings[i].key);
    cli_complain("%s: %s: there is no setting '%s'%s%s%s", bench->suite.path, where, key,
                 nearest.best ? "; did you mean '" : "", nearest.best ? nearest.best : "",
                 nearest.best ? "'?" : "");
    return CLI_REFUSED;
}

static int take_value(const cli_bench *bench, const char *where, const struct setting *s,
                      json_t *value, task *t) {
    char text[CLI_VALUE_SIZE];
    char *place = (char *)t + s->place;
    cli_value_text(value, text);
    switch (s->kind) {
    case COUNT: {
        uint64_t count = 0;
        if (!cli_parse_whole(text, MOST, &count) || count == 0)
            return refuse_value(bench, where, s->key, text, "a whole number from 1 to 1000000000");
        memcpy(place, &count, sizeof count);
        return CLI_DONE;
    }
    case POSITIVE: {
        double number = 0.0;
        if (!cli_parse_real(text, &number) || !(number > 0.0))
            return refuse_value(bench, where, s->key, text, "a number above 0");
        memcpy(place, &number, sizeof number);
        return CLI_DONE;
    }
    case SWITCH: {
        const bool on = strcmp(text, "on") == 0;
        if (!on && strcmp(text, "off") != 0)
            return refuse_value(bench, where, s->key, text, "on or off");
        memcpy(place, &on, sizeof on);
        return CLI_DONE;
    }
    case TEXT: {
        const char *word = json_string_value(value);
        if (!word)
            return refuse_value(bench, where, s->key, text, "a text");
        memcpy(place, &word, sizeof word);
        return CLI_DONE;
    }
    }
    return CLI_DONE;
}

static int take_settings(const cli_bench *bench, const char *where, json_t *set, bool method,
                         task *t) {
    const int of = is_continual(bench) ? OF_CONTINUAL : OF_CORESET;
    const char *key;
    json_t *value;
    int code = CLI_DONE;
    json_object_foreach(set, key, value) {
        size_t i = 0;
        while (i < SETTINGS && (strcmp(settings[i].key, key) != 0 || !(settings[i].of & of) ||
                                (method && !settings[i].of_method)))
            i++;
        if (code == CLI_DONE)
            code = i < SETTINGS ? take_value(bench, where, &settings[i], value, t)
                                : refuse_key(bench, where, key, of, method);
    }
    return code;
}

static int read_task(const cli_bench *bench, const cli_job *job, task *t) {
    *t = (task){.choosing = cli_choosing_begin(), .tasks = 5, .memory = 100};
    t->choosing.reading.precision = bench->suite.precision;
    t->choosing.reading.layout = BLV_LAYOUT_DENSE;
    t->choosing.threads = bench->asked->threads;
    int code = take_settings(bench, "problem_set", job->problem_set, false, t);
    if (code == CLI_DONE)
        code = take_settings(bench, bench->suite.entries[job->entry].id, job->set, true, t);
    if (code == CLI_DONE && !is_continual(bench) && t->size == 0) {
        cli_complain("%s: problem_set: 'size' is missing: the rows to choose", bench->suite.path);
        code = CLI_REFUSED;
    }
    return code;
}

int cli_choose_check_job(const cli_bench *bench, const cli_job *job) {
    task ignored;
    return read_task(bench, job, &ignored);
}

/* ---- The suite ---- */

static const char *const coreset_measures[] = {"test_accuracy", "weighted_accuracy",
                                               "linear_accuracy", NULL};
static const char *const continual_measures[] = {"average_accuracy", "forgetting", NULL};

static int expect_measure(const cli_bench *bench, const char *where, const char *word) {
    const char *const *known = is_continual(bench) ? continual_measures : coreset_measures;
    for (size_t i = 0; known[i]; i++)
        if (strcmp(known[i], word) == 0)
            return CLI_DONE;
    cli_complain("%s: %s is '%s': expected %s, %s%s%s", bench->suite.path, where, word, known[0],
                 known[1], known[2] ? ", " : "", known[2] ? known[2] : "");
    return CLI_REFUSED;
}

int cli_choose_check_suite(const cli_bench *bench) {
    const cli_suite *suite = &bench->suite;
    size_t i;
    json_t *word;
    int code = expect_measure(bench, "metric", suite->metric);
    json_array_foreach(suite->show, i, word) {
        if (code == CLI_DONE)
            code = expect_measure(bench, "show", json_string_value(word));
    }
    if (code == CLI_DONE && strcmp(suite->choose, chosen_by) != 0) {
        cli_complain("%s: tuning.choose is '%s': expected %s: settings are chosen by rows that are "
                     "held out",
                     suite->path, suite->choose, chosen_by);
        code = CLI_REFUSED;
    }
    return code;
}

static const char *name_of(const cli_bench *bench, size_t variant, const char *key) {
    return json_string_value(json_object_get(bench->suite.variants[variant].data, key));
}

/* The files, test being NULL where the suite names none; to be freed. */
static int find_files(const cli_bench *bench, size_t variant, char **train, char **test) {
    const char *train_name = name_of(bench, variant, "train");
    const char *test_name = name_of(bench, variant, "test");
    *train = *test = NULL;
    if (!train_name) {
        cli_complain("%s: data: 'train' is missing", bench->suite.path);
        return CLI_REFUSED;
    }
    *train = cli_bench_data(bench, train_name);
    if (*train && test_name)
        *test = cli_bench_data(bench, test_name);
    return *train && (*test || !test_name) ? CLI_DONE : CLI_REFUSED;
}

int cli_choose_check_data(const cli_bench *bench, size_t variant) {
    char *train, *test;
    int code = find_files(bench, variant, &train, &test);
    free(train);
    free(test);
    return code;
}

/* ---- Rows ---- */

static void forget_rows(cli_chooser *c) {
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

static int hold_out_test(cli_chooser *c) {
    blv_dataset *all = c->rows;
    c->rows = NULL;
    int code = divide(all, &c->rows, &c->test);
    blv_dataset_release(all);
    return code;
}

static int take_rows(cli_chooser *c, size_t variant, const task *t) {
    if (c->variant == variant)
        return CLI_DONE;
    forget_rows(c);
    char *train, *test;
    int code = find_files(c->bench, variant, &train, &test);
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

static json_t *new_point(json_t *points, uint64_t iteration, double seconds) {
    json_t *point = cli_json_object();
    cli_json_set(point, "iteration", cli_json_whole(iteration));
    cli_json_set(point, "seconds", cli_json_real(seconds));
    cli_json_append(points, point);
    return point;
}

static int judge(const task *t, const char *net, const blv_dataset *subset, const double *weight,
                 const blv_dataset *test, const cli_job *job, json_t *point, const char *key) {
    cli_choosing choosing = t->choosing;
    double accuracy = NAN;
    choosing.net = net;
    int code = cli_choosing_judge(&choosing, subset, weight, test, job->seed, &accuracy);
    cli_json_set(point, key, cli_json_real(accuracy));
    return code;
}

static int judge_choice(const task *t, const cli_job *job, const blv_dataset *subset,
                        const double *weight, const blv_dataset *test, json_t *point) {
    if (job->kind == CLI_JOB_TUNING)
        return judge(t, t->choosing.net, subset, NULL, test, job, point, chosen_by);
    int code = judge(t, t->choosing.net, subset, NULL, test, job, point, coreset_measures[0]);
    if (code == CLI_DONE)
        code = judge(t, t->choosing.net, subset, weight, test, job, point, coreset_measures[1]);
    if (code == CLI_DONE)
        code = judge(t, linear, subset, NULL, test, job, point, coreset_measures[2]);
    return code;
}

static int choose_rows(const task *t, const cli_job *job, const blv_dataset *rows,
                       const blv_dataset *test, json_t *points) {
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
                             const cli_job *job, json_t *points) {
    const bool tuning = job->kind == CLI_JOB_TUNING;
    double average, forgetting;
    cli_stream_sums(end, tasks, after, &average, &forgetting);
    json_t *point = new_point(points, after, end->seconds_after[after - 1]);
    cli_json_set(point, tuning ? chosen_by : continual_measures[0], cli_json_real(average));
    cli_json_set(point, tuning ? "val_forgetting" : continual_measures[1],
                 cli_json_real(forgetting));
}

static int expect_tasks(const cli_bench *bench, const task *t, const blv_dataset *rows) {
    const size_t classes = blv_dataset_view_of(rows)->classes;
    if (t->tasks >= 2 && t->tasks <= classes && t->memory >= t->tasks)
        return CLI_DONE;
    cli_complain("%s: problem_set: %llu tasks and a memory of %llu; expected from 2 to %zu tasks, "
                 "as there are classes, and a row in memory for each",
                 bench->suite.path, (unsigned long long)t->tasks, (unsigned long long)t->memory,
                 classes);
    return CLI_REFUSED;
}

static int pass_tasks(const cli_bench *bench, const task *t, const cli_job *job,
                      const blv_dataset *rows, const blv_dataset *test, json_t *points) {
    const cli_stream stream = {.choosing = &t->choosing,
                               .rows = rows,
                               .test = test,
                               .tasks = (size_t)t->tasks,
                               .memory = (size_t)t->memory,
                               .imbalanced = t->imbalanced,
                               .task_known = t->task_known};
    blv_message why = {0};
    cli_stream_end end = {0};
    int code = expect_tasks(bench, t, rows);
    if (code == CLI_DONE)
        code =
            cli_continual(&stream, blv_selection_method_find(job->solver, &why), job->seed, &end);
    const size_t first = job->kind == CLI_JOB_TUNING ? stream.tasks : 1;
    for (size_t after = first; code == CLI_DONE && after <= stream.tasks; after++)
        add_stream_point(&end, stream.tasks, after, job, points);
    cli_stream_end_free(&end);
    return code;
}

/* ---- Runs ---- */

cli_chooser *cli_chooser_new(const cli_bench *bench) {
    cli_chooser *c = cli_alloc(1, sizeof *c);
    *c = (cli_chooser){.bench = bench, .variant = SIZE_MAX};
    return c;
}

void cli_chooser_free(cli_chooser *c) {
    if (c)
        forget_rows(c);
    free(c);
}

int cli_chooser_run(cli_chooser *c, const cli_job *job, json_t *points) {
    const bool tuning = job->kind == CLI_JOB_TUNING;
    task t;
    int code = read_task(c->bench, job, &t);
    if (code == CLI_DONE)
        code = take_rows(c, job->variant, &t);
    if (code == CLI_DONE && tuning && !c->fitted)
        code = divide(c->rows, &c->fitted, &c->held_out);
    if (code != CLI_DONE)
        return code;
    const blv_dataset *rows = tuning ? c->fitted : c->rows;
    const blv_dataset *test = tuning ? c->held_out : c->test;
    return is_continual(c->bench) ? pass_tasks(c->bench, &t, job, rows, test, points)
                                  : choose_rows(&t, job, rows, test, points);
}
