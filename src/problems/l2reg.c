/* Choosing penalties: a linear model with an l2 penalty for each feature, each class, each group of
 * features, or one for all, so that the loss on validation rows is least.
 *
 *   g(x, y) = mean_train loss(y) + scale/2 sum_j exp(x_group(j)) y_j^2
 *   f(x, y) = mean_val loss(y)
 *
 * H v = mean Hessian v + ridge o v,   (J v)_k = scale exp(x_k) sum_{j in group k} y_j v_j,
 * where ridge_j = scale exp(x_group(j)). J needs no data. A batch takes rows of the loss; the
 * penalty is whole on every batch. */
#include "problems/l2reg.h"
#include "problems/builtin_problems.h"
#include "problems/lower_oracles.h"
#include "problems/raw.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PER_FEATURE, PER_CLASS, ONE, GROUPS };

typedef struct l2reg {
    linear_model model;
    int penalty;
    size_t penalties;
    uint32_t *group; /* of each column, for GROUPS */
    double scale, lo, hi;
} l2reg;

static bool is_dense(const l2reg *p) {
    return blv_dataset_view_of(p->model.data.train)->dense != NULL;
}

/* work->penalty = scale exp(x), and the ridge of each column of y where groups share one. */
static void set_penalties(const l2reg *p, const void *x, linear_work *work) {
    const linear_model *m = &p->model;
    m->loops->exp_scaled(p->penalties, p->scale, x, work->penalty);
    if (p->penalty != GROUPS)
        return;
    for (size_t j = 0; j < m->columns; j++)
        set_element(work->ridge, m->precision, j,
                    element(work->penalty, m->precision, p->group[j]));
}

static void set_ridge(const l2reg *p, const linear_work *work, blv_sweep *pass) {
    switch (p->penalty) {
    case PER_FEATURE:
        pass->ridge_column = work->penalty;
        break;
    case PER_CLASS:
        pass->ridge_class = work->penalty;
        break;
    case GROUPS:
        pass->ridge_column = work->ridge;
        break;
    default:
        pass->ridge = element(work->penalty, p->model.precision, 0);
    }
}

/* out_k = factor penalty_k sum u_j v_j over the entries j of y that penalty k is for. */
static void penalty_products(const l2reg *p, linear_work *work, const void *u, const void *v,
                             double factor, void *out) {
    const linear_model *m = &p->model;
    const blv_element_loops *loops = m->loops;
    bool dense = is_dense(p);
    switch (p->penalty) {
    case PER_FEATURE:
        loops->column_products(m->columns, m->classes, !dense, factor, work->penalty, u, v, out);
        break;
    case PER_CLASS:
        loops->column_products(m->classes, m->columns, dense, factor, work->penalty, u, v, out);
        break;
    case GROUPS:
        loops->column_products(m->columns, m->classes, !dense, factor, work->ridge, u, v,
                               work->column);
        memset(work->sums, 0, p->penalties * sizeof *work->sums);
        for (size_t j = 0; j < m->columns; j++)
            work->sums[p->group[j]] += element(work->column, m->precision, j);
        for (size_t k = 0; k < p->penalties; k++)
            set_element(out, m->precision, k, work->sums[k]);
        break;
    default:
        loops->column_products(1, m->columns * m->classes, 1, factor, work->penalty, u, v, out);
    }
}

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    l2reg *p = user;
    return linear_upper(&p->model, batch, x, y, f, fx, fy);
}

static void data_pass(const l2reg *p, const blv_batch *batch, const blv_vec *y, const blv_vec *v,
                      double *loss, blv_vec *gy, blv_vec *hv, linear_work *work) {
    blv_rows rows = linear_rows(p->model.data.train, batch);
    blv_sweep pass = {.classes = p->model.classes,
                      .w = raw(y),
                      .v = hv ? raw(v) : NULL,
                      .scale = 1.0 / (double)rows.count,
                      .keep = true,
                      .loss = loss,
                      .gradient = gy ? raw_mut(gy) : NULL,
                      .hessian = hv ? raw_mut(hv) : NULL};
    set_ridge(p, work, &pass);
    linear_pass(&p->model, &rows, &pass, work);
}

