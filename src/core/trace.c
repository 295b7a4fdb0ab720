/* What a run shows while it works: rows of the trace, the monitor, the target. All of it is off the
 * solver's clock and counted apart. */
#include "base/number_text.h"
#include "bilevel/certificate.h"
#include "core/run_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

blv_error blv_run_trace(blv_run *run, const char *path) {
    if (!run)
        return BLV_E_ARGUMENT;
    if (run->phase != PHASE_CREATED)
        return blv_run_fail(run, BLV_E_ORDER, "the trace must be set before the run is opened");
    char *copy = path ? strdup(path) : NULL;
    if (path && !copy)
        return blv_run_fail(run, BLV_E_MEMORY, "trace: out of memory");
    free(run->trace_path);
    run->trace_path = copy;
    return BLV_OK;
}

/* The trace of a run that was saved and loaded: what was written after it was saved comes once more
 * and is cut off. NULL: a new file has to do. */
static FILE *go_on(blv_run *run) {
    FILE *file = fopen(run->trace_path, "r+");
    bool whole = file && fseek(file, 0, SEEK_END) == 0 && ftell(file) >= (long)run->trace_at;
    if (whole && ftruncate(fileno(file), (off_t)run->trace_at) == 0 &&
        fseek(file, 0, SEEK_END) == 0)
        return file;
    if (file)
        fclose(file);
    blv_run_note(run, "the trace %s has lost its first rows: a new one was begun", run->trace_path);
    return NULL;
}

/* A pipe waits for its reader; a request to stop ends the waiting, which open() would go on with.
 */
static FILE *begin(const blv_run *run, const char *path) {
    static const struct timespec pause = {.tv_nsec = 20000000};
    struct stat about;
    int fd;
    while ((fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666)) < 0) {
        if (errno != ENXIO || stat(path, &about) != 0 || !S_ISFIFO(about.st_mode))
            return NULL;
        if (nanosleep(&pause, NULL) != 0 || atomic_load(&run->stop_requested)) {
            errno = EINTR;
            return NULL;
        }
    }
    FILE *file = fcntl(fd, F_SETFL, 0) == 0 ? fdopen(fd, "w") : NULL;
    if (!file)
        close(fd);
    return file;
}

blv_error blv_run_trace_callback(blv_run *run, blv_trace_fn row, void *context, bool all) {
    if (!run)
        return BLV_E_ARGUMENT;
    if (run->phase != PHASE_CREATED)
        return blv_run_fail(run, BLV_E_ORDER, "rows must be asked for before the run is opened");
    run->row = row;
    run->row_context = context;
    run->all_rows = all;
    return BLV_OK;
}

static blv_error open_trace(blv_run *run) {
    if (run->row && !run->row_stream)
        run->row_stream = open_memstream(&run->row_text, &run->row_size);
    if (run->row && !run->row_stream)
        return blv_run_fail(run, BLV_E_MEMORY, "rows of the trace: out of memory");
    if (!run->trace_path)
        return BLV_OK;
    const bool writes = blv_run_writes(run);
    run->trace = run->trace_at > 0 && writes ? go_on(run) : NULL;
    if (!run->trace) {
        run->trace_at = 0;
        run->trace = begin(run, writes ? run->trace_path : "/dev/null");
    }
    return run->trace
               ? BLV_OK
               : blv_run_fail(run, BLV_E_FILE, "trace %s: %s", run->trace_path, strerror(errno));
}

blv_error blv_trace_open(blv_run *run) {
    return blv_run_agree_error(run, open_trace(run), &run->message);
}

void blv_trace_close(blv_run *run) {
    if (run->trace && fclose(run->trace) != 0)
        run->trace_failed = true;
    run->trace = NULL;
}

void blv_rows_close(blv_run *run) {
    if (run->row_stream)
        fclose(run->row_stream);
    free(run->row_text);
}

blv_error blv_run_monitor(blv_run *run, blv_monitor_fn monitor, void *context, uint64_t iterations,
                          double seconds) {
    if (!run)
        return BLV_E_ARGUMENT;
    if (!(seconds >= 0.0))
        return blv_run_fail(run, BLV_E_ARGUMENT, "monitor: seconds must be 0 or more");
    run->monitor = monitor;
    run->monitor_context = context;
    run->monitor_iterations = iterations;
    run->monitor_seconds = blv_agree(run, seconds); /* a monitor may set it by a clock of its own */
    run->monitor_last = blv_clock_seconds(run);
    return BLV_OK;
}

