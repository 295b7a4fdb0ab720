#include "blocks/rough_constants.h"
#include "blocks/accelerated.h"
#include "blocks/nested.h"
#include "core/run_private.h"
#include "core/sampler.h"
#include "core/workspace.h"
#include "linsolve/lanczos.h"
#include "space/distance.h"

#include <math.h>
#include <stdlib.h>

enum {
    EFFORT_MAX = 4,
    LANCZOS_STEPS = 6, /* these four for each unit of effort */
    DESCENT_STEPS = 6,
    PRODUCTS = 3,
    PROBES = 1,
    PROBES_MAX = 3,
    SHORTENED_MAX = 4,
    WALK_STEPS = 64,
    ROWS_MIN = 512, /* in a sample, which is one of SHARES parts */
    SHARES = 16
};
static const double small_size = 4e6, size_of_an_effort = 1e8;

struct blv_rough {
    blv_run *run;
    bool first_order;
    size_t effort;
    blv_linear_work *lanczos;
    blv_linear_work *cg;
    blv_agd agd;
    blv_sampler *f_rows, *g_rows, *part_rows;
    double f_begin[BLV_SAMPLER_NUMBERS], g_begin[BLV_SAMPLER_NUMBERS]; /* their first positions */
    const blv_batch *part;   /* of g, in whose sum y descends and H is taken; NULL: in all of it */
    double L;                /* as far as it is known */
    blv_vec *start;          /* of Lanczos: random */
    blv_vec *y, *v, *gy;     /* gy: at x and y */
    blv_vec *y1, *dy, *dv;   /* y + dy, and what y and v change by */
    blv_vec *fy, *hv, *side; /* fy and H v at x and y; right sides */
    blv_vec *shifted, *base; /* for differences; base: gradient in y where they are taken */
    blv_vec *d, *d1, *x1, *gx, *gx1, *gx_base;
};

/* ---- Opening ---- */

/* A gradient of g goes through dim_y numbers for each sample. */
double blv_effort(const blv_run *run) {
    double size = (double)run->def->dim_y * fmax(1.0, (double)run->def->lower_samples);
    if (run->rough_constants)
        return 1.0;
    return size <= small_size ? INFINITY : fmin(fmax(size_of_an_effort / size, 1.0), EFFORT_MAX);
}

static void destroy_sketch(void *object) {
    blv_rough *s = object;
    blv_linear_work_destroy(s->lanczos);
    blv_sampler_destroy(s->f_rows);
    blv_sampler_destroy(s->g_rows);
    blv_sampler_destroy(s->part_rows);
    free(s);
}

static blv_error open_rows(const blv_run *run, size_t samples, const char *stream,
                           blv_sampler **rows) {
    size_t part = samples / SHARES;
    blv_sampler_spec spec = {.kind = BLV_SAMPLER_BLOCK,
                             .samples = samples > 0 ? samples : 1,
                             .batch = part > ROWS_MIN ? part : ROWS_MIN,
                             .contiguous = run->def->shuffled,
                             .seed = (uint64_t)run->options.seed,
                             .stream = stream};
    return blv_sampler_create(rows, &spec);
}

static blv_error open_parts(blv_run *run, blv_rough *s) {
    size_t steps = LANCZOS_STEPS * s->effort;
    BLV_CHECK(blv_lanczos_create(&s->lanczos, run->def->space_y, steps));
    BLV_CHECK(open_rows(run, run->def->upper_samples, "sketch f", &s->f_rows));
    BLV_CHECK(open_rows(run, run->def->lower_samples, "sketch g", &s->g_rows));
    if (run->rough_constants && s->first_order) {
        BLV_CHECK(open_rows(run, run->def->lower_samples, "sketch part", &s->part_rows));
        s->part = blv_sampler_next(s->part_rows);
    }
    blv_sampler_get(s->f_rows, s->f_begin);
    blv_sampler_get(s->g_rows, s->g_begin);
    return BLV_OK;
}

