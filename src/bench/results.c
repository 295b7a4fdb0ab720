/* From the points of all runs to numbers for each entry: medians and bands over the seeds. */
#include "bench/results.h"

#include "report/figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- The least Phi ---- */

static void find_least_phi(const bench *b, size_t v, bench_view *view) {
    view->name = b->suite.variants[v].name;
    view->least_phi = NAN;
    const bench_least *least = bench_find_least(b, view->name);
    if (least) {
        view->least_phi = least->phi;
        snprintf(view->least_from, sizeof view->least_from, "%s", least->from ? least->from : "");
        return;
    }
    for (size_t i = 0; i < b->job_count; i++) {
        const bench_job *job = &b->jobs[i];
        for (size_t k = 0; job->variant == v && job->record && k < job->record->point_count; k++) {
            double phi = blv_values_number(&job->record->points[k], "phi");
            if (isnan(phi) || phi >= view->least_phi)
                continue;
            view->least_phi = phi;
            snprintf(view->least_from, sizeof view->least_from, "%s%s", bench_job_entry(b, job),
                     job->kind == BENCH_REFERENCE ? ", as the reference" : "");
        }
    }
}

/* ---- Numbers of one run ---- */

static double metric_at(const char *metric, const bench_view *view, const blv_values *point) {
    double value = blv_values_number(point, metric);
    return strcmp(metric, "phi") == 0 ? value - view->least_phi : value;
}

/* What is asked of a run: its metric or another number at the end, or at the first point that
 * reaches a level. */
typedef struct question {
    const char *name;   /* NULL: the metric */
    const char *metric; /* NULL: the suite's */
    bool at_level;
    double level;
} question;

/* The points within the share of the limit that counts, or not far behind it. */
static size_t counted_points(const bench_results *results, const bench_record *record) {
    static const char *const used[] = {
        [BENCH_SECONDS] = "seconds", [BENCH_CALLS] = "calls", [BENCH_ITERATIONS] = "iteration"};
    const bench_limit *limit = &results->bench->suite.limit;
    const double most = 1.1 * results->filter.share * limit->amount;
    size_t count = record->point_count;
    if (results->filter.share < 1.0 && !results->bench->suite.has_command)
        while (count > 1 && blv_values_number(&record->points[count - 1], used[limit->kind]) > most)
            count--;
    return count;
}

/* A run that failed has the worst value of the metric, one that does not reach the level has
 * infinite numbers there. */
static double answer(const question *q, const bench_results *results, const bench_view *view,
                     const bench_record *record) {
    const char *metric = q->metric ? q->metric : results->bench->suite.metric;
    const bool more = bench_more_is_better(metric);
    const size_t count = counted_points(results, record);
    if (!q->at_level && q->name)
        return blv_values_number(count > 0 ? &record->points[count - 1] : NULL, q->name);
    if (!q->at_level) {
        double value =
            count > 0 ? metric_at(metric, view, &record->points[count - 1]) : (double)NAN;
        return !record->failed && !isnan(value) ? value : more ? -INFINITY : INFINITY;
    }
    const double rounding = 1e-9 * fabs(q->level); /* of stored points */
    for (size_t i = 0; i < count; i++) {
        double value = metric_at(metric, view, &record->points[i]);
        if (more ? value >= q->level - rounding : value <= q->level + rounding)
            return blv_values_number(&record->points[i], q->name);
    }
    return INFINITY;
}

/* ---- Over the seeds ---- */

/* Between a finite and an infinite value there is nothing: the quantile is the infinite one. */
static double quantile(const double *sorted, size_t count, double share) {
    double place = share * (double)(count - 1);
    size_t low = (size_t)place, high = low + 1 < count ? low + 1 : low;
    if (place == (double)low || isinf(sorted[low]))
        return sorted[low];
    return isinf(sorted[high]) ? sorted[high] : report_quantile(sorted, count, share);
}

bench_band bench_band_of(double *numbers, size_t count) {
    if (count == 0)
        return (bench_band){NAN, NAN, NAN};
    report_sort(numbers, count);
    return (bench_band){quantile(numbers, count, 0.2), quantile(numbers, count, 0.5),
                        quantile(numbers, count, 0.8)};
}

/* The record of job i, where it is one of an entry's and of this kind; else NULL. */
static const bench_record *record_of(const bench *b, size_t i, size_t variant, size_t entry,
                                     bench_job_kind kind) {
    const bench_job *job = &b->jobs[i];
    bool is_it = job->kind == kind && job->variant == variant && job->entry == entry;
    return is_it ? job->record : NULL;
}

