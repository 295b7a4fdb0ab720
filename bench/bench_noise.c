/* What batch noise leaves of each solver's defaults: the gap (Phi - Phi*)/(Phi(start) - Phi*) after
 * a number of oracle calls on batches of 64, on two finite sums with a penalty exp(x_j) for each of
 * twenty weights: least squares (1,000 training and 500 validation rows) and logistic regression
 * (800 and 400). Phi* is the lowest Phi that any solver here or `exact` on whole sums has reached.
 *
 *     bench_noise [calls [solver...]]      calls: samples in all, 20,000,000 by default
 */
#include "penalized_sums.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOLVERS_MAX = 64 };

/* ---- Runs ---- */

static double phi_after(const blv_problem *problem, const char *solver, const char *batch,
                        int64_t calls) {
    const char *settings[] = {"batch", batch, NULL};
    const blv_solve_options options = {BLV_SIZED(blv_solve_options), .solver = solver,
                                       .budget = calls, .settings = settings};
    blv_solution *solution = NULL;
    blv_message why = {""};
    if (blv_solve(&solution, problem, &options, &why) != BLV_OK) {
        fprintf(stderr, "%s: %s\n", solver, why.text);
        return NAN;
    }
    double phi = solution->outcome == BLV_DIVERGED ? (double)INFINITY : solution->phi;
    blv_solution_destroy(solution);
    return phi;
}

static bool is_asked_for(const char *name, int count, char **names) {
    bool asked = count == 0;
    for (int i = 0; i < count; i++)
        asked = asked || strcmp(names[i], name) == 0;
    return asked;
}

int main(int argc, char **argv) {
    rows data[] = {{.squares = true, .train = 1000, .val = 500}, {.train = 800, .val = 400}};
    const int64_t calls = argc > 1 ? strtoll(argv[1], NULL, 10) : 20000000;
    double gaps[SOLVERS_MAX][2];
    const blv_solver *solver;
    for (size_t p = 0; p < 2; p++) {
        blv_problem *problem = penalized_sums(&data[p]);
        double start = phi_after(problem, "s-tfbo", "full", 1);
        double best = phi_after(problem, "exact", "full", calls);
        for (size_t i = 0; i < SOLVERS_MAX && (solver = blv_solver_at(NULL, i)); i++)
            if (is_asked_for(solver->name, argc - 2, argv + 2))
                best = fmin(best, gaps[i][p] = phi_after(problem, solver->name, "64", calls));
        for (size_t i = 0; i < SOLVERS_MAX; i++)
            gaps[i][p] = (gaps[i][p] - best) / (start - best);
        free_sums(problem, &data[p]);
    }
    printf("%-14s %14s %10s\n", "solver", "least squares", "logistic");
    for (size_t i = 0; i < SOLVERS_MAX && (solver = blv_solver_at(NULL, i)); i++)
        if (is_asked_for(solver->name, argc - 2, argv + 2))
            printf("%-14s %14.1e %10.1e\n", solver->name, gaps[i][0], gaps[i][1]);
    return 0;
}
