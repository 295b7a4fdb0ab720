#include "cli/signals.h"
#include "cli/progress_line.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

static const int watched_signals[] = {SIGINT, SIGTERM};
enum { SIGNALS = sizeof watched_signals / sizeof watched_signals[0] };

/* Shared with the signal handler, which may run in any thread. */
static blv_run *_Atomic watched_run;
static atomic_int signals_seen;

static struct sigaction former_action[SIGNALS];

static void on_signal(int number) {
    int saved_errno = errno;
    blv_run *run = atomic_load(&watched_run);
    if (atomic_fetch_add(&signals_seen, 1) == 0) {
        if (run)
            blv_run_stop(run);
    } else {
        cli_progress_erase();
        signal(number, SIG_DFL);
        raise(number); /* takes effect when this handler returns */
    }
    errno = saved_errno;
}

void cli_signals_begin(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    atomic_store(&signals_seen, 0);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < SIGNALS; i++)
        sigaddset(&action.sa_mask, watched_signals[i]);
    for (size_t i = 0; i < SIGNALS; i++) {
        sigaction(watched_signals[i], NULL, &former_action[i]);
        if (former_action[i].sa_handler != SIG_IGN) /* as in the background of a script */
            sigaction(watched_signals[i], &action, NULL);
    }
}

void cli_signals_watch(blv_run *run) {
    atomic_store(&watched_run, run);
    if (run && cli_signalled()) /* it came before the run could be stopped */
        blv_run_stop(run);
}

bool cli_signalled(void) {
    return atomic_load(&signals_seen) > 0;
}

void cli_signals_end(void) {
    for (size_t i = 0; i < SIGNALS; i++)
        sigaction(watched_signals[i], &former_action[i], NULL);
    cli_signals_watch(NULL);
}
