/* Choosing weight decay: a penalty for each layer of a network, or for each parameter, so that the
 * loss on validation rows is least.
 *
 *   g(x, y) = mean_train loss(y) + 1/2 sum_j exp(x_group(j)) y_j^2
 *   f(x, y) = mean_val loss(y)
 *
 * H v = mean Hessian v + exp(x_group) o v,   (J v)_k = exp(x_k) sum_{j in group k} y_j v_j. J needs
 * no data. A batch takes rows of the loss; the penalty is whole on every batch. */
#include "problems/data_problem.h"

#include <math.h>
#include <stdlib.h>

enum { PER_LAYER, PER_PARAMETER };

typedef struct decay_params {
    data_params data;
    int per;
    double first, lo, hi;
} decay_params;

typedef struct decay {
    data_model model;
    blv_range *ranges; /* parts of the network and their layers, in the memory of the kernels; */
    size_t range_count, penalties; /* 0 ranges: a penalty for each parameter */
    double first;
} decay;

/* ---- Lower level ---- */

/* out = exp(x) o u, to which the sums over rows are added */
static void penalize(const decay *p, const blv_vec *x, const blv_vec *u, blv_vec *out) {
    if (out)
        p->model.kernels->penalize(p->penalties, p->range_count, p->ranges, raw(x), raw(u),
                                   raw_mut(out));
}

/* out_k = factor exp(x_k) sum of y_j v_j over the group of k; returns the sum of all */
static double products(const decay *p, double factor, const lower_call *c, const blv_vec *v,
                       blv_vec *out) {
    return p->model.kernels->penalty_products(p->penalties, p->range_count, p->ranges, factor,
                                              raw(c->x), raw(c->y), raw(v),
                                              out ? raw_mut(out) : NULL);
}

static int lower_pass(void *user, const lower_call *c) {
    decay *p = user;
    if (c->g || c->gy || c->hv) {
        model_work *work = model_begin(&p->model, c->batch);
        if (!work)
            return -1;
        penalize(p, c->x, c->y, c->gy);
        penalize(p, c->x, c->v, c->hv);
        blv_rows rows;
        model_rows(&rows, &p->model.train, c->batch);
        model_sums sums = model_lower_sums(c, &rows);
        sums.add = true;
        model_run(&p->model, &rows, &sums, work);
        model_end(&p->model, work);
    }
    if (c->g || c->gx) {
        const double sum = products(p, 0.5, c, c->y, c->gx); /* gx_k: what penalty k adds to g */
        if (c->g)
            *c->g += sum;
    }
    if (c->jv)
        products(p, 1.0, c, c->v, c->jv);
    return 0;
}

LOWER_FROM_PASS

static int start(void *user, blv_vec *x, blv_vec *y) {
    const decay *p = user;
    blv_vec_fill(x, p->first);
    return model_start(user, x, y);
}

/* ---- The family ---- */

static bool open_ranges(decay *p) {
    const size_t count = p->range_count = blv_nn_parts(p->model.net);
    blv_range *list = malloc(count * sizeof *list);
    for (size_t i = 0; list && i < count; i++) {
        const blv_nn_part *part = blv_nn_part_at(p->model.net, i);
        list[i] = (blv_range){part->offset, part->offset + part->count, part->layer};
    }
    p->ranges = data_problem_put(&p->model, count * sizeof *list, list);
    free(list);
    return p->ranges != NULL;
}

static blv_error open_instance(data_model *m, const void *params, blv_problem_def *def,
                               blv_message *why) {
    decay *p = (decay *)m;
    const decay_params *q = params;
    p->first = log(q->first);
    p->penalties = q->per == PER_PARAMETER ? m->dim : blv_nn_layers(m->net);
    if (q->per == PER_LAYER && !open_ranges(p))
        return data_problem_no_memory(m, why);
    def->dim_x = p->penalties;
    return data_problem_bounds(m, q->lo, q->hi, def, why);
}

static void close_instance(data_model *m) {
    m->kernels->release(((decay *)m)->ranges);
}

static const data_family family = {.name = "decay-nn",
                                   .instance_size = sizeof(decay),
                                   .network = true,
                                   .oracles = {.upper = model_upper,
                                               LOWER_ORACLES,
                                               .start = start,
                                               .measure = model_measure,
                                               .measures = model_measures},
                                   .open = open_instance,
                                   .close = close_instance};

#define FIELD(name) offsetof(decay_params, name)

static const blv_param params[] = {
    DATA_SOURCE_PARAMS,
    NET_SOURCE_PARAMS("mlp:in-128-out"),
    {"per", BLV_CHOICE, FIELD(per), "layer", 0, 0, "layer|parameter",
     "what each entry of x is the penalty of"},
    {"first", BLV_REAL, FIELD(first), "1e-4", DBL_MIN, 1e6, NULL, "penalties at the start, exp(x)"},
    {"lo", BLV_REAL, FIELD(lo), "none", -1e6, 1e6, "none", "lower bound of x"},
    {"hi", BLV_REAL, FIELD(hi), "none", -1e6, 1e6, "none", "upper bound of x"},
    PARAMS_END,
};

DATA_PROBLEM(decay_nn, "decay-nn", decay_params, params, family,
             "choose the weight decay of each layer of a network on validation rows",
             "f = mean loss on validation rows\n"
             "g = mean loss on training rows + 1/2 sum exp(x) y^2");
