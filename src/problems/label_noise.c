/* Labels of which some are wrong: a linear model of the true class, and which label becomes which.
 *
 *   p(k|a) = softmax(W a)_k          the true class of a row
 *   T[k,l] = P(label l | true k)     row k: softmax of 0 at the diagonal and x elsewhere
 *   l_i = -log sum_k p(k|a_i) T[k,label_i]     a row of train;   -log p(label_j|a_j): one of val
 *
 * Rows of both sets are in folds; fold m has a model W_m of its own, y = (W_1, ..., W_folds), and
 * x = (log lambda, log w where there is a val, the K (K - 1) logits of T) is shared:
 *
 *   g = sum_m (sum_train-not-in-m l_i + w sum_val-not-in-m l_j) / (rows + w rows) + lambda/2
 * |W_m|^2 f = mean_val l_j + c mean_train l_i, each row by the model of its fold
 *       + c prior / rows sum_kl -T0[k,l] log T[k,l]
 *
 * With q_k = p_k T[k,label] / sum: the gradient of l in the scores is p - q, its Hessian
 * diag(p) - p p' - diag(q) + q q', and dl/dT[k,label] = -p_k / sum. The intercept, the last column,
 * has a hundredth of the penalty. Everything is over all rows; there are no batches. Where rows
 * have weights, these multiply their losses, and counts of rows are sums of weights of mean 1. */
#include "base/message.h"
#include "base/rank_exchange.h"
#include "problems/data_problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double intercept_share = 0.01;
static const double lowest_ridge = 1e-10, highest_ridge = 1e4; /* of rows with a variance near 1 */
static const double lowest_weight = 1e-2, highest_weight = 1e4;
static const double lowest_logit = -14.0, highest_logit = 4.0;

typedef struct label_noise {
    data_model model;
    blv_noise_setting setting;
    uint32_t *part[2]; /* of the rows of train and val that are here */
    double *weight[2]; /* likewise, of mean 1; NULL: 1 */
    double *outside;   /* rows of train outside each fold, then those of val */
    double *start;     /* T0 */
    size_t model_dim;
} label_noise;

/* Numbers of one call. */
typedef struct noise_point {
    double ridge, weight;
    double *T;                /* classes x classes */
    void *by_label, *certain; /* [l * classes + k] = T[k,l], and where every label is right */
    double *slope;            /* dg/dT, df/dT */
    double *sums;             /* two of each fold, or the value alone; they follow the slope */
    double *row;              /* classes + 1 numbers for each row, from the rule */
} noise_point;

static size_t logits_of(size_t classes) {
    return classes * (classes - 1);
}

static size_t first_logit(const label_noise *p) {
    return p->model.sets.val ? 2 : 1;
}

void blv_noise_matrix(size_t classes, const double *logits, double *T) {
    for (size_t k = 0; k < classes; k++) {
        double sum = 1.0, largest = 0.0, *row = T + k * classes;
        for (size_t l = 0; l < classes; l++) {
            row[l] = l == k ? 0.0 : *logits++;
            largest = fmax(largest, row[l]);
        }
        sum = 0.0;
        for (size_t l = 0; l < classes; l++)
            sum += row[l] = exp(row[l] - largest);
        for (size_t l = 0; l < classes; l++)
            row[l] /= sum;
    }
}

static noise_point point_at(const label_noise *p, const blv_vec *x, const model_work *work) {
    const size_t K = p->model.classes;
    noise_point at = {.T = work->numbers,
                      .by_label = work->numbers + K * K,
                      .certain = work->numbers + 2 * K * K,
                      .slope = work->numbers + 3 * K * K,
                      .sums = work->numbers + 4 * K * K,
                      .row = work->numbers + 4 * K * K + 2 * p->setting.folds};
    double *numbers = at.slope; /* room for x, which is K^2 + 2 - K numbers at most */
    blv_vec_read(x, numbers);
    at.ridge = exp(numbers[0]);
    at.weight = p->model.sets.val ? exp(numbers[1]) : 0.0;
    blv_noise_matrix(K, numbers + first_logit(p), at.T);
    for (size_t k = 0; k < K; k++)
        for (size_t l = 0; l < K; l++) {
            blv_value_set(at.by_label, p->model.precision, l * K + k, at.T[k * K + l]);
            blv_value_set(at.certain, p->model.precision, l * K + k, k == l);
        }
    memset(at.slope, 0, K * K * sizeof *at.slope);
    return at;
}

