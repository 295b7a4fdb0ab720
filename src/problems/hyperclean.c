/* Finding bad labels: a weight for each training row, so that the model trained with these weights
 * does well on clean validation rows.
 *
 *   g(x, y) = mean_train sigmoid(x_i) loss_i(y) + C |y|^2
 *   f(x, y) = mean_val loss(y)
 *
 * H v = mean w_i Hessian_i v + 2 C v,   (J v)_i = w_i (1 - w_i) <gradient_i, v> / n,   w =
 * sigmoid(x). Gradient, Hv and the row products <gradient_i, v> come from one pass over the rows.
 * On a batch gx and Jv are zero outside of it. */
#include "problems/hyperclean.h"
#include "problems/builtin_problems.h"
#include "problems/cleaning.h"
#include "problems/linear_model.h"
#include "problems/lower_oracles.h"
#include "problems/raw.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct hyperclean_params {
    linear_source source;
    double C;
} hyperclean_params;

typedef struct hyperclean {
    linear_model model;
    double C;
} hyperclean;

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    hyperclean *p = user;
    return linear_upper(&p->model, batch, x, y, f, fx, fy);
}

static int lower_pass(hyperclean *p, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                      const blv_vec *v, double *g, blv_vec *gx, blv_vec *gy, blv_vec *hv,
                      blv_vec *jv) {
    linear_model *m = &p->model;
    linear_work *work = linear_work_take(m);
    if (!work)
        return -1;
    blv_rows rows = linear_rows(m->data.train, batch);
    rows.weight = work->weight;
    cleaning_weights(m->loops, m->precision, &rows, raw(x), work->weight);
    blv_sweep pass = {.classes = m->classes,
                      .w = raw(y),
                      .v = v && (hv || jv) ? raw(v) : NULL,
                      .scale = 1.0 / (double)rows.count,
                      .ridge = 2.0 * p->C,
                      .keep = true,
                      .loss = g,
                      .gradient = gy ? raw_mut(gy) : NULL,
                      .hessian = hv ? raw_mut(hv) : NULL,
                      .row_loss = gx ? work->row : NULL,
                      .row_cross = jv ? work->row : NULL};
    linear_pass(m, &rows, &pass, work);
    if (gx)
        cleaning_slopes(m->loops, m->precision, &rows, raw(x), work->row, gx);
    if (jv)
        cleaning_slopes(m->loops, m->precision, &rows, raw(x), work->row, jv);
    linear_work_return(m, work);
    add_ridge(g, p->C, y);
    return 0;
}

LOWER_FROM_PASS

static int measure(void *user, const blv_vec *x, const blv_vec *y, double *values) {
    hyperclean *p = user;
    linear_model *m = &p->model;
    const blv_dataset_view *train = blv_dataset_view_of(m->data.train);
    linear_work *work = linear_work_take(m);
    if (!work)
        return -1;
    blv_rows rows = linear_rows(m->data.train, NULL);
    blv_sweep pass = {
        .classes = m->classes, .w = raw(y), .scale = 1.0, .row_probability = work->row};
    if (train->true_label)
        linear_pass(m, &rows, &pass, work);
    int code = cleaning_measure(train, m->precision, raw(x), work->row, values + 4);
    linear_work_return(m, work);
    return code == 0 ? linear_measure(m, y, values) : code;
}

static void destroy(void *user) {
    hyperclean *p = user;
    linear_model_close(&p->model);
    free(p);
}

static uint64_t fingerprint(void *user) {
    const hyperclean *p = user;
    return linear_fingerprint(&p->model.data);
}

/* ---- The family ---- */

static const blv_param params[] = {
    LINEAR_SOURCE_PARAMS(hyperclean_params, source),
    {"C", BLV_REAL, offsetof(hyperclean_params, C), "0.001", DBL_MIN, 1e12, NULL,
     "weight of |y|^2 in g"},
    {NULL, BLV_REAL, 0, NULL, 0, 0, NULL, NULL},
};

blv_error hyperclean_make(double C, int order, linear_data *data,
                          const blv_problem_options *options, blv_problem **problem,
                          blv_message *why) {
    hyperclean *p = calloc(1, sizeof *p);
    if (!p) {
        linear_data_destroy(data);
        if (why)
            snprintf(why->text, sizeof why->text, "problem hyperclean: out of memory");
        return BLV_E_MEMORY;
    }
    p->C = C;
    blv_error error =
        linear_model_open(&p->model, data, LINEAR_LOSS_SOFTMAX, "problem hyperclean", options, why);
    if (error != BLV_OK) {
        free(p);
        return error;
    }
    blv_problem_def def = linear_definition(&p->model, order, "hyperclean");
    def.dim_x = def.lower_samples;
    def.user = p;
    def.free_user = destroy;
    def.upper = upper;
    def.lower = lower;
    def.lower_hvp = lower_hvp;
    def.lower_cross = lower_cross;
    def.lower_all = lower_all;
    def.measure = measure;
    def.measures = cleaning_measures;
    def.fingerprint = fingerprint;
    return blv_problem_create(problem, &def, why);
}

static blv_error create(const void *fields, const blv_problem_options *options,
                        blv_problem **problem, blv_message *why) {
    const hyperclean_params *q = fields;
    linear_data data;
    blv_error error = linear_load(&q->source, "problem hyperclean", options->precision, &data, why);
    return error == BLV_OK ? hyperclean_make(q->C, q->source.order, &data, options, problem, why)
                           : error;
}

const blv_problem_family blv_problem_hyperclean = {
    BLV_SIZED(blv_problem_family),
    .name = "hyperclean",
    .summary = "a weight for each training row, so that bad labels lose theirs",
    .formula = "f = mean loss on validation rows\n"
               "g = mean sigmoid(x_i) loss_i on training rows + C |y|^2",
    .params_size = sizeof(hyperclean_params),
    .params = params,
    .create = create,
};
