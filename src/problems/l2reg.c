/* Choosing penalties: a linear model with an l2 penalty for each feature, each class, each group of
 * features, or one for all, so that the loss on validation rows is least.
 *
 *   g(x, y) = mean_train loss(y) + scale/2 sum_j exp(x_group(j)) y_j^2
 *   f(x, y) = mean_val loss(y)
 *
 * H v = mean Hessian v + ridge o v,   (J v)_k = scale exp(x_k) sum_{j in group k} y_j v_j,
 * where ridge_j = scale exp(x_group(j)). J needs no data. A batch takes rows of the loss; the
 * penalty is whole on every batch.
 *
 * With folds, the upper level is cross-validation: y holds a model for each fold of each repeat,
 * trained on the rows outside of it with the same penalties, and
 *
 *   g(x, y) = sum_b g_b(x, y_b),   f(x, y) = mean over repeats of the mean over rows of the loss of
 *                                            the model that has not seen the row
 *
 * f may have a shrinkage of the departures from one penalty for all: shrinkage/2 mean x^2. */
#include "problems/l2reg.h"
#include "base/message.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A model and its rows. */
typedef struct fold_rows {
    size_t trained, held;         /* how many are here */
    size_t trained_all, held_all; /* on all ranks */
    size_t *index;    /* trained, then held, of those here, in the memory of the kernels */
    blv_dataset *set; /* the rows as this model sees them; NULL: those of the problem */
    blv_rows rows;
} fold_rows;

typedef struct l2reg {
    data_model model;
    blv_penalty_kind penalty;
    size_t penalties; /* entries of x */
    size_t slots;     /* penalties, and one more where that of the last column is fixed */
    bool fixed;
    uint32_t *group; /* of each column, in the memory of the kernels, for BLV_PENALTY_GROUPS */
    double scale, last_penalty, shrinkage;
    size_t blocks; /* models in y */
    size_t repeats;
    fold_rows *fold; /* of each block; NULL: one model, on all rows */
    void *weight[2]; /* of the rows of train and val, of mean 1; NULL: 1 */
} l2reg;

/* Parts of a work's extra memory, numbers of the precision but for the last. */
typedef struct l2reg_work {
    void *penalty;              /* scale exp(x) */
    void *ridge;                /* of each column, where groups share one */
    void *column, *sum, *total; /* products of each column, of each penalty, of all blocks */
    double *group_sum;
} l2reg_work;

static size_t most_penalties(const data_model *m) {
    return (m->columns > m->classes ? m->columns : m->classes) + 1;
}

static size_t block_dim(const l2reg *p) {
    return p->model.classes * p->model.columns;
}

/* The rows that block b is trained on, or that it is judged by. */
static blv_rows block_rows(const l2reg *p, size_t b, bool held) {
    const fold_rows *f = &p->fold[b];
    blv_rows rows = f->set ? f->rows : p->model.train;
    rows.index = f->index + (held ? f->trained : 0);
    rows.index_memory = p->model.kernels->memory;
    rows.count = held ? f->held : f->trained;
    rows.whole = held ? f->held_all : f->trained_all;
    return rows;
}

static l2reg_work parts_of(const data_model *m, const model_work *work) {
    const size_t n = most_penalties(m), bytes = n * m->kernels->real_size;
    char *at = (char *)work->extra + n * sizeof(double);
    return (l2reg_work){.penalty = at,
                        .ridge = at + bytes,
                        .column = at + 2 * bytes,
                        .sum = at + 3 * bytes,
                        .total = at + 4 * bytes,
                        .group_sum = work->extra};
}

static void set_penalties(const l2reg *p, const blv_vec *x, const l2reg_work *w) {
    const blv_kernels *k = p->model.kernels;
    k->exp_scaled(p->penalties, p->scale, raw(x), w->penalty);
    if (p->slots > p->penalties)
        k->write(1, &p->last_penalty, (char *)w->penalty + p->penalties * k->real_size);
    if (p->penalty == BLV_PENALTY_GROUPS)
        k->spread_groups(p->model.columns, p->group, w->penalty, w->ridge);
}

