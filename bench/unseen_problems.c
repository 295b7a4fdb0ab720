/* Recipes, seeded. */
#include "unseen_problems.h"
#include "unseen_terms.h"

#include <math.h>
#include <stdlib.h>

/* ---- Data ---- */

static unsigned long long state;

static double uniform(void) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(state >> 11) / 9007199254740992.0;
}

static double normal(void) {
    double sum = -6.0;
    for (int i = 0; i < 12; i++)
        sum += uniform();
    return sum;
}

static void random_numbers(double *to, size_t count, double size) {
    for (size_t i = 0; i < count; i++)
        to[i] = size * normal();
}

/* What rows of data are like. */
typedef struct design {
    loss loss;
    size_t rows, first, features; /* the features of y from `first` on */
    double spread;                /* decades between the sizes of features */
    double noise;                 /* of targets */
    double weight;                /* of each row */
    size_t scale;                 /* as in level */
    const double *truth;          /* what the targets were made from */
} design;

static bool is_label(loss kind) {
    return kind == LOGISTIC || kind == SQUARED_HINGE;
}

/* Of Poisson counts, whose second half is linear: e^s - n s. */
static void add_counts(level *m, const design *d, const double *a, double score) {
    const double count = floor(exp(fmin(score + d->noise * normal(), 5.0)) + uniform());
    size_t i = unseen_term(m, LINEAR, -d->weight * count, 0.0, d->scale);
    for (size_t j = 0; j < d->features; j++)
        unseen_with(&m->y, i, d->first + j, a[j]);
}

static void add_rows(level *m, const design *d) {
    double a[256];
    for (size_t r = 0; r < d->rows; r++) {
        double score = 0.0;
        for (size_t j = 0; j < d->features; j++) {
            a[j] = normal() * pow(10.0, -d->spread * (double)j / (double)d->features);
            score += a[j] * d->truth[j];
        }
        if (d->loss == EXPONENTIAL)
            add_counts(m, d, a, score);
        double target = score + d->noise * normal();
        double sign = is_label(d->loss) && target < 0.0 ? -1.0 : 1.0;
        bool has_shift = !is_label(d->loss) && d->loss != EXPONENTIAL;
        size_t i = unseen_term(m, d->loss, d->weight, has_shift ? target : 0.0, d->scale);
        for (size_t j = 0; j < d->features; j++)
            unseen_with(&m->y, i, d->first + j, sign * a[j]);
    }
}

/* weight loss(z_j - t_j) for each element of a vector; t may be NULL; with a penalty for each group
 * of so many elements where that is not 0. */
static void add_each(level *m, bool of_x, loss kind, size_t count, double weight, const double *t,
                     size_t in_a_group, size_t first_scale) {
    for (size_t j = 0; j < count; j++) {
        size_t scale = in_a_group > 0 ? 1 + first_scale + j / in_a_group : 0;
        size_t i = unseen_term(m, kind, weight, t ? t[j] : 0.0, scale);
        unseen_with(of_x ? &m->x : &m->y, i, j, 1.0);
    }
}

/* ---- The problems ---- */

typedef struct recipe {
    const char *name;
    size_t dim_x, dim_y;
    void (*make)(unseen *p, const struct recipe *r);
    loss loss;             /* of the lower level's rows */
    size_t rows, features; /* of it */
    bool sampled;          /* g is a mean over them */
    bool first_order;      /* neither Hv nor Jv */
    double low, high;      /* box; nan: none; equal: a simplex */
    double spread;
    unsigned long long seed;
} recipe;

/* Regression with a penalty for each group of features, validated on fresh rows. */
static void make_groups(unseen *p, const recipe *r) {
    double truth[256];
    const size_t n = r->features, group = n / r->dim_x;
    random_numbers(truth, n, 1.0 / sqrt((double)n));
    for (size_t j = 0; j < n; j++)
        truth[j] *= j / group % 3 == 0 ? 3.0 : 0.1;
    design d = {r->loss, r->rows, 0, n, r->spread, 0.5, 1.0, 0, truth};
    d.weight = r->sampled ? 1.0 : 1.0 / (double)r->rows;
    add_rows(&p->lower, &d);
    p->lower.samples = r->sampled ? r->rows : 0;
    add_each(&p->lower, false, SQUARE, n, 0.1, NULL, group, 0);
    d.rows = r->rows / 2;
    d.weight = r->sampled ? 1.0 : 1.0 / (double)d.rows;
    add_rows(&p->upper, &d);
    p->upper.samples = r->sampled ? d.rows : 0;
    add_each(&p->upper, true, SQUARE, r->dim_x, 1e-3, NULL, 0, 0);
}

