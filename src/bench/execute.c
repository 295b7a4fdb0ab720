/* Making the runs of a benchmark: each goes through blv_solve, and is looked at when its clock, its
 * calls or its iterations have come to the next of its points. Looking is off the clock. */
#include "bench/bench.h"

#include "base/rank_exchange.h"
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
    const worker *w;
    const bench_job *job;
    bench_record record;
    blv_recorder recorder;
    blv_execution execution;
    uint64_t next;     /* point */
    double wall, used; /* both clocks at the start */
    blv_error error;   /* of the benchmark, not of the run */
} making;

/* ---- Points ---- */

/* Whether the suite asks for the gradient, which takes most of the work of a certificate. */
static bool wants_gradient(const bench_suite *suite) {
    return strcmp(suite->metric, "grad_norm") == 0 || bench_is_listed(&suite->show, "grad_norm");
}

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
static blv_error add_certificate(blv_values *point, blv_run *run, const blv_solution *end) {
    blv_certificate made;
    blv_error error = end ? BLV_OK : blv_run_certify(run, &made);
    if (error == BLV_E_MEMORY)
        return error;
    const blv_certificate *c = end ? &end->certificate : error == BLV_OK ? &made : NULL;
    BLV_CHECK(blv_values_add_real(point, "phi", c ? c->phi : NAN));
    return blv_values_add_real(point, "grad_norm", c ? c->grad_norm : NAN);
}

static void store_point(blv_recorder *recorder, const blv_values *point) {
    if (!recorder->id)
        return;
    char *text = blv_json_text(blv_values_json(point), JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (text)
        blv_recorder_row(recorder, (uint64_t)blv_values_number(point, "iteration"),
                         blv_values_number(point, "seconds"), text);
    free(text);
}

/* Oracle calls that evaluating a point may still take. */
static int spent(void *context) {
    size_t *left = context;
    return *left == 0 || --*left == 0;
}

/* y becomes y*(x), with |gy| at a millionth of what it is at y = 0 in single precision, and in
 * double at 1e-10 of it, and at 1e-13 where that is soon done. BLV_E_UNSUPPORTED: it takes too
 * long. */
static blv_error solve_lower(blv_run *run, const blv_problem_def *def, blv_vec *y) {
    enum { MOST_CALLS = 20000, SOON = 200 }; /* a Hessian may be formed several times */
    const bool is_single = blv_space_precision(def->space_y) == BLV_F32;
    double residual, first = NAN;
    blv_vec *gy = NULL;
    BLV_CHECK(blv_vec_create(&gy, def->space_y));
    blv_vec_fill(y, 0.0);
    if (def->lower(def->user, NULL, blv_run_x(run), y, NULL, NULL, gy) == 0)
        first = blv_vec_norm(gy);
    blv_vec_destroy(gy);
    blv_vec_copy(y, blv_run_y(run));
    first = isfinite(first) ? first : 0.0;
    size_t left = MOST_CALLS, soon = SOON;
    BLV_CHECK(blv_solve_lower(blv_run_problem(run), blv_run_x(run), y,
                              (is_single ? 1e-6 : 1e-10) * first, spent, &left, &residual, NULL));
    if (left == 0)
        return BLV_E_UNSUPPORTED;
    return is_single ? BLV_OK
                     : blv_solve_lower(blv_run_problem(run), blv_run_x(run), y, 1e-13 * first,
                                       spent, &soon, &residual, NULL);
}

/* Phi alone: the lower level solved tightly, without what the gradient needs, which is most of the
 * work. */
static blv_error add_phi(blv_values *point, blv_run *run) {
    const blv_problem_def *def = blv_problem_definition(blv_run_problem(run));
    double phi = NAN;
    blv_vec *y = NULL;
    blv_error error = blv_vec_create(&y, def->space_y);
    if (error == BLV_OK)
        error = solve_lower(run, def, y);
    if (error != BLV_OK || def->many_minimizers ||
        def->upper(def->user, NULL, blv_run_x(run), y, &phi, NULL, NULL) != 0)
        phi = NAN;
    blv_vec_destroy(y);
    return error == BLV_E_MEMORY ? error : blv_values_add_real(point, "phi", phi);
}

/* end: NULL while it runs. */
static blv_error add_point(making *m, blv_run *run, const blv_solution *end) {
    const blv_result *result = blv_run_result(run);
    const bench_certify when = m->job->certify;
    blv_values *point;
    BLV_CHECK(bench_record_point(&m->record, result->iterations, result->seconds, &point));
    BLV_CHECK(add_counts(point, result));
    BLV_CHECK(add_measures(point, run));
    if (when == BENCH_CERTIFY_POINTS || (end && when == BENCH_CERTIFY_END))
        BLV_CHECK(wants_gradient(&m->w->b->suite) ? add_certificate(point, run, end)
                                                  : add_phi(point, run));
    store_point(&m->recorder, point);
    return BLV_OK;
}

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

/* Called after every step. */
static void look(void *context, blv_run *run) {
    making *m = context;
    const bench_job *job = m->job;
    double used = used_of(blv_run_result(run), job->limit.kind);
    if (m->next >= job->points || used < place_of(job, m->next))
        return;
    while (m->next < job->points && place_of(job, m->next) <= used)
        m->next++;
    m->error = add_point(m, run, NULL);
    if (m->error != BLV_OK)
        blv_run_stop(run);
}

/* ---- Records ---- */

/* Texts are borrowed. */
static bench_record new_record(const bench *b, const bench_job *job) {
    bench_record record = {.kind = job->kind,
                           .variant = b->suite.variants[job->variant].name,
                           .entry = job->entry == SIZE_MAX ? NULL : b->suite.entries[job->entry].id,
                           .solver = job->solver,
                           .setting = job->setting,
                           .seed = job->seed,
                           .set = job->set,
                           .processor_share = NAN};
    memcpy(record.key, job->key, sizeof record.key);
    return record;
}

static void free_found(bench_record *record) {
    for (size_t i = 0; i < record->point_count; i++)
        blv_values_free(&record->points[i]);
    free(record->points);
    blv_values_free(&record->used);
}

/* Processor time over the time that passed since `wall` and `used`. */
static double share_since(double wall, double used) {
    wall = bench_clock(CLOCK_MONOTONIC) - wall;
    used = bench_clock(CLOCK_PROCESS_CPUTIME_ID) - used;
    return wall > 0.0 ? used / wall : NAN;
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

/* ---- One run ---- */

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
                            .request = blv_json_text(part, 0),
                            .problem = w->problem.family->name,
                            .fingerprint = blv_problem_fingerprint(w->problem.problem)};
    if (!facts->request)
        return BLV_E_MEMORY;
    return blv_values_of_params(&facts->problem_parameters, w->problem.family->params,
                                w->problem.params);
}

