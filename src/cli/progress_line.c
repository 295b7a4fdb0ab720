#include "cli/progress_line.h"
#include "cli/common.h"
#include "cli/rank_start.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* ---- Signals ---- */

static const int watched_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNALS = sizeof watched_signals / sizeof watched_signals[0], MOST_FILES = 64 };
/* Milliseconds: timeout(1) sends its signal to the process and to its group, and a terminal to all
 * that wait for each other and pass it on: that is one wish. */
enum { TOGETHER = 200 };

/* Shared with the signal handler, which may run in any thread. */
static atomic_bool line_drawn;
static blv_run *_Atomic watched_run;
static atomic_bool watching;
static atomic_llong first_signal; /* when it came, in milliseconds; 0: none did */
static char *_Atomic unfinished[MOST_FILES];

/* Not through stderr, where such bytes are only shown. */
static void clear(void) {
    static const char clear_line[] = "\r\033[K";
    if (write(STDERR_FILENO, clear_line, sizeof clear_line - 1) < 0) {
        /* nobody to tell */
    }
}

static void end_command(int number) {
    for (size_t i = 0; i < MOST_FILES; i++) {
        const char *path = atomic_load(&unfinished[i]);
        if (path)
            unlink(path);
    }
    if (atomic_load(&line_drawn))
        clear();
    signal(number, SIG_DFL);
    raise(number); /* takes effect when the handler returns */
}

static void on_signal(int number) {
    int saved_errno = errno;
    blv_run *run = atomic_load(&watched_run);
    struct timespec clock = {0};
    clock_gettime(CLOCK_MONOTONIC, &clock);
    const long long now = 1 + 1000LL * clock.tv_sec + clock.tv_nsec / 1000000;
    long long first = 0;
    const bool later = !atomic_compare_exchange_strong(&first_signal, &first, now);
    if (later ? now - first > TOGETHER : !atomic_load(&watching))
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
    atomic_store(&first_signal, 0);
    atomic_store(&watching, true);
}

void cli_signals_watch(blv_run *run) {
    atomic_store(&watched_run, run);
    if (run && cli_signalled()) /* it came before the run could be stopped */
        blv_run_stop(run);
}

bool cli_signalled(void) {
    return atomic_load(&first_signal) > 0;
}

void cli_signals_end(void) {
    atomic_store(&watching, false);
    cli_signals_watch(NULL);
}

/* Files beyond the places that there are stay when a signal comes; the next command that writes
 * them removes them. */
void cli_signals_remove(const char *path) {
    char *copy = cli_print("%s", path);
    for (size_t i = 0; i < MOST_FILES; i++) {
        char *none = NULL;
        if (atomic_compare_exchange_strong(&unfinished[i], &none, copy))
            return;
    }
}

void cli_signals_forget(void) {
    for (size_t i = 0; i < MOST_FILES; i++)
        atomic_store(&unfinished[i], NULL);
}

/* ---- Progress ---- */

enum { NARROWEST = 20, WIDEST = 120, NARROW_BAR = 8, WIDE_BAR = 20, WIDE_LINE = 100 };

static cli_progress style;
static int line_width;

/* The run at hand among the pieces of the work. */
static const char *run_label = "";
static size_t piece_number, piece_count = 1;
static double work_began;

/* When the monitor was last here, on both clocks: what it costs decides how often it comes. */
static double last_wall, last_seconds;
static const double shortest_interval[] = {
    [CLI_PROGRESS_NONE] = 0.0, [CLI_PROGRESS_BAR] = 0.1, [CLI_PROGRESS_LINES] = 2.0};

static double wall_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- How much is done ---- */

static double option_number(const blv_run *run, const char *key) {
    const blv_param *param = blv_params_find(blv_run_options(), key);
    const char *field = (const char *)blv_run_option_fields(run) + param->offset;
    if (param->type == BLV_REAL)
        return *(const double *)(const void *)field;
    int64_t whole = *(const int64_t *)(const void *)field;
    return whole < 0 ? (double)NAN : (double)whole;
}

/* The limit on iterations, or NaN. */
static double iteration_limit(const blv_run *run) {
    const double automatic = 100000.0;
    double limit = option_number(run, "iters");
    bool other = !isnan(option_number(run, "seconds")) || !isnan(option_number(run, "budget"));
    return isnan(limit) && !other ? automatic : limit;
}

/* Of the run, by the limit that it is nearest to; 0 where there is none. */
static double share_done(const blv_progress *p) {
    double used = (double)blv_counts_total(&p->counts);
    double of_iterations = (double)p->iteration / iteration_limit(p->run);
    double of_seconds = p->seconds / option_number(p->run, "seconds");
    double of_budget = used / option_number(p->run, "budget");
    /* fmax passes NaN over */
    return fmin(fmax(fmax(of_iterations, of_seconds), fmax(of_budget, 0.0)), 1.0);
}

/* ---- The line ---- */

