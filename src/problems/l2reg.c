/* Choosing penalties: a linear model with an l2 penalty for each feature, each class, each group of
 * features, or one for all, so that the loss on validation rows is least.
 *
 *   g(x, y) = mean_train loss(y) + scale/2 sum_j exp(x_group(j)) y_j^2
 *   f(x, y) = mean_val loss(y)
 *
 * H v = mean Hessian v + ridge o v,   (J v)_k = scale exp(x_k) sum_{j in group k} y_j v_j,
 * where ridge_j = scale exp(x_group(j)). J needs no data. A batch takes rows of the loss; the penalty
 * is whole on every batch. */
#include "problems/l2reg.h"
#include "problems/raw.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PER_FEATURE, PER_CLASS, ONE, GROUPS };

typedef struct l2reg_params {
    linear_source source;
    int loss, penalty;
    char groups[BLV_TEXT_SIZE];
    double scale, lo, hi;
} l2reg_params;

typedef struct l2reg {
    linear_model model;
    int penalty;
    size_t penalties;
    uint32_t *group; /* of each column, for GROUPS */
    double scale, lo, hi;
} l2reg;

static double penalty_at(const l2reg *p, const void *x, size_t k) {
    return p->scale * exp(element(x, p->model.precision, k));
}

/* Sets the ridge of a pass from x. */
static void set_ridge(const l2reg *p, const void *x, linear_work *work, blv_pass *pass) {
    blv_precision precision = p->model.precision;
    if (p->penalty == ONE) {
        pass->ridge = penalty_at(p, x, 0);
        return;
    }
    size_t count = p->penalty == PER_CLASS ? p->model.classes : p->model.columns;
    for (size_t j = 0; j < count; j++)
        set_element(work->ridge, precision, j,
                    penalty_at(p, x, p->penalty == GROUPS ? p->group[j] : j));
    if (p->penalty == PER_CLASS)
        pass->ridge_class = work->ridge;
    else
        pass->ridge_column = work->ridge;
}

/* Calls visit(k, u_j v_j) for every entry j of y and its penalty k, as sums over entries of one
 * column or one class: out[k] += sum u_j v_j. */
static void add_products(const l2reg *p, const void *u, const void *v, double *out) {
    const linear_model *m = &p->model;
    bool dense = blv_dataset_view_of(m->data.train)->dense != NULL;
    blv_precision precision = m->precision;
    for (size_t j = 0; j < m->columns; j++)
        for (size_t c = 0; c < m->classes; c++) {
            size_t at = dense ? c * m->columns + j : j * m->classes + c;
            size_t k = p->penalty == PER_FEATURE ? j
                       : p->penalty == PER_CLASS ? c
                       : p->penalty == GROUPS    ? p->group[j]
                                                 : 0;
            out[k] += element(u, precision, at) * element(v, precision, at);
        }
}

/* scale exp(x_k) factor sum u_j v_j into out, a vector of x */
static int penalty_products(const l2reg *p, const blv_vec *x, const blv_vec *u, const blv_vec *v,
                            double factor, blv_vec *out, double *total) {
    double *sums = calloc(p->penalties, sizeof *sums);
    if (!sums)
        return -1;
    add_products(p, raw(u), raw(v), sums);
    double sum = 0.0;
    for (size_t k = 0; k < p->penalties; k++) {
        sums[k] *= factor * penalty_at(p, raw(x), k);
        sum += sums[k];
    }
    if (out)
        blv_vec_write(out, sums);
    if (total)
        *total = sum;
    free(sums);
    return 0;
}

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    l2reg *p = user;
    return linear_upper(&p->model, batch, x, y, f, fx, fy);
}

static int data_pass(l2reg *p, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     const blv_vec *v, double *loss, blv_vec *gy, blv_vec *hv) {
    linear_work *work = linear_work_take(&p->model);
    if (!work)
        return -1;
    blv_rows rows = linear_rows(p->model.data.train, batch);
    blv_pass pass = {.classes = p->model.classes,
                     .w = raw(y),
                     .v = hv ? raw(v) : NULL,
                     .scale = 1.0 / (double)rows.count,
                     .loss = loss,
                     .gradient = gy ? raw_mut(gy) : NULL,
                     .hessian = hv ? raw_mut(hv) : NULL};
    if (gy || hv)
        set_ridge(p, raw(x), work, &pass);
    linear_pass(&p->model, &rows, &pass, work);
    linear_work_return(&p->model, work);
    return 0;
}

static int lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *g,
                 blv_vec *gx, blv_vec *gy) {
    l2reg *p = user;
    double loss = 0.0, penalty = 0.0;
    if ((g || gy) && data_pass(p, batch, x, y, NULL, g ? &loss : NULL, gy, NULL) != 0)
        return -1;
    if ((g || gx) && penalty_products(p, x, y, y, 0.5, gx, &penalty) != 0)
        return -1;
    if (g)
        *g = loss + penalty;
    return 0;
}

static int lower_all(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     const blv_vec *v, blv_vec *gy, blv_vec *hv, blv_vec *jv) {
    l2reg *p = user;
    if ((gy || hv) && data_pass(p, batch, x, y, v, NULL, gy, hv) != 0)
        return -1;
    return jv ? penalty_products(p, x, y, v, 1.0, jv, NULL) : 0;
}

static int lower_hvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     const blv_vec *v, blv_vec *hv) {
    return lower_all(user, batch, x, y, v, NULL, hv, NULL);
}

static int lower_jvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     const blv_vec *v, blv_vec *jv) {
    return lower_all(user, batch, x, y, v, NULL, NULL, jv);
}

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