static void set_ridge(const l2reg *p, const l2reg_work *w, model_sums *sums) {
    switch (p->penalty) {
    case BLV_PENALTY_PER_FEATURE:
        sums->ridge_column = w->penalty;
        break;
    case BLV_PENALTY_PER_CLASS:
        sums->ridge_class = w->penalty;
        break;
    case BLV_PENALTY_GROUPS:
        sums->ridge_column = w->ridge;
        break;
    default:
        p->model.kernels->read(1, w->penalty, &sums->ridge);
    }
}

/* out_k = factor penalty_k sum u_j v_j over the entries j of a model that penalty k is for. */
static void model_products(const l2reg *p, const l2reg_work *w, const void *u, const void *v,
                           double factor, void *out) {
    const data_model *m = &p->model;
    const blv_kernels *k = m->kernels;
    const bool dense = m->train.dense != NULL;
    switch (p->penalty) {
    case BLV_PENALTY_PER_FEATURE:
        k->column_products(m->columns, m->classes, !dense, factor, w->penalty, u, v, out);
        break;
    case BLV_PENALTY_PER_CLASS:
        k->column_products(m->classes, m->columns, dense, factor, w->penalty, u, v, out);
        break;
    case BLV_PENALTY_GROUPS:
        k->column_products(m->columns, m->classes, !dense, factor, w->ridge, u, v, w->column);
        k->sum_groups(m->columns, p->group, w->column, p->slots, w->group_sum, out);
        break;
    default:
        k->column_products(1, block_dim(p), 1, factor, w->penalty, u, v, out);
    }
}

/* The same over all models: those of x in out, the sum of all slots in sum, unless these are NULL.
 */
static void penalty_products(const l2reg *p, const l2reg_work *w, const blv_vec *u,
                             const blv_vec *v, double factor, blv_vec *out, double *sum) {
    const blv_kernels *k = p->model.kernels;
    for (size_t b = 0; b < p->blocks; b++) {
        const size_t skip = b * block_dim(p) * k->real_size;
        model_products(p, w, (const char *)raw(u) + skip, (const char *)raw(v) + skip, factor,
                       b == 0 ? w->total : w->sum);
        if (b > 0)
            k->axpy(p->slots, 1.0, w->sum, w->total);
    }
    if (out)
        k->combine(p->penalties, 1.0, w->total, 0.0, w->total, raw_mut(out));
    if (sum)
        *sum = k->sum(p->slots, w->total);
}

/* Loss, gy and hv of every model, with their penalties but for g. */
static void data_sums(l2reg *p, const lower_call *c, const l2reg_work *parts, model_work *work) {
    double of_block = 0.0, sum = 0.0;
    for (size_t b = 0; b < p->blocks; b++) {
        blv_rows rows;
        if (p->fold)
            rows = block_rows(p, b, false);
        else
            model_part(&p->model, &rows, &p->model.train, c->batch, work);
        model_sums sums = model_lower_sums(c, &rows);
        sums.block = b * block_dim(p);
        sums.loss = c->g ? &of_block : NULL;
        set_ridge(p, parts, &sums);
        model_run(&p->model, &rows, &sums, work);
        sum += of_block;
    }
    if (c->g)
        *c->g = sum;
}

static int lower_pass(void *user, const lower_call *c) {
    l2reg *p = user;
    model_work *work = model_begin(&p->model, c->batch);
    if (!work)
        return -1;
    const l2reg_work parts = parts_of(&p->model, work);
    set_penalties(p, c->x, &parts);
    if (c->g || c->gy || c->hv)
        data_sums(p, c, &parts, work);
    if (c->g || c->gx) { /* gx_k is what penalty k adds to g */
        double added = 0.0;
        penalty_products(p, &parts, c->y, c->y, 0.5, c->gx, c->g ? &added : NULL);
        if (c->g)
            *c->g += added;
    }
    if (c->jv)
        penalty_products(p, &parts, c->y, c->v, 1.0, c->jv, NULL);
    model_end(&p->model, work);
    return 0;
}

LOWER_FROM_PASS

