/* Problems whose f and g are sums over coordinates of one function of (x_i, y_i): all derivatives
 * at one coordinate, written once, make every oracle. */
#ifndef BLV_PROBLEMS_SEPARABLE_H
#define BLV_PROBLEMS_SEPARABLE_H

#include "bilevel/problem.h"

typedef struct parts {
    double f, fx, fy;
    double g, gx, gy, gyy, gxy;
} parts;

typedef struct separable {
    const char *name;
    size_t dim;
    double lo, hi; /* X = [lo, hi]^dim; infinite: the whole space */
    /* All parts at one coordinate; a and b are that coordinate's entries of the arrays, or 0. */
    parts (*at)(double x, double y, double a, double b);
    double *a, *b; /* owned; NULL: none */
    /* The best y for x, and Phi(x), of one coordinate. */
    double (*best_y)(double x);
    /* The solution at one coordinate. */
    double (*best_x)(double a, double b);
    blv_named_array arrays[3];
    blv_precision precision;
} separable;

/* The description is copied; the arrays are taken over, also when it fails. */
blv_error separable_create(const separable *description, const blv_problem_options *options,
                           blv_problem **problem, blv_message *why);

#endif
