/* What the solvers that are not tuning-free share: their step sizes, given or automatic, and the
 * pieces of a hypergradient on the batches of an iteration. */
#pragma once

#include "blocks/constants.h"
#include "blocks/guard.h"

/* ---- Pieces of d = fx - J v and r = H v - fy ---- */

typedef struct blv_hypergradient_terms {
    blv_sampler *f_batches, *g_batches;
    blv_vec *gy, *hv, *fy, *fx, *jv; /* scratch */
} blv_hypergradient_terms;

blv_error blv_hypergradient_terms_open(blv_run *run, blv_hypergradient_terms *pieces);

/* ---- Steps ---- */

/* x, y and v are fields for parameter tables: NaN stands for auto. */
typedef struct blv_steps {
    double x, y, v;
    blv_constants constants; /* valid after prepare when `work` is set */
    blv_constants_work *work;
    blv_guard guard_x, guard_y, guard_v;
    double curvature; /* |Hv|/|v|, the largest; forgotten by 2% with each look */
    bool loops_y, loops_v;
    double x_ceiling, x_before;    /* up to which a shortened x-step grows again; the last one */
    double v_norm, hv_norm;        /* of the last product with H */
    double bold;                   /* not 0: L_phi is a rough one, and no step has been shortened */
    double inner_steps;            /* y-steps between two x-steps */
    bool automatic;                /* all steps are */
    double noisy;                  /* not 0: steps are taken on batches */
    blv_vec *x_now, *y_now;        /* where they are estimated again; NULL: at the run's x and y */
    double measured_at;            /* oracle calls, when the constants were estimated last */
    double estimate_cost;          /* of it */
    bool eager;                    /* whatever that is: random series go astray first */
    double measured_x, measured_y; /* the steps that followed from them */
} blv_steps;

typedef enum blv_steps_of { BLV_STEPS_XY, BLV_STEPS_XYV } blv_steps_of;

/* In `open`. also: the constants are wanted even when no step is automatic. The steps become
 * scalars of the state, since a guard may shorten them. */
blv_error blv_steps_open(blv_run *run, blv_steps *steps, blv_steps_of which, bool also);
/* In `prepare`: estimates the constants where they are needed, and fills in automatic steps.
 * inner_steps: y-steps between two x-steps (see blv_auto_outer_step). */
blv_flow blv_steps_prepare(blv_run *run, blv_steps *steps, double inner_steps);

/* At the start of a loop of `steps` steps on y or v at one x: directions are compared within it. A
 * loop of one step has nothing to compare but the last one, and x has moved since: on whole sums a
 * direction that has turned then shows that x runs ahead, and it is the x-step that is halved.
 * Solvers without loops need not call this. */
void blv_steps_loop_y(blv_steps *s, double steps);
void blv_steps_loop_v(blv_steps *s, double steps);

/* Over how many iterations steps that decay keep their length first. Automatic ones: three times as
 * many as x needs, 3/(step_x L_phi), but at most 3000, since steps that shrink before that do not
 * arrive. 1 where a step is given: as published. */
double blv_hold(double step_x, double L_phi);
double blv_steps_hold(const blv_steps *steps);

/* For solvers whose published steps are constant: on batches automatic ones decay as
 * (1 + t/hold)^-1/2 all the same, or the noise would keep x away from the solution. 1 on whole
 * sums, and where steps are given. */
double blv_steps_decay(const blv_run *run, const blv_steps *steps, const blv_batch *batch);

/* The directions of a step, or of a part of it; NULL: not at hand. hv: H v, where it is looked at.
 * An automatic step of y or v is 1/L; where |Hv|/|v| shows that L has grown since the start, as
 * penalties exp(x) make it grow, it is no longer than |v|/|Hv|. */
typedef struct blv_directions {
    const blv_vec *gy, *r, *d;
    const blv_vec *v, *hv;
    bool later; /* the solver does nothing with their norms but hand them to the steps below */
} blv_directions;

/* Penalties that change by decades take L, mu and L_phi along, and on batches no guard sees that x
 * runs ahead of y. So there the constants are estimated again each time the oracle calls have
 * doubled, at an eighth of the work since then at most, and the steps follow them; of L_phi half is
 * remembered, since x may be where Phi is flat by chance. Where nothing is automatic, and on whole
 * sums, nothing happens. */
blv_flow blv_steps_renew(blv_run *run, blv_steps *steps);
/* One reduction for their norms, which go into the metrics, and for what the steps below look at.
 * Where d is among them: after blv_steps_renew. */
blv_flow blv_steps_measure(blv_run *run, blv_steps *steps, const blv_directions *directions);
/* Its parts, for a reduction that has more to ask for: blv_steps_ask before, blv_steps_watch after.
 */
blv_scalar *blv_steps_ask(blv_run *run, blv_steps *steps, const blv_directions *directions,
                          blv_scalar *end);
void blv_steps_watch(blv_steps *steps, const blv_directions *directions);

/* The step to take along a direction of this norm, measured before and computed on this batch: the
 * guard's, times decay. The one in x also keeps to the longest move that is allowed at x; shortened
 * on whole sums, it grows by 2 % an iteration up to a ceiling that every shortening lowers by 10 %.
 * Where L_phi is a rough one (blocks/rough_constants.h) it first grows by half whenever two
 * directions in a row agree, until it is shortened for the first time. */
double blv_steps_y(blv_steps *steps, double decay, const blv_batch *batch, const blv_vec *gy,
                   double norm);
double blv_steps_v(blv_steps *steps, double decay, const blv_batch *batch, const blv_vec *r,
                   double norm);
double blv_steps_x(blv_steps *steps, double decay, const blv_batch *batch, const blv_vec *d,
                   double norm);