static blv_error open_vectors(blv_run *run, blv_rough *s) {
    BLV_CHECK(blv_scratch_vecs(run, BLV_LEVEL_Y, &s->y, &s->v, &s->gy, &s->y1, &s->dy, &s->dv,
                               &s->fy, &s->hv, &s->side, &s->shifted, &s->base, &s->start, NULL));
    BLV_CHECK(blv_scratch_vecs(run, BLV_LEVEL_X, &s->d, &s->d1, &s->x1, &s->gx, &s->gx1,
                               &s->gx_base, NULL));
    BLV_CHECK(blv_run_linear_work(run, BLV_CG_VECTORS, &s->cg));
    return blv_agd_open(run, BLV_LEVEL_Y, true, &s->agd);
}

blv_error blv_rough_open(blv_run *run, blv_rough **sketch) {
    *sketch = NULL;
    blv_rough *s = calloc(1, sizeof *s);
    if (!s)
        return blv_run_fail(run, BLV_E_MEMORY, "automatic constants: out of memory");
    s->run = run;
    s->first_order = !(run->solver->uses & (BLV_USES_HVP | BLV_USES_CROSS));
    s->effort = (size_t)fmin(blv_effort(run), EFFORT_MAX);
    blv_error error = open_parts(run, s);
    if (error != BLV_OK) {
        destroy_sketch(s);
        return blv_run_fail(run, error, "automatic constants: %s", blv_error_text(error));
    }
    size_t bytes = sizeof *s + blv_linear_work_bytes(s->lanczos) + blv_sampler_bytes(s->f_rows) +
                   blv_sampler_bytes(s->g_rows) +
                   (s->part_rows ? blv_sampler_bytes(s->part_rows) : 0);
    BLV_CHECK(blv_run_own(run, s, destroy_sketch, bytes));
    BLV_CHECK(open_vectors(run, s));
    BLV_CHECK(blv_random_start(run, s->start));
    *sketch = s;
    return BLV_OK;
}

/* ---- Products with second derivatives ---- */

typedef enum function { OF_G, OF_F } function;

typedef struct place {
    blv_rough *s;
    function of;
    const blv_batch *rows; /* NULL: all */
    const blv_vec *x, *y;
} place;

static blv_flow gradient_at(const place *p, const blv_vec *y, blv_vec *gx, blv_vec *gy) {
    blv_eval *eval = &p->s->run->eval;
    if (p->of == OF_F)
        return blv_eval_upper(eval, p->rows, p->x, y, NULL, gx, gy);
    return blv_eval_lower(eval, p->rows, p->x, y, NULL, gx, gy);
}

static bool by_differences(const place *p) {
    return p->of == OF_F || p->s->first_order;
}

/* The gradients from which differences are taken at this place. */
static blv_flow settle(const place *p, bool with_x) {
    if (!by_differences(p))
        return BLV_GO;
    return gradient_at(p, p->y, with_x ? p->s->gx_base : NULL, p->s->base);
}

/* H in or, with `cross`, J in. */
static blv_flow product(const place *p, bool cross, const blv_vec *in, blv_vec *out) {
    blv_rough *s = p->s;
    blv_eval *eval = &s->run->eval;
    if (!by_differences(p))
        return (cross ? blv_eval_cross : blv_eval_hvp)(eval, p->rows, p->x, p->y, in, out);
    double norm = blv_vec_norm(in), t;
    if (!(norm > 0.0)) {
        blv_vec_fill(out, 0.0);
        return BLV_GO;
    }
    BLV_TRY(blv_difference_width(eval, p->x, p->y, norm, s->shifted, &t));
    blv_vec_combine(s->shifted, 1.0, p->y, t, in);
    BLV_TRY(gradient_at(p, s->shifted, cross ? out : NULL, cross ? NULL : out));
    blv_vec_combine(out, 1.0 / t, out, -1.0 / t, cross ? s->gx_base : s->base);
    return BLV_GO;
}

/* The same place in the part of the sum from which H is taken. */
static blv_flow in_part(const place *p, place *part) {
    *part = *p;
    part->rows = p->s->part;
    return p->s->part ? settle(part, false) : BLV_GO;
}

static int hessian(void *context, const blv_vec *in, blv_vec *out) {
    return (int)product(context, false, in, out);
}

/* ---- Curvature in y ---- */