const bench_record *bench_run_of(const bench_results *results, size_t i, size_t variant,
                                 size_t entry) {
    const uint64_t group = results->filter.group;
    const bool counts = group == 0 || results->bench->jobs[i].seed % BENCH_GROUPS == group - 1;
    entry = results->sources[variant * results->bench->suite.entry_count + entry];
    return counts ? record_of(results->bench, i, variant, entry, BENCH_RUN) : NULL;
}

/* The answers of the runs of an entry; those that have none are left out. */
static bench_band ask(const bench_results *results, size_t v, size_t e, question q) {
    size_t count = 0;
    for (size_t i = 0; i < results->bench->job_count; i++) {
        const bench_record *record = bench_run_of(results, i, v, e);
        double number = record && !record->rejected
                            ? answer(&q, results, &results->views[v], record)
                            : (double)NAN;
        if (!isnan(number))
            results->numbers[count++] = number;
    }
    return bench_band_of(results->numbers, count);
}

bench_band bench_find_end(const bench_results *results, size_t variant, size_t entry,
                          const char *metric) {
    return ask(results, variant, entry, (question){.metric = metric});
}

bench_reach bench_reach_level(const bench_results *results, size_t variant, size_t entry,
                              const char *metric, double level) {
    return (bench_reach){ask(results, variant, entry, (question){"seconds", metric, true, level}),
                         ask(results, variant, entry, (question){"calls", metric, true, level})};
}

/* ---- One entry ---- */

static void add_tuning_cost(const bench *b, size_t v, size_t e, bench_cell *cell) {
    for (size_t i = 0; i < b->job_count; i++) {
        const bench_record *final = record_of(b, i, v, e, BENCH_FINAL);
        const bench_record *record = final ? final : record_of(b, i, v, e, BENCH_TUNING);
        if (!record)
            continue;
        cell->tried += final ? 0 : record->tried ? record->tried : 1;
        cell->finals += final ? 1 : record->finals;
        cell->grid_seconds += fmax(0.0, bench_record_end(record, "seconds"));
        cell->grid_calls += fmax(0.0, bench_record_end(record, "calls"));
    }
    const bool is_tuned = bench_has_grid(cell->entry);
    const bench_job *chosen = is_tuned ? bench_chosen(b, v, e) : NULL;
    cell->is_chosen = chosen != NULL;
    cell->chosen = chosen ? chosen->set : (blv_values){0};
    if (is_tuned && !chosen && !cell->rejected)
        cell->rejected = "no setting that was tried came to an end";
}

static void fill_cell(const bench_results *results, size_t v, size_t e, bench_cell *cell) {
    const bench *b = results->bench;
    const bench_names *show = &b->suite.show;
    cell->entry = &b->suite.entries[e];
    cell->is_untuned = results->sources[v * b->suite.entry_count + e] != e;
    cell->id = cell->entry->id;
    cell->variant = results->views[v].name;
    for (size_t i = 0; i < b->job_count; i++) {
        const bench_record *record = bench_run_of(results, i, v, e);
        if (record && record->rejected)
            cell->rejected = record->rejected;
        cell->runs += record && !record->rejected;
        cell->failed += record && !record->rejected && record->failed;
    }
    add_tuning_cost(b, v, e, cell);
    cell->value = bench_find_end(results, v, e, NULL);
    cell->seconds = ask(results, v, e, (question){.name = "seconds"}).median;
    cell->calls = ask(results, v, e, (question){.name = "calls"}).median;
    cell->iterations = ask(results, v, e, (question){.name = "iteration"}).median;
    for (size_t k = 0; k < show->count && k < BENCH_SHOWN_MAX; k++)
        cell->shown[k] = ask(results, v, e, (question){.name = show->items[k]}).median;
}

/* ---- Tuned or not ---- */

/* The untuned entry of the same solver; the entry itself where there is none. */
static size_t find_untuned(const bench_suite *suite, size_t entry) {
    const bench_entry *own = &suite->entries[entry];
    for (size_t e = 0; e < suite->entry_count && bench_has_grid(own); e++)
        if (strcmp(suite->entries[e].solver, own->solver) == 0 &&
            strcmp(strchr(suite->entries[e].id, '/'), "/untuned") == 0)
            return e;
    return entry;
}

/* Settings are chosen with one seed, on the clock. Where the untuned runs end better over all
 * seeds, the tuned entry shows these: what tuning is about decides, never test rows. */
