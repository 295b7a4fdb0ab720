#include "bilevel/certificate.h"
#include "cli_report.h"
#include "cli_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { INDENT = 2 };

static void format_bytes(size_t bytes, char *text, size_t size) {
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) {
        snprintf(text, size, "%zu bytes", bytes);
        return;
    }
    double amount = (double)bytes / 1024.0;
    size_t unit = 0;
    for (; amount >= 1024.0 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        amount /= 1024.0;
    snprintf(text, size, "%.1f %s", amount, units[unit]);
}

static void row(cli_table *table, const char *label, const char *value) {
    const char *cells[] = {label, value};
    cli_table_row(table, cells);
}

static void number_row(cli_table *table, const char *label, double value) {
    char text[40];
    snprintf(text, sizeof text, "%.10g", value);
    row(table, label, isnan(value) ? "-" : text);
}

void cli_report_ending(const cli_report *report, char text[CLI_ENDING_SIZE]) {
    blv_outcome outcome = blv_run_result(report->run)->outcome;
    const char *word = blv_outcome_word(outcome);
    const char *ending = *report->message ? report->message : blv_outcome_text(outcome);
    if (strncmp(ending, word, strlen(word)) == 0)
        snprintf(text, CLI_ENDING_SIZE, "%s", ending);
    else
        snprintf(text, CLI_ENDING_SIZE, "%s: %s", word, ending);
}

static void print_run(const cli_report *report) {
    const blv_result *result = blv_run_result(report->run);
    const blv_solver *solver = blv_run_solver(report->run);
    cli_table table = {.align = "ll"};
    char text[CLI_ENDING_SIZE];
    cli_instance_describe(report->instance, text, sizeof text);
    row(&table, "Problem", text);
    snprintf(text, sizeof text, "%s: %s", solver->name, solver->summary);
    row(&table, "Solver", text);
    cli_report_ending(report, text);
    row(&table, "Outcome", text);
    snprintf(text, sizeof text, "%" PRIu64, result->iterations);
    row(&table, "Iterations", text);
    snprintf(text, sizeof text, "%.4g", result->seconds);
    row(&table, "Seconds", text);
    format_bytes(blv_run_memory(report->run), text, sizeof text);
    row(&table, "Memory", text);
    cli_table_print(&table, 0, stdout);
}

static void counts_row(cli_table *table, const char *label, const blv_counts *counts) {
    const uint64_t numbers[] = {counts->f_grad, counts->g_grad, counts->hvp, counts->cross,
                                counts->values};
    enum { NUMBERS = sizeof numbers / sizeof numbers[0] };
    char text[NUMBERS][24];
    const char *cells[NUMBERS + 1] = {label};
    for (size_t i = 0; i < NUMBERS; i++) {
        snprintf(text[i], sizeof text[i], "%" PRIu64, numbers[i]);
        cells[i + 1] = text[i];
    }
    cli_table_row(table, cells);
}

static void print_counts(const blv_result *result) {
    printf("\nOracle calls, counted for each sample\n");
    cli_table table = {.align = "lrrrrr"};
    const char *title[] = {"", "f grad", "g grad", "Hv", "Jv", "values"};
    cli_table_row(&table, title);
    counts_row(&table, "steps", &result->counts);
    counts_row(&table, "setup", &result->setup_counts);
    counts_row(&table, "checks", &result->check_counts);
    cli_table_print(&table, INDENT, stdout);
}

static void print_certificate(const cli_report *report) {
    const blv_certificate *certificate = &report->certificate;
    if (!report->certified) {
        printf("\nNo certificate could be made\n  %s\n", report->no_certificate);
        return;
    }
    printf("\nCertificate, recomputed from the problem\n");
    cli_table table = {.align = "ll"};
    number_row(&table, "Phi(x)", certificate->phi);
    number_row(&table,
               certificate->projected ? "|x - P(x - grad Phi(x))|, gradient mapping"
                                      : "|grad Phi(x)|",
               certificate->grad_norm);
    number_row(&table, "|gy(x, y)|, inner residual", certificate->inner_residual);
    number_row(&table, "|d - grad Phi(x)|, error of the solver's estimate",
               certificate->estimate_error);
    cli_table_print(&table, INDENT, stdout);
    if (certificate->singular)
        printf("  The lower-level Hessian is SINGULAR here: grad Phi(x) is not defined by it.\n");
    else if (!certificate->tight)
        printf("  The check is not tight: it stopped at |gy| = %.3g and |r| = %.3g.\n",
               certificate->solve_residual, certificate->linear_residual);
}

static void print_distance(const cli_report *report) {
    if (!report->solution_known)
        return;
    printf("\nDistance to the known solution\n");
    cli_table table = {.align = "ll"};
    number_row(&table, "|x - x*|", report->distance_x);
    number_row(&table, "|y - y*|", report->distance_y);
    cli_table_print(&table, INDENT, stdout);
}

static void print_measures(const cli_report *report) {
    const char *const *names = blv_problem_definition(report->instance->problem)->measures;
    cli_table table = {.align = "ll"};
    bool any = false;
    for (size_t i = 0; i < report->measure_count; i++)
        if (!isnan(report->measures[i])) {
            number_row(&table, names[i], report->measures[i]);
            any = true;
        }
    if (any)
        printf("\nOn the data\n");
    cli_table_print(&table, INDENT, stdout);
}

static void print_values(const char *title, const blv_param *params, const void *fields) {
    if (!params || !params->key)
        return;
    printf("\n%s\n", title);
    int column = 0;
    for (const blv_param *p = params; p->key; p++) {
        char value[BLV_TEXT_SIZE] = "", text[BLV_TEXT_SIZE + 80];
        blv_params_format(p, fields, value, sizeof value);
        snprintf(text, sizeof text, "%.60s = %s", p->key, value);
        column = cli_print_word(column, text);
    }
    putchar('\n');
}

static void print_notes(const blv_run *run) {
    const char *note;
    for (size_t i = 0; (note = blv_run_notes(run, i)); i++)
        printf("%s  - %s\n", i == 0 ? "\nNotes\n" : "", note);
}

void cli_report_text(const cli_report *report) {
    const cli_instance *instance = report->instance;
    print_run(report);
    print_counts(blv_run_result(report->run));
    print_certificate(report);
    print_distance(report);
    print_measures(report);
    print_values("Solver parameters", blv_run_solver(report->run)->params,
                 blv_run_solver_fields(report->run));
    print_values("Run options", blv_run_options(), blv_run_option_fields(report->run));
    print_values("Problem parameters", instance->family->params, instance->params);
    print_notes(report->run);
    if (report->stored_as)
        printf("\nStored as run %" PRId64 "\n", report->stored_as);
}
