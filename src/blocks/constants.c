#include "blocks/constants.h"
#include "blocks/rough_constants.h"
#include "core/implicit.h"
#include "core/run_private.h"
#include "core/workspace.h"
#include "space/distance.h"

#include <math.h>
#include <stdlib.h>

enum { LANCZOS_STEPS = 24, POWER_STEPS = 3, SOLVE_STEPS = 300, SHORTENED_MAX = 8 };

struct blv_constants_work {
    blv_run *run;
    bool first_order;
    blv_rough *sketch; /* of a large problem; NULL: all the others are there */
    blv_linear_work *lanczos;
    blv_vec *start;                       /* of Lanczos: random */
    blv_vec *y;                           /* y*(x); penalized: the minimizer of f + lambda g */
    blv_vec *anchor, *room;               /* y*(x), and how far it is from there */
    blv_vec *d0, *d1, *x1, *displacement; /* gradients at x0 and x1 */

    /* through Hv and Jv */
    blv_implicit *implicit;
    blv_vec *v; /* H^-1 fy */

    /* through gradients alone */
    blv_agd agd;
    blv_vec *z;                          /* y*(x) */
    blv_vec *shifted, *forward, *offset; /* for differences; y - z */
    blv_penalty *penalty;
    double lambda;
    double L_y, L_z; /* of f + lambda g and of g, raised by what the solves meet */
};

static void destroy_work(void *object) {
    blv_constants_work *w = object;
    blv_linear_work_destroy(w->lanczos);
    blv_implicit_destroy(w->implicit);
    free(w);
}

blv_error blv_random_start(blv_run *run, blv_vec *start) {
    blv_error error = blv_vec_normals(start, (uint64_t)run->options.seed, "lanczos start");
    return error == BLV_OK
               ? BLV_OK
               : blv_run_fail(run, error, "automatic constants: %s", blv_error_text(error));
}

static blv_error open_vectors(blv_run *run, blv_constants_work *w) {
    BLV_CHECK(blv_scratch_vecs(run, BLV_LEVEL_X, &w->d0, &w->d1, &w->x1, &w->displacement, NULL));
    BLV_CHECK(blv_scratch_vecs(run, BLV_LEVEL_Y, &w->start, &w->y, &w->anchor, &w->room, NULL));
    if (!w->first_order)
        return blv_scratch_vec(run, BLV_LEVEL_Y, &w->v);
    BLV_CHECK(
        blv_scratch_vecs(run, BLV_LEVEL_Y, &w->z, &w->shifted, &w->forward, &w->offset, NULL));
    return blv_agd_open(run, BLV_LEVEL_Y, true, &w->agd);
}

blv_error blv_constants_open(blv_run *run, blv_constants_work **work) {
    *work = NULL;
    blv_constants_work *w = calloc(1, sizeof *w);
    if (!w)
        return blv_run_fail(run, BLV_E_MEMORY, "automatic constants: out of memory");
    w->run = run;
    if (isfinite(blv_effort(run))) {
        *work = w;
        BLV_CHECK(blv_run_own(run, w, free, sizeof *w));
        return blv_rough_open(run, &w->sketch);
    }
    w->first_order = !(run->solver->uses & (BLV_USES_HVP | BLV_USES_CROSS));
    blv_error error = blv_lanczos_create(&w->lanczos, run->def->space_y, LANCZOS_STEPS);
    if (error == BLV_OK && !w->first_order)
        error = blv_implicit_create(&w->implicit, &run->eval);
    if (error != BLV_OK) {
        destroy_work(w);
        return blv_run_fail(run, error, "automatic constants: %s", blv_error_text(error));
    }
    size_t bytes = sizeof *w + blv_linear_work_bytes(w->lanczos) +
                   (w->first_order ? 0 : blv_implicit_bytes(w->implicit));
    BLV_CHECK(blv_run_own(run, w, destroy_work, bytes));
    BLV_CHECK(open_vectors(run, w));
    BLV_CHECK(blv_random_start(run, w->start));
    *work = w;
    return BLV_OK;
}