/* ---- One row ---- */

typedef struct row_rule {
    size_t classes;
    const int32_t *label;
    const void *weight; /* rows without are left out */
    const void *noise;  /* of the precision: [l * classes + k] = T[k,l] */
    double *out; /* classes + 1 numbers of each row: p_k / sum, those times t_k - q't with tangents,
                    and the loss, or the gradient times t; NULL: not needed */
} row_rule;

/* Where the label has no chance at all: by its own score, as if T were the identity. */
#define NO_CHANCE 1e-30

#define NOISY_ROW(real, exponential)                                                               \
    static inline double noisy_##real##_of(const row_rule *r, size_t row, void *scores,            \
                                           void *tangents, const size_t K) {                       \
        const size_t label = (size_t)r->label[row];                                                \
        const real *noise = (const real *)r->noise + label * K;                                    \
        double *out = r->out ? r->out + row * (K + 1) : NULL;                                      \
        real *s = scores, *t = tangents, largest = s[0], all = 0, stated = 0;                      \
        real p_mean = 0, q_mean = 0, p[BLV_RULE_CLASSES], q[BLV_RULE_CLASSES];                     \
        for (size_t k = 1; k < K; k++)                                                             \
            largest = s[k] > largest ? s[k] : largest;                                             \
        const real own = s[label] - largest;                                                       \
        for (size_t k = 0; k < K; k++) {                                                           \
            all += p[k] = exponential(s[k] - largest);                                             \
            stated += q[k] = p[k] * noise[k];                                                      \
        }                                                                                          \
        const bool hopeless = stated < (real)NO_CHANCE;                                            \
        const real share = 1 / all, part = hopeless ? 0 : 1 / stated;                              \
        for (size_t k = 0; k < K; k++) {                                                           \
            if (out)                                                                               \
                out[k] = (double)(p[k] * part);                                                    \
            p[k] *= share;                                                                         \
            q[k] *= part;                                                                          \
        }                                                                                          \
        q[label] = hopeless ? 1 : q[label];                                                        \
        for (size_t k = 0; k < K; k++)                                                             \
            s[k] = p[k] - q[k];                                                                    \
        if (t) {                                                                                   \
            for (size_t k = 0; k < K; k++) {                                                       \
                p_mean += p[k] * t[k];                                                             \
                q_mean += q[k] * t[k];                                                             \
            }                                                                                      \
            for (size_t k = 0; k < K; k++) {                                                       \
                if (out)                                                                           \
                    out[k] *= (double)(t[k] - q_mean);                                             \
                t[k] = p[k] * (t[k] - p_mean) - q[k] * (t[k] - q_mean);                            \
            }                                                                                      \
        }                                                                                          \
        if (out)                                                                                   \
            out[K] = t          ? (double)(p_mean - q_mean)                                        \
                     : hopeless ? log((double)all) - (double)own                                   \
                                : log((double)all) - log((double)stated);                          \
        return 0.0;                                                                                \
    }                                                                                              \
    static double noisy_##real(void *context, size_t row, void *scores, void *tangents) {          \
        const row_rule *r = context;                                                               \
        if (((const real *)r->weight)[row] == 0)                                                   \
            return 0.0;                                                                            \
        if (r->classes == 2)                                                                       \
            return noisy_##real##_of(r, row, scores, tangents, 2);                                 \
        return noisy_##real##_of(r, row, scores, tangents, r->classes);                            \
    }
NOISY_ROW(float, expf)
NOISY_ROW(double, exp)

/* ---- Sums over the rows of a fold, or those outside of it ---- */

typedef struct fold_sums {
    size_t fold;
    bool inside, sums;
    const void *w, *v; /* of the fold's model */
    double scale;
    const void *ridge; /* of each column; NULL: none */
    void *gradient, *hessian;
} fold_sums;

