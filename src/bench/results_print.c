/* Tables, remarks and claims of a benchmark, as text, Markdown or HTML. */
#include "bench/results.h"

#include "base/text_stream.h"
#include "bilevel/solver.h"
#include "report/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Rows ---- */

enum { CELL_SIZE = 160, DECIMALS = 16, MOST_COLUMNS = 16 + BENCH_SHOWN_MAX };

/* A row of the table that is being filled. */
typedef struct table_row {
    const bench_cell *cell; /* NULL: the titles */
    size_t count;
    char text[MOST_COLUMNS][CELL_SIZE];
} table_row;

static const char *metric_title(const bench_suite *suite) {
    return strcmp(suite->metric, "phi") == 0 ? "Phi - Phi*" : suite->metric;
}

/* digits: significant ones; from DECIMALS on: behind the point. */
static void show_number(double value, int digits, const char *infinite, char text[CELL_SIZE]) {
    if (isnan(value) || isinf(value))
        snprintf(text, CELL_SIZE, "%s", isnan(value) ? "-" : infinite);
    else if (digits >= DECIMALS)
        snprintf(text, CELL_SIZE, "%.*f", digits - DECIMALS, value);
    else
        snprintf(text, CELL_SIZE, "%.*g", digits, value);
}

static void add_number(table_row *row, const char *title, double value, int digits) {
    char *text = row->text[row->count++];
    snprintf(text, CELL_SIZE, "%s", title);
    if (row->cell)
        show_number(value, digits, "never", text);
}

static void add_metric(table_row *row, const char *title, const bench_band *value) {
    char *median = row->text[row->count++], *band = row->text[row->count++];
    char low[CELL_SIZE], high[CELL_SIZE];
    snprintf(median, CELL_SIZE, "%s", title);
    snprintf(band, CELL_SIZE, "%s", row->cell ? "-" : "20-80 %");
    if (!row->cell)
        return;
    show_number(value->median, 5, "failed", median);
    show_number(value->low, 5, "failed", low);
    show_number(value->high, 5, "failed", high);
    if (row->cell->runs > 1)
        snprintf(band, CELL_SIZE, "%.60s .. %.60s", low, high);
}