static void free_facts(blv_run_info *facts) {
    free((char *)(uintptr_t)facts->request);
    blv_values_free(&facts->problem_parameters);
}

static blv_error begin_run(void *context, blv_run *run, blv_message *why) {
    making *m = context;
    const bench_request *request = m->w->b->request;
    const double after_every_step = 0.0;
    blv_error error = bench_configure(run, m->job);
    if (error != BLV_OK)
        return blv_explain(why, error, "%s", blv_run_message(run));
    BLV_CHECK(blv_execution_begin(&m->execution, run, why));
    BLV_CHECK(blv_run_every(run, look, m, after_every_step));
    if (request->follow)
        request->follow(request->context, run);
    m->record.run = m->recorder.id;
    m->wall = bench_clock(CLOCK_MONOTONIC);
    m->used = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
    return m->job->points > 1 ? add_point(m, run, NULL) : BLV_OK;
}

/* A run that a signal ended leaves no record: it is made again. */
static blv_error keep_run(making *m, blv_run *run, const blv_solution *end, blv_error error) {
    BLV_CHECK(m->error);
    if (error == BLV_E_MEMORY)
        return error;
    BLV_CHECK(add_point(m, run, end));
    BLV_CHECK(blv_values_of_params(&m->record.used, blv_run_solver(run)->params,
                                   blv_run_solver_fields(run)));
    m->record.processor_share = share_since(m->wall, m->used);
    if (m->recorder.id) {
        blv_execution_end(&m->execution, run, end, error, NULL);
        blv_execution_finish(&m->execution, false);
    }
    if (end->outcome == BLV_STOPPED_REQUEST)
        return BLV_E_STOPPED;
    m->record.outcome = blv_outcome_word(end->outcome);
    m->record.failed = error != BLV_OK || end->outcome <= BLV_DIVERGED;
    m->record.message = end->message.text;
    report_progress(m->w, m->job, m->record.outcome, end->seconds);
    BLV_CHECK(bench_keep_record(m->w->b, &m->record));
    return m->recorder.failed && m->w->b->request->store_must_work ? BLV_E_FILE : BLV_OK;
}

static void end_run(void *context, blv_run *run, const blv_solution *end, blv_error error,
                    const char *why) {
    making *m = context;
    const bench_request *request = m->w->b->request;
    (void)why;
    if (request->follow)
        request->follow(request->context, NULL);
    if (end)
        m->error = keep_run(m, run, end, error);
}

