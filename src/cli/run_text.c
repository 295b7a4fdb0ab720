#include "cli/run_text.h"
#include "cli/text.h"
#include "cli/text_table.h"
#include "store/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CELL = 48 };

/* "2001-02-03T04:05:06.789Z" in the user's own time, to the second. */
static const char *local_time(const char *utc, char text[CELL]) {
    struct tm then = {0}, local;
    if (!utc || !strptime(utc, "%Y-%m-%dT%H:%M:%S", &then))
        return utc;
    time_t seconds = timegm(&then);
    if (!localtime_r(&seconds, &local) || strftime(text, CELL, "%Y-%m-%d %H:%M:%S", &local) == 0)
        return utc;
    return text;
}

/* NULL where there is no number. */
static const char *real(const char *format, double value, char text[CELL]) {
    if (isnan(value))
        return NULL;
    // NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): one of the literals below
    snprintf(text, CELL, format, value);
    return text;
}

static const char *whole(bool known, uint64_t value, char text[CELL]) {
    snprintf(text, CELL, "%" PRIu64, value);
    return known ? text : NULL;
}

void cli_print_runs(blv_run_info *const *runs, size_t count) {
    report_table table = {.align = "rlllllrrrr"};
    report_table_add(&table,
                     "RUN\tSTARTED\tSTATUS\tKIND\tPROBLEM\tSOLVER\tITERATIONS\tSECONDS\tPHI\t"
                     "|GRAD PHI|");
    for (size_t i = 0; i < count; i++) {
        const blv_run_info *r = runs[i];
        char id[CELL], started[CELL], iterations[CELL], seconds[CELL], phi[CELL], grad_norm[CELL];
        const char *cells[] = {whole(true, (uint64_t)r->id, id),
                               local_time(r->started, started),
                               blv_run_status_word(r->status),
                               r->kind,
                               r->problem,
                               r->solver,
                               whole(r->has_iterations, r->iterations, iterations),
                               real("%.4g", r->seconds, seconds),
                               real("%.10g", r->phi, phi),
                               real("%.3e", r->grad_norm, grad_norm)};
        report_table_row(&table, cells);
    }
    cli_table_print(&table, 0, stdout);
}

static void show(report_table *table, const char *label, const char *text) {
    if (text && *text)
        report_table_row(table, (const char *[]){label, text});
}

/* "key = value, ..." */
static void show_values(report_table *table, const char *label, const blv_values *values) {
    cli_text text;
    FILE *out = cli_text_begin(&text);
    for (size_t i = 0; i < values->count; i++) {
        char shown[BLV_SHOWN_SIZE];
        blv_value_show(&values->items[i], shown);
        fprintf(out, "%s%s = %s", i ? ", " : "", values->items[i].name, shown);
    }
    char *joined = cli_text_end(&text);
    show(table, label, joined);
    free(joined);
}

static void show_command(report_table *table, const blv_run_info *r) {
    cli_text text;
    FILE *out = cli_text_begin(&text);
    for (size_t i = 0; i < r->command_count; i++)
        fprintf(out, "%s%s", i ? " " : "", r->command[i] ? r->command[i] : "?");
    char *joined = cli_text_end(&text);
    show(table, "Command", joined);
    free(joined);
}

void cli_print_run(const blv_run_info *r) {
    char text[CELL], fingerprint[24];
    report_table table = {.align = "ll"};
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, r->fingerprint);
    show(&table, "Run", whole(true, (uint64_t)r->id, text));
    show_command(&table, r);
    show(&table, "Status", blv_run_status_word(r->status));
    show(&table, "Outcome", r->message);
    show(&table, "Started", local_time(r->started, text));
    show(&table, "Ended", local_time(r->ended, text));
    if (r->problem)
        report_table_add(&table, "Problem\t%s, dimension %zu in x and %zu in y, %s", r->problem,
                         r->dim_x, r->dim_y, r->precision ? r->precision : "");
    show_values(&table, "Problem parameters", &r->problem_parameters);
    show(&table, "Fingerprint of the data", r->fingerprint ? fingerprint : NULL);
    show(&table, "Solver", r->solver);
    show_values(&table, "Solver parameters", &r->parameters);
    show_values(&table, "Run options", &r->options);
    show(&table, "Iterations", whole(r->has_iterations, r->iterations, text));
    show(&table, "Seconds", real("%.4g", r->seconds, text));
    show(&table, "Phi(x)", real("%.10g", r->phi, text));
    show(&table, "|grad Phi(x)|", real("%.10g", r->grad_norm, text));
    show(&table, "Rows of the trace", whole(true, r->rows, text));
    show(&table, "Checkpoint at iteration",
         whole(r->has_checkpoint, r->checkpoint_iteration, text));
    show(&table, "Version", r->version);
    report_table_add(&table, "Process\t%" PRId64 " on %s", r->pid, r->host ? r->host : "");
    cli_table_print(&table, 0, stdout);
}
