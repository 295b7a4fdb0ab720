#include "core/penalized.h"

#include <math.h>

enum { STEPS_MOST = 1000 };

/* How far |gy(x,z)| has to fall where the number of inner steps is automatic. */
static double reduction(const blv_penalized *p) {
    return p->accelerated ? 1e-3 : 0.1;
}

double blv_penalized_covered(const blv_penalized *p) {
    if (p->inner > 0)
        return blv_covered(p->mu / p->Lg, (double)p->inner);
    return fmin(blv_covered(p->mu / p->Lg, STEPS_MOST), 1.0 - reduction(p));
}

blv_error blv_penalized_open(blv_run *run, blv_penalized *p, bool accelerated, bool also) {
    bool estimate = also || isnan(p->Lg) || isnan(p->mu);
    p->accelerated = accelerated;
    p->Lg_auto = isnan(p->Lg);
    p->mu_auto = isnan(p->mu);
    BLV_CHECK(blv_state_iterate(run, "z", BLV_LEVEL_Y, &p->z));
    BLV_CHECK(blv_penalty_open(run, &p->at));
    BLV_CHECK(blv_agd_open(run, BLV_LEVEL_Y, p->Lg_auto, &p->agd));
    BLV_CHECK(blv_state_scalar(run, "Lg", &p->Lg));
    BLV_CHECK(blv_state_scalar(run, "mu", &p->mu));
    BLV_CHECK(blv_state_scalar(run, "T", &p->T));
    BLV_CHECK(blv_state_scalar(run, "T_y", &p->T_y));
    return estimate ? blv_constants_open(run, &p->work) : BLV_OK;
}

blv_flow blv_penalized_prepare(blv_run *run, blv_penalized *p) {
    blv_constants *c = &p->constants;
    if (p->work)
        BLV_TRY(blv_constants_penalized(run, p->work, &p->at, p->lambda, c));
    if (p->Lg_auto)
        p->Lg = (c->L_f + p->lambda * c->L) / p->lambda;
    if (p->mu_auto)
        p->mu = fmin(fmax(c->mu + fmax(c->mu_f, 0.0) / p->lambda, 1e-6 * p->Lg), p->Lg);
    return BLV_GO;
}

void blv_penalized_clear(blv_run *run, blv_penalized *p) {
    blv_vec_fill(blv_run_y(run), 0.0);
    blv_vec_fill(p->z, 0.0);
}

void blv_penalized_start(blv_run *run, blv_penalized *p) {
    blv_vec_copy(p->z, blv_run_y(run));
}

typedef struct inner_problem {
    blv_run *run;
    blv_penalized *p;
    const blv_vec *x;
    blv_batches batches;
} inner_problem;

static blv_flow gradient_of_g(void *context, const blv_vec *z, blv_vec *out) {
    const inner_problem *q = context;
    return blv_oracle_lower(q->run, q->batches.g, q->x, z, NULL, NULL, out);
}

static blv_flow gradient_of_both(void *context, const blv_vec *y, blv_vec *out) {
    const inner_problem *q = context;
    return blv_penalty_gradient(q->run, &q->p->at, q->batches, q->p->lambda, q->x, y, out);
}

/* Too many steps for the condition number Lg/mu: mu is smaller than thought. */
static void learn_mu(blv_penalized *p) {
    double expected = sqrt(p->Lg / p->mu), taken = p->T / -log(reduction(p));
    if (p->mu_auto && p->accelerated && taken > 2.0 * expected)
        p->mu = p->Lg / (taken * taken);
}

static blv_flow solve(inner_problem *q) {
    blv_penalized *p = q->p;
    double slack = p->Lg_auto ? 1.0 : 2.0, scale = slack * p->lambda;
    bool automatic = p->inner < 0;
    blv_agd_rule of_z = {.L = p->Lg,
                         .momentum = p->accelerated ? blv_agd_momentum(p->Lg, p->mu) : 0.0,
                         .learns = p->Lg_auto,
                         .steps = automatic ? STEPS_MOST : (size_t)p->inner,
                         .reduce = automatic ? reduction(p) : 0.0};
    BLV_TRY(blv_agd_steps(q->run, &p->agd, gradient_of_g, q, p->z, &of_z));
    p->T = (double)of_z.steps;
    p->T_y = p->inner_y > 0 ? (double)p->inner_y : p->T;
    if (p->Lg_auto)
        p->Lg = of_z.L;
    blv_agd_rule of_y = of_z;
    of_y.L = scale * p->Lg;
    of_y.momentum = p->accelerated ? blv_agd_momentum(slack * slack * p->Lg, p->mu) : 0.0;
    of_y.steps = (size_t)p->T_y;
    of_y.reduce = 0.0;
    BLV_TRY(blv_agd_steps(q->run, &p->agd, gradient_of_both, q, blv_run_y(q->run), &of_y));
    if (p->Lg_auto)
        p->Lg = fmax(p->Lg, of_y.L / scale);
    if (automatic)
        learn_mu(p);
    return BLV_GO;
}

blv_flow blv_penalized_gradient(blv_run *run, blv_penalized *p, const blv_vec *x, bool with_value,
                                blv_vec *G, blv_penalty_look *look) {
    inner_problem q = {run, p, x, blv_penalty_draw(&p->at)};
    BLV_TRY(solve(&q));
    return blv_penalty_direction(run, &p->at, q.batches, p->lambda, x, blv_run_y(run), p->z,
                                 with_value, G, look);
}