typedef struct row_out {
    FILE *file;
    bool lost; /* streams into memory do not remember it */
} row_out;

static void put(row_out *out, const char *format, ...) BLV_PRINTF(2, 3);
static void put(row_out *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    out->lost |= vfprintf(out->file, format, arguments) < 0;
    va_end(arguments);
}

static void put_number(row_out *out, const char *key, double value) {
    char text[32];
    blv_number_format(value, text, sizeof text);
    put(out, ",\"%s\":%s", key, isfinite(value) ? text : "null");
}

static void put_vector(blv_run *run, row_out *out, const blv_state_entry *entry) {
    char text[32];
    size_t dim = blv_vec_dim(entry->vec);
    double *host = run->trace_values;
    blv_vec_read(entry->vec, host);
    put(out, ",\"%s\":", entry->name);
    for (size_t i = 0; i < dim; i++) {
        blv_number_format(host[i], text, sizeof text);
        put(out, "%c%s", i ? ',' : '[', isfinite(host[i]) ? text : "null");
    }
    put(out, "]");
}

static void put_row(blv_run *run, row_out *out, const blv_progress *p) {
    const blv_counts *c = &p->counts;
    put(out,
        "{\"iteration\":%" PRIu64 ",\"f_grad\":%" PRIu64 ",\"g_grad\":%" PRIu64 ",\"hvp\":%" PRIu64
        ",\"jvp\":%" PRIu64 ",\"values\":%" PRIu64,
        p->iteration, c->f_grad, c->g_grad, c->hvp, c->cross, c->values);
    put_number(out, "seconds", p->seconds);
    put_number(out, "f", p->f);
    put_number(out, "g", p->g);
    put_number(out, "gy_norm", p->metrics.gy_norm);
    put_number(out, "r_norm", p->metrics.r_norm);
    put_number(out, "d_norm", p->metrics.d_norm);
    put_number(out, "step_y", p->metrics.step_y);
    put_number(out, "step_v", p->metrics.step_v);
    put_number(out, "step_x", p->metrics.step_x);
    if (run->options.certify == CERTIFY_ROWS) {
        put_number(out, "phi", p->phi);
        put_number(out, "grad_norm", p->grad_norm);
    }
    for (size_t i = 0; i < p->measure_count; i++)
        put_number(out, run->def->measures[i], p->measures[i]);
    for (size_t i = 0; i < run->numbers_count; i++)
        if (run->numbers[i].is_column)
            put_number(out, run->numbers[i].name, *run->numbers[i].values);
    for (size_t i = 0; run->options.iterates && i < run->entry_count; i++)
        if (run->entries[i].previous)
            put_vector(run, out, &run->entries[i]);
    put(out, "}");
}

/* Calls of the row function and of the monitor leave the run's own message as it is: what they ask
 * of the run may be refused. */
static void hand_out(blv_run *run, const blv_progress *p) {
    blv_message kept = run->message;
    run->row(run->row_context, p, run->row_text);
    run->message = kept;
}

static bool monitor_wants_end(blv_run *run, const blv_progress *p) {
    blv_message kept = run->message;
    bool end = blv_agree(run, run->monitor(run->monitor_context, p) != 0) != 0.0;
    run->message = kept;
    return end;
}

static void hand_out_row(blv_run *run, const blv_progress *p) {
    row_out out = {.file = run->row_stream};
    rewind(out.file);
    put_row(run, &out, p);
    put(&out, "%c", '\0');
    if (fflush(out.file) == 0 && !out.lost)
        hand_out(run, p);
    else
        blv_run_note(run, "a row of the trace is missing: memory was short");
}

static void write_row(blv_run *run, const blv_progress *p) {
    FILE *file = run->trace;
    row_out out = {.file = file};
    put_row(run, &out, p);
    put(&out, "\n");
    if (fflush(file) != 0 || out.lost) {
        blv_run_note(run, "the trace %s ends early: %s", run->trace_path, strerror(errno));
        run->trace_failed = true;
        fclose(file);
        run->trace = NULL;
        return;
    }
    long at = ftell(file);
    run->trace_at = at > 0 ? (uint64_t)at : 0; /* a pipe has no place */
}

