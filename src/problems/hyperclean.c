/* Finding bad labels: a weight for each training row, so that the model trained with these weights
 * does well on clean validation rows. The model is linear (hyperclean) or a network
 * (hyperclean-nn).
 *
 *   g(x, y) = mean_train sigmoid(x_i) loss_i(y) + C |y|^2
 *   f(x, y) = mean_val loss(y)
 *
 * H v = mean w_i Hessian_i v + 2 C v,   (J v)_i = w_i (1 - w_i) <gradient_i, v> / n,   w =
 * sigmoid(x). Gradient, Hv and the row products <gradient_i, v> come from one sweep over the rows.
 * On a batch gx and Jv are zero outside of it.
 *
 * With a network g is not convex in y: answers depend on the start, which comes from net_seed.
 * trained_on = val puts the validation rows in the place of the training rows: what can be reached
 * without the training rows. */
#include "base/message.h"
#include "problems/data_problem.h"

#include <math.h>
#include <stdlib.h>

typedef struct hyperclean_params {
    data_params data;
    double C;
    int trained_on;
} hyperclean_params;

enum { TRAINED_ON_TRAIN, TRAINED_ON_VAL };

typedef struct hyperclean {
    data_model model;
    double C;
} hyperclean;

/* ---- Lower level ---- */

/* out = w_i (1 - w_i) factor_i / count at the rows of the sweep, 0 at the others */
static void slopes(const data_model *m, const blv_rows *rows, const blv_vec *x, const void *factor,
                   blv_vec *out) {
    if (!out)
        return;
    if (rows->count < rows->rows || rows->index)
        blv_vec_fill(out, 0.0);
    m->kernels->row_sigmoid_slope(rows, 1.0 / (double)rows->whole, raw(x), factor, raw_mut(out));
}

/* Where a sweep takes weights from logits it makes gx and jv, too. */
static void pass_with_logits(const hyperclean *p, data_model *m, const lower_call *c, blv_rows rows,
                             model_work *work) {
    blv_vec *const outputs[] = {c->gx, c->jv};
    for (size_t i = 0; i < 2; i++)
        if (outputs[i] && (rows.count < rows.rows || rows.index))
            blv_vec_fill(outputs[i], 0.0);
    model_sums sums = model_lower_sums(c, &rows);
    sums.ridge = 2.0 * p->C;
    sums.row_slope = sums.scale;
    sums.row_loss = c->gx ? raw_mut(c->gx) : NULL;
    sums.row_cross = c->jv ? raw_mut(c->jv) : NULL;
    rows.logit = raw(c->x);
    model_run(m, &rows, &sums, work);
    if (c->g)
        *c->g += p->C * blv_vec_dot(c->y, c->y);
}

static int lower_pass(void *user, const lower_call *c) {
    const hyperclean *p = user;
    data_model *m = user;
    model_work *work = model_begin(m, c->batch);
    if (!work)
        return -1;
    blv_rows rows;
    model_part(m, &rows, &m->train, c->batch, work);
    if (m->kernels->logits && !m->net) {
        pass_with_logits(p, m, c, rows, work);
        model_end(m, work);
        return 0;
    }
    rows.weight = work->weight;
    m->kernels->row_sigmoid(&rows, raw(c->x), work->weight);
    model_weighted(m, c, &rows, 1.0 / (double)rows.whole, p->C, work);
    slopes(m, &rows, c->x, work->row, c->gx);
    slopes(m, &rows, c->x, work->row, c->jv);
    model_end(m, work);
    return 0;
}

LOWER_FROM_PASS

/* ---- Measures: how well the bad labels are found ---- */

static const char *const measures[] = {"val_loss",      "val_accuracy", "test_loss",
                                       "test_accuracy", "auroc_weight", "auroc_probability",
                                       "precision",     "recall",       NULL};

/* values: the last four measures. Suspicion is minus x, and minus the probability that the model
 * gives the label; precision and recall are those of the rows whose probability is below 1/2. */
static bool rank_rows(const blv_dataset_view *train, const double *x, const double *probability,
                      double *suspicion, bool *corrupt, double *values) {
    size_t n = train->rows, flagged = 0, found = 0, bad = 0;
    for (size_t i = 0; i < n; i++) {
        corrupt[i] = train->label[i] != train->true_label[i];
        suspicion[i] = -x[i];
    }
    if (blv_auroc(n, suspicion, corrupt, &values[0]) != BLV_OK)
        return false;
    for (size_t i = 0; i < n; i++) {
        suspicion[i] = -probability[i];
        flagged += probability[i] < 0.5;
        found += probability[i] < 0.5 && corrupt[i];
        bad += corrupt[i];
    }
    values[2] = flagged ? (double)found / (double)flagged : NAN;
    values[3] = bad ? (double)found / (double)bad : NAN;
    return blv_auroc(n, suspicion, corrupt, &values[1]) == BLV_OK;
}

