/* The files of a bench: points.csv, points.json and the page. */
#include "cli_bench.h"
#include "cli_csv.h"
#include "cli_gnuplot.h"
#include "cli_json.h"
#include "cli_page.h"
#include "cli_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- CSV: a line for each point ---- */

static const char *const own_columns[] = {"variant", "kind", "entry",  "solver",
                                          "setting", "seed", "outcome"};
enum { OWN_COLUMNS = sizeof own_columns / sizeof own_columns[0] };

/* The keys of all points, in the order in which they come. */
static json_t *point_columns(const cli_bench *bench) {
    json_t *columns = cli_json_object(), *point, *value;
    for (size_t i = 0; i < bench->job_count; i++) {
        size_t k;
        const char *key;
        const json_t *record = cli_bench_record(bench, &bench->jobs[i]);
        json_array_foreach(json_object_get(record, "points"), k, point) {
            json_object_foreach(point, key, value) {
                cli_json_set(columns, key, json_true());
            }
        }
    }
    return columns;
}

static void put_value(FILE *file, const json_t *value) {
    char text[CLI_VALUE_SIZE] = "";
    if (json_is_real(value)) {
        cli_csv_number(file, json_real_value(value));
        return;
    }
    if (json_is_integer(value) || json_is_string(value))
        cli_value_text(value, text);
    if (*text)
        cli_csv_text(file, text);
}

static void put_record(FILE *file, const json_t *record, json_t *columns) {
    size_t k;
    json_t *point, *ignored;
    json_array_foreach(json_object_get(record, "points"), k, point) {
        for (size_t c = 0; c < OWN_COLUMNS; c++) {
            fputs(c ? "," : "", file);
            put_value(file, json_object_get(record, own_columns[c]));
        }
        const char *key;
        json_object_foreach(columns, key, ignored) {
            fputc(',', file);
            put_value(file, json_object_get(point, key));
        }
        fputc('\n', file);
    }
}

static bool print_csv(FILE *file, const void *context) {
    const cli_bench *bench = context;
    json_t *columns = point_columns(bench), *ignored;
    const char *key;
    for (size_t c = 0; c < OWN_COLUMNS; c++)
        fprintf(file, "%s%s", c ? "," : "", own_columns[c]);
    json_object_foreach(columns, key, ignored) {
        fputc(',', file);
        cli_csv_text(file, key);
    }
    fputc('\n', file);
    for (size_t i = 0; i < bench->job_count; i++)
        put_record(file, cli_bench_record(bench, &bench->jobs[i]), columns);
    json_decref(columns);
    return true;
}

/* ---- JSON: the suite, the machine, findings and every record ---- */

static json_t *band_object(const cli_band *band) {
    json_t *object = cli_json_object();
    cli_json_set(object, "low", cli_json_real(band->low));
    cli_json_set(object, "median", cli_json_real(band->median));
    cli_json_set(object, "high", cli_json_real(band->high));
    return object;
}

static json_t *cell_object(const cli_view *view, const cli_cell *cell) {
    json_t *object = cli_json_object();
    cli_json_set(object, "variant", cli_json_text(view->variant->name));
    cli_json_set(object, "entry", cli_json_text(cell->entry->id));
    cli_json_set(object, "runs", cli_json_whole(cell->runs));
    cli_json_set(object, "failed", cli_json_whole(cell->failed));
    cli_json_set(object, "refused", cli_json_text(cell->refused));
    cli_json_set(object, "value", band_object(&cell->value));
    cli_json_set(object, "seconds_to_level", band_object(&cell->reach.seconds));
    cli_json_set(object, "calls_to_level", band_object(&cell->reach.calls));
    cli_json_set(object, "seconds", cli_json_real(cell->seconds));
    cli_json_set(object, "calls", cli_json_real(cell->calls));
    cli_json_set(object, "iterations", cli_json_real(cell->iterations));
    cli_json_set(object, "chosen", cell->chosen ? json_incref(cell->chosen) : json_null());
    cli_json_set(object, "grid_settings", cli_json_whole(cell->tried));
    cli_json_set(object, "grid_seconds", cli_json_real(cell->grid_seconds));
    cli_json_set(object, "grid_calls", cli_json_real(cell->grid_calls));
    return object;
}