static int lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *g,
                 blv_vec *gx, blv_vec *gy) {
    l2reg *p = user;
    linear_work *work = linear_work_take(&p->model);
    if (!work)
        return -1;
    double loss = 0.0;
    set_penalties(p, raw(x), work);
    if (g || gy)
        data_pass(p, batch, y, NULL, g ? &loss : NULL, gy, NULL, work);
    if (g || gx) {
        void *halves = gx ? raw_mut(gx) : work->halves; /* gx_k is what penalty k adds to g */
        penalty_products(p, work, raw(y), raw(y), 0.5, halves);
        if (g)
            *g = loss + p->model.loops->sum(p->penalties, halves);
    }
    linear_work_return(&p->model, work);
    return 0;
}

static int lower_all(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     const blv_vec *v, blv_vec *gy, blv_vec *hv, blv_vec *jv) {
    l2reg *p = user;
    linear_work *work = linear_work_take(&p->model);
    if (!work)
        return -1;
    set_penalties(p, raw(x), work);
    if (gy || hv)
        data_pass(p, batch, y, v, NULL, gy, hv, work);
    if (jv)
        penalty_products(p, work, raw(y), raw(v), 1.0, raw_mut(jv));
    linear_work_return(&p->model, work);
    return 0;
}

LOWER_PRODUCTS_FROM_ALL

static int project(void *user, blv_vec *x) {
    const l2reg *p = user;
    blv_vec_clamp(x, p->lo, p->hi);
    return 0;
}

static int measure(void *user, const blv_vec *x, const blv_vec *y, double *values) {
    l2reg *p = user;
    (void)x;
    return linear_measure(&p->model, y, values);
}

static void destroy(void *user) {
    l2reg *p = user;
    linear_model_close(&p->model);
    free(p->group);
    free(p);
}

static const char *const measures[] = {"val_loss", "val_accuracy", "test_loss", "test_accuracy",
                                       NULL};

/* ---- Groups: a file with one group number for each feature ---- */

static blv_error refuse(blv_message *why, blv_error error, const char *name, const char *text) {
    if (why)
        snprintf(why->text, sizeof why->text, "problem %s: %s", name, text);
    return error;
}

static blv_error bad_groups(blv_message *why, blv_error error, const char *path, size_t line,
                            const char *text) {
    if (why)
        snprintf(why->text, sizeof why->text, "groups %.200s, line %zu: %s", path, line, text);
    return error;
}

static blv_error read_groups(l2reg *p, const char *path, blv_message *why) {
    FILE *file = fopen(path, "r");
    if (!file)
        return bad_groups(why, BLV_E_FILE, path, 0, strerror(errno));
    size_t columns = p->model.columns, count = 0;
    p->group = malloc(columns * sizeof *p->group);
    blv_error error = p->group ? BLV_OK : bad_groups(why, BLV_E_MEMORY, path, 0, "out of memory");
    char line[64];
    while (error == BLV_OK && fgets(line, sizeof line, file)) {
        char *digits = line + strspn(line, " \t"), *end;
        unsigned long group = strtoul(digits, &end, 10);
        end += strspn(end, " \t\r\n");
        if (*digits < '0' || *digits > '9' || *end || group >= columns)
            error = bad_groups(why, BLV_E_FORMAT, path, count + 1,
                               "expected a group number from 0, below the number of features");
        else if (count == columns)
            error = bad_groups(why, BLV_E_FORMAT, path, count + 1, "more lines than features");
        else
            p->group[count++] = (uint32_t)group;
        if (error == BLV_OK && group >= p->penalties)
            p->penalties = group + 1;
    }
    if (error == BLV_OK && ferror(file))
        error = bad_groups(why, BLV_E_FILE, path, count + 1, strerror(errno));
    fclose(file);
    if (error == BLV_OK && count < columns)
        error = bad_groups(why, BLV_E_FORMAT, path, count, "fewer lines than features");
    return error;
}

static uint64_t fingerprint(void *user) {
    const l2reg *p = user;
    return linear_fingerprint(&p->model.data);
}

static blv_error copy_groups(l2reg *p, const uint32_t *group, const char *name, blv_message *why) {
    size_t columns = p->model.columns;
    p->group = malloc(columns * sizeof *p->group);
    if (!p->group)
        return refuse(why, BLV_E_MEMORY, name, "out of memory");
    for (size_t j = 0; j < columns; j++) {
        if (group[j] >= columns)
            return refuse(why, BLV_E_VALUE, name, "a group number is not below the columns");
        p->group[j] = group[j];
        if (group[j] >= p->penalties)
            p->penalties = (size_t)group[j] + 1;
    }
    return BLV_OK;
}

