#include "core/constants.h"
#include "core/implicit.h"
#include "core/random.h"
#include "core/run_private.h"
#include "linsolve/lanczos.h"

#include <math.h>
#include <stdlib.h>

enum { LANCZOS_STEPS = 24, POWER_STEPS = 3, GRADIENT_BUDGET = 200 };

struct blv_constants_work {
    blv_lanczos *lanczos;
    blv_implicit *implicit;
    blv_vec *start;                       /* of Lanczos: random */
    blv_vec *y, *v;                       /* y*(x) and v*(x) */
    blv_vec *d0, *d1, *x1, *displacement; /* hypergradients at x0 and x1 */
};

static void destroy_work(void *object) {
    blv_constants_work *w = object;
    blv_lanczos_destroy(w->lanczos);
    blv_implicit_destroy(w->implicit);
    free(w);
}

static blv_error random_start(blv_run *run, blv_vec *start) {
    size_t dim = blv_vec_dim(start);
    double *host = malloc(dim * sizeof *host);
    if (!host)
        return blv_run_fail(run, BLV_E_MEMORY, "automatic constants: out of memory");
    blv_stream stream = blv_stream_make((uint64_t)run->options.seed, "lanczos start");
    blv_random_normals(&stream, 0, dim, host);
    blv_vec_write(start, host);
    free(host);
    return BLV_OK;
}

blv_error blv_constants_open(blv_run *run, blv_constants_work **work) {
    *work = NULL;
    blv_constants_work *w = calloc(1, sizeof *w);
    if (!w)
        return blv_run_fail(run, BLV_E_MEMORY, "automatic constants: out of memory");
    blv_error error = blv_lanczos_create(&w->lanczos, run->def->space_y, LANCZOS_STEPS);
    if (error == BLV_OK)
        error = blv_implicit_create(&w->implicit, &run->eval);
    if (error != BLV_OK) {
        destroy_work(w);
        return blv_run_fail(run, error, "automatic constants: %s", blv_error_text(error));
    }
    BLV_CHECK(
        blv_run_own(run, w, destroy_work,
                    sizeof *w + blv_lanczos_bytes(w->lanczos) + blv_implicit_bytes(w->implicit)));
    blv_vec **of_y[] = {&w->start, &w->y, &w->v};
    blv_vec **of_x[] = {&w->d0, &w->d1, &w->x1, &w->displacement};
    for (size_t i = 0; i < sizeof of_y / sizeof *of_y; i++)
        BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_Y, of_y[i]));
    for (size_t i = 0; i < sizeof of_x / sizeof *of_x; i++)
        BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, of_x[i]));
    BLV_CHECK(random_start(run, w->start));
    *work = w;
    return BLV_OK;
}

typedef struct hessian_at {
    blv_run *run;
    const blv_vec *y;
} hessian_at;

static int apply_hessian(void *context, const blv_vec *in, blv_vec *out) {
    const hessian_at *h = context;
    return (int)blv_eval_hvp(&h->run->eval, NULL, h->run->x, h->y, in, out);
}

/* Ritz values lie inside the spectrum; adding the bound makes L safe. For mu the bound may be
 * larger than the value and would say nothing: at most half of it is taken off. */
static blv_flow lower_spectrum(blv_run *run, blv_constants_work *w, const blv_vec *y,
                               blv_constants *c) {
    hessian_at h = {run, y};
    blv_lanczos_result r = blv_lanczos_run(w->lanczos, apply_hessian, &h, w->start, LANCZOS_STEPS);
    if (r.end == BLV_LINEAR_OPERATOR)
        return (blv_flow)r.code;
    if (r.end == BLV_LINEAR_NONFINITE || r.steps == 0)
        return BLV_NONFINITE;
    double largest = fmax(r.largest + r.largest_bound, -r.smallest);
    c->L = largest > 0.0 ? largest : 1.0;
    double smallest = fmax(r.smallest - r.smallest_bound, 0.5 * r.smallest);
    c->mu = fmin(fmax(smallest, 1e-12 * c->L), c->L);
    return BLV_GO;
}

