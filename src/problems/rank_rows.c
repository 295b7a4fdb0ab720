/* Rows that are spread over ranks: a sweep over the rows here, then one sum over the ranks of the
 * loss, the gradient and Hv together. y is replicated; an x with an entry for each training row is
 * spread as the rows are. Penalties in gy and hv are added by rank 0 alone.
 *
 * Batches are those of one process: all ranks draw the same numbers, and each takes the rows that
 * it holds. So they are unbiased as those of one process are, whatever the ranks hold. */
#include "base/rank_exchange.h"
#include "problems/data_problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Opening ---- */

blv_error ranks_take_sets(data_model *m, const blv_problem_options *options, blv_message *why) {
    blv_dataset *const sets[] = {m->sets.train, m->sets.val, m->sets.test};
    m->ranks = blv_dataset_view_of(m->sets.train)->ranks;
    if (!m->ranks && !options->ranks)
        return BLV_OK;
    if (!m->family->spreads)
        return data_problem_explain(m, BLV_E_UNSUPPORTED,
                                    "its rows cannot be spread over ranks; run it in one process",
                                    why);
    if (m->kernels->memory != BLV_MEMORY_HOST)
        return data_problem_explain(m, BLV_E_UNSUPPORTED,
                                    "rows that are spread over ranks are kept in host memory", why);
    m->ranks = m->ranks ? m->ranks : options->ranks;
    for (size_t i = 0; i < 3; i++)
        if (sets[i])
            BLV_CHECK(blv_dataset_spread(sets[i], m->ranks, why));
    for (size_t i = 0; i < 3; i++) /* spreading drops it */
        if (sets[i])
            BLV_CHECK(blv_dataset_transpose(sets[i], why));
    return BLV_OK;
}

bool ranks_open_labels(data_model *m, size_t which, const blv_dataset *set, blv_rows *host) {
    const blv_dataset_view *v = blv_dataset_view_of(set);
    host->rows = host->count = v->held;
    int32_t *label = m->held_label[which] = v->label ? calloc(v->held + 1, sizeof *label) : NULL;
    double *target = m->held_target[which] = v->target ? calloc(v->held + 1, sizeof *target) : NULL;
    if ((v->label && !label) || (v->target && !target))
        return false;
    for (size_t k = 0; k < v->held; k++) {
        if (label)
            label[k] = v->label[v->held_row[k]];
        if (target)
            target[k] = v->target[v->held_row[k]];
    }
    host->label = label;
    host->target = target;
    return true;
}

blv_error ranks_open_spaces(data_model *m, blv_problem_def *def, blv_message *why) {
    const blv_dataset_view *train = blv_dataset_view_of(m->sets.train);
    blv_error error =
        m->family->x_of_rows
            ? blv_space_create_spread(&m->space_x, m->ranks, train->rows, train->held_row,
                                      train->held, m->precision, m->threads)
            : blv_space_create_replicated(&m->space_x, m->ranks, def->dim_x, m->precision,
                                          m->threads);
    if (error == BLV_OK)
        error = blv_space_create_replicated(&m->space_y, m->ranks, def->dim_y, m->precision,
                                            m->threads);
    def->space_x = m->space_x;
    def->space_y = m->space_y;
    return error == BLV_OK ? BLV_OK
                           : data_problem_explain(m, error, problem_ranks_error(error), why);
}

void ranks_close(data_model *m) {
    for (size_t i = 0; i < 3; i++) {
        free(m->held_label[i]);
        free(m->held_target[i]);
    }
    blv_space_destroy(m->space_x);
    blv_space_destroy(m->space_y);
}

/* ---- Batches ---- */

static const blv_dataset_view *view_of(const data_model *m, const blv_rows *set) {
    return blv_dataset_view_of(set == &m->train ? m->sets.train
                               : set == &m->val ? m->sets.val
                                                : m->sets.test);
}

/* How many of the rows that are here come before this one. */
static size_t rows_before(const blv_dataset_view *v, size_t row) {
    size_t first = 0, end = v->held;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (v->held_row[middle] < row)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

blv_rows ranks_part(const data_model *m, const blv_rows *set, const blv_batch *batch,
                    model_work *work) {
    const blv_dataset_view *v = view_of(m, set);
    blv_rows rows = *set;
    if (!batch)
        return rows;
    rows.whole = batch->count;
    rows.count = 0;
    if (!batch->index) {
        rows.first = rows_before(v, batch->first);
        rows.count = rows_before(v, batch->first + batch->count) - rows.first;
        rows.next_first = rows_before(v, batch->next_first);
        rows.next_count = rows_before(v, batch->next_first + batch->next_count) - rows.next_first;
        return rows;
    }
    for (size_t i = 0; i < batch->count; i++) {
        const size_t at = rows_before(v, batch->index[i]);
        if (at < v->held && v->held_row[at] == batch->index[i])
            work->picked[rows.count++] = at;
    }
    rows.index = work->picked;
    rows.index_memory = BLV_MEMORY_HOST;
    rows.list = NULL;
    return rows;
}

/* ---- Sums ---- */

void ranks_add_up(const data_model *m, const model_sums *sums, model_work *work) {
    const size_t dim = m->classes * m->columns, skip = sums->block * m->kernels->real_size;
    void *const arrays[] = {sums->gy ? (char *)raw_mut(sums->gy) + skip : NULL,
                            sums->hv ? (char *)raw_mut(sums->hv) + skip : NULL};
    if (blv_ranks_several(m->ranks) && !problem_sum(m->ranks, m->kernels, 1, sums->loss, 2, arrays,
                                                    (const size_t[]){dim, dim}, work->shared))
        blv_space_fail(m->space_y, BLV_E_DEVICE, BLV_NO_EXCHANGE);
}

double ranks_total(const data_model *m, double number) {
    if (blv_ranks_several(m->ranks) && !m->ranks->sum(m->ranks->context, 1, &number))
        return (double)NAN;
    return number;
}

void ranks_collect(const data_model *m, const double *one, double *all) {
    const blv_dataset_view *train = blv_dataset_view_of(m->sets.train);
    if (!m->ranks) {
        memcpy(all, one, train->rows * sizeof *all);
        return;
    }
    memset(all, 0, train->rows * sizeof *all);
    for (size_t k = 0; k < train->held; k++)
        all[train->held_row[k]] = one[k];
    if (!m->ranks->sum(m->ranks->context, train->rows, all))
        all[0] = (double)NAN;
}
