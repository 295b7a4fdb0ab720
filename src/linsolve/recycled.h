/* A preconditioner for CG from the products of past solves with the same operator, or one near it:
 * the inverse of L-BFGS whose pairs are CG's directions p and A p. Systems in a sequence share most
 * of what the first of them has to find out. The matrix that L-BFGS begins with is a multiple of I
 * or, where solves have needed many products and the dimension is not large, the inverse of A as it
 * was: to form it costs as many products as there are dimensions. */
#pragma once

#include "bilevel/space.h"

#include <stdbool.h>

enum { BLV_RECYCLED_MAX = 32, BLV_DENSE_MAX = 1024 };

/* Vectors and arrays are the owner's, 2 capacity of each: all of it can be kept. */
typedef struct blv_recycled {
    size_t capacity; /* pairs that count; there is room for as many of the solve under way */
    blv_vec *p[2 * BLV_RECYCLED_MAX], *q[2 * BLV_RECYCLED_MAX];
    double *pq, *qq;              /* p'q and q'q */
    double first, count, waiting; /* pair i, oldest first, is in slot first + i, in a ring; those
                                   * that wait come after the count */
    double *upper;                /* dim x dim: A = L D L' with D L' here; NULL: never */
    double *room;                 /* dim numbers */
    double is_dense;              /* not 0: upper holds factors */
    double products;              /* since it was formed, or from the beginning */
} blv_recycled;

/* Before a solve: those that were added in the last one count from here on, the oldest go. */
void blv_recycled_begin(blv_recycled *recycled);
/* Copies a direction and its product, while there is room. */
void blv_recycled_add(blv_recycled *recycled, const blv_vec *p, const blv_vec *q, double pq,
                      double qq);
/* Whether so many products were needed that forming A pays, which costs as much as this many. */
bool blv_recycled_wants_matrix(const blv_recycled *recycled, double cost);
/* upper holds A: factors it, and forgets all pairs. Without effect where A is not definite. */
void blv_recycled_take_matrix(blv_recycled *recycled, size_t dim);
/* v = M v, M the approximate inverse. */
void blv_recycled_apply(const blv_recycled *recycled, blv_vec *v);
