/* auto, with nothing set, against every other solver with nothing set, on problems that it was not
 * developed on: processor time until |grad Phi| is at most 1e-6 of what it is at the start, as
 * certified.
 *
 *     bench_unseen [development|kept-aside [problem...]]
 *
 * auto runs until it ends by itself; what it takes for the first |grad Phi| is a loose estimate, so
 * that up to 2e-6 may be left, and then the others need not do better. The others are stopped at
 * the first of their points that is certified, which is looked for off the clock, each 1.25 times
 * as late as the one before; what is printed is the time of the look before, so that no ratio is
 * too small. They are given three times as long as
 * auto has taken; where that is more than a quarter of a second, only the strong ones run, for as
 * long as auto, and each look is twice as late as the one before. */
#include "unseen_problems.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 3 };
static const double accuracy = 1e-6, wall_seconds_max = 600.0, long_seconds = 0.25;

typedef struct outcome {
    bool certified;
    double seconds; /* of processor time */
    double calls, grad_norm, phi;
    char how[64];
} outcome;

static bool is_one_of(const char *name, size_t count, const char *const *names) {
    bool found = false;
    for (size_t i = 0; i < count; i++)
        found = found || strcmp(names[i], name) == 0;
    return found;
}

/* Whether it is worth its time where time is long. */
static bool is_strong(const blv_solver *solver) {
    static const char *const names[] = {"exact",   "aid-cg",  "rahgd", "saba",  "soba",
                                        "accf2ba", "ragd-gs", "amigo", "mgbio", "ba-cg"};
    return is_one_of(solver->name, sizeof names / sizeof *names, names);
}

/* Whether the run's point is good enough. */
static bool look(blv_run *run, double goal, double limit, outcome *o) {
    blv_certificate c = BLV_NO_CERTIFICATE;
    unseen_fail_after(limit + 1.0);
    o->certified = blv_run_certify(run, &c) == BLV_OK && c.tight && c.minimum == BLV_YES &&
                   c.grad_norm <= goal;
    unseen_fail_after(INFINITY);
    o->grad_norm = c.grad_norm;
    o->phi = c.phi;
    o->calls = (double)(blv_counts_total(&blv_run_result(run)->counts) +
                        blv_counts_total(&blv_run_result(run)->setup_counts));
    return o->certified;
}

/* The run's own clock is the one on the wall, which a busy machine makes useless: its limit is far
 * away. */
static blv_run *make_run(const blv_problem *problem, const blv_solver *solver) {
    blv_run *run = NULL;
    if (blv_run_create(&run, problem, solver, NULL) != BLV_OK)
        return NULL;
    blv_run_set(run, "certify", "never");
    blv_run_set_real(run, "seconds", wall_seconds_max);
    return run;
}

/* To its own end. */
static outcome run_auto(const blv_problem *problem, double goal, bool talks) {
    outcome o = {.seconds = INFINITY};
    for (int k = 0; k < REPEATS && (k == 0 || o.seconds < 0.1); k++) {
        double begin = unseen_processor_seconds();
        blv_run *run = make_run(problem, blv_solver_find(NULL, "auto", NULL));
        blv_run_solve(run);
        o.seconds = fmin(o.seconds, unseen_processor_seconds() - begin);
        snprintf(o.how, sizeof o.how, "%s", blv_outcome_text(blv_run_result(run)->outcome));
        bool ended = blv_run_result(run)->outcome == BLV_UNCERTIFIED; /* since none was wanted */
        look(run, 2.0 * goal, INFINITY, &o);
        o.certified = o.certified && ended;
        for (size_t i = 0; talks && k == 0 && blv_run_notes(run, i); i++)
            printf("    %s\n", blv_run_notes(run, i));
        if (talks && k == 0)
            printf("    %s: %.3g s\n", blv_run_message(run), o.seconds);
        fflush(stdout);
        blv_run_destroy(run);
    }
    return o;
}