static blv_flow spectrum(blv_rough *s, function of, const blv_vec *y, double *largest,
                         double *smallest) {
    place p = {s, of, blv_sampler_next(of == OF_F ? s->f_rows : s->g_rows), s->run->x, y};
    BLV_TRY(settle(&p, false));
    blv_lanczos_result r =
        blv_lanczos_run(s->lanczos, hessian, &p, s->start, LANCZOS_STEPS * s->effort);
    return blv_spectrum_of(&r, largest, smallest);
}

static blv_flow lower_spectrum(blv_rough *s, const blv_vec *y, blv_constants *c) {
    double largest = NAN, smallest = NAN;
    BLV_TRY(spectrum(s, OF_G, y, &largest, &smallest));
    s->L = fmax(s->L, largest > 0.0 ? largest : 1.0);
    c->L = s->L;
    c->mu = fmin(fmax(smallest, 1e-12 * c->L), c->L);
    return BLV_GO;
}

/* ---- y, v and d at the start ---- */

static blv_flow gradient_of_g(void *context, const blv_vec *y, blv_vec *out) {
    const place *p = context;
    return gradient_at(p, y, NULL, out);
}

/* out = H^-1 side, as far as a few products come; where g curves down at once, side/L. */
static blv_flow solve(const place *p, blv_vec *out) {
    blv_rough *s = p->s;
    place at;
    BLV_TRY(in_part(p, &at));
    blv_linear_result r =
        blv_cg_solve(s->cg, hessian, &at, s->side, out, true, 0.0, PRODUCTS * s->effort);
    BLV_TRY(blv_linear_flow(r.end, r.code));
    if (!s->cg->moved)
        blv_vec_combine(out, 1.0 / s->L, s->side, 0.0, s->side);
    return BLV_GO;
}

/* At the random start of a network d and its curvature are chance: where steps will be taken on
 * batches, y takes plain ones on samples first, unless they run off. */
static blv_flow walk(blv_rough *s) {
    blv_flow flow = BLV_GO;
    blv_vec_copy(s->y1, s->y);
    for (int k = 0; k < WALK_STEPS && flow == BLV_GO; k++) {
        place p = {s, OF_G, blv_sampler_next(s->g_rows), s->run->x, s->y};
        flow = gradient_at(&p, s->y, NULL, s->gy);
        blv_vec_axpy(s->y, -1.0 / s->L, s->gy);
    }
    if (flow != BLV_NONFINITE)
        return flow;
    blv_vec_copy(s->y, s->y1);
    return BLV_GO;
}

/* v, d, and what changes are measured against. */
static blv_flow first_direction(blv_rough *s) {
    blv_run *run = s->run;
    place p = {s, OF_G, NULL, run->x, s->y}, part;
    BLV_TRY(gradient_at(&p, s->y, s->gx, s->gy));
    blv_vec_copy(s->base, s->gy);
    blv_vec_copy(s->gx_base, s->gx);
    BLV_TRY(blv_eval_upper(&run->eval, NULL, run->x, s->y, NULL, s->d, s->fy));
    blv_vec_copy(s->side, s->fy);
    BLV_TRY(solve(&p, s->v));
    BLV_TRY(in_part(&p, &part));
    BLV_TRY(product(&part, false, s->v, s->hv));
    BLV_TRY(product(&p, true, s->v, s->d1));
    return isfinite(blv_distance(s->d, s->d, s->d1)) ? BLV_GO : BLV_NONFINITE;
}

/* ---- Curvature in x ---- */

/* x1 = P_X(x + t along); *distance = |x1 - x|. */
static blv_flow step_aside(blv_rough *s, const blv_vec *along, double t, double *distance) {
    blv_vec_combine(s->x1, 1.0, s->run->x, t, along);
    BLV_TRY(blv_eval_project(&s->run->eval, s->x1));
    *distance = blv_distance(s->gx1, s->x1, s->run->x);
    return BLV_GO;
}

