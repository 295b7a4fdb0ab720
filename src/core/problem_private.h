/* The insides of a problem, for src/core only. */
#pragma once

#include "bilevel/solver.h"

struct blv_problem {
    blv_problem_def def;
    char *name;
    blv_space *own_x, *own_y; /* created here; NULL when the definition brought its own */
};

/* Products for which a definition has no oracle: finite differences of gradients are used. */
static inline bool blv_lacks_hvp(const blv_problem_def *def) {
    return !def->lower_hvp && !def->lower_all;
}
static inline bool blv_lacks_cross(const blv_problem_def *def) {
    return !def->lower_cross && !def->lower_all;
}