/* ---- The upper level ---- */

/* f += shrinkage/2 mean x^2 */
static void shrink(const l2reg *p, const blv_vec *x, double *f, blv_vec *fx) {
    const double share = p->shrinkage / (double)p->penalties;
    if (f)
        *f += 0.5 * share * blv_vec_dot(x, x);
    if (fx)
        blv_vec_axpy(fx, share, x);
}

static void held_out_sums(l2reg *p, const blv_vec *y, double *f, blv_vec *fy, model_work *work) {
    const double all = (double)p->model.train.whole * (double)p->repeats;
    double of_block = 0.0, sum = 0.0;
    for (size_t b = 0; b < p->blocks; b++) {
        const blv_rows rows = block_rows(p, b, true);
        model_run(&p->model, &rows,
                  &(model_sums){.y = y,
                                .block = b * block_dim(p),
                                .scale = 1.0 / all,
                                .loss = f ? &of_block : NULL,
                                .gy = fy},
                  work);
        sum += of_block;
    }
    if (f)
        *f = sum;
}

static int cross_validation(l2reg *p, const blv_vec *y, double *f, blv_vec *fx, blv_vec *fy) {
    if (fx)
        blv_vec_fill(fx, 0.0);
    model_work *work = f || fy ? model_begin(&p->model, NULL) : NULL;
    if (!work)
        return f || fy ? -1 : 0;
    held_out_sums(p, y, f, fy, work);
    model_end(&p->model, work);
    return 0;
}

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    l2reg *p = user;
    const int code =
        p->fold ? cross_validation(p, y, f, fx, fy) : model_upper(user, batch, x, y, f, fx, fy);
    if (code == 0 && p->shrinkage > 0.0)
        shrink(p, x, f, fx);
    return code;
}

/* With folds: the loss without the shrinkage, and the accuracy, on rows that were held out. */
static int measure(void *user, const blv_vec *x, const blv_vec *y, double *values) {
    l2reg *p = user;
    const double all = (double)p->model.train.whole * (double)p->repeats;
    if (!p->fold)
        return model_measure(user, x, y, values);
    model_work *work = model_begin(&p->model, NULL);
    if (!work)
        return -1;
    values[0] = values[1] = 0.0;
    values[2] = values[3] = (double)NAN;
    for (size_t b = 0; b < p->blocks; b++) {
        const blv_rows rows = block_rows(p, b, true);
        const double share = (double)rows.whole / all;
        double loss, accuracy;
        model_judge(&p->model, &rows, y, b * block_dim(p), NULL, work, &loss, &accuracy);
        values[0] += share * loss;
        values[1] += share * accuracy;
    }
    model_end(&p->model, work);
    return 0;
}

/* ---- Groups: a file with one group number for each feature ---- */

static blv_error bad_groups(blv_message *why, blv_error error, const char *path, size_t line,
                            const char *text) {
    return blv_explain(why, error, "groups %.200s, line %zu: %s", path, line, text);
}

static blv_error read_groups(FILE *file, const char *path, size_t columns, uint32_t *group,
                             blv_message *why) {
    size_t count = 0;
    char line[64];
    while (fgets(line, sizeof line, file)) {
        char *digits = line + strspn(line, " \t"), *end;
        unsigned long number = strtoul(digits, &end, 10);
        end += strspn(end, " \t\r\n");
        if (*digits < '0' || *digits > '9' || *end || number >= columns)
            return bad_groups(why, BLV_E_FORMAT, path, count + 1,
                              "expected a group number from 0, below the number of features");
        if (count == columns)
            return bad_groups(why, BLV_E_FORMAT, path, count + 1, "more lines than features");
        group[count++] = (uint32_t)number;
    }
    if (ferror(file))
        return bad_groups(why, BLV_E_FILE, path, count + 1, strerror(errno));
    if (count < columns)
        return bad_groups(why, BLV_E_FORMAT, path, count, "fewer lines than features");
    return BLV_OK;
}

