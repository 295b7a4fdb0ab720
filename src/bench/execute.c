/* Making the runs of a benchmark: each is stepped here, and looked at when its clock, its calls or
 * its iterations have come to the next of its points. Looking is off the clock. */
#include "bench/variant_problem.h"

#include "base/message.h"
#include "bench/row_choice_runs.h"
#include "bilevel/certificate.h"
#include "bilevel/solver.h"
#include "store/run_execution.h"

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

/* A worker makes its share of the runs. */
typedef struct worker {
    bench *b;
    blv_store *store;
    bench_problem problem; /* kept until a job needs another one */
    bench_rows rows;       /* likewise, with a command */
    size_t done, total;
} worker;

/* A run while it is made. */
typedef struct making {
    const bench_job *job;
    blv_run *run;
    bench_record *record;
    blv_recorder recorder;
    blv_execution execution;
    bool certified;
    blv_certificate certificate; /* of the last point */
} making;

/* ---- Points ---- */

static uint64_t calls_of(const blv_result *result) {
    return blv_counts_total(&result->counts) + blv_counts_total(&result->setup_counts);
}

static blv_error add_counts(blv_values *point, const blv_result *r) {
    static const char *const names[] = {"f_grad", "g_grad", "hvp", "jvp", "values", "calls"};
    const blv_counts *a = &r->counts, *b = &r->setup_counts;
    const uint64_t counts[] = {a->f_grad + b->f_grad, a->g_grad + b->g_grad, a->hvp + b->hvp,
                               a->cross + b->cross,   a->values + b->values, calls_of(r)};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        BLV_CHECK(blv_values_add_int(point, names[i], (int64_t)counts[i]));
    return BLV_OK;
}

static blv_error add_measures(blv_values *point, blv_run *run) {
    const blv_problem_def *def = blv_problem_definition(blv_run_problem(run));
    double f = NAN, values[BLV_MEASURES_MAX];
    if (def->upper(def->user, NULL, blv_run_x(run), blv_run_y(run), &f, NULL, NULL) != 0)
        f = NAN;
    BLV_CHECK(blv_values_add_real(point, "f", f));
    if (!def->measure || def->measure(def->user, blv_run_x(run), blv_run_y(run), values) != 0)
        return BLV_OK;
    for (size_t i = 0; i < BLV_MEASURES_MAX && def->measures[i]; i++)
        BLV_CHECK(blv_values_add_real(point, def->measures[i], values[i]));
    return BLV_OK;
}

/* A point without a certificate says that there is none at this x. Where memory is short, that is
 * not so: the benchmark ends, and makes the run again when it is resumed. */
static blv_error add_certificate(blv_values *point, making *m) {
    blv_error error = blv_run_certify(m->run, &m->certificate);
    if (error == BLV_E_MEMORY)
        return error;
    m->certified = error == BLV_OK;
    BLV_CHECK(blv_values_add_real(point, "phi", m->certified ? m->certificate.phi : NAN));
    return blv_values_add_real(point, "grad_norm", m->certified ? m->certificate.grad_norm : NAN);
}

static void store_point(blv_recorder *recorder, const blv_values *point) {
    json_t *object = recorder->id ? blv_values_json(point) : NULL;
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    if (text)
        blv_recorder_row(recorder, (uint64_t)bench_number(point, "iteration"),
                         bench_number(point, "seconds"), text);
    free(text);
    json_decref(object);
}

static blv_error add_point(making *m, bool last) {
    const blv_result *result = blv_run_result(m->run);
    bool certify =
        m->job->certify == BENCH_CERTIFY_POINTS || (last && m->job->certify == BENCH_CERTIFY_END);
    blv_values *point = bench_record_point(m->record);
    if (!point)
        return BLV_E_MEMORY;
    BLV_CHECK(blv_values_add_int(point, "iteration", (int64_t)result->iterations));
    BLV_CHECK(blv_values_add_real(point, "seconds", result->seconds));
    BLV_CHECK(add_counts(point, result));
    BLV_CHECK(add_measures(point, m->run));
    if (certify)
        BLV_CHECK(add_certificate(point, m));
    store_point(&m->recorder, point);
    return BLV_OK;
}

/* ---- One run ---- */

