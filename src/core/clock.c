/* The solver's clock: it runs while the solver works and stands while the run observes. */
#include "core/run_private.h"

#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double blv_clock_seconds(const blv_run *run) {
    return run->clock_before + (run->clock_running ? now() - run->clock_started : 0.0);
}

void blv_clock_start(blv_run *run) {
    if (!run->clock_running) {
        run->clock_started = now();
        run->clock_running = true;
    }
}

void blv_clock_stop(blv_run *run) {
    if (run->clock_running) {
        run->clock_before += now() - run->clock_started;
        run->clock_running = false;
    }
}
