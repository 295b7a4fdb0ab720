/* The problem families of this folder. */
#ifndef BLV_PROBLEMS_BUILTIN_PROBLEMS_H
#define BLV_PROBLEMS_BUILTIN_PROBLEMS_H

#include "bilevel/problem.h"

#define FAMILY(name) extern const blv_problem_family blv_problem_##name;
#include "problems/problem_list.h"
#undef FAMILY

#endif
