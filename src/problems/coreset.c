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
#include "base/message.h"
#include "bilevel/select.h"
#include "problems/data_problem.h"
#include "problems/top_sum.h"
#include "space/projection.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct coreset_params {
    data_params data;
    int64_t K, draws;
    double C, delta, ridge;
    int over;
} coreset_params;

enum { OVER_TRAIN, OVER_VAL };
enum { NUMBERS_PER_ROW = 4 }; /* that a call works with on the host */

typedef struct coreset {
    data_model model;
    const blv_rows *judged; /* the rows of f */
    top_sum top;
    double C, ridge;
} coreset;

/* ---- Upper level ---- */

/* f -= C T(x), fx = -C T'(x); either may be NULL */
static void add_top(const coreset *p, const blv_vec *x, double *f, blv_vec *fx, model_work *work) {
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
    data_model *m = &p->model;
    model_work *work = model_begin(m, batch);
    if (!work)
        return -1;
    blv_rows rows;
    model_rows(&rows, p->judged, batch);
    if (f || fy)
        model_run(m, &rows,
                  &(model_sums){.y = y, .scale = 1.0 / (double)rows.count, .loss = f, .gy = fy},
                  work);
    if (f || fx)
        add_top(p, x, f, fx, work);
    model_end(m, work);
    return 0;
}

/* ---- Lower level ---- */

/* out = factor of each row of the sweep, times n over their number; 0 at the others */
static void spread_rows(const data_model *m, const blv_rows *rows, const void *factor,
                        blv_vec *out) {
    if (!out)
        return;
    blv_vec_fill(out, 0.0);
    m->kernels->row_add(rows, (double)rows->rows / (double)rows->count, factor, raw_mut(out));
}

static int lower_pass(void *user, const lower_call *c) {
    const coreset *p = user;
    data_model *m = user;
    model_work *work = model_begin(m, c->batch);
    if (!work)
        return -1;
    blv_rows rows;
    model_rows(&rows, &m->train, c->batch);
    rows.weight = raw(c->x);
    model_weighted(m, c, &rows, (double)rows.rows / (double)rows.count, p->ridge, work);
    spread_rows(m, &rows, work->row, c->gx);
    spread_rows(m, &rows, work->row, c->jv);
    model_end(m, work);
    return 0;
}

LOWER_FROM_PASS

/* ---- The set X, the start, measures ---- */

static int project(void *user, blv_vec *x) {
    coreset *p = user;
    model_work *work = model_begin(&p->model, NULL);
    if (!work)
        return -1;
    blv_project_simplex(x, 1.0, work->numbers);
    model_end(&p->model, work);
    return 0;
}

static int start(void *user, blv_vec *x, blv_vec *y) {
    blv_vec_fill(x, 1.0 / (double)blv_vec_dim(x));
    return model_start(user, x, y);
}

static const char *const measures[] = {"val_loss",   "val_accuracy", "test_loss", "test_accuracy",
                                       "top_weight", "rows_used",    NULL};

/* How much of the weight the K largest have, and how many rows have any. */
static int measure(void *user, const blv_vec *x, const blv_vec *y, double *values) {
    coreset *p = user;
    model_work *work = model_begin(&p->model, NULL);
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
    model_end(&p->model, work);
    return model_measure(user, x, y, values);
}

/* ---- The family ---- */

static blv_error open_instance(data_model *m, const void *params, blv_problem_def *def,
                               blv_message *why) {
    coreset *p = (coreset *)m;
    const coreset_params *q = params;
    const size_t rows = m->train.rows, K = q->K > 0 ? (size_t)q->K : (rows + 9) / 10;
    p->C = q->C;
    p->ridge = q->ridge;
    p->judged = q->over == OVER_VAL ? &m->val : &m->train;
    m->host_numbers = NUMBERS_PER_ROW * rows;
    def->upper_samples = p->judged->rows;
    if (K > rows)
        return data_problem_explain(m, BLV_E_VALUE, "K is above the number of training rows", why);
    return top_sum_open(&p->top, rows, K, (size_t)q->draws, q->delta, m->seed)
               ? BLV_OK
               : data_problem_no_memory(m, why);
}

static void close_instance(data_model *m) {
    top_sum_close(&((coreset *)m)->top);
}

static const data_family family = {.name = "coreset",
                                   .instance_size = sizeof(coreset),
                                   .network = true,
                                   .oracles = {.upper = upper,
                                               LOWER_ORACLES,
                                               .project_x = project,
                                               .start = start,
                                               .measure = measure,
                                               .measures = measures},
                                   .open = open_instance,
                                   .close = close_instance};

/* ---- On sets in memory ---- */

/* NULL: nothing is wrong with it. */
static const char *check_setting(const blv_coreset_setting *s) {
    const bool sound =
        s->C >= 0.0 && s->delta >= 0.0 && s->ridge >= 0.0 && isfinite(s->C + s->delta + s->ridge);
    if (!sound)
        return "C, delta and ridge must be numbers >= 0";
    if (s->K > INT64_MAX || s->draws > INT64_MAX)
        return "K or draws is too large";
    return s->net && strlen(s->net) >= BLV_TEXT_SIZE ? "the text of the network is too long" : NULL;
}

blv_error blv_coreset_create(const blv_sets *given, const blv_coreset_setting *setting,
                             const blv_problem_options *options, blv_problem **problem,
                             blv_message *why) {
    blv_coreset_setting s;
    if (problem)
        *problem = NULL;
    BLV_CHECK(blv_caller_struct(&s, sizeof s, setting, "blv_coreset_setting", why));
    const char *wrong = check_setting(&s);
    if (wrong)
        return blv_explain(why, BLV_E_VALUE, "problem coreset: %s", wrong);
    coreset_params q = {.K = (int64_t)s.K,
                        .draws = s.draws > 0 ? (int64_t)s.draws : 8,
                        .C = s.C,
                        .delta = s.delta,
                        .ridge = s.ridge,
                        .over = s.over_val ? OVER_VAL : OVER_TRAIN};
    q.data.net.net_seed = (int64_t)(s.seed & INT64_MAX);
    snprintf(q.data.net.net, sizeof q.data.net.net, "%s", s.net ? s.net : "mlp:in-out");
    return data_problem_on_sets(&family, &q, given, setting && problem, options, problem, why);
}

#define FIELD(name) offsetof(coreset_params, name)

static const blv_param params[] = {
    DATA_SOURCE_PARAMS,
    NET_SOURCE_PARAMS("mlp:in-out"),
    {"K", BLV_INT, FIELD(K), "tenth", 1, 1e9, "tenth",
     "rows that are to have most of the weight; tenth: a tenth of all"},
    {"C", BLV_REAL, FIELD(C), "0.1", 0, 1e12, NULL, "what weight on the K largest is worth in f"},
    {"delta", BLV_REAL, FIELD(delta), "0.001", 0, 1e6, NULL, "size of the noise that smooths"},
    {"draws", BLV_INT, FIELD(draws), "8", 1, 1e5, NULL, "of the noise"},
    {"ridge", BLV_REAL, FIELD(ridge), "0.001", 0, 1e12, NULL, "weight of |y|^2 in g"},
    {"over", BLV_CHOICE, FIELD(over), "train", 0, 0, "train|val", "the rows that f is about"},
    PARAMS_END,
};

DATA_PROBLEM(coreset, "coreset", coreset_params, params, family,
             "few training rows that represent all of them",
             "f = mean loss on training rows - C E[sum of the K largest of x + delta z]\n"
             "g = sum x_i loss_i on training rows + ridge |y|^2, x >= 0, sum x = 1");