static blv_error do_run(worker *w, const bench_job *job) {
    const bench_request *request = w->b->request;
    BLV_CHECK(bench_problem_take(&w->problem, w->b, job));
    making m = {
        .w = w,
        .job = job,
        .record = new_record(w->b, job),
        .recorder = {.store = w->store, .warn = request->remark, .context = request->context},
        .execution = {.recorder = &m.recorder,
                      .start = bench_start_words[w->b->suite.start],
                      .own_rows = true},
        .next = 1};
    const blv_solve_options options = {.size = sizeof options,
                                       .solver = job->solver,
                                       .no_certificate = job->certify == BENCH_CERTIFY_NEVER ||
                                                         !wants_gradient(&w->b->suite),
                                       .context = &m,
                                       .begin = begin_run,
                                       .end = end_run};
    blv_solution *solution = NULL;
    blv_message reason = {0};
    blv_error error = find_facts(w, job, &m.execution.facts);
    if (error == BLV_OK)
        error = blv_solve(&solution, w->problem.problem, &options, &reason);
    if (solution) {
        error = m.error;
    } else if (error == BLV_E_UNSUPPORTED) {
        m.record.failed = true;
        m.record.rejected = reason.text;
        error = bench_keep_record(w->b, &m.record);
    } else {
        blv_explain(w->b->suite.why, error, "%s", reason.text);
    }
    blv_solution_destroy(solution);
    free_facts(&m.execution.facts);
    blv_execution_free(&m.execution);
    free_found(&m.record);
    return error;
}

/* A choice of rows is not in the store: it is no run of a solver. */
static blv_error do_choice(worker *w, const bench_job *job) {
    bench_record record = new_record(w->b, job);
    double wall = bench_clock(CLOCK_MONOTONIC), used = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
    blv_error error = bench_choose_rows(&w->rows, w->b, job, &record);
    record.processor_share = share_since(wall, used);
    record.outcome = "chosen";
    if (error == BLV_OK) {
        report_progress(w, job, record.outcome, bench_clock(CLOCK_MONOTONIC) - wall);
        error = bench_keep_record(w->b, &record);
    }
    free_found(&record);
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
static blv_error work(bench *b, uint64_t rank, uint64_t workers) {
    const bench_request *request = b->request;
    worker w = {.b = b, .total = count_open(b)};
    blv_error error = BLV_OK;
    if (!b->suite.has_command && request->open_store)
        error = request->open_store(request->context, &w.store, b->suite.why);
    for (size_t i = 0; i < b->job_count && error == BLV_OK; i++) {
        if (!is_open(b, i))
            continue;
        if (w.done % workers == rank)
            error = b->suite.has_command ? do_choice(&w, &b->jobs[i]) : do_run(&w, &b->jobs[i]);
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
    b->suite.why = &why;
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* it is no use without the one that waits for it */
    blv_error error = work(b, rank, workers);
    if (error != BLV_OK && error != BLV_E_STOPPED && b->request->remark)
        b->request->remark(b->request->context, *why.text ? why.text : blv_error_text(error));
    fflush(NULL);
    _exit((int)error);
}

/* Each in a process of its own, with its own copy of the data. */
static blv_error work_together(bench *b, uint64_t workers) {
    blv_error error = BLV_OK;
    uint64_t started = 0;
    fflush(NULL);
    for (; started < workers && error == BLV_OK; started++) {
        pid_t pid = fork();
        if (pid == 0)
            work_apart(b, started, workers);
        if (pid < 0)
            error = blv_explain(b->suite.why, BLV_E_MEMORY, "a process cannot be started: %s",
                                strerror(errno));
    }
    for (uint64_t i = 0; i < started; i++) {
        int status = 0;
        while (wait(&status) < 0 && errno == EINTR)
            continue;
        blv_error own = WIFEXITED(status) ? (blv_error)WEXITSTATUS(status) : BLV_E_STOPPED;
        if (own != BLV_OK && error == BLV_OK)
            error = blv_explain(b->suite.why, own, "a process of the benchmark failed");
    }
    return error;
}

blv_error bench_execute(bench *b) {
    size_t open = count_open(b);
    uint64_t workers = b->request->jobs < open ? b->request->jobs : open;
    const blv_ranks *ranks = b->request->ranks;
    blv_error error = blv_ranks_agree(ranks, BLV_OK, b->suite.why); /* all know the same records */
    if (open == 0 || error != BLV_OK)
        return error;
    if (blv_ranks_several(ranks))
        error = work(b, (uint64_t)ranks->rank, (uint64_t)ranks->count);
    else
        error = workers > 1 ? work_together(b, workers) : work(b, 0, 1);
    if (error != BLV_E_STOPPED) /* who is to stop does not wait for the runs of others */
        error = blv_ranks_agree(ranks, error, b->suite.why);
    blv_message *why = b->suite.why;
    b->suite.why = error == BLV_OK ? why : NULL; /* the first error is the one that counts */
    blv_error loaded = bench_load_records(b);
    b->suite.why = why;
    return error != BLV_OK ? error : loaded;
}
