/* Small problems with known answers, each one coordinate function; see separable.h. */
#include "base/message.h"
#include "base/random.h"
#include "problems/family.h"
#include "problems/separable.h"

#include <math.h>
#include <stdlib.h>

static const blv_param no_params[] = {PARAMS_END};

/* A family without parameters: the description of a separable problem of dimension 1. */
#define TOY(id, family_name, about, formulas, ...)                                                 \
    static const separable id = {.name = family_name, .dim = 1, __VA_ARGS__};                      \
    static blv_error id##_create(const void *params, const blv_problem_options *options,           \
                                 blv_problem **problem, blv_message *why) {                        \
        (void)params;                                                                              \
        return separable_create(&id, options, problem, why);                                       \
    }                                                                                              \
    const blv_problem_family blv_problem_##id = {                                                  \
        BLV_SIZED(blv_problem_family), .name = family_name, .summary = about,                      \
        .formula = formulas,           .params = no_params, .create = id##_create};

static double same(double x) {
    return x;
}

/* ---- scalar-penalty: Example 1 of the minimax paper ---- */

static parts penalty_at(coordinate c) {
    const double x = c.x, y = c.y, off = y - 0.1;
    return (parts){.f = {0.5 * off * off, 0.0, off},
                   .g = {0.05 * (y - 1.0) * (y - 1.0) + x * y * y, y * y,
                         0.1 * (y - 1.0) + 2.0 * x * y, 0.1 + 2.0 * x, 2.0 * y}};
}

static double penalty_best_y(double x) {
    return 0.1 / (0.1 + 2.0 * x);
}

TOY(scalar_penalty, "scalar-penalty",
    "one penalty to choose: x = 0.45, y = 0.1 (minimax paper, Example 1)",
    "f = (y-0.1)^2/2\ng = 0.05 (y-1)^2 + x y^2,  x >= 0", .bounded = true, .lo = 0.0,
    .hi = INFINITY, .at = penalty_at, .best_y = penalty_best_y, .x_star = 0.45)

/* ---- parabola ---- */

static parts parabola_at(coordinate c) {
    const double x = c.x, y = c.y, t = x + y - 1.0;
    return (parts){.f = {x * x + y * y, 2.0 * x, 2.0 * y},
                   .g = {t * t, 2.0 * t, 2.0 * t, 2.0, 2.0}};
}

static double parabola_best_y(double x) {
    return 1.0 - x;
}

TOY(parabola, "parabola", "the point of a line nearest to 0: x = y = 1/2, Phi = 1/2",
    "f = x^2 + y^2\ng = (x+y-1)^2", .at = parabola_at, .best_y = parabola_best_y, .x_star = 0.5)

/* ---- saddle ---- */

static parts saddle_at(coordinate c) {
    const double x = c.x, y = c.y;
    return (parts){.f = {x * x, 2.0 * x, 0.0}, .g = {0.5 * y * y - x * y, -y, y - x, 1.0, -1.0}};
}

TOY(saddle, "saddle", "f that ignores y, g with a saddle in (x, y): x = y = 0",
    "f = x^2\ng = y^2/2 - x y", .at = saddle_at, .best_y = same, .x_star = 0.0)

/* ---- pl-sine: three local minima above a lower level that is not convex ---- */

static parts pl_sine_at(coordinate at) {
    const double x = at.x, y = at.y, c = cos(4.0 * y + 2.0), s = sin(4.0 * y + 2.0);
    const double sigma = 1.0 / (1.0 + exp(2.0 - 4.0 * x)); /* derivative 4 sigma (1 - sigma) */
    const double w = 4.0 * x - 2.0, t = x + y, st = sin(t), s2t = sin(2.0 * t), c2t = cos(2.0 * t);
    return (parts){.f = {c * sigma + 0.5 * log(w * w + 1.0),
                         4.0 * c * sigma * (1.0 - sigma) + 4.0 * w / (w * w + 1.0),
                         -4.0 * s * sigma},
                   .g = {t * t + x * st * st, 2.0 * t + st * st + x * s2t, 2.0 * t + x * s2t,
                         2.0 + 2.0 * x * c2t, 2.0 + s2t + 2.0 * x * c2t}};
}

static double pl_sine_best_y(double x) {
    return -x;
}

static double pl_sine_slope(double x) {
    const parts p = pl_sine_at((coordinate){.x = x, .y = -x});
    return p.f.x - p.f.y;
}

/* The global minimizer, a root of the derivative of f(x, -x): secant on a short interval. */
static double pl_sine_best_x(double a, double b) {
    (void)a;
    (void)b;
    double x = 1.21515, h = 1e-5;
    for (int i = 0; i < 50; i++)
        x -= pl_sine_slope(x) / ((pl_sine_slope(x + h) - pl_sine_slope(x - h)) / (2.0 * h));
    return x;
}

TOY(pl_sine, "pl-sine",
    "lower level not convex (PL); local minima at x = 0.38236, 1.21515 (best), 2.82964",
    "f = cos(4y+2)/(1+exp(2-4x)) + log((4x-2)^2+1)/2,  0 <= x <= 3\n"
    "g = (x+y)^2 + x sin(x+y)^2",
    .bounded = true, .lo = 0.0, .hi = 3.0, .at = pl_sine_at, .best_y = pl_sine_best_y,
    .best_x = pl_sine_best_x)