/* A penalty that is nearly |y_j| for each feature. */
static void make_lasso(unseen *p, const recipe *r) {
    double truth[256];
    random_numbers(truth, r->features, 1.0);
    for (size_t j = 0; j < r->features; j++)
        truth[j] = j % 4 == 0 ? truth[j] : 0.0;
    design d = {r->loss, r->rows, 0, r->features, r->spread, 1.0, 1.0 / (double)r->rows, 0, truth};
    add_rows(&p->lower, &d);
    add_each(&p->lower, false, SMOOTH_ABS, r->features, 0.02, NULL, r->features / r->dim_x, 0);
    add_each(&p->lower, false, SQUARE, r->features, 1e-3, NULL, 0, 0);
    add_rows(&p->upper, &d);
    add_each(&p->upper, true, SQUARE, r->dim_x, 1e-3, NULL, 0, 0);
}

/* An ill-conditioned quadratic in turned axes with a quartic or another loss of each coordinate. */
static void make_turned(unseen *p, const recipe *r) {
    const size_t n = r->dim_y;
    double u[256], target[256];
    random_numbers(u, n, 1.0);
    random_numbers(target, n, 1.0);
    double square = 0.0;
    for (size_t j = 0; j < n; j++)
        square += u[j] * u[j];
    for (size_t k = 0; k < n; k++) { /* row k of I - 2 u u'/u'u, with its own weight */
        size_t i =
            unseen_term(&p->lower, SQUARE, pow(10.0, -r->spread * (double)k / (double)n), 0.0, 0);
        for (size_t j = 0; j < n; j++)
            unseen_with(&p->lower.y, i, j, (j == k ? 1.0 : 0.0) - 2.0 * u[k] * u[j] / square);
        unseen_with(&p->lower.x, i, k % r->dim_x, normal());
    }
    add_each(&p->lower, false, r->loss, n, 0.1, NULL, 0, 0);
    add_each(&p->upper, false, LOG_COSH, n, 1.0, target, 0, 0);
    add_each(&p->upper, true, SQUARE, r->dim_x, 0.01, NULL, 0, 0);
}

/* Targets that are moved, each by x_i, until the fit is near weights of somebody's choice. */
static void make_poisoned(unseen *p, const recipe *r) {
    double truth[256], wanted[256];
    random_numbers(truth, r->features, 1.0);
    random_numbers(wanted, r->features, 1.0);
    design d = {r->loss, r->rows, 0, r->features, r->spread, 0.3, 1.0 / (double)r->rows, 0, truth};
    add_rows(&p->lower, &d);
    rows *x = &p->lower.x; /* one number for each term so far */
    x->index = unseen_memory(x->index, r->rows, sizeof *x->index);
    x->value = unseen_memory(x->value, r->rows, sizeof *x->value);
    for (size_t i = 0; i < r->rows; i++)
        x->index[i] = i, x->value[i] = 1.0, x->start[i + 1] = i + 1;
    add_each(&p->lower, false, SQUARE, r->features, 0.01, NULL, 0, 0);
    add_each(&p->upper, false, SQUARE, r->features, 1.0, wanted, 0, 0);
    add_each(&p->upper, true, SQUARE, r->dim_x, 1e-5, NULL, 0, 0);
}

/* Weights of the samples, or of groups of them, a third of which are of another kind. */
static void make_weights(unseen *p, const recipe *r) {
    double truth[256], other[256];
    random_numbers(truth, r->features, 1.0);
    random_numbers(other, r->features, 1.0);
    p->plain_scale = true;
    const double all = r->low == r->high ? 1.0 : 1.0 / (double)r->dim_x;
    design d = {r->loss, r->rows / r->dim_x, 0, r->features, r->spread, 0.3, 1.0, 0, truth};
    for (size_t k = 0; k < r->dim_x; k++) {
        d.truth = k % 3 == 0 ? other : truth;
        d.scale = 1 + k;
        d.weight = all / (double)d.rows;
        add_rows(&p->lower, &d);
    }
    add_each(&p->lower, false, SQUARE, r->features, 0.02, NULL, 0, 0);
    d = (design){r->loss, r->rows / 8,           0, r->features, r->spread,
                 0.3,     8.0 / (double)r->rows, 0, truth};
    add_rows(&p->upper, &d);
    add_each(&p->upper, true, SQUARE, r->dim_x, 1e-4, NULL, 0, 0);
}

