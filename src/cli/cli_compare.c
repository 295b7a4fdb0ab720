#include "cli_compare.h"
#include "cli_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t total(const blv_counts *c) {
    return c->f_grad + c->g_grad + c->hvp + c->cross + c->values;
}

static bool comes_before(const cli_row *a, const cli_row *b) {
    return a->phi < b->phi || (!isnan(a->phi) && isnan(b->phi));
}

/* Rows of equal Phi stay in the order in which they were run. */
void cli_comparison_add(cli_comparison *comparison, const cli_report *report) {
    const blv_result *result = blv_run_result(report->run);
    const cli_row row = {.solver = blv_run_solver(report->run)->name,
                         .outcome = blv_outcome_word(result->outcome),
                         .phi = report->certified ? report->certificate.phi : NAN,
                         .grad_norm = report->certified ? report->certificate.grad_norm : NAN,
                         .iterations = result->iterations,
                         .seconds = result->seconds,
                         .calls = total(&result->counts) + total(&result->setup_counts),
                         .object = comparison->json ? cli_report_object(report) : NULL};
    comparison->rows = cli_grow(comparison->rows, comparison->count + 1, sizeof row);
    size_t at = comparison->count++;
    for (; at > 0 && comes_before(&row, &comparison->rows[at - 1]); at--)
        comparison->rows[at] = comparison->rows[at - 1];
    comparison->rows[at] = row;
}

void cli_comparison_free(cli_comparison *comparison) {
    for (size_t i = 0; i < comparison->count; i++)
        json_decref(comparison->rows[i].object);
    free(comparison->rows);
    *comparison = (cli_comparison){0};
}

/* ---- Text ---- */

static void format_number(char *text, size_t size, const char *format, double value) {
    if (isnan(value))
        snprintf(text, size, "-");
    else
        snprintf(text, size, format, value);
}

static void add_row(cli_table *table, const cli_row *row) {
    char phi[40], grad_norm[40], iterations[24], seconds[40], calls[24];
    format_number(phi, sizeof phi, "%.10g", row->phi);
    format_number(grad_norm, sizeof grad_norm, "%.3e", row->grad_norm);
    format_number(seconds, sizeof seconds, "%.4g", row->seconds);
    snprintf(iterations, sizeof iterations, "%" PRIu64, row->iterations);
    snprintf(calls, sizeof calls, "%" PRIu64, row->calls);
    const char *cells[] = {row->solver, row->outcome, phi, grad_norm, iterations, seconds, calls};
    cli_table_row(table, cells);
}

static void print_left_out(const cli_selection *selection) {
    cli_table table = {.align = "ll"};
    for (size_t i = 0; i < selection->count; i++) {
        const cli_choice *choice = &selection->items[i];
        if (!choice->runs)
            cli_table_row(&table, (const char *[]){choice->solver->name, choice->reason.text});
    }
    if (table.rows > 0)
        printf("\nNot run\n");
    cli_table_print(&table, 2, stdout);
}

static void print_text(const cli_comparison *comparison, const cli_selection *selection) {
    char problem[256];
    cli_instance_describe(comparison->instance, problem, sizeof problem);
    printf("Problem  %s\n\n", problem);
    cli_table table = {.align = "llrrrrr"};
    const char *title[] = {"SOLVER",     "OUTCOME", "PHI",  "|GRAD PHI|",
                           "ITERATIONS", "SECONDS", "CALLS"};
    cli_table_row(&table, title);
    for (size_t i = 0; i < comparison->count; i++)
        add_row(&table, &comparison->rows[i]);
    cli_table_print(&table, 0, stdout);
    bool bounded = blv_problem_definition(comparison->instance->problem)->project_x;
    printf("\nPhi and |grad Phi| are certified, recomputed from the problem%s.\n"
           "Calls are counted for each sample, all oracles and the setup together.\n",
           bounded ? "; x is bounded,\nso that |x - P(x - grad Phi(x))| replaces |grad Phi|" : "");
    print_left_out(selection);
}

/* ---- JSON ---- */

static json_t *describe_left_out(const cli_selection *selection) {
    json_t *array = cli_json_array();
    for (size_t i = 0; i < selection->count; i++) {
        const cli_choice *choice = &selection->items[i];
        if (choice->runs)
            continue;
        json_t *object = cli_json_object();
        cli_json_set(object, "solver", cli_json_text(choice->solver->name));
        cli_json_set(object, "reason", cli_json_text(choice->reason.text));
        cli_json_append(array, object);
    }
    return array;
}

static json_t *describe(cli_comparison *comparison, const cli_selection *selection) {
    json_t *object = cli_json_object(), *runs = cli_json_array();
    for (size_t i = 0; i < comparison->count; i++) {
        cli_json_append(runs, comparison->rows[i].object);
        comparison->rows[i].object = NULL;
    }
    cli_json_set(object, "problem", cli_json_text(comparison->instance->family->name));
    cli_json_set(object, "runs", runs);
    cli_json_set(object, "not_run", describe_left_out(selection));
    return object;
}

void cli_comparison_print(cli_comparison *comparison, const cli_selection *selection) {
    if (comparison->json)
        cli_json_print(describe(comparison, selection));
    else
        print_text(comparison, selection);
}
