/* When a run ends: limits, tolerance, and the question that every oracle call asks first. */
#include "bilevel/ranks.h"
#include "core/run_private.h"

#include <math.h>

enum { DEFAULT_ITERATIONS = 100000, CALLS_BETWEEN_CLOCKS = 16 };

static uint64_t iteration_limit(const blv_run *run) {
    const blv_options *o = &run->options;
    if (o->iters >= 0)
        return (uint64_t)o->iters;
    bool other_limit = !isnan(o->seconds) || o->budget >= 0;
    return other_limit ? UINT64_MAX : DEFAULT_ITERATIONS;
}

uint64_t blv_run_limit(const blv_run *run) {
    if (!run)
        return 0;
    uint64_t limit = iteration_limit(run);
    return limit == UINT64_MAX ? 0 : limit;
}

static bool budget_used(const blv_run *run) {
    return run->options.budget >= 0 &&
           blv_counts_total(&run->result.counts) + blv_counts_total(&run->result.setup_counts) >=
               (uint64_t)run->options.budget;
}

static bool time_used(const blv_run *run) {
    return !isnan(run->options.seconds) && blv_clock_seconds(run) >= run->options.seconds;
}

static bool asked_to_stop(const blv_run *run) {
    return atomic_load_explicit(&run->stop_requested, memory_order_relaxed);
}

/* On any of several ranks; where that cannot be found out, the next reduction fails as well. */
static bool stop_wanted(const blv_run *run) {
    const blv_ranks *ranks = blv_space_ranks(run->def->space_y);
    double asked = asked_to_stop(run);
    if (ranks)
        return ranks->sum(ranks->context, 1, &asked) && asked > 0.0;
    return (run->agrees ? blv_agree(run, asked) : asked) != 0.0;
}

/* The clock is read every few calls only: reading it costs as much as a small oracle. Where
 * processes have to agree on it, so is the request to stop. */
static blv_flow interrupt_by_clock(blv_run *run) {
    if (++run->calls_to_clock < CALLS_BETWEEN_CLOCKS)
        return BLV_GO;
    run->calls_to_clock = 0;
    return stop_wanted(run) || time_used(run) ? BLV_HALT : BLV_GO;
}

blv_flow blv_run_interrupt(void *context) {
    blv_run *run = context;
    if ((!run->agrees && asked_to_stop(run)) || budget_used(run))
        return BLV_HALT;
    return isnan(run->options.seconds) && !run->agrees ? BLV_GO : interrupt_by_clock(run);
}

blv_outcome blv_limit_reached(blv_run *run) {
    if (stop_wanted(run))
        return BLV_STOPPED_REQUEST;
    if (run->result.iterations >= iteration_limit(run))
        return BLV_LIMIT_ITERATIONS;
    if (budget_used(run))
        return BLV_LIMIT_BUDGET;
    return time_used(run) ? BLV_LIMIT_SECONDS : BLV_RUNNING;
}

/* The estimate d means something only once y and v have settled: all that the solver reports must
 * be small. On a set X the move of x stands for d. */
bool blv_tolerance_reached(const blv_run *run) {
    double tol = run->options.tol * run->tol_factor;
    const blv_metrics *m = &run->result.metrics;
    double d = isnan(run->mapping_norm) ? m->d_norm : run->mapping_norm;
    return tol > 0.0 && d <= tol && !(m->gy_norm > tol) && !(m->r_norm > tol);
}