static void find_sources(bench_results *results) {
    const bench_suite *suite = &results->bench->suite;
    const bench_filter filter = results->filter;
    results->filter = (bench_filter){.share = 1.0};
    for (size_t i = 0; i < results->cell_count; i++)
        results->sources[i] = i % suite->entry_count;
    for (size_t i = 0; i < results->cell_count; i++) {
        const size_t v = i / suite->entry_count, e = i % suite->entry_count;
        const size_t untuned = find_untuned(suite, e);
        if (untuned == e || strcmp(bench_judged_by(suite), suite->metric) != 0)
            continue;
        const double own = bench_find_end(results, v, e, NULL).median;
        const double other = bench_find_end(results, v, untuned, NULL).median;
        if (bench_more_is_better(suite->metric) ? other > own : other < own)
            results->sources[i] = untuned;
    }
    results->filter = filter;
}

/* ---- One variant ---- */

double bench_above_rounding(const bench_view *view, double level) {
    return isnan(view->first_gap) ? level : fmax(level, 1e-9 * view->first_gap);
}

/* The suite's, or what half of the entries reach in the end: the median of their medians. */
static double find_level(const bench_results *results, const bench_view *view) {
    size_t count = 0;
    for (size_t e = 0; e < view->count; e++)
        if (view->cells[e].runs > 0)
            results->numbers[count++] = view->cells[e].value.median;
    double level = results->bench->suite.level;
    return isnan(level) ? bench_above_rounding(view, bench_band_of(results->numbers, count).median)
                        : level;
}

/* The median over all runs. */
static double find_first_gap(const bench_results *results, size_t v, const bench_view *view) {
    const bench *b = results->bench;
    size_t count = 0;
    if (strcmp(b->suite.metric, "phi") != 0)
        return NAN;
    for (size_t i = 0; i < b->job_count; i++) {
        const bench_record *record = b->jobs[i].kind == BENCH_RUN ? b->jobs[i].record : NULL;
        if (!record || b->jobs[i].variant != v || record->point_count == 0)
            continue;
        results->numbers[count] = metric_at("phi", view, &record->points[0]);
        count += isnan(results->numbers[count]) ? 0 : 1;
    }
    return bench_band_of(results->numbers, count).median;
}

static void fill_view(const bench_results *results, size_t v, bench_view *view) {
    view->count = results->bench->suite.entry_count;
    view->cells = results->cells + v * view->count;
    for (size_t e = 0; e < view->count; e++)
        fill_cell(results, v, e, &view->cells[e]);
    view->first_gap = find_first_gap(results, v, view);
    view->level = find_level(results, view);
    for (size_t e = 0; e < view->count; e++)
        view->cells[e].reach = bench_reach_level(results, v, e, NULL, view->level);
    bench_find_regret(results, v, view);
}

static double processor_share(const bench_results *results) {
    const bench *b = results->bench;
    size_t count = 0;
    for (size_t i = 0; i < b->job_count; i++)
        if (b->jobs[i].record && !isnan(b->jobs[i].record->processor_share))
            results->numbers[count++] = b->jobs[i].record->processor_share;
    return bench_band_of(results->numbers, count).median;
}

blv_error bench_results_fill(bench_results *results, const bench *b, bench_filter filter) {
    const bench_suite *suite = &b->suite;
    *results = (bench_results){.bench = b,
                               .filter = filter,
                               .view_count = suite->variant_count,
                               .cell_count = suite->variant_count * suite->entry_count};
    blv_arena *arena = &results->arena;
    results->views = blv_arena_alloc(arena, results->view_count, sizeof *results->views);
    results->cells = blv_arena_alloc(arena, results->cell_count, sizeof *results->cells);
    results->numbers =
        blv_arena_alloc(arena, b->job_count + suite->entry_count, sizeof *results->numbers);
    results->sources = blv_arena_alloc(arena, results->cell_count + 1, sizeof *results->sources);
    if (arena->failed)
        return BLV_E_MEMORY;
    results->processor_share = processor_share(results);
    for (size_t v = 0; v < results->view_count; v++)
        find_least_phi(results->bench, v, &results->views[v]);
    find_sources(results);
    for (size_t v = 0; v < results->view_count; v++)
        fill_view(results, v, &results->views[v]);
    return bench_judge_claims(results);
}

blv_error bench_results_make(bench_results *results, const bench *b) {
    BLV_CHECK(bench_results_fill(results, b, (bench_filter){.share = 1.0}));
    return bench_settle_claims(results);
}

void bench_results_free(bench_results *results) {
    blv_arena_free(&results->arena);
    *results = (bench_results){0};
}