static double used_of(const blv_result *result, bench_limit_kind kind) {
    return kind == BENCH_SECONDS ? result->seconds
           : kind == BENCH_CALLS ? (double)calls_of(result)
                                 : (double)result->iterations;
}

/* Points lie close together at first, where most happens: at (k / count)^2 of the limit. */
static double place_of(const bench_job *job, uint64_t k) {
    double share = (double)k / (double)job->points;
    return job->limit.amount * share * share;
}

/* Steps to the end; *failure: of the run, which is no error of the benchmark. */
static blv_error step_to_end(making *m, blv_error *failure) {
    const blv_result *result = blv_run_result(m->run);
    const bench_job *job = m->job;
    uint64_t k = 1;
    *failure = BLV_OK;
    if (job->points > 1)
        BLV_CHECK(add_point(m, false));
    while (*failure == BLV_OK && result->outcome == BLV_RUNNING) {
        *failure = blv_run_step(m->run);
        bool ended = result->outcome != BLV_RUNNING;
        double used = used_of(result, job->limit.kind);
        if (!ended && (k >= job->points || used < place_of(job, k)))
            continue;
        while (k < job->points && place_of(job, k) <= used)
            k++;
        BLV_CHECK(add_point(m, ended));
    }
    return BLV_OK;
}

/* Processor time over the time that passed since `wall` and `used`. */
static double share_since(double wall, double used) {
    wall = bench_clock(CLOCK_MONOTONIC) - wall;
    used = bench_clock(CLOCK_PROCESS_CPUTIME_ID) - used;
    return wall > 0.0 ? used / wall : NAN;
}

/* ---- In the run store ---- */

/* The facts of a run that the run itself does not tell; to be freed with free_facts. */
static blv_error find_facts(const worker *w, const bench_job *job, blv_run_info *facts) {
    const bench_suite *suite = &w->b->suite;
    json_t *part =
        json_pack("{s:s, s:s, s:s, s:s, s:s}", "suite", suite->name, "variant",
                  suite->variants[job->variant].name, "entry",
                  job->entry == SIZE_MAX ? "reference" : suite->entries[job->entry].id, "kind",
                  bench_job_words[job->kind], "start", bench_start_words[suite->start]);
    *facts = (blv_run_info){.kind = "bench",
                            .command = w->b->request->command,
                            .command_count = w->b->request->command_count,
                            .request = part ? json_dumps(part, 0) : NULL,
                            .problem = w->problem.family->name,
                            .fingerprint = blv_problem_fingerprint(w->problem.problem)};
    json_decref(part);
    if (!facts->request)
        return BLV_E_MEMORY;
    return blv_values_of_params(&facts->problem_parameters, w->problem.family->params,
                                w->problem.params);
}

static void free_facts(blv_run_info *facts) {
    free((char *)(uintptr_t)facts->request);
    blv_values_free(&facts->problem_parameters);
}

static void store_end(making *m, blv_error failure) {
    const blv_result *r = blv_run_result(m->run);
    blv_solution end = {.outcome = r->outcome,
                        .iterations = r->iterations,
                        .seconds = r->seconds,
                        .counts = r->counts,
                        .setup_counts = r->setup_counts,
                        .check_counts = r->check_counts,
                        .certified = m->certified,
                        .certificate = m->certificate};
    if (!m->recorder.id)
        return;
    blv_explain(&end.message, BLV_OK, "%s", blv_run_message(m->run));
    blv_execution_end(&m->execution, m->run, &end, failure, NULL);
    blv_execution_finish(&m->execution, false);
}

/* ---- Records ---- */

/* Texts are borrowed. */
static bench_record new_record(const bench *b, const bench_job *job) {
    bench_record record = {.kind = job->kind,
                           .variant = b->suite.variants[job->variant].name,
                           .entry = job->entry == SIZE_MAX ? NULL : b->suite.entries[job->entry].id,
                           .solver = (char *)(uintptr_t)job->solver,
                           .setting = job->setting,
                           .seed = job->seed,
                           .set = job->set,
                           .processor_share = NAN};
    memcpy(record.key, job->key, sizeof record.key);
    return record;
}

static void free_points(bench_record *record) {
    for (size_t i = 0; i < record->point_count; i++)
        blv_values_free(&record->points[i]);
    free(record->points);
}

