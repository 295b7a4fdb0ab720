#include "cli_figure.h"
#include "cli_runs.h"
#include "cli_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 1000 };

/* ---- Columns of the trace ---- */

/* NAME, or NAME[3] for an element of an array; NaN where there is no number. */
static double number_at(const json_t *row, const char *column) {
    const json_t *value = json_object_get(row, column);
    const char *bracket = strchr(column, '[');
    if (!value && bracket) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(bracket - column), column);
        char *end = NULL;
        unsigned long long index = strtoull(bracket + 1, &end, 10);
        if (strcmp(end, "]") == 0)
            value = json_array_get(json_object_get(row, name), (size_t)index);
    }
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static bool has_column(const cli_stored_run *run, const char *column) {
    size_t i;
    json_t *row;
    json_array_foreach(run->rows, i, row) {
        if (isfinite(number_at(row, column)))
            return true;
    }
    return false;
}

static size_t runs_with(const cli_stored *stored, const char *column) {
    size_t count = 0;
    for (size_t i = 0; i < stored->count; i++)
        count += has_column(&stored->runs[i], column);
    return count;
}

/* ---- Folds: rows of a run that is made of several, one after the other ---- */

/* A row of a ridge that was tried and not chosen. */
static bool is_discarded(const cli_stored_run *run, const json_t *row) {
    double chosen = number_at(json_object_get(run->run, "result"), "ridge");
    double ridge = number_at(row, "ridge");
    return isfinite(chosen) && isfinite(ridge) && ridge != chosen;
}

/* The last fold, from 1; 0: the run is a single one. */
static size_t folds_of(const cli_stored_run *run) {
    size_t rows = json_array_size(run->rows);
    double last = rows > 0 ? number_at(json_array_get(run->rows, rows - 1), "fold") : NAN;
    return last >= 1.0 ? (size_t)last : 0;
}

/* ---- What is drawn ---- */

typedef struct measure {
    const char *column;
    const char *label;
    bool from_best; /* its distance to the least known Phi */
    bool log;       /* on a logarithmic axis, whatever the values are */
} measure;

static double value_of(const measure *m, const cli_stored_run *run, const json_t *row) {
    double value = number_at(row, m->column);
    return m->from_best ? fabs(value - run->best) : value;
}

/* Every fold has a Phi of its own. */
static bool best_is_known(const cli_stored *stored) {
    for (size_t i = 0; i < stored->count; i++)
        if (!isfinite(stored->runs[i].best) || folds_of(&stored->runs[i]) > 0)
            return false;
    return stored->count > 0;
}

static measure choose(const cli_stored *stored, const char *what) {
    if (strcmp(what, "phi") == 0) {
        bool certified = runs_with(stored, "phi") == stored->count, best = best_is_known(stored);
        return (measure){.column = certified ? "phi" : "f",
                         .label = certified ? best ? "Phi(x) - best known Phi" : "Phi(x)"
                                  : best    ? "|f(x, y) - best known Phi|"
                                            : "f(x, y)",
                         .from_best = best,
                         .log = best};
    }
    if (strcmp(what, "grad") == 0) {
        bool certified = runs_with(stored, "grad_norm") == stored->count;
        return (measure){.column = certified ? "grad_norm" : "d_norm",
                         .label = certified ? "|grad Phi(x)|" : "|d|, the solver's own grad Phi",
                         .log = true};
    }
    if (strcmp(what, "accuracy") == 0) {
        bool test = runs_with(stored, "test_accuracy") >= runs_with(stored, "val_accuracy");
        return (measure){.column = test ? "test_accuracy" : "val_accuracy",
                         .label = test ? "accuracy on the test rows"
                                       : "accuracy on the validation rows"};
    }
    return (measure){.column = what, .label = what};
}

static json_t *columns_of(const cli_stored *stored) {
    json_t *columns = json_object(), *row, *value;
    const char *name;
    for (size_t i = 0; i < stored->count; i++) {
        size_t k;
        json_array_foreach(stored->runs[i].rows, k, row) {
            json_object_foreach(row, name, value) {
                if (json_is_number(value))
                    json_object_set_new(columns, name, json_true());
            }
        }
    }
    return columns;
}

static int refuse_column(const cli_stored *stored, const char *column) {
    json_t *columns = columns_of(stored), *value;
    cli_nearest nearest = {.word = column};
    cli_text names;
    const char *name, *joint = "";
    FILE *out = cli_text_begin(&names);
    json_object_foreach(columns, name, value) {
        cli_nearest_try(&nearest, name);
        fprintf(out, "%s%s", joint, name);
        joint = ", ";
    }
    char *list = cli_text_end(&names);
    if (nearest.best && strcmp(nearest.best, column) != 0)
        cli_complain("no run has numbers in a column '%s'; did you mean '%s'? There are: %s",
                     column, nearest.best, list);
    else
        cli_complain("no run has numbers in a column '%s'; there are: %s", column,
                     *list ? list : "no rows at all");
    free(list);
    json_decref(columns);
    return CLI_REFUSED;
}