static int terminal_width(void) {
    struct winsize size = {0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col < NARROWEST ? NARROWEST : size.ws_col > WIDEST ? WIDEST : size.ws_col;
}

/* The line that is being written. */
static char line_text[2 * WIDEST];

/* NULL: memory is short, and nothing is shown. */
static FILE *begin_line(void) {
    memset(line_text, 0, sizeof line_text);
    return fmemopen(line_text, sizeof line_text - 1, "w");
}

static void end_line(FILE *line) {
    fclose(line);
    if (style == CLI_PROGRESS_LINES)
        fprintf(stderr, "%s\n", line_text);
    if (style != CLI_PROGRESS_BAR)
        return;
    atomic_store(&line_drawn, true);
    clear();
    fprintf(stderr, "%.*s", line_width - 1, line_text);
}

/* Whether there is room for whole words. */
static bool is_wide(void) {
    return style == CLI_PROGRESS_LINES || line_width >= WIDE_LINE;
}

static void add_duration(FILE *line, double seconds, const char *after) {
    if (seconds < 99.95)
        fprintf(line, "%.1f s%s", seconds, after);
    else if (seconds < 5999.5)
        fprintf(line, "%.0f min%s", seconds / 60.0, after);
    else
        fprintf(line, "%.1f h%s", seconds / 3600.0, after);
}

/* f at the present x and y is shown where there is no certified Phi. */
static void add_values(FILE *line, const blv_progress *p) {
    if (!isnan(p->phi))
        fprintf(line, "  Phi %.4g", p->phi);
    else if (!isnan(p->f))
        fprintf(line, "  Phi ~%.4g", p->f);
    const char *const *names = blv_problem_definition(blv_run_problem(p->run))->measures;
    for (size_t i = 0; i < p->measure_count; i++)
        if (strcmp(names[i], "val_accuracy") == 0 && !isnan(p->measures[i]))
            fprintf(line, "  %s %.3f", is_wide() ? names[i] : "acc", p->measures[i]);
    if (!isnan(p->metrics.gy_norm))
        fprintf(line, "  |gy| %.1e", p->metrics.gy_norm);
    if (!isnan(p->metrics.d_norm))
        fprintf(line, "  |d| %.1e", p->metrics.d_norm);
}

static void show(const blv_progress *p) {
    double share = ((double)piece_number + share_done(p)) / (double)piece_count;
    double elapsed = wall_clock() - work_began, limit = iteration_limit(p->run);
    int cells = is_wide() ? WIDE_BAR : NARROW_BAR, full = (int)(share * cells);
    FILE *line = begin_line();
    if (!line)
        return;
    if (style == CLI_PROGRESS_BAR)
        fprintf(line, "[%.*s%.*s] ", full, "####################", cells - full,
                "....................");
    fprintf(line, "%s%siteration %" PRIu64, run_label, *run_label ? "  " : "", p->iteration);
    if (!isnan(limit))
        fprintf(line, "/%.0f", limit);
    fprintf(line, "  ");
    bool has_rest = share > 0.0 && share < 1.0;
    add_duration(line, elapsed, has_rest ? ", " : "");
    if (has_rest)
        add_duration(line, elapsed * (1.0 - share) / share, " left");
    add_values(line, p);
    end_line(line);
}

/* ---- The monitor ---- */

static void say(const char *text) {
    FILE *line = begin_line();
    if (!line)
        return;
    fprintf(line, "%s%s%s", run_label, *run_label ? "  " : "", text);
    end_line(line);
}

/* What is shown has to be evaluated first: that may take a tenth of the time, not more. */
static int watch(void *run, const blv_progress *p) {
    show(p);
    double now = wall_clock(), cost = (now - last_wall) - (p->seconds - last_seconds);
    last_wall = now;
    last_seconds = p->seconds;
    blv_run_monitor(run, watch, run, 0, fmax(shortest_interval[style], 10.0 * cost));
    if (blv_run_result(run)->outcome != BLV_RUNNING)
        say("certifying");
    return 0;
}

/* ---- From outside ---- */

cli_progress cli_progress_choose(const char *word, bool silent) {
    cli_progress chosen =
        word && strcmp(word, "lines") == 0 ? CLI_PROGRESS_LINES : CLI_PROGRESS_BAR;
    if (silent || (word ? strcmp(word, "none") == 0 : !isatty(STDERR_FILENO)))
        chosen = CLI_PROGRESS_NONE;
    return (cli_progress)cli_rank_word((int)chosen); /* a run that is shown asks for the time */
}

double cli_progress_interval(void) {
    return style == CLI_PROGRESS_NONE ? -1.0 : shortest_interval[style];
}

void cli_progress_begin(cli_progress progress) {
    style = progress;
    line_width = terminal_width();
    work_began = wall_clock();
    run_label = "";
    atomic_store(&line_drawn, false);
    piece_number = 0;
    piece_count = 1;
    cli_signals_begin();
}

blv_error cli_progress_run(blv_run *run, const char *label) {
    run_label = label ? label : "";
    last_wall = wall_clock();
    last_seconds = 0.0;
    cli_signals_watch(run);
    return style == CLI_PROGRESS_NONE
               ? BLV_OK
               : blv_run_monitor(run, watch, run, 0, shortest_interval[style]);
}

void cli_progress_task(const blv_task_progress *progress) {
    const blv_task_run *which = progress->which;
    if (which && which->pieces > 0) {
        piece_number = which->piece;
        piece_count = which->pieces;
    }
    run_label = which && which->label ? which->label : "";
    if (!progress->progress)
        say(progress->activity);
    else if (style != CLI_PROGRESS_NONE)
        show(progress->progress);
}

static void clear_line(void) {
    if (atomic_exchange(&line_drawn, false))
        clear();
}

void cli_note(void *context, const char *text) {
    (void)context;
    clear_line();
    cli_complain("%s", text);
}

void cli_progress_leave(void) {
    cli_signals_watch(NULL);
    run_label = "";
    clear_line();
}

void cli_progress_end(void) {
    cli_signals_end();
    cli_progress_leave();
    style = CLI_PROGRESS_NONE;
}
