/* The files of a benchmark. */
#include "bench/results.h"

#include <stdlib.h>
#include <string.h>

/* ---- CSV: a line for each point ---- */

static const char *const own_columns[] = {"variant", "kind", "entry",  "solver",
                                          "setting", "seed", "outcome"};
enum { OWN_COLUMNS = sizeof own_columns / sizeof own_columns[0] };

/* The names of all values of all points, in the order in which they first come. */
static blv_error point_columns(const bench *b, blv_values *columns) {
    for (size_t i = 0; i < b->job_count; i++) {
        const bench_record *record = b->jobs[i].record;
        for (size_t k = 0; record && k < record->point_count; k++)
            BLV_CHECK(blv_values_update(columns, &record->points[k]));
    }
    return BLV_OK;
}

/* A run that several entries or variants share is shown under the names of each. */
static bench_record record_of(const bench *b, const bench_job *job) {
    bench_record record = *job->record;
    record.variant = b->suite.variants[job->variant].name;
    record.entry = job->entry == SIZE_MAX ? NULL : b->suite.entries[job->entry].id;
    return record;
}

/* "-" is how a field without a value shows. */
static void put_text(FILE *out, const char *text) {
    if (*text && strcmp(text, "-") != 0)
        report_csv_text(out, "", text);
}

static void put_points(FILE *out, const bench_record *record, const blv_values *columns) {
    char text[BLV_SHOWN_SIZE];
    for (size_t k = 0; k < record->point_count; k++) {
        for (size_t c = 0; c < OWN_COLUMNS; c++) {
            fputs(c ? "," : "", out);
            blv_field_show(blv_field_find(bench_record_fields, own_columns[c]), record, text);
            put_text(out, text);
        }
        for (size_t c = 0; c < columns->count; c++) {
            const blv_value *value = blv_values_find(&record->points[k], columns->items[c].name);
            fputc(',', out);
            if (value && value->kind != BLV_VALUE_NONE) {
                blv_value_show(value, text);
                put_text(out, text);
            }
        }
        fputc('\n', out);
    }
}

static blv_error put_csv(const bench_results *results, FILE *out) {
    const bench *b = results->bench;
    blv_values columns = {0};
    blv_error error = point_columns(b, &columns);
    for (size_t c = 0; c < OWN_COLUMNS; c++)
        fprintf(out, "%s%s", c ? "," : "", own_columns[c]);
    for (size_t c = 0; c < columns.count; c++)
        report_csv_text(out, ",", columns.items[c].name);
    fputc('\n', out);
    for (size_t i = 0; i < b->job_count; i++) {
        if (!b->jobs[i].record)
            continue;
        const bench_record record = record_of(b, &b->jobs[i]);
        put_points(out, &record, &columns);
    }
    blv_values_free(&columns);
    return error;
}

/* ---- JSON: the suite, the machine, results and every record ---- */

static const blv_field band_fields[] = {BLV_FIELD(bench_band, low, REAL),
                                        BLV_FIELD(bench_band, median, REAL),
                                        BLV_FIELD(bench_band, high, REAL),
                                        {0}};

#define CELL(name_, member, kind_) BLV_FIELD_AS(name_, bench_cell, member, kind_, 0)
static const blv_field cell_fields[] = {
    CELL("variant", variant, TEXT),
    CELL("entry", id, TEXT),
    CELL("runs", runs, SIZE),
    CELL("failed", failed, SIZE),
    CELL("refused", rejected, TEXT),
    BLV_FIELD_RECORD("value", bench_cell, value, band_fields),
    BLV_FIELD_RECORD("seconds_to_level", bench_cell, reach.seconds, band_fields),
    BLV_FIELD_RECORD("calls_to_level", bench_cell, reach.calls, band_fields),
    CELL("seconds", seconds, REAL),
    CELL("calls", calls, REAL),
    CELL("iterations", iterations, REAL),
    BLV_FIELD_WITH("chosen", bench_cell, chosen, VALUES, BLV_WHEN(bench_cell, is_chosen)),
    CELL("shows_untuned", is_untuned, BOOL),
    CELL("grid_settings", tried, SIZE),
    CELL("grid_finals", finals, SIZE),
    CELL("grid_seconds", grid_seconds, REAL),
    CELL("grid_calls", grid_calls, REAL),
    {0}};
static const blv_field view_fields[] = {BLV_FIELD(bench_view, name, TEXT),
                                        BLV_FIELD(bench_view, least_phi, REAL),
                                        BLV_FIELD_CHARS("least_phi_of", bench_view, least_from, 0),
                                        BLV_FIELD(bench_view, level, REAL),
                                        {0}};
static const blv_field verdict_fields[] = {
    BLV_FIELD(bench_verdict, claim, TEXT),
    BLV_FIELD(bench_verdict, variant, TEXT),
    BLV_FIELD_WITH("held", bench_verdict, held, BOOL, BLV_WHEN(bench_verdict, is_judged)),
    BLV_FIELD_WORD("verdict", bench_verdict, outcome, bench_outcome_words),
    BLV_FIELD_CHARS("text", bench_verdict, text, 0),
    BLV_FIELD_CHARS("how_much", bench_verdict, how_much, 0),
    BLV_FIELD_CHARS("steady", bench_verdict, steady, 0),
    {0}};

