/* The kind of memory that a problem is asked for. */
#ifndef BLV_PROBLEMS_PROBLEM_MEMORY_H
#define BLV_PROBLEMS_PROBLEM_MEMORY_H

#include "bilevel/problem.h"
#include "kernels/kernel_table.h"

/* The kernels for it, or BLV_E_UNSUPPORTED with a message. name: of the problem. */
blv_error problem_kernels(const blv_problem_options *options, const char *name,
                          const blv_kernels **kernels, blv_message *why);
/* For small problems whose oracles look at single elements. */
blv_error problem_on_host(const blv_problem_options *options, const char *name, blv_message *why);

#endif
