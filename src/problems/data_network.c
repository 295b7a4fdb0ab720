/* Networks as the model of a problem on data. */
#include "problems/data_problem.h"

#include <stdlib.h>

enum { OBSERVED_ROWS = 2048 }; /* training rows whose statistics norms take */

blv_error network_open(data_model *m, const net_source *source, blv_message *why) {
    const blv_dataset_view *train = blv_dataset_view_of(m->sets.train);
    blv_message said = {0};
    m->nn = blv_nn_kernels_for(m->kernels->memory);
    m->seed = (uint64_t)source->net_seed;
    m->slice = source->slice > 0 ? (size_t)source->slice : 0;
    if (!m->nn)
        return data_problem_explain(m, BLV_E_UNSUPPORTED, "no networks in this kind of memory",
                                    why);
    if (!train->dense)
        return data_problem_explain(m, BLV_E_UNSUPPORTED, "a network needs dense rows", why);
    if (train->classes < 2)
        return data_problem_explain(m, BLV_E_FORMAT, "the labels name 1 class, expected at least 2",
                                    why);
    blv_error error = blv_nn_from_text(&m->net, source->net, train->columns, train->classes, &said);
    if (error == BLV_OK && m->nn->fits)
        error = m->nn->fits(m->net, &said);
    if (error != BLV_OK)
        return data_problem_explain(m, error, said.text, why);
    m->dim = blv_nn_dim(m->net);
    return BLV_OK;
}

/* False: no memory. */
static bool start_params(const data_model *m, void *params) {
    double *numbers = malloc(m->dim * sizeof *numbers);
    if (numbers) {
        blv_nn_start(m->net, BLV_F64, m->seed, numbers);
        m->kernels->write(m->dim, numbers, params);
    }
    free(numbers);
    return numbers != NULL;
}

/* What norms see of training rows with these parameters. */
static void observe(data_model *m, const void *params, model_work *work, double *statistics) {
    blv_rows rows = m->train;
    if (rows.count > OBSERVED_ROWS)
        rows.count = OBSERVED_ROWS;
    m->nn->observe(work->network, &rows, params, statistics);
}

bool network_freeze_norms(data_model *m) {
    m->statistics = calloc(blv_nn_statistics(m->net), sizeof *m->statistics);
    void *params = m->kernels->allocate(m->dim * m->kernels->real_size);
    model_work *work = m->statistics && params ? model_begin(m, NULL) : NULL;
    const bool started = work && start_params(m, params);
    if (started)
        observe(m, params, work, m->statistics);
    if (work)
        model_end(m, work);
    m->kernels->release(params);
    return started;
}

const double *network_statistics(data_model *m, const blv_vec *y, model_work *work) {
    if (m->statistics || blv_nn_statistics(m->net) == 0)
        return m->statistics;
    observe(m, raw(y), work, work->statistics);
    return work->statistics;
}

/* out = ridge u, to which a pass adds */
static void set_ridge(blv_vec *out, double ridge, const blv_vec *u) {
    if (!out)
        return;
    if (ridge == 0.0)
        blv_vec_fill(out, 0.0);
    else
        blv_vec_lincomb(out, 1, (const double[]){ridge}, (const blv_vec *const[]){u});
}

void network_run(data_model *m, const blv_rows *rows, const model_sums *sums, model_work *work) {
    if (!sums->add) {
        set_ridge(sums->gy, sums->ridge, sums->y);
        set_ridge(sums->hv, sums->ridge, sums->v);
    }
    const bool second = sums->v && (sums->hv || sums->row_cross);
    const blv_nn_pass pass = {.params = raw(sums->y),
                              .v = second ? raw(sums->v) : NULL,
                              .scale = sums->scale,
                              .statistics = sums->statistics ? sums->statistics : m->statistics,
                              .drop = sums->training,
                              .drop_seed = m->seed,
                              .loss = sums->loss,
                              .gradient = sums->gy ? raw_mut(sums->gy) : NULL,
                              .hessian = sums->hv ? raw_mut(sums->hv) : NULL,
                              .row_loss = sums->row_loss,
                              .row_cross = sums->row_cross,
                              .row_probability = sums->row_probability,
                              .row_class = sums->row_class};
    m->nn->run(work->network, rows, &pass);
}

int model_start(void *user, blv_vec *x, blv_vec *y) {
    const data_model *m = user;
    (void)x;
    return start_params(m, raw_mut(y)) ? 0 : -1;
}
