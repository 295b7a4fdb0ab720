/* Choosing rows to train on: weights on the simplex, so that the model trained with these weights
 * does well on all rows, with most of the weight on few of them.
 *
 *   f(x, y) = mean_i loss_i(y) - C T(x)
 *   g(x, y) = sum_i x_i loss_i(y) + ridge |y|^2,    x >= 0, sum x = 1
 *
 * g over the training rows, f over these or over the validation rows; T is the smoothed sum of the
 * K largest entries of x. On a batch g is the mean of n x_i loss_i, and C T(x) is whole.
 *
 * H v = sum x_i Hessian_i v + 2 ridge v,   (J v)_i = <gradient_i, v>.
 *
 * X. Zhou, R. Pi, W. Zhang, Y. Lin, T. Zhang, "Probabilistic bilevel coreset selection", ICML 2022;
 * J. Hao, K. Ji, M. Liu, "Bilevel coreset selection in continual learning: a new formulation and
 * algorithm", NeurIPS 2023, for the smoothed sum. */
#include "base/caller_struct.h"
#include "base/struct_size.h"
#include "bilevel/select.h"
#include "problems/builtin_problems.h"
#include "problems/lower_oracles.h"
#include "problems/net_model.h"
#include "problems/raw.h"
#include "problems/top_sum.h"
#include "space/projection.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct coreset_params {
    linear_source source;
    net_source net;
    int64_t K, draws;
    double C, delta, ridge;
    int over;
} coreset_params;

enum { OVER_TRAIN, OVER_VAL };

typedef struct coreset {
    net_model model;
    const blv_dataset *judged; /* the rows of f */
    top_sum top;
    double C, ridge;
} coreset;

/* ---- Upper level ---- */

/* f -= C T(x), fx = -C T'(x); either may be NULL */
static void add_top(const coreset *p, const blv_vec *x, double *f, blv_vec *fx, net_work *work) {
    const size_t n = p->top.count;
    double *values = work->numbers, *share = values + n, *room = share + n;
    blv_vec_read(x, values);
    const double sum = top_sum_of(&p->top, values, room, fx ? share : NULL);
    if (f)
        *f -= p->C * sum;
    if (fx) {
        blv_vec_write(fx, share);
        blv_vec_scale(fx, -p->C);
    }
}

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    coreset *p = user;
    net_model *m = &p->model;
    net_work *work = net_work_take(m);
    if (!work)
        return -1;
    if (f || fy)
        net_mean_loss(m, p->judged, batch, y, f, fy, work);
    if (f || fx)
        add_top(p, x, f, fx, work);
    net_work_return(m, work);
    return 0;
}

/* ---- Lower level ---- */

/* out = factor of each row of the pass, times n over their number; 0 at the others */
static void spread_rows(const net_model *m, const blv_rows *rows, const void *factor,
                        blv_vec *out_vec) {
    const double scale = (double)rows->rows / (double)rows->count;
    void *out = raw_mut(out_vec);
    blv_vec_fill(out_vec, 0.0);
    for (size_t i = 0; i < rows->count; i++) { /* a row may occur more than once */
        const size_t row = rows->index ? rows->index[i] : rows->first + i;
        set_element(out, m->precision, row,
                    element(out, m->precision, row) + scale * element(factor, m->precision, row));
    }
}

static int lower_pass(coreset *p, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                      const blv_vec *v, double *g, blv_vec *gx, blv_vec *gy, blv_vec *hv,
                      blv_vec *jv) {
    net_model *m = &p->model;
    net_work *work = net_work_take(m);
    if (!work)
        return -1;
    const blv_rows rows = linear_rows(m->data.train, batch);
    net_ridge(gy, 2.0 * p->ridge, y);
    net_ridge(hv, 2.0 * p->ridge, v);
    net_lower_pass(m, &rows,
                   &(net_lower){.y = y,
                                .v = v,
                                .weight = raw(x),
                                .scale = (double)rows.rows / (double)rows.count,
                                .loss = g,
                                .gy = gy,
                                .hv = hv,
                                .row_loss = gx ? work->row : NULL,
                                .row_cross = jv ? work->row : NULL},
                   work);
    if (gx)
        spread_rows(m, &rows, work->row, gx);
    if (jv)
        spread_rows(m, &rows, work->row, jv);
    net_work_return(m, work);
    add_ridge(g, p->ridge, y);
    return 0;
}

LOWER_FROM_PASS

/* ---- The set X, the start, measures ---- */

static int project(void *user, blv_vec *x) {
    coreset *p = user;
    net_work *work = net_work_take(&p->model);
    if (!work)
        return -1;
    blv_project_simplex(x, 1.0, work->numbers);
    net_work_return(&p->model, work);
    return 0;
}

