/* The settings that a tuned entry is tried with, and which of them is chosen.
 *
 * An entry whose solver runs untuned too is tried so first, so that tuned is never worse than
 * untuned on what chooses. Then comes its grid: the one of the file, or at least LEAST_SETTINGS
 * settings spread by decades around the values that the untuned run found by itself. While the best
 * setting is at an edge of the grid, the grid grows there. What is best after a short time need not
 * be in the end: a final round of the best few and the untuned one over the whole limit decides. */
#include "bench/bench.h"

#include <math.h>
#include <string.h>

enum { LEAST_SETTINGS = 30, MOST_KEYS = 8, MOST_VALUES = 48, FINALISTS = 4 };
static const double widest_gap = 0.5, widest_span = 4.0; /* in decades */

/* A key of a grid and its values, in ascending order. */
typedef struct axis {
    const char *key;
    size_t count;
    double values[MOST_VALUES];
} axis;

static bool is_tuning(const bench_job *job, size_t variant, size_t entry) {
    return job->kind == BENCH_TUNING && job->variant == variant && job->entry == entry;
}

const char *bench_judged_by(const bench_suite *suite) {
    const bool is_of_test = suite->has_command || strncmp(suite->metric, "test_", 5) == 0;
    return is_of_test ? suite->choose : suite->metric;
}

/* The least (or largest) end of those of a kind that came to one, but for `out` of them; the first
 * of several. */
static const bench_job *find_best(const bench *b, bench_job_kind kind, size_t variant, size_t entry,
                                  const bench_job *const *out, size_t out_count) {
    const char *what = kind == BENCH_FINAL ? bench_judged_by(&b->suite) : b->suite.choose;
    const bench_job *best = NULL;
    double best_value = NAN;
    for (size_t i = 0; i < b->job_count; i++) {
        const bench_job *job = &b->jobs[i];
        bool is_out = job->kind != kind || job->variant != variant || job->entry != entry;
        for (size_t k = 0; k < out_count; k++)
            is_out = is_out || job == out[k];
        if (is_out || !job->record || job->record->failed)
            continue;
        double value = bench_record_end(job->record, what);
        bool better = bench_more_is_better(what) ? value > best_value : value < best_value;
        if (isnan(value) || (best && !better))
            continue;
        best = job;
        best_value = value;
    }
    return best;
}

static const bench_job *best_tuning(const bench *b, size_t variant, size_t entry) {
    return find_best(b, BENCH_TUNING, variant, entry, NULL, 0);
}

const bench_job *bench_chosen(const bench *b, size_t variant, size_t entry) {
    const bench_job *best = find_best(b, BENCH_FINAL, variant, entry, NULL, 0);
    return best ? best : best_tuning(b, variant, entry);
}

static size_t count_tuning(const bench *b, size_t variant, size_t entry) {
    size_t count = 0;
    for (size_t i = 0; i < b->job_count; i++)
        count += is_tuning(&b->jobs[i], variant, entry);
    return count;
}

static blv_error add_setting(bench *b, size_t variant, size_t entry, const blv_values *own) {
    const bench_job job = {.kind = BENCH_TUNING,
                           .variant = variant,
                           .entry = entry,
                           .setting = count_tuning(b, variant, entry)};
    return bench_add_job(b, job, own);
}

/* The tuned entry of the same solver. */
static size_t tuned_entry(const bench_suite *suite, size_t entry) {
    for (size_t e = 0; e < suite->entry_count; e++)
        if (bench_has_grid(&suite->entries[e]) &&
            strcmp(suite->entries[e].solver, suite->entries[entry].solver) == 0)
            return e;
    return entry;
}

static blv_error multiply(const bench_job *chosen, const char *key, double factor,
                          blv_values *set) {
    const double own = blv_values_number(&chosen->set, key);
    const double found = blv_values_number(&chosen->record->used, key);
    const blv_value value = {.kind = BLV_VALUE_REAL, .real = factor * (isnan(own) ? found : own)};
    return isnan(value.real) ? BLV_OK : blv_values_set(set, key, &value);
}

blv_error bench_tuned_set(const bench *b, size_t variant, size_t entry, blv_values *set) {
    const size_t from = tuned_entry(&b->suite, entry);
    const bench_job *chosen = bench_chosen(b, variant, from);
    const double detuned = b->suite.entries[entry].detuned, factor = detuned == 1.0 ? 0.0 : detuned;
    const char *key;
    json_t *values;
    *set = (blv_values){0};
    if (!chosen)
        return BLV_E_NAME;
    BLV_CHECK(blv_values_copy(set, &chosen->set));
    for (size_t k = 0; k < b->suite.entries[from].tuned.count && factor > 0.0; k++)
        BLV_CHECK(multiply(chosen, b->suite.entries[from].tuned.items[k], factor, set));
    json_object_foreach(b->suite.entries[from].grid, key, values) {
        if (factor > 0.0)
            BLV_CHECK(multiply(chosen, key, factor, set));
    }
    return BLV_OK;
}