/* ---- Curvature in y ---- */

typedef enum function { OF_G, OF_F } function;

typedef struct hessian_at {
    blv_constants_work *w;
    const blv_vec *y;
    function of;
} hessian_at;

static blv_flow gradient_in_y(const hessian_at *h, const blv_vec *y, blv_vec *out) {
    blv_run *run = h->w->run;
    if (h->of == OF_F)
        return blv_eval_upper(&run->eval, NULL, run->x, y, NULL, NULL, out);
    return blv_eval_lower(&run->eval, NULL, run->x, y, NULL, NULL, out);
}

static blv_flow hessian_by_differences(const hessian_at *h, const blv_vec *in, blv_vec *out) {
    blv_constants_work *w = h->w;
    blv_run *run = w->run;
    double t;
    BLV_TRY(blv_difference_width(&run->eval, run->x, h->y, blv_vec_norm(in), w->shifted, &t));
    blv_vec_combine(w->shifted, 1.0, h->y, t, in);
    BLV_TRY(gradient_in_y(h, w->shifted, w->forward));
    blv_vec_combine(w->shifted, 1.0, h->y, -t, in);
    BLV_TRY(gradient_in_y(h, w->shifted, out));
    blv_vec_combine(out, 0.5 / t, w->forward, -0.5 / t, out);
    return BLV_GO;
}

static int apply_hessian(void *context, const blv_vec *in, blv_vec *out) {
    const hessian_at *h = context;
    blv_run *run = h->w->run;
    if (h->w->first_order)
        return (int)hessian_by_differences(h, in, out);
    return (int)blv_eval_hvp(&run->eval, NULL, run->x, h->y, in, out);
}

/* Ritz values lie inside the spectrum; adding the bound makes the largest safe. For the smallest
 * the bound may be larger than the value and would say nothing: at most half of it is taken off. */
blv_flow blv_spectrum_of(const blv_lanczos_result *r, double *largest, double *smallest) {
    BLV_TRY(blv_linear_flow(r->end, r->code));
    if (r->steps == 0)
        return BLV_NONFINITE;
    *largest = fmax(r->largest + r->largest_bound, -r->smallest);
    *smallest = fmax(r->smallest - r->smallest_bound, 0.5 * r->smallest);
    return BLV_GO;
}

static blv_flow spectrum(blv_constants_work *w, function of, const blv_vec *y, double *largest,
                         double *smallest) {
    hessian_at h = {w, y, of};
    blv_lanczos_result r = blv_lanczos_run(w->lanczos, apply_hessian, &h, w->start, LANCZOS_STEPS);
    return blv_spectrum_of(&r, largest, smallest);
}

static blv_flow lower_spectrum(blv_constants_work *w, const blv_vec *y, blv_constants *c) {
    double largest = NAN, smallest = NAN;
    BLV_TRY(spectrum(w, OF_G, y, &largest, &smallest));
    c->L = largest > 0.0 ? largest : 1.0;
    c->mu = fmin(fmax(smallest, 1e-12 * c->L), c->L);
    return BLV_GO;
}

/* ---- Gradients of Phi, and of the penalized function ---- */

typedef struct inner_problem {
    blv_constants_work *w;
    const blv_vec *x;
} inner_problem;

static blv_flow gradient_of_g(void *context, const blv_vec *z, blv_vec *out) {
    const inner_problem *p = context;
    return blv_eval_lower(&p->w->run->eval, NULL, p->x, z, NULL, NULL, out);
}

/* fy(y) + lambda (gy(y) - gy(z)), with gy(z) in `forward`: what z lacks, y lacks too, and it
 * cancels in gx(y) - gx(z). */
