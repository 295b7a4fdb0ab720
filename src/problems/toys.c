/* Small problems with known answers, each one coordinate function; see separable.h. */
#include "base/random.h"
#include "problems/builtin_problems.h"
#include "problems/separable.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const blv_param no_params[] = {{NULL, BLV_REAL, 0, NULL, 0, 0, NULL, NULL}};

/* ---- scalar-penalty: Example 1 of the minimax paper ---- */

static parts penalty_at(double x, double y, double a, double b) {
    (void)a;
    (void)b;
    return (parts){.f = 0.5 * (y - 0.1) * (y - 0.1),
                   .fx = 0.0,
                   .fy = y - 0.1,
                   .g = 0.05 * (y - 1.0) * (y - 1.0) + x * y * y,
                   .gx = y * y,
                   .gy = 0.1 * (y - 1.0) + 2.0 * x * y,
                   .gyy = 0.1 + 2.0 * x,
                   .gxy = 2.0 * y};
}

static double penalty_best_y(double x) {
    return 0.1 / (0.1 + 2.0 * x);
}

static double penalty_best_x(double a, double b) {
    (void)a;
    (void)b;
    return 0.45;
}

static blv_error penalty_create(const void *params, const blv_problem_options *options,
                                blv_problem **problem, blv_message *why) {
    (void)params;
    separable s = {.name = "scalar-penalty",
                   .dim = 1,
                   .lo = 0.0,
                   .hi = INFINITY,
                   .at = penalty_at,
                   .best_y = penalty_best_y,
                   .best_x = penalty_best_x};
    return separable_create(&s, options, problem, why);
}

const blv_problem_family blv_problem_scalar_penalty = {
    BLV_SIZED(blv_problem_family),
    .name = "scalar-penalty",
    .summary = "one penalty to choose: x = 0.45, y = 0.1 (minimax paper, Example 1)",
    .formula = "f = (y-0.1)^2/2\ng = 0.05 (y-1)^2 + x y^2,  x >= 0",
    .params = no_params,
    .create = penalty_create,
};

/* ---- parabola ---- */

static parts parabola_at(double x, double y, double a, double b) {
    (void)a;
    (void)b;
    double t = x + y - 1.0;
    return (parts){.f = x * x + y * y,
                   .fx = 2.0 * x,
                   .fy = 2.0 * y,
                   .g = t * t,
                   .gx = 2.0 * t,
                   .gy = 2.0 * t,
                   .gyy = 2.0,
                   .gxy = 2.0};
}

static double parabola_best_y(double x) {
    return 1.0 - x;
}

static double parabola_best_x(double a, double b) {
    (void)a;
    (void)b;
    return 0.5;
}

static blv_error parabola_create(const void *params, const blv_problem_options *options,
                                 blv_problem **problem, blv_message *why) {
    (void)params;
    separable s = {.name = "parabola",
                   .dim = 1,
                   .lo = -INFINITY,
                   .hi = INFINITY,
                   .at = parabola_at,
                   .best_y = parabola_best_y,
                   .best_x = parabola_best_x};
    return separable_create(&s, options, problem, why);
}

const blv_problem_family blv_problem_parabola = {
    BLV_SIZED(blv_problem_family),
    .name = "parabola",
    .summary = "the point of a line nearest to 0: x = y = 1/2, Phi = 1/2",
    .formula = "f = x^2 + y^2\ng = (x+y-1)^2",
    .params = no_params,
    .create = parabola_create,
};

/* ---- saddle ---- */

static parts saddle_at(double x, double y, double a, double b) {
    (void)a;
    (void)b;
    return (parts){.f = x * x,
                   .fx = 2.0 * x,
                   .fy = 0.0,
                   .g = 0.5 * y * y - x * y,
                   .gx = -y,
                   .gy = y - x,
                   .gyy = 1.0,
                   .gxy = -1.0};
}

static double saddle_best_y(double x) {
    return x;
}

static double saddle_best_x(double a, double b) {
    (void)a;
    (void)b;
    return 0.0;
}

static blv_error saddle_create(const void *params, const blv_problem_options *options,
                               blv_problem **problem, blv_message *why) {
    (void)params;
    separable s = {.name = "saddle",
                   .dim = 1,
                   .lo = -INFINITY,
                   .hi = INFINITY,
                   .at = saddle_at,
                   .best_y = saddle_best_y,
                   .best_x = saddle_best_x};
    return separable_create(&s, options, problem, why);
}

const blv_problem_family blv_problem_saddle = {
    BLV_SIZED(blv_problem_family),
    .name = "saddle",
    .summary = "f that ignores y, g with a saddle in (x, y): x = y = 0",
    .formula = "f = x^2\ng = y^2/2 - x y",
    .params = no_params,
    .create = saddle_create,
};

/* ---- pl-sine: three local minima above a lower level that is not convex ---- */

