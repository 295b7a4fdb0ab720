/* Making the runs of a bench: each is stepped here, and looked at when its clock, its calls or its
 * iterations have come to the next of its points. Looking is off the clock. */
#include "bilevel/registry.h"
#include "cli_bench.h"
#include "cli_bench_choose.h"
#include "cli_bench_point.h"
#include "cli_json.h"
#include "cli_record.h"
#include "cli_selection.h"
#include "cli_task.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A worker goes through its share of the jobs; the problem of a variant is kept until the next. */
typedef struct worker {
    const cli_bench *bench;
    blv_store *store;
    cli_instance instance;
    size_t variant;      /* SIZE_MAX: there is no problem yet */
    json_t *problem_set; /* of the problem at hand; borrowed */
    size_t done, total;
    json_t *texts;        /* that the instance's settings point to */
    cli_chooser *chooser; /* with a command, in place of all of these */
} worker;

/* ---- The problem ---- */

static const char *keep_text(worker *w, const char *text) {
    json_t *kept = cli_json_text(text);
    cli_json_append(w->texts, kept);
    return json_string_value(kept);
}

static void forget_problem(worker *w) {
    cli_instance_free(&w->instance);
    w->instance = (cli_instance){0};
    json_array_clear(w->texts);
    w->variant = SIZE_MAX;
}

static int name_problem(worker *w, size_t v, json_t *problem_set) {
    const cli_suite *suite = &w->bench->suite;
    const cli_variant *variant = &suite->variants[v];
    const char *key;
    json_t *value;
    forget_problem(w);
    w->instance.name = suite->problem;
    w->instance.options = (blv_problem_options){.size = sizeof(blv_problem_options),
                                                .precision = suite->precision,
                                                .threads = w->bench->asked->threads};
    json_object_foreach(problem_set, key, value) {
        char text[CLI_VALUE_SIZE];
        cli_value_text(value, text);
        cli_settings_add(&w->instance.settings, key, keep_text(w, text));
    }
    json_object_foreach(variant->data, key, value) {
        char *path = cli_bench_data(w->bench, json_string_value(value));
        if (!path)
            return CLI_REFUSED;
        cli_settings_add(&w->instance.settings, key, keep_text(w, path));
        free(path);
    }
    return CLI_DONE;
}

static int take_problem(worker *w, const cli_job *job) {
    if (w->variant == job->variant && json_equal(w->problem_set, job->problem_set))
        return CLI_DONE;
    int code = name_problem(w, job->variant, job->problem_set);
    if (code == CLI_DONE)
        code = cli_instance_create(&w->instance);
    if (code == CLI_DONE) {
        w->variant = job->variant;
        w->problem_set = job->problem_set;
    }
    return code;
}

/* ---- Settings ---- */

static blv_error apply_settings(blv_run *run, json_t *set) {
    const char *key;
    json_t *value;
    json_object_foreach(set, key, value) {
        char text[CLI_VALUE_SIZE];
        cli_value_text(value, text);
        BLV_CHECK(blv_run_set(run, key, text));
    }
    return BLV_OK;
}

static blv_error apply_limit(blv_run *run, const cli_limit *limit) {
    char text[CLI_REAL_SIZE];
    if (limit->kind == CLI_SECONDS)
        cli_format_real(limit->amount, text);
    else
        snprintf(text, sizeof text, "%.0f", fmax(1.0, floor(limit->amount)));
    return blv_run_set(run, cli_limit_options[limit->kind], text);
}

static blv_error configure(blv_run *run, const cli_job *job) {
    char seed[24];
    snprintf(seed, sizeof seed, "%" PRIu64, job->seed);
    BLV_CHECK(blv_run_set(run, "seed", seed));
    BLV_CHECK(apply_settings(run, job->set));
    return apply_limit(run, &job->limit);
}