static outcome run_other(const blv_problem *problem, const blv_solver *solver, double goal,
                         double limit) {
    outcome o = {.seconds = INFINITY};
    double begin = unseen_processor_seconds(), spent = 0.0, before = 0.0,
           next = limit / (limit > long_seconds ? 8.0 : 32.0);
    const double later = limit > long_seconds ? 2.0 : 1.25;
    blv_run *run = make_run(problem, solver);
    while (run && spent < limit && blv_run_result(run)->outcome == BLV_RUNNING) {
        blv_run_step(run);
        spent = unseen_processor_seconds() - begin;
        if (spent < next && blv_run_result(run)->outcome == BLV_RUNNING)
            continue;
        if (look(run, goal, limit, &o))
            break;
        before = spent;
        next = later * spent;
        begin = unseen_processor_seconds() - spent;
    }
    if (o.certified)
        o.seconds = before > 0.0 ? before : spent;
    blv_run_destroy(run);
    return o;
}

static double goal_of(const blv_problem *problem) {
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_certificate c = BLV_NO_CERTIFICATE;
    blv_vec *x = NULL, *y = NULL;
    if (blv_vec_create(&x, def->space_x) != BLV_OK || blv_vec_create(&y, def->space_y) != BLV_OK)
        exit(1);
    if (def->project_x)
        def->project_x(def->user, x);
    blv_certify(problem, x, y, NULL, &c, NULL, NULL);
    blv_vec_destroy(x);
    blv_vec_destroy(y);
    return accuracy * c.grad_norm;
}

/* The ratio to the best of the others; infinite where auto is not certified. */
static double compare(const blv_problem *problem, const char *name, bool talks) {
    const blv_problem_def *def = blv_problem_definition(problem);
    const double goal = goal_of(problem);
    outcome own = run_auto(problem, goal, talks), best = {.seconds = INFINITY};
    const char *best_name = "none";
    const double same = own.certified ? fmax(goal, own.grad_norm) : goal;
    const blv_solver *solver;
    for (size_t i = 0; (solver = blv_solver_at(NULL, i)); i++) {
        if (strcmp(solver->name, "auto") == 0 || (own.seconds > long_seconds && !is_strong(solver)))
            continue;
        double share = own.seconds > long_seconds ? 1.0 : 3.0;
        outcome o = run_other(problem, solver, same, share * own.seconds);
        if (talks && o.certified)
            printf("    %s: %.3g s, %.0f calls, Phi %.9g\n", solver->name, o.seconds, o.calls,
                   o.phi);
        if (o.seconds < best.seconds)
            best = o, best_name = solver->name;
    }
    double ratio = own.certified ? fmax(own.seconds / best.seconds, 0.0) : (double)INFINITY;
    printf("%-18s %6zu %6zu %-3s %10.3g %9.3g %9.2g %-12s %10.3g %9.3g %7.2f\n", name, def->dim_x,
           def->dim_y, own.certified ? "yes" : "NO", 1e3 * own.seconds, own.calls,
           own.grad_norm / goal * accuracy, best_name, 1e3 * best.seconds, best.calls, ratio);
    fflush(stdout);
    return ratio;
}

int main(int argc, char **argv) {
    const unseen_group group =
        argc > 1 && strcmp(argv[1], "kept-aside") == 0 ? UNSEEN_KEPT_ASIDE : UNSEEN_DEVELOPMENT;
    const char *name;
    blv_problem *problem;
    int problems = 0, within = 0;
    printf("%-18s %6s %6s %-3s %10s %9s %9s %-12s %10s %9s %7s\n", "problem", "dim x", "dim y",
           "ok", "auto, ms", "calls", "|grad|", "best other", "ms", "calls", "ratio");
    for (size_t i = 0; (problem = unseen_problem(group, i, &name)); i++) {
        if (argc <= 2 || is_one_of(name, (size_t)argc - 2, (const char *const *)argv + 2)) {
            problems++;
            within += compare(problem, name, argc > 2) <= 3.0;
        }
        blv_problem_destroy(problem);
    }
    printf("within 3 times the best other: %d of %d\n", within, problems);
    return 0;
}
