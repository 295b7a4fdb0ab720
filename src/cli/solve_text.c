/* What came out of runs, as text on stdout. */
#include "base/memory_limit.h"
#include "cli/printing.h"
#include "cli/solve_task.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { INDENT = 2 };

static void add_number(report_table *table, const char *label, double value) {
    report_table_row(table, (const char *[]){label, report_number(&table->arena, "%.10g", value)});
}

void cli_ending_text(const blv_execution *e, char text[CLI_ENDING_SIZE]) {
    const char *word = e->report.status, *ending = e->message.text;
    if (strncmp(ending, word, strlen(word)) == 0)
        snprintf(text, CLI_ENDING_SIZE, "%s", ending);
    else
        snprintf(text, CLI_ENDING_SIZE, "%s: %s", word, ending);
}

/* ---- One run ---- */

static void print_run(const cli_instance *instance, const blv_execution *e) {
    const blv_run_report *r = &e->report;
    const blv_solver *solver = blv_solver_find(NULL, r->solver, NULL);
    report_table table = {.align = "ll"};
    char text[CLI_ENDING_SIZE];
    report_table_add(&table, "Problem\t%s", cli_instance_describe(instance));
    report_table_add(&table, "Solver\t%s: %s", r->solver, solver ? solver->summary : "");
    cli_ending_text(e, text);
    report_table_row(&table, (const char *[]){"Outcome", text});
    report_table_add(&table, "Iterations\t%" PRIu64, r->solution.iterations);
    report_table_add(&table, "Seconds\t%.4g", r->solution.seconds);
    blv_format_bytes(r->memory_bytes, text);
    report_table_add(&table, "Memory\t%s", text);
    cli_table_print(&table, 0, stdout);
}

static void add_counts(report_table *table, const char *label, const blv_counts *c) {
    report_table_add(table, "%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64,
                     label, c->f_grad, c->g_grad, c->hvp, c->cross, c->values);
}

static void print_counts(const blv_run_report *r) {
    printf("\nOracle calls, counted for each sample\n");
    report_table table = {.align = "lrrrrr"};
    report_table_add(&table, "\tf grad\tg grad\tHv\tJv\tvalues");
    add_counts(&table, "steps", &r->solution.counts);
    add_counts(&table, "setup", &r->solution.setup_counts);
    add_counts(&table, "checks", &r->solution.check_counts);
    cli_table_print(&table, INDENT, stdout);
}

static void print_certificate(const blv_execution *e) {
    const blv_certificate *c = &e->report.solution.certificate;
    if (!e->report.solution.certified) {
        printf("\nNo certificate could be made\n  %s\n", e->report.solution.no_certificate.text);
        return;
    }
    printf("\nCertificate, recomputed from the problem\n");
    report_table table = {.align = "ll"};
    add_number(&table, "Phi(x)", c->phi);
    add_number(&table, "Phi at the start", c->start_phi);
    add_number(&table,
               c->projected ? "|x - P(x - t grad Phi(x))|/t, gradient mapping" : "|grad Phi(x)|",
               c->grad_norm);
    add_number(&table, "|gy(x, y)|, inner residual", c->inner_residual);
    add_number(&table, "|d - grad Phi(x)|, error of the solver's estimate", c->estimate_error);
    cli_table_print(&table, INDENT, stdout);
    if (c->singular)
        printf("  The lower-level Hessian is SINGULAR here: grad Phi(x) is not defined by it.\n");
    else if (!c->tight)
        printf("  The check is not tight: it stopped at |gy| = %.3g and |r| = %.3g.\n",
               c->solve_residual, c->linear_residual);
    if (c->minimum != BLV_YES && !c->singular)
        printf("  %s: the lower-level Hessian is not %spositive definite there.\n",
               c->minimum == BLV_NO ? "y is NOT A MINIMUM of g" : "y may be no minimum of g",
               c->minimum == BLV_NO ? "" : "known to be ");
    if (c->above_start)
        printf("  The run ended ABOVE ITS START.\n");
}

static void print_distance(const blv_run_report *r) {
    if (!r->solution_known)
        return;
    printf("\nDistance to the known solution\n");
    report_table table = {.align = "ll"};
    add_number(&table, "|x - x*|", r->distance.x);
    add_number(&table, "|y - y*|", r->distance.y);
    cli_table_print(&table, INDENT, stdout);
}

