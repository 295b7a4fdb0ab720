/* Choosing weight decay: a penalty for each layer of a network, or for each parameter, so that the
 * loss on validation rows is least.
 *
 *   g(x, y) = mean_train loss(y) + 1/2 sum_j exp(x_group(j)) y_j^2
 *   f(x, y) = mean_val loss(y)
 *
 * H v = mean Hessian v + exp(x_group) o v,   (J v)_k = exp(x_k) sum_{j in group k} y_j v_j. J needs
 * no data. A batch takes rows of the loss; the penalty is whole on every batch. */
#include "problems/builtin_problems.h"
#include "problems/lower_oracles.h"
#include "problems/net_model.h"
#include "problems/raw.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PER_LAYER, PER_PARAMETER };

typedef struct decay_params {
    linear_source source;
    net_source net;
    int per;
    double first, lo, hi;
} decay_params;

/* Parameters begin .. end - 1 have penalty `of`. */
typedef struct stretch {
    size_t begin, end, of;
} stretch;

typedef struct decay {
    net_model model;
    bool each;          /* a penalty for each parameter */
    stretch *stretches; /* else: parts of the network */
    size_t stretch_count, penalties;
    double first, lo, hi;
} decay;

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    decay *p = user;
    return net_upper(&p->model, batch, x, y, f, fx, fy);
}

/* ---- The penalty, in the precision of the problem ---- */

/* out = exp(x) o u */
static void penalize(const decay *p, const void *x, const void *u, void *out) {
    const blv_precision precision = p->model.precision;
    if (p->each) {
        p->model.loops->exp_scaled(p->penalties, 1.0, x, out);
        for (size_t j = 0; j < p->penalties; j++)
            set_element(out, precision, j, element(out, precision, j) * element(u, precision, j));
        return;
    }
    for (size_t i = 0; i < p->stretch_count; i++) {
        const stretch *s = &p->stretches[i];
        const double factor = exp(element(x, precision, s->of));
        for (size_t j = s->begin; j < s->end; j++)
            set_element(out, precision, j, factor * element(u, precision, j));
    }
}

/* out_k = factor exp(x_k) sum of u_j v_j over the group of k; returns the sum of all */
static double products(const decay *p, const void *x, const void *u, const void *v, double factor,
                       double *out) {
    const blv_precision precision = p->model.precision;
    double sum = 0.0;
    for (size_t k = 0; k < p->penalties; k++)
        out[k] = p->each ? element(u, precision, k) * element(v, precision, k) : 0.0;
    for (size_t i = 0; i < p->stretch_count; i++) {
        const stretch *s = &p->stretches[i];
        for (size_t j = s->begin; j < s->end; j++)
            out[s->of] += element(u, precision, j) * element(v, precision, j);
    }
    for (size_t k = 0; k < p->penalties; k++) {
        out[k] *= factor * exp(element(x, precision, k));
        sum += out[k];
    }
    return sum;
}

/* ---- Lower level ---- */

static void data_pass(decay *p, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                      const blv_vec *v, double *loss, blv_vec *gy, blv_vec *hv, net_work *work) {
    const blv_rows rows = linear_rows(p->model.data.train, batch);
    if (gy)
        penalize(p, raw(x), raw(y), raw_mut(gy));
    if (hv)
        penalize(p, raw(x), raw(v), raw_mut(hv));
    net_lower_pass(
        &p->model, &rows,
        &(net_lower){
            .y = y, .v = v, .scale = 1.0 / (double)rows.count, .loss = loss, .gy = gy, .hv = hv},
        work);
}

static int lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *g,
                 blv_vec *gx, blv_vec *gy) {
    decay *p = user;
    net_work *work = net_work_take(&p->model);
    if (!work)
        return -1;
    if (g || gy)
        data_pass(p, batch, x, y, NULL, g, gy, NULL, work);
    if (g || gx) {
        const double sum = products(p, raw(x), raw(y), raw(y), 0.5, work->of_x);
        if (g)
            *g += sum;
        if (gx) /* what penalty k adds to g */
            blv_vec_write(gx, work->of_x);
    }
    net_work_return(&p->model, work);
    return 0;
}

static int lower_all(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     const blv_vec *v, blv_vec *gy, blv_vec *hv, blv_vec *jv) {
    decay *p = user;
    net_work *work = net_work_take(&p->model);
    if (!work)
        return -1;
    if (gy || hv)
        data_pass(p, batch, x, y, v, NULL, gy, hv, work);
    if (jv) {
        products(p, raw(x), raw(y), raw(v), 1.0, work->of_x);
        blv_vec_write(jv, work->of_x);
    }
    net_work_return(&p->model, work);
    return 0;
}

