/* What the problem families of this folder share: their memory, elements of vectors, the lower
 * level in one function. */
#pragma once

#include "base/precision.h"
#include "bilevel/problem.h"
#include "kernels/kernel_table.h"
#include "problems/builtin_problems.h"
#include "space/elements.h"

/* A family whose parameters are a struct of that type, as the table `params_` describes it. */
#define PROBLEM_FAMILY(id, name_, type, params_, create_, summary_, formula_)                      \
    const blv_problem_family blv_problem_##id = {BLV_SIZED(blv_problem_family),                    \
                                                 .name = name_,                                    \
                                                 .params_size = sizeof(type),                      \
                                                 .params = params_,                                \
                                                 .create = create_,                                \
                                                 .summary = summary_,                              \
                                                 .formula = formula_}

/* The last row of a parameter table. */
#define PARAMS_END                                                                                 \
    { NULL, BLV_REAL, 0, NULL, 0, 0, NULL, NULL }

/* The kernels of the memory that a problem is asked for, or BLV_E_UNSUPPORTED with a message. name:
 * of the problem. */
blv_error problem_kernels(const blv_problem_options *options, const char *name,
                          const blv_kernels **kernels, blv_message *why);
/* For small problems whose oracles look at single elements. */
blv_error problem_on_host(const blv_problem_options *options, const char *name, blv_message *why);

/* What to say of spaces on ranks that could not be created. */
const char *problem_ranks_error(blv_error error);
/* Adds up over the ranks vectors of these sizes, NULL: not there, and numbers of the host, NULL:
 * none. shared: room for all. False: the exchange failed, and the first of them is NaN. */
bool problem_sum(const blv_ranks *ranks, const blv_kernels *kernels, size_t numbers, double *number,
                 size_t count, void *const *arrays, const size_t *sizes, double *shared);

/* ---- Elements of vectors, in the memory of the kernels ---- */

static inline const void *raw(const blv_vec *v) {
    return blv_vec_elements(v);
}

static inline void *raw_mut(blv_vec *v) {
    return blv_vec_elements_mut(v);
}

/* NULL for NULL. */
static inline void *raw_or_null(blv_vec *v) {
    return v ? raw_mut(v) : NULL;
}

/* ---- The lower level ---- */

/* A call of any of its oracles: what is given, and what is asked for (NULL: not needed). */
typedef struct lower_call {
    const blv_batch *batch;
    const blv_vec *x, *y, *v; /* v: only with hv or jv */
    double *g;
    blv_vec *gx, *gy, *hv, *jv;
} lower_call;

/* Separate oracles from `int lower_pass(void *user, const lower_call *c)`. */
#define LOWER_PARTS_FROM_PASS                                                                      \
    static int lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,       \
                     double *g, blv_vec *gx, blv_vec *gy) {                                        \
        return lower_pass(user, &(lower_call){batch, x, y, .g = g, .gx = gx, .gy = gy});           \
    }                                                                                              \
    static int lower_hvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,   \
                         const blv_vec *v, blv_vec *hv) {                                          \
        return lower_pass(user, &(lower_call){batch, x, y, v, .hv = hv});                          \
    }                                                                                              \
    static int lower_cross(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, \
                           const blv_vec *v, blv_vec *jv) {                                        \
        return lower_pass(user, &(lower_call){batch, x, y, v, .jv = jv});                          \
    }

/* These and lower_all. */
#define LOWER_FROM_PASS                                                                            \
    LOWER_PARTS_FROM_PASS                                                                          \
    static int lower_all(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,   \
                         const blv_vec *v, blv_vec *gy, blv_vec *hv, blv_vec *jv) {                \
        return lower_pass(user, &(lower_call){batch, x, y, v, .gy = gy, .hv = hv, .jv = jv});      \
    }

/* The oracles in a definition. */
#define LOWER_PARTS .lower = lower, .lower_hvp = lower_hvp, .lower_cross = lower_cross
#define LOWER_ORACLES LOWER_PARTS, .lower_all = lower_all
