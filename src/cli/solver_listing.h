/* The built-in solvers: group by group, what their descriptors say, and that as Markdown. */
#ifndef CLI_SOLVER_LISTING_H
#define CLI_SOLVER_LISTING_H

#include "bilevel/run.h"
#include "cli/text_table.h"

/* All of them, those of a group next to each other; ends with NULL. To be freed. */
const blv_solver **cli_solvers_by_group(void);
/* What the solvers of a group do: "choose their own step sizes as they go"; NULL for a group that
 * is not known. */
const char *cli_group_summary(const char *group);

/* "f, g, Hv, Jv": gradients of f and g are always needed */
const char *cli_oracles_needed(const blv_solver *solver);
const char *cli_yes_or_no(unsigned flag);
/* Adds source, group, oracles, ... to a table of two columns. */
void cli_solver_facts(report_table *table, const blv_solver *solver);

/* What scripts/solver-pages writes below the hand-written parts: one solver, or a table for each
 * group. */
void cli_markdown_solver(const blv_solver *solver);
void cli_markdown_solvers(void);

#endif
