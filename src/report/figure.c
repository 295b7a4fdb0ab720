#include "report/figure.h"

#include "base/message.h"
#include "base/text_stream.h"
#include "store/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 1000 };

/* ---- Folds: rows of a run that is made of several, one after the other ---- */

/* The ridge that a run has chosen in the end; rows of others are left out. NaN: it chose none. */
static double chosen_ridge(const blv_stored_run *run) {
    static const blv_field fields[] = {{.name = "ridge", .kind = BLV_KIND_REAL}, {0}};
    double ridge = NAN;
    if (run->info->result)
        blv_record_parse(fields, &ridge, run->info->result, NULL);
    return ridge;
}

/* The last fold, from 1; 0: the run is a single one. */
static size_t folds_of(const blv_stored_run *run) {
    size_t rows = run->trace.rows;
    double last = rows > 0 ? blv_trace_at(&run->trace, rows - 1, "fold") : NAN;
    return last >= 1.0 ? (size_t)last : 0;
}

/* ---- What is drawn ---- */

typedef struct measure {
    const char *column;
    const char *label;
    bool from_best; /* its distance to the least known Phi */
    bool log;       /* on a logarithmic axis, whatever the values are */
} measure;

static double value_of(const measure *m, const blv_stored_run *run, size_t row) {
    double value = blv_trace_at(&run->trace, row, m->column);
    return m->from_best ? fabs(value - run->best) : value;
}

bool report_has_column(const blv_stored_run *run, const char *column) {
    for (size_t i = 0; i < run->trace.rows; i++)
        if (isfinite(blv_trace_at(&run->trace, i, column)))
            return true;
    return false;
}

static size_t runs_with(const blv_run_groups *set, const char *column) {
    size_t count = 0;
    for (size_t i = 0; i < set->count; i++)
        count += report_has_column(&set->runs[i], column);
    return count;
}

/* Every fold has a Phi of its own. */
static bool best_is_known(const blv_run_groups *set) {
    for (size_t i = 0; i < set->count; i++)
        if (!isfinite(set->runs[i].best) || folds_of(&set->runs[i]) > 0)
            return false;
    return set->count > 0;
}

static measure choose_measure(const blv_run_groups *set, const char *what) {
    if (strcmp(what, "phi") == 0) {
        bool certified = runs_with(set, "phi") == set->count, best = best_is_known(set);
        return (measure){.column = certified ? "phi" : "f",
                         .label = certified ? best ? "Phi(x) - best known Phi" : "Phi(x)"
                                  : best    ? "|f(x, y) - best known Phi|"
                                            : "f(x, y)",
                         .from_best = best,
                         .log = best};
    }
    if (strcmp(what, "grad") == 0) {
        bool certified = runs_with(set, "grad_norm") == set->count;
        return (measure){.column = certified ? "grad_norm" : "d_norm",
                         .label = certified ? "|grad Phi(x)|" : "|d|, the solver's own grad Phi",
                         .log = true};
    }
    if (strcmp(what, "accuracy") == 0) {
        bool test = runs_with(set, "test_accuracy") >= runs_with(set, "val_accuracy");
        return (measure){.column = test ? "test_accuracy" : "val_accuracy",
                         .label = test ? "accuracy on the test rows"
                                       : "accuracy on the validation rows"};
    }
    return (measure){.column = what, .label = what};
}

static bool is_listed_before(const blv_run_groups *set, size_t run, const char *column) {
    for (size_t i = 0; i < run; i++)
        if (report_has_column(&set->runs[i], column))
            return true;
    return false;
}