static void report_progress(const worker *w, const bench_job *job, const char *outcome,
                            double seconds) {
    const bench_request *request = w->b->request;
    const char *variant = w->b->suite.variants[job->variant].name;
    char line[512];
    if (!request->progress)
        return;
    snprintf(line, sizeof line, "%zu/%zu  %s%s%s %s, seed %" PRIu64 ": %s after %.3g s",
             w->done + 1, w->total, variant, *variant ? ": " : "", bench_job_entry(w->b, job),
             bench_job_words[job->kind], job->seed, outcome, seconds);
    request->progress(request->context, line);
}

static blv_error keep_rejection(const worker *w, const bench_job *job, const char *reason,
                                blv_message *why) {
    bench_record record = new_record(w->b, job);
    record.failed = true;
    record.rejected = (char *)(uintptr_t)reason;
    return bench_keep_record(w->b, &record, why);
}

/* ---- One job ---- */

/* A run that a signal ended leaves no record: it is made again. */
static blv_error keep_run(const worker *w, making *m, blv_error failure, blv_message *why) {
    const blv_result *result = blv_run_result(m->run);
    blv_outcome outcome = result->outcome;
    if (outcome == BLV_STOPPED_REQUEST)
        return BLV_E_STOPPED;
    m->record->outcome = (char *)(uintptr_t)blv_outcome_word(outcome);
    m->record->failed = failure != BLV_OK || outcome <= BLV_DIVERGED;
    m->record->message = (char *)(uintptr_t)blv_run_message(m->run);
    report_progress(w, m->job, m->record->outcome, result->seconds);
    return bench_keep_record(w->b, m->record, why);
}

static blv_error make_run(worker *w, making *m, blv_message *why) {
    const bench_request *request = w->b->request;
    blv_error failure = BLV_OK;
    m->record->run = m->recorder.id;
    if (request->follow)
        request->follow(request->context, m->run);
    double wall = bench_clock(CLOCK_MONOTONIC), used = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
    blv_error error = step_to_end(m, &failure);
    m->record->processor_share = share_since(wall, used);
    if (request->follow)
        request->follow(request->context, NULL);
    if (error != BLV_OK)
        return error;
    store_end(m, failure);
    BLV_CHECK(keep_run(w, m, failure, why));
    return m->recorder.failed && request->store_must_work ? BLV_E_FILE : BLV_OK;
}

static blv_error open_run(const bench_job *job, making *m, blv_message *why) {
    blv_error error = bench_configure(m->run, job);
    if (error != BLV_OK)
        return blv_explain(why, error, "%s", blv_run_message(m->run));
    return blv_execution_begin(&m->execution, m->run, why);
}

static blv_error do_run(worker *w, const bench_job *job, blv_run *run, blv_message *why) {
    bench_record record = new_record(w->b, job);
    making m = {.job = job,
                .run = run,
                .record = &record,
                .recorder = {.store = w->store,
                             .warn = w->b->request->remark,
                             .context = w->b->request->context}};
    m.execution = (blv_execution){
        .recorder = &m.recorder, .start = bench_start_words[w->b->suite.start], .own_rows = true};
    blv_message reason = {0};
    blv_error error = find_facts(w, job, &m.execution.facts);
    if (error == BLV_OK)
        error = open_run(job, &m, &reason);
    if (error == BLV_OK)
        error = make_run(w, &m, why);
    else if (error == BLV_E_UNSUPPORTED)
        error = keep_rejection(w, job, reason.text, why);
    else
        blv_explain(why, error, "%s", reason.text);
    free_facts(&m.execution.facts);
    blv_execution_free(&m.execution);
    free_points(&record);
    return error;
}

/* A choice of rows is not in the store: it is no run of a solver. */
static blv_error do_choice(worker *w, const bench_job *job, blv_message *why) {
    bench_record record = new_record(w->b, job);
    double wall = bench_clock(CLOCK_MONOTONIC), used = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
    blv_error error = bench_choose_rows(&w->rows, w->b, job, &record, why);
    record.processor_share = share_since(wall, used);
    record.outcome = (char *)(uintptr_t) "chosen";
    if (error == BLV_OK) {
        report_progress(w, job, record.outcome, bench_clock(CLOCK_MONOTONIC) - wall);
        error = bench_keep_record(w->b, &record, why);
    }
    free_points(&record);
    return error;
}