/* From params: given numbers, or a file. group has room for the columns. */
static blv_error list_groups(const l2reg *p, const l2reg_params *q, uint32_t *group,
                             blv_message *why) {
    const size_t columns = p->model.columns;
    for (size_t j = 0; q->penalty != BLV_PENALTY_GROUPS && j < columns; j++)
        group[j] = q->penalty == BLV_PENALTY_PER_FEATURE ? (uint32_t)j : 0;
    if (q->penalty != BLV_PENALTY_GROUPS)
        return BLV_OK;
    for (size_t j = 0; q->group_of && j < columns; j++) {
        if (q->group_of[j] >= columns)
            return data_problem_explain(&p->model, BLV_E_VALUE,
                                        "a group number is not below the columns", why);
        group[j] = q->group_of[j];
    }
    if (q->group_of)
        return BLV_OK;
    if (!q->groups[0])
        return data_problem_explain(&p->model, BLV_E_VALUE, "penalty = groups needs groups = FILE",
                                    why);
    FILE *file = fopen(q->groups, "r");
    if (!file)
        return bad_groups(why, BLV_E_FILE, q->groups, 0, strerror(errno));
    blv_error error = read_groups(file, q->groups, columns, group, why);
    fclose(file);
    return error;
}

static blv_error open_groups(l2reg *p, const l2reg_params *q, blv_message *why) {
    const size_t columns = p->model.columns;
    uint32_t *group = malloc(columns * sizeof *group);
    blv_error error =
        group ? list_groups(p, q, group, why) : data_problem_no_memory(&p->model, why);
    for (size_t j = 0; error == BLV_OK && j < columns - p->fixed; j++)
        if (group[j] >= p->penalties)
            p->penalties = (size_t)group[j] + 1;
    if (p->fixed && error == BLV_OK)
        group[columns - 1] = (uint32_t)p->penalties;
    if (error == BLV_OK) {
        p->group = data_problem_put(&p->model, columns * sizeof *group, group);
        error = p->group ? BLV_OK : data_problem_no_memory(&p->model, why);
    }
    free(group);
    return error;
}

/* ---- Folds ---- */

/* The rows outside of block b's fold, then those in it. */
static blv_error open_fold(l2reg *p, const uint32_t *fold, size_t number, fold_rows *f,
                           blv_message *why) {
    const size_t rows = p->model.train.rows, all = p->model.train.whole;
    const size_t *row = blv_dataset_view_of(p->model.sets.train)->held_row; /* NULL: all are here */
    size_t *index = calloc(rows + 1, sizeof *index), next = 0;
    for (int held = 0; index && held < 2; held++) {
        for (size_t i = 0; i < rows; i++)
            if ((fold[row ? row[i] : i] == number) == held)
                index[next++] = i;
        f->trained = held ? f->trained : next;
    }
    f->held = rows - f->trained;
    for (size_t i = 0; i < all; i++)
        f->held_all += fold[i] == number;
    f->trained_all = all - f->held_all;
    f->index = data_problem_put(&p->model, (rows + 1) * sizeof *index, index);
    free(index);
    if (!f->index)
        return data_problem_no_memory(&p->model, why);
    return f->held_all > 0 && f->trained_all > 0
               ? BLV_OK
               : data_problem_explain(&p->model, BLV_E_VALUE, "a fold has no rows, or all", why);
}

/* The rows as a model of its own sees them: as many, of the same shape, in the same order. */
static blv_error open_own_rows(l2reg *p, const blv_dataset *set, fold_rows *f, blv_message *why) {
    const blv_dataset_view *a = blv_dataset_view_of(p->model.sets.train);
    const blv_dataset_view *b = set ? blv_dataset_view_of(set) : NULL;
    if (!b || a->ranks || b->ranks || a->rows != b->rows || a->columns != b->columns ||
        !a->dense != !b->dense || a->precision != b->precision || a->classes != b->classes)
        return data_problem_explain(&p->model, BLV_E_VALUE,
                                    "the rows of a fold are not those of the training set", why);
    BLV_CHECK(blv_dataset_copy(set, &f->set, why));
    BLV_CHECK(blv_dataset_transpose(f->set, why));
    if (!data_problem_rows(&p->model, 0, f->set, &f->rows))
        return data_problem_no_memory(&p->model, why);
    f->rows.weight = p->weight[0];
    return BLV_OK;
}

