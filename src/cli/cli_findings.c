/* From the points of all runs to numbers for each entry: medians and bands over the seeds. */
#include "cli_bench.h"
#include "cli_figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double number_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *cli_metric_title(const cli_suite *suite) {
    return strcmp(suite->metric, "phi") == 0 ? "Phi - Phi*" : suite->metric;
}

/* ---- The least Phi ---- */

static void lower_phi(cli_view *view, const json_t *record, const char *name) {
    size_t i;
    json_t *point;
    json_array_foreach(json_object_get(record, "points"), i, point) {
        double phi = number_of(point, "phi");
        if (isnan(phi) || phi >= view->least_phi)
            continue;
        view->least_phi = phi;
        snprintf(view->least_from, sizeof view->least_from, "%s", name);
    }
}

static void find_least_phi(const cli_bench *bench, size_t v, cli_view *view) {
    view->least_phi = INFINITY;
    for (size_t i = 0; i < bench->job_count; i++) {
        const cli_job *job = &bench->jobs[i];
        if (job->variant == v)
            lower_phi(view, cli_bench_record(bench, job),
                      job->entry == SIZE_MAX ? "exact, as the reference"
                                             : bench->suite.entries[job->entry].id);
    }
    if (isinf(view->least_phi))
        view->least_phi = NAN;
}

/* ---- Values over the seeds ---- */

typedef struct values {
    size_t count;
    double *items;
} values;