static void print_measures(const blv_run_report *r) {
    report_table table = {.align = "ll"};
    for (size_t i = 0; i < r->measures.count; i++)
        if (r->measures.items[i].kind == BLV_VALUE_REAL)
            add_number(&table, r->measures.items[i].name, r->measures.items[i].real);
    if (table.rows > 0)
        printf("\nOn the data\n");
    cli_table_print(&table, INDENT, stdout);
}

static void print_values(const char *title, const blv_values *values) {
    if (values->count == 0)
        return;
    printf("\n%s\n", title);
    int column = 0;
    for (size_t i = 0; i < values->count; i++) {
        char value[BLV_SHOWN_SIZE];
        blv_value_show(&values->items[i], value);
        column = cli_print_word(column, cli_print("%.60s = %s", values->items[i].name, value));
    }
    putchar('\n');
}

void cli_print_report(const cli_instance *instance, const blv_execution *e) {
    const blv_run_report *r = &e->report;
    print_run(instance, e);
    print_counts(r);
    print_certificate(e);
    print_distance(r);
    print_measures(r);
    print_values("Solver parameters", &r->parameters);
    print_values("Run options", &r->options);
    print_values("Problem parameters", &r->problem_parameters);
    for (size_t i = 0; i < r->note_count; i++)
        printf("%s  - %s\n", i == 0 ? "\nNotes\n" : "", r->solution.notes[i]);
    if (r->run)
        printf("\nStored as run %" PRId64 "\n", r->run);
}

/* ---- Several runs ---- */

/* The names of those that ended above their start, or else where y may be no minimum of g. */
static void print_flagged(const blv_comparison *comparison, bool above, const char *what) {
    size_t count = 0;
    for (size_t i = 0; i < comparison->ran; i++) {
        const blv_comparison_row *row = &comparison->rows[i];
        const blv_certificate *c = &row->solution->certificate;
        bool is_flagged = above ? c->above_start : !c->singular && c->minimum != BLV_YES;
        if (row->solution->certified && is_flagged)
            printf("%s%s", count++ ? ", " : what, row->solver->name);
    }
    printf("%s", count ? ".\n" : "");
}

static void add_row(report_table *table, const blv_comparison_row *row) {
    const blv_solution *s = row->solution;
    char phi[40], grad_norm[40];
    snprintf(phi, sizeof phi, isnan(s->phi) ? "-" : "%.10g", s->phi);
    snprintf(grad_norm, sizeof grad_norm, isnan(s->grad_norm) ? "-" : "%.3e", s->grad_norm);
    report_table_add(table, "%s\t%s\t%s\t%s\t%" PRIu64 "\t%.4g\t%" PRIu64, row->solver->name,
                     blv_outcome_word(s->outcome), phi, grad_norm, s->iterations, s->seconds,
                     blv_counts_total(&s->counts) + blv_counts_total(&s->setup_counts));
}

void cli_print_comparison(const cli_instance *instance, const blv_comparison *comparison) {
    printf("Problem  %s\n\n", cli_instance_describe(instance));
    report_table table = {.align = "llrrrrr"}, left_out = {.align = "ll"};
    report_table_add(&table, "SOLVER\tOUTCOME\tPHI\t|GRAD PHI|\tITERATIONS\tSECONDS\tCALLS");
    for (size_t i = 0; i < comparison->count; i++) {
        const blv_comparison_row *row = &comparison->rows[i];
        if (row->solution)
            add_row(&table, row);
        else
            report_table_row(&left_out, (const char *[]){row->solver->name, row->remark.text});
    }
    cli_table_print(&table, 0, stdout);
    bool bounded = blv_problem_definition(instance->problem)->project_x;
    printf("\nPhi and |grad Phi| are certified, recomputed from the problem%s.\n"
           "Calls are counted for each sample, all oracles and the setup together.\n",
           bounded ? "; x is bounded,\nso that |x - P(x - t grad Phi(x))|/t replaces |grad Phi|"
                   : "");
    print_flagged(comparison, true, "Ended ABOVE ITS START: ");
    print_flagged(comparison, false, "y is not known to be a minimum of g: ");
    if (left_out.rows > 0)
        printf("\nNot run\n");
    cli_table_print(&left_out, INDENT, stdout);
}
