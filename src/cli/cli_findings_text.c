/* The findings of a bench as text: a table on stdout, or a section in Markdown. */
#include "cli_bench.h"
#include "cli_json.h"
#include "cli_table.h"
#include "cli_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Columns ---- */

static void add_cell(cli_cells *cells, char align, const char *text) {
    if (cells->count == CLI_COLUMNS_MAX)
        return;
    snprintf(cells->text[cells->count], CLI_CELL_SIZE, "%s", text);
    cells->align[cells->count] = align;
    cells->align[cells->count + 1] = '\0';
    cells->cell[cells->count] = cells->text[cells->count];
    cells->count++;
}

void cli_column_titles(const cli_findings *findings, cli_cells *cells) {
    const cli_suite *suite = &findings->bench->suite;
    *cells = (cli_cells){0};
    add_cell(cells, 'l', suite->command ? "method" : "solver");
    add_cell(cells, 'r', cli_metric_title(suite));
    add_cell(cells, 'r', "20-80 %");
    if (!suite->command) {
        add_cell(cells, 'r', "s to level");
        add_cell(cells, 'r', "calls to level");
    }
    for (size_t i = 0; i < json_array_size(suite->show) && i < CLI_SHOWN_MAX; i++)
        add_cell(cells, 'r', json_string_value(json_array_get(suite->show, i)));
    if (suite->command) {
        add_cell(cells, 'r', "s of choosing");
        return;
    }
    add_cell(cells, 'r', "iterations");
    add_cell(cells, 'r', "s");
    add_cell(cells, 'r', "calls");
    add_cell(cells, 'r', "failed");
}

static const char *number(double value, const char *format, char text[CLI_CELL_SIZE]) {
    if (isnan(value))
        return "-";
    if (isinf(value))
        return "never";
    // NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): one of the literals below
    snprintf(text, CLI_CELL_SIZE, format, value);
    return text;
}

static const char *end_number(double value, char text[CLI_CELL_SIZE]) {
    return isinf(value) ? "failed" : number(value, "%.5g", text);
}

void cli_column_cells(const cli_findings *findings, const cli_cell *cell, cli_cells *cells) {
    const cli_suite *suite = &findings->bench->suite;
    char text[CLI_CELL_SIZE], low[CLI_CELL_SIZE], high[CLI_CELL_SIZE];
    *cells = (cli_cells){0};
    add_cell(cells, 'l', cell->entry->id);
    add_cell(cells, 'r', end_number(cell->value.median, text));
    char band[CLI_CELL_SIZE];
    snprintf(band, sizeof band, "%.60s .. %.60s", end_number(cell->value.low, low),
             end_number(cell->value.high, high));
    add_cell(cells, 'r', cell->runs > 1 ? band : "-");
    if (!suite->command) {
        add_cell(cells, 'r', number(cell->reach.seconds.median, "%.3g", text));
        add_cell(cells, 'r', number(cell->reach.calls.median, "%.4g", text));
    }
    for (size_t i = 0; i < json_array_size(suite->show) && i < CLI_SHOWN_MAX; i++)
        add_cell(cells, 'r',
                 number(cell->shown[i], fabs(cell->shown[i]) < 1e4 ? "%.4f" : "%.4g", text));
    if (suite->command) {
        add_cell(cells, 'r', number(cell->seconds, "%.3g", text));
        return;
    }
    add_cell(cells, 'r', number(cell->iterations, "%.0f", text));
    add_cell(cells, 'r', number(cell->seconds, "%.3g", text));
    add_cell(cells, 'r', number(cell->calls, "%.4g", text));
    snprintf(text, sizeof text, "%zu of %zu", cell->failed, cell->runs);
    add_cell(cells, 'r', text);
}

/* ---- Order ---- */

static bool comes_before(const cli_cell *a, const cli_cell *b, bool more) {
    if ((a->runs == 0) != (b->runs == 0))
        return a->runs > 0;
    if (a->runs == 0)
        return false;
    return more ? a->value.median > b->value.median : a->value.median < b->value.median;
}

