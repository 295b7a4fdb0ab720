/* From the points of all runs to numbers for each entry: medians and bands over the seeds. */
#include "bench/results.h"

#include "bilevel/solver.h"
#include "report/figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- The least Phi ---- */

static void find_least_phi(const bench *b, size_t v, bench_view *view) {
    view->least_phi = NAN;
    for (size_t i = 0; i < b->job_count; i++) {
        const bench_job *job = &b->jobs[i];
        for (size_t k = 0; job->variant == v && job->record && k < job->record->point_count; k++) {
            double phi = bench_number(&job->record->points[k], "phi");
            if (isnan(phi) || phi >= view->least_phi)
                continue;
            view->least_phi = phi;
            snprintf(view->least_from, sizeof view->least_from, "%s%s", bench_job_entry(b, job),
                     job->kind == BENCH_REFERENCE ? ", as the reference" : "");
        }
    }
}

/* ---- Values over the seeds ---- */

/* Values in the arena of the results. */
typedef struct values {
    size_t count;
    double *items;
} values;

static blv_error add_value(bench_results *results, values *v, double value) {
    double *items = blv_arena_grow(&results->arena, v->items, v->count, sizeof *items);
    if (!items)
        return BLV_E_MEMORY;
    v->items = items;
    items[v->count++] = value;
    return BLV_OK;
}

/* Between a finite and an infinite value there is nothing: the quantile is the infinite one. */
static double quantile(const values *v, double share) {
    double place = share * (double)(v->count - 1);
    size_t low = (size_t)place, high = low + 1 < v->count ? low + 1 : low;
    if (place == (double)low || isinf(v->items[low]))
        return v->items[low];
    if (isinf(v->items[high]))
        return v->items[high];
    return report_quantile(v->items, v->count, share);
}

static bench_band band_of(values *v) {
    if (v->count == 0)
        return (bench_band){NAN, NAN, NAN};
    report_sort(v->items, v->count);
    return (bench_band){quantile(v, 0.2), quantile(v, 0.5), quantile(v, 0.8)};
}

/* ---- One run ---- */

static double metric_at(const bench_results *results, const bench_view *view,
                        const blv_values *point) {
    const char *metric = results->bench->suite.metric;
    double value = bench_number(point, metric);
    return strcmp(metric, "phi") == 0 ? value - view->least_phi : value;
}

/* A run that failed has the worst value there is. */
static double metric_at_end(const bench_results *results, const bench_view *view,
                            const bench_record *record) {
    size_t count = record->point_count;
    double value = count > 0 ? metric_at(results, view, &record->points[count - 1]) : (double)NAN;
    if (!record->failed && !isnan(value))
        return value;
    return bench_more_is_better(results->bench->suite.metric) ? -INFINITY : INFINITY;
}

/* The first point that reaches the level; NULL: none does. */
static const blv_values *first_at_level(const bench_results *results, const bench_view *view,
                                        double level, const bench_record *record) {
    bool more = bench_more_is_better(results->bench->suite.metric);
    for (size_t i = 0; i < record->point_count; i++) {
        double value = metric_at(results, view, &record->points[i]);
        if (more ? value >= level : value <= level)
            return &record->points[i];
    }
    return NULL;
}

/* The record of job i, where it is one of an entry's and of this kind; else NULL. */
static const bench_record *record_of(const bench *b, size_t i, size_t variant, size_t entry,
                                     bench_job_kind kind) {
    const bench_job *job = &b->jobs[i];
    bool is_it = job->kind == kind && job->variant == variant && job->entry == entry;
    return is_it ? job->record : NULL;
}

blv_error bench_reach_level(bench_results *results, size_t variant, size_t entry, double level,
                            bench_reach *reach) {
    const bench *b = results->bench;
    values seconds = {0}, calls = {0};
    for (size_t i = 0; i < b->job_count; i++) {
        const bench_record *record = record_of(b, i, variant, entry, BENCH_RUN);
        if (!record || record->rejected)
            continue;
        const blv_values *point = first_at_level(results, &results->views[variant], level, record);
        BLV_CHECK(add_value(results, &seconds, point ? bench_number(point, "seconds") : INFINITY));
        BLV_CHECK(add_value(results, &calls, point ? bench_number(point, "calls") : INFINITY));
    }
    *reach = (bench_reach){.seconds = band_of(&seconds), .calls = band_of(&calls)};
    return BLV_OK;
}

/* ---- One entry ---- */

