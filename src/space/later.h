/* Scalars that nobody waits for.
 *
 * Where vectors are on a GPU, waiting for the scalars of a small step takes longer than the step.
 * Such a space can leave scalars where the vectors are, compute with them there, and take them as
 * factors of updates. A scalar is known by the double that it goes to: that double means nothing
 * until blv_later_ops.settle has put the value there. */
#pragma once

#include "bilevel/space.h"

#include <math.h>

/* HYPOT: hypot(a, b / c); LARGER: max(a, b); PRODUCT: a b; QUOTIENT: c / a */
typedef enum blv_later_rule {
    BLV_LATER_HYPOT,
    BLV_LATER_LARGER,
    BLV_LATER_PRODUCT,
    BLV_LATER_QUOTIENT
} blv_later_rule;

enum { BLV_LATER_PAIRS = 12, BLV_LATER_NUMBERS = 24 };

/* The scalars of one run that are on their way. */
typedef struct blv_later blv_later;

typedef struct blv_later_ops {
    blv_later *(*open)(void); /* NULL when memory is short */
    void (*close)(blv_later *later);
    /* a'b of up to BLV_LATER_PAIRS pairs; result[i]: where it goes, NULL: only whether it is finite
     * is looked at; is_norm[i]: its root does. */
    void (*reduce)(blv_later *later, size_t count, const blv_operands *pairs, double *const *result,
                   const bool *is_norm);
    /* a and b are such scalars, or known numbers. */
    void (*compute)(blv_later *later, blv_later_rule rule, double *result, double c,
                    const double *a, const double *b);
    /* The rule on numbers that the host knows, with the bits that `compute` has. */
    double (*value)(blv_later_rule rule, double c, double a, double b);
    /* out = a + sign *factor b */
    void (*move)(blv_later *later, const blv_space *space, void *out, const void *a, double sign,
                 const double *factor, const void *b);
    /* Waits for all scalars. False: a product was not finite since the last time. */
    bool (*settle)(blv_later *later);
} blv_later_ops;

/* NULL: scalars of this space are known at once. */
const blv_later_ops *blv_space_later(const blv_space *space);
void blv_space_set_later(blv_space *space, const blv_later_ops *later);

/* The same on vectors. */
void blv_later_reduce(const blv_later_ops *ops, blv_later *later, size_t count,
                      const blv_scalar *scalars);
void blv_later_move(const blv_later_ops *ops, blv_later *later, blv_vec *out, const blv_vec *a,
                    double sign, const double *factor, const blv_vec *b);
/* The rules in host memory. */
static inline double blv_later_value(blv_later_rule rule, double c, double a, double b) {
    switch (rule) {
    case BLV_LATER_HYPOT:
        return hypot(a, c == 1.0 ? b : b / c);
    case BLV_LATER_LARGER:
        return a > b || isnan(b) ? a : b;
    case BLV_LATER_PRODUCT:
        return a * b;
    default:
        return c / a;
    }
}
