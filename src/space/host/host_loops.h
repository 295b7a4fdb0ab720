/* Element loops of host spaces: one table per precision and instruction set.
 *
 * A loop works on the elements [begin, end) of its vectors. Vectors are allocated in whole groups
 * of BLV_HOST_GROUP elements and begin is a multiple of it, so a loop may read and write the
 * padding after the last element; what it holds there never reaches a result.
 *
 * Reductions keep one double per lane of a group, whatever the width of the registers, and fold the
 * lanes in a fixed order: every instruction set gives the same bits. */
#pragma once

#include "base/instructions.h"
#include "bilevel/space.h"

#define BLV_HOST_GROUP 32

/* What a loop works on. Each loop reads the members that its comment in the table names. */
typedef struct blv_host_args {
    void *out;
    double a, b;
    blv_elementwise operation;
    size_t count;
    const double *coef;
    const void *const *left;
    const void *const *right;
} blv_host_args;

/* sums: `count` partial sums are written there; unused by loops that reduce nothing. */
typedef void (*blv_host_loop)(const blv_host_args *args, size_t begin, size_t end, double *sums);

typedef struct blv_host_loops {
    blv_host_loop copy;    /* out = left[0] */
    blv_host_loop fill;    /* out = a */
    blv_host_loop scale;   /* out = a out */
    blv_host_loop axpy;    /* out = out + a left[0] */
    blv_host_loop clamp;   /* out = out into [a, b]; NaN stays NaN */
    blv_host_loop lincomb; /* out = sum_i coef[i] left[i], i < count; sums[0] = |out|^2 */
    blv_host_loop dots;    /* sums[i] = left[i]'right[i], i < count */
    blv_host_loop apply;   /* out = operation of left[0], right[0] and the number a */
    blv_host_loop read;    /* out (doubles, no padding) = left[0] */
    blv_host_loop write;   /* out = left[0] (doubles, no padding) */
} blv_host_loops;

/* The loops of an instruction set that this processor has, or of the best up to it. */
const blv_host_loops *blv_host_loops_of(blv_instructions instructions, blv_precision precision);
