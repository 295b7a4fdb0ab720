/* The figures of a benchmark: for each variant and paper the curves of what its claims compare,
 * over seconds and over oracle calls; bars where a sweep or a choice of rows has no curves. */
#include "bench/results.h"

#include "report/figure.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_CURVES = 10, MOST_POINTS = 18, MOST_PANELS = 3 };

/* ---- Which entries ---- */

static bool is_before(const bench_results *results, const bench_cell *a, const bench_cell *b) {
    return bench_more_is_better(results->bench->suite.metric) ? a->value.median > b->value.median
                                                              : a->value.median < b->value.median;
}

static bool is_claimed(const bench_results *results, const char *paper, const bench_cell *cell) {
    const bench_suite *suite = &results->bench->suite;
    for (size_t i = 0; i < suite->claim_count; i++)
        if (bench_claim_is_of(&suite->claims[i], paper) &&
            bench_is_named(results, &suite->claims[i].who, cell->entry))
            return true;
    return false;
}

/* A solver that claims name without its settings is drawn with the best ones, the first of several
 * that end alike, and as published. */
static bool is_candidate(const bench_results *results, const char *paper, const bench_view *view,
                         size_t e) {
    const bench_cell *cell = &view->cells[e];
    if (cell->runs == 0 || !isfinite(cell->value.median) || /* it ran off */
        !bench_is_shown(results, paper, cell->entry))
        return false;
    if (strchr(cell->id, '=') || strcmp(strchr(cell->id, '/'), "/published") == 0)
        return true;
    for (size_t i = 0; i < view->count; i++) {
        const bench_cell *other = &view->cells[i];
        if (other->runs > 0 && strcmp(other->entry->solver, cell->entry->solver) == 0 &&
            bench_is_shown(results, paper, other->entry) &&
            (is_before(results, other, cell) || (i < e && !is_before(results, cell, other))))
            return false;
    }
    return true;
}

/* What a claim is about comes first, then what ends best; too many curves cannot be told apart. */
static bool is_drawn(const bench_results *results, const char *paper, const bench_view *view,
                     size_t e) {
    size_t before = 0;
    if (!is_candidate(results, paper, view, e))
        return false;
    const bool claimed = is_claimed(results, paper, &view->cells[e]);
    for (size_t i = 0; i < view->count; i++) {
        if (i == e || !is_candidate(results, paper, view, i))
            continue;
        const bool other = is_claimed(results, paper, &view->cells[i]);
        before += other != claimed ? other : is_before(results, &view->cells[i], &view->cells[e]);
    }
    return before < MOST_CURVES;
}

/* ---- Curves: the points as runs of a store ---- */

/* The numbers of a record's points as a trace. */
static blv_error trace_of(blv_arena *arena, const bench_record *record, const char *const *columns,
                          size_t count, blv_trace *trace) {
    *trace = (blv_trace){.rows = record->point_count, .columns = count};
    trace->names = blv_arena_alloc(arena, count, sizeof *trace->names);
    trace->values = blv_arena_alloc(arena, trace->rows * count, sizeof(double));
    if (!trace->names || !trace->values)
        return BLV_E_MEMORY;
    for (size_t c = 0; c < count; c++) {
        trace->names[c] = (char *)(uintptr_t)columns[c];
        for (size_t k = 0; k < trace->rows; k++)
            trace->values[k * count + c] = blv_values_number(&record->points[k], columns[c]);
    }
    return BLV_OK;
}

