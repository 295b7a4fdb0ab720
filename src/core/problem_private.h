/* The insides of a problem, for src/core only. */
#ifndef BLV_CORE_PROBLEM_PRIVATE_H
#define BLV_CORE_PROBLEM_PRIVATE_H

#include "bilevel/solver.h"

struct blv_problem {
    blv_problem_def def;
    char *name;
    blv_space *own_x, *own_y; /* created here; NULL when the definition brought its own */
};

#endif