/* dy, and y1 = y + dy, for x1 in the place of x. */
static blv_flow follow(blv_rough *s) {
    place there = {s, OF_G, NULL, s->x1, s->y}, here = {s, OF_G, NULL, s->run->x, s->y};
    BLV_TRY(gradient_at(&there, s->y, NULL, s->side));
    blv_vec_combine(s->side, 1.0, s->gy, -1.0, s->side);
    blv_vec_copy(s->base, s->gy);
    BLV_TRY(solve(&here, s->dy));
    blv_vec_combine(s->y1, 1.0, s->y, 1.0, s->dy);
    return BLV_GO;
}

/* d1 = d(x1, y + dy, v + dv) */
static blv_flow direction_there(blv_rough *s) {
    blv_run *run = s->run;
    BLV_TRY(follow(s));
    place there = {s, OF_G, NULL, s->x1, s->y1}, part;
    BLV_TRY(settle(&there, true));
    BLV_TRY(in_part(&there, &part));
    BLV_TRY(product(&part, false, s->v, s->dv));
    blv_vec_combine(s->dv, 1.0, s->hv, -1.0, s->dv);
    BLV_TRY(blv_eval_upper(&run->eval, NULL, s->x1, s->y1, NULL, s->d1, s->side));
    blv_vec_combine(s->side, 1.0, s->side, -1.0, s->fy);
    blv_vec_axpy(s->side, 1.0, s->dv);
    BLV_TRY(solve(&there, s->dv));
    blv_vec_axpy(s->dv, 1.0, s->v);
    BLV_TRY(product(&there, true, s->dv, s->gx1));
    blv_vec_axpy(s->d1, -1.0, s->gx1);
    return BLV_GO;
}

static double begin_probes(blv_rough *s) {
    blv_vec_copy(s->d1, s->d);
    if (blv_vec_norm(s->d1) == 0.0)
        blv_vec_fill(s->d1, 1.0);
    return blv_vec_norm(s->d1);
}

/* Along d, then along its change, as in the power method. The largest quotient counts. */
static blv_flow upper_curvature(blv_rough *s, blv_constants *c, double *curvature) {
    double d_norm = blv_vec_norm(s->d), norm, largest = 0.0;
    double length = blv_first_probe(s->run, s->first_order, c->length_x);
    double y_size = blv_vec_norm(s->y) + c->reach_y;
    int probes = (int)(PROBES * s->effort < PROBES_MAX ? PROBES * s->effort : PROBES_MAX);
    norm = begin_probes(s);
    for (int k = 0, shortened = 0; k < probes && norm > 0.0; k++) {
        double distance;
        BLV_TRY(step_aside(s, s->d1, -length / norm, &distance));
        if (!(distance > 0.0)) /* x is on the boundary of X and d1 points out: look inwards */
            BLV_TRY(step_aside(s, s->d1, length / norm, &distance));
        if (!(distance > 0.0))
            break;
        BLV_TRY(direction_there(s));
        norm = blv_distance(s->d1, s->d1, s->d);
        if (!isfinite(norm))
            return BLV_NONFINITE;
        if (k == 0 && shortened++ < SHORTENED_MAX &&
            blv_probe_was_long(blv_vec_norm(s->dy), y_size, distance, &length, &c->length_x)) {
            norm = begin_probes(s);
            k = -1;
        } else {
            largest = fmax(largest, norm / distance);
        }
    }
    *curvature = largest > 0.0 ? largest : blv_straight(d_norm, c->length_x);
    return BLV_GO;
}

/* Adds factor times the gradient in x of f or g at a point to `sum`. */
static blv_flow add_gradient(blv_rough *s, function of, const blv_vec *x, const blv_vec *y,
                             double factor, blv_vec *sum) {
    place p = {s, of, NULL, x, y};
    BLV_TRY(gradient_at(&p, y, s->gx_base, NULL));
    blv_vec_axpy(sum, factor, s->gx_base);
    return BLV_GO;
}