/* Entries are groups; those that are not drawn have no runs. All of it is in the arena. */
static blv_error groups_of(blv_arena *arena, const bench_results *results, const char *paper,
                           size_t v, const char *const *columns, size_t count,
                           blv_run_groups *groups) {
    const bench *b = results->bench;
    const bench_view *view = &results->views[v];
    *groups = (blv_run_groups){.groups = view->count, .problems = 1};
    groups->group = blv_arena_alloc(arena, view->count, sizeof *groups->group);
    groups->runs = blv_arena_alloc(arena, b->job_count + 1, sizeof *groups->runs);
    blv_run_info *info = blv_arena_alloc(arena, 1, sizeof *info);
    if (!groups->group || !groups->runs || !info)
        return BLV_E_MEMORY;
    for (size_t e = 0; e < view->count; e++) {
        groups->group[e].label = view->cells[e].entry->id;
        for (size_t i = 0; i < b->job_count && is_drawn(results, paper, view, e); i++) {
            const bench_record *record = bench_run_of(results, i, v, e);
            if (!record || record->point_count == 0)
                continue;
            blv_stored_run *run = &groups->runs[groups->count++];
            *run = (blv_stored_run){.info = info, .best = view->least_phi, .group = e};
            BLV_CHECK(trace_of(arena, record, columns, count, &run->trace));
        }
    }
    return BLV_OK;
}

/* What else a claim of the paper is judged by, or an accuracy, beside the metric; NULL: none. */
static const char *second_measure(const bench_suite *suite, const char *paper) {
    for (size_t i = 0; i < suite->claim_count; i++)
        if (bench_claim_is_of(&suite->claims[i], paper) && suite->claims[i].metric)
            return suite->claims[i].metric;
    for (size_t i = 0; i < suite->show.count; i++)
        if (strstr(suite->show.items[i], "accuracy") && strcmp(suite->show.items[i], suite->metric))
            return suite->show.items[i];
    return NULL;
}

/* BLV_E_NAME: the points do not have it. */
static blv_error make_panel(report_figure *panel, const blv_run_groups *groups, report_axis over,
                            const char *what) {
    BLV_CHECK(report_figure_make(panel, groups, over, what, NULL));
    panel->title[0] = '\0';
    report_figure_thin(panel, MOST_POINTS);
    for (size_t i = 0; i < panel->count; i++)
        if (panel->curves[i].runs > 1) /* ", 5 runs": all have as many */
            *strrchr(panel->curves[i].label, ',') = '\0';
    return BLV_OK;
}

static blv_error draw_curves(const bench_results *results, const char *paper, size_t v,
                             report_bytes *svg) {
    const bench_suite *suite = &results->bench->suite;
    const char *const second = second_measure(suite, paper);
    const char *const columns[] = {"iteration", "seconds", "calls", suite->metric, second};
    const report_axis first = /* what the limit is of */
        suite->limit.kind == BENCH_ITERATIONS ? REPORT_OVER_ITERATIONS : REPORT_OVER_TIME;
    const struct {
        const char *what;
        report_axis over;
    } wanted[MOST_PANELS] = {
        {suite->metric, first}, {suite->metric, REPORT_OVER_CALLS}, {second, first}};
    report_figure panels[MOST_PANELS];
    blv_run_groups groups;
    blv_arena arena = {0};
    size_t count = 0;
    blv_error error = groups_of(&arena, results, paper, v, columns, second ? 5 : 4, &groups);
    for (size_t i = 0; i < MOST_PANELS && error == BLV_OK && groups.count > 0; i++) {
        if (!wanted[i].what)
            continue;
        error = make_panel(&panels[count], &groups, wanted[i].over, wanted[i].what);
        count += error == BLV_OK;
        error = error == BLV_E_NAME ? BLV_OK : error;
    }
    if (error == BLV_OK && count > 0)
        error = report_gnuplot_panels(panels, count, svg, suite->why);
    for (size_t i = 0; i < count; i++)
        report_figure_free(&panels[i]);
    blv_arena_free(&arena);
    return error;
}

/* ---- Bars ---- */