static json_t *view_object(const cli_view *view) {
    json_t *object = cli_json_object();
    cli_json_set(object, "name", cli_json_text(view->variant->name));
    cli_json_set(object, "least_phi", cli_json_real(view->least_phi));
    cli_json_set(object, "least_phi_of", cli_json_text(view->least_from));
    cli_json_set(object, "level", cli_json_real(view->level));
    return object;
}

static json_t *claims_array(const cli_findings *findings) {
    json_t *array = cli_json_array();
    for (size_t i = 0; i < findings->line_count; i++) {
        const cli_verdict_line *line = &findings->lines[i];
        const json_t *claim = json_array_get(findings->bench->suite.claims, line->claim);
        json_t *object = cli_json_object();
        cli_json_set(object, "claim", json_incref(json_object_get(claim, "text")));
        cli_json_set(object, "variant",
                     cli_json_text(findings->views[line->variant].variant->name));
        cli_json_set(object, "held", line->held < 0 ? json_null() : json_boolean(line->held));
        cli_json_set(object, "text", cli_json_text(line->text));
        cli_json_append(array, object);
    }
    return array;
}

static json_t *whole_object(const cli_findings *findings) {
    const cli_bench *bench = findings->bench;
    char machine[256];
    cli_machine_text(machine, sizeof machine);
    json_t *object = cli_json_object(), *runs = cli_json_array(), *cells = cli_json_array();
    json_t *views = cli_json_array();
    for (size_t v = 0; v < findings->view_count; v++) {
        cli_json_append(views, view_object(&findings->views[v]));
        for (size_t e = 0; e < findings->views[v].count; e++)
            cli_json_append(cells, cell_object(&findings->views[v], &findings->views[v].cells[e]));
    }
    for (size_t i = 0; i < bench->job_count; i++)
        cli_json_append(runs, json_incref(cli_bench_record(bench, &bench->jobs[i])));
    cli_json_set(object, "suite", json_incref(bench->suite.root));
    cli_json_set(object, "quick", json_boolean(bench->suite.quick));
    cli_json_set(object, "version", cli_json_text(blv_version()));
    cli_json_set(object, "machine", cli_json_text(machine));
    cli_json_set(object, "threads", cli_json_whole((uint64_t)bench->asked->threads));
    cli_json_set(object, "processor_share", cli_json_real(cli_processor_share(bench)));
    cli_json_set(object, "claims", claims_array(findings));
    cli_json_set(object, "variants", views);
    cli_json_set(object, "entries", cells);
    cli_json_set(object, "runs", runs);
    return object;
}

