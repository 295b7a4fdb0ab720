/* Methods compared over passes through the tasks. */
#include "base/message.h"
#include "learn/continual_work.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { USUAL_TASKS = 5, USUAL_MEMORY = 100, USUAL_SEEDS = 3, USUAL_METHODS = 4 };
static const char *const usual_methods[USUAL_METHODS] = {"bcsr", "d-tfbo", "s-tfbo", "uniform"};

/* Initial values with sensitivity; the usual one first. */
static const double initial_values[] = {5.0, 2.0, 4.0, 6.0, 8.0};
enum { INITIAL_VALUES = sizeof initial_values / sizeof initial_values[0] };

typedef struct comparison {
    blv_continual_result result; /* first: what the caller gets */
    blv_arena arena;
    blv_continual_options options;
    const blv_selection_method *usual[USUAL_METHODS];
    blv_stream_setting setting;
    blv_task task;
} comparison;

/* ---- Summaries ---- */

/* The passes from `at` on that belong together; returns where the next ones begin. */
static size_t summarize(const blv_continual_result *r, size_t at, blv_continual_summary *s) {
    const blv_continual_pass *first = &r->passes[at];
    *s = (blv_continual_summary){.method = first->method,
                                 .initial = first->initial,
                                 .average_least = (double)INFINITY,
                                 .average_most = -(double)INFINITY};
    size_t end = at;
    for (; end < r->pass_count && r->passes[end].method == first->method &&
           r->passes[end].initial == first->initial;
         end++) {
        const blv_continual_pass *p = &r->passes[end];
        s->average += p->average;
        s->forgetting += p->forgetting;
        s->seconds += p->seconds;
        s->average_least = fmin(s->average_least, p->average);
        s->average_most = fmax(s->average_most, p->average);
    }
    const double passes = (double)(end - at);
    s->average /= passes;
    s->forgetting /= passes;
    s->seconds /= passes;
    return end;
}

static double change_of(const blv_continual_result *r, const blv_selection_method *method) {
    double usual = (double)NAN, sum = 0.0, count = 0.0;
    for (size_t i = 0; i < r->summary_count; i++) {
        const blv_continual_summary *s = &r->summaries[i];
        if (s->method != method)
            continue;
        if (isnan(usual)) {
            usual = s->average;
            continue;
        }
        sum += s->average;
        count += 1.0;
    }
    return count > 0.0 ? fabs(sum / count - usual) / usual : (double)NAN;
}

static void summarize_all(comparison *c) {
    blv_continual_result *r = &c->result;
    for (size_t i = 0; i < r->pass_count;)
        i = summarize(r, i, &c->result.summaries[r->summary_count++]);
    for (size_t m = 0; c->options.sensitivity && m < c->options.method_count; m++)
        c->result.changes[r->change_count++] =
            (blv_continual_change){c->options.methods[m], change_of(r, c->options.methods[m])};
}

/* ---- Passes ---- */

static size_t values_of(const comparison *c, const blv_selection_method *method) {
    return c->options.sensitivity && method->is_bilevel ? INITIAL_VALUES : 1;
}

static blv_error run_pass(comparison *c, const blv_selection_method *method, double initial,
                          uint64_t seed) {
    blv_continual_pass *p = &c->result.passes[c->result.pass_count];
    char value[48] = "";
    *p = (blv_continual_pass){
        .method = method, .initial = initial, .seed = seed, .tasks = c->options.tasks};
    BLV_CHECK(blv_continual_run_pass(&c->setting, &c->arena, p));
    c->result.pass_count++;
    if (initial > 0.0)
        snprintf(value, sizeof value, ", initial value %g", initial);
    blv_task_say(&c->task, "%s%s, seed %" PRIu64 ": A_T %.4f, FGT_T %.4f", method->name, value,
                 seed, p->average, p->forgetting);
    return c->task.stopped ? blv_explain(c->setting.why, BLV_E_STOPPED, "stopped on request")
                           : BLV_OK;
}

static blv_error run_all(comparison *c) {
    const blv_continual_options *o = &c->options;
    for (size_t m = 0; m < o->method_count; m++) {
        const size_t values = values_of(c, o->methods[m]);
        for (size_t v = 0; v < values; v++)
            for (size_t s = 0; s < o->seeds; s++)
                BLV_CHECK(
                    run_pass(c, o->methods[m], values > 1 ? initial_values[v] : 0.0, o->seed + s));
    }
    return BLV_OK;
}

/* ---- The request ---- */

