/* Problems whose f and g are sums over coordinates of one function of (x_i, y_i): all derivatives
 * at one coordinate, written once, make every oracle. In host memory. */
#pragma once

#include "bilevel/problem.h"

/* One coordinate: of x, y and the arrays a and b (0 where there are none). */
typedef struct coordinate {
    double x, y, a, b;
} coordinate;

/* Values and derivatives there. */
typedef struct parts {
    struct {
        double value, x, y;
    } f;
    struct {
        double value, x, y, yy, xy;
    } g;
} parts;

typedef struct separable {
    const char *name;
    size_t dim;
    bool bounded; /* X = [lo, hi]^dim */
    double lo, hi;
    parts (*at)(coordinate c);
    double *a, *b;                        /* one block, owned, b behind a; NULL: none */
    double (*best_y)(double x);           /* the best y for x */
    double (*best_x)(double a, double b); /* the solution; NULL: x_star */
    double x_star;
    blv_named_array arrays[3];
    blv_precision precision;
} separable;

/* The description is copied; it takes ownership of the arrays, also when it fails. */
blv_error separable_create(const separable *description, const blv_problem_options *options,
                           blv_problem **problem, blv_message *why);
