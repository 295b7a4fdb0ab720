/* Tables and remarks of a benchmark, as text, Markdown or HTML. */
#include "bench/results.h"

#include "base/text_stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Rows ---- */

enum { DECIMALS = 16, MOST_COLUMNS = 16 + BENCH_SHOWN_MAX };

/* A row of the table that is being filled. */
typedef struct table_row {
    blv_arena *arena;       /* of the table */
    const bench_cell *cell; /* NULL: the titles */
    size_t count;
    const char *text[MOST_COLUMNS];
} table_row;

static const char *metric_title(const bench_suite *suite) {
    return strcmp(suite->metric, "phi") == 0 ? "Phi - Phi*" : suite->metric;
}

/* digits: significant ones; from DECIMALS on: behind the point. */
static const char *show_number(blv_arena *arena, double value, int digits, const char *infinite) {
    if (!isfinite(value))
        return isnan(value) ? "-" : infinite;
    return digits >= DECIMALS ? blv_arena_print(arena, "%.*f", digits - DECIMALS, value)
                              : blv_arena_print(arena, "%.*g", digits, value);
}

static void add_number(table_row *row, const char *title, double value, int digits) {
    row->text[row->count++] = row->cell ? show_number(row->arena, value, digits, "never") : title;
}

static void add_metric(table_row *row, const char *title, const bench_band *value) {
    const char *low = show_number(row->arena, value->low, 5, "failed");
    const char *high = show_number(row->arena, value->high, 5, "failed");
    const char *median = show_number(row->arena, value->median, 5, "failed");
    row->text[row->count++] = row->cell ? median : title;
    row->text[row->count++] = !row->cell ? "20-80 %"
                              : row->cell->runs > 1 && low && high
                                  ? blv_arena_print(row->arena, "%s .. %s", low, high)
                                  : "-";
}

static void fill_row(const bench_suite *suite, const bench_cell *cell, table_row *row) {
    static const bench_cell none;
    const bench_cell *c = cell ? cell : &none;
    const bool of_solvers = !suite->has_command;
    row->cell = cell;
    row->count = 1;
    row->text[0] = cell ? c->id : of_solvers ? "solver" : "method";
    add_metric(row, metric_title(suite), &c->value);
    if (of_solvers) {
        add_number(row, "s to level", c->reach.seconds.median, 3);
        add_number(row, "calls to level", c->reach.calls.median, 4);
    }
    for (size_t i = 0; i < suite->show.count && i < BENCH_SHOWN_MAX; i++)
        add_number(row, suite->show.items[i], c->shown[i],
                   fabs(c->shown[i]) < 1e4 ? DECIMALS + 4 : 4);
    if (of_solvers)
        add_number(row, "iterations", c->iterations, DECIMALS);
    add_number(row, of_solvers ? "s" : "s of choosing", c->seconds, 3);
    if (!of_solvers)
        return;
    add_number(row, "calls", c->calls, 4);
    row->text[row->count++] =
        cell ? blv_arena_print(row->arena, "%zu of %zu", c->failed, c->runs) : "failed";
}

/* ---- Tables ---- */

static bool comes_before(const bench_cell *a, const bench_cell *b, bool more) {
    if (a->runs == 0 || b->runs == 0)
        return a->runs > b->runs && b->runs == 0;
    return more ? a->value.median > b->value.median : a->value.median < b->value.median;
}

/* The number of a cell's place, the best end first. */
static size_t place_of(const bench_view *view, size_t cell, bool more) {
    size_t place = 0;
    for (size_t i = 0; i < view->count; i++) {
        bool before = comes_before(&view->cells[i], &view->cells[cell], more);
        bool after = comes_before(&view->cells[cell], &view->cells[i], more);
        place += before || (!after && i < cell);
    }
    return place;
}

/* Where a paper is asked for, what its claims are about, and `auto`, which no figure of a paper
 * has.
 */
static bool is_shown(const bench_results *results, const bench_cell *cell) {
    const char *paper = results->bench->request->paper;
    return !paper || strcmp(cell->entry->solver, "auto") == 0 ||
           bench_is_shown(results, paper, cell->entry);
}

static bool is_untuned(const bench_cell *cell) {
    return strcmp(strchr(cell->id, '/'), "/untuned") == 0;
}

/* The tuned entry of an untuned one, or the other way round, that has the same runs: nothing that
 * was tried was better. NULL: none. */
