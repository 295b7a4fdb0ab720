/* What blv_solve and blv_compare share: settings for several solvers, and one run from options to
 * solution. */
#pragma once

#include "bilevel/solve.h"

/* Copies the options, or the defaults for NULL. */
blv_error blv_solve_options_take(blv_solve_options *own, const blv_solve_options *given,
                                 blv_message *why);

/* Every setting must have a value and mean something to one of the solvers. */
blv_error blv_settings_check(const char *const *settings, const blv_solver *const *solvers,
                             size_t count, blv_message *why);
/* Sets all that a run can be told before it is opened. alone: keys that the solver does not know
 * are errors; else they are for the others. */
blv_error blv_solve_configure(blv_run *run, const blv_solve_options *options, bool alone);
/* Creates, configures, runs and certifies. */
blv_error blv_solve_with(blv_solution **solution, const blv_problem *problem,
                         const blv_solver *solver, const blv_solve_options *options, bool alone,
                         blv_message *why);