/* NaN where true labels are not known. */
static int measure(void *user, const blv_vec *x, const blv_vec *y, double *values) {
    data_model *m = user;
    const blv_dataset_view *train = blv_dataset_view_of(m->sets.train);
    for (size_t i = 4; i < 8; i++)
        values[i] = NAN;
    if (!train->true_label)
        return model_measure(m, x, y, values);
    const size_t n = train->rows;
    model_work *work = model_begin(m, NULL);
    double *numbers = calloc(3 * n, sizeof *numbers);
    bool *corrupt = calloc(n, sizeof *corrupt), ok = work && numbers && corrupt;
    if (ok) {
        model_probabilities(m, y, work->row, work);
        blv_vec_read(x, numbers);
        m->kernels->read(m->train.rows, work->row, numbers + 2 * n);
        ranks_collect(m, numbers + 2 * n, numbers + n);
        ok = rank_rows(train, numbers, numbers + n, numbers + 2 * n, corrupt, values + 4);
    }
    free(numbers);
    free(corrupt);
    if (work)
        model_end(m, work);
    return ok ? model_measure(m, x, y, values) : -1;
}

/* ---- The families ---- */

static blv_error open_instance(data_model *m, const void *params, blv_problem_def *def,
                               blv_message *why) {
    (void)def;
    (void)why;
    ((hyperclean *)m)->C = ((const hyperclean_params *)params)->C;
    return BLV_OK;
}

static void choose_trained_on(const void *params, data_sets *sets) {
    if (((const hyperclean_params *)params)->trained_on == TRAINED_ON_TRAIN)
        return;
    blv_dataset_release(sets->train);
    sets->train = blv_dataset_retain(sets->val);
}

#define ORACLES .upper = model_upper, LOWER_ORACLES, .measure = measure, .measures = measures

static const data_family with_linear_model = {.name = "hyperclean",
                                              .instance_size = sizeof(hyperclean),
                                              .spreads = true,
                                              .x_of_rows = true,
                                              .loss = LINEAR_LOSS_SOFTMAX,
                                              .oracles = {ORACLES},
                                              .open = open_instance};

static const data_family with_network = {.name = "hyperclean-nn",
                                         .instance_size = sizeof(hyperclean),
                                         .network = true,
                                         .oracles = {ORACLES, .start = model_start},
                                         .change = choose_trained_on,
                                         .open = open_instance};

blv_error blv_hyperclean_create(const blv_sets *given, double C, const blv_problem_options *options,
                                blv_problem **problem, blv_message *why) {
    if (problem)
        *problem = NULL;
    if (!(C > 0.0) || !isfinite(C))
        return blv_explain(why, BLV_E_VALUE, "problem hyperclean: C must be above 0");
    return data_problem_on_sets(&with_linear_model, &(hyperclean_params){.C = C}, given, problem,
                                options, problem, why);
}

static const blv_param params[] = {
    DATA_SOURCE_PARAMS,
    {"C", BLV_REAL, offsetof(hyperclean_params, C), "0.001", DBL_MIN, 1e12, NULL,
     "weight of |y|^2 in g"},
    PARAMS_END,
};

static const blv_param network_params[] = {
    DATA_SOURCE_PARAMS,
    NET_SOURCE_PARAMS("mlp:in-128-out"),
    {"C", BLV_REAL, offsetof(hyperclean_params, C), "0.001", 0, 1e12, NULL, "weight of |y|^2 in g"},
    {"trained_on", BLV_CHOICE, offsetof(hyperclean_params, trained_on), "train", 0, 0, "train|val",
     "the rows of g: the training rows, or the validation rows in their place"},
    PARAMS_END,
};

#define FORMULA                                                                                    \
    "f = mean loss on validation rows\n"                                                           \
    "g = mean sigmoid(x_i) loss_i on training rows + C |y|^2"

DATA_PROBLEM(hyperclean, "hyperclean", hyperclean_params, params, with_linear_model,
             "a weight for each training row, so that bad labels lose theirs", FORMULA);
DATA_PROBLEM(hyperclean_nn, "hyperclean-nn", hyperclean_params, network_params, with_network,
             "hyperclean with a network in place of the linear model", FORMULA);