static void add_value(values *v, double value) {
    v->items = cli_grow(v->items, v->count + 1, sizeof *v->items);
    v->items[v->count++] = value;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Between a finite and an infinite value there is nothing: the quantile is the infinite one. */
static double quantile(const values *v, double share) {
    double place = share * (double)(v->count - 1);
    size_t low = (size_t)place, high = low + 1 < v->count ? low + 1 : low;
    if (place == (double)low || isinf(v->items[low]))
        return v->items[low];
    if (isinf(v->items[high]))
        return v->items[high];
    return cli_quantile(v->items, v->count, share);
}

static cli_band band_of(values *v) {
    if (v->count == 0)
        return (cli_band){NAN, NAN, NAN};
    qsort(v->items, v->count, sizeof *v->items, compare);
    return (cli_band){quantile(v, 0.2), quantile(v, 0.5), quantile(v, 0.8)};
}

static cli_band take_band(values *v) {
    cli_band band = band_of(v);
    free(v->items);
    *v = (values){0};
    return band;
}

/* ---- One run ---- */

static double metric_at(const cli_suite *suite, const cli_view *view, const json_t *point) {
    double value = number_of(point, suite->metric);
    return strcmp(suite->metric, "phi") == 0 ? value - view->least_phi : value;
}

static double worst(const cli_suite *suite) {
    return cli_more_is_better(suite->metric) ? -INFINITY : INFINITY;
}

static const json_t *last_point(const json_t *record) {
    const json_t *points = json_object_get(record, "points");
    return json_array_get(points, json_array_size(points) - 1);
}

/* A run that failed has the worst value there is. */
static double metric_at_end(const cli_suite *suite, const cli_view *view, const json_t *record) {
    double value = metric_at(suite, view, last_point(record));
    return json_is_true(json_object_get(record, "failed")) || isnan(value) ? worst(suite) : value;
}

/* Where the first point lies that reaches the level: in seconds, or calls. */
static double place_of_level(const cli_suite *suite, const cli_view *view, double level,
                             const json_t *record, const char *axis) {
    size_t i;
    json_t *point;
    json_array_foreach(json_object_get(record, "points"), i, point) {
        double value = metric_at(suite, view, point);
        if (cli_more_is_better(suite->metric) ? value >= level : value <= level)
            return number_of(point, axis);
    }
    return INFINITY;
}

/* ---- One entry ---- */

/* Calls visit for every record of the runs of an entry. */
typedef void (*visit_fn)(void *context, const json_t *record);

static void visit_runs(const cli_bench *bench, size_t variant, size_t entry, cli_job_kind kind,
                       visit_fn visit, void *context) {
    for (size_t i = 0; i < bench->job_count; i++) {
        const cli_job *job = &bench->jobs[i];
        const json_t *record = cli_bench_record(bench, job);
        if (job->kind == kind && job->variant == variant && job->entry == entry && record)
            visit(context, record);
    }
}

typedef struct gathering {
    const cli_suite *suite;
    const cli_view *view;
    cli_cell *cell;
    double level;
    values value, seconds, calls, iterations, seconds_to, calls_to, shown[CLI_SHOWN_MAX];
} gathering;

static void gather_end(void *context, const json_t *record) {
    gathering *g = context;
    const json_t *last = last_point(record);
    const char *refused = json_string_value(json_object_get(record, "refused"));
    if (refused) {
        g->cell->refused = refused;
        return;
    }
    g->cell->runs++;
    g->cell->failed += json_is_true(json_object_get(record, "failed"));
    add_value(&g->value, metric_at_end(g->suite, g->view, record));
    add_value(&g->seconds, number_of(last, "seconds"));
    add_value(&g->calls, number_of(last, "calls"));
    add_value(&g->iterations, number_of(last, "iteration"));
    for (size_t i = 0; i < json_array_size(g->suite->show) && i < CLI_SHOWN_MAX; i++) {
        double shown = number_of(last, json_string_value(json_array_get(g->suite->show, i)));
        if (!isnan(shown))
            add_value(&g->shown[i], shown);
    }
}

static void gather_cost(void *context, const json_t *record) {
    cli_cell *cell = context;
    const json_t *last = last_point(record);
    cell->tried++;
    cell->grid_seconds += fmax(0.0, number_of(last, "seconds"));
    cell->grid_calls += fmax(0.0, number_of(last, "calls"));
}

static void gather_level(void *context, const json_t *record) {
    gathering *g = context;
    if (json_object_get(record, "refused"))
        return;
    add_value(&g->seconds_to, place_of_level(g->suite, g->view, g->level, record, "seconds"));
    add_value(&g->calls_to, place_of_level(g->suite, g->view, g->level, record, "calls"));
}

static void fill_cell(const cli_bench *bench, size_t v, size_t e, const cli_view *view,
                      cli_cell *cell) {
    const cli_suite *suite = &bench->suite;
    gathering g = {.suite = suite, .view = view, .cell = cell};
    cell->entry = &suite->entries[e];
    visit_runs(bench, v, e, CLI_JOB_RUN, gather_end, &g);
    visit_runs(bench, v, e, CLI_JOB_TUNING, gather_cost, cell);
    const cli_job *chosen = cell->entry->grid ? cli_bench_chosen(bench, v, e) : NULL;
    cell->chosen = chosen ? chosen->set : NULL;
    if (cell->entry->grid && !chosen && !cell->refused)
        cell->refused = "no setting of the grid came to an end";
    cell->value = take_band(&g.value);
    cell->seconds = take_band(&g.seconds).median;
    cell->calls = take_band(&g.calls).median;
    cell->iterations = take_band(&g.iterations).median;
    for (size_t i = 0; i < CLI_SHOWN_MAX; i++)
        cell->shown[i] = take_band(&g.shown[i]).median;
}

/* ---- One variant ---- */

/* What half of the entries reach in the end: the median of their medians. */
static double find_level(const cli_view *view) {
    values v = {0};
    for (size_t e = 0; e < view->count; e++)
        if (view->cells[e].runs > 0)
            add_value(&v, view->cells[e].value.median);
    cli_band band = take_band(&v);
    return band.median;
}

cli_reach cli_reach_of(const cli_bench *bench, const cli_view *view, size_t variant, size_t entry,
                       double level) {
    gathering g = {.suite = &bench->suite, .view = view, .level = level};
    visit_runs(bench, variant, entry, CLI_JOB_RUN, gather_level, &g);
    cli_reach reach = {.seconds = take_band(&g.seconds_to), .calls = take_band(&g.calls_to)};
    return reach;
}

static void fill_levels(const cli_bench *bench, size_t v, cli_view *view) {
    view->level = isnan(bench->suite.level) ? find_level(view) : bench->suite.level;
    for (size_t e = 0; e < view->count; e++)
        view->cells[e].reach = cli_reach_of(bench, view, v, e, view->level);
}

double cli_processor_share(const cli_bench *bench) {
    values v = {0};
    for (size_t i = 0; i < bench->job_count; i++) {
        double share = number_of(cli_bench_record(bench, &bench->jobs[i]), "processor_share");
        if (!isnan(share))
            add_value(&v, share);
    }
    return take_band(&v).median;
}

void cli_findings_make(cli_findings *findings, const cli_bench *bench) {
    const cli_suite *suite = &bench->suite;
    *findings = (cli_findings){.bench = bench,
                               .view_count = suite->variant_count,
                               .views = cli_alloc(suite->variant_count, sizeof(cli_view))};
    for (size_t v = 0; v < suite->variant_count; v++) {
        cli_view *view = &findings->views[v];
        view->variant = &suite->variants[v];
        view->count = suite->entry_count;
        view->cells = cli_alloc(view->count, sizeof *view->cells);
        find_least_phi(bench, v, view);
        for (size_t e = 0; e < view->count; e++)
            fill_cell(bench, v, e, view, &view->cells[e]);
        fill_levels(bench, v, view);
    }
}

void cli_findings_free(cli_findings *findings) {
    for (size_t v = 0; v < findings->view_count; v++)
        free(findings->views[v].cells);
    free(findings->views);
    free(findings->lines);
    *findings = (cli_findings){0};
}