static blv_error do_job(worker *w, const bench_job *job, blv_message *why) {
    if (w->b->suite.has_command)
        return do_choice(w, job, why);
    blv_run *run = NULL;
    BLV_CHECK(bench_problem_take(&w->problem, w->b, job, why));
    const blv_solver *solver = blv_solver_find(NULL, job->solver, why);
    blv_message reason = {0};
    blv_error error = blv_run_create(&run, w->problem.problem, solver, &reason);
    if (error == BLV_E_UNSUPPORTED)
        return keep_rejection(w, job, reason.text, why);
    if (error == BLV_OK)
        error = do_run(w, job, run, why);
    else
        blv_explain(why, error, "%s", reason.text);
    blv_run_destroy(run);
    return error;
}

/* ---- All runs ---- */

/* A run that several variants share, as a baseline may be, is made once. */
static bool is_open(const bench *b, size_t i) {
    for (size_t j = 0; j < i; j++)
        if (strcmp(b->jobs[j].key, b->jobs[i].key) == 0)
            return false;
    return !b->jobs[i].record;
}

static size_t count_open(const bench *b) {
    size_t count = 0;
    for (size_t i = 0; i < b->job_count; i++)
        count += is_open(b, i);
    return count;
}

/* Makes every workers-th of the runs that are open, from number `rank` on. */
static blv_error work(bench *b, uint64_t rank, uint64_t workers, blv_message *why) {
    const bench_request *request = b->request;
    worker w = {.b = b, .total = count_open(b)};
    blv_error error = BLV_OK;
    if (!b->suite.has_command && request->open_store)
        error = request->open_store(request->context, &w.store, why);
    for (size_t i = 0; i < b->job_count && error == BLV_OK; i++) {
        if (!is_open(b, i))
            continue;
        if (w.done % workers == rank)
            error = do_job(&w, &b->jobs[i], why);
        if (request->stopped && request->stopped(request->context))
            error = BLV_E_STOPPED;
        w.done++;
    }
    bench_problem_free(&w.problem);
    blv_store_close(w.store);
    bench_rows_free(&w.rows);
    return error;
}

/* The exit status of a worker process is its error; its message goes to standard error. */
static void work_apart(bench *b, uint64_t rank, uint64_t workers) {
    blv_message why = {0};
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* it is no use without the one that waits for it */
    blv_error error = work(b, rank, workers, &why);
    if (error != BLV_OK && error != BLV_E_STOPPED && b->request->remark)
        b->request->remark(b->request->context, *why.text ? why.text : blv_error_text(error));
    fflush(NULL);
    _exit((int)error);
}

/* Each in a process of its own, with its own copy of the data. */
static blv_error work_together(bench *b, uint64_t workers, blv_message *why) {
    blv_error error = BLV_OK;
    uint64_t started = 0;
    fflush(NULL);
    for (; started < workers && error == BLV_OK; started++) {
        pid_t pid = fork();
        if (pid == 0)
            work_apart(b, started, workers);
        if (pid < 0)
            error =
                blv_explain(why, BLV_E_MEMORY, "a process cannot be started: %s", strerror(errno));
    }
    for (uint64_t i = 0; i < started; i++) {
        int status = 0;
        while (wait(&status) < 0 && errno == EINTR)
            continue;
        blv_error own = WIFEXITED(status) ? (blv_error)WEXITSTATUS(status) : BLV_E_STOPPED;
        if (own != BLV_OK && error == BLV_OK)
            error = blv_explain(why, own, "a process of the benchmark failed");
    }
    return error;
}

blv_error bench_execute(bench *b, blv_message *why) {
    size_t open = count_open(b);
    uint64_t workers = b->request->jobs < open ? b->request->jobs : open;
    if (open == 0)
        return BLV_OK;
    blv_error error = workers > 1 ? work_together(b, workers, why) : work(b, 0, 1, why);
    blv_error loaded = bench_load_records(b, error == BLV_OK ? why : NULL);
    return error != BLV_OK ? error : loaded;
}