/* ---- The family ---- */

#define FIELD(name) offsetof(l2reg_params, name)

static const blv_param params[] = {
    LINEAR_SOURCE_PARAMS(l2reg_params, source),
    {"loss", BLV_CHOICE, FIELD(loss), "auto", 0, 0, "auto|logistic|softmax",
     "auto: logistic for two classes, softmax for more"},
    {"penalty", BLV_CHOICE, FIELD(penalty), "per-feature", 0, 0, "per-feature|per-class|one|groups",
     "what each entry of x is the penalty of"},
    {"groups", BLV_TEXT, FIELD(groups), "", 0, 0, NULL,
     "file with the group of each feature on a line, for penalty = groups"},
    {"scale", BLV_REAL, FIELD(scale), "1", DBL_MIN, 1e12, "per-entry",
     "factor of the penalty; per-entry: 1 over the number of entries of y"},
    {"lo", BLV_REAL, FIELD(lo), "none", -1e6, 1e6, "none", "lower bound of x"},
    {"hi", BLV_REAL, FIELD(hi), "none", -1e6, 1e6, "none", "upper bound of x"},
    {NULL, BLV_REAL, 0, NULL, 0, 0, NULL, NULL},
};

static size_t penalty_count(const l2reg *p) {
    return p->penalty == PER_FEATURE ? p->model.columns
           : p->penalty == PER_CLASS ? p->model.classes
                                     : 1;
}

blv_error l2reg_make(const l2reg_params *q, const char *name, linear_data *data,
                     const blv_problem_options *options, blv_problem **problem, blv_message *why) {
    l2reg *p = calloc(1, sizeof *p);
    if (!p) {
        linear_data_destroy(data);
        return refuse(why, BLV_E_MEMORY, name, "out of memory");
    }
    blv_error error = linear_model_open(&p->model, data, (linear_loss)q->loss, name, options, why);
    if (error == BLV_OK) {
        p->penalty = q->penalty;
        p->penalties = penalty_count(p);
        p->scale = isnan(q->scale) ? 1.0 / (double)linear_model_dim(&p->model) : q->scale;
        p->lo = isnan(q->lo) ? -INFINITY : q->lo;
        p->hi = isnan(q->hi) ? INFINITY : q->hi;
        if (p->lo > p->hi)
            error = refuse(why, BLV_E_VALUE, name, "lo is above hi");
        else if (p->penalty == GROUPS && q->group_of)
            error = copy_groups(p, q->group_of, name, why);
        else if (p->penalty == GROUPS && !q->groups[0])
            error = refuse(why, BLV_E_VALUE, name, "penalty = groups needs groups = FILE");
        else if (p->penalty == GROUPS)
            error = read_groups(p, q->groups, why);
    }
    if (error != BLV_OK) {
        destroy(p);
        return error;
    }
    blv_problem_def def = linear_definition(&p->model, q->source.order, name);
    def.dim_x = p->penalties;
    def.user = p;
    def.free_user = destroy;
    def.upper = upper;
    def.lower = lower;
    def.lower_hvp = lower_hvp;
    def.lower_cross = lower_cross;
    def.lower_all = lower_all;
    def.project_x = isfinite(p->lo) || isfinite(p->hi) ? project : NULL;
    def.measure = measure;
    def.measures = measures;
    def.fingerprint = fingerprint;
    return blv_problem_create(problem, &def, why);
}

static blv_error create(const void *fields, const blv_problem_options *options,
                        blv_problem **problem, blv_message *why) {
    const l2reg_params *q = fields;
    linear_data data;
    blv_error error = linear_load(&q->source, "problem l2reg", options->precision, &data, why);
    return error == BLV_OK ? l2reg_make(q, "l2reg", &data, options, problem, why) : error;
}

const blv_problem_family blv_problem_l2reg = {
    BLV_SIZED(blv_problem_family),
    .name = "l2reg",
    .summary = "choose the l2 penalties of a linear classifier on validation rows",
    .formula = "f = mean loss on validation rows\n"
               "g = mean loss on training rows + scale/2 sum exp(x) y^2",
    .params_size = sizeof(l2reg_params),
    .params = params,
    .create = create,
};