/* From the best to the worst end over the sweep of a solver; those that failed are counted. */
static bool sweep_bar(blv_arena *arena, const bench_view *view, size_t e, report_bar *bar) {
    const char *solver = view->cells[e].entry->solver;
    double ends[64];
    size_t count = 0, failed = 0;
    for (size_t i = 0; i < view->count; i++) {
        const bench_cell *cell = &view->cells[i];
        const bool is_swept = strcmp(cell->entry->solver, solver) == 0 && strchr(cell->id, '=');
        if (is_swept && i < e)
            return false; /* it has its bar */
        if (!is_swept || cell->runs == 0 || count == sizeof ends / sizeof ends[0])
            continue;
        if (isfinite(cell->value.median))
            ends[count++] = cell->value.median;
        else
            failed++;
    }
    if (!strchr(view->cells[e].id, '=') || count == 0)
        return false;
    report_sort(ends, count);
    *bar = (report_bar){.label = failed == 0 ? solver
                                             : blv_arena_print(arena, "%s (%zu of %zu diverged)",
                                                               solver, failed, count + failed),
                        .low = ends[0],
                        .middle = report_quantile(ends, count, 0.5),
                        .high = ends[count - 1]};
    return true;
}

static bool entry_bar(const bench_view *view, size_t e, report_bar *bar) {
    const bench_cell *cell = &view->cells[e];
    *bar = (report_bar){cell->id, cell->value.low, cell->value.median, cell->value.high};
    return cell->runs > 0 && isfinite(cell->value.median);
}

static bool is_about_sweeps(const bench_suite *suite, const char *paper) {
    for (size_t i = 0; i < suite->claim_count; i++)
        if (bench_claim_is_of(&suite->claims[i], paper) &&
            (suite->claims[i].by == BENCH_BY_SPREAD || suite->claims[i].by == BENCH_BY_CHANGE))
            return true;
    return false;
}

static blv_error draw_bars(const bench_results *results, const char *paper, size_t v, bool sweeps,
                           report_bytes *svg) {
    const bench_suite *suite = &results->bench->suite;
    const bench_view *view = &results->views[v];
    blv_arena arena = {0};
    report_bar *bars = blv_arena_alloc(&arena, view->count + 1, sizeof *bars);
    size_t count = 0;
    for (size_t e = 0; bars && e < view->count; e++)
        if (bench_is_shown(results, paper, view->cells[e].entry))
            count += sweeps ? sweep_bar(&arena, view, e, &bars[count])
                            : entry_bar(view, e, &bars[count]);
    char label[120];
    snprintf(label, sizeof label, "%.60s at the end%s",
             strcmp(suite->metric, "phi") == 0 ? "Phi - Phi*" : suite->metric,
             sweeps ? ", best, median and worst of the sweep" : ", 20 to 80 % of the seeds");
    blv_error error = arena.failed ? BLV_E_MEMORY
                      : count > 0  ? report_gnuplot_bars(bars, count, label, svg, suite->why)
                                   : BLV_OK;
    blv_arena_free(&arena);
    return error;
}

/* ---- The figure ---- */

blv_error bench_figure_draw(const bench_results *results, const char *paper, size_t variant,
                            report_bytes *svg) {
    const bench_suite *suite = &results->bench->suite;
    const bool sweeps = is_about_sweeps(suite, paper);
    *svg = (report_bytes){0};
    return sweeps || suite->has_command ? draw_bars(results, paper, variant, sweeps, svg)
                                        : draw_curves(results, paper, variant, svg);
}

void bench_figure_name(const bench_results *results, const char *paper, size_t variant,
                       char name[BENCH_NAME_SIZE]) {
    const char *of = results->views[variant].name;
    size_t used = 0;
    snprintf(name, BENCH_NAME_SIZE - 4, "%.60s%s%.40s%s%.60s", results->bench->suite.name,
             paper ? "-" : "", paper ? paper : "", *of ? "-" : "", of);
    for (const char *c = name; *c; c++)
        if (isalnum((unsigned char)*c) || *c == '.' || (*c == '-' && used && name[used - 1] != '-'))
            name[used++] = *c;
    memcpy(name + used, ".svg", sizeof ".svg");
}

void bench_figure_caption(const bench_results *results, const char *paper, size_t variant,
                          char text[BENCH_NAME_SIZE]) {
    const char *of = results->views[variant].name;
    snprintf(text, BENCH_NAME_SIZE, "%.100s%s%.50s%s%.30s", results->bench->suite.title,
             *of ? ", " : "", of, paper ? "; claims: " : "", paper ? paper : "");
}