static parts pl_sine_at(double x, double y, double a, double b) {
    (void)a;
    (void)b;
    double c = cos(4.0 * y + 2.0), s = sin(4.0 * y + 2.0);
    double sigma = 1.0 / (1.0 + exp(2.0 - 4.0 * x)); /* its derivative: 4 sigma (1 - sigma) */
    double w = 4.0 * x - 2.0, t = x + y, st = sin(t), s2t = sin(2.0 * t), c2t = cos(2.0 * t);
    return (parts){.f = c * sigma + 0.5 * log(w * w + 1.0),
                   .fx = 4.0 * c * sigma * (1.0 - sigma) + 4.0 * w / (w * w + 1.0),
                   .fy = -4.0 * s * sigma,
                   .g = t * t + x * st * st,
                   .gx = 2.0 * t + st * st + x * s2t,
                   .gy = 2.0 * t + x * s2t,
                   .gyy = 2.0 + 2.0 * x * c2t,
                   .gxy = 2.0 + s2t + 2.0 * x * c2t};
}

static double pl_sine_best_y(double x) {
    return -x;
}

/* The global minimizer, a root of the derivative of f(x, -x). */
static double pl_sine_best_x(double a, double b) {
    double x = 1.21515;
    for (int i = 0; i < 50; i++) { /* secant on a short interval, to rounding */
        double h = 1e-5;
        parts p = pl_sine_at(x, -x, a, b);
        parts q = pl_sine_at(x + h, -x - h, a, b), r = pl_sine_at(x - h, -x + h, a, b);
        double slope = ((q.fx - q.fy) - (r.fx - r.fy)) / (2.0 * h);
        x -= (p.fx - p.fy) / slope;
    }
    return x;
}

static blv_error pl_sine_create(const void *params, const blv_problem_options *options,
                                blv_problem **problem, blv_message *why) {
    (void)params;
    separable s = {.name = "pl-sine",
                   .dim = 1,
                   .lo = 0.0,
                   .hi = 3.0,
                   .at = pl_sine_at,
                   .best_y = pl_sine_best_y,
                   .best_x = pl_sine_best_x};
    return separable_create(&s, options, problem, why);
}

const blv_problem_family blv_problem_pl_sine = {
    BLV_SIZED(blv_problem_family),
    .name = "pl-sine",
    .summary = "lower level not convex (PL); local minima at x = 0.38236, 1.21515 (best), 2.82964",
    .formula = "f = cos(4y+2)/(1+exp(2-4x)) + log((4x-2)^2+1)/2,  0 <= x <= 3\n"
               "g = (x+y)^2 + x sin(x+y)^2",
    .params = no_params,
    .create = pl_sine_create,
};

/* ---- pl-shift ---- */

typedef struct pl_shift_params {
    int64_t dim, seed;
} pl_shift_params;

static const blv_param pl_shift_table[] = {
    {"dim", BLV_INT, offsetof(pl_shift_params, dim), "10", 1, 1e9, NULL, "size of x and of y"},
    {"seed", BLV_INT, offsetof(pl_shift_params, seed), "0", 0, 9e15, NULL, "seed of a and b"},
    {NULL, BLV_REAL, 0, NULL, 0, 0, NULL, NULL},
};

static parts pl_shift_at(double x, double y, double a, double b) {
    double t = y - x, st = sin(t);
    double slope = 2.0 * t + 3.0 * sin(2.0 * t), curve = 2.0 + 6.0 * cos(2.0 * t);
    return (parts){.f = 0.5 * (x - a) * (x - a) + 0.5 * (y - b) * (y - b),
                   .fx = x - a,
                   .fy = y - b,
                   .g = t * t + 3.0 * st * st,
                   .gx = -slope,
                   .gy = slope,
                   .gyy = curve,
                   .gxy = -curve};
}

static double pl_shift_best_y(double x) {
    return x;
}

static double pl_shift_best_x(double a, double b) {
    return 0.5 * (a + b);
}

static double *normals(int64_t seed, const char *purpose, size_t count) {
    double *out = malloc(count * sizeof *out);
    blv_stream stream = blv_stream_make((uint64_t)seed, purpose);
    if (out)
        blv_random_normals(&stream, 0, count, out);
    return out;
}

static blv_error pl_shift_create(const void *params, const blv_problem_options *options,
                                 blv_problem **problem, blv_message *why) {
    const pl_shift_params *p = params;
    size_t dim = (size_t)p->dim;
    separable s = {.name = "pl-shift",
                   .dim = dim,
                   .lo = -INFINITY,
                   .hi = INFINITY,
                   .at = pl_shift_at,
                   .a = normals(p->seed, "pl-shift a", dim),
                   .b = normals(p->seed, "pl-shift b", dim),
                   .best_y = pl_shift_best_y,
                   .best_x = pl_shift_best_x};
    if (!s.a || !s.b) {
        free(s.a);
        free(s.b);
        if (why)
            snprintf(why->text, sizeof why->text, "problem pl-shift: out of memory");
        return BLV_E_MEMORY;
    }
    return separable_create(&s, options, problem, why);
}

const blv_problem_family blv_problem_pl_shift = {
    BLV_SIZED(blv_problem_family),
    .name = "pl-shift",
    .summary = "lower level not convex (PL), any size: y = x, x = (a+b)/2",
    .formula = "f = |x-a|^2/2 + |y-b|^2/2\ng = sum t^2 + 3 sin(t)^2,  t = y - x",
    .params_size = sizeof(pl_shift_params),
    .params = pl_shift_table,
    .create = pl_shift_create,
};