static const bench_cell *find_twin(const bench_results *results, const bench_view *view,
                                   const bench_cell *cell) {
    for (const bench_cell *other = view->cells; other < view->cells + view->count; other++)
        if (other != cell && strcmp(other->entry->solver, cell->entry->solver) == 0 &&
            (is_untuned(cell) ? other->is_chosen : cell->is_chosen && is_untuned(other)) &&
            other->runs == cell->runs && other->value.median == cell->value.median &&
            other->seconds == cell->seconds && other->calls == cell->calls &&
            is_shown(results, other))
            return other;
    return NULL;
}

/* Pages have one row for both of them. */
static blv_error print_table(const bench_results *results, const bench_view *view, report_form form,
                             FILE *out) {
    const bench_suite *suite = &results->bench->suite;
    char align[MOST_COLUMNS + 1] = "l";
    report_table table = {.align = align};
    table_row row = {.arena = &table.arena};
    fill_row(suite, NULL, &row);
    memset(align + 1, 'r', row.count - 1);
    report_table_row(&table, row.text);
    bool more = bench_more_is_better(suite->metric);
    for (size_t place = 0; place < view->count; place++)
        for (size_t i = 0; i < view->count; i++) {
            const bench_cell *cell = &view->cells[i];
            if (cell->runs == 0 || place_of(view, i, more) != place || !is_shown(results, cell))
                continue;
            const bench_cell *twin = form == REPORT_AS_TEXT ? NULL : find_twin(results, view, cell);
            if (twin && cell->is_chosen)
                continue;
            fill_row(suite, cell, &row);
            if (twin)
                row.text[0] = blv_arena_print(&table.arena, "%s = tuned", cell->id);
            report_table_row(&table, row.text);
        }
    return report_table_print(&table, form, 0, out);
}

/* ---- Remarks ---- */

void bench_limit_text(const bench_limit *limit, char text[64]) {
    snprintf(text, 64, "%.10g %s", limit->amount, bench_limit_words[limit->kind]);
}

static void remark_phi(const bench_suite *suite, const bench_view *view, FILE *line) {
    char limit[64];
    if (isnan(view->least_phi))
        return;
    fprintf(line, "Phi* = %.10g, the least certified Phi of all points: %s", view->least_phi,
            view->least_from);
    bench_limit_text(&suite->reference, limit);
    if (suite->has_reference)
        fprintf(line, " (exact had %s)", limit);
    fputs(".", line);
}

static void remark_level(const bench_suite *suite, const bench_view *view, FILE *line) {
    if (isfinite(view->level) && !suite->has_command)
        fprintf(line, "The level is %s = %.5g, %s.", metric_title(suite), view->level,
                !isnan(suite->level)                            ? "as the suite says"
                : view->level > bench_above_rounding(view, 0.0) ? "the median of the ends"
                                                                : "1e-9 of the first gap");
}

static void remark_cell(const bench_suite *suite, const bench_cell *cell, FILE *line) {
    char text[BLV_SHOWN_SIZE], limit[64];
    if (cell->rejected)
        fprintf(line, "%s did not run: %s", cell->id, cell->rejected);
    if (!cell->is_chosen)
        return;
    fprintf(line, "%s: ", cell->id);
    if (cell->chosen.count == 0)
        fputs("nothing set", line);
    for (size_t i = 0; i < cell->chosen.count; i++) {
        blv_value_show(&cell->chosen.items[i], text);
        fprintf(line, "%s%s=%s", i ? ", " : "", cell->chosen.items[i].name, text);
    }
    fprintf(line, "; the best %s of %zu settings", suite->choose, cell->tried);
    bench_limit_text(&suite->tuning, limit);
    if (suite->has_command)
        fputs(", on training rows that were held out.", line);
    else
        fprintf(line, " after %s each", limit);
    if (cell->finals > 0)
        fprintf(line, ", then the best %s of %zu of them over the whole limit",
                bench_judged_by(suite), cell->finals);
    if (cell->is_untuned)
        fputs(", but over all seeds the untuned row, which is shown, ends better", line);
    if (!suite->has_command)
        fprintf(line, "; all of it cost %.3g s and %.4g calls.", cell->grid_seconds,
                cell->grid_calls);
}

void bench_print_line(const char *text, report_form form, FILE *out) {
    if (form == REPORT_AS_HTML) {
        report_html_element(out, "p", text);
        return;
    }
    fputs(form == REPORT_AS_MARKDOWN ? "- " : "", out);
    if (form == REPORT_AS_MARKDOWN)
        report_markdown_text(out, text);
    else
        fputs(text, out);
    fputc('\n', out);
}