static const blv_field result_fields[] = {
    BLV_FIELD(bench_results, processor_share, REAL),
    BLV_FIELD_RECORDS("claims", bench_results, verdicts, verdict_count, verdict_fields),
    BLV_FIELD_RECORDS("variants", bench_results, views, view_count, view_fields),
    BLV_FIELD_RECORDS("entries", bench_results, cells, cell_count, cell_fields),
    {0}};

/* NULL where memory is short. */
static json_t *runs_json(const bench *b) {
    json_t *runs = json_array();
    for (size_t i = 0; runs && i < b->job_count; i++) {
        if (!b->jobs[i].record)
            continue;
        const bench_record record = record_of(b, &b->jobs[i]);
        if (json_array_append_new(runs, blv_record_json(bench_record_fields, &record)) != 0) {
            json_decref(runs);
            runs = NULL;
        }
    }
    return runs;
}

static blv_error put_json(const bench_results *results, FILE *out) {
    const bench *b = results->bench;
    json_t *all = json_pack("{s:O, s:b, s:s, s:o, s:i}", "suite", b->suite.root, "quick",
                            b->suite.quick, "version", b->facts.version, "machine",
                            blv_json_string(b->facts.machine), "threads", b->facts.threads);
    bool well = all && blv_record_add(result_fields, results, all) &&
                json_object_set_new(all, "runs", runs_json(b)) == 0;
    if (well)
        well = json_dumpf(all, out, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) == 0 || ferror(out);
    json_decref(all);
    return well ? BLV_OK : BLV_E_MEMORY;
}

/* ---- Figures ---- */

/* One for each paper that has claims, or one for all. */
static blv_error put_figures(FILE *out, const bench_results *results, size_t v) {
    const bench_suite *suite = &results->bench->suite;
    for (size_t i = 0; i < suite->claim_count || i == 0; i++) {
        const char *paper = suite->claim_count > 0 ? suite->claims[i].paper : NULL;
        char caption[BENCH_NAME_SIZE];
        report_bytes svg;
        if (!bench_is_first_of_paper(suite, i))
            continue;
        BLV_CHECK(bench_figure_draw(results, paper, v, &svg));
        bench_figure_caption(results, paper, v, caption);
        if (svg.data)
            report_html_drawing(out, svg.data, caption);
        free(svg.data);
    }
    return BLV_OK;
}

/* ---- The page ---- */

static void put_protocol(FILE *out, const bench_results *results) {
    char protocol[BENCH_PROTOCOL_SIZE];
    bench_protocol_text(results, protocol);
    report_html_element(out, "p", protocol);
    report_html_element(
        out, "p",
        results->bench->suite.has_command
            ? "Run k of every method has seed k: of the choice, of the network and of its batches. "
              "Numbers are medians over the seeds, bands go from 20 to 80 percent. Settings of "
              "tuned methods were chosen by the accuracy on a fifth of the training rows, which "
              "were held out; the test rows had no part in it."
            : "Every run has the same start; run k of every solver has seed k, and so the same "
              "batches. Points are evaluated off the solver's clock. Numbers are medians over the "
              "seeds, bands go from 20 to 80 percent. Calls are counted by the library, for each "
              "sample, setup included.");
    if (results->bench->suite.quick)
        report_html_element(out, "p",
                            "This is the quick form: too small to say anything about the claims.");
}

static blv_error put_page(const bench_results *results, FILE *out) {
    const bench *b = results->bench;
    const bench_suite *suite = &b->suite;
    report_page_begin(out, suite->title);
    report_html_element(out, "h1", suite->title);
    report_html_element(out, "p", suite->reproduces.paper);
    report_html_element(out, "p", suite->reproduces.figure);
    report_html_element(out, "h2", "What the paper claims, and the result");
    report_html_print(out, "p", "Published: %s", suite->reproduces.claim);
    fputs("<div class=\"answer\">\n", out);
    BLV_CHECK(bench_print_verdicts(results, out));
    if (results->verdict_count == 0)
        report_html_element(out, "p", "The suite states no claim.");
    fputs("</div>\n", out);
    for (size_t v = 0; v < results->view_count && !b->request->no_plots; v++)
        BLV_CHECK(put_figures(out, results, v));
    put_protocol(out, results);
    BLV_CHECK(bench_print_checks(results, REPORT_AS_HTML, out));
    report_html_element(out, "h2", "Each claim");
    bench_print_claims(results, REPORT_AS_HTML, out);
    for (size_t v = 0; v < results->view_count; v++) {
        const char *name = results->views[v].name;
        report_html_element(out, "h2", *name ? name : "Results");
        BLV_CHECK(bench_print_view(results, &results->views[v], REPORT_AS_HTML, out));
    }
    char *text = json_dumps(suite->root, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    if (!text)
        return BLV_E_MEMORY;
    fputs("<details><summary>The suite</summary>\n", out);
    report_html_element(out, "pre", text);
    fputs("</details>\n", out);
    free(text);
    report_page_end(out);
    return BLV_OK;
}

const bench_file bench_files[] = {{"index.html", put_page},
                                  {"points.csv", put_csv},
                                  {"points.json", put_json},
                                  {"regret.csv", bench_put_regret},
                                  {"verdicts.md", bench_put_rows},
                                  {"stored.jsonl", bench_put_stored},
                                  {0}};
