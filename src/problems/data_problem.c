/* The frame of all problems on data: opening, the buffers of calls, linear models, measures. */
#include "problems/data_problem.h"
#include "base/message.h"
#include "base/rank_exchange.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Buffers of calls ---- */

static void destroy_work(const data_model *m, model_work *work) {
    m->kernels->sweep_close(work->sweep);
    if (m->nn)
        m->nn->work_destroy(work->network);
    m->kernels->release(work->weight);
    m->kernels->release(work->row);
    m->kernels->release(work->guess);
    m->kernels->release(work->extra);
    free(work->picked);
    free(work->shared);
    free(work->numbers);
    free(work->statistics);
    free(work);
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Training rows have their probabilities kept where that takes no more memory than the rows. With
 * one score there is nothing to gain: the product X w is not what takes the time. */
static void keep_probabilities(const data_model *m, blv_sweep_work *sweep) {
    const blv_dataset_view *train = blv_dataset_view_of(m->sets.train);
    const size_t real = m->kernels->real_size;
    const size_t rows = m->train.rows, numbers = (rows + m->columns) * m->classes;
    size_t data = train->dense ? rows * m->columns * real
                               : train->row_start[rows] * (real + sizeof *train->column) *
                                     (train->column_start ? 2 : 1);
    if (!m->one_score && numbers * real <= data)
        (void)m->kernels->sweep_keep(sweep, rows);
}

static model_work *create_work(const data_model *m) {
    const blv_kernels *k = m->kernels;
    const size_t rows = larger(larger(m->train.rows, m->val.rows), larger(m->test.rows, 1));
    const size_t whole = larger(larger(m->train.whole, m->val.whole), rows);
    model_work *work = calloc(1, sizeof *work);
    if (!work)
        return NULL;
    if (m->net)
        work->network = m->nn->work_create(m->net, m->precision, rows, m->slice, m->threads);
    else
        work->sweep = k->sweep_open(m->classes, m->columns, !m->train.dense, whole, m->threads);
    work->weight = k->allocate(rows * k->real_size);
    work->row = k->allocate(rows * k->real_size);
    work->guess = k->allocate(rows * sizeof *work->guess);
    work->extra = k->allocate(m->extra_bytes);
    work->picked = calloc(m->ranks ? whole + 1 : 1, sizeof *work->picked);
    const size_t shared = m->shared_numbers ? m->shared_numbers : 2 * m->classes * m->columns + 1;
    work->shared = calloc(m->ranks ? shared : 1, sizeof *work->shared);
    work->numbers = calloc(m->host_numbers + 1, sizeof *work->numbers);
    work->statistics = calloc(m->net ? blv_nn_statistics(m->net) + 1 : 1, sizeof(double));
    if (!(work->network || work->sweep) || !work->weight || !work->row || !work->guess ||
        !work->extra || !work->picked || !work->shared || !work->numbers || !work->statistics) {
        destroy_work(m, work);
        return NULL;
    }
    if (work->sweep)
        keep_probabilities(m, work->sweep);
    return work;
}

model_work *model_begin(data_model *m, const blv_batch *batch) {
    if (batch && batch->index && batch->memory != m->kernels->memory &&
        batch->memory != BLV_MEMORY_HOST)
        return NULL;
    model_work *work = atomic_exchange(&m->hot, NULL);
    if (!work) {
        pthread_mutex_lock(&m->lock);
        work = m->rest;
        if (work)
            m->rest = work->next;
        pthread_mutex_unlock(&m->lock);
    }
    return work ? work : create_work(m);
}

void model_end(data_model *m, model_work *work) {
    work = atomic_exchange(&m->hot, work);
    if (!work)
        return;
    pthread_mutex_lock(&m->lock);
    work->next = m->rest;
    m->rest = work;
    pthread_mutex_unlock(&m->lock);
}

/* ---- Opening ---- */

blv_error data_problem_explain(const data_model *m, blv_error error, const char *text,
                               blv_message *why) {
    return blv_explain(why, error, "problem %s: %.300s", m->name, text);
}

blv_error data_problem_no_memory(const data_model *m, blv_message *why) {
    const char *failure = m->kernels->failure ? m->kernels->failure() : NULL;
    return data_problem_explain(m, BLV_E_MEMORY, failure ? failure : "out of memory", why);
}

void *data_problem_put(const data_model *m, size_t bytes, const void *from) {
    void *to = from ? m->kernels->allocate(bytes) : NULL;
    if (to)
        m->kernels->write_bytes(bytes, from, to);
    return to;
}

static int project(void *user, blv_vec *x) {
    const data_model *m = user;
    blv_vec_clamp(x, m->lo, m->hi);
    return 0;
}

blv_error data_problem_bounds(data_model *m, double lo, double hi, blv_problem_def *def,
                              blv_message *why) {
    m->lo = isnan(lo) ? -INFINITY : lo;
    m->hi = isnan(hi) ? INFINITY : hi;
    if (isfinite(m->lo) || isfinite(m->hi))
        def->project_x = project;
    return m->lo > m->hi ? data_problem_explain(m, BLV_E_VALUE, "lo is above hi", why) : BLV_OK;
}

bool data_problem_rows(data_model *m, size_t which, const blv_dataset *set, blv_rows *rows) {
    if (!set)
        return true;
    const blv_dataset_view *v = blv_dataset_view_of(set);
    blv_rows host = {.rows = v->rows,
                     .columns = v->columns,
                     .dense = v->dense,
                     .stride = v->stride,
                     .row_start = v->row_start,
                     .column = v->column,
                     .value = v->value,
                     .column_start = v->column_start,
                     .row = v->row,
                     .column_value = v->column_value,
                     .label = v->label,
                     .target = v->target,
                     .count = v->rows};
    if (m->ranks && !ranks_open_labels(m, which, set, &host))
        return false;
    const bool well = m->kernels->rows_open(&host, rows);
    rows->whole = v->rows;
    return well;
}

static blv_error open_linear(data_model *m, linear_loss wanted, blv_message *why) {
    const linear_loss loss = m->family->loss != LINEAR_LOSS_AUTO ? m->family->loss : wanted;
    const blv_dataset_view *train = blv_dataset_view_of(m->sets.train);
    const bool squares = loss == LINEAR_LOSS_SQUARES;
    m->one_score = squares || (loss != LINEAR_LOSS_SOFTMAX && train->classes == 2);
    m->columns = train->columns;
    m->classes = m->one_score ? 1 : train->classes;
    m->dim = m->classes * m->columns;
    if (squares)
        return train->target
                   ? BLV_OK
                   : blv_explain(why, BLV_E_FORMAT, "problem %s: loss = squares needs real targets",
                                 m->name);
    if (train->classes < 2 || (loss == LINEAR_LOSS_LOGISTIC && !m->one_score))
        return blv_explain(why, BLV_E_FORMAT,
                           "problem %s: the labels name %zu classes, expected %s", m->name,
                           train->classes, loss == LINEAR_LOSS_LOGISTIC ? "2" : "at least 2");
    return BLV_OK;
}

static void destroy_model(void *user) {
    data_model *m = user;
    model_work *work = atomic_load(&m->hot);
    if (work)
        destroy_work(m, work);
    while ((work = m->rest)) {
        m->rest = work->next;
        destroy_work(m, work);
    }
    pthread_mutex_destroy(&m->lock);
    if (m->family->close)
        m->family->close(m);
    m->kernels->rows_close(&m->train);
    m->kernels->rows_close(&m->val);
    m->kernels->rows_close(&m->test);
    ranks_close(m);
    blv_nn_destroy(m->net);
    free(m->statistics);
    data_sets_release(&m->sets);
    free(m);
}

static uint64_t fingerprint(void *user) {
    const data_sets *sets = &((const data_model *)user)->sets;
    const blv_dataset *const all[] = {sets->train, sets->val, sets->test};
    return blv_dataset_fingerprint_all(all, 3);
}

/* Of the rows, the model and the family; def becomes complete. */
static blv_error open_model(data_model *m, const data_params *params, blv_problem_def *def,
                            blv_message *why) {
    if (!m->sets.val && !m->family->val_optional)
        return data_problem_explain(m, BLV_E_ARGUMENT, "a training and a validation set are needed",
                                    why);
    if (!m->family->weighs && blv_dataset_view_of(m->sets.train)->weight)
        return data_problem_explain(
            m, BLV_E_VALUE, "weights of rows have no meaning here; l2reg and label-noise have them",
            why);
    if (!data_problem_rows(m, 0, m->sets.train, &m->train) ||
        !data_problem_rows(m, 1, m->sets.val, &m->val) ||
        !data_problem_rows(m, 2, m->sets.test, &m->test))
        return data_problem_no_memory(m, why);
    BLV_CHECK(m->family->network ? network_open(m, &params->net, why)
                                 : open_linear(m, (linear_loss)params->loss, why));
    *def = m->family->oracles;
    def->size = sizeof *def;
    def->name = m->name;
    def->dim_x = m->train.whole;
    def->dim_y = m->dim;
    def->precision = m->precision;
    def->threads = m->threads;
    def->memory = m->kernels->memory;
    def->many_minimizers = m->net && blv_nn_layers(m->net) > 1;
    def->upper_samples = m->val.whole;
    def->lower_samples = m->train.whole;
    def->shuffled = params->source.order == DATA_ORDER_RANDOM;
    def->user = m;
    def->free_user = destroy_model;
    def->fingerprint = fingerprint;
    if (m->family->open)
        BLV_CHECK(m->family->open(m, params, def, why));
    if (m->ranks)
        BLV_CHECK(ranks_open_spaces(m, def, why));
    model_work *first = create_work(m);
    atomic_store(&m->hot, first);
    const bool frozen =
        m->net && params->net.norm == NET_NORM_FROZEN && blv_nn_statistics(m->net) > 0;
    return first && (!frozen || network_freeze_norms(m)) ? BLV_OK : data_problem_no_memory(m, why);
}

blv_error data_problem_make(const data_family *family, const char *name, const void *params,
                            data_sets *sets, const blv_problem_options *options,
                            blv_problem **problem, blv_message *why) {
    const blv_kernels *kernels;
    blv_problem_def def;
    blv_error error = problem_kernels(options, name, &kernels, why);
    data_model *m = error == BLV_OK ? calloc(1, family->instance_size) : NULL;
    if (!m) {
        data_sets_release(sets);
        return error != BLV_OK ? error
                               : blv_explain(why, BLV_E_MEMORY, "problem %s: out of memory", name);
    }
    pthread_mutex_init(&m->lock, NULL);
    m->family = family;
    m->name = name;
    m->sets = *sets;
    m->kernels = kernels;
    m->precision = options->precision;
    m->threads = options->threads;
    error = ranks_take_sets(m, options, why);
    if (error == BLV_OK)
        error = open_model(m, params, &def, why);
    error = blv_ranks_agree(m->ranks, error, why);
    if (error == BLV_OK)
        return blv_problem_create(problem, &def, why);
    destroy_model(m);
    return error;
}

blv_error data_problem_create(const data_family *family, const void *params,
                              const blv_problem_options *options, blv_problem **problem,
                              blv_message *why) {
    enum { AUTO, DENSE };
    char owner[80];
    data_sets sets;
    const blv_kernels *kernels;
    data_source source = ((const data_params *)params)->source;
    source.real = ((const data_params *)params)->loss == LINEAR_LOSS_SQUARES;
    snprintf(owner, sizeof owner, "problem %s", family->name);
    BLV_CHECK(problem_kernels(options, family->name, &kernels, why));
    if (family->network && source.layout != AUTO && source.layout != DENSE)
        return blv_explain(why, BLV_E_UNSUPPORTED, "%s: a network needs dense rows: layout = dense",
                           owner);
    if (family->network)
        source.layout = DENSE;
    BLV_CHECK(data_load(&source, owner, options, &sets, why));
    if (family->change)
        family->change(params, &sets);
    return data_problem_make(family, family->name, params, &sets, options, problem, why);
}

blv_error data_problem_on_sets(const data_family *family, void *params, const blv_sets *given,
                               bool complete, const blv_problem_options *options,
                               blv_problem **problem, blv_message *why) {
    blv_problem_options chosen;
    data_sets sets;
    char owner[80];
    snprintf(owner, sizeof owner, "problem %s", family->name);
    BLV_CHECK(data_sets_take(given, complete, options, owner, &sets, &chosen, why));
    ((data_params *)params)->source.order = DATA_ORDER_FILE;
    return data_problem_make(family, family->name, params, &sets, &chosen, problem, why);
}

/* ---- Calls ---- */

void model_part(data_model *m, blv_rows *rows, const blv_rows *set, const blv_batch *batch,
                model_work *work) {
    if (m->ranks)
        *rows = ranks_part(m, set, batch, work);
    else
        model_rows(rows, set, batch);
}

static void linear_run(data_model *m, const blv_rows *rows, const model_sums *sums,
                       model_work *work) {
    const bool second = sums->v && (sums->hv || sums->row_cross);
    const size_t skip = sums->block * m->kernels->real_size;
    const bool penalized = !m->ranks || m->ranks->rank == 0;
    const blv_sweep sweep = {.classes = m->classes,
                             .w = (const char *)raw(sums->y) + skip,
                             .v = second ? (const char *)raw(sums->v) + skip : NULL,
                             .scale = sums->scale,
                             .ridge_column = penalized ? sums->ridge_column : NULL,
                             .ridge_class = penalized ? sums->ridge_class : NULL,
                             .ridge = penalized ? sums->ridge : 0.0,
                             .rule = NULL, /* every field has a value: clearing them costs more */
                             .rule_context = NULL,
                             .keep = sums->training,
                             .row_slope = sums->row_slope,
                             .loss = sums->loss,
                             .gradient = sums->gy ? (char *)raw_mut(sums->gy) + skip : NULL,
                             .hessian = sums->hv ? (char *)raw_mut(sums->hv) + skip : NULL,
                             .row_loss = sums->row_loss,
                             .row_cross = sums->row_cross,
                             .row_probability = sums->row_probability,
                             .row_class = sums->row_class};
    m->kernels->sweep(rows, &sweep, work->sweep);
    if (m->ranks)
        ranks_add_up(m, sums, work);
}

void model_run(data_model *m, const blv_rows *rows, const model_sums *sums, model_work *work) {
    (m->net ? network_run : linear_run)(m, rows, sums, work);
}

model_sums model_lower_sums(const lower_call *c, const blv_rows *rows) {
    return (model_sums){.y = c->y,
                        .v = c->v,
                        .scale = 1.0 / (double)rows->whole,
                        .training = true,
                        .loss = c->g,
                        .gy = c->gy,
                        .hv = c->hv};
}

void model_weighted(data_model *m, const lower_call *c, const blv_rows *rows, double scale,
                    double ridge, model_work *work) {
    model_sums sums = model_lower_sums(c, rows);
    sums.scale = scale;
    sums.ridge = 2.0 * ridge;
    sums.row_loss = c->gx ? work->row : NULL;
    sums.row_cross = c->jv ? work->row : NULL;
    model_run(m, rows, &sums, work);
    const double norm = c->g ? blv_vec_norm(c->y) : 0.0;
    if (c->g)
        *c->g += ridge * norm * norm;
}

int model_upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                blv_vec *fx, blv_vec *fy) {
    data_model *m = user;
    (void)x;
    if (fx)
        blv_vec_fill(fx, 0.0);
    if (!f && !fy)
        return 0;
    model_work *work = model_begin(m, batch);
    if (!work)
        return -1;
    blv_rows rows;
    model_part(m, &rows, &m->val, batch, work);
    model_run(m, &rows,
              &(model_sums){.y = y, .scale = 1.0 / (double)rows.whole, .loss = f, .gy = fy}, work);
    model_end(m, work);
    return 0;
}