/* Of fx + lambda (gx(x, y) - gx(x, z)) with y = z - v/lambda held and z following x, along d. */
static blv_flow held_curvature(blv_rough *s, double lambda, double length_x, double *curvature) {
    const blv_vec *x = s->run->x;
    double norm = blv_vec_norm(s->d), distance = 0.0;
    if (norm > 0.0)
        BLV_TRY(step_aside(s, s->d, -3e-3 * length_x / norm, &distance));
    *curvature = 0.0;
    if (!(distance > 0.0))
        return BLV_GO;
    BLV_TRY(follow(s));
    blv_vec_combine(s->dv, 1.0, s->y, -1.0 / lambda, s->v);
    blv_vec_combine(s->d1, lambda, s->gx, 0.0, s->gx);
    BLV_TRY(add_gradient(s, OF_G, s->x1, s->y1, -lambda, s->d1));
    BLV_TRY(add_gradient(s, OF_G, s->x1, s->dv, lambda, s->d1));
    BLV_TRY(add_gradient(s, OF_G, x, s->dv, -lambda, s->d1));
    BLV_TRY(add_gradient(s, OF_F, s->x1, s->dv, 1.0, s->d1));
    BLV_TRY(add_gradient(s, OF_F, x, s->dv, -1.0, s->d1));
    *curvature = blv_vec_norm(s->d1) / distance;
    return isfinite(*curvature) ? BLV_GO : BLV_NONFINITE;
}

/* ---- All of them ---- */

/* Steps on batches of a g with many minimizers, as that of a network. */
static bool is_noisy(const blv_run *run) {
    return run->def->many_minimizers && blv_nested_batch(run, run->def->lower_samples) > 0;
}

static blv_flow of_penalized(blv_rough *s, double *lambda, double factor, bool want_L_x,
                             blv_constants *c) {
    BLV_TRY(spectrum(s, OF_F, s->y, &c->L_f, &c->mu_f));
    /* by chance H may curve up in every direction where y is */
    const double mu = is_noisy(s->run) ? 0.0 : c->mu;
    c->lambda_unit = blv_penalty_unit(c->L_f, c->L, mu, blv_vec_norm(s->fy), blv_vec_norm(s->gy));
    if (isnan(*lambda))
        *lambda = factor * c->lambda_unit;
    if (want_L_x) {
        BLV_TRY(held_curvature(s, *lambda, c->length_x, &c->L_x));
        c->L_x = c->L_x > 0.0 ? c->L_x : c->L_phi;
    }
    return BLV_GO;
}

blv_flow blv_rough_estimate(blv_run *run, blv_rough *s, double *lambda, double factor,
                            bool want_L_x, blv_constants *c) {
    *c = (blv_constants){.rough = true,
                         .L_f = NAN,
                         .mu_f = NAN,
                         .L_x = NAN,
                         .doubt = EFFORT_MAX / (double)s->effort};
    place in_sum = {s, OF_G, s->part, run->x, s->y};
    s->L = 0.0;
    blv_sampler_put(s->f_rows, s->f_begin);
    blv_sampler_put(s->g_rows, s->g_begin);
    blv_vec_copy(s->y, run->y);
    BLV_TRY(lower_spectrum(s, run->y, c));
    BLV_TRY(blv_agd_minimize(&s->agd, gradient_of_g, &in_sum, s->y, 0.0, 0.0,
                             DESCENT_STEPS * s->effort, &s->L));
    const bool noisy = is_noisy(run);
    if (noisy)
        BLV_TRY(walk(s));
    BLV_TRY(lower_spectrum(s, s->y, c));
    BLV_TRY(first_direction(s));
    const blv_state_entry *v = blv_state_find(run, "v");
    c->reach_y = blv_distance(s->shifted, s->y, run->y);
    c->reach_v = v ? blv_distance(s->shifted, s->v, v->vec) : blv_vec_norm(s->v);
    double gradient = blv_vec_norm(s->d);
    BLV_TRY(blv_length_of_x(run, s->y, c->reach_y, gradient, s->shifted, &c->length_x));
    const bool held = noisy && want_L_x;
    c->L_phi = blv_straight(gradient, c->length_x);
    if (!held)
        BLV_TRY(upper_curvature(s, c, &c->L_phi));
    if (lambda)
        BLV_TRY(of_penalized(s, lambda, factor, want_L_x, c));
    if (held)
        c->L_phi = c->L_x;
    c->reach_x = gradient / c->L_phi;
    blv_run_note(run, "estimated on samples: L = %.4g and mu = %.4g of g in y, L_phi = %.4g", c->L,
                 c->mu, c->L_phi);
    return BLV_GO;
}