static blv_error reject_column(const blv_run_groups *set, const char *column, blv_message *why) {
    blv_nearest nearest = {.name = column};
    blv_text_stream names;
    const char *joint = "";
    FILE *out = blv_text_open(&names);
    for (size_t i = 0; out && i < set->count; i++)
        for (size_t c = 0; c < set->runs[i].trace.columns; c++) {
            const char *name = set->runs[i].trace.names[c];
            if (strchr(name, '[') || !report_has_column(&set->runs[i], name) ||
                is_listed_before(set, i, name))
                continue;
            blv_nearest_try(&nearest, name);
            fprintf(out, "%s%s", joint, name);
            joint = ", ";
        }
    char *list = blv_text_close(&names);
    const char *guess = nearest.best ? blv_nearest_guess(&nearest) : NULL;
    blv_error error = BLV_E_NAME;
    if (!list)
        error = BLV_E_MEMORY;
    else if (guess && strcmp(guess, column) != 0)
        blv_explain(why, error,
                    "no run has numbers in a column '%s'; did you mean '%s'? There are: %s", column,
                    guess, list);
    else
        blv_explain(why, error, "no run has numbers in a column '%s'; there are: %s", column,
                    *list ? list : "no rows at all");
    free(list);
    return error;
}

/* ---- One run: points in the order of x ---- */

typedef struct series {
    size_t count;
    double *x, *y;
} series;

static double place_of(const blv_trace *trace, size_t row, report_axis over) {
    static const char *const calls[] = {"f_grad", "g_grad", "hvp", "jvp", "values"};
    if (over == REPORT_OVER_TIME)
        return blv_trace_at(trace, row, "seconds");
    if (over == REPORT_OVER_ITERATIONS)
        return blv_trace_at(trace, row, "iteration");
    if (isfinite(blv_trace_at(trace, row, "calls")))
        return blv_trace_at(trace, row, "calls");
    double sum = 0.0;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        sum += blv_trace_at(trace, row, calls[i]);
    return sum;
}

/* What all curves of a figure are made with. */
typedef struct drawing {
    const blv_run_groups *set;
    measure m;
    report_axis over;
    double floor_y;    /* what a value of 0 is drawn at, on a logarithmic axis; NaN: it is linear */
    blv_arena scratch; /* for series and values of one curve at a time */
} drawing;

/* fold: 0 for a single run. */
static blv_error read_series(drawing *d, const blv_stored_run *run, size_t fold, series *s) {
    const blv_trace *trace = &run->trace;
    const double ridge = fold > 0 ? chosen_ridge(run) : NAN;
    *s = (series){.x = blv_arena_alloc(&d->scratch, trace->rows, sizeof *s->x),
                  .y = blv_arena_alloc(&d->scratch, trace->rows, sizeof *s->y)};
    if (!s->x || !s->y)
        return BLV_E_MEMORY;
    for (size_t i = 0; i < trace->rows; i++) {
        double x = place_of(trace, i, d->over), y = value_of(&d->m, run, i);
        double tried = blv_trace_at(trace, i, "ridge");
        bool discarded = isfinite(ridge) && isfinite(tried) && tried != ridge;
        if (fold > 0 && (blv_trace_at(trace, i, "fold") != (double)fold || discarded))
            continue;
        bool fits = isfinite(x) && isfinite(y) && !(y < 0.0 && isfinite(d->floor_y));
        if (!fits || (s->count > 0 && x < s->x[s->count - 1]))
            continue;
        s->x[s->count] = x;
        s->y[s->count++] = fmax(y, d->floor_y);
    }
    return BLV_OK;
}

/* Between two points along a straight line of the picture; after its end the last
 * value of the run; NaN before the first. */
static double series_at(const series *s, double x, bool log_y) {
    if (s->count == 0 || x < s->x[0])
        return NAN;
    size_t low = 0, high = s->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (s->x[middle] <= x)
            low = middle;
        else
            high = middle;
    }
    if (high == s->count || s->x[low] == x)
        return s->y[low];
    double t = (x - s->x[low]) / (s->x[high] - s->x[low]);
    return log_y ? exp((1.0 - t) * log(s->y[low]) + t * log(s->y[high]))
                 : (1.0 - t) * s->y[low] + t * s->y[high];
}