static blv_flow gradient_of_both(void *context, const blv_vec *y, blv_vec *out) {
    const inner_problem *p = context;
    BLV_TRY(blv_penalty_gradient(p->w->run, p->w->penalty, (blv_batches){NULL, NULL}, p->w->lambda,
                                 p->x, y, out));
    blv_vec_axpy(out, -p->w->lambda, p->w->forward);
    return BLV_GO;
}

typedef enum moment { AT_START, AT_PROBE, AT_PROBE_Y_HELD } moment;

/* z to the minimizer of g(x, .), from the last z: at the start it comes from far away, and what it
 * then lacks must be little beside the way to the probes. Then y to the minimizer of f + lambda g,
 * from the last y moved along with z. */
static blv_flow penalized_gradient_at(blv_constants_work *w, const blv_vec *x, moment when,
                                      blv_vec *out) {
    const double reduce = when == AT_START ? 1e-5 : 1e-2;
    inner_problem p = {w, x};
    blv_penalty_look look;
    blv_vec_combine(w->offset, 1.0, w->y, -1.0, w->z);
    BLV_TRY(blv_agd_minimize(&w->agd, gradient_of_g, &p, w->z, reduce, 0.0, SOLVE_STEPS, &w->L_z));
    if (when != AT_PROBE_Y_HELD) {
        blv_vec_combine(w->y, 1.0, w->z, 1.0, w->offset);
        BLV_TRY(gradient_of_g(&p, w->z, w->forward));
        BLV_TRY(blv_eval_upper(&w->run->eval, NULL, x, w->z, NULL, NULL, w->shifted));
        BLV_TRY(blv_agd_minimize(&w->agd, gradient_of_both, &p, w->y, 0.0,
                                 1e-4 * blv_vec_norm(w->shifted), SOLVE_STEPS, &w->L_y));
    }
    return blv_penalty_direction(w->run, w->penalty, (blv_batches){NULL, NULL}, w->lambda, x, w->y,
                                 w->z, false, out, NULL, &look);
}

static blv_flow gradient_at(blv_constants_work *w, const blv_vec *x, moment when, blv_vec *out) {
    if (w->first_order)
        return penalized_gradient_at(w, x, when, out);
    blv_implicit_result solved;
    double rel = w->run->def->precision == BLV_F32 ? 1e-4 : 1e-6;
    return blv_implicit_gradient(w->implicit, x, w->y, w->v, rel, out, &solved);
}

/* ---- Curvature in x ---- */

/* x1 = P_X(x + t direction) with |t direction| = length; *distance = |x1 - x|. */
static blv_flow probe(blv_constants_work *w, const blv_vec *direction, double t, double *distance) {
    blv_vec_combine(w->x1, 1.0, w->run->x, t, direction);
    BLV_TRY(blv_eval_project(&w->run->eval, w->x1));
    *distance = blv_distance(w->displacement, w->x1, w->run->x);
    return BLV_GO;
}

static double begin_probes(blv_constants_work *w) {
    blv_vec_copy(w->d1, w->d0);
    if (blv_vec_norm(w->d1) == 0.0)
        blv_vec_fill(w->d1, 1.0);
    return blv_vec_norm(w->d1);
}

/* Differences of gradients along d0, then along the difference itself: three steps of the power
 * method on the Hessian. The largest quotient counts. */
static blv_flow upper_curvature(blv_constants_work *w, moment when, blv_constants *c,
                                double *curvature) {
    const blv_vec *follower = w->first_order ? w->z : w->y;
    double d_norm = blv_vec_norm(w->d0), norm, largest = 0.0;
    double length = blv_first_probe(w->run, w->first_order, c->length_x);
    blv_vec_copy(w->anchor, follower);
    double y_size = blv_vec_norm(w->anchor) + c->reach_y;
    norm = begin_probes(w);
    for (int k = 0, shortened = 0; k < POWER_STEPS && norm > 0.0; k++) {
        double distance;
        BLV_TRY(probe(w, w->d1, -length / norm, &distance));
        if (!(distance > 0.0)) /* x is on the boundary of X and d1 points out: look inwards */
            BLV_TRY(probe(w, w->d1, length / norm, &distance));
        if (!(distance > 0.0))
            break;
        BLV_TRY(gradient_at(w, w->x1, when, w->d1));
        norm = blv_distance(w->d1, w->d1, w->d0);
        double y_moved = blv_distance(w->room, follower, w->anchor);
        if (k == 0 && shortened++ < SHORTENED_MAX &&
            blv_probe_was_long(y_moved, y_size, distance, &length, &c->length_x)) {
            norm = begin_probes(w);
            k = -1;
        } else {
            largest = fmax(largest, norm / distance);
        }
    }
    *curvature = largest > 0.0 ? largest : blv_straight(d_norm, c->length_x);
    return BLV_GO;
}

