#include "cli_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CLEAR_LINE "\r\033[K"

static const int watched_signals[] = {SIGINT, SIGTERM};
enum { SIGNALS = sizeof watched_signals / sizeof watched_signals[0], NARROWEST = 20, WIDEST = 120 };

/* Shared with the signal handler, which may run in any thread. */
static blv_run *_Atomic watched_run;
static atomic_int signals_seen;
static atomic_bool display_on;

static struct sigaction former_action[SIGNALS];
static int line_width;
static const char *run_label = "";

static void on_signal(int number) {
    int saved_errno = errno;
    blv_run *run = atomic_load(&watched_run);
    if (atomic_fetch_add(&signals_seen, 1) == 0) {
        if (run)
            blv_run_stop(run);
    } else {
        if (atomic_load(&display_on)) {
            ssize_t written = write(STDERR_FILENO, CLEAR_LINE, sizeof CLEAR_LINE - 1);
            (void)written;
        }
        signal(number, SIG_DFL);
        raise(number); /* takes effect when this handler returns */
    }
    errno = saved_errno;
}

static void install_handlers(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < SIGNALS; i++)
        sigaddset(&action.sa_mask, watched_signals[i]);
    for (size_t i = 0; i < SIGNALS; i++) {
        sigaction(watched_signals[i], NULL, &former_action[i]);
        if (former_action[i].sa_handler != SIG_IGN) /* as in the background of a script */
            sigaction(watched_signals[i], &action, NULL);
    }
}

static int terminal_width(void) {
    struct winsize size = {0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col < NARROWEST ? NARROWEST : size.ws_col > WIDEST ? WIDEST : size.ws_col;
}

static void draw(const char *line) {
    fprintf(stderr, CLEAR_LINE "%.*s", line_width - 1, line);
}

static void append_number(char *line, size_t size, const char *label, double value) {
    size_t used = strlen(line);
    if (!isnan(value))
        snprintf(line + used, size - used, "  %s %.4e", label, value);
}

static int show_progress(void *context, const blv_progress *progress) {
    (void)context;
    char line[WIDEST + 1];
    snprintf(line, sizeof line, "%s%siteration %" PRIu64 "  %.1f s", run_label,
             *run_label ? "  " : "", progress->iteration, progress->seconds);
    append_number(line, sizeof line, "f", progress->f);
    append_number(line, sizeof line, "|gy|", progress->metrics.gy_norm);
    append_number(line, sizeof line, "|d|", progress->metrics.d_norm);
    draw(line);
    return 0;
}

void cli_watch_begin(bool display) {
    line_width = terminal_width();
    atomic_store(&display_on, display);
    atomic_store(&signals_seen, 0);
    install_handlers();
}

blv_error cli_watch_run(blv_run *run, const char *label) {
    const double redraw_seconds = 0.1;
    run_label = label ? label : "";
    atomic_store(&watched_run, run);
    if (cli_watch_signalled()) /* before the run could be told */
        blv_run_stop(run);
    return atomic_load(&display_on) ? blv_run_monitor(run, show_progress, NULL, 0, redraw_seconds)
                                    : BLV_OK;
}

void cli_watch_say(const char *text) {
    char line[WIDEST + 1];
    snprintf(line, sizeof line, "%s%s%s", run_label, *run_label ? "  " : "", text);
    if (atomic_load(&display_on))
        draw(line);
}

void cli_watch_clear(void) {
    if (atomic_load(&display_on))
        fputs(CLEAR_LINE, stderr);
}

void cli_watch_leave(void) {
    atomic_store(&watched_run, NULL);
    cli_watch_clear();
}

bool cli_watch_signalled(void) {
    return atomic_load(&signals_seen) > 0;
}

void cli_watch_end(void) {
    for (size_t i = 0; i < SIGNALS; i++)
        sigaction(watched_signals[i], &former_action[i], NULL);
    atomic_store(&display_on, false);
}
