/* Regret: how long an entry needs until a share of the first gap of Phi is left, against the
 * fastest of all entries. The gap is certified; between two points it is taken to fall at a
 * constant rate. */
#include "bench/results.h"

#include <math.h>
#include <stdio.h>

const double bench_shares[BENCH_SHARES] = {0.1, 0.01, 0.001};

/* The seconds of a run until its gap is at most share times the first; infinite: it never was. */
static double seconds_until(const bench_record *record, double least_phi, double share) {
    double first = NAN, gap_before = NAN, seconds_before = 0.0;
    for (size_t i = 0; i < record->point_count; i++) {
        const double gap = blv_values_number(&record->points[i], "phi") - least_phi;
        const double seconds = blv_values_number(&record->points[i], "seconds");
        if (isnan(gap))
            continue;
        if (isnan(first))
            first = gap;
        const double level = share * first;
        if (gap <= level && gap_before > level) {
            const double way = log(gap_before / level) / log(gap_before / fmax(gap, 1e-3 * level));
            return seconds_before + way * (seconds - seconds_before);
        }
        gap_before = gap;
        seconds_before = seconds;
    }
    return INFINITY;
}

static double median_seconds(const bench_results *results, size_t v, size_t e, double share) {
    size_t count = 0;
    for (size_t i = 0; i < results->bench->job_count; i++) {
        const bench_record *record = bench_run_of(results, i, v, e);
        if (record && !record->rejected)
            results->numbers[count++] = seconds_until(record, results->views[v].least_phi, share);
    }
    return bench_band_of(results->numbers, count).median;
}

void bench_find_regret(const bench_results *results, size_t v, bench_view *view) {
    for (size_t k = 0; k < BENCH_SHARES; k++) {
        double best = INFINITY;
        for (size_t e = 0; e < view->count; e++) {
            bench_cell *cell = &view->cells[e];
            cell->seconds_left[k] = isnan(view->least_phi)
                                        ? (double)NAN
                                        : median_seconds(results, v, e, bench_shares[k]);
            best = fmin(best, cell->seconds_left[k]);
        }
        for (size_t e = 0; e < view->count; e++) {
            const double seconds = view->cells[e].seconds_left[k];
            /* where no entry gets there, there is nothing to divide by */
            view->cells[e].regret[k] = isinf(best)      ? (double)NAN
                                       : isinf(seconds) ? seconds
                                                        : seconds / best;
        }
        view->best_seconds[k] = best;
    }
}

/* ---- The table ---- */

static void put_cell(report_table *table, const bench_cell *cell) {
    const char *texts[1 + 2 * BENCH_SHARES] = {cell->id};
    for (size_t k = 0; k < BENCH_SHARES; k++) {
        const bool never = isinf(cell->seconds_left[k]);
        texts[1 + 2 * k] =
            never ? "never" : report_number(&table->arena, "%.3g", cell->seconds_left[k]);
        texts[2 + 2 * k] = never ? "-" : report_number(&table->arena, "%.2f", cell->regret[k]);
    }
    report_table_row(table, texts);
}

blv_error bench_print_regret(const bench_view *view, report_form form, FILE *out) {
    static const char *const titles[] = {"solver", "s to 10 %",  "x best", "s to 1 %",
                                         "x best", "s to 0.1 %", "x best"};
    if (isinf(view->best_seconds[0]))
        return BLV_OK;
    report_table table = {.align = "lrrrrrr"};
    report_table_row(&table, titles);
    for (size_t e = 0; e < view->count; e++)
        if (view->cells[e].runs > 0 && !isinf(view->cells[e].seconds_left[0]))
            put_cell(&table, &view->cells[e]);
    blv_error error = report_table_print(&table, form, 0, out);
    fputs(form == REPORT_AS_HTML ? "" : "\n", out);
    return error;
}

blv_error bench_put_regret(const bench_results *results, FILE *out) {
    fputs("suite,variant,entry,share,seconds,regret\n", out);
    for (size_t i = 0; i < results->cell_count; i++)
        for (size_t k = 0; k < BENCH_SHARES; k++) {
            const bench_cell *cell = &results->cells[i];
            if (isnan(cell->seconds_left[k]) || cell->runs == 0)
                continue;
            report_csv_text(out, "", results->bench->suite.name);
            report_csv_text(out, ",", cell->variant);
            report_csv_text(out, ",", cell->id);
            fprintf(out, ",%g,%.6g,%.6g\n", bench_shares[k], cell->seconds_left[k],
                    cell->regret[k]);
        }
    return BLV_OK;
}