static int write_json(const cli_findings *findings, cli_outputs *outputs, const char *path) {
    json_t *object = whole_object(findings);
    char *text = json_dumps(object, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    json_decref(object);
    if (!text)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
    int code = cli_outputs_bytes(outputs, path, text, strlen(text));
    free(text);
    return code;
}

/* ---- Figures: the points as runs of a store ---- */

static json_t *run_of(const cli_bench *bench) {
    json_t *run = cli_json_object();
    cli_json_set(run, "problem",
                 cli_json_text(bench->suite.problem ? bench->suite.problem : bench->suite.command));
    return run;
}

static void add_run(cli_stored *stored, const cli_bench *bench, const cli_view *view,
                    const cli_job *job) {
    json_t *record = cli_bench_record(bench, job);
    stored->runs = cli_grow(stored->runs, stored->count + 1, sizeof *stored->runs);
    stored->runs[stored->count] =
        (cli_stored_run){.id = (int64_t)stored->count + 1,
                         .run = run_of(bench),
                         .rows = json_incref(json_object_get(record, "points")),
                         .best = view->least_phi,
                         .group = job->entry};
    stored->count++;
}

/* Entries are groups; those without a run have no curve. */
static cli_stored stored_of(const cli_bench *bench, size_t v, const cli_view *view) {
    cli_stored stored = {.groups = view->count, .problems = 1};
    stored.group = cli_alloc(view->count, sizeof *stored.group);
    for (size_t e = 0; e < view->count; e++) {
        const char *id = view->cells[e].entry->id;
        size_t size = strlen(id) + 1;
        stored.group[e].key = cli_json_object();
        stored.group[e].label = memcpy(cli_alloc(size, 1), id, size);
    }
    for (size_t i = 0; i < bench->job_count; i++) {
        const cli_job *job = &bench->jobs[i];
        const json_t *record = cli_bench_record(bench, job);
        bool has_points = json_array_size(json_object_get(record, "points")) > 0;
        if (job->kind == CLI_JOB_RUN && job->variant == v && has_points)
            add_run(&stored, bench, view, job);
    }
    return stored;
}

static int put_figure(FILE *out, const cli_bench *bench, const cli_stored *stored,
                      const cli_view *view, const char *what, cli_axis over) {
    cli_figure figure = {0};
    if (cli_figure_make(&figure, stored, over, what, true) != CLI_DONE)
        return CLI_DONE; /* the points do not have it */
    snprintf(figure.title, sizeof figure.title, "%.80s%s%.60s", bench->suite.name,
             *view->variant->name ? ": " : "", view->variant->name);
    if (bench->suite.command)
        snprintf(figure.x_label, sizeof figure.x_label, "tasks so far");
    cli_bytes svg = {0};
    char caption[256];
    snprintf(caption, sizeof caption, "%s over %s", figure.y_label, figure.x_label);
    int code = cli_gnuplot_draw(&svg, &figure, CLI_SVG, 0, 0);
    if (code == CLI_DONE)
        cli_html_drawing(out, svg.data, caption);
    free(svg.data);
    cli_figure_free(&figure);
    return code;
}

/* A choice of rows is one point. */
static bool has_curves(const cli_suite *suite) {
    return !suite->command || strcmp(suite->command, "continual") == 0;
}

static int put_figures(FILE *out, const cli_bench *bench, size_t v, const cli_view *view) {
    const cli_suite *suite = &bench->suite;
    cli_stored stored = stored_of(bench, v, view);
    const cli_axis over = suite->command ? CLI_OVER_ITERATIONS : CLI_OVER_TIME;
    int code = CLI_DONE;
    if (stored.count > 0 && has_curves(suite)) {
        code = put_figure(out, bench, &stored, view, suite->metric, over);
        if (code == CLI_DONE && !suite->command)
            code = put_figure(out, bench, &stored, view, suite->metric, CLI_OVER_CALLS);
        for (size_t i = 0; i < json_array_size(suite->show) && code == CLI_DONE; i++) {
            const char *what = json_string_value(json_array_get(suite->show, i));
            if (strcmp(what, suite->metric) != 0)
                code = put_figure(out, bench, &stored, view, what, over);
        }
    }
    cli_stored_free(&stored);
    return code;
}

/* ---- The page ---- */

static void put_paragraph(FILE *out, const char *text) {
    cli_html_element(out, "p", text);
}

static void put_table(FILE *out, const cli_findings *findings, const cli_view *view) {
    const cli_cell **sorted = cli_view_sorted(findings, view);
    cli_cells cells;
    cli_column_titles(findings, &cells);
    cli_html_table_begin(out, cells.align, cells.cell);
    for (size_t i = 0; i < view->count; i++) {
        if (sorted[i]->runs == 0)
            continue;
        cli_column_cells(findings, sorted[i], &cells);
        cli_html_table_row(out, cells.align, cells.cell);
    }
    cli_html_table_end(out);
    free(sorted);
}

static void put_claims(FILE *out, const cli_findings *findings) {
    cli_html_heading(out, 2, "What the paper claims, and what came out");
    put_paragraph(out,
                  json_string_value(json_object_get(findings->bench->suite.reproduces, "claim")));
    fputs("<div class=\"answer\">\n", out);
    for (size_t i = 0; i < findings->line_count; i++) {
        const cli_verdict_line *line = &findings->lines[i];
        const json_t *claim = json_array_get(findings->bench->suite.claims, line->claim);
        const char *variant = findings->views[line->variant].variant->name;
        char text[1024];
        if (i == 0 || findings->lines[i - 1].claim != line->claim)
            cli_html_element(out, "h3", json_string_value(json_object_get(claim, "text")));
        snprintf(text, sizeof text, "%.200s%s%s", variant, *variant ? ": " : "", line->text);
        put_paragraph(out, text);
    }
    if (findings->line_count == 0)
        put_paragraph(out, "The suite states no claim.");
    fputs("</div>\n", out);
}

static void put_protocol(FILE *out, const cli_findings *findings) {
    char protocol[600];
    cli_protocol_text(findings, protocol, sizeof protocol);
    put_paragraph(out, protocol);
    if (findings->bench->suite.command)
        put_paragraph(out,
                      "Run k of every method has seed k: of the choice, of the network and of "
                      "its batches. Numbers are medians over the seeds, bands go from 20 to 80 "
                      "percent. Settings of tuned methods were chosen by the accuracy on a "
                      "fifth of the training rows, which were held out; the test rows had no "
                      "part in it.");
    else
        put_paragraph(out,
                      "Every run has the same start; run k of every solver has seed k, and so the "
                      "same batches. Points are looked at off the solver's clock. Numbers are "
                      "medians over the seeds, bands go from 20 to 80 percent. Calls are counted "
                      "by the library, for each sample, setup included.");
    if (findings->bench->suite.quick)
        put_paragraph(out, "This is the quick form: too small to say anything about the claims.");
}

static void put_suite(FILE *out, const cli_suite *suite) {
    char *text = json_dumps(suite->root, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    if (!text)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
    fputs("<details><summary>The suite</summary>\n", out);
    cli_html_element(out, "pre", text);
    fputs("</details>\n", out);
    free(text);
}

static int put_page(FILE *out, const cli_findings *findings) {
    const cli_bench *bench = findings->bench;
    const cli_suite *suite = &bench->suite;
    int code = CLI_DONE;
    cli_page_begin(out, suite->title);
    cli_html_heading(out, 1, suite->title);
    put_paragraph(out, json_string_value(json_object_get(suite->reproduces, "paper")));
    put_paragraph(out, json_string_value(json_object_get(suite->reproduces, "figure")));
    put_claims(out, findings);
    put_protocol(out, findings);
    for (size_t v = 0; v < findings->view_count && code == CLI_DONE; v++) {
        const cli_view *view = &findings->views[v];
        cli_html_heading(out, 2, *view->variant->name ? view->variant->name : "Results");
        put_table(out, findings, view);
        cli_view_remarks(findings, view, out, put_paragraph);
        if (!bench->asked->no_plots)
            code = put_figures(out, bench, v, view);
    }
    put_suite(out, suite);
    cli_page_end(out);
    return code;
}

static int write_page(const cli_findings *findings, cli_outputs *outputs, const char *path) {
    cli_text page;
    int code = put_page(cli_text_begin(&page), findings);
    char *text = cli_text_end(&page);
    if (code == CLI_DONE)
        code = cli_outputs_bytes(outputs, path, text, page.size);
    free(text);
    return code;
}

/* ---- All files ---- */

int cli_findings_write(const cli_findings *findings) {
    const char *folder = findings->bench->asked->out;
    char *csv = cli_print("%s/points.csv", folder), *json = cli_print("%s/points.json", folder);
    char *page = cli_print("%s/index.html", folder);
    cli_outputs outputs = {0};
    int code = cli_outputs_print(&outputs, csv, print_csv, findings->bench);
    if (code == CLI_DONE)
        code = write_json(findings, &outputs, json);
    if (code == CLI_DONE)
        code = write_page(findings, &outputs, page);
    if (code == CLI_DONE)
        code = cli_outputs_commit(&outputs);
    cli_outputs_free(&outputs);
    free(csv);
    free(json);
    free(page);
    return code;
}
