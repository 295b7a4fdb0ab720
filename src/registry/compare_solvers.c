/* blv_compare: several solvers on one problem, one after the other. */
#include "base/message.h"
#include "registry/solve_parts.h"

#include <math.h>
#include <stdlib.h>

void blv_comparison_destroy(blv_comparison *comparison) {
    if (!comparison)
        return;
    for (size_t i = 0; i < comparison->count; i++)
        blv_solution_destroy(comparison->rows[i].solution);
    free(comparison->rows);
    free(comparison);
}

/* ---- Which solvers ---- */

/* A comparison with a row for each of `count` solvers, to be filled. */
static blv_comparison *allocate(size_t count) {
    blv_comparison *c = calloc(1, sizeof *c);
    blv_comparison_row *rows = calloc(count ? count : 1, sizeof *rows);
    if (!c || !rows) {
        free(c);
        free(rows);
        return NULL;
    }
    c->rows = rows;
    return c;
}

static blv_error add_named(blv_comparison *c, const char *name, const blv_registry *registry,
                           blv_message *why) {
    const blv_solver *solver = blv_solver_find(registry, name, why);
    if (!solver)
        return BLV_E_NAME;
    for (size_t i = 0; i < c->count; i++)
        if (c->rows[i].solver == solver)
            return blv_explain(why, BLV_E_ARGUMENT, "solver %.60s is named twice", name);
    c->rows[c->count++].solver = solver;
    return BLV_OK;
}

static blv_error choose(blv_comparison **comparison, const char *const *names,
                        const blv_registry *registry, blv_message *why) {
    size_t count = 0;
    while (names ? names[count] != NULL : blv_solver_at(registry, count) != NULL)
        count++;
    blv_comparison *c = *comparison = allocate(count);
    if (!c)
        return blv_explain(why, BLV_E_MEMORY, "comparison: out of memory");
    if (count == 0)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_compare: no solver is named");
    for (size_t i = 0; names && i < count; i++)
        BLV_CHECK(add_named(c, names[i], registry, why));
    for (size_t i = 0; !names && i < count; i++)
        c->rows[c->count++].solver = blv_solver_at(registry, i);
    return BLV_OK;
}

static blv_error none_suits(const blv_comparison *c, const blv_problem *problem, blv_message *why) {
    const blv_comparison_row *first = &c->rows[0];
    return blv_explain(
        why, BLV_E_UNSUPPORTED, "none of the solvers suits problem %.60s as it is; %.60s: %.300s",
        blv_problem_definition(problem)->name, first->solver->name, first->remark.text);
}

/* ---- Before the first run ---- */

/* The solvers that are to run. A solver that was named may fall back to finite differences. */
static size_t fit(blv_comparison *c, const blv_problem *problem, bool named,
                  const blv_solver **running) {
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++) {
        blv_comparison_row *row = &c->rows[i];
        blv_fit how = blv_solver_fit(row->solver, problem, &row->remark);
        if (how == BLV_FIT_SUITED || (how == BLV_FIT_DIFFERENCES && named))
            running[count++] = row->solver;
    }
    return count;
}

/* Sets up a run and drops it, to find what it rejects. */
static blv_error rehearse(const blv_problem *problem, const blv_solver *solver,
                          const blv_solve_options *options, blv_message *why) {
    blv_run *run = NULL;
    BLV_CHECK(blv_run_create(&run, problem, solver, why));
    blv_error error = blv_solve_configure(run, options, false);
    if (error != BLV_OK)
        blv_explain(why, error, "%s", blv_run_message(run));
    blv_run_destroy(run);
    return error;
}

static blv_error prepare(blv_comparison *c, const blv_problem *problem, bool named,
                         const blv_solve_options *options, const blv_solver **running,
                         size_t *count, blv_message *why) {
    *count = fit(c, problem, named, running);
    if (*count == 0)
        return none_suits(c, problem, why);
    BLV_CHECK(blv_settings_check(options->settings, running, *count, why));
    for (size_t i = 0; i < *count; i++)
        BLV_CHECK(rehearse(problem, running[i], options, why));
    return BLV_OK;
}