static void fill_row(const bench_suite *suite, const bench_cell *cell, table_row *row) {
    static const bench_cell none;
    const bench_cell *c = cell ? cell : &none;
    const bool of_solvers = !suite->has_command;
    row->cell = cell;
    row->count = 1;
    snprintf(row->text[0], CELL_SIZE, "%s", cell ? c->id : of_solvers ? "solver" : "method");
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
    snprintf(row->text[row->count++], CELL_SIZE, cell ? "%zu of %zu" : "failed", c->failed,
             c->runs);
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

/* Where a paper is asked for, what its claims are about. */
static bool is_shown(const bench_results *results, const bench_cell *cell) {
    const char *paper = results->bench->request->paper;
    return !paper || bench_is_shown(results, paper, cell->entry);
}

static blv_error print_table(const bench_results *results, const bench_view *view, report_form form,
                             FILE *out) {
    const bench_suite *suite = &results->bench->suite;
    char align[MOST_COLUMNS + 1] = "l";
    const char *texts[MOST_COLUMNS];
    table_row row;
    report_table table = {.align = align};
    fill_row(suite, NULL, &row);
    memset(align + 1, 'r', row.count - 1);
    for (size_t i = 0; i < row.count; i++)
        texts[i] = row.text[i];
    report_table_row(&table, texts);
    bool more = bench_more_is_better(suite->metric);
    for (size_t place = 0; place < view->count; place++)
        for (size_t i = 0; i < view->count; i++) {
            if (view->cells[i].runs == 0 || place_of(view, i, more) != place ||
                !is_shown(results, &view->cells[i]))
                continue;
            fill_row(suite, &view->cells[i], &row);
            report_table_row(&table, texts);
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
                isnan(suite->level) ? "the median of the ends" : "as the suite says");
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
    if (!suite->has_command)
        fprintf(line, "; all of it cost %.3g s and %.4g calls.", cell->grid_seconds,
                cell->grid_calls);
}

static void put_line(const char *text, report_form form, FILE *out) {
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
            put_line(text, form, out);
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

/* ---- Claims ---- */

/* What was tried to make a claim hold. */
static void print_tried(const bench_results *results, const bench_claim *claim, report_form form,
                        FILE *out) {
    bool untuned = false, published = false;
    size_t tuned = 0;
    char line[1024];
    for (size_t i = 0; i < results->cell_count; i++) {
        const bench_cell *cell = &results->cells[i];
        const char *column = strchr(cell->id, '/') + 1;
        if (cell->runs == 0 || !bench_claim_names(results, claim, cell->entry))
            continue;
        untuned = untuned || strcmp(column, "untuned") == 0;
        published = published || strcmp(column, "published") == 0;
        tuned = cell->tried > tuned ? cell->tried : tuned;
    }
    char settings[64] = "";
    if (tuned > 0)
        snprintf(settings, sizeof settings, " the best of up to %zu settings;", tuned);
    snprintf(line, sizeof line, "Tried:%s%s%s %llu seed%s%s%s%.600s",
             published ? " published settings;" : "", untuned ? " automatic settings;" : "",
             settings, (unsigned long long)results->bench->suite.seeds,
             results->bench->suite.seeds == 1 ? "" : "s",
             results->bench->suite.has_command ? "" : "; half of the limit and all of it",
             claim->tried ? ". " : ".", claim->tried ? claim->tried : "");
    put_line(line, form, out);
}

static void print_claim(const bench_claim *claim, report_form form, FILE *out) {
    char text[1024];
    snprintf(text, sizeof text, "%.600s%s%.300s%s", claim->text,
             claim->published ? " (published: " : "", claim->published ? claim->published : "",
             claim->published ? ")" : "");
    if (form == REPORT_AS_HTML)
        report_html_element(out, "h3", text);
    else if (form == REPORT_AS_TEXT)
        fprintf(out, "Claim: %s\n", text);
    else {
        fputs("**", out);
        report_markdown_text(out, text);
        fputs("**\n\n", out);
    }
}

static void print_verdict(const bench_verdict *verdict, report_form form, FILE *out) {
    const char *mark = form == REPORT_AS_MARKDOWN ? "**" : "";
    char line[1200];
    snprintf(line, sizeof line, "%s%.200s%s%s%s%s: %s%s%s", form == REPORT_AS_TEXT ? "  " : "",
             verdict->variant, *verdict->variant ? ": " : "", mark,
             bench_outcome_words[verdict->outcome], mark, verdict->text,
             *verdict->steady ? "; " : "", verdict->steady);
    if (form == REPORT_AS_MARKDOWN)
        fprintf(out, "- %s\n", line);
    else
        put_line(line, form, out);
}

void bench_print_claims(const bench_results *results, report_form form, FILE *out) {
    const bench_suite *suite = &results->bench->suite;
    if (form == REPORT_AS_TEXT && suite->quick && results->verdict_count > 0)
        fputs("The quick form is too small to say anything about the claims:\n", out);
    bool all_hold = true;
    for (size_t i = 0; i < results->verdict_count; i++) {
        const bench_verdict *verdict = &results->verdicts[i];
        const bench_claim *claim = verdict->stated;
        if (!bench_claim_is_of(claim, results->bench->request->paper))
            continue;
        if (i == 0 || verdict[-1].stated != claim) {
            print_claim(claim, form, out);
            all_hold = true;
        }
        print_verdict(verdict, form, out);
        all_hold = all_hold && verdict->outcome == BENCH_HOLDS;
        if (i + 1 < results->verdict_count && verdict[1].stated == claim)
            continue;
        if (!all_hold)
            print_tried(results, claim, form, out);
        fputs(form == REPORT_AS_MARKDOWN ? "\n" : "", out);
    }
}

/* A row of the summary: the worst outcome of all variants, and those that differ. */
static void put_row(const bench_results *results, const bench_verdict *first, size_t count,
                    FILE *out) {
    const bench *b = results->bench;
    bench_outcome worst = BENCH_HOLDS;
    for (size_t i = 0; i < count; i++)
        worst = first[i].outcome > worst ? first[i].outcome : worst;
    fprintf(out, "%s\t| ", first->stated->paper ? first->stated->paper : "-");
    report_markdown_text(out, first->claim);
    if (first->stated->published) {
        fputs(" (published: ", out);
        report_markdown_text(out, first->stated->published);
        fputc(')', out);
    }
    fprintf(out, " | **%s**", bench_outcome_words[worst]);
    for (size_t i = 0; i < count; i++)
        if (first[i].outcome != worst)
            fprintf(out, "; %s: %s", first[i].variant, bench_outcome_words[first[i].outcome]);
    fputs(" | ", out);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s%s%s%s", i ? "; " : "", first[i].variant, *first[i].variant ? ": " : "",
                *first[i].how_much ? first[i].how_much : first[i].text);
    bool reversed = false;
    for (size_t i = 0; i < count; i++)
        reversed = reversed || first[i].is_reversed;
    fprintf(out, " | %s%llu seed%s | `%s` |\n",
            reversed               ? "opposite; "
            : b->suite.has_command ? ""
                                   : "same; ",
            (unsigned long long)b->suite.seeds, b->suite.seeds == 1 ? "" : "s", b->facts.command);
}

blv_error bench_put_rows(const bench_results *results, FILE *out, blv_message *why) {
    (void)why;
    for (size_t i = 0, count; i < results->verdict_count; i += count) {
        const bench_verdict *first = &results->verdicts[i];
        for (count = 1; i + count < results->verdict_count && first[count].stated == first->stated;)
            count++;
        put_row(results, first, count, out);
    }
    return BLV_OK;
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
    fprintf(out, "## %s: %s\n\n%s, %s. %s\n\n", suite->name, suite->title, suite->reproduces.paper,
            suite->reproduces.figure, suite->reproduces.claim);
    for (size_t v = 0; v < results->view_count && b->request->figures; v++) {
        bench_figure_name(results, b->request->paper, v, name);
        bench_figure_caption(results, v, caption);
        fprintf(out, "![%s](%s/%s)\n\n", caption, b->request->figures, name);
    }
    bench_print_claims(results, REPORT_AS_MARKDOWN, out);
    fprintf(out, "%s.\n\n    %s\n\n", protocol, b->facts.command);
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
    return BLV_OK;
}
