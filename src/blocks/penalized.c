#include "blocks/penalized.h"

#include <math.h>

blv_error blv_penalized_open(blv_run *run, blv_penalized *p, bool accelerated, bool also) {
    bool estimate = also || isnan(p->lower.L) || isnan(p->lower.mu);
    if (isnan(p->lambda) && !estimate)
        p->lambda = 300.0;
    BLV_CHECK(blv_state_iterate(run, "z", BLV_LEVEL_Y, &p->z));
    BLV_CHECK(blv_penalty_open(run, &p->at));
    BLV_CHECK(blv_state_hidden(run, "penalty", &p->lambda));
    BLV_CHECK(blv_inner_open(run, &p->lower, accelerated));
    return estimate ? blv_constants_open(run, &p->work) : BLV_OK;
}

blv_flow blv_penalized_prepare(blv_run *run, blv_penalized *p) {
    const blv_constants *c = &p->constants;
    if (p->work)
        BLV_TRY(
            blv_constants_penalized(run, p->work, &p->at, &p->lambda, 300.0, false, &p->constants));
    blv_inner_set(&p->lower, c->L + c->L_f / p->lambda, c->mu + fmax(c->mu_f, 0.0) / p->lambda);
    blv_vec_copy(p->z, blv_run_y(run));
    return BLV_GO;
}

typedef struct inner_problem {
    blv_run *run;
    blv_penalized *p;
    const blv_vec *x;
    blv_batches batches;
} inner_problem;

static blv_flow gradient_of_both(void *context, const blv_vec *y, blv_vec *out) {
    const inner_problem *q = context;
    return blv_penalty_gradient(q->run, &q->p->at, q->batches, q->p->lambda, q->x, y, out);
}

static blv_flow solve(inner_problem *q) {
    blv_penalized *p = q->p;
    blv_inner *lower = &p->lower;
    double slack = lower->L_auto ? 1.0 : 2.0, scale = slack * p->lambda, mu = lower->mu;
    blv_lower_level g = {q->run, q->batches.g, q->x};
    BLV_TRY(blv_inner_solve(q->run, lower, blv_lower_gradient, &g, 0.0, p->z));
    blv_agd_rule rule = {
        .L = scale * lower->L,
        .momentum = lower->accelerated ? blv_agd_momentum(slack * slack * lower->L, mu) : 0.0,
        .learns = lower->L_auto,
        .steps = (size_t)(p->upper_steps > 0 ? (double)p->upper_steps : lower->taken)};
    BLV_TRY(blv_agd_steps(q->run, &lower->agd, gradient_of_both, q, blv_run_y(q->run), &rule));
    if (lower->L_auto)
        lower->L = fmax(lower->L, rule.L / scale);
    return BLV_GO;
}

blv_flow blv_penalized_gradient(blv_run *run, blv_penalized *p, const blv_vec *x, bool with_value,
                                blv_vec *G, blv_guard *guard, blv_penalty_look *look) {
    inner_problem q = {run, p, x, blv_penalty_draw(&p->at)};
    BLV_TRY(solve(&q));
    BLV_TRY(blv_penalty_direction(run, &p->at, q.batches, p->lambda, x, blv_run_y(run), p->z,
                                  with_value, G, guard, look));
    blv_penalty_report(blv_run_metrics(run), look);
    return BLV_GO;
}