/* 0: it does not count. */
static double weight_of(const label_noise *p, bool val, size_t row, const fold_sums *s) {
    return (p->part[val][row] == s->fold) != s->inside ? 0.0
           : p->weight[val]                            ? p->weight[val][row]
                                                       : 1.0;
}

/* Returns the sum over the rows of the last number that the rule left, and adds the others, times
 * factor, to slope, unless that is NULL. Without `sums` there is nothing but the gradient and the
 * product with the Hessian. */
static double run_rows(label_noise *p, bool val, const void *noise, const fold_sums *s,
                       double factor, double *slope, const noise_point *at, model_work *work) {
    const data_model *m = &p->model;
    const blv_rows *set = val ? &m->val : &m->train;
    const size_t K = m->classes;
    row_rule rule = {K, set->label, work->weight, noise, s->sums ? at->row : NULL};
    blv_rows rows = *set;
    rows.weight = work->weight;
    for (size_t i = 0; i < rows.rows; i++)
        blv_value_set(work->weight, m->precision, i, weight_of(p, val, i, s));
    double loss;
    m->kernels->sweep(&rows,
                      &(blv_sweep){.classes = K,
                                   .w = s->w,
                                   .v = s->v,
                                   .scale = s->scale,
                                   .ridge_column = s->ridge,
                                   .rule = m->precision == BLV_F32 ? noisy_float : noisy_double,
                                   .rule_context = &rule,
                                   .loss = &loss,
                                   .gradient = s->gradient,
                                   .hessian = s->hessian},
                      work->sweep);
    double sum = 0.0;
    for (size_t i = 0; s->sums && i < rows.rows; i++) {
        const double counts = weight_of(p, val, i, s), *out = at->row + i * (K + 1);
        if (counts == 0.0)
            continue;
        sum += counts * out[K];
        for (size_t k = 0; slope && k < K; k++)
            slope[k * K + (size_t)set->label[i]] -= factor * counts * out[k];
    }
    return sum;
}

/* out_kl += T_kl (slope_kl - <T_k, slope_k>) */
static void slope_to_logits(const label_noise *p, const noise_point *at, blv_vec *out,
                            double ridge_part, double weight_part) {
    const size_t K = p->model.classes, first = first_logit(p);
    void *to = raw_mut(out);
    size_t next = first;
    blv_value_set(to, p->model.precision, 0, ridge_part);
    if (first == 2)
        blv_value_set(to, p->model.precision, 1, weight_part);
    for (size_t k = 0; k < K; k++) {
        const double *T = at->T + k * K, *slope = at->slope + k * K;
        double mean = 0.0;
        for (size_t l = 0; l < K; l++)
            mean += T[l] * slope[l];
        for (size_t l = 0; l < K; l++)
            if (l != k)
                blv_value_set(to, p->model.precision, next++, T[l] * (slope[l] - mean));
    }
}

static char *offset(const label_noise *p, const void *vector, size_t fold) {
    return vector ? (char *)(size_t)vector + fold * p->model_dim * p->model.kernels->real_size
                  : NULL;
}

/* ---- Lower level ---- */

/* sum over columns of ridge_j <u_j, v_j> */
static double ridge_product(const label_noise *p, double ridge, const void *u, const void *v) {
    const data_model *m = &p->model;
    const size_t K = m->classes, d = m->columns;
    double all = m->kernels->dot(p->model_dim, u, v), last = 0.0;
    for (size_t k = 0; k < K; k++) {
        const size_t at = m->train.dense ? k * d + d - 1 : (d - 1) * K + k;
        last += blv_value_get(u, m->precision, at) * blv_value_get(v, m->precision, at);
    }
    return ridge * (all - (1.0 - intercept_share) * last);
}

/* What of g and its derivatives in log lambda and log w comes from one fold: of g itself where v is
 * NULL, of <gy, v> else. */
typedef struct fold_parts {
    double value, by_ridge, by_weight;
} fold_parts;