/* Settings are tried on a small problem that suits every solver, before data are read. */
static int rehearse_job(const cli_bench *bench, const blv_problem *small, const cli_job *job) {
    blv_run *run = NULL;
    blv_message why = {0};
    const blv_solver *solver = blv_solver_find(NULL, job->solver, &why);
    blv_error error = solver ? blv_run_create(&run, small, solver, &why) : BLV_E_NAME;
    const char *message = why.text;
    if (error == BLV_OK) {
        error = configure(run, job);
        message = blv_run_message(run);
    }
    int code = CLI_DONE;
    if (error != BLV_OK) {
        cli_complain("%s: %s: %s", bench->suite.path,
                     job->entry == SIZE_MAX ? "reference" : bench->suite.entries[job->entry].id,
                     message && *message ? message : blv_error_text(error));
        code = CLI_REFUSED;
    }
    blv_run_destroy(run);
    return code;
}

static int check_choosing(const cli_bench *bench) {
    int code = cli_choose_check_suite(bench);
    for (size_t v = 0; v < bench->suite.variant_count && code == CLI_DONE; v++)
        code = cli_choose_check_data(bench, v);
    return code;
}

int cli_bench_check(const cli_bench *bench) {
    if (bench->suite.command)
        return check_choosing(bench);
    worker w = {.bench = bench, .variant = SIZE_MAX, .texts = cli_json_array()};
    int code = CLI_DONE;
    for (size_t v = 0; v < bench->suite.variant_count && code == CLI_DONE; v++) {
        code = name_problem(&w, v, bench->suite.variants[v].problem_set);
        if (code == CLI_DONE)
            code = cli_instance_find(&w.instance);
    }
    forget_problem(&w);
    json_decref(w.texts);
    return code;
}

/* A baseline and the seed set parameters of the problem that its variants do not. */
static int rehearse_problem(worker *w, const cli_job *job) {
    const cli_suite *suite = &w->bench->suite;
    if (!suite->seeded && (job->entry == SIZE_MAX || !suite->entries[job->entry].problem_set))
        return CLI_DONE;
    int code = name_problem(w, job->variant, job->problem_set);
    return code == CLI_DONE ? cli_instance_find(&w->instance) : code;
}

static int rehearse_problems(const cli_bench *bench) {
    worker w = {.bench = bench, .variant = SIZE_MAX, .texts = cli_json_array()};
    int code = CLI_DONE;
    for (size_t i = 0; i < bench->job_count && code == CLI_DONE; i++)
        code = rehearse_problem(&w, &bench->jobs[i]);
    forget_problem(&w);
    json_decref(w.texts);
    return code;
}

static int rehearse_choosing(const cli_bench *bench) {
    int code = CLI_DONE;
    for (size_t i = 0; i < bench->job_count && code == CLI_DONE; i++)
        code = cli_choose_check_job(bench, &bench->jobs[i]);
    return code;
}

int cli_bench_rehearse(const cli_bench *bench) {
    if (bench->suite.command)
        return rehearse_choosing(bench);
    blv_problem *small = NULL;
    blv_message why = {0};
    const blv_problem_family *family = blv_family_find(NULL, "parabola", &why);
    blv_error error =
        family ? blv_problem_from_family(family, NULL, NULL, &small, &why) : BLV_E_NAME;
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    int code = rehearse_problems(bench);
    for (size_t i = 0; i < bench->job_count && code == CLI_DONE; i++)
        code = rehearse_job(bench, small, &bench->jobs[i]);
    blv_problem_destroy(small);
    return code;
}

/* ---- Points ---- */

static double used_of(const blv_result *result, cli_limit_kind kind) {
    return kind == CLI_SECONDS ? result->seconds
           : kind == CLI_CALLS ? (double)cli_point_calls(result)
                               : (double)result->iterations;
}

/* Points lie close together at first, where most happens: at (k / count)^2 of the limit. */
static double place_of(const cli_job *job, uint64_t k) {
    double share = (double)k / (double)job->points;
    return job->limit.amount * share * share;
}