/* ---- One run: points in the order of x ---- */

typedef struct series {
    size_t count;
    double *x, *y;
} series;

static double place_of(const json_t *row, cli_axis over) {
    static const char *const calls[] = {"f_grad", "g_grad", "hvp", "jvp", "values"};
    if (over == CLI_OVER_TIME)
        return number_at(row, "seconds");
    if (over == CLI_OVER_ITERATIONS)
        return number_at(row, "iteration");
    double sum = 0.0;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        sum += number_at(row, calls[i]);
    return sum;
}

/* fold: 0 for a single run. floor: what a value of 0 is drawn at, on a logarithmic axis; NaN: the
 * axis is linear. */
static series read_series(const cli_stored_run *run, size_t fold, const measure *m, cli_axis over,
                          double floor_y) {
    size_t rows = json_array_size(run->rows), i;
    series s = {.x = cli_alloc(rows, sizeof *s.x), .y = cli_alloc(rows, sizeof *s.y)};
    json_t *row;
    json_array_foreach(run->rows, i, row) {
        double x = place_of(row, over), y = value_of(m, run, row);
        if (fold > 0 && (number_at(row, "fold") != (double)fold || is_discarded(run, row)))
            continue;
        bool fits = isfinite(x) && isfinite(y) && !(y < 0.0 && isfinite(floor_y));
        if (!fits || (s.count > 0 && x < s.x[s.count - 1]))
            continue;
        s.x[s.count] = x;
        s.y[s.count++] = fmax(y, floor_y);
    }
    return s;
}

static void free_points(series *s) {
    free(s->x);
    free(s->y);
}

static void free_series(series *all, size_t count) {
    for (size_t i = 0; i < count; i++)
        free_points(&all[i]);
    free(all);
}

/* Between two points along a straight line of the picture; behind the end, where the run has
 * ended, its last value; NaN before the first. */
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

double cli_quantile(const double *sorted, size_t count, double share) {
    double place = share * (double)(count - 1);
    size_t low = (size_t)place;
    if (low + 1 >= count)
        return sorted[count - 1];
    return sorted[low] + (place - (double)low) * (sorted[low + 1] - sorted[low]);
}

/* Where any of them has a point, thinned out where these are too many; the last one stays. */
static size_t gather_places(const series *all, size_t count, double **places) {
    size_t total = 0, used = 0;
    for (size_t i = 0; i < count; i++)
        total += all[i].count;
    double *x = cli_alloc(total, sizeof *x);
    for (size_t i = 0; i < count; i++) {
        if (all[i].count > 0)
            memcpy(x + used, all[i].x, all[i].count * sizeof *x);
        used += all[i].count;
    }
    qsort(x, total, sizeof *x, compare_numbers);
    used = 0;
    for (size_t i = 0; i < total; i++)
        if (used == 0 || x[i] > x[used - 1])
            x[used++] = x[i];
    size_t stride = used / MOST_POINTS + 1, kept = 0;
    for (size_t i = 0; i < used; i++)
        if (i % stride == 0 || i + 1 == used)
            x[kept++] = x[i];
    *places = x;
    return kept;
}

static void fill_curve(cli_curve *curve, const series *all, size_t count, bool log_y) {
    double *places = NULL, *values = cli_alloc(count, sizeof *values);
    size_t points = gather_places(all, count, &places);
    curve->x = places;
    curve->median = cli_alloc(points, sizeof *curve->median);
    curve->low = cli_alloc(points, sizeof *curve->low);
    curve->high = cli_alloc(points, sizeof *curve->high);
    for (size_t k = 0; k < points; k++) {
        size_t found = 0;
        for (size_t i = 0; i < count; i++) {
            double value = series_at(&all[i], places[k], log_y);
            if (isfinite(value))
                values[found++] = value;
        }
        qsort(values, found, sizeof *values, compare_numbers);
        curve->median[k] = cli_quantile(values, found, 0.5);
        curve->low[k] = cli_quantile(values, found, 0.2);
        curve->high[k] = cli_quantile(values, found, 0.8);
    }
    curve->count = points;
    free(values);
}

/* The runs of a group, their folds apart. */
typedef struct group_series {
    size_t count, runs, folds; /* folds: those among the series that are */
    series *all;
} group_series;

static group_series read_group(const cli_stored *stored, size_t g, const measure *m, cli_axis over,
                               double floor_y) {
    group_series group = {0};
    for (size_t i = 0; i < stored->count; i++) {
        const cli_stored_run *run = &stored->runs[i];
        size_t folds = folds_of(run), parts = folds > 0 ? folds : 1, before = group.count;
        if (run->group != g)
            continue;
        group.all = cli_grow(group.all, group.count + parts, sizeof *group.all);
        for (size_t k = 0; k < parts; k++) {
            series one = read_series(run, folds > 0 ? k + 1 : 0, m, over, floor_y);
            if (one.count > 0)
                group.all[group.count++] = one;
            else
                free_points(&one);
        }
        group.runs += group.count > before;
        group.folds += folds > 0 ? group.count - before : 0;
    }
    return group;
}

