#include "cli/signals.h"
#include "cli/common.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static const int watched_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof watched_signals / sizeof watched_signals[0], MOST_FILES = 64 };

/* Shared with the signal handler, which may run in any thread. */
atomic_bool cli_line_drawn;
static blv_run *_Atomic watched_run;
static atomic_bool watching;
static atomic_int signals_seen;
static char *_Atomic unfinished[MOST_FILES];

static void end_command(int number) {
    for (size_t i = 0; i < MOST_FILES; i++) {
        const char *path = atomic_load(&unfinished[i]);
        if (path)
            unlink(path);
    }
    if (atomic_load(&cli_line_drawn) &&
        write(STDERR_FILENO, CLI_CLEAR_LINE, sizeof CLI_CLEAR_LINE - 1) < 0) {
        /* nobody to tell */
    }
    signal(number, SIG_DFL);
    raise(number); /* takes effect when the handler returns */
}

static void on_signal(int number) {
    int saved_errno = errno;
    blv_run *run = atomic_load(&watched_run);
    if (!atomic_load(&watching) || atomic_fetch_add(&signals_seen, 1) > 0)
        end_command(number);
    else if (run)
        blv_run_stop(run);
    errno = saved_errno;
}

void cli_signals_install(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, former;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < SIGNALS; i++)
        sigaddset(&action.sa_mask, watched_signals[i]);
    for (size_t i = 0; i < SIGNALS; i++)
        if (sigaction(watched_signals[i], NULL, &former) == 0 && former.sa_handler != SIG_IGN)
            sigaction(watched_signals[i], &action, NULL);
}

void cli_signals_begin(void) {
    atomic_store(&signals_seen, 0);
    atomic_store(&watching, true);
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
    atomic_store(&watching, false);
    cli_signals_watch(NULL);
}

/* Files beyond the places that there are stay when a signal comes; the next command that writes
 * them removes them. */
void cli_signals_remove(const char *path) {
    char *copy = cli_print("%s", path);
    for (size_t i = 0; copy && i < MOST_FILES; i++) {
        char *none = NULL;
        if (atomic_compare_exchange_strong(&unfinished[i], &none, copy))
            copy = NULL;
    }
    free(copy);
}

void cli_signals_forget(void) {
    for (size_t i = 0; i < MOST_FILES; i++)
        free(atomic_exchange(&unfinished[i], NULL));
}