/* Phi* and where it is from, the level, and what the grids cost. */
static blv_error print_remarks(const bench_results *results, const bench_view *view,
                               report_form form, FILE *out) {
    const bench_suite *suite = &results->bench->suite;
    for (size_t i = 0; i < view->count + 2; i++) {
        blv_text_stream remark;
        FILE *line = blv_text_open(&remark);
        if (line && i == 0)
            remark_phi(suite, view, line);
        else if (line && i == 1)
            remark_level(suite, view, line);
        else if (line && is_shown(results, &view->cells[i - 2]))
            remark_cell(suite, &view->cells[i - 2], line);
        char *text = blv_text_close(&remark);
        if (!text)
            return BLV_E_MEMORY;
        if (*text)
            bench_print_line(text, form, out);
        free(text);
    }
    return BLV_OK;
}

blv_error bench_print_view(const bench_results *results, const bench_view *view, report_form form,
                           FILE *out) {
    const char *name = view->name;
    if (*name && form != REPORT_AS_HTML)
        fprintf(out, form == REPORT_AS_MARKDOWN ? "### %s\n\n" : "%s\n", name);
    BLV_CHECK(print_table(results, view, form, out));
    fputs(form == REPORT_AS_MARKDOWN ? "\n" : "", out);
    BLV_CHECK(print_remarks(results, view, form, out));
    fputs(form == REPORT_AS_HTML ? "" : "\n", out);
    return results->bench->request->paper ? BLV_OK : bench_print_regret(view, form, out);
}

/* ---- The protocol in a line ---- */

void bench_machine_text(char *text, size_t size) {
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

void bench_protocol_text(const bench_results *results, char text[BENCH_PROTOCOL_SIZE]) {
    const bench *b = results->bench;
    const int threads = b->facts.threads;
    char limit[64], busy[96] = "";
    bench_limit_text(&b->suite.limit, limit);
    if (results->processor_share < BENCH_QUIET)
        snprintf(busy, sizeof busy,
                 "; other programs were at work: the runs had %.0f %% of a processor",
                 100 * results->processor_share);
    snprintf(text, BENCH_PROTOCOL_SIZE,
             "%s for each run, %llu seed%s, %d thread%s%s, bilevel %s; %s%s",
             !b->suite.has_command                 ? limit
             : b->suite.command == BENCH_CONTINUAL ? "all tasks"
                                                   : "one choice",
             (unsigned long long)b->suite.seeds, b->suite.seeds == 1 ? "" : "s", threads,
             threads == 1 ? "" : "s", b->suite.quick ? ", quick form" : "", b->facts.version,
             b->facts.machine, busy);
}

/* ---- All of it ---- */

/* What a page about a paper has: pictures first, then verdicts, then numbers. */
static blv_error print_markdown(const bench_results *results, FILE *out) {
    const bench *b = results->bench;
    const bench_suite *suite = &b->suite;
    char protocol[BENCH_PROTOCOL_SIZE], name[BENCH_NAME_SIZE], caption[BENCH_NAME_SIZE];
    bench_protocol_text(results, protocol);
    fprintf(out, "<a id=\"%s\"></a>\n\n## %s: %s\n\n%s, %s. Published: %s\n\n", suite->name,
            suite->name, suite->title, suite->reproduces.paper, suite->reproduces.figure,
            suite->reproduces.claim);
    for (size_t v = 0; v < results->view_count && b->request->figures; v++) {
        bench_figure_name(results, b->request->paper, v, name);
        bench_figure_caption(results, NULL, v, caption);
        fprintf(out, "![%s](%s/%s)\n\n", caption, b->request->figures, name);
    }
    bench_print_claims(results, REPORT_AS_MARKDOWN, out);
    fprintf(out, "%s.\n\n    %s\n\n", protocol, b->facts.command);
    BLV_CHECK(bench_print_checks(results, REPORT_AS_MARKDOWN, out));
    fputc('\n', out);
    if (b->request->figures)
        fputs("<details><summary>Numbers</summary>\n\n", out);
    for (size_t v = 0; v < results->view_count; v++)
        BLV_CHECK(bench_print_view(results, &results->views[v], REPORT_AS_MARKDOWN, out));
    fputs(b->request->figures ? "</details>\n\n" : "", out);
    return BLV_OK;
}

blv_error bench_results_print(const bench_results *results, report_form form, FILE *out) {
    char protocol[BENCH_PROTOCOL_SIZE];
    if (form == REPORT_AS_MARKDOWN)
        return print_markdown(results, out);
    bench_protocol_text(results, protocol);
    fprintf(out, "%s\n%s\n\n", results->bench->suite.title, protocol);
    for (size_t v = 0; v < results->view_count; v++)
        BLV_CHECK(bench_print_view(results, &results->views[v], form, out));
    bench_print_claims(results, form, out);
    return bench_print_checks(results, form, out);
}