/* Tasks with few rows each, drawn to a prior x that they share. */
static void make_tasks(unseen *p, const recipe *r) {
    const size_t n = r->features, tasks = r->dim_y / n;
    double prior[256], truth[256];
    random_numbers(prior, n, 1.0);
    for (size_t t = 0; t < tasks; t++) {
        random_numbers(truth, n, 0.3);
        for (size_t j = 0; j < n; j++)
            truth[j] += prior[j];
        design d = {r->loss, r->rows, t * n, n, r->spread, 0.3, 1.0, 0, truth};
        add_rows(&p->lower, &d);
        for (size_t j = 0; j < n; j++) {
            size_t i = unseen_term(&p->lower, SQUARE, 1.0, 0.0, 0);
            unseen_with(&p->lower.y, i, t * n + j, 1.0);
            unseen_with(&p->lower.x, i, j, -1.0);
        }
        d.weight = 1.0 / (double)tasks;
        add_rows(&p->upper, &d);
    }
    add_each(&p->upper, true, SQUARE, r->dim_x, 1e-4, NULL, 0, 0);
}

/* A noisy signal or image of `features` columns, smoothed by penalties of first differences along
 * rows and columns and of second ones. */
static void make_signal(unseen *p, const recipe *r) {
    const size_t n = r->dim_y, wide = r->features;
    double *clean = unseen_memory(NULL, n, sizeof *clean),
           *noisy = unseen_memory(NULL, n, sizeof *noisy);
    for (size_t i = 0; i < n; i++) {
        clean[i] = (double)(i % wide / 37 % 3) + sin((double)(i / wide) / 9.0);
        noisy[i] = clean[i] + 0.3 * normal();
    }
    add_each(&p->lower, false, SQUARE, n, 1.0, noisy, 0, 0);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < r->dim_x; k++) {
            const size_t step = k == 1 && wide < n ? wide : 1;
            if (i + 2 * step >= n)
                continue;
            size_t t = unseen_term(&p->lower, k == 2 ? PSEUDO_HUBER : r->loss, 0.1, 0.0, 1 + k);
            unseen_with(&p->lower.y, t, i, 1.0);
            unseen_with(&p->lower.y, t, i + step, k == 2 ? -2.0 : -1.0);
            if (k == 2)
                unseen_with(&p->lower.y, t, i + 2, 1.0);
        }
    add_each(&p->upper, false, SQUARE, n, 1.0 / (double)n, clean, 0, 0);
    add_each(&p->upper, true, SQUARE, r->dim_x, 1e-4, NULL, 0, 0);
    free(clean);
    free(noisy);
}

/* States on a chain, or on a graph with `features` more edges, pushed by x; a loss bends them. */
static void make_control(unseen *p, const recipe *r) {
    const size_t n = r->dim_y, edges = n - 1 + r->features;
    double *wanted = unseen_memory(NULL, n, sizeof *wanted);
    for (size_t i = 0; i < n; i++)
        wanted[i] = sin(20.0 * (double)i / (double)n);
    for (size_t k = 0; k < edges; k++) {
        size_t i = unseen_term(&p->lower, SQUARE, pow(10.0, r->spread * (uniform() - 0.5)), 0.0, 0);
        unseen_with(&p->lower.y, i, k < n - 1 ? k : (size_t)(uniform() * (double)(n - 1)), 1.0);
        unseen_with(&p->lower.y, i, k < n - 1 ? k + 1 : (size_t)(uniform() * (double)(n - 1)),
                    -1.0);
    }
    for (size_t j = 0; j < n; j++) {
        size_t i = unseen_term(&p->lower, SQUARE, 0.3, 0.0, 0);
        unseen_with(&p->lower.y, i, j, 1.0);
        unseen_with(&p->lower.x, i, r->dim_x < n ? (size_t)(uniform() * (double)r->dim_x) : j,
                    -1.0);
    }
    add_each(&p->lower, false, r->loss, n, 0.2, NULL, 0, 0);
    add_each(&p->upper, false, SQUARE, n, 1.0, wanted, 0, 0);
    add_each(&p->upper, true, SQUARE, r->dim_x, 0.05, NULL, 0, 0);
    free(wanted);
}

#define NO_SET .low = NAN, .high = NAN

