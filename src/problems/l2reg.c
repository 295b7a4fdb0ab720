/* Choosing penalties: a linear model with an l2 penalty for each feature, each class, each group of
 * features, or one for all, so that the loss on validation rows is least.
 *
 *   g(x, y) = mean_train loss(y) + scale/2 sum_j exp(x_group(j)) y_j^2
 *   f(x, y) = mean_val loss(y)
 *
 * H v = mean Hessian v + ridge o v,   (J v)_k = scale exp(x_k) sum_{j in group k} y_j v_j,
 * where ridge_j = scale exp(x_group(j)). J needs no data. A batch takes rows of the loss; the
 * penalty is whole on every batch. */
#include "problems/l2reg.h"
#include "base/caller_struct.h"
#include "base/message.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct l2reg {
    data_model model;
    blv_penalty_kind penalty;
    size_t penalties;
    uint32_t *group; /* of each column, in the memory of the kernels, for BLV_PENALTY_GROUPS */
    double scale;
} l2reg;

/* Parts of a work's extra memory, numbers of the precision but for the last. */
typedef struct l2reg_work {
    void *penalty;      /* scale exp(x) */
    void *ridge;        /* of each column, where groups share one */
    void *column, *sum; /* products of each column, and of each penalty */
    double *group_sum;
} l2reg_work;

static size_t most_penalties(const data_model *m) {
    return m->columns > m->classes ? m->columns : m->classes;
}

static l2reg_work parts_of(const data_model *m, const model_work *work) {
    const size_t n = most_penalties(m), bytes = n * m->kernels->real_size;
    char *at = (char *)work->extra + n * sizeof(double);
    return (l2reg_work){.penalty = at,
                        .ridge = at + bytes,
                        .column = at + 2 * bytes,
                        .sum = at + 3 * bytes,
                        .group_sum = work->extra};
}

static void set_penalties(const l2reg *p, const blv_vec *x, const l2reg_work *w) {
    const blv_kernels *k = p->model.kernels;
    k->elements->exp_scaled(p->penalties, p->scale, raw(x), w->penalty);
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

/* out_k = factor penalty_k sum u_j v_j over the entries j of y that penalty k is for. */
static void penalty_products(const l2reg *p, const l2reg_work *w, const void *u, const void *v,
                             double factor, void *out) {
    const data_model *m = &p->model;
    const blv_kernels *k = m->kernels;
    const bool dense = m->train.dense != NULL;
    switch (p->penalty) {
    case BLV_PENALTY_PER_FEATURE:
        k->elements->column_products(m->columns, m->classes, !dense, factor, w->penalty, u, v, out);
        break;
    case BLV_PENALTY_PER_CLASS:
        k->elements->column_products(m->classes, m->columns, dense, factor, w->penalty, u, v, out);
        break;
    case BLV_PENALTY_GROUPS:
        k->elements->column_products(m->columns, m->classes, !dense, factor, w->ridge, u, v,
                                     w->column);
        k->sum_groups(m->columns, p->group, w->column, p->penalties, w->group_sum, out);
        break;
    default:
        k->elements->column_products(1, m->dim, 1, factor, w->penalty, u, v, out);
    }
}

static int lower_pass(void *user, const lower_call *c) {
    l2reg *p = user;
    data_model *m = &p->model;
    model_work *work = model_begin(m, c->batch);
    if (!work)
        return -1;
    const l2reg_work parts = parts_of(m, work);
    set_penalties(p, c->x, &parts);
    if (c->g || c->gy || c->hv) {
        const blv_rows rows = model_rows(&m->train, c->batch);
        model_sums sums = model_lower_sums(c, &rows);
        set_ridge(p, &parts, &sums);
        model_run(m, &rows, &sums, work);
    }
    if (c->g || c->gx) {
        void *halves = c->gx ? raw_mut(c->gx) : parts.sum; /* gx_k is what penalty k adds to g */
        penalty_products(p, &parts, raw(c->y), raw(c->y), 0.5, halves);
        if (c->g)
            *c->g += m->kernels->elements->sum(p->penalties, halves);
    }
    if (c->jv)
        penalty_products(p, &parts, raw(c->y), raw(c->v), 1.0, raw_mut(c->jv));
    model_end(m, work);
    return 0;
}

LOWER_FROM_PASS

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
    const size_t columns = p->model.columns, bytes = columns * sizeof(uint32_t);
    uint32_t *group = malloc(bytes);
    p->group = p->model.kernels->allocate(bytes);
    blv_error error = group && p->group
                          ? list_groups(p, q, group, why)
                          : data_problem_explain(&p->model, BLV_E_MEMORY, "out of memory", why);
    for (size_t j = 0; error == BLV_OK && j < columns; j++)
        if (group[j] >= p->penalties)
            p->penalties = (size_t)group[j] + 1;
    if (error == BLV_OK)
        p->model.kernels->write_bytes(bytes, group, p->group);
    free(group);
    return error;
}

