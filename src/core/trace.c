/* What a run shows while it works: rows of the trace, the monitor, the target. All of it is off the
 * solver's clock and counted apart. */
#include "core/number.h"
#include "core/run_private.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

blv_error blv_run_trace(blv_run *run, const char *path) {
    if (run->phase != PHASE_CREATED)
        return blv_run_fail(run, BLV_E_ORDER, "the trace must be set before the run is opened");
    char *copy = path ? malloc(strlen(path) + 1) : NULL;
    if (path && !copy)
        return blv_run_fail(run, BLV_E_MEMORY, "trace: out of memory");
    if (copy)
        strcpy(copy, path);
    free(run->trace_path);
    run->trace_path = copy;
    return BLV_OK;
}

blv_error blv_trace_open(blv_run *run) {
    if (!run->trace_path)
        return BLV_OK;
    run->trace = fopen(run->trace_path, "w");
    if (!run->trace)
        return blv_run_fail(run, BLV_E_FILE, "trace %s: %s", run->trace_path, strerror(errno));
    return BLV_OK;
}

blv_error blv_run_monitor(blv_run *run, blv_monitor_fn monitor, void *context, uint64_t iterations,
                          double seconds) {
    if (!(seconds >= 0.0))
        return blv_run_fail(run, BLV_E_ARGUMENT, "monitor: seconds must be 0 or more");
    run->monitor = monitor;
    run->monitor_context = context;
    run->monitor_iterations = iterations;
    run->monitor_seconds = seconds;
    run->monitor_last = blv_clock_seconds(run);
    return BLV_OK;
}

static void put_number(FILE *file, const char *key, double value) {
    char text[32];
    blv_number_format(value, text, sizeof text);
    fprintf(file, ",\"%s\":%s", key, isfinite(value) ? text : "null");
}

static void put_vector(blv_run *run, const blv_state_entry *entry) {
    FILE *file = run->trace;
    char text[32];
    size_t dim = blv_vec_dim(entry->vec);
    double *host = run->trace_values;
    blv_vec_read(entry->vec, host);
    fprintf(file, ",\"%s\":", entry->name);
    for (size_t i = 0; i < dim; i++) {
        blv_number_format(host[i], text, sizeof text);
        fprintf(file, "%c%s", i ? ',' : '[', isfinite(host[i]) ? text : "null");
    }
    fputc(']', file);
}

static void write_row(blv_run *run, const blv_progress *p) {
    FILE *file = run->trace;
    const blv_counts *c = &p->counts;
    fprintf(file,
            "{\"iteration\":%" PRIu64 ",\"f_grad\":%" PRIu64 ",\"g_grad\":%" PRIu64
            ",\"hvp\":%" PRIu64 ",\"jvp\":%" PRIu64 ",\"values\":%" PRIu64,
            p->iteration, c->f_grad, c->g_grad, c->hvp, c->jvp, c->values);
    put_number(file, "seconds", p->seconds);
    put_number(file, "f", p->f);
    put_number(file, "g", p->g);
    put_number(file, "gy_norm", p->metrics.gy_norm);
    put_number(file, "r_norm", p->metrics.r_norm);
    put_number(file, "d_norm", p->metrics.d_norm);
    put_number(file, "step_y", p->metrics.step_y);
    put_number(file, "step_v", p->metrics.step_v);
    put_number(file, "step_x", p->metrics.step_x);
    if (run->options.certify) {
        put_number(file, "phi", p->phi);
        put_number(file, "grad_norm", p->grad_norm);
    }
    for (size_t i = 0; i < p->measure_count; i++)
        put_number(file, run->def->measures[i], p->measures[i]);
    for (size_t i = 0; i < run->scalar_count; i++)
        if (run->scalars[i].is_column)
            put_number(file, run->scalars[i].name, *run->scalars[i].value);
    for (size_t i = 0; run->options.iterates && i < run->entry_count; i++)
        if (run->entries[i].previous)
            put_vector(run, &run->entries[i]);
    fputs("}\n", file);
    if (fflush(file) != 0 || ferror(file)) {
        blv_run_note(run, "the trace %s ends early: %s", run->trace_path, strerror(errno));
        run->trace_failed = true;
        fclose(file);
        run->trace = NULL;
    }
}

static blv_flow measure(blv_run *run, blv_progress *p) {
    *p = (blv_progress){.run = run,
                        .iteration = run->result.iterations,
                        .seconds = blv_clock_seconds(run),
                        .counts = run->result.counts,
                        .f = NAN,
                        .g = NAN,
                        .phi = NAN,
                        .grad_norm = NAN,
                        .metrics = run->metrics};
    BLV_TRY(blv_eval_upper(&run->observe, NULL, run->x, run->y, &p->f, NULL, NULL));
    BLV_TRY(blv_eval_lower(&run->observe, NULL, run->x, run->y, &p->g, NULL, NULL));
    if (run->def->measure) {
        while (p->measure_count < BLV_MEASURES_MAX && run->def->measures[p->measure_count])
            p->measure_count++;
        if (run->def->measure(run->def->user, run->x, run->y, p->measures) != 0)
            p->measure_count = 0;
    }
    bool near_target = p->f <= run->options.target; /* false without a target */
    if (run->certifier && (run->options.certify || near_target)) {
        blv_certificate certificate;
        BLV_TRY(blv_certifier_make(run->certifier, run->x, run->y, NULL, &certificate));
        p->phi = certificate.phi;
        p->grad_norm = certificate.grad_norm;
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

blv_outcome blv_observe(blv_run *run, bool last) {
    bool row_due = last || run->result.iterations % (uint64_t)run->options.every == 0;
    uint64_t stamp = run->result.iterations + 1;
    bool trace = run->trace && row_due && run->row_seen != stamp;
    bool monitor = run->monitor && run->monitor_seen != stamp && (last || monitor_is_due(run));
    bool target = !isnan(run->options.target) && row_due;
    if (!trace && !monitor && !target)
        return BLV_RUNNING;
    bool clock_was_running = run->clock_running;
    blv_clock_stop(run);
    blv_progress progress;
    blv_flow flow = measure(run, &progress);
    if (trace) {
        run->row_seen = stamp;
        write_row(run, &progress);
    }
    blv_outcome outcome = BLV_RUNNING;
    if (flow == BLV_NONFINITE) {
        outcome = BLV_DIVERGED;
        blv_run_fail(run, BLV_OK, "f or g is not finite");
    } else if (flow == BLV_FATAL) {
        outcome = BLV_ORACLE_FAILED;
        blv_run_fail(run, BLV_OK, "oracle %s returned %d",
                     blv_oracle_kind_name(run->observe.failed), run->observe.failed_code);
    } else if (target && progress.phi <= run->options.target)
        outcome = BLV_TARGET_REACHED;
    if (monitor) {
        run->monitor_seen = stamp;
        run->monitor_last = progress.seconds;
        if (run->monitor(run->monitor_context, &progress) != 0 && outcome == BLV_RUNNING)
            outcome = BLV_STOPPED_MONITOR;
    }
    if (clock_was_running)
        blv_clock_start(run);
    return outcome;
}
