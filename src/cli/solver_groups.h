/* The built-in solvers, group by group. */
#ifndef CLI_SOLVER_GROUPS_H
#define CLI_SOLVER_GROUPS_H

#include "bilevel/run.h"

/* All of them, those of a group next to each other; ends with NULL. To be freed. */
const blv_solver **cli_solvers_by_group(void);
/* What the solvers of a group do: "choose their own step sizes as they go"; NULL for a group that
 * is not known. */
const char *cli_group_summary(const char *group);

#endif
