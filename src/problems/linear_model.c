/* Linear models: passes over a set's rows for the problems on data. */
#include "problems/linear_model.h"
#include "problems/raw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Memory of calls ---- */

typedef struct pooled {
    pool_link link;
    linear_work work;
} pooled;

static void pooled_destroy(pooled *p) {
    blv_sweep_work_destroy(p->work.pass);
    free(p->work.ridge);
    free(p->work.column);
    free(p->work.penalty);
    free(p->work.halves);
    free(p->work.sums);
    free(p->work.weight);
    free(p->work.row);
    free(p->work.guess);
    free(p);
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Training rows have their probabilities kept where that takes no more memory than the rows. With
 * one score there is nothing to gain: the product X w is not what takes the time. */
static void keep_probabilities(const linear_model *m, size_t real, blv_sweep_work *pass) {
    const blv_dataset_view *train = blv_dataset_view_of(m->data.train);
    size_t numbers = (train->rows + m->columns) * m->classes;
    size_t data = train->dense ? train->rows * m->columns * real
                               : train->row_start[train->rows] * (real + sizeof *train->column) *
                                     (train->column_start ? 2 : 1);
    if (!m->logistic && numbers * real <= data)
        (void)blv_sweep_work_keep(pass, train->rows);
}

static pooled *pooled_create(const linear_model *m) {
    const blv_dataset_view *train = blv_dataset_view_of(m->data.train);
    size_t real = m->precision == BLV_F32 ? sizeof(float) : sizeof(double);
    size_t rows = larger(train->rows, blv_dataset_view_of(m->data.val)->rows);
    if (m->data.test)
        rows = larger(rows, blv_dataset_view_of(m->data.test)->rows);
    pooled *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->work.pass =
        blv_sweep_work_create(m->classes, m->columns, real, !train->dense, rows, m->threads);
    p->work.ridge = calloc(larger(m->columns, m->classes), real);
    p->work.column = calloc(larger(m->columns, m->classes), real);
    p->work.penalty = calloc(larger(m->columns, m->classes), real);
    p->work.halves = calloc(larger(m->columns, m->classes), real);
    p->work.sums = calloc(larger(m->columns, m->classes), sizeof *p->work.sums);
    p->work.weight = calloc(rows, real);
    p->work.row = calloc(rows, real);
    p->work.guess = calloc(rows, sizeof *p->work.guess);
    if (!p->work.pass || !p->work.ridge || !p->work.column || !p->work.penalty || !p->work.halves ||
        !p->work.sums || !p->work.weight || !p->work.row || !p->work.guess) {
        pooled_destroy(p);
        return NULL;
    }
    keep_probabilities(m, real, p->work.pass);
    return p;
}

static pool_link *create_work(const void *model) {
    pooled *p = pooled_create(model);
    return p ? &p->link : NULL;
}

static void destroy_work(pool_link *work) {
    pooled_destroy((pooled *)work); /* link is its first member */
}

static const pool_kind works = {.create = create_work, .destroy = destroy_work};

linear_work *linear_work_take(linear_model *model) {
    pooled *p = (pooled *)pool_take(model->pool);
    return p ? &p->work : NULL;
}

void linear_work_return(linear_model *model, linear_work *work) {
    pooled *p = (pooled *)(void *)((char *)work - offsetof(pooled, work));
    pool_return(model->pool, &p->link);
}

/* ---- The model ---- */

static blv_error no_memory(blv_message *why, const char *owner) {
    if (why)
        snprintf(why->text, sizeof why->text, "%s: out of memory", owner);
    return BLV_E_MEMORY;
}

blv_error linear_model_open(linear_model *m, linear_data *data, linear_loss loss, const char *owner,
                            const blv_problem_options *options, blv_message *why) {
    const blv_dataset_view *train = blv_dataset_view_of(data->train);
    *m = (linear_model){.data = *data,
                        .logistic = loss != LINEAR_LOSS_SOFTMAX && train->classes == 2,
                        .columns = train->columns,
                        .precision = options->precision,
                        .threads = options->threads,
                        .loops = options->precision == BLV_F32 ? blv_element_loops_f32()
                                                               : blv_element_loops_f64()};
    *data = (linear_data){NULL, NULL, NULL};
    m->classes = m->logistic ? 1 : train->classes;
    if (train->classes < 2 || (loss == LINEAR_LOSS_LOGISTIC && !m->logistic)) {
        size_t found = train->classes;
        linear_model_close(m);
        if (why)
            snprintf(why->text, sizeof why->text, "%s: the labels name %zu classes, expected %s",
                     owner, found, loss == LINEAR_LOSS_LOGISTIC ? "2" : "at least 2");
        return BLV_E_FORMAT;
    }
    m->pool = pool_create(&works, m);
    if (!m->pool) {
        linear_model_close(m);
        return no_memory(why, owner);
    }
    return BLV_OK;
}

void linear_model_close(linear_model *m) {
    pool_destroy(m->pool);
    m->pool = NULL;
    linear_data_destroy(&m->data);
}

size_t linear_model_dim(const linear_model *m) {
    return m->classes * m->columns;
}

blv_rows linear_rows(const blv_dataset *set, const blv_batch *batch) {
    const blv_dataset_view *v = blv_dataset_view_of(set);
    blv_rows rows = {.rows = v->rows,
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
                     .count = v->rows};
    if (batch) {
        rows.first = batch->first;
        rows.count = batch->count;
        rows.index = batch->index;
        rows.next_first = batch->next_first;
        rows.next_count = batch->next_count;
    }
    return rows;
}

void linear_pass(const linear_model *m, const blv_rows *rows, const blv_sweep *pass,
                 linear_work *work) {
    bool single = m->precision == BLV_F32;
    if (m->logistic && single)
        blv_logistic_pass_f32(rows, pass, work->pass);
    else if (m->logistic)
        blv_logistic_pass_f64(rows, pass, work->pass);
    else if (single)
        blv_softmax_pass_f32(rows, pass, work->pass);
    else
        blv_softmax_pass_f64(rows, pass, work->pass);
}

int linear_upper(linear_model *m, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                 double *f, blv_vec *fx, blv_vec *fy) {
    (void)x;
    if (fx)
        blv_vec_fill(fx, 0.0);
    if (!f && !fy)
        return 0;
    linear_work *work = linear_work_take(m);
    if (!work)
        return -1;
    blv_rows rows = linear_rows(m->data.val, batch);
    blv_sweep pass = {.classes = m->classes,
                      .w = raw(y),
                      .scale = 1.0 / (double)rows.count,
                      .loss = f,
                      .gradient = fy ? raw_mut(fy) : NULL};
    linear_pass(m, &rows, &pass, work);
    linear_work_return(m, work);
    return 0;
}

bool linear_quality(linear_model *m, const blv_dataset *set, const blv_vec *y, double *loss,
                    double *accuracy) {
    linear_work *work = linear_work_take(m);
    if (!work)
        return false;
    blv_rows rows = linear_rows(set, NULL);
    blv_sweep pass = {.classes = m->classes,
                      .w = raw(y),
                      .scale = 1.0 / (double)rows.count,
                      .loss = loss,
                      .row_class = work->guess};
    linear_pass(m, &rows, &pass, work);
    size_t right = 0;
    for (size_t i = 0; i < rows.count; i++)
        right += work->guess[i] == rows.label[i];
    *accuracy = (double)right / (double)rows.count;
    linear_work_return(m, work);
    return true;
}

int linear_measure(linear_model *m, const blv_vec *y, double *values) {
    values[2] = values[3] = NAN;
    if (!linear_quality(m, m->data.val, y, &values[0], &values[1]))
        return -1;
    return !m->data.test || linear_quality(m, m->data.test, y, &values[2], &values[3]) ? 0 : -1;
}

blv_problem_def linear_definition(const linear_model *m, int order, const char *name) {
    return (blv_problem_def){BLV_SIZED(blv_problem_def),
                             .name = name,
                             .dim_y = linear_model_dim(m),
                             .precision = m->precision,
                             .threads = m->threads,
                             .upper_samples = blv_dataset_view_of(m->data.val)->rows,
                             .lower_samples = blv_dataset_view_of(m->data.train)->rows,
                             .shuffled = order == LINEAR_ORDER_RANDOM};
}

uint64_t linear_fingerprint(const linear_data *data) {
    const blv_dataset *const sets[] = {data->train, data->val, data->test};
    return blv_dataset_fingerprint_all(sets, 3);
}
