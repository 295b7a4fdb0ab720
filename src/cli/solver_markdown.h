/* The solvers as Markdown: what scripts/solver-pages writes below the hand-written parts. */
#ifndef CLI_SOLVER_MARKDOWN_H
#define CLI_SOLVER_MARKDOWN_H

#include "bilevel/run.h"

/* The descriptor of one solver: facts and parameters. */
void cli_markdown_solver(const blv_solver *solver);
/* All solvers, a table for each group. */
void cli_markdown_solvers(void);

/* ---- What a descriptor's flags mean, in words ---- */

/* "f, g, Hv, Jv": gradients of f and g are always needed */
const char *cli_oracles_needed(const blv_solver *solver);
const char *cli_yes_or_no(unsigned flag);

#endif
