/* Problems whose levels are both sums of terms
 *
 *     w e^{x_k} loss(a'y + c'x - t)      (or x_k in place of e^{x_k}, or neither)
 *
 * with sparse a and c: enough for regression of every kind with penalties to be chosen, weights of
 * groups, poisoned data, signals, tasks with a shared prior, and control. */
#pragma once

#include "bilevel/bilevel.h"

typedef enum loss {
    SQUARE,
    QUARTIC,
    LOGISTIC,
    PSEUDO_HUBER,
    LOG_COSH,
    SMOOTH_ABS,
    EXPONENTIAL,
    SOFTPLUS_SQUARE,
    TANH_SQUARE,
    SQUARED_HINGE,
    CAUCHY,
    LINEAR
} loss;

/* Sparse rows, one for each term. */
typedef struct rows {
    size_t *start, *index;
    double *value;
} rows;

typedef struct level {
    size_t count, room; /* of terms, and what there is room for */
    size_t samples;     /* the first of them, of which the mean is taken */
    rows y, x;
    loss *loss;
    double *weight, *shift;
    size_t *scale; /* 1 + k where the weight is multiplied by e^{x_k}; 0: it is not */
} level;

typedef struct unseen {
    level upper, lower;
    bool plain_scale; /* x_k in place of e^{x_k} */
    double low, high; /* box; a simplex where they are equal */
} unseen;

/* A term with empty rows. */
size_t unseen_term(level *m, loss kind, double weight, double shift, size_t scale);
/* An element of a row of the last term. */
void unseen_with(rows *r, size_t term, size_t index, double value);
/* A problem with these terms, which it frees, and without Hv and Jv where gradients must do. Ends
 * the program when memory is short, as does everything here. */
blv_problem *unseen_of(unseen *p, const char *name, size_t dim_x, size_t dim_y, bool first_order);
void *unseen_memory(void *old, size_t count, size_t size);