/* ---- Several runs: one curve ---- */

static int compare_numbers(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void report_sort(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare_numbers);
}

double report_quantile(const double *sorted, size_t count, double share) {
    double place = share * (double)(count - 1);
    size_t low = (size_t)place;
    if (low + 1 >= count)
        return sorted[count - 1];
    return sorted[low] + (place - (double)low) * (sorted[low + 1] - sorted[low]);
}

/* Where any of them has a point, thinned out where these are too many; the last one stays. Returns
 * their number, or 0 where memory is short. */
static size_t gather_places(blv_arena *arena, const series *all, size_t count, double **places) {
    size_t total = 0, used = 0;
    for (size_t i = 0; i < count; i++)
        total += all[i].count;
    double *x = *places = blv_arena_alloc(arena, total, sizeof *x);
    if (!x)
        return 0;
    for (size_t i = 0; i < count; i++) {
        memcpy(x + used, all[i].x, all[i].count * sizeof *x);
        used += all[i].count;
    }
    report_sort(x, total);
    used = 0;
    for (size_t i = 0; i < total; i++)
        if (used == 0 || x[i] > x[used - 1])
            x[used++] = x[i];
    size_t stride = used / MOST_POINTS + 1, kept = 0;
    for (size_t i = 0; i < used; i++)
        if (i % stride == 0 || i + 1 == used)
            x[kept++] = x[i];
    return kept;
}

static blv_error fill_curve(report_figure *figure, report_curve *curve, drawing *d,
                            const series *all, size_t count) {
    double *values = blv_arena_alloc(&d->scratch, count, sizeof *values);
    size_t points = gather_places(&figure->arena, all, count, &curve->x);
    double **bands[] = {&curve->low, &curve->median, &curve->high};
    static const double shares[] = {0.2, 0.5, 0.8};
    for (size_t b = 0; b < 3; b++)
        if (!(*bands[b] = blv_arena_alloc(&figure->arena, points, sizeof **bands[b])))
            return BLV_E_MEMORY;
    if (points == 0 || !values)
        return BLV_E_MEMORY;
    for (size_t k = 0; k < points; k++) {
        size_t found = 0;
        for (size_t i = 0; i < count; i++) {
            double value = series_at(&all[i], curve->x[k], figure->log_y);
            if (isfinite(value))
                values[found++] = value;
        }
        report_sort(values, found);
        for (size_t b = 0; b < 3; b++)
            (*bands[b])[k] = report_quantile(values, found, shares[b]);
    }
    curve->count = points;
    return BLV_OK;
}

/* The runs of a group, their folds apart. */
typedef struct group_series {
    size_t count, runs, folds; /* folds: those among the series that are */
    series *all;
} group_series;

static blv_error read_group(drawing *d, size_t g, group_series *group) {
    for (size_t i = 0; i < d->set->count; i++) {
        const blv_stored_run *run = &d->set->runs[i];
        size_t folds = folds_of(run), parts = folds > 0 ? folds : 1, before = group->count;
        for (size_t k = 0; k < parts && run->group == g; k++) {
            series one;
            BLV_CHECK(read_series(d, run, folds > 0 ? k + 1 : 0, &one));
            if (one.count == 0)
                continue;
            group->all = blv_arena_grow(&d->scratch, group->all, group->count, sizeof one);
            if (!group->all)
                return BLV_E_MEMORY;
            group->all[group->count++] = one;
        }
        group->runs += group->count > before;
        group->folds += folds > 0 ? group->count - before : 0;
    }
    return BLV_OK;
}

static char *label_of(blv_arena *arena, const char *label, const group_series *group) {
    char runs[48] = "", folds[48] = "";
    if (group->runs > 1)
        snprintf(runs, sizeof runs, ", %zu runs", group->runs);
    if (group->folds > 0)
        snprintf(folds, sizeof folds, ", %zu folds", group->folds);
    return blv_arena_print(arena, "%s%s%s", label, runs, folds);
}