static double weight_outside(const label_noise *p, const noise_point *at, size_t fold) {
    return p->outside[fold] + at->weight * p->outside[p->setting.folds + fold];
}

/* sums: of the losses of train and val, or of their gradients times v, over the rows here */
static void fold_rows(label_noise *p, const noise_point *at, const fold_sums *lower, double *slope,
                      double sums[2], model_work *work) {
    data_model *m = &p->model;
    fold_sums s = *lower;
    const double total = weight_outside(p, at, s.fold);
    s.scale = 1.0 / total;
    sums[0] = run_rows(p, false, at->by_label, &s, 1.0 / total, slope, at, work);
    sums[1] = 0.0;
    if (!m->sets.val)
        return;
    void *spare = (char *)work->extra + m->columns * m->kernels->real_size;
    void *second = (char *)spare + p->model_dim * m->kernels->real_size;
    s.scale = at->weight / total;
    s.ridge = NULL;
    s.gradient = s.gradient ? spare : NULL;
    s.hessian = s.hessian ? second : NULL;
    sums[1] = run_rows(p, true, at->certain, &s, 0.0, NULL, at, work);
    if (s.gradient)
        m->kernels->axpy(p->model_dim, 1.0, spare, lower->gradient);
    if (s.hessian)
        m->kernels->axpy(p->model_dim, 1.0, second, lower->hessian);
}

static fold_parts parts_of(const label_noise *p, const noise_point *at, size_t fold, const void *w,
                           const void *v, const double sums[2]) {
    const double total = weight_outside(p, at, fold);
    const double mean = (sums[0] + at->weight * sums[1]) / total;
    const double penalty = ridge_product(p, at->ridge, w, v ? v : w);
    return (fold_parts){
        .value = mean + (v ? penalty : 0.5 * penalty),
        .by_ridge = v ? penalty : 0.5 * penalty,
        .by_weight = at->weight * (sums[1] - p->outside[p->setting.folds + fold] * mean) / total};
}

/* Adds up over the ranks, in one exchange, the vectors (NULL: not there), the slope and numbers
 * that follow it. */
static void add_up(const label_noise *p, blv_vec *a, blv_vec *b, const noise_point *at,
                   size_t numbers, model_work *work) {
    const data_model *m = &p->model;
    const size_t K = m->classes, dim = p->setting.folds * p->model_dim;
    void *const arrays[] = {raw_or_null(a), raw_or_null(b)};
    if (blv_ranks_several(m->ranks) &&
        !problem_sum(m->ranks, m->kernels, K * K + numbers, at->slope, 2, arrays,
                     (const size_t[]){dim, dim}, work->shared))
        blv_space_fail(m->space_y, BLV_E_DEVICE, BLV_NO_EXCHANGE);
}

static int lower_pass(void *user, const lower_call *c) {
    label_noise *p = user;
    data_model *m = &p->model;
    model_work *work = model_begin(m, c->batch);
    if (!work)
        return -1;
    const noise_point at = point_at(p, c->x, work);
    const void *v = c->v ? raw(c->v) : NULL;
    void *gy = c->gy ? raw_mut(c->gy) : NULL, *hv = c->hv ? raw_mut(c->hv) : NULL;
    blv_vec *x_part = c->gx ? c->gx : c->jv;
    fold_parts sum = {0.0, 0.0, 0.0};
    for (size_t j = 0; j < m->columns; j++)
        blv_value_set(work->extra, m->precision, j,
                      j + 1 < m->columns ? at.ridge : intercept_share * at.ridge);
    for (size_t fold = 0; fold < p->setting.folds; fold++) {
        const fold_sums s = {.fold = fold,
                             .sums = c->g || x_part,
                             .w = offset(p, raw(c->y), fold),
                             .v = offset(p, v, fold),
                             .ridge = m->ranks && m->ranks->rank > 0 ? NULL : work->extra,
                             .gradient = offset(p, gy, fold),
                             .hessian = offset(p, hv, fold)};
        fold_rows(p, &at, &s, x_part ? at.slope : NULL, at.sums + 2 * fold, work);
    }
    add_up(p, c->gy, c->hv, &at, 2 * p->setting.folds, work);
    for (size_t fold = 0; (c->g || x_part) && fold < p->setting.folds; fold++) {
        const fold_parts part = parts_of(p, &at, fold, offset(p, raw(c->y), fold),
                                         offset(p, v, fold), at.sums + 2 * fold);
        sum.value += part.value;
        sum.by_ridge += part.by_ridge;
        sum.by_weight += part.by_weight;
    }
    if (c->g)
        *c->g = sum.value;
    if (x_part)
        slope_to_logits(p, &at, x_part, sum.by_ridge, sum.by_weight);
    model_end(m, work);
    return 0;
}