/* ---- What can be tried at once ---- */

blv_error bench_plan_tuning(bench *b, size_t variant, size_t entry) {
    const bench_entry *e = &b->suite.entries[entry];
    if (e->detuned > 0.0)
        return BLV_OK;
    if (e->untuned)
        BLV_CHECK(add_setting(b, variant, entry, e->untuned));
    for (size_t i = 0; i < bench_suite_grid_size(&b->suite, e); i++) {
        blv_values own;
        BLV_CHECK(bench_suite_grid_at(e, i, &own));
        blv_error error = add_setting(b, variant, entry, &own);
        blv_values_free(&own);
        BLV_CHECK(error);
    }
    return BLV_OK;
}

/* ---- Products of axes ---- */

/* Combination i of the axes, on top of the entry's own settings. Whole numbers stay whole. */
static blv_error add_combination(bench *b, size_t variant, size_t entry, const axis *axes,
                                 size_t count, size_t i) {
    blv_values own;
    blv_error error = blv_values_copy(&own, &b->suite.entries[entry].set);
    for (size_t k = 0; k < count && error == BLV_OK; k++) {
        const double number = axes[k].values[i % axes[k].count];
        blv_value value = {.kind = BLV_VALUE_REAL, .real = number};
        if (number == floor(number) && fabs(number) < 1e15)
            value = (blv_value){.kind = BLV_VALUE_INT, .whole = (int64_t)number};
        error = blv_values_set(&own, axes[k].key, &value);
        i /= axes[k].count;
    }
    if (error == BLV_OK)
        error = add_setting(b, variant, entry, &own);
    blv_values_free(&own);
    return error;
}

/* All combinations, at most as many as the suite allows. */
static blv_error add_product(bench *b, size_t variant, size_t entry, const axis *axes,
                             size_t count) {
    size_t product = 1;
    for (size_t k = 0; k < count; k++)
        product *= axes[k].count;
    for (size_t i = 0; i < product && i < b->suite.most_settings; i++)
        BLV_CHECK(add_combination(b, variant, entry, axes, count, i));
    return BLV_OK;
}

/* ---- Around automatic values ---- */

/* The same number of values for every key, so that there are enough combinations. */
static size_t values_of_a_key(size_t keys) {
    size_t values = 2;
    while (pow((double)values, (double)keys) < LEAST_SETTINGS)
        values++;
    return values;
}

/* Once, when the untuned run has come to its end. Nothing where it has not, or where a value is
 * none that factors make sense for. */
static blv_error plan_around(bench *b, size_t variant, size_t entry) {
    const bench_names *keys = &b->suite.entries[entry].tuned;
    const bench_job *untuned = best_tuning(b, variant, entry);
    const size_t count = keys->count < MOST_KEYS ? keys->count : MOST_KEYS;
    axis axes[MOST_KEYS];
    for (size_t k = 0; k < count; k++) {
        const double middle =
            untuned ? blv_values_number(&untuned->record->used, keys->items[k]) : (double)NAN;
        if (!(middle > 0.0))
            return BLV_OK;
        axes[k] = (axis){.key = keys->items[k], .count = values_of_a_key(count)};
        const double last = (double)(axes[k].count - 1);
        const double gap = fmin(widest_gap, widest_span / last);
        for (size_t i = 0; i < axes[k].count; i++)
            axes[k].values[i] = middle * pow(10.0, gap * ((double)i - 0.5 * last));
    }
    return add_product(b, variant, entry, axes, count);
}

/* ---- Beyond an edge ---- */

static void insert_value(axis *a, double value) {
    size_t at = 0;
    while (at < a->count && a->values[at] < value)
        at++;
    if (a->count == MOST_VALUES || (at < a->count && a->values[at] == value))
        return;
    memmove(a->values + at + 1, a->values + at, (a->count - at) * sizeof *a->values);
    a->values[at] = value;
    a->count++;
}

/* The values that were tried. What is no number has none. */
static axis find_axis(const bench *b, size_t variant, size_t entry, const char *key) {
    axis found = {.key = key};
    for (size_t i = 0; i < b->job_count; i++) {
        const double value = is_tuning(&b->jobs[i], variant, entry)
                                 ? blv_values_number(&b->jobs[i].set, key)
                                 : (double)NAN;
        if (value > 0.0)
            insert_value(&found, value);
    }
    return found;
}

