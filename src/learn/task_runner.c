#include "learn/task_runner.h"
#include "base/message.h"
#include "bilevel/registry.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double usual_interval = 0.1;

void blv_run_end_free(blv_run_end *end) {
    if (!end)
        return;
    free(end->x);
    free(end->y);
    *end = (blv_run_end){0};
}

bool blv_task_is_exact(const blv_task *task) {
    return strcmp(task->solver->name, "exact") == 0;
}

blv_error blv_task_open(blv_task *task, const blv_task_hooks *hooks, blv_message *why) {
    task->why = why ? why : &task->own_why;
    for (size_t i = 0; i < task->setting_count; i++)
        if (!task->settings || !task->settings[i].key || !task->settings[i].value)
            return blv_explain(why, BLV_E_ARGUMENT, "settings: number %zu is NULL", i);
    if (!task->solver)
        task->solver = blv_solver_find(NULL, "exact", why);
    return blv_caller_struct(&task->hooks, sizeof task->hooks, hooks, "blv_task_hooks", why);
}

/* ---- Progress between runs ---- */

double blv_wall_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void report(blv_task *task, const blv_task_progress *progress) {
    task->last_report = blv_wall_clock();
    if (task->hooks.progress && task->hooks.progress(task->hooks.context, progress))
        task->stopped = true;
}

void blv_task_say(blv_task *task, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(task->activity, sizeof task->activity, format, args);
    va_end(args);
    report(task, &(blv_task_progress){.activity = task->activity});
}

int blv_task_should_stop(void *context) {
    blv_task *task = context;
    if (!task->stopped && blv_wall_clock() - task->last_report > usual_interval)
        report(task, &(blv_task_progress){.activity = task->activity});
    return task->stopped;
}

/* ---- Setting a run ---- */

static bool is_set(const blv_task *task, const char *key) {
    for (size_t i = 0; i < task->setting_count; i++)
        if (strcmp(task->settings[i].key, key) == 0)
            return true;
    return false;
}

/* Sets a parameter of the solver, where it has one of that name that takes the value, NULL: none,
 * and that the caller does not set. */
static blv_error suggest(const blv_task *task, blv_run *run, const char *key, const char *value) {
    const blv_param *param = value ? blv_params_find(task->solver->params, key) : NULL;
    bool word = param && param->words && strstr(param->words, value);
    bool number = param && param->type != BLV_CHOICE && isdigit((unsigned char)*value);
    return (word || number) && !is_set(task, key) ? blv_run_set(run, key, value) : BLV_OK;
}

static blv_error set_whole(blv_run *run, const char *key, uint64_t value) {
    char number[32];
    snprintf(number, sizeof number, "%" PRIu64, value);
    return blv_run_set(run, key, number);
}

/* Steps that suit sums over many rows (s-tfbo); solves that need not be tight, and a row of the
 * trace for each of few iterations (exact). */
static blv_error set_run(const blv_task *task, blv_run *run) {
    BLV_CHECK(suggest(task, run, "scale", "auto"));
    BLV_CHECK(suggest(task, run, "solve_tol", "1e-4"));
    if (blv_task_is_exact(task) && !is_set(task, "every"))
        BLV_CHECK(blv_run_set(run, "every", "1"));
    BLV_CHECK(set_whole(run, "seed", task->seed));
    if (task->no_certificate)
        BLV_CHECK(blv_run_set(run, "certify", "never"));
    for (size_t i = 0; i < task->setting_count; i++)
        BLV_CHECK(blv_run_set(run, task->settings[i].key, task->settings[i].value));
    return BLV_OK;
}

static blv_error set_up(const blv_task *task, const blv_task_plan *plan, blv_run *run) {
    bool limited = is_set(task, "iters") || is_set(task, "seconds") || is_set(task, "budget");
    BLV_CHECK(set_run(task, run));
    if (!limited)
        BLV_CHECK(set_whole(run, "iters", plan->iterations));
    BLV_CHECK(suggest(task, run, "products", plan->products));
    BLV_CHECK(suggest(task, run, "accuracy", plan->accuracy));
    BLV_CHECK(suggest(task, run, "solve_tol", plan->solve_tol));
    if (plan->start_x)
        BLV_CHECK(blv_run_write(run, "x", plan->start_x));
    return plan->start_y ? blv_run_write(run, "y", plan->start_y) : BLV_OK;
}

blv_error blv_task_start_work(blv_task *task, const blv_task_start *start,
                              const blv_problem *problem) {
    if (!task->hooks.start)
        return BLV_OK;
    blv_run *run = NULL;
    BLV_CHECK(blv_run_create(&run, problem, task->solver, task->why));
    blv_error error = set_run(task, run);
    if (error != BLV_OK) {
        blv_explain(task->why, error, "%s", blv_run_message(run));
    } else {
        blv_task_start whole = *start;
        whole.run = run;
        error = task->hooks.start(task->hooks.context, &whole, task->why);
    }
    blv_run_destroy(run);
    return error;
}

/* ---- While it runs ---- */

typedef struct watch {
    blv_task *task;
    const blv_task_plan *plan;
    blv_run *run;
    double interval;                /* of reports; 0: none */
    double last_wall, last_seconds; /* when the monitor was last here, on both clocks */
} watch;

static int monitor(void *context, const blv_progress *p);

static blv_error set_monitor(watch *w, double seconds) {
    bool looks = w->plan->look != NULL;
    if (!looks && seconds <= 0.0)
        return BLV_OK;
    return blv_run_monitor(w->run, monitor, w, looks ? w->plan->every : 0, seconds);
}