/* ---- The family ---- */

static blv_error open_instance(data_model *m, const void *params, blv_problem_def *def,
                               blv_message *why) {
    l2reg *p = (l2reg *)m;
    const l2reg_params *q = params;
    p->penalty = (blv_penalty_kind)q->penalty;
    p->penalties = p->penalty == BLV_PENALTY_PER_FEATURE ? m->columns
                   : p->penalty == BLV_PENALTY_PER_CLASS ? m->classes
                                                         : 1;
    p->scale = isnan(q->scale) ? 1.0 / (double)m->dim : q->scale;
    blv_error error = data_problem_bounds(m, q->lo, q->hi, def, why);
    if (error == BLV_OK && p->penalty == BLV_PENALTY_GROUPS)
        error = open_groups(p, q, why);
    m->extra_bytes = most_penalties(m) * (sizeof(double) + 4 * m->kernels->real_size);
    def->dim_x = p->penalties;
    return error;
}

static void close_instance(data_model *m) {
    m->kernels->release(((l2reg *)m)->group);
}

const data_family l2reg_family = {.name = "l2reg",
                                  .instance_size = sizeof(l2reg),
                                  .oracles = {.upper = model_upper,
                                              LOWER_ORACLES,
                                              .measure = model_measure,
                                              .measures = model_measures},
                                  .open = open_instance,
                                  .close = close_instance};

static blv_error create(const void *params, const blv_problem_options *options,
                        blv_problem **problem, blv_message *why) {
    return data_problem_create(&l2reg_family, params, options, problem, why);
}

static bool is_sound(const blv_l2reg_setting *s) {
    return s->scale > 0.0 && isfinite(s->scale) && !isnan(s->lo) && !isnan(s->hi) &&
           (unsigned)s->penalty <= BLV_PENALTY_GROUPS &&
           (s->penalty != BLV_PENALTY_GROUPS || s->group);
}

blv_error blv_l2reg_create(const blv_sets *given, const blv_l2reg_setting *setting,
                           const blv_problem_options *options, blv_problem **problem,
                           blv_message *why) {
    blv_l2reg_setting s;
    if (problem)
        *problem = NULL;
    BLV_CHECK(blv_caller_struct(&s, sizeof s, setting, "blv_l2reg_setting", why));
    if (setting && !is_sound(&s))
        return blv_explain(why, BLV_E_VALUE,
                           "problem l2reg: the scale must be above 0, bounds numbers, the penalty "
                           "known, and groups given");
    l2reg_params params = {
        .penalty = (int)s.penalty, .group_of = s.group, .scale = s.scale, .lo = s.lo, .hi = s.hi};
    return data_problem_on_sets(&l2reg_family, &params, given, setting && problem, options, problem,
                                why);
}

#define FIELD(name) offsetof(l2reg_params, name)

static const blv_param params[] = {
    DATA_SOURCE_PARAMS,
    {"loss", BLV_CHOICE, FIELD(data.loss), "auto", 0, 0, "auto|logistic|softmax",
     "auto: logistic for two classes, softmax for more"},
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

const blv_problem_family blv_problem_l2reg = {
    BLV_SIZED(blv_problem_family),
    .name = "l2reg",
    .summary = "choose the l2 penalties of a linear classifier on validation rows",
    .formula = "f = mean loss on validation rows\n"
               "g = mean loss on training rows + scale/2 sum exp(x) y^2",
    .params_size = sizeof(l2reg_params),
    .params = params,
    .create = create,
};