static blv_error add_curve(report_figure *figure, drawing *d, size_t g) {
    group_series group = {0};
    BLV_CHECK(read_group(d, g, &group));
    if (group.count == 0)
        return BLV_OK;
    figure->curves =
        blv_arena_grow(&figure->arena, figure->curves, figure->count, sizeof *figure->curves);
    if (!figure->curves)
        return BLV_E_MEMORY;
    report_curve *curve = &figure->curves[figure->count++];
    *curve = (report_curve){.runs = group.count,
                            .label = label_of(&figure->arena, d->set->group[g].label, &group)};
    if (!curve->label)
        return BLV_E_MEMORY;
    return fill_curve(figure, curve, d, group.all, group.count);
}

/* ---- The figure ---- */

/* Whether the axis is logarithmic, and the least value that it then has. Of a column nothing is
 * known: positive numbers of very different size want such an axis. */
static bool wants_log(const blv_run_groups *set, const measure *m, double *floor_y) {
    double least = INFINITY, most = 0.0;
    *floor_y = INFINITY;
    for (size_t i = 0; i < set->count; i++)
        for (size_t k = 0; k < set->runs[i].trace.rows; k++) {
            double value = value_of(m, &set->runs[i], k);
            if (!isfinite(value))
                continue;
            least = fmin(least, value);
            most = fmax(most, value);
            if (value > 0.0)
                *floor_y = fmin(*floor_y, value);
        }
    return isfinite(*floor_y) && (m->log || (least > 0.0 && most > 100.0 * least));
}

static void describe(report_figure *figure, const drawing *d) {
    static const char *const x_labels[] = {[REPORT_OVER_TIME] = "seconds on the solver's clock",
                                           [REPORT_OVER_ITERATIONS] = "iterations",
                                           [REPORT_OVER_CALLS] =
                                               "oracle calls, counted for each sample"};
    const blv_run_info *info = d->set->runs[0].info;
    if (d->set->problems > 1)
        snprintf(figure->title, sizeof figure->title, "%zu problems", d->set->problems);
    else
        snprintf(figure->title, sizeof figure->title, "%.80s, dimension %zu in x and %zu in y",
                 info->problem ? info->problem : "-", info->dim_x, info->dim_y);
    snprintf(figure->x_label, sizeof figure->x_label, "%s", x_labels[d->over]);
    snprintf(figure->y_label, sizeof figure->y_label, "%s", d->m.label);
}

blv_error report_figure_make(report_figure *figure, const blv_run_groups *set, report_axis over,
                             const char *what, blv_message *why) {
    drawing d = {.set = set, .m = choose_measure(set, what), .over = over};
    *figure = (report_figure){.column = d.m.column};
    if (runs_with(set, d.m.column) == 0)
        return reject_column(set, d.m.column, why);
    figure->log_y = wants_log(set, &d.m, &d.floor_y);
    if (!figure->log_y)
        d.floor_y = NAN;
    describe(figure, &d);
    blv_error error = BLV_OK;
    for (size_t g = 0; g < set->groups && error == BLV_OK; g++) {
        error = add_curve(figure, &d, g);
        blv_arena_free(&d.scratch);
    }
    if (error != BLV_OK)
        report_figure_free(figure);
    return error;
}

void report_figure_thin(report_figure *figure, size_t most) {
    for (size_t i = 0; i < figure->count; i++) {
        report_curve *c = &figure->curves[i];
        const size_t count = c->count < most ? c->count : most;
        for (size_t k = 0; k < count && count > 1; k++) {
            const size_t from = k * (c->count - 1) / (count - 1);
            c->x[k] = c->x[from];
            c->median[k] = c->median[from];
            c->low[k] = c->low[from];
            c->high[k] = c->high[from];
        }
        c->count = count;
    }
}

void report_figure_free(report_figure *figure) {
    blv_arena_free(&figure->arena);
    *figure = (report_figure){0};
}