static blv_error open_folds(l2reg *p, const l2reg_params *q, blv_problem_def *def,
                            blv_message *why) {
    p->repeats = q->repeats > 0 ? q->repeats : 1;
    p->blocks = q->folds * p->repeats;
    p->fold = calloc(p->blocks, sizeof *p->fold);
    if (!p->fold)
        return data_problem_no_memory(&p->model, why);
    for (size_t b = 0; b < p->blocks; b++) {
        BLV_CHECK(open_fold(p, q->fold_of + b / q->folds * p->model.train.whole, b % q->folds,
                            &p->fold[b], why));
        if (q->fold_rows)
            BLV_CHECK(open_own_rows(p, q->fold_rows[b], &p->fold[b], why));
    }
    p->model.dim = def->dim_y = p->blocks * block_dim(p);
    def->upper_samples = def->lower_samples = 0; /* whole sums only */
    return BLV_OK;
}

/* ---- Weights of rows ---- */

static blv_error open_weights(l2reg *p, const blv_dataset *set, blv_rows *rows, void **weight,
                              blv_message *why) {
    const blv_dataset_view *v = set ? blv_dataset_view_of(set) : NULL;
    const blv_kernels *k = p->model.kernels;
    double sum = 0.0;
    if (!v || !v->weight)
        return BLV_OK;
    for (size_t i = 0; i < v->rows; i++)
        sum += v->weight[i];
    if (p->model.ranks || !(sum > 0.0))
        return data_problem_explain(
            &p->model, BLV_E_VALUE,
            sum > 0.0 ? "rows with weights cannot be spread over ranks; run it in one process"
                      : "the weights of the rows add up to 0",
            why);
    double *scaled = malloc(v->rows * sizeof *scaled);
    *weight = k->allocate(v->rows * k->real_size);
    const bool well = scaled && *weight;
    for (size_t i = 0; well && i < v->rows; i++)
        scaled[i] = v->weight[i] * ((double)v->rows / sum);
    if (well)
        k->write(v->rows, scaled, *weight);
    free(scaled);
    rows->weight = *weight;
    return well ? BLV_OK : data_problem_no_memory(&p->model, why);
}

/* ---- The family ---- */

static blv_error open_instance(data_model *m, const void *params, blv_problem_def *def,
                               blv_message *why) {
    l2reg *p = (l2reg *)m;
    const l2reg_params *q = params;
    p->fixed = q->last_penalty > 0.0 && q->penalty != BLV_PENALTY_PER_CLASS;
    p->last_penalty = q->last_penalty;
    p->shrinkage = q->shrinkage;
    p->penalty = p->fixed ? BLV_PENALTY_GROUPS : (blv_penalty_kind)q->penalty;
    p->penalties = p->penalty == BLV_PENALTY_PER_FEATURE ? m->columns
                   : p->penalty == BLV_PENALTY_PER_CLASS ? m->classes
                                                         : 1;
    p->blocks = 1;
    p->scale = isnan(q->scale) ? 1.0 / (double)m->dim : q->scale;
    BLV_CHECK(data_problem_bounds(m, q->lo, q->hi, def, why));
    BLV_CHECK(open_weights(p, m->sets.train, &m->train, &p->weight[0], why));
    BLV_CHECK(open_weights(p, m->sets.val, &m->val, &p->weight[1], why));
    if (p->penalty == BLV_PENALTY_GROUPS)
        BLV_CHECK(open_groups(p, q, why));
    if (q->folds > 0)
        BLV_CHECK(open_folds(p, q, def, why));
    p->slots = p->penalties + p->fixed;
    m->extra_bytes = most_penalties(m) * (sizeof(double) + 5 * m->kernels->real_size);
    def->dim_x = p->penalties;
    return BLV_OK;
}