LOWER_PRODUCTS_FROM_ALL

static int project(void *user, blv_vec *x) {
    const decay *p = user;
    blv_vec_clamp(x, p->lo, p->hi);
    return 0;
}

static int start(void *user, blv_vec *x, blv_vec *y) {
    const decay *p = user;
    blv_vec_fill(x, p->first);
    net_start(&p->model, y);
    return 0;
}

static int measure(void *user, const blv_vec *x, const blv_vec *y, double *values) {
    decay *p = user;
    (void)x;
    return net_measure(&p->model, y, values);
}

static void destroy(void *user) {
    decay *p = user;
    net_model_close(&p->model);
    free(p->stretches);
    free(p);
}

/* ---- The family ---- */

#define FIELD(name) offsetof(decay_params, name)

static const blv_param params[] = {
    LINEAR_SOURCE_PARAMS(decay_params, source),
    NET_SOURCE_PARAMS(decay_params, net, "mlp:in-128-out"),
    {"per", BLV_CHOICE, FIELD(per), "layer", 0, 0, "layer|parameter",
     "what each entry of x is the penalty of"},
    {"first", BLV_REAL, FIELD(first), "1e-4", DBL_MIN, 1e6, NULL, "penalties at the start, exp(x)"},
    {"lo", BLV_REAL, FIELD(lo), "none", -1e6, 1e6, "none", "lower bound of x"},
    {"hi", BLV_REAL, FIELD(hi), "none", -1e6, 1e6, "none", "upper bound of x"},
    {NULL, BLV_REAL, 0, NULL, 0, 0, NULL, NULL},
};

static blv_error refuse(blv_message *why, blv_error error, const char *text) {
    if (why)
        snprintf(why->text, sizeof why->text, "problem decay-nn: %s", text);
    return error;
}

static bool list_stretches(decay *p) {
    const blv_nn *net = p->model.net;
    p->stretch_count = blv_nn_parts(net);
    p->stretches = calloc(p->stretch_count, sizeof *p->stretches);
    for (size_t i = 0; p->stretches && i < p->stretch_count; i++) {
        const blv_nn_part *part = blv_nn_part_at(net, i);
        p->stretches[i] = (stretch){part->offset, part->offset + part->count, part->layer};
    }
    return p->stretches != NULL;
}

static blv_error open_parts(decay *p, const decay_params *q, const blv_problem_options *options,
                            blv_message *why) {
    p->each = q->per == PER_PARAMETER;
    p->first = log(q->first);
    p->lo = isnan(q->lo) ? -INFINITY : q->lo;
    p->hi = isnan(q->hi) ? INFINITY : q->hi;
    if (p->lo > p->hi)
        return refuse(why, BLV_E_VALUE, "lo is above hi");
    blv_error error =
        net_model_open(&p->model, &q->source, &q->net, "problem decay-nn", options, why);
    if (error != BLV_OK)
        return error;
    p->penalties = p->each ? blv_nn_dim(p->model.net) : blv_nn_layers(p->model.net);
    return p->each || list_stretches(p) ? BLV_OK : refuse(why, BLV_E_MEMORY, "out of memory");
}

static uint64_t fingerprint(void *user) {
    const decay *p = user;
    return linear_fingerprint(&p->model.data);
}

static blv_error create(const void *fields, const blv_problem_options *options,
                        blv_problem **problem, blv_message *why) {
    const decay_params *q = fields;
    decay *p = calloc(1, sizeof *p);
    if (!p)
        return refuse(why, BLV_E_MEMORY, "out of memory");
    blv_error error = open_parts(p, q, options, why);
    if (error != BLV_OK) {
        destroy(p);
        return error;
    }
    blv_problem_def def = net_definition(&p->model, &q->source, "decay-nn");
    def.dim_x = p->penalties;
    def.user = p;
    def.free_user = destroy;
    def.upper = upper;
    def.lower = lower;
    def.lower_hvp = lower_hvp;
    def.lower_cross = lower_cross;
    def.lower_all = lower_all;
    def.project_x = isfinite(p->lo) || isfinite(p->hi) ? project : NULL;
    def.start = start;
    def.measure = measure;
    def.measures = net_measures;
    def.fingerprint = fingerprint;
    return blv_problem_create(problem, &def, why);
}

const blv_problem_family blv_problem_decay_nn = {
    BLV_SIZED(blv_problem_family),
    .name = "decay-nn",
    .summary = "choose the weight decay of each layer of a network on validation rows",
    .formula = "f = mean loss on validation rows\n"
               "g = mean loss on training rows + 1/2 sum exp(x) y^2",
    .params_size = sizeof(decay_params),
    .params = params,
    .create = create,
};