static char *label_of(const char *label, const group_series *group) {
    if (group->folds > 0 && group->runs > 1)
        return cli_print("%s, %zu runs, %zu folds", label, group->runs, group->folds);
    if (group->folds > 0)
        return cli_print("%s, %zu folds", label, group->folds);
    return group->runs > 1 ? cli_print("%s, %zu runs", label, group->runs) : cli_print("%s", label);
}

static void add_curve(cli_figure *figure, const cli_stored *stored, size_t g, const measure *m,
                      cli_axis over, double floor_y) {
    group_series group = read_group(stored, g, m, over, floor_y);
    if (group.count > 0) {
        figure->curves = cli_grow(figure->curves, figure->count + 1, sizeof figure->curves[0]);
        cli_curve *curve = &figure->curves[figure->count++];
        *curve =
            (cli_curve){.runs = group.count, .label = label_of(stored->group[g].label, &group)};
        fill_curve(curve, group.all, group.count, figure->log_y);
    }
    free_series(group.all, group.count);
}

/* ---- The figure ---- */

typedef struct extent {
    double least, least_positive, most;
} extent;

static extent measure_extent(const cli_stored *stored, const measure *m) {
    extent e = {INFINITY, INFINITY, 0.0};
    for (size_t i = 0; i < stored->count; i++) {
        size_t k;
        json_t *row;
        json_array_foreach(stored->runs[i].rows, k, row) {
            double value = value_of(m, &stored->runs[i], row);
            if (!isfinite(value))
                continue;
            e.least = fmin(e.least, value);
            e.most = fmax(e.most, value);
            if (value > 0.0)
                e.least_positive = fmin(e.least_positive, value);
        }
    }
    return e;
}

/* Of a column nothing is known: positive numbers of very different size want a logarithmic axis. */
static bool wants_log(const extent *e, const measure *m) {
    if (!isfinite(e->least_positive))
        return false;
    return m->log || (e->least > 0.0 && e->most > 100.0 * e->least);
}

static void describe(cli_figure *figure, const cli_stored *stored, const measure *m,
                     cli_axis over) {
    static const char *const x_labels[] = {[CLI_OVER_TIME] = "seconds on the solver's clock",
                                           [CLI_OVER_ITERATIONS] = "iterations",
                                           [CLI_OVER_CALLS] =
                                               "oracle calls, counted for each sample"};
    const json_t *run = stored->runs[0].run;
    const char *problem = cli_run_text(run, "problem");
    if (stored->problems > 1)
        snprintf(figure->title, sizeof figure->title, "%zu problems", stored->problems);
    else
        snprintf(figure->title, sizeof figure->title,
                 "%.80s, dimension %" JSON_INTEGER_FORMAT " in x and %" JSON_INTEGER_FORMAT " in y",
                 problem ? problem : "-", json_integer_value(json_object_get(run, "dim_x")),
                 json_integer_value(json_object_get(run, "dim_y")));
    snprintf(figure->x_label, sizeof figure->x_label, "%s", x_labels[over]);
    snprintf(figure->y_label, sizeof figure->y_label, "%s", m->label);
}

static void remark(const cli_stored *stored, const measure *m) {
    for (size_t i = 0; i < stored->count; i++)
        if (!has_column(&stored->runs[i], m->column))
            cli_complain("run %lld (%s) has no %s and is left out", (long long)stored->runs[i].id,
                         stored->group[stored->runs[i].group].label, m->column);
}

int cli_figure_make(cli_figure *figure, const cli_stored *stored, cli_axis over, const char *what,
                    bool quiet) {
    *figure = (cli_figure){0};
    measure m = choose(stored, what);
    if (runs_with(stored, m.column) == 0)
        return quiet ? CLI_REFUSED : refuse_column(stored, m.column);
    if (!quiet)
        remark(stored, &m);
    extent e = measure_extent(stored, &m);
    figure->log_y = wants_log(&e, &m);
    describe(figure, stored, &m, over);
    for (size_t g = 0; g < stored->groups; g++)
        add_curve(figure, stored, g, &m, over, figure->log_y ? e.least_positive : NAN);
    return CLI_DONE;
}

void cli_figure_free(cli_figure *figure) {
    for (size_t i = 0; i < figure->count; i++) {
        cli_curve *curve = &figure->curves[i];
        free(curve->label);
        free(curve->x);
        free(curve->median);
        free(curve->low);
        free(curve->high);
    }
    free(figure->curves);
    *figure = (cli_figure){0};
}