static void add_tuning_cost(const bench *b, size_t v, size_t e, bench_cell *cell) {
    for (size_t i = 0; i < b->job_count; i++) {
        const bench_record *record = record_of(b, i, v, e, BENCH_TUNING);
        if (!record)
            continue;
        cell->tried++;
        cell->grid_seconds += fmax(0.0, bench_record_end(record, "seconds"));
        cell->grid_calls += fmax(0.0, bench_record_end(record, "calls"));
    }
    const bench_job *chosen = cell->entry->grid ? bench_chosen(b, v, e) : NULL;
    cell->is_chosen = chosen != NULL;
    cell->chosen = chosen ? chosen->set : (blv_values){0};
    if (cell->entry->grid && !chosen && !cell->rejected)
        cell->rejected = "no setting of the grid came to an end";
}

static blv_error fill_cell(bench_results *results, size_t v, size_t e, bench_cell *cell) {
    static const char *const names[] = {"seconds", "calls", "iteration"};
    const bench *b = results->bench;
    const bench_names *show = &b->suite.show;
    enum { VALUE, FIRST_NAME, FIRST_SHOWN = FIRST_NAME + 3, ALL = FIRST_SHOWN + BENCH_SHOWN_MAX };
    values ends[ALL] = {0};
    double medians[ALL];
    cell->entry = &b->suite.entries[e];
    cell->id = cell->entry->id;
    cell->variant = results->views[v].name;
    for (size_t i = 0; i < b->job_count; i++) {
        const bench_record *record = record_of(b, i, v, e, BENCH_RUN);
        if (record && record->rejected)
            cell->rejected = record->rejected;
        if (!record || record->rejected)
            continue;
        cell->runs++;
        cell->failed += record->failed;
        BLV_CHECK(
            add_value(results, &ends[VALUE], metric_at_end(results, &results->views[v], record)));
        for (size_t k = 0; k < 3; k++)
            BLV_CHECK(
                add_value(results, &ends[FIRST_NAME + k], bench_record_end(record, names[k])));
        for (size_t k = 0; k < show->count && k < BENCH_SHOWN_MAX; k++) {
            double shown = bench_record_end(record, show->items[k]);
            if (!isnan(shown))
                BLV_CHECK(add_value(results, &ends[FIRST_SHOWN + k], shown));
        }
    }
    add_tuning_cost(b, v, e, cell);
    cell->value = band_of(&ends[VALUE]);
    for (size_t k = 0; k < ALL; k++)
        medians[k] = band_of(&ends[k]).median;
    cell->seconds = medians[FIRST_NAME];
    cell->calls = medians[FIRST_NAME + 1];
    cell->iterations = medians[FIRST_NAME + 2];
    memcpy(cell->shown, medians + FIRST_SHOWN, sizeof cell->shown);
    return BLV_OK;
}

/* ---- One variant ---- */

/* The suite's, or what half of the entries reach in the end: the median of their medians. */
static blv_error fill_levels(bench_results *results, size_t v, bench_view *view) {
    values ends = {0};
    for (size_t e = 0; e < view->count; e++)
        if (view->cells[e].runs > 0)
            BLV_CHECK(add_value(results, &ends, view->cells[e].value.median));
    double level = results->bench->suite.level;
    view->level = isnan(level) ? band_of(&ends).median : level;
    for (size_t e = 0; e < view->count; e++)
        BLV_CHECK(bench_reach_level(results, v, e, view->level, &view->cells[e].reach));
    return BLV_OK;
}

static blv_error fill_view(bench_results *results, size_t v) {
    const bench_suite *suite = &results->bench->suite;
    bench_view *view = &results->views[v];
    view->name = suite->variants[v].name;
    view->count = suite->entry_count;
    view->cells = blv_arena_alloc(&results->arena, view->count, sizeof *view->cells);
    if (!view->cells)
        return BLV_E_MEMORY;
    find_least_phi(results->bench, v, view);
    for (size_t e = 0; e < view->count; e++)
        BLV_CHECK(fill_cell(results, v, e, &view->cells[e]));
    return fill_levels(results, v, view);
}

static blv_error find_processor_share(bench_results *results) {
    const bench *b = results->bench;
    values shares = {0};
    for (size_t i = 0; i < b->job_count; i++)
        if (b->jobs[i].record && !isnan(b->jobs[i].record->processor_share))
            BLV_CHECK(add_value(results, &shares, b->jobs[i].record->processor_share));
    results->processor_share = band_of(&shares).median;
    return BLV_OK;
}

blv_error bench_results_make(bench_results *results, const bench *b) {
    *results = (bench_results){.bench = b, .view_count = b->suite.variant_count};
    results->views = blv_arena_alloc(&results->arena, results->view_count, sizeof *results->views);
    if (!results->views)
        return BLV_E_MEMORY;
    BLV_CHECK(find_processor_share(results));
    for (size_t v = 0; v < results->view_count; v++)
        BLV_CHECK(fill_view(results, v));
    return bench_judge_claims(results);
}

void bench_results_free(bench_results *results) {
    blv_arena_free(&results->arena);
    *results = (bench_results){0};
}