static const recipe development[] = {
    {"pair", 1, 1, make_turned, LOG_COSH, .first_order = true, NO_SET, .seed = 1},
    {"turned", 20, 60, make_turned, QUARTIC, .spread = 5.0, NO_SET, .seed = 2},
    {"turned, gradients", 5, 25, make_turned, QUARTIC, .first_order = true, .spread = 2.0, NO_SET,
     .seed = 3},
    {"robust groups", 10, 100, make_groups, PSEUDO_HUBER, 3000, 100, .sampled = true, .spread = 1.0,
     NO_SET, .seed = 4},
    {"many rows", 20, 20, make_groups, LOGISTIC, 50000, 20, .sampled = true, NO_SET, .seed = 5},
    {"counts", 5, 30, make_groups, EXPONENTIAL, 400, 30, .first_order = true, NO_SET, .seed = 6},
    {"lasso", 40, 80, make_lasso, SQUARE, 200, 80, .spread = 0.5, NO_SET, .seed = 7},
    {"lasso, gradients", 4, 40, make_lasso, LOG_COSH, 100, 40, .first_order = true, NO_SET,
     .seed = 8},
    {"poisoned", 300, 30, make_poisoned, PSEUDO_HUBER, 300, 30, .low = -2.0, .high = 2.0,
     .spread = 0.5, .seed = 9},
    {"mixture", 8, 25, make_weights, LOGISTIC, 2400, 25, .low = 0.0, .high = 0.0, .seed = 10},
    {"weights", 500, 20, make_weights, LOG_COSH, 500, 20, .low = 0.0, .high = 3.0, .seed = 11},
    {"tasks", 20, 1000, make_tasks, SQUARE, 10, 20, NO_SET, .seed = 12},
    {"tasks, 100,000", 50, 100000, make_tasks, LOG_COSH, 5, 50, NO_SET, .seed = 13},
    {"signal", 3, 20000, make_signal, SMOOTH_ABS, 0, 20000, NO_SET, .seed = 14},
    {"control", 5000, 5000, make_control, QUARTIC, 0, 0, .spread = 4.0, NO_SET, .seed = 15},
    {"bent fit", 10, 10, make_groups, TANH_SQUARE, 500, 10, NO_SET, .seed = 16},
};

static const recipe kept_aside[] = {
    {"pair", 1, 1, make_lasso, EXPONENTIAL, 7, 1, NO_SET, .seed = 101},
    {"turned", 40, 150, make_turned, PSEUDO_HUBER, .spread = 4.0, NO_SET, .seed = 102},
    {"turned, gradients", 10, 30, make_turned, EXPONENTIAL, .first_order = true, .spread = 3.0,
     NO_SET, .seed = 103},
    {"hinge groups", 8, 40, make_groups, SQUARED_HINGE, 2000, 40, .sampled = true, NO_SET,
     .seed = 104},
    {"many rows", 10, 50, make_groups, LOG_COSH, 30000, 50, .sampled = true, .spread = 1.0, NO_SET,
     .seed = 105},
    {"Cauchy groups", 20, 20, make_groups, CAUCHY, 600, 20, .first_order = true, NO_SET,
     .seed = 106},
    {"lasso", 120, 120, make_lasso, LOGISTIC, 300, 120, NO_SET, .seed = 107},
    {"poisoned", 800, 50, make_poisoned, LOG_COSH, 800, 50, .low = -1.0, .high = 3.0, .seed = 108},
    {"mixture", 30, 40, make_weights, PSEUDO_HUBER, 3000, 40, .low = 0.0, .high = 0.0,
     .spread = 1.0, .seed = 109},
    {"weights", 300, 15, make_weights, SQUARED_HINGE, 300, 15, .low = 0.0, .high = 2.0,
     .first_order = true, .seed = 110},
    {"tasks", 30, 3000, make_tasks, LOGISTIC, 12, 30, .first_order = true, NO_SET, .seed = 111},
    {"image", 2, 30000, make_signal, LOG_COSH, 0, 150, NO_SET, .seed = 112},
    {"control, 100,000", 40, 100000, make_control, QUARTIC, 0, 100000, .spread = 2.0, NO_SET,
     .seed = 113},
    {"bent fit", 12, 12, make_groups, SOFTPLUS_SQUARE, 500, 12, .first_order = true, NO_SET,
     .seed = 114},
};

blv_problem *unseen_problem(unseen_group group, size_t i, const char **name) {
    const recipe *list = group == UNSEEN_DEVELOPMENT ? development : kept_aside;
    const size_t count = group == UNSEEN_DEVELOPMENT ? sizeof development / sizeof *development
                                                     : sizeof kept_aside / sizeof *kept_aside;
    if (i >= count)
        return NULL;
    const recipe *r = &list[i];
    unseen *p = unseen_memory(NULL, 1, sizeof *p);
    *p = (unseen){.low = r->low, .high = r->high};
    state = r->seed;
    r->make(p, r);
    *name = r->name;
    return unseen_of(p, r->name, r->dim_x, r->dim_y, r->first_order);
}
