/* The solver's clock: it runs while the solver works and stands while the run observes. */
#include "base/rank_exchange.h"
#include "core/run_private.h"

#include <time.h>

double blv_agree(const blv_run *run, double word) {
    return blv_space_agree(run->def->space_y, word);
}

blv_error blv_run_agree_error(const blv_run *run, blv_error error, blv_message *why) {
    return blv_ranks_agree(blv_space_ranks(run->def->space_y), error, why);
}

bool blv_run_writes(const blv_run *run) {
    const blv_ranks *ranks = blv_space_ranks(run->def->space_y);
    return !ranks || ranks->rank == 0;
}

double blv_clock_now(const blv_run *run) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return blv_agree(run, (double)t.tv_sec + 1e-9 * (double)t.tv_nsec);
}

double blv_clock_seconds(const blv_run *run) {
    return run->clock_before + (run->clock_running ? blv_clock_now(run) - run->clock_started : 0.0);
}

void blv_clock_start(blv_run *run) {
    if (!run->clock_running) {
        run->clock_started = blv_clock_now(run);
        run->clock_running = true;
    }
}

void blv_clock_stop(blv_run *run) {
    if (run->clock_running) {
        run->clock_before += blv_clock_now(run) - run->clock_started;
        run->clock_running = false;
    }
}

blv_error blv_run_every(blv_run *run, blv_every_fn pause, void *context, double seconds) {
    if (!run)
        return BLV_E_ARGUMENT;
    if (pause && !(seconds >= 0.0))
        return blv_run_fail(run, BLV_E_ARGUMENT, "pause: seconds must not be negative");
    run->pause = pause;
    run->pause_context = context;
    run->pause_seconds = blv_agree(run, seconds);
    run->pause_last = blv_clock_now(run);
    return BLV_OK;
}

blv_flow blv_pause_if_due(blv_run *run) {
    if (blv_clock_now(run) - run->pause_last < run->pause_seconds)
        return BLV_GO;
    BLV_TRY(blv_settle_moves(run));
    blv_clock_stop(run);
    run->result.seconds = blv_clock_seconds(run);
    blv_message kept = run->message; /* of what the pause may have been refused */
    run->pause(run->pause_context, run);
    run->message = kept;
    run->pause_last = blv_clock_now(run);
    blv_clock_start(run);
    return BLV_GO;
}