static void close_instance(data_model *m) {
    l2reg *p = (l2reg *)m;
    for (size_t b = 0; p->fold && b < p->blocks; b++) {
        m->kernels->release(p->fold[b].index);
        m->kernels->rows_close(&p->fold[b].rows);
        blv_dataset_release(p->fold[b].set);
    }
    free(p->fold);
    m->kernels->release(p->group);
    m->kernels->release(p->weight[0]);
    m->kernels->release(p->weight[1]);
}

const data_family l2reg_family = {
    .name = "l2reg",
    .instance_size = sizeof(l2reg),
    .spreads = true,
    .weighs = true,
    .oracles = {.upper = upper, LOWER_ORACLES, .measure = measure, .measures = model_measures},
    .open = open_instance,
    .close = close_instance};

static bool is_sound(const blv_l2reg_setting *s) {
    return s->scale > 0.0 && isfinite(s->scale) && !isnan(s->lo) && !isnan(s->hi) &&
           (unsigned)s->penalty <= BLV_PENALTY_GROUPS &&
           (s->penalty != BLV_PENALTY_GROUPS || s->group) && (!s->folds == !s->fold) &&
           s->shrinkage >= 0.0 && isfinite(s->shrinkage) && s->last_penalty >= 0.0 &&
           isfinite(s->last_penalty);
}

blv_error blv_l2reg_create(const blv_sets *given, const blv_l2reg_setting *setting,
                           const blv_problem_options *options, blv_problem **problem,
                           blv_message *why) {
    blv_l2reg_setting s;
    blv_sets sets;
    if (problem)
        *problem = NULL;
    BLV_CHECK(blv_caller_struct(&s, sizeof s, setting, "blv_l2reg_setting", why));
    if (setting && !is_sound(&s))
        return blv_explain(why, BLV_E_VALUE,
                           "problem l2reg: the scale must be above 0, bounds numbers, the penalty "
                           "known, groups and folds given, other numbers not negative");
    BLV_CHECK(blv_caller_struct(&sets, sizeof sets, given, "blv_sets", why));
    if (s.folds > 0) /* what is held out is part of the training rows */
        sets.val = sets.train;
    l2reg_params params = {.penalty = (int)s.penalty,
                           .group_of = s.group,
                           .scale = s.scale,
                           .lo = s.lo,
                           .hi = s.hi,
                           .last_penalty = s.last_penalty,
                           .shrinkage = s.shrinkage,
                           .folds = s.folds,
                           .repeats = s.repeats,
                           .fold_of = s.fold,
                           .fold_rows = s.fold_rows};
    if (sets.train && blv_dataset_view_of(sets.train)->target)
        params.data.loss = LINEAR_LOSS_SQUARES;
    return data_problem_on_sets(&l2reg_family, &params, given ? &sets : NULL, setting && problem,
                                options, problem, why);
}

#define FIELD(name) offsetof(l2reg_params, name)

static const blv_param params[] = {
    DATA_SOURCE_PARAMS,
    {"loss", BLV_CHOICE, FIELD(data.loss), "auto", 0, 0, "auto|logistic|softmax|squares",
     "auto: logistic for two classes, softmax for more; squares: real targets"},
    {"penalty", BLV_CHOICE, FIELD(penalty), "per-feature", 0, 0, "per-feature|per-class|one|groups",
     "what each entry of x is the penalty of"},
    {"groups", BLV_TEXT, FIELD(groups), "", 0, 0, NULL,
     "file with the group of each feature on a line, for penalty = groups"},
    {"scale", BLV_REAL, FIELD(scale), "1", DBL_MIN, 1e12, "per-entry",
     "factor of the penalty; per-entry: 1 over the number of entries of y"},
    {"lo", BLV_REAL, FIELD(lo), "none", -1e6, 1e6, "none", "lower bound of x"},
    {"hi", BLV_REAL, FIELD(hi), "none", -1e6, 1e6, "none", "upper bound of x"},
    PARAMS_END,
};

DATA_PROBLEM(l2reg, "l2reg", l2reg_params, params, l2reg_family,
             "choose the l2 penalties of a linear model on validation rows",
             "f = mean loss on validation rows\n"
             "g = mean loss on training rows + scale/2 sum exp(x) y^2");