const cli_cell **cli_view_sorted(const cli_findings *findings, const cli_view *view) {
    bool more = cli_more_is_better(findings->bench->suite.metric);
    const cli_cell **sorted = cli_alloc(view->count, sizeof *sorted);
    for (size_t i = 0; i < view->count; i++) {
        size_t at = i;
        for (; at > 0 && comes_before(&view->cells[i], sorted[at - 1], more); at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = &view->cells[i];
    }
    return sorted;
}

/* ---- Remarks ---- */

void cli_limit_text(const cli_limit *limit, char text[64]) {
    snprintf(text, 64, "%.10g %s", limit->amount, cli_limit_words[limit->kind]);
}

static void put_settings(FILE *out, json_t *set) {
    const char *key, *joint = "";
    json_t *value;
    json_object_foreach(set, key, value) {
        char text[CLI_VALUE_SIZE];
        cli_value_text(value, text);
        fprintf(out, "%s%s=%s", joint, key, text);
        joint = ", ";
    }
}

static void remark_phi(const cli_findings *findings, const cli_view *view, FILE *line) {
    char limit[64];
    const cli_suite *suite = &findings->bench->suite;
    if (isnan(view->least_phi))
        return;
    fprintf(line, "Phi* = %.10g, the least certified Phi of all points: %s", view->least_phi,
            view->least_from);
    if (suite->has_reference) {
        cli_limit_text(&suite->reference, limit);
        fprintf(line, " (exact had %s)", limit);
    }
    fputs(".", line);
}

static void remark_level(const cli_findings *findings, const cli_view *view, FILE *line) {
    const cli_suite *suite = &findings->bench->suite;
    if (isfinite(view->level) && !suite->command)
        fprintf(line, "The level is %s = %.5g, %s.", cli_metric_title(suite), view->level,
                isnan(suite->level) ? "the median of the ends" : "as the suite says");
}

static void remark_cell(const cli_findings *findings, const cli_cell *cell, FILE *line) {
    const cli_suite *suite = &findings->bench->suite;
    char limit[64];
    if (cell->refused)
        fprintf(line, "%s did not run: %s", cell->entry->id, cell->refused);
    if (!cell->chosen)
        return;
    fprintf(line, "%s: ", cell->entry->id);
    put_settings(line, cell->chosen);
    if (suite->command) {
        fprintf(line, "; the best %s of %zu settings, on training rows that were held out.",
                suite->choose, cell->tried);
        return;
    }
    cli_limit_text(&suite->tuning, limit);
    fprintf(line, "; the best %s of %zu settings after %s each, which cost %.3g s and %.4g calls.",
            suite->choose, cell->tried, limit, cell->grid_seconds, cell->grid_calls);
}

void cli_view_remarks(const cli_findings *findings, const cli_view *view, FILE *out,
                      void (*put)(FILE *out, const char *text)) {
    for (size_t i = 0; i < view->count + 2; i++) {
        cli_text remark;
        FILE *line = cli_text_begin(&remark);
        if (i == 0)
            remark_phi(findings, view, line);
        else if (i == 1)
            remark_level(findings, view, line);
        else
            remark_cell(findings, &view->cells[i - 2], line);
        char *text = cli_text_end(&remark);
        if (*text)
            put(out, text);
        free(text);
    }
}

void cli_machine_text(char *text, size_t size) {
    char line[256] = "", model[200] = "an unknown processor";
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        snprintf(model, sizeof model, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (file)
        fclose(file);
    snprintf(text, size, "%s, %ld processors", model, sysconf(_SC_NPROCESSORS_ONLN));
}

/* ---- The protocol in a line ---- */

void cli_protocol_text(const cli_findings *findings, char *text, size_t size) {
    const cli_bench *bench = findings->bench;
    char limit[64], machine[256], busy[96] = "";
    double share = cli_processor_share(bench);
    if (bench->suite.command)
        snprintf(limit, sizeof limit, "%s",
                 strcmp(bench->suite.command, "continual") == 0 ? "all tasks" : "one choice");
    else
        cli_limit_text(&bench->suite.limit, limit);
    cli_machine_text(machine, sizeof machine);
    if (share < CLI_QUIET)
        snprintf(busy, sizeof busy,
                 "; other programs were at work: the runs had %.0f %% of a processor", 100 * share);
    snprintf(text, size, "%s for each run, %llu seed%s, %d thread%s%s, bilevel %s; %s%s", limit,
             (unsigned long long)bench->suite.seeds, bench->suite.seeds == 1 ? "" : "s",
             bench->asked->threads, bench->asked->threads == 1 ? "" : "s",
             bench->suite.quick ? ", quick form" : "", blv_version(), machine, busy);
}

/* ---- Text ---- */

static void put_line(FILE *out, const char *text) {
    fprintf(out, "%s\n", text);
}

static void print_view(const cli_findings *findings, const cli_view *view) {
    const cli_cell **sorted = cli_view_sorted(findings, view);
    cli_cells cells;
    cli_column_titles(findings, &cells);
    char align[CLI_COLUMNS_MAX + 1];
    memcpy(align, cells.align, sizeof align);
    cli_table table = {.align = align};
    if (*view->variant->name)
        printf("%s\n", view->variant->name);
    cli_table_row(&table, cells.cell);
    for (size_t i = 0; i < view->count; i++) {
        if (sorted[i]->runs == 0)
            continue;
        cli_column_cells(findings, sorted[i], &cells);
        cli_table_row(&table, cells.cell);
    }
    cli_table_print(&table, 0, stdout);
    cli_view_remarks(findings, view, stdout, put_line);
    putchar('\n');
    free(sorted);
}

static const char *claim_text(const cli_findings *findings, size_t claim) {
    return json_string_value(
        json_object_get(json_array_get(findings->bench->suite.claims, claim), "text"));
}

static void print_claims(const cli_findings *findings) {
    if (findings->bench->suite.quick && findings->line_count > 0)
        puts("The quick form is too small to say anything about the claims:");
    for (size_t i = 0; i < findings->line_count; i++) {
        const cli_verdict_line *line = &findings->lines[i];
        const char *variant = findings->views[line->variant].variant->name;
        if (i == 0 || findings->lines[i - 1].claim != line->claim)
            printf("Claim: %s\n", claim_text(findings, line->claim));
        printf("  %s%s%s\n", variant, *variant ? ": " : "", line->text);
    }
}

void cli_findings_print(const cli_findings *findings) {
    const cli_suite *suite = &findings->bench->suite;
    char protocol[600];
    cli_protocol_text(findings, protocol, sizeof protocol);
    printf("%s\n%s\n\n", suite->title, protocol);
    for (size_t v = 0; v < findings->view_count; v++)
        print_view(findings, &findings->views[v]);
    print_claims(findings);
}

/* ---- Markdown ---- */

static void put_escaped(FILE *out, const char *text) {
    for (; *text; text++) {
        if (strchr("|*_<", *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void put_markdown_row(FILE *out, const cli_cells *cells) {
    fputc('|', out);
    for (size_t i = 0; i < cells->count; i++) {
        fputc(' ', out);
        put_escaped(out, cells->text[i]);
        fputs(" |", out);
    }
    fputc('\n', out);
}

static void put_item(FILE *out, const char *text) {
    fputs("- ", out);
    put_escaped(out, text);
    fputc('\n', out);
}

static void markdown_view(const cli_findings *findings, const cli_view *view) {
    const cli_cell **sorted = cli_view_sorted(findings, view);
    cli_cells cells;
    if (*view->variant->name)
        printf("### %s\n\n", view->variant->name);
    cli_column_titles(findings, &cells);
    put_markdown_row(stdout, &cells);
    putchar('|');
    for (size_t i = 0; i < cells.count; i++)
        printf(" %s |", cells.align[i] == 'r' ? "---:" : "---");
    putchar('\n');
    for (size_t i = 0; i < view->count; i++) {
        if (sorted[i]->runs == 0)
            continue;
        cli_column_cells(findings, sorted[i], &cells);
        put_markdown_row(stdout, &cells);
    }
    putchar('\n');
    cli_view_remarks(findings, view, stdout, put_item);
    putchar('\n');
    free(sorted);
}

static void markdown_claims(const cli_findings *findings) {
    for (size_t i = 0; i < findings->line_count; i++) {
        const cli_verdict_line *line = &findings->lines[i];
        const char *variant = findings->views[line->variant].variant->name;
        if (i == 0 || findings->lines[i - 1].claim != line->claim)
            printf("%s**Claim:** %s\n\n", i ? "\n" : "", claim_text(findings, line->claim));
        printf("- %s%s", variant, *variant ? ": " : "");
        put_escaped(stdout, line->text);
        putchar('\n');
    }
    putchar('\n');
}

void cli_findings_markdown(const cli_findings *findings) {
    const cli_suite *suite = &findings->bench->suite;
    printf("## %s: %s\n\n", suite->name, suite->title);
    printf("%s, %s: %s\n\n", json_string_value(json_object_get(suite->reproduces, "paper")),
           json_string_value(json_object_get(suite->reproduces, "figure")),
           json_string_value(json_object_get(suite->reproduces, "claim")));
    char protocol[600];
    cli_protocol_text(findings, protocol, sizeof protocol);
    printf("%s.\n\n", protocol);
    markdown_claims(findings);
    for (size_t v = 0; v < findings->view_count; v++)
        markdown_view(findings, &findings->views[v]);
}