blv_flow blv_length_of_x(blv_run *run, const blv_vec *y, double reach_y, double d_norm,
                         blv_vec *room, double *length) {
    double f, fy_norm, y_norm, x_norm;
    BLV_TRY(blv_eval_upper(&run->eval, NULL, run->x, y, &f, NULL, room));
    blv_reduce(
        BLV_SCALARS(BLV_NORM(&fy_norm, room), BLV_NORM(&y_norm, y), BLV_NORM(&x_norm, run->x)));
    if (!isfinite(f) || !isfinite(fy_norm))
        return BLV_NONFINITE;
    *length = (fabs(f) + fy_norm * (y_norm + reach_y)) / d_norm;
    if (!(*length > 0.0) || !isfinite(*length))
        *length = x_norm > 0.0 ? x_norm : 1.0;
    return BLV_GO;
}

double blv_first_probe(const blv_run *run, bool first_order, double length_x) {
    bool coarse = first_order || run->def->precision == BLV_F32;
    return (coarse ? 3e-3 : 1e-4) * length_x;
}

bool blv_probe_was_long(double y_moved, double y_size, double distance, double *length,
                        double *length_x) {
    double share = y_size > 0.0 ? y_moved / y_size : 0.0;
    if (share > 0.1) {
        *length *= 0.03 / share;
        return true;
    }
    if (share > 0.0)
        *length_x = fmin(*length_x, distance / share);
    return false;
}

double blv_penalty_unit(double L_f, double L, double mu, double fy_norm, double gy_norm) {
    if (L_f > 0.0)
        return L_f / (mu > 1e-3 * L ? mu : L);
    return fy_norm > 0.0 && gy_norm > 0.0 ? fy_norm / gy_norm : 1.0;
}

double blv_move_unit(const blv_constants *c) {
    return c->reach_x > 0.0 ? fmin(c->length_x, 20.0 * c->reach_x) : c->length_x;
}

double blv_straight(double d_norm, double length_x) {
    return d_norm > 0.0 ? d_norm / length_x : 1.0;
}

/* ---- The estimates ---- */

blv_flow blv_constants_estimate(blv_run *run, blv_constants_work *w, blv_constants *c) {
    if (w->sketch)
        return blv_rough_estimate(run, w->sketch, NULL, 0.0, false, c);
    blv_constants at_start = {0};
    BLV_TRY(lower_spectrum(w, run->y, &at_start));
    blv_vec_copy(w->y, run->y);
    const blv_state_entry *v = blv_state_find(run, "v");
    blv_vec_fill(w->v, 0.0);
    BLV_TRY(gradient_at(w, run->x, AT_START, w->d0));
    /* L for the way from y0 to y*, mu where it ends: at y0 the function may even curve down */
    BLV_TRY(lower_spectrum(w, w->y, c));
    c->L = fmax(c->L, at_start.L);
    c->reach_y = blv_distance(w->room, w->y, run->y);
    c->reach_v = v ? blv_distance(w->room, w->v, v->vec) : blv_vec_norm(w->v);
    double gradient = blv_vec_norm(w->d0);
    BLV_TRY(blv_length_of_x(run, w->y, c->reach_y, gradient, w->room, &c->length_x));
    BLV_TRY(upper_curvature(w, AT_PROBE, c, &c->L_phi));
    c->doubt = 1.0;
    c->reach_x = gradient / c->L_phi;
    blv_run_note(run, "estimated: L = %.4g and mu = %.4g of g in y, L_phi = %.4g", c->L, c->mu,
                 c->L_phi);
    return BLV_GO;
}