static int start(void *user, blv_vec *x, blv_vec *y) {
    const coreset *p = user;
    blv_vec_fill(x, 1.0 / (double)blv_vec_dim(x));
    net_start(&p->model, y);
    return 0;
}

static const char *const measures[] = {"val_loss",   "val_accuracy", "test_loss", "test_accuracy",
                                       "top_weight", "rows_used",    NULL};

/* How much of the weight the K largest have, and how many rows have any. */
static int measure(void *user, const blv_vec *x, const blv_vec *y, double *values) {
    coreset *p = user;
    net_work *work = net_work_take(&p->model);
    if (!work)
        return -1;
    const top_sum sharp = {
        .count = p->top.count, .top = p->top.top, .draws = 1, .delta = 0.0, .noise = p->top.noise};
    double *weight = work->numbers, used = 0.0;
    blv_vec_read(x, weight);
    for (size_t i = 0; i < sharp.count; i++)
        used += weight[i] > 0.0;
    values[4] = top_sum_of(&sharp, weight, weight + sharp.count, NULL);
    values[5] = used;
    net_work_return(&p->model, work);
    return net_measure(&p->model, y, values);
}

static void destroy(void *user) {
    coreset *p = user;
    top_sum_close(&p->top);
    net_model_close(&p->model);
    free(p);
}

/* ---- The family ---- */

#define FIELD(name) offsetof(coreset_params, name)

static const blv_param params[] = {
    LINEAR_SOURCE_PARAMS(coreset_params, source),
    NET_SOURCE_PARAMS(coreset_params, net, "mlp:in-out"),
    {"K", BLV_INT, FIELD(K), "tenth", 1, 1e9, "tenth",
     "rows that are to have most of the weight; tenth: a tenth of all"},
    {"C", BLV_REAL, FIELD(C), "0.1", 0, 1e12, NULL, "what weight on the K largest is worth in f"},
    {"delta", BLV_REAL, FIELD(delta), "0.001", 0, 1e6, NULL, "size of the noise that smooths"},
    {"draws", BLV_INT, FIELD(draws), "8", 1, 1e5, NULL, "of the noise"},
    {"ridge", BLV_REAL, FIELD(ridge), "0.001", 0, 1e12, NULL, "weight of |y|^2 in g"},
    {"over", BLV_CHOICE, FIELD(over), "train", 0, 0, "train|val", "the rows that f is about"},
    {NULL, BLV_REAL, 0, NULL, 0, 0, NULL, NULL},
};

static blv_error refuse(blv_message *why, blv_error error, const char *text) {
    if (why)
        snprintf(why->text, sizeof why->text, "problem coreset: %s", text);
    return error;
}

static const char owner[] = "problem coreset";

/* data: sets at hand, taken over also when it fails; NULL: from files */
static blv_error open_parts(coreset *p, const coreset_params *q, linear_data *data,
                            const blv_problem_options *options, blv_message *why) {
    p->C = q->C;
    p->ridge = q->ridge;
    blv_error error = data ? net_model_take(&p->model, data, &q->net, owner, options, why)
                           : net_model_open(&p->model, &q->source, &q->net, owner, options, why);
    if (error != BLV_OK)
        return error;
    p->judged = q->over == OVER_VAL ? p->model.data.val : p->model.data.train;
    const size_t rows = blv_dataset_view_of(p->model.data.train)->rows;
    const size_t K = q->K > 0 ? (size_t)q->K : (rows + 9) / 10;
    if (K > rows)
        return refuse(why, BLV_E_VALUE, "K is above the number of training rows");
    return top_sum_open(&p->top, rows, K, (size_t)q->draws, q->delta, p->model.seed)
               ? BLV_OK
               : refuse(why, BLV_E_MEMORY, "out of memory");
}

static uint64_t fingerprint(void *user) {
    const coreset *p = user;
    return linear_fingerprint(&p->model.data);
}

static blv_error make(const coreset_params *q, linear_data *data,
                      const blv_problem_options *options, blv_problem **problem, blv_message *why) {
    coreset *p = calloc(1, sizeof *p);
    if (!p) {
        if (data)
            linear_data_destroy(data);
        return refuse(why, BLV_E_MEMORY, "out of memory");
    }
    blv_error error = open_parts(p, q, data, options, why);
    if (error != BLV_OK) {
        destroy(p);
        return error;
    }
    blv_problem_def def = net_definition(&p->model, &q->source, "coreset");
    def.dim_x = def.lower_samples;
    def.upper_samples = blv_dataset_view_of(p->judged)->rows;
    def.user = p;
    def.free_user = destroy;
    def.upper = upper;
    def.lower = lower;
    def.lower_hvp = lower_hvp;
    def.lower_cross = lower_cross;
    def.lower_all = lower_all;
    def.project_x = project;
    def.start = start;
    def.measure = measure;
    def.measures = measures;
    def.fingerprint = fingerprint;
    return blv_problem_create(problem, &def, why);
}