/* ---- Measures ---- */

const char *const model_measures[] = {"val_loss", "val_accuracy", "test_loss", "test_accuracy",
                                      NULL};

static const double *statistics_at(data_model *m, const blv_vec *y, model_work *work) {
    return m->net ? network_statistics(m, y, work) : NULL;
}

void model_judge(data_model *m, const blv_rows *rows, const blv_vec *y, size_t block,
                 const double *statistics, model_work *work, double *loss, double *accuracy) {
    model_run(m, rows,
              &(model_sums){.y = y,
                            .block = block,
                            .scale = 1.0 / (double)rows->whole,
                            .statistics = statistics,
                            .loss = loss,
                            .row_class = work->guess},
              work);
    const bool has_classes = rows->label != NULL;
    const double right =
        has_classes ? (double)m->kernels->count_right(rows, work->guess) : (double)NAN;
    *accuracy = has_classes ? ranks_total(m, right) / (double)rows->whole : right;
}

int model_measure(void *user, const blv_vec *x, const blv_vec *y, double *values) {
    data_model *m = user;
    (void)x;
    model_work *work = model_begin(m, NULL);
    if (!work)
        return -1;
    const double *statistics = statistics_at(m, y, work);
    values[2] = values[3] = NAN;
    model_judge(m, &m->val, y, 0, statistics, work, &values[0], &values[1]);
    if (m->sets.test)
        model_judge(m, &m->test, y, 0, statistics, work, &values[2], &values[3]);
    model_end(m, work);
    return 0;
}

void model_probabilities(data_model *m, const blv_vec *y, void *probability, model_work *work) {
    model_run(m, &m->train,
              &(model_sums){.y = y,
                            .scale = 1.0,
                            .statistics = statistics_at(m, y, work),
                            .row_probability = probability},
              work);
}