static size_t find_axes(const bench *b, size_t variant, size_t entry, axis axes[MOST_KEYS]) {
    const bench_entry *e = &b->suite.entries[entry];
    size_t count = 0;
    const char *key;
    json_t *values;
    for (size_t i = 0; i < e->tuned.count && count < MOST_KEYS; i++)
        axes[count++] = find_axis(b, variant, entry, e->tuned.items[i]);
    json_object_foreach(e->grid, key, values) {
        if (count < MOST_KEYS)
            axes[count++] = find_axis(b, variant, entry, key);
    }
    return count;
}

/* The value that follows the edge where `best` is, as far away as its neighbour; NaN: it is at
 * none. */
static double beyond_edge(const axis *a, double best) {
    const size_t last = a->count - 1;
    double next = NAN;
    if (a->count < 2 || a->count == MOST_VALUES)
        return next;
    if (best == a->values[last])
        next = best * (best / a->values[last - 1]);
    else if (best == a->values[0])
        next = best * (best / a->values[1]);
    return next == floor(next) || best != floor(best) ? next : round(next);
}

/* Where the best setting is at an edge, the combinations with the value beyond it. One key at a
 * time, so that the grid stays a product. */
static blv_error grow_grid(bench *b, size_t variant, size_t entry) {
    const bench_job *best = best_tuning(b, variant, entry);
    axis axes[MOST_KEYS];
    const size_t count = best ? find_axes(b, variant, entry, axes) : 0;
    for (size_t k = 0; k < count; k++)
        if (axes[k].count == 0)
            return BLV_OK;
    for (size_t k = 0; k < count; k++) {
        const double next = beyond_edge(&axes[k], blv_values_number(&best->set, axes[k].key));
        if (isnan(next) || !(next > 0.0) || !isfinite(next))
            continue;
        axes[k].count = 1;
        axes[k].values[0] = next;
        return add_product(b, variant, entry, axes, count);
    }
    return BLV_OK;
}

static blv_error plan_more(bench *b, size_t variant, size_t entry) {
    const size_t tried = count_tuning(b, variant, entry);
    if (b->suite.entries[entry].tuned.count > 0 && tried == 1)
        return plan_around(b, variant, entry);
    const bool may_grow = b->suite.most_settings == SIZE_MAX && !b->suite.has_command;
    return may_grow && tried > 1 ? grow_grid(b, variant, entry) : BLV_OK;
}

static blv_error plan_each(bench *b, blv_error (*plan)(bench *b, size_t variant, size_t entry)) {
    for (size_t v = 0; v < b->suite.variant_count; v++)
        for (size_t e = 0; e < b->suite.entry_count; e++)
            if (bench_has_grid(&b->suite.entries[e]))
                BLV_CHECK(plan(b, v, e));
    return BLV_OK;
}

blv_error bench_plan_more_tuning(bench *b, bool *added) {
    const size_t before = b->job_count;
    BLV_CHECK(plan_each(b, plan_more));
    *added = b->job_count > before;
    return BLV_OK;
}

/* ---- The final round ---- */

/* The settings are copied first: jobs move when one is added. */
static blv_error add_final(bench *b, const bench_job *from) {
    bench_job job = {.kind = BENCH_FINAL,
                     .variant = from->variant,
                     .entry = from->entry,
                     .setting = from->setting};
    blv_values set;
    blv_error error = blv_values_copy(&set, &from->set);
    if (error == BLV_OK)
        error = bench_add_job(b, job, &set);
    blv_values_free(&set);
    return error;
}

static blv_error plan_final(bench *b, size_t variant, size_t entry) {
    const bench_job *taken[FINALISTS + 1];
    size_t indices[FINALISTS + 1], count = 0;
    bool has_untuned = !b->suite.entries[entry].untuned;
    while (count < FINALISTS &&
           (taken[count] = find_best(b, BENCH_TUNING, variant, entry, taken, count))) {
        has_untuned = has_untuned || taken[count]->setting == 0;
        count++;
    }
    for (size_t i = 0; i < b->job_count && count > 0 && !has_untuned; i++)
        if (is_tuning(&b->jobs[i], variant, entry) && b->jobs[i].setting == 0) {
            taken[count++] = &b->jobs[i];
            has_untuned = true;
        }
    for (size_t k = 0; k < count; k++)
        indices[k] = (size_t)(taken[k] - b->jobs);
    for (size_t k = 0; k < count; k++)
        BLV_CHECK(add_final(b, &b->jobs[indices[k]]));
    return BLV_OK;
}

blv_error bench_plan_final(bench *b) {
    const bench_limit *tuning = &b->suite.tuning, *whole = &b->suite.limit;
    if (b->suite.has_command || (tuning->kind == whole->kind && tuning->amount >= whole->amount))
        return BLV_OK;
    return plan_each(b, plan_final);
}