/* ---- One run ---- */

static double clock_of(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct clocks {
    double wall, used;
} clocks;

static clocks clocks_now(void) {
    return (clocks){clock_of(CLOCK_MONOTONIC), clock_of(CLOCK_PROCESS_CPUTIME_ID)};
}

static void note_share(json_t *record, clocks begin) {
    const clocks now = clocks_now();
    const double wall = now.wall - begin.wall, used = now.used - begin.used;
    cli_json_set(record, "processor_share", cli_json_real(wall > 0.0 ? used / wall : NAN));
}

static void keep_row(cli_record *record, json_t *point) {
    if (!record->store || !record->id)
        return;
    char *text = json_dumps(point, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!text)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
    cli_record_row(record, (uint64_t)json_integer_value(json_object_get(point, "iteration")),
                   json_number_value(json_object_get(point, "seconds")), text);
    free(text);
}

static void add_point(const cli_job *job, cli_report *report, cli_record *record, json_t *points,
                      bool last) {
    bool certify = job->certify == CLI_CERTIFY_POINTS || (last && job->certify == CLI_CERTIFY_END);
    json_t *point = cli_point_look(report, certify);
    keep_row(record, point);
    cli_json_append(points, point);
}

static void drive(const cli_job *job, cli_report *report, cli_record *record, json_t *points) {
    const blv_result *result = blv_run_result(report->run);
    uint64_t k = 1;
    if (job->points > 1)
        add_point(job, report, record, points, false);
    while (report->error == BLV_OK && result->outcome == BLV_RUNNING) {
        report->error = blv_run_step(report->run);
        report->began = true;
        bool ended = result->outcome != BLV_RUNNING;
        double used = used_of(result, job->limit.kind);
        if (!ended && (k >= job->points || used < place_of(job, k)))
            continue;
        while (k < job->points && place_of(job, k) <= used)
            k++;
        add_point(job, report, record, points, ended);
    }
    const char *message = blv_run_message(report->run);
    snprintf(report->message, sizeof report->message, "%s", message ? message : "");
}

static void begin_record(const worker *w, const cli_job *job, cli_report *report,
                         cli_record *record) {
    const cli_suite *suite = &w->bench->suite;
    if (!record->store)
        return;
    json_t *task = cli_json_object();
    cli_json_set(task, "suite", cli_json_text(suite->name));
    cli_json_set(task, "variant", cli_json_text(suite->variants[job->variant].name));
    cli_json_set(task, "entry",
                 cli_json_text(job->entry == SIZE_MAX ? cli_job_words[job->kind]
                                                      : suite->entries[job->entry].id));
    cli_json_set(task, "kind", cli_json_text(cli_job_words[job->kind]));
    cli_json_set(task, "start", cli_json_text(suite->start));
    cli_facts facts = cli_facts_of(&w->instance, report->run);
    facts.run.kind = "bench";
    facts.run.command = w->bench->asked->command;
    facts.run.task = task;
    cli_record_begin(record, &facts.run, 0, 0);
    report->stored_as = record->id;
    cli_facts_free(&facts);
    json_decref(task);
}

static json_t *new_record(const cli_bench *bench, const cli_job *job) {
    const cli_suite *suite = &bench->suite;
    json_t *record = cli_json_object();
    cli_json_set(record, "key", cli_json_text(job->key));
    cli_json_set(record, "kind", cli_json_text(cli_job_words[job->kind]));
    cli_json_set(record, "variant", cli_json_text(suite->variants[job->variant].name));
    cli_json_set(record, "entry",
                 job->entry == SIZE_MAX ? json_null()
                                        : cli_json_text(suite->entries[job->entry].id));
    cli_json_set(record, "solver", cli_json_text(job->solver));
    cli_json_set(record, "setting", cli_json_whole(job->setting));
    cli_json_set(record, "seed", cli_json_whole(job->seed));
    cli_json_set(record, "set", json_incref(job->set));
    cli_json_set(record, "points", cli_json_array());
    return record;
}

static int keep_refusal(worker *w, const cli_job *job, const char *reason) {
    json_t *record = new_record(w->bench, job);
    cli_json_set(record, "failed", json_true());
    cli_json_set(record, "refused", cli_json_text(reason));
    int code = cli_bench_keep(w->bench, record);
    json_decref(record);
    return code;
}

static blv_error open_run(const worker *w, const cli_job *job, blv_run *run) {
    BLV_CHECK(configure(run, job));
    BLV_CHECK(blv_run_open(run));
    return strcmp(w->bench->suite.start, "random") == 0 ? blv_run_start_random(run, 1.0) : BLV_OK;
}

static void tell(const worker *w, const cli_job *job, const char *outcome, double seconds) {
    const cli_suite *suite = &w->bench->suite;
    const char *variant = suite->variants[job->variant].name;
    if (w->bench->asked->progress == CLI_PROGRESS_NONE)
        return;
    fprintf(stderr, "%zu/%zu  %s%s%s %s, seed %" PRIu64 ": %s after %.3g s\n", w->done + 1,
            w->total, variant, *variant ? ": " : "",
            job->entry == SIZE_MAX ? "exact" : suite->entries[job->entry].id,
            cli_job_words[job->kind], job->seed, outcome, seconds);
}

/* A run that a signal ended leaves no record: it is made again. */
static int finish_run(worker *w, const cli_job *job, cli_report *report, json_t *record) {
    const blv_result *result = blv_run_result(report->run);
    blv_outcome outcome = result->outcome;
    if (outcome == BLV_STOPPED_REQUEST)
        return CLI_FAILED;
    cli_json_set(record, "outcome", cli_json_text(blv_outcome_word(outcome)));
    cli_json_set(record, "failed",
                 json_boolean(report->error != BLV_OK || outcome <= BLV_DIVERGED));
    cli_json_set(record, "message", cli_json_text(report->message));
    cli_json_set(record, "run",
                 report->stored_as ? cli_json_whole((uint64_t)report->stored_as) : json_null());
    tell(w, job, blv_outcome_word(outcome), result->seconds);
    return cli_bench_keep(w->bench, record);
}

static int make_run(worker *w, const cli_job *job, cli_report *report) {
    blv_error error = open_run(w, job, report->run);
    if (error == BLV_E_UNSUPPORTED)
        return keep_refusal(w, job, blv_run_message(report->run));
    if (error != BLV_OK)
        return cli_refuse(error, blv_run_message(report->run));
    cli_record stored = {.store = w->store,
                         .store_is_named = cli_store_is_named(&w->bench->asked->store)};
    json_t *record = new_record(w->bench, job);
    cli_vectors_read(&report->start, report->run);
    begin_record(w, job, report, &stored);
    cli_watch_run(report->run, NULL);
    clocks begin = clocks_now();
    drive(job, report, &stored, json_object_get(record, "points"));
    note_share(record, begin);
    cli_watch_leave();
    cli_vectors_read(&report->end, report->run);
    cli_record_end(&stored, report);
    int code = finish_run(w, job, report, record);
    json_decref(record);
    return code != CLI_DONE ? code : cli_record_code(&stored);
}

/* A choice of rows is not in the store: it is no run of a solver. */
static int make_choice(worker *w, const cli_job *job) {
    json_t *record = new_record(w->bench, job);
    clocks begin = clocks_now();
    int code = cli_chooser_run(w->chooser, job, json_object_get(record, "points"));
    note_share(record, begin);
    cli_json_set(record, "outcome", cli_json_text("chosen"));
    cli_json_set(record, "failed", json_false());
    if (code == CLI_DONE) {
        tell(w, job, "chosen", clocks_now().wall - begin.wall);
        code = cli_bench_keep(w->bench, record);
    }
    json_decref(record);
    return code;
}

static int do_job(worker *w, const cli_job *job) {
    if (w->chooser)
        return make_choice(w, job);
    int code = take_problem(w, job);
    if (code != CLI_DONE)
        return code;
    blv_message why = {0};
    const blv_solver *solver = blv_solver_find(NULL, job->solver, &why);
    cli_report report = {.instance = &w->instance};
    blv_error error = blv_run_create(&report.run, w->instance.problem, solver, &why);
    if (error == BLV_E_UNSUPPORTED)
        code = keep_refusal(w, job, why.text);
    else if (error != BLV_OK)
        code = cli_refuse(error, why.text);
    else
        code = make_run(w, job, &report);
    cli_vectors_free(&report.start);
    cli_vectors_free(&report.end);
    blv_run_destroy(report.run);
    return code;
}

/* ---- All runs ---- */

/* A run that several variants share, as a baseline may be, is made once. */
static bool is_open(const cli_bench *bench, size_t i) {
    for (size_t j = 0; j < i; j++)
        if (strcmp(bench->jobs[j].key, bench->jobs[i].key) == 0)
            return false;
    return !cli_bench_record(bench, &bench->jobs[i]);
}

static size_t count_open(const cli_bench *bench) {
    size_t count = 0;
    for (size_t i = 0; i < bench->job_count; i++)
        count += is_open(bench, i);
    return count;
}

/* Takes every jobs-th of those that are open, from number `rank` on. */
static int work(const cli_bench *bench, uint64_t rank, uint64_t workers) {
    worker w = {
        .bench = bench, .variant = SIZE_MAX, .total = count_open(bench), .texts = cli_json_array()};
    int code = CLI_DONE;
    if (bench->suite.command)
        w.chooser = cli_chooser_new(bench);
    else
        code = cli_store_open(&w.store, &bench->asked->store);
    cli_watch_begin(CLI_PROGRESS_NONE);
    for (size_t i = 0; i < bench->job_count && code == CLI_DONE; i++) {
        const cli_job *job = &bench->jobs[i];
        if (!is_open(bench, i))
            continue;
        if (w.done % workers == rank)
            code = do_job(&w, job);
        if (cli_watch_signalled())
            code = CLI_FAILED;
        w.done++;
    }
    if (cli_watch_signalled() && rank == 0)
        cli_complain("stopped; the same command goes on from here");
    cli_watch_end();
    forget_problem(&w);
    json_decref(w.texts);
    blv_store_close(w.store);
    cli_chooser_free(w.chooser);
    return code;
}

/* Each in a process of its own, with its own copy of the data. */
static int work_together(const cli_bench *bench, uint64_t workers) {
    int code = CLI_DONE;
    uint64_t started = 0;
    fflush(NULL);
    for (; started < workers; started++) {
        pid_t pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGTERM); /* it is no use without the one that waits for it */
            int own = work(bench, started, workers);
            fflush(NULL);
            _exit(own);
        }
        if (pid < 0) {
            cli_complain("a process cannot be started: %s", strerror(errno));
            code = CLI_FAILED;
            break;
        }
    }
    for (uint64_t i = 0; i < started; i++) {
        int status = 0;
        while (wait(&status) < 0 && errno == EINTR)
            continue;
        int own = WIFEXITED(status) ? WEXITSTATUS(status) : CLI_FAILED;
        code = own > code ? own : code;
    }
    return code;
}

int cli_bench_execute(cli_bench *bench) {
    size_t open = count_open(bench);
    uint64_t workers = bench->asked->jobs < open ? bench->asked->jobs : open;
    if (open == 0)
        return CLI_DONE;
    int code = workers > 1 ? work_together(bench, workers) : work(bench, 0, 1);
    int loaded = cli_bench_load(bench);
    return code != CLI_DONE ? code : loaded;
}