/* ---- The runs ---- */

/* An error is the row's, not the comparison's. A solver that finds only when it is opened that it
 * cannot serve the problem is left out without an error. */
static void run_row(blv_comparison_row *row, const blv_problem *problem,
                    const blv_solve_options *options) {
    blv_message why = {""};
    row->error = blv_solve_with(&row->solution, problem, row->solver, options, false, &why);
    if (row->error != BLV_OK)
        row->remark = why;
    if (row->error == BLV_E_UNSUPPORTED && !row->solution)
        row->error = BLV_OK;
}

static void run_all(blv_comparison *c, const blv_problem *problem, const blv_solve_options *options,
                    const blv_solver *const *running, size_t count) {
    bool stopped = false;
    for (size_t i = 0, next = 0; i < c->count && next < count; i++) {
        blv_comparison_row *row = &c->rows[i];
        if (row->solver != running[next])
            continue;
        next++;
        if (stopped)
            blv_explain(&row->remark, BLV_OK, "stopped before its turn");
        else
            run_row(row, problem, options);
        const blv_solution *s = row->solution;
        stopped = stopped ||
                  (s && (s->outcome == BLV_STOPPED_MONITOR || s->outcome == BLV_STOPPED_REQUEST));
    }
}

/* By certified Phi; then those without a certificate; then those that did not run. */
static int rank(const blv_comparison_row *row) {
    return !row->solution ? 2 : isnan(row->solution->phi) ? 1 : 0;
}

static bool comes_before(const blv_comparison_row *a, const blv_comparison_row *b) {
    if (rank(a) != rank(b))
        return rank(a) < rank(b);
    return rank(a) == 0 && a->solution->phi < b->solution->phi;
}

/* Rows that are equal stay in their order. */
static void sort(blv_comparison *c) {
    for (size_t i = 0; i < c->count; i++) {
        blv_comparison_row row = c->rows[i];
        size_t at = i;
        for (; at > 0 && comes_before(&row, &c->rows[at - 1]); at--)
            c->rows[at] = c->rows[at - 1];
        c->rows[at] = row;
        c->ran += row.solution != NULL;
    }
}

static blv_error compare(blv_comparison *c, const blv_problem *problem, bool named,
                         const blv_solve_options *options, blv_message *why) {
    const blv_solver **running = malloc(c->count * sizeof *running);
    if (!running)
        return blv_explain(why, BLV_E_MEMORY, "comparison: out of memory");
    size_t count;
    blv_error error = prepare(c, problem, named, options, running, &count, why);
    if (error == BLV_OK)
        run_all(c, problem, options, running, count);
    free(running);
    bool tried = false; /* it ran, or failed with an error that the caller should see */
    for (size_t i = 0; i < c->count; i++)
        tried = tried || c->rows[i].solution || c->rows[i].error != BLV_OK;
    return error == BLV_OK && !tried ? none_suits(c, problem, why) : error;
}

blv_error blv_compare(blv_comparison **comparison, const blv_problem *problem,
                      const char *const *solvers, const blv_solve_options *options,
                      blv_message *why) {
    if (comparison)
        *comparison = NULL;
    if (!comparison || !problem)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_compare: a NULL argument");
    blv_solve_options own;
    BLV_CHECK(blv_solve_options_take(&own, options, why));
    if (own.solver)
        return blv_explain(why, BLV_E_ARGUMENT,
                           "blv_compare: solvers are named by an argument, not by the options");
    blv_comparison *c = NULL;
    blv_error error = choose(&c, solvers, own.registry, why);
    if (error == BLV_OK)
        error = compare(c, problem, solvers != NULL, &own, why);
    if (error != BLV_OK) {
        blv_comparison_destroy(c);
        return error;
    }
    sort(c);
    *comparison = c;
    return BLV_OK;
}