LOWER_FROM_PASS

/* ---- Upper level ---- */

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    label_noise *p = user;
    data_model *m = &p->model;
    const size_t K = m->classes;
    model_work *work = model_begin(m, batch);
    if (!work)
        return -1;
    const noise_point at = point_at(p, x, work);
    const double share = m->sets.val ? p->setting.noisy_share : 1.0;
    const double each = share / (double)m->train.whole, prior = each * p->setting.prior;
    double value = 0.0;
    for (size_t fold = 0; fold < p->setting.folds; fold++) {
        fold_sums s = {.fold = fold,
                       .inside = true,
                       .sums = true,
                       .w = offset(p, raw(y), fold),
                       .scale = each,
                       .gradient = fy ? offset(p, raw_mut(fy), fold) : NULL};
        value += each * run_rows(p, false, at.by_label, &s, each, at.slope, &at, work);
        if (!m->sets.val)
            continue;
        void *spare = (char *)work->extra + m->columns * m->kernels->real_size;
        void *sum = s.gradient;
        s.scale = 1.0 / (double)m->val.whole;
        s.gradient = fy ? spare : NULL;
        value += s.scale * run_rows(p, true, at.certain, &s, 0.0, NULL, &at, work);
        if (fy)
            m->kernels->axpy(p->model_dim, 1.0, spare, sum);
    }
    at.sums[0] = value;
    add_up(p, fy, NULL, &at, 1, work);
    value = at.sums[0];
    for (size_t i = 0; i < K * K; i++) {
        value -= prior * p->start[i] * log(at.T[i]);
        at.slope[i] -= prior * p->start[i] / at.T[i];
    }
    if (f)
        *f = value;
    if (fx)
        slope_to_logits(p, &at, fx, 0.0, 0.0);
    model_end(m, work);
    return 0;
}

/* ---- The problem ---- */

static int project(void *user, blv_vec *x) {
    const label_noise *p = user;
    const size_t first = first_logit(p);
    const blv_precision precision = p->model.precision;
    void *to = raw_mut(x);
    for (size_t i = 0; i < first + logits_of(p->model.classes); i++) {
        const double low = i >= first ? lowest_logit : log(i == 0 ? lowest_ridge : lowest_weight);
        const double high =
            i >= first ? highest_logit : log(i == 0 ? highest_ridge : highest_weight);
        blv_value_set(to, precision, i, fmin(fmax(blv_value_get(to, precision, i), low), high));
    }
    if (p->setting.ridge > 0.0)
        blv_value_set(to, precision, 0, log(p->setting.ridge));
    return 0;
}

/* The folds and weights of the rows that are here, and how many rows of all are outside each fold.
 * False: memory. */
static bool keep_rows(label_noise *p, bool val, const blv_dataset *set, const uint32_t *part) {
    const blv_dataset_view *v = set ? blv_dataset_view_of(set) : NULL;
    const size_t folds = p->setting.folds, here = !v ? 0 : v->ranks ? v->held : v->rows;
    double sum = 0.0;
    if (!v)
        return true;
    for (size_t i = 0; i < v->rows; i++)
        sum += v->weight ? v->weight[i] : 1.0;
    p->part[val] = malloc((here + 1) * sizeof *p->part[val]);
    p->weight[val] = v->weight ? malloc((here + 1) * sizeof *p->weight[val]) : NULL;
    if (!p->part[val] || (v->weight && !p->weight[val]))
        return false;
    for (size_t i = 0; i < v->rows; i++)
        for (size_t fold = 0; fold < folds; fold++)
            if (fold != (part[i] < folds ? part[i] : 0))
                p->outside[val * folds + fold] +=
                    v->weight ? v->weight[i] * ((double)v->rows / sum) : 1.0;
    for (size_t i = 0; i < here; i++) {
        const size_t row = v->ranks ? v->held_row[i] : i;
        p->part[val][i] = part[row] < folds ? part[row] : 0;
        if (v->weight)
            p->weight[val][i] = v->weight[row] * ((double)v->rows / sum);
    }
    return true;
}

