/* Networks on a set's rows, for the problems that have one. */
#include "problems/net_model.h"
#include "problems/raw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { OBSERVED_ROWS = 2048 }; /* training rows whose statistics norms take */

/* ---- Memory of calls ---- */

static size_t rows_of(const blv_dataset *set) {
    return set ? blv_dataset_view_of(set)->rows : 0;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static void destroy_work(pool_link *link) {
    net_work *work = (net_work *)link; /* link is its first member */
    blv_nn_work_destroy(work->pass);
    free(work->weight);
    free(work->row);
    free(work->guess);
    free(work->statistics);
    free(work->numbers);
    free(work->of_x);
    free(work);
}

static pool_link *create_work(const void *owner) {
    const net_model *m = owner;
    const linear_data *d = &m->data;
    const size_t real = m->precision == BLV_F32 ? sizeof(float) : sizeof(double);
    const size_t others = larger(rows_of(d->val), rows_of(d->test));
    const size_t rows = larger(1, larger(rows_of(d->train), others));
    net_work *work = calloc(1, sizeof *work);
    if (!work)
        return NULL;
    work->pass = blv_nn_work_create(m->net, m->precision, rows, m->slice, m->threads);
    work->weight = calloc(rows, real);
    work->row = calloc(rows, real);
    work->guess = calloc(rows, sizeof *work->guess);
    work->statistics = calloc(blv_nn_statistics(m->net) + 1, sizeof *work->statistics);
    work->numbers = calloc(NET_NUMBERS * rows, sizeof *work->numbers);
    work->of_x = calloc(blv_nn_dim(m->net), sizeof *work->of_x);
    if (work->pass && work->weight && work->row && work->guess && work->statistics &&
        work->numbers && work->of_x)
        return &work->link;
    destroy_work(&work->link);
    return NULL;
}

static const pool_kind works = {.create = create_work, .destroy = destroy_work};

net_work *net_work_take(net_model *m) {
    return (net_work *)pool_take(m->pool);
}

void net_work_return(net_model *m, net_work *work) {
    pool_return(m->pool, &work->link);
}

/* ---- The model ---- */

static blv_error explain(blv_message *why, blv_error error, const char *owner, const char *text) {
    if (why) {
        const blv_message said = *why; /* text may be in why itself */
        snprintf(why->text, sizeof why->text, "%s: %.300s", owner, text ? text : said.text);
    }
    return error;
}

static blv_error load(net_model *m, const linear_source *given, const char *owner,
                      blv_message *why) {
    enum { AUTO, DENSE };
    linear_source source = *given;
    if (source.layout != AUTO && source.layout != DENSE)
        return explain(why, BLV_E_UNSUPPORTED, owner, "a network needs dense rows: layout = dense");
    source.layout = DENSE;
    return linear_load(&source, owner, m->precision, &m->data, why);
}

static blv_error make_network(net_model *m, const net_source *source, const char *owner,
                              blv_message *why) {
    const blv_dataset_view *train = blv_dataset_view_of(m->data.train);
    blv_message said = {0};
    if (train->classes < 2)
        return explain(why, BLV_E_FORMAT, owner, "the labels name 1 class, expected at least 2");
    blv_error error =
        blv_nn_from_text(&m->net, source->text, train->columns, train->classes, &said);
    return error == BLV_OK ? BLV_OK : explain(why, error, owner, said.text);
}

/* What norms see of training rows with these parameters. */
static void observe(net_model *m, const void *params, net_work *work, double *statistics) {
    blv_rows rows = linear_rows(m->data.train, NULL);
    if (rows.count > OBSERVED_ROWS)
        rows.count = OBSERVED_ROWS;
    blv_nn_observe(work->pass, &rows, params, statistics);
}

static bool freeze_norms(net_model *m) {
    const size_t real = m->precision == BLV_F32 ? sizeof(float) : sizeof(double);
    m->statistics = calloc(blv_nn_statistics(m->net), sizeof *m->statistics);
    void *params = malloc(blv_nn_dim(m->net) * real);
    net_work *work = m->statistics && params ? net_work_take(m) : NULL;
    if (work) {
        blv_nn_start(m->net, m->precision, m->seed, params);
        observe(m, params, work, m->statistics);
        net_work_return(m, work);
    }
    free(params);
    return work != NULL;
}

static net_model without_data(const net_source *net, const blv_problem_options *options) {
    return (net_model){.precision = options->precision,
                       .threads = options->threads,
                       .seed = (uint64_t)net->seed,
                       .slice = net->slice > 0 ? (size_t)net->slice : 0,
                       .loops = options->precision == BLV_F32 ? blv_element_loops_f32()
                                                              : blv_element_loops_f64()};
}

/* The data are there. On error nothing is left. */
static blv_error finish(net_model *m, const net_source *net, const char *owner, blv_message *why) {
    blv_error error = make_network(m, net, owner, why);
    if (error == BLV_OK) {
        m->pool = pool_create(&works, m);
        bool frozen = net->norm == NET_NORM_FROZEN && blv_nn_statistics(m->net) > 0;
        if (!m->pool || (frozen && !freeze_norms(m)))
            error = explain(why, BLV_E_MEMORY, owner, "out of memory");
    }
    if (error != BLV_OK)
        net_model_close(m);
    return error;
}

blv_error net_model_open(net_model *m, const linear_source *data, const net_source *net,
                         const char *owner, const blv_problem_options *options, blv_message *why) {
    *m = without_data(net, options);
    blv_error error = load(m, data, owner, why);
    if (error == BLV_OK)
        return finish(m, net, owner, why);
    net_model_close(m);
    return error;
}

blv_error net_model_take(net_model *m, linear_data *data, const net_source *net, const char *owner,
                         const blv_problem_options *options, blv_message *why) {
    *m = without_data(net, options);
    m->data = *data;
    if (blv_dataset_view_of(data->train)->dense)
        return finish(m, net, owner, why);
    net_model_close(m);
    return explain(why, BLV_E_UNSUPPORTED, owner, "a network needs dense rows");
}

void net_model_close(net_model *m) {
    pool_destroy(m->pool);
    blv_nn_destroy(m->net);
    free(m->statistics);
    linear_data_destroy(&m->data);
    *m = (net_model){.net = NULL};
}

void net_start(const net_model *m, blv_vec *y) {
    blv_nn_start(m->net, m->precision, m->seed, raw_mut(y));
}

/* ---- Passes ---- */

void net_pass(const net_model *m, const blv_rows *rows, blv_nn_pass pass, bool training,
              net_work *work) {
    if (!pass.statistics)
        pass.statistics = m->statistics;
    pass.drop = training;
    pass.drop_seed = m->seed;
    blv_nn_run(work->pass, rows, &pass);
}

void net_lower_pass(net_model *m, const blv_rows *rows, const net_lower *lower, net_work *work) {
    blv_rows weighted = *rows;
    weighted.weight = lower->weight;
    const bool second = lower->v && (lower->hv || lower->row_cross);
    net_pass(m, &weighted,
             (blv_nn_pass){.params = raw(lower->y),
                           .v = second ? raw(lower->v) : NULL,
                           .scale = lower->scale,
                           .loss = lower->loss,
                           .gradient = lower->gy ? raw_mut(lower->gy) : NULL,
                           .hessian = lower->hv ? raw_mut(lower->hv) : NULL,
                           .row_loss = lower->row_loss,
                           .row_cross = lower->row_cross},
             true, work);
}

void net_ridge(blv_vec *out, double factor, const blv_vec *u) {
    if (out)
        blv_vec_lincomb(out, 1, (const double[]){factor}, (const blv_vec *const[]){u});
}

void net_mean_loss(net_model *m, const blv_dataset *set, const blv_batch *batch, const blv_vec *y,
                   double *f, blv_vec *fy, net_work *work) {
    const blv_rows rows = linear_rows(set, batch);
    if (fy)
        blv_vec_fill(fy, 0.0);
    net_pass(m, &rows,
             (blv_nn_pass){.params = raw(y),
                           .scale = 1.0 / (double)rows.count,
                           .loss = f,
                           .gradient = fy ? raw_mut(fy) : NULL},
             false, work);
}

int net_upper(net_model *m, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
              blv_vec *fx, blv_vec *fy) {
    (void)x;
    if (fx)
        blv_vec_fill(fx, 0.0);
    if (!f && !fy)
        return 0;
    net_work *work = net_work_take(m);
    if (!work)
        return -1;
    net_mean_loss(m, m->data.val, batch, y, f, fy, work);
    net_work_return(m, work);
    return 0;
}

/* ---- Measures ---- */

const char *const net_measures[] = {"val_loss", "val_accuracy", "test_loss", "test_accuracy", NULL};

/* Statistics for judging y: the frozen ones, or those of training rows. NULL: no norms. */
static const double *judging_statistics(net_model *m, const blv_vec *y, net_work *work) {
    if (m->statistics || blv_nn_statistics(m->net) == 0)
        return m->statistics;
    observe(m, raw(y), work, work->statistics);
    return work->statistics;
}

static void judge(net_model *m, const blv_dataset *set, const blv_vec *y, const double *statistics,
                  net_work *work, double *loss, double *accuracy) {
    blv_rows rows = linear_rows(set, NULL);
    net_pass(m, &rows,
             (blv_nn_pass){.params = raw(y),
                           .scale = 1.0 / (double)rows.count,
                           .statistics = statistics,
                           .loss = loss,
                           .row_class = work->guess},
             false, work);
    size_t right = 0;
    for (size_t i = 0; i < rows.count; i++)
        right += work->guess[i] == rows.label[i];
    *accuracy = (double)right / (double)rows.count;
}

int net_measure(net_model *m, const blv_vec *y, double *values) {
    net_work *work = net_work_take(m);
    if (!work)
        return -1;
    const double *statistics = judging_statistics(m, y, work);
    values[2] = values[3] = NAN;
    judge(m, m->data.val, y, statistics, work, &values[0], &values[1]);
    if (m->data.test)
        judge(m, m->data.test, y, statistics, work, &values[2], &values[3]);
    net_work_return(m, work);
    return 0;
}

void net_probabilities(net_model *m, const blv_vec *y, void *probability, net_work *work) {
    blv_rows rows = linear_rows(m->data.train, NULL);
    net_pass(m, &rows,
             (blv_nn_pass){.params = raw(y),
                           .scale = 1.0,
                           .statistics = judging_statistics(m, y, work),
                           .row_probability = probability},
             false, work);
}

blv_problem_def net_definition(const net_model *m, const linear_source *source, const char *name) {
    return (blv_problem_def){BLV_SIZED(blv_problem_def),
                             .name = name,
                             .dim_y = blv_nn_dim(m->net),
                             .precision = m->precision,
                             .threads = m->threads,
                             .many_minimizers = blv_nn_layers(m->net) > 1,
                             .upper_samples = rows_of(m->data.val),
                             .lower_samples = rows_of(m->data.train),
                             .shuffled = source->order == LINEAR_ORDER_RANDOM};
}