/* x1 = P_X(x + t direction) with |t direction| = length; *distance = |x1 - x|. */
static blv_flow probe(blv_run *run, blv_constants_work *w, const blv_vec *direction, double t,
                      double *distance) {
    blv_vec_combine(w->x1, 1.0, run->x, t, direction);
    BLV_TRY(blv_eval_project(&run->eval, w->x1));
    *distance = blv_vec_combine(w->displacement, 1.0, w->x1, -1.0, run->x);
    return BLV_GO;
}

/* Differences of hypergradients along d0, then along the difference itself: three steps of the
 * power method on the Hessian of Phi. The largest quotient counts. */
static blv_flow upper_curvature(blv_run *run, blv_constants_work *w, double rel, blv_constants *c) {
    blv_implicit_result solved;
    double norm = blv_vec_norm(w->d0), length = 1e-2 * (1.0 + blv_vec_norm(run->x));
    double largest = 0.0;
    blv_vec_copy(w->d1, w->d0);
    if (norm == 0.0) {
        blv_vec_fill(w->d1, 1.0);
        norm = blv_vec_norm(w->d1);
    }
    for (int k = 0; k < POWER_STEPS && norm > 0.0; k++) {
        double distance;
        BLV_TRY(probe(run, w, w->d1, -length / norm, &distance));
        if (!(distance > 0.0)) /* x is on the boundary of X and d1 points out: look inwards */
            BLV_TRY(probe(run, w, w->d1, length / norm, &distance));
        if (!(distance > 0.0))
            break;
        BLV_TRY(blv_implicit_gradient(w->implicit, w->x1, w->y, w->v, rel, w->d1, &solved));
        norm = blv_vec_combine(w->d1, 1.0, w->d1, -1.0, w->d0);
        largest = fmax(largest, norm / distance);
    }
    c->L_phi = largest > 0.0 ? largest : 1.0;
    return BLV_GO;
}

blv_flow blv_constants_estimate(blv_run *run, blv_constants_work *w, blv_constants *c) {
    const double rel = run->def->precision == BLV_F32 ? 1e-4 : 1e-6;
    blv_implicit_result solved;
    blv_constants at_start = {0};
    BLV_TRY(lower_spectrum(run, w, run->y, &at_start));
    blv_vec_copy(w->y, run->y);
    const blv_state_entry *v = blv_state_find(run, "v");
    blv_vec_fill(w->v, 0.0);
    BLV_TRY(blv_implicit_gradient(w->implicit, run->x, w->y, w->v, rel, w->d0, &solved));
    /* L for the way from y0 to y*, mu where it ends: at y0 the function may even curve down */
    BLV_TRY(lower_spectrum(run, w, w->y, c));
    c->L = fmax(c->L, at_start.L);
    c->reach_y = blv_vec_combine(w->start, 1.0, w->y, -1.0, run->y);
    c->reach_v = v ? blv_vec_combine(w->start, 1.0, w->v, -1.0, v->vec) : blv_vec_norm(w->v);
    double gradient = blv_vec_norm(w->d0);
    BLV_TRY(upper_curvature(run, w, rel, c));
    c->reach_x = gradient / c->L_phi;
    blv_run_note(run, "estimated: L = %.4g and mu = %.4g of g in y, L_phi = %.4g", c->L, c->mu,
                 c->L_phi);
    return BLV_GO;
}

const blv_vec *blv_constants_y(const blv_constants_work *w) {
    return w->y;
}

double blv_auto_inner_step(double given, const blv_constants *c) {
    return isnan(given) ? 1.0 / c->L : given;
}

double blv_auto_outer_step(double given, const blv_constants *c, double inner_steps) {
    if (!isnan(given))
        return given;
    double covered = -expm1(inner_steps * log1p(-fmin(c->mu / c->L, 1.0 - 1e-9)));
    return fmin(1.0, 2.0 * covered) / (2.0 * c->L_phi);
}