/* ---- pl-shift ---- */

typedef struct pl_shift_params {
    int64_t dim, seed;
} pl_shift_params;

static const blv_param pl_shift_table[] = {
    {"dim", BLV_INT, offsetof(pl_shift_params, dim), "10", 1, 1e9, NULL, "size of x and of y"},
    {"seed", BLV_INT, offsetof(pl_shift_params, seed), "0", 0, 9e15, NULL, "seed of a and b"},
    PARAMS_END,
};

static parts pl_shift_at(coordinate c) {
    const double t = c.y - c.x, st = sin(t);
    const double slope = 2.0 * t + 3.0 * sin(2.0 * t), curve = 2.0 + 6.0 * cos(2.0 * t);
    return (parts){.f = {0.5 * (c.x - c.a) * (c.x - c.a) + 0.5 * (c.y - c.b) * (c.y - c.b),
                         c.x - c.a, c.y - c.b},
                   .g = {t * t + 3.0 * st * st, -slope, slope, curve, -curve}};
}

static double pl_shift_best_x(double a, double b) {
    return 0.5 * (a + b);
}

static blv_error pl_shift_create(const void *params, const blv_problem_options *options,
                                 blv_problem **problem, blv_message *why) {
    const pl_shift_params *p = params;
    const size_t dim = (size_t)p->dim;
    const blv_stream of_a = blv_stream_make((uint64_t)p->seed, "pl-shift a");
    const blv_stream of_b = blv_stream_make((uint64_t)p->seed, "pl-shift b");
    double *a = malloc(2 * dim * sizeof *a);
    if (!a)
        return blv_explain(why, BLV_E_MEMORY, "problem pl-shift: out of memory");
    blv_random_normals(&of_a, 0, dim, a);
    blv_random_normals(&of_b, 0, dim, a + dim);
    const separable s = {.name = "pl-shift",
                         .dim = dim,
                         .at = pl_shift_at,
                         .a = a,
                         .b = a + dim,
                         .best_y = same,
                         .best_x = pl_shift_best_x};
    return separable_create(&s, options, problem, why);
}

PROBLEM_FAMILY(pl_shift, "pl-shift", pl_shift_params, pl_shift_table, pl_shift_create,
               "lower level not convex (PL), any size: y = x, x = (a+b)/2",
               "f = |x-a|^2/2 + |y-b|^2/2\ng = sum t^2 + 3 sin(t)^2,  t = y - x");

/* ---- non-singleton: y2 is free, so d2g/dy2 is singular. Value-function methods solve it; implicit
 * ones reject it. ---- */

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    (void)user;
    (void)batch;
    double gap = blv_vec_at(x, 0) - blv_vec_at(y, 1), off = blv_vec_at(y, 0) - 1.0;
    if (f)
        *f = 0.5 * gap * gap + 0.5 * off * off;
    blv_vec_put(fx, 0, gap);
    blv_vec_put(fy, 0, off);
    blv_vec_put(fy, 1, -gap);
    return 0;
}

static int lower_pass(void *user, const lower_call *c) {
    (void)user;
    double y = blv_vec_at(c->y, 0), x = blv_vec_at(c->x, 0), v = blv_vec_at(c->v, 0);
    if (c->g)
        *c->g = 0.5 * y * y - x * y;
    blv_vec_put(c->gx, 0, -y);
    blv_vec_put(c->gy, 0, y - x);
    blv_vec_put(c->gy, 1, 0.0);
    blv_vec_put(c->hv, 0, v);
    blv_vec_put(c->hv, 1, 0.0);
    blv_vec_put(c->jv, 0, -v);
    return 0;
}

LOWER_PARTS_FROM_PASS

static int known_solution(void *user, blv_vec *x, blv_vec *y) {
    (void)user;
    blv_vec_fill(x, 1.0);
    blv_vec_fill(y, 1.0);
    return 0;
}

static blv_error non_singleton_create(const void *params, const blv_problem_options *options,
                                      blv_problem **problem, blv_message *why) {
    (void)params;
    BLV_CHECK(problem_on_host(options, "non-singleton", why));
    blv_problem_def def = {BLV_SIZED(blv_problem_def),
                           .name = "non-singleton",
                           .dim_x = 1,
                           .dim_y = 2,
                           .precision = options->precision,
                           .threads = options->threads,
                           .singular_lower = true,
                           .upper = upper,
                           LOWER_PARTS,
                           .known_solution = known_solution};
    return blv_problem_create(problem, &def, why);
}

const blv_problem_family blv_problem_non_singleton = {
    BLV_SIZED(blv_problem_family),
    .name = "non-singleton",
    .summary = "lower level with many solutions (singular Hessian): x = 1, y = (1, 1), Phi = 0",
    .formula = "f = (x-y2)^2/2 + (y1-1)^2/2\ng = y1^2/2 - x y1",
    .params = no_params,
    .create = non_singleton_create,
};
