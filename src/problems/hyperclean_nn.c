/* Finding bad labels with a network: a weight for each training row, so that the network trained
 * with these weights does well on clean validation rows.
 *
 *   g(x, y) = mean_train sigmoid(x_i) loss_i(y) + C |y|^2
 *   f(x, y) = mean_val loss(y)
 *
 * H v = mean w_i Hessian_i v + 2 C v,   (J v)_i = w_i (1 - w_i) <gradient_i, v> / n,   w =
 * sigmoid(x). The products <gradient_i, v> are those of the forward pass along v. g is not convex
 * in y: answers depend on the start, which comes from net_seed. trained_on = val puts the
 * validation rows in the place of the training rows: what can be had without these. */
#include "problems/builtin_problems.h"
#include "problems/cleaning.h"
#include "problems/lower_oracles.h"
#include "problems/net_model.h"
#include "problems/raw.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRAINED_ON_TRAIN, TRAINED_ON_VAL };

typedef struct hyperclean_nn_params {
    linear_source source;
    net_source net;
    double C;
    int trained_on;
} hyperclean_nn_params;

typedef struct hyperclean_nn {
    net_model model;
    double C;
} hyperclean_nn;

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    hyperclean_nn *p = user;
    return net_upper(&p->model, batch, x, y, f, fx, fy);
}

static int lower_pass(hyperclean_nn *p, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                      const blv_vec *v, double *g, blv_vec *gx, blv_vec *gy, blv_vec *hv,
                      blv_vec *jv) {
    net_model *m = &p->model;
    net_work *work = net_work_take(m);
    if (!work)
        return -1;
    blv_rows rows = linear_rows(m->data.train, batch);
    cleaning_weights(m->loops, m->precision, &rows, raw(x), work->weight);
    net_ridge(gy, 2.0 * p->C, y);
    net_ridge(hv, 2.0 * p->C, v);
    net_lower_pass(m, &rows,
                   &(net_lower){.y = y,
                                .v = v,
                                .weight = work->weight,
                                .scale = 1.0 / (double)rows.count,
                                .loss = g,
                                .gy = gy,
                                .hv = hv,
                                .row_loss = gx ? work->row : NULL,
                                .row_cross = jv ? work->row : NULL},
                   work);
    if (gx)
        cleaning_slopes(m->loops, m->precision, &rows, raw(x), work->row, gx);
    if (jv)
        cleaning_slopes(m->loops, m->precision, &rows, raw(x), work->row, jv);
    net_work_return(m, work);
    add_ridge(g, p->C, y);
    return 0;
}

LOWER_FROM_PASS

static int start(void *user, blv_vec *x, blv_vec *y) {
    const hyperclean_nn *p = user;
    (void)x;
    net_start(&p->model, y);
    return 0;
}

static int measure(void *user, const blv_vec *x, const blv_vec *y, double *values) {
    hyperclean_nn *p = user;
    net_model *m = &p->model;
    const blv_dataset_view *train = blv_dataset_view_of(m->data.train);
    net_work *work = net_work_take(m);
    if (!work)
        return -1;
    if (train->true_label)
        net_probabilities(m, y, work->row, work);
    int code = cleaning_measure(train, m->precision, raw(x), work->row, values + 4);
    net_work_return(m, work);
    return code == 0 ? net_measure(m, y, values) : code;
}

static void destroy(void *user) {
    hyperclean_nn *p = user;
    net_model_close(&p->model);
    free(p);
}

/* ---- The family ---- */

static const blv_param params[] = {
    LINEAR_SOURCE_PARAMS(hyperclean_nn_params, source),
    NET_SOURCE_PARAMS(hyperclean_nn_params, net, "mlp:in-128-out"),
    {"C", BLV_REAL, offsetof(hyperclean_nn_params, C), "0.001", 0, 1e12, NULL,
     "weight of |y|^2 in g"},
    {"trained_on", BLV_CHOICE, offsetof(hyperclean_nn_params, trained_on), "train", 0, 0,
     "train|val", "the rows of g: the training rows, or the validation rows in their place"},
    {NULL, BLV_REAL, 0, NULL, 0, 0, NULL, NULL},
};

static const char owner[] = "problem hyperclean-nn";

static blv_error out_of_memory(blv_message *why) {
    if (why)
        snprintf(why->text, sizeof why->text, "%s: out of memory", owner);
    return BLV_E_MEMORY;
}

static uint64_t fingerprint(void *user) {
    const hyperclean_nn *p = user;
    return linear_fingerprint(&p->model.data);
}

static blv_error replace_training_rows(linear_data *data, blv_message *why) {
    blv_dataset_release(data->train);
    data->train = NULL;
    return blv_dataset_copy(data->val, &data->train, why);
}

/* On error nothing is left. */
static blv_error open_model(net_model *m, const hyperclean_nn_params *q,
                            const blv_problem_options *options, blv_message *why) {
    blv_error error = net_model_open(m, &q->source, &q->net, owner, options, why);
    if (error != BLV_OK || q->trained_on == TRAINED_ON_TRAIN)
        return error;
    linear_data data = m->data;
    m->data = (linear_data){NULL, NULL, NULL};
    net_model_close(m);
    error = replace_training_rows(&data, why);
    if (error == BLV_OK)
        return net_model_take(m, &data, &q->net, owner, options, why);
    linear_data_destroy(&data);
    return error;
}

static blv_error create(const void *fields, const blv_problem_options *options,
                        blv_problem **problem, blv_message *why) {
    const hyperclean_nn_params *q = fields;
    hyperclean_nn *p = calloc(1, sizeof *p);
    if (!p)
        return out_of_memory(why);
    p->C = q->C;
    blv_error error = open_model(&p->model, q, options, why);
    if (error != BLV_OK) {
        free(p);
        return error;
    }
    blv_problem_def def = net_definition(&p->model, &q->source, "hyperclean-nn");
    def.dim_x = def.lower_samples;
    def.user = p;
    def.free_user = destroy;
    def.upper = upper;
    def.lower = lower;
    def.lower_hvp = lower_hvp;
    def.lower_cross = lower_cross;
    def.lower_all = lower_all;
    def.start = start;
    def.measure = measure;
    def.measures = cleaning_measures;
    def.fingerprint = fingerprint;
    return blv_problem_create(problem, &def, why);
}

const blv_problem_family blv_problem_hyperclean_nn = {
    BLV_SIZED(blv_problem_family),
    .name = "hyperclean-nn",
    .summary = "hyperclean with a network in place of the linear model",
    .formula = "f = mean loss on validation rows\n"
               "g = mean sigmoid(x_i) loss_i on training rows + C |y|^2",
    .params_size = sizeof(hyperclean_nn_params),
    .params = params,
    .create = create,
};