static blv_error create(const void *fields, const blv_problem_options *options,
                        blv_problem **problem, blv_message *why) {
    return make(fields, NULL, options, problem, why);
}

/* ---- On sets at hand ---- */

static blv_error check_sets(const blv_sets *sets, const blv_problem_options *options,
                            blv_message *why) {
    if (!sets->train || !sets->val)
        return refuse(why, BLV_E_ARGUMENT, "training and validation rows are needed");
    const blv_dataset *all[] = {sets->train, sets->val, sets->test};
    const blv_dataset_view *first = blv_dataset_view_of(sets->train);
    for (size_t i = 0; i < 3 && all[i]; i++) {
        const blv_dataset_view *v = blv_dataset_view_of(all[i]);
        if (v->precision != options->precision || v->columns != first->columns ||
            v->classes != first->classes || !v->label || !v->dense != !first->dense)
            return refuse(why, BLV_E_VALUE, "the sets do not match each other or the precision");
    }
    return BLV_OK;
}

static blv_error check_setting(const blv_coreset_setting *s, blv_message *why) {
    const bool sound =
        s->C >= 0.0 && s->delta >= 0.0 && s->ridge >= 0.0 && isfinite(s->C + s->delta + s->ridge);
    if (!sound)
        return refuse(why, BLV_E_VALUE, "C, delta and ridge must be numbers >= 0");
    if (s->K > INT64_MAX || s->draws > INT64_MAX)
        return refuse(why, BLV_E_VALUE, "K or draws is too large");
    if (s->net && strlen(s->net) >= BLV_TEXT_SIZE)
        return refuse(why, BLV_E_VALUE, "the text of the network is too long");
    return BLV_OK;
}

blv_error blv_coreset_create(const blv_sets *sets, const blv_coreset_setting *setting,
                             const blv_problem_options *options, blv_problem **problem,
                             blv_message *why) {
    blv_problem_options chosen = {.size = sizeof chosen};
    blv_sets known = {.size = sizeof known};
    if (problem)
        *problem = NULL;
    if (!sets)
        return refuse(why, BLV_E_ARGUMENT, "a NULL argument");
    if (!blv_struct_take(&known, sizeof known, sets))
        return refuse(why, BLV_E_ARGUMENT, "sets without the size of their struct");
    linear_data data;
    blv_error error = linear_data_copy(&data, &known, why);
    if (error != BLV_OK)
        return error;
    if (!setting || !problem)
        error = refuse(why, BLV_E_ARGUMENT, "a NULL argument");
    if (error == BLV_OK && options && !blv_struct_take(&chosen, sizeof chosen, options))
        error = refuse(why, BLV_E_ARGUMENT, "options without their size");
    if (error == BLV_OK)
        error = check_sets(&known, &chosen, why);
    blv_coreset_setting own;
    if (error == BLV_OK)
        error = blv_caller_struct(&own, sizeof own, setting, "blv_coreset_setting", why);
    setting = &own;
    if (error == BLV_OK)
        error = check_setting(setting, why);
    if (error != BLV_OK) {
        linear_data_destroy(&data);
        return error;
    }
    coreset_params q = {.K = (int64_t)setting->K,
                        .draws = setting->draws > 0 ? (int64_t)setting->draws : 8,
                        .C = setting->C,
                        .delta = setting->delta,
                        .ridge = setting->ridge,
                        .over = setting->over_val ? OVER_VAL : OVER_TRAIN};
    q.source.order = LINEAR_ORDER_FILE;
    q.net.seed = (int64_t)(setting->seed & INT64_MAX);
    snprintf(q.net.text, sizeof q.net.text, "%s", setting->net ? setting->net : "mlp:in-out");
    return make(&q, &data, &chosen, problem, why);
}

const blv_problem_family blv_problem_coreset = {
    BLV_SIZED(blv_problem_family),
    .name = "coreset",
    .summary = "few training rows that stand for all of them",
    .formula = "f = mean loss on training rows - C E[sum of the K largest of x + delta z]\n"
               "g = sum x_i loss_i on training rows + ridge |y|^2, x >= 0, sum x = 1",
    .params_size = sizeof(coreset_params),
    .params = params,
    .create = create,
};
