/* The loop of a run: prepare, step, look, stop. How it ends is decided here and nowhere else. */
#include "core/run_private.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { RETRIES_MAX = 30 };

const blv_metrics blv_no_metrics = {NAN, NAN, NAN, NAN, NAN, NAN};

/* ---- The end ---- */

/* The run's message so far tells the cause; it becomes the full sentence. */
void blv_run_explain_end(blv_run *run, blv_outcome outcome, bool in_step) {
    uint64_t k = run->result.iterations;
    const char *hint = run->solver->hint ? run->solver->hint : "lower its step sizes";
    const char *cause = run->message.text;
    char text[sizeof run->message.text];
    if (outcome == BLV_DIVERGED)
        snprintf(text, sizeof text,
                 "diverged in iteration %" PRIu64 ": %.200s; x and y are the %s, of "
                 "iteration %" PRIu64 "; %.120s",
                 k + (in_step || !run->kept_best), cause,
                 run->kept_best ? "best seen" : "last finite ones",
                 run->kept_best ? (uint64_t)run->watch.best_at : k, hint);
    else if (cause[0])
        snprintf(text, sizeof text, "%s after %" PRIu64 " iterations: %.200s",
                 blv_outcome_text(outcome), k, cause);
    else
        snprintf(text, sizeof text, "%s after %" PRIu64 " iterations", blv_outcome_text(outcome),
                 k);
    memcpy(run->message.text, text, sizeof text);
    run->ending = run->message;
    run->result.outcome = outcome;
}

/* Ends the run with a last look. What that look finds counts where only a limit was reached. */
static void end_run(blv_run *run, blv_outcome outcome, bool in_step) {
    blv_clock_stop(run);
    blv_flow moves = blv_settle_moves(run);
    if (moves != BLV_GO)
        outcome = moves == BLV_FATAL ? BLV_ORACLE_FAILED : BLV_DIVERGED;
    run->phase = PHASE_ENDED;
    bool limit = outcome < 0 && outcome > BLV_DIVERGED;
    blv_message cause = run->message;
    blv_outcome seen = blv_observe(run, true);
    if (limit && (seen == BLV_TARGET_REACHED || seen <= BLV_DIVERGED))
        outcome = seen;
    else
        run->message = cause;
    if (outcome < BLV_RUNNING && outcome >= BLV_DIVERGED)
        outcome = blv_watch_end(run, outcome);
    blv_trace_close(run);
    blv_run_explain_end(run, outcome, in_step);
}

/* Ends the run where it could go on, were it not for a limit or a request. */
static void end_between_steps(blv_run *run, blv_outcome outcome) {
    end_run(run, outcome, false);
    run->may_continue = run->result.outcome < 0 && run->result.outcome > BLV_STALLED;
}

/* Names the oracle that failed, or says that a value was not finite, unless a cause is known. */
static void find_cause(blv_run *run) {
    if (run->message.text[0])
        return;
    if (run->eval.failed_code != 0)
        blv_run_fail(run, BLV_OK, "oracle %s returned %d", blv_oracle_kind_name(run->eval.failed),
                     run->eval.failed_code);
    else
        blv_run_fail(run, BLV_OK, "a value was not finite");
}

static void end_by_flow(blv_run *run, blv_flow flow) {
    static const blv_outcome outcomes[] = {
        [BLV_GO] = BLV_ORACLE_FAILED,    [BLV_RETRY] = BLV_DIVERGED,
        [BLV_STUCK] = BLV_STALLED,       [BLV_NONFINITE] = BLV_DIVERGED,
        [BLV_NO_INVERSE] = BLV_SINGULAR, [BLV_FATAL] = BLV_ORACLE_FAILED};
    blv_outcome outcome = flow == BLV_FINISHED ? blv_confirm(run, run->finish_tolerance, false)
                          : flow == BLV_HALT   ? blv_limit_reached(run)
                                               : outcomes[flow];
    if (flow == BLV_NONFINITE && blv_has_failed(run)) { /* of what is not there */
        flow = blv_space_failed(run);
        outcome = BLV_ORACLE_FAILED;
    }
    if (flow == BLV_NONFINITE)
        run->eval.failed_code = 0;
    if (flow == BLV_NO_INVERSE)
        blv_run_fail(run, BLV_OK,
                     "the linear system with d2g/dy2 has no solution, so the gradient of Phi is "
                     "not defined here");
    else if (outcome == BLV_DIVERGED || outcome == BLV_ORACLE_FAILED)
        find_cause(run);
    end_run(run, outcome, true);
}

/* ---- The loop ---- */

/* Calls prepare or step until the oracles accept the point; the point is moved half way back each
 * time they reject it. */