static blv_flow measure(blv_run *run, blv_progress *p, bool *at_target) {
    *at_target = false;
    *p = (blv_progress){.run = run,
                        .iteration = run->result.iterations,
                        .seconds = blv_clock_seconds(run),
                        .counts = run->result.counts,
                        .f = NAN,
                        .g = NAN,
                        .phi = NAN,
                        .grad_norm = NAN,
                        .metrics = run->result.metrics};
    BLV_TRY(blv_eval_upper(&run->observe, NULL, run->x, run->y, &p->f, NULL, NULL));
    BLV_TRY(blv_eval_lower(&run->observe, NULL, run->x, run->y, &p->g, NULL, NULL));
    if (run->def->measure) {
        while (p->measure_count < BLV_MEASURES_MAX && run->def->measures[p->measure_count])
            p->measure_count++;
        if (run->def->measure(run->def->user, run->x, run->y, p->measures) != 0)
            p->measure_count = 0;
    }
    bool near_target = p->f <= run->options.target; /* false without a target */
    if (run->certifier && (run->options.certify == CERTIFY_ROWS || near_target)) {
        blv_certificate certificate;
        BLV_TRY(blv_certifier_make(run->certifier, run->x, run->y, NULL, &certificate));
        p->phi = certificate.phi;
        p->grad_norm = certificate.grad_norm;
        *at_target = certificate.minimum == BLV_YES && p->phi <= run->options.target;
    }
    return isfinite(p->f) && isfinite(p->g) ? BLV_GO : BLV_NONFINITE;
}

static bool monitor_is_due(const blv_run *run) {
    uint64_t k = run->result.iterations;
    if (!run->monitor)
        return false;
    if (run->monitor_iterations > 0 && k > 0 && k % run->monitor_iterations == 0)
        return true;
    return run->monitor_seconds > 0.0 &&
           blv_clock_seconds(run) - run->monitor_last >= run->monitor_seconds;
}

/* Whether a row that could be handed out is one of the few. */
static bool is_one_of_few(const blv_run *run) {
    const double spacing = 1.02, share = 0.1;
    if (run->row_given == 0)
        return true;
    if ((double)run->result.iterations < spacing * (double)(run->row_given - 1))
        return false;
    return run->trace_path || run->observed_seconds <= share * blv_clock_seconds(run);
}

blv_outcome blv_observe(blv_run *run, bool last) {
    bool row_due = last || run->result.iterations % (uint64_t)run->options.every == 0;
    uint64_t stamp = run->result.iterations + 1;
    bool trace = run->trace_path && row_due && run->row_seen != stamp &&
                 blv_agree(run, run->trace != NULL) != 0.0;
    bool row = run->row_stream && row_due && run->row_given != stamp &&
               (last || run->all_rows || is_one_of_few(run));
    bool monitor = run->monitor && run->monitor_seen != stamp && (last || monitor_is_due(run));
    bool target = !isnan(run->options.target) && row_due;
    if (!trace && !row && !monitor && !target)
        return BLV_RUNNING;
    blv_flow moves = blv_settle_moves(run);
    if (moves != BLV_GO)
        return moves == BLV_FATAL ? BLV_ORACLE_FAILED : BLV_DIVERGED;
    bool clock_was_running = run->clock_running;
    double began = blv_clock_now(run);
    blv_clock_stop(run);
    blv_progress progress;
    bool at_target;
    blv_flow flow = measure(run, &progress, &at_target);
    if (trace) {
        run->row_seen = stamp;
        write_row(run, &progress);
    }
    if (row) {
        run->row_given = stamp;
        hand_out_row(run, &progress);
    }
    blv_outcome outcome = BLV_RUNNING;
    if (!trace && !monitor && !target)
        flow = BLV_GO; /* rows may come by the clock: they decide nothing */
    if (flow == BLV_NONFINITE) {
        outcome = BLV_DIVERGED;
        blv_run_fail(run, BLV_OK, "f or g is not finite");
    } else if (flow == BLV_FATAL) {
        outcome = BLV_ORACLE_FAILED;
        blv_run_fail(run, BLV_OK, "oracle %s returned %d",
                     blv_oracle_kind_name(run->observe.failed), run->observe.failed_code);
    } else if (target && at_target)
        outcome = BLV_TARGET_REACHED;
    if (monitor) {
        run->monitor_seen = stamp;
        run->monitor_last = progress.seconds;
        if (monitor_wants_end(run, &progress) && outcome == BLV_RUNNING)
            outcome = BLV_STOPPED_MONITOR;
    }
    run->observed_seconds += blv_clock_now(run) - began;
    if (clock_was_running)
        blv_clock_start(run);
    return outcome;
}