static blv_error open_instance(data_model *m, const void *params, blv_problem_def *def,
                               blv_message *why) {
    label_noise *p = (label_noise *)m;
    const size_t K = m->classes, rows = m->train.rows > m->val.rows ? m->train.rows : m->val.rows;
    p->setting = *(const blv_noise_setting *)((const data_params *)params + 1);
    const size_t folds = p->setting.folds;
    p->model_dim = m->dim;
    if (K > BLV_RULE_CLASSES)
        return data_problem_explain(m, BLV_E_UNSUPPORTED, "too many classes", why);
    p->start = malloc(K * K * sizeof *p->start);
    p->outside = calloc(2 * folds, sizeof *p->outside);
    if (!p->start || !p->outside || !keep_rows(p, false, m->sets.train, p->setting.part) ||
        !keep_rows(p, true, m->sets.val, p->setting.val_part))
        return data_problem_no_memory(m, why);
    for (size_t fold = 0; fold < folds; fold++)
        if (!(p->outside[fold] + p->outside[folds + fold] > 0.0))
            return data_problem_explain(m, BLV_E_VALUE,
                                        "all rows that weigh more than 0 are in one fold", why);
    memcpy(p->start, p->setting.start, K * K * sizeof *p->start);
    m->extra_bytes = (m->columns + 2 * m->dim) * m->kernels->real_size;
    m->host_numbers = 4 * K * K + 2 * folds + rows * (K + 1);
    m->shared_numbers = K * K + 2 * folds + 2 * folds * m->dim;
    def->dim_x = first_logit(p) + logits_of(K);
    def->dim_y = folds * m->dim;
    def->upper_samples = def->lower_samples = 0;
    def->project_x = project;
    return BLV_OK;
}

static void close_instance(data_model *m) {
    label_noise *p = (label_noise *)m;
    for (int i = 0; i < 2; i++) {
        free(p->part[i]);
        free(p->weight[i]);
    }
    free(p->outside);
    free(p->start);
}

static const data_family family = {.name = "label-noise",
                                   .instance_size = sizeof(label_noise),
                                   .val_optional = true,
                                   .spreads = true,
                                   .weighs = true,
                                   .loss = LINEAR_LOSS_SOFTMAX,
                                   .oracles = {.upper = upper, LOWER_ORACLES},
                                   .open = open_instance,
                                   .close = close_instance};

blv_error blv_label_noise_create(const blv_sets *given, const blv_noise_setting *setting,
                                 const blv_problem_options *options, blv_problem **problem,
                                 blv_message *why) {
    struct {
        data_params data;
        blv_noise_setting setting;
    } params = {0};
    if (problem)
        *problem = NULL;
    BLV_CHECK(blv_caller_struct(&params.setting, sizeof params.setting, setting,
                                "blv_noise_setting", why));
    const blv_noise_setting *s = &params.setting;
    if (!given || !s->part || !s->start || s->folds < 2 || (given->val && !s->val_part))
        return blv_explain(why, BLV_E_ARGUMENT, "problem label-noise: a NULL argument");
    if (!(s->noisy_share > 0.0) || !(s->prior >= 0.0) || !(s->ridge >= 0.0))
        return blv_explain(why, BLV_E_VALUE, "problem label-noise: expected shares above 0");
    if (options) /* the rule of a row is a function of the host */
        BLV_CHECK(problem_on_host(options, "label-noise", why));
    return data_problem_on_sets(&family, &params, given, problem, options, problem, why);
}