static blv_flow call_until_accepted(blv_run *run, blv_flow (*call)(blv_run *, void *)) {
    run->message.text[0] = '\0';
    run->eval.failed_code = 0;
    for (int retries = 0;; retries++) {
        run->result.metrics = blv_no_metrics;
        blv_flow flow = call(run, run->state);
        if (flow == BLV_RETRY || flow == BLV_FATAL || flow == BLV_HALT)
            run->result.metrics = run->metrics_whole; /* this step is not taken */
        if (flow == BLV_RETRY || flow == BLV_FATAL)
            BLV_TRY(blv_settle_moves(run)); /* the point itself may be why the oracle failed */
        if (flow != BLV_RETRY || retries == RETRIES_MAX)
            return flow;
        blv_halve_moves(run);
        blv_run_note(run, "an oracle rejected a point: the step was halved");
    }
}

/* The start may lie outside of X. */
static blv_flow project_start(blv_run *run, void *state) {
    (void)state;
    return blv_move_to(run, run->x, 1, (const double[]){1.0}, (const blv_vec *const[]){run->x});
}

/* Calls it; false: the run has ended by that. */
static bool accepted(blv_run *run, blv_flow (*call)(blv_run *, void *)) {
    blv_flow flow = call_until_accepted(run, call);
    if (flow != BLV_GO)
        end_by_flow(run, flow);
    return flow == BLV_GO;
}

static void prepare(blv_run *run) {
    run->phase = PHASE_STEPPING;
    if (run->def->project_x && !accepted(run, project_start))
        return;
    blv_watch_start(run);
    run->eval.counts = &run->result.setup_counts;
    bool prepared = !run->solver->prepare || accepted(run, run->solver->prepare);
    run->eval.counts = &run->result.counts;
    if (!prepared)
        return;
    run->message.text[0] = '\0';
    blv_outcome outcome = blv_observe(run, false);
    if (outcome == BLV_RUNNING)
        outcome = blv_limit_reached(run);
    if (outcome != BLV_RUNNING)
        end_between_steps(run, outcome);
}

/* The limits may be others than those of the run that was saved. */
static void resume(blv_run *run) {
    run->just_loaded = false;
    run->message.text[0] = '\0';
    blv_outcome outcome = blv_limit_reached(run);
    if (outcome != BLV_RUNNING)
        end_between_steps(run, outcome);
}

blv_flow blv_run_take_step(blv_run *run) {
    run->mapping_norm = NAN;
    run->finish_tolerance = run->options.tol;
    run->certificate_known = false;
    blv_flow flow = call_until_accepted(run, run->solver->step);
    run->metrics_whole = run->result.metrics;
    if (flow == BLV_GO || flow == BLV_FINISHED)
        run->result.iterations++;
    return flow;
}

static void iterate(blv_run *run, bool to_the_end) {
    blv_flow flow = run->ahead.ops ? blv_ahead_begin(run, to_the_end) : BLV_GO;
    if (flow == BLV_GO)
        flow = blv_run_take_step(run);
    if (flow != BLV_GO) {
        blv_flow before = blv_ahead_settle(run);
        flow = before == BLV_GO ? flow : before;
        end_by_flow(run, flow);
        return;
    }
    blv_outcome outcome =
        blv_watch_looks_at(run->result.iterations) ? blv_watch_look(run) : BLV_RUNNING;
    if (outcome == BLV_RUNNING && run->options.tol > 0.0 && blv_tolerance_reached(run))
        outcome = blv_confirm(run, run->options.tol, true);
    if (outcome == BLV_RUNNING)
        outcome = blv_limit_reached(run);
    if (outcome == BLV_RUNNING && blv_is_observed(run))
        outcome = blv_observe(run, false);
    if (outcome != BLV_RUNNING) {
        (void)blv_ahead_settle(run);
        if (run->ahead.end != BLV_GO)
            end_by_flow(run, run->ahead.end);
        else
            end_between_steps(run, outcome);
        return;
    }
    flow = run->pause ? blv_pause_if_due(run) : BLV_GO;
    if (flow != BLV_GO)
        end_by_flow(run, flow);
}

blv_flow blv_run_finished(blv_run *run, double tolerance) {
    if (run)
        run->finish_tolerance = fmax(tolerance, run->options.tol);
    return BLV_FINISHED;
}

void blv_run_advance(blv_run *run, bool to_the_end) {
    if (run->phase == PHASE_OPEN)
        prepare(run);
    if (run->just_loaded)
        resume(run);
    while (run->phase == PHASE_STEPPING) {
        iterate(run, to_the_end);
        if (to_the_end)
            continue;
        blv_flow flow = blv_settle_moves(run);
        if (flow != BLV_GO)
            end_by_flow(run, flow);
        return;
    }
}
