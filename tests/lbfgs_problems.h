/* Functions and convex sets for the tests of L-BFGS, with call counts and ways to fail. */
#ifndef BLV_TESTS_LBFGS_PROBLEMS_H
#define BLV_TESTS_LBFGS_PROBLEMS_H

#include "dense_operator.h"
#include "linsolve/lbfgs.h"

#include <string.h>

typedef enum function_kind { QUADRATIC, ROSENBROCK, LINEAR, LOG_BARRIER, QUARTIC } function_kind;
/* What a barrier gives beyond it. */
typedef enum outside_kind { NAN_VALUE, NAN_GRADIENT, REFUSAL } outside_kind;
typedef enum region_kind { WHOLE, BOX, SIMPLEX, BALL } region_kind;

typedef struct problem {
    function_kind shape;
    region_kind region;
    dense_operator a; /* quadratic: x'Ax/2 - b'x + shift */
    double b[DENSE_MAX], shift;
    double lo, hi; /* box */
    size_t n, evaluations, projections;
    size_t avoided;                  /* evaluations that were refused or not finite */
    size_t fail_at, project_fail_at; /* call number, from 1; 0: never */
    int code;
    double refuse_beyond; /* > 0: recoverable failure where |x| is larger */
    outside_kind outside;
} problem;

static inline double value_and_gradient(const problem *p, const double *x, double *g) {
    double value = 0.0;
    switch (p->shape) {
    case QUADRATIC:
        dense_multiply(&p->a, x, g);
        for (size_t i = 0; i < p->n; i++) {
            value += x[i] * (0.5 * g[i] - p->b[i]);
            g[i] -= p->b[i];
        }
        return value + p->shift;
    case ROSENBROCK:
        memset(g, 0, p->n * sizeof *g);
        for (size_t i = 0; i + 1 < p->n; i++) {
            const double u = x[i + 1] - x[i] * x[i], v = 1.0 - x[i];
            value += 100.0 * u * u + v * v;
            g[i] -= 400.0 * u * x[i] + 2.0 * v;
            g[i + 1] += 200.0 * u;
        }
        return value;
    case LINEAR:
        for (size_t i = 0; i < p->n; i++) {
            value += p->b[i] * x[i];
            g[i] = p->b[i];
        }
        return value;
    case LOG_BARRIER: /* sum of x - log x: NaN or infinite outside x > 0, minimum at 1 */
        for (size_t i = 0; i < p->n; i++) {
            value += p->outside == NAN_GRADIENT && x[i] <= 0.0 ? -1e6 : x[i] - log(x[i]);
            g[i] = x[i] > 0.0 ? 1.0 - 1.0 / x[i] : NAN;
        }
        return value;
    case QUARTIC: /* sum of (x - b)^4 + (x - b)^2 */
        for (size_t i = 0; i < p->n; i++) {
            const double d = x[i] - p->b[i];
            value += d * d * (d * d + 1.0);
            g[i] = 4.0 * d * d * d + 2.0 * d;
        }
        return value;
    }
    return NAN;
}

static inline int objective(void *context, const blv_vec *x, double *value, blv_vec *gradient) {
    problem *p = context;
    double point[DENSE_MAX], g[DENSE_MAX];
    p->evaluations++;
    if (p->evaluations == p->fail_at)
        return p->code;
    blv_vec_read(x, point);
    if (p->refuse_beyond > 0.0 && dense_norm(p->n, point) > p->refuse_beyond) {
        p->avoided++;
        return 3;
    }
    *value = value_and_gradient(p, point, g);
    blv_vec_write(gradient, g);
    if (isfinite(*value) && isfinite(dense_norm(p->n, g)))
        return 0;
    p->avoided++;
    return p->outside == REFUSAL ? 4 : 0;
}

static inline void project_point(const problem *p, double *x) {
    const size_t n = p->n;
    if (p->region == BOX) {
        for (size_t i = 0; i < n; i++)
            x[i] = fmin(fmax(x[i], p->lo), p->hi);
    } else if (p->region == BALL) {
        const double norm = dense_norm(n, x);
        for (size_t i = 0; norm > 1.0 && i < n; i++)
            x[i] /= norm;
    } else if (p->region == SIMPLEX) {
        /* x - level, cut off at 0, sums to 1; the level by Michelot's repeated averaging */
        bool in[DENSE_MAX];
        double level = 0.0;
        for (size_t i = 0; i < n; i++)
            in[i] = true;
        for (bool changed = true; changed;) {
            double sum = -1.0, count = 0.0;
            for (size_t i = 0; i < n; i++)
                if (in[i]) {
                    sum += x[i];
                    count += 1.0;
                }
            level = sum / count;
            changed = false;
            for (size_t i = 0; i < n; i++)
                if (in[i] && x[i] < level) {
                    in[i] = false;
                    changed = true;
                }
        }
        for (size_t i = 0; i < n; i++)
            x[i] = in[i] ? x[i] - level : 0.0;
    }
}

static inline int projection(void *context, blv_vec *x) {
    problem *p = context;
    double point[DENSE_MAX];
    p->projections++;
    if (p->projections == p->project_fail_at)
        return p->code;
    blv_vec_read(x, point);
    project_point(p, point);
    blv_vec_write(x, point);
    return 0;
}

/* |x - P(x - t g)| / t with t |g| = |x| / 64, from the raw problem; at x = 0 by the value */
static inline double stationarity(const problem *p, const double *x) {
    double g[DENSE_MAX], moved[DENSE_MAX];
    double value = value_and_gradient(p, x, g), norm = dense_norm(p->n, g);
    if (p->region == WHOLE || norm == 0.0)
        return norm;
    double length = dense_norm(p->n, x), t = length / 64 / norm;
    if (length == 0.0)
        t = value != 0.0 ? fabs(value) / 64 / (norm * norm) : 1.0;
    for (size_t i = 0; i < p->n; i++)
        moved[i] = x[i] - t * g[i];
    project_point(p, moved);
    for (size_t i = 0; i < p->n; i++)
        moved[i] -= x[i];
    return dense_norm(p->n, moved) / t;
}

static inline blv_lbfgs_problem callbacks(problem *p) {
    return (blv_lbfgs_problem){objective, p->region == WHOLE ? NULL : projection, p};
}

static inline void random_quadratic(problem *p, region_kind region, size_t n, double kappa,
                                    uint64_t *seed) {
    double values[DENSE_MAX];
    for (size_t i = 0; i < n; i++)
        values[i] = pow(kappa, n > 1 ? -(double)i / (double)(n - 1) : 0.0);
    *p = (problem){.shape = QUADRATIC, .region = region, .n = n, .lo = -0.3, .hi = 0.2};
    dense_with_spectrum(&p->a, n, values, seed);
    dense_random_vector(seed, n, p->b);
}

#endif