blv_flow blv_constants_penalized(blv_run *run, blv_constants_work *w, blv_penalty *penalty,
                                 double *lambda, double factor, bool want_L_x, blv_constants *c) {
    if (w->sketch)
        return blv_rough_estimate(run, w->sketch, lambda, factor, want_L_x, c);
    blv_constants at_start = {0};
    double L_f = NAN, mu_f = NAN;
    *c = (blv_constants){.reach_v = NAN, .L_x = NAN, .doubt = 1.0};
    w->penalty = penalty;
    blv_vec_copy(w->y, run->y);
    blv_vec_copy(w->z, run->y);
    BLV_TRY(lower_spectrum(w, run->y, &at_start));
    BLV_TRY(spectrum(w, OF_F, run->y, &L_f, &mu_f));
    BLV_TRY(blv_eval_upper(&run->eval, NULL, run->x, run->y, NULL, NULL, w->shifted));
    BLV_TRY(blv_eval_lower(&run->eval, NULL, run->x, run->y, NULL, NULL, w->forward));
    c->lambda_unit = blv_penalty_unit(L_f, at_start.L, at_start.mu, blv_vec_norm(w->shifted),
                                      blv_vec_norm(w->forward));
    if (isnan(*lambda))
        *lambda = factor * c->lambda_unit;
    w->lambda = *lambda;
    w->L_z = at_start.L;
    w->L_y = L_f + *lambda * at_start.L;
    BLV_TRY(gradient_at(w, run->x, AT_START, w->d0));
    double gradient = blv_vec_norm(w->d0);
    BLV_TRY(lower_spectrum(w, w->z, c));
    BLV_TRY(spectrum(w, OF_F, w->y, &c->L_f, &c->mu_f));
    c->L_f = fmax(c->L_f, L_f);
    c->reach_y = blv_distance(w->shifted, w->z, run->y);
    BLV_TRY(blv_length_of_x(run, w->y, c->reach_y, gradient, w->shifted, &c->length_x));
    BLV_TRY(upper_curvature(w, AT_PROBE, c, &c->L_phi));
    c->reach_x = gradient / c->L_phi;
    if (want_L_x) {
        BLV_TRY(gradient_at(w, run->x, AT_START, w->d0));
        BLV_TRY(upper_curvature(w, AT_PROBE_Y_HELD, c, &c->L_x));
    }
    c->L = fmax(c->L, fmax(w->L_z, (w->L_y - c->L_f) / *lambda));
    blv_run_note(
        run, "estimated: L = %.4g and mu = %.4g of g in y, L_phi = %.4g of f + %.4g (g - min g)",
        c->L, c->mu, c->L_phi, *lambda);
    return BLV_GO;
}

/* ---- What auto means ---- */

double blv_auto_inner_step(double given, const blv_constants *c) {
    return isnan(given) ? 1.0 / c->L : given;
}

double blv_auto_terms(double mu, double eta, double most) {
    double kept = mu * eta < 1.0 ? log1p(-mu * eta) : -INFINITY;
    return fmin(most, fmax(10.0, ceil(log(0.05) / kept)));
}

double blv_covered(double ratio, double steps) {
    return -expm1(steps * log1p(-fmin(ratio, 1.0 - 1e-9)));
}

double blv_covering_step(double L_phi, double covered) {
    return fmin(1.0, 2.0 * covered) / (2.0 * L_phi);
}

double blv_auto_outer_step(double given, const blv_constants *c, double inner_steps) {
    return isnan(given) ? blv_covering_step(c->L_phi, blv_covered(c->mu / c->L, inner_steps))
                        : given;
}