/* What is reported has to be evaluated first: that may take a tenth of the time, not more. */
static void adapt_interval(watch *w, const blv_progress *p) {
    double now = blv_wall_clock(), cost = (now - w->last_wall) - (p->seconds - w->last_seconds);
    w->last_wall = now;
    w->last_seconds = p->seconds;
    set_monitor(w, fmax(w->interval, 10.0 * cost));
}

static int monitor(void *context, const blv_progress *p) {
    watch *w = context;
    const blv_task_plan *plan = w->plan;
    int code = plan->look && p->iteration % plan->every == 0 ? plan->look(plan->context, p) : 0;
    if (w->interval <= 0.0)
        return code;
    report(w->task, &(blv_task_progress){plan->which.label, &plan->which, p});
    if (w->task->stopped)
        blv_run_stop(w->run);
    adapt_interval(w, p);
    return code;
}

static blv_error run_to_end(blv_task *task, const blv_task_plan *plan, blv_run *run) {
    const blv_task_hooks *hooks = &task->hooks;
    watch w = {.task = task, .plan = plan, .run = run, .last_wall = blv_wall_clock()};
    if (hooks->progress && hooks->interval >= 0.0)
        w.interval = hooks->interval > 0.0 ? hooks->interval : usual_interval;
    BLV_CHECK(blv_run_open(run));
    BLV_CHECK(set_monitor(&w, w.interval));
    if (task->stopped)
        blv_run_stop(run);
    blv_error error = blv_run_solve(run);
    if (blv_run_result(run)->outcome == BLV_STOPPED_REQUEST)
        task->stopped = true;
    return error;
}

/* ---- The end ---- */

/* Where there is no certificate, the numbers are NaN. Whoever has stopped the run does not want to
 * wait for one. */
static void certify(blv_task *task, const blv_task_plan *plan, blv_run *run, blv_run_end *end) {
    const bool asked = !task->no_certificate && !plan->uncertified;
    if (asked && !task->stopped)
        report(task, &(blv_task_progress){"certifying", &plan->which, NULL});
    bool wanted = asked && !task->stopped && blv_run_result(run)->outcome > BLV_DIVERGED;
    blv_error error = wanted ? blv_run_certify(run, &end->certificate) : BLV_OK;
    end->certified = wanted && error == BLV_OK;
    if (error == BLV_E_MEMORY && task->hooks.note)
        task->hooks.note(task->hooks.context, "there is no certificate: out of memory");
    if (!end->certified)
        end->certificate = BLV_NO_CERTIFICATE;
}

static blv_error read_end(const blv_run *run, blv_run_end *end) {
    const blv_result *result = blv_run_result(run);
    *end = (blv_run_end){.certified = end->certified,
                         .certificate = end->certificate,
                         .dim_x = blv_run_dim(run, "x"),
                         .dim_y = blv_run_dim(run, "y"),
                         .outcome = result->outcome,
                         .iterations = result->iterations,
                         .seconds = result->seconds,
                         .counts = result->counts,
                         .setup_counts = result->setup_counts};
    end->x = calloc(end->dim_x + 1, sizeof *end->x);
    end->y = calloc(end->dim_y + 1, sizeof *end->y);
    if (!end->x || !end->y)
        return BLV_E_MEMORY;
    BLV_CHECK(blv_run_read(run, "x", end->x));
    return blv_run_read(run, "y", end->y);
}

static blv_error finish(blv_task *task, const blv_task_plan *plan, blv_run *run, blv_error error,
                        blv_run_end *end) {
    const char *text = blv_run_message(run);
    if (error != BLV_OK)
        return blv_explain(task->why, error, "%s", *text ? text : blv_error_text(error));
    certify(task, plan, run, end);
    if (blv_run_result(run)->outcome <= BLV_DIVERGED) /* by its own word, or the certificate's */
        return blv_explain(task->why, BLV_E_FAILED, "solver %s: %s", task->solver->name, text);
    error = read_end(run, end);
    return error == BLV_OK ? BLV_OK : blv_explain(task->why, error, "%s", blv_error_text(error));
}

static blv_error make_run(blv_task *task, blv_task_plan *plan, blv_run *run, blv_run_end *end) {
    const blv_task_hooks *hooks = &task->hooks;
    blv_error error = set_up(task, plan, run);
    if (error != BLV_OK)
        return finish(task, plan, run, error, end);
    if (hooks->begin)
        BLV_CHECK(hooks->begin(hooks->context, &plan->which, run, task->why));
    error = finish(task, plan, run, run_to_end(task, plan, run), end);
    if (hooks->end)
        hooks->end(hooks->context, &plan->which, error == BLV_OK && !task->stopped ? end : NULL);
    return error;
}

static blv_error solve_quietly(blv_task *task, blv_task_plan *plan, blv_run_end *end) {
    blv_task own = {.hooks = {.size = sizeof own.hooks,
                              .context = task->hooks.context,
                              .interval = task->hooks.interval,
                              .progress = task->hooks.progress},
                    .solver = blv_solver_find(NULL, "exact", NULL),
                    .no_certificate = true,
                    .stopped = task->stopped,
                    .last_report = task->last_report,
                    .why = task->why};
    plan->quiet = false;
    blv_error error = blv_task_solve(&own, plan, end);
    task->stopped = own.stopped;
    task->last_report = own.last_report;
    return error;
}

blv_error blv_task_solve(blv_task *task, blv_task_plan *plan, blv_run_end *end) {
    const blv_task_hooks *hooks = &task->hooks;
    if (plan->quiet)
        return solve_quietly(task, plan, end);
    plan->which.number = task->runs++;
    if (hooks->recall && hooks->recall(hooks->context, &plan->which, end))
        return BLV_OK;
    blv_run *run = NULL;
    blv_error error = blv_run_create(&run, plan->problem, task->solver, task->why);
    if (error == BLV_OK)
        error = make_run(task, plan, run, end);
    blv_run_destroy(run);
    return error;
}