static void take_defaults(comparison *c) {
    blv_continual_options *o = &c->options;
    o->tasks = o->tasks > 0 ? o->tasks : USUAL_TASKS;
    o->memory = o->memory > 0 ? o->memory : USUAL_MEMORY;
    o->seeds = o->seeds > 0 ? o->seeds : USUAL_SEEDS;
    for (size_t m = 0; m < USUAL_METHODS; m++)
        c->usual[m] = blv_selection_method_find(usual_methods[m], NULL);
    if (o->method_count == 0) {
        o->methods = c->usual;
        o->method_count = USUAL_METHODS;
    }
    c->result.tasks = o->tasks;
    c->result.memory = o->memory;
    c->result.seeds = o->seeds;
}

/* Every task must have rows to learn from and rows to be judged on. */
static blv_error expect_rows(const comparison *c, const blv_dataset *set, const char *which) {
    const blv_dataset_view *view = blv_dataset_view_of(set);
    for (size_t t = 0; t < c->options.tasks; t++) {
        const size_t first = t * view->classes / c->options.tasks;
        const size_t end = (t + 1) * view->classes / c->options.tasks;
        bool found = false;
        for (size_t i = 0; !found && i < view->rows; i++)
            found = (size_t)view->label[i] >= first && (size_t)view->label[i] < end;
        if (!found)
            return blv_explain(c->setting.why, BLV_E_VALUE,
                               "task %zu, classes '%.40s' to '%.40s', has no row %s; expected "
                               "classes of several rows, or test rows of every task",
                               t + 1, view->class_names[first], view->class_names[end - 1], which);
    }
    return BLV_OK;
}

static blv_error check_options(const comparison *c) {
    const blv_continual_options *o = &c->options;
    const blv_dataset_view *rows = blv_dataset_view_of(c->setting.rows);
    const blv_dataset_view *test = blv_dataset_view_of(c->setting.test);
    if (!rows->label || !test->label || rows->classes != test->classes ||
        rows->columns != test->columns)
        return blv_explain(c->setting.why, BLV_E_VALUE,
                           "continual: the test rows have other columns or classes");
    if (o->tasks < 2 || o->tasks > rows->classes)
        return blv_explain(c->setting.why, BLV_E_VALUE,
                           "%zu classes; expected at least one for each of %zu tasks",
                           rows->classes, o->tasks);
    for (size_t m = 0; m < o->method_count; m++)
        if (!o->methods || !o->methods[m])
            return blv_explain(c->setting.why, BLV_E_ARGUMENT, "continual: method %zu is NULL", m);
    if (o->memory < o->tasks)
        return blv_explain(c->setting.why, BLV_E_VALUE,
                           "a memory of %zu: expected at least one row for each of %zu tasks",
                           o->memory, o->tasks);
    if (o->sensitivity && o->selection.first > 0.0)
        return blv_explain(c->setting.why, BLV_E_VALUE,
                           "continual: initial values are varied, so that none can be given");
    BLV_CHECK(expect_rows(c, c->setting.rows, "to learn from"));
    return expect_rows(c, c->setting.test, "to test on");
}

static blv_error make_space(comparison *c) {
    size_t summaries = 0, methods = c->options.method_count;
    for (size_t m = 0; m < methods; m++)
        summaries += values_of(c, c->options.methods[m]);
    blv_continual_result *r = &c->result;
    r->passes = blv_arena_alloc(&c->arena, summaries * c->options.seeds, sizeof *r->passes);
    r->summaries = blv_arena_alloc(&c->arena, summaries, sizeof *r->summaries);
    r->changes = blv_arena_alloc(&c->arena, methods, sizeof *r->changes);
    return c->arena.failed ? blv_explain_memory(c->setting.why) : BLV_OK;
}

static blv_error compare(comparison *c, const blv_task_hooks *hooks) {
    take_defaults(c);
    BLV_CHECK(blv_task_open(&c->task, hooks, c->setting.why));
    BLV_CHECK(check_options(c));
    BLV_CHECK(make_space(c));
    BLV_CHECK(run_all(c));
    summarize_all(c);
    return BLV_OK;
}

blv_error blv_continual(const blv_dataset *rows, const blv_dataset *test,
                        const blv_continual_options *options, blv_continual_result **result,
                        const blv_task_hooks *hooks, blv_message *why) {
    if (!rows || !test || !result)
        return blv_explain(why, BLV_E_ARGUMENT, "continual: a NULL argument");
    *result = NULL;
    comparison *c = calloc(1, sizeof *c);
    if (!c)
        return blv_explain_memory(why);
    c->setting =
        (blv_stream_setting){.options = &c->options, .rows = rows, .test = test, .why = why};
    blv_error error =
        blv_caller_struct(&c->options, sizeof c->options, options, "blv_continual_options", why);
    if (error == BLV_OK)
        error = compare(c, hooks);
    if (error == BLV_OK)
        *result = &c->result;
    else
        blv_continual_result_destroy(&c->result);
    return error;
}

void blv_continual_result_destroy(blv_continual_result *result) {
    if (!result)
        return;
    comparison *c = (comparison *)(void *)result; /* its first member */
    blv_arena_free(&c->arena);
    free(c);
}
