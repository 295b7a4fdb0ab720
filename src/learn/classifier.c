#include "bilevel/classifier.h"
#include "base/message.h"
#include "base/precision.h"
#include "base/random.h"
#include "bilevel/solver.h"
#include "learn/linear_fit.h"
#include "learn/selecting.h"
#include "nn/nn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OBSERVED_ROWS = 2048 }; /* whose statistics norms take after training */

struct blv_classifier {
    blv_nn *net;
    blv_precision precision;
    int threads;
    uint64_t seed;
    void *params;
    double *statistics; /* of norms, from the last training */
    bool observed;
};

static blv_error reject(blv_message *why, blv_error error, const char *text) {
    return blv_explain(why, error, "classifier: %s", text);
}

/* ---- Life ---- */

blv_error blv_classifier_create(blv_classifier **classifier, size_t columns, size_t classes,
                                const blv_classifier_options *options, blv_message *why) {
    blv_classifier_options own;
    if (!classifier)
        return reject(why, BLV_E_ARGUMENT, "a NULL argument");
    *classifier = NULL;
    BLV_CHECK(blv_caller_struct(&own, sizeof own, options, "blv_classifier_options", why));
    options = &own;
    blv_classifier *c = calloc(1, sizeof *c);
    if (!c)
        return reject(why, BLV_E_MEMORY, "out of memory");
    c->precision = options->precision;
    c->threads = options->threads;
    blv_error error = blv_nn_from_text(&c->net, options->net ? options->net : "mlp:in-128-out",
                                       columns, classes, why);
    if (error == BLV_OK) {
        c->params = calloc(blv_nn_dim(c->net), blv_value_size(c->precision));
        c->statistics = calloc(blv_nn_statistics(c->net) + 1, sizeof *c->statistics);
        if (!c->params || !c->statistics)
            error = reject(why, BLV_E_MEMORY, "out of memory");
    }
    if (error != BLV_OK) {
        blv_classifier_destroy(c);
        return error;
    }
    blv_classifier_restart(c, options->seed);
    *classifier = c;
    return BLV_OK;
}

void blv_classifier_destroy(blv_classifier *c) {
    if (!c)
        return;
    blv_nn_destroy(c->net);
    free(c->params);
    free(c->statistics);
    free(c);
}

void blv_classifier_restart(blv_classifier *c, uint64_t seed) {
    if (!c)
        return;
    c->seed = seed;
    c->observed = false;
    blv_nn_start(c->net, c->precision, seed, c->params);
}

/* ---- Rows ---- */

static blv_error expect_rows(const blv_classifier *c, const blv_dataset *set, blv_message *why) {
    if (!c || !set)
        return reject(why, BLV_E_ARGUMENT, "a NULL argument");
    const blv_dataset_view *v = blv_dataset_view_of(set);
    if (!v->dense)
        return reject(why, BLV_E_UNSUPPORTED, "a network needs dense rows");
    if (v->precision != c->precision)
        return reject(why, BLV_E_VALUE, "the rows have another precision");
    if (v->columns != blv_nn_inputs(c->net))
        return reject(why, BLV_E_VALUE, "the rows have another number of columns");
    if (!v->label || v->classes > blv_nn_classes(c->net))
        return reject(why, BLV_E_VALUE, "the rows have no classes, or too many");
    return BLV_OK;
}

static blv_rows rows_of(const blv_dataset *set) {
    const blv_dataset_view *v = blv_dataset_view_of(set);
    return (blv_rows){.rows = v->rows,
                      .columns = v->columns,
                      .dense = v->dense,
                      .stride = v->stride,
                      .label = v->label,
                      .count = v->rows};
}

/* ---- Training ---- */

/* Rows that batches are drawn from. */
typedef struct source {
    blv_rows rows;
    blv_stream stream;
    size_t *order;
    void *weight; /* with mean 1; NULL: all alike */
    size_t batch, taken;
    uint64_t epoch;
} source;

static void free_source(source *s) {
    free(s->order);
    free(s->weight);
}

static bool open_source(const blv_classifier *c, const blv_dataset *set, const double *weight,
                        size_t batch, uint64_t seed, const char *purpose, source *s) {
    *s = (source){.rows = rows_of(set), .stream = blv_stream_make(seed, purpose)};
    const size_t count = s->rows.rows;
    s->batch = batch < count ? batch : count;
    s->taken = count; /* the first epoch is still to be dealt */
    s->order = calloc(count, sizeof *s->order);
    s->weight = weight ? calloc(count, blv_value_size(c->precision)) : NULL;
    if (!s->order || (weight && !s->weight))
        return false;
    double sum = 0.0;
    for (size_t i = 0; weight && i < count; i++)
        sum += weight[i];
    for (size_t i = 0; weight && i < count; i++)
        blv_value_set(s->weight, c->precision, i, weight[i] * (double)count / sum);
    return true;
}

static blv_rows next_batch(source *s) {
    if (s->taken + s->batch > s->rows.rows) {
        blv_random_permutation(&s->stream, s->epoch++, s->rows.rows, s->order);
        s->taken = 0;
    }
    blv_rows rows = s->rows;
    rows.index = s->order + s->taken;
    rows.count = s->batch;
    rows.weight = s->weight;
    s->taken += s->batch;
    return rows;
}

static void add_gradient(const blv_classifier *c, blv_nn_work *work, source *s, double scale,
                         const double *chance, void *gradient) {
    const blv_rows rows = next_batch(s);
    blv_nn_run(work, &rows,
               &(blv_nn_pass){.params = c->params,
                              .scale = scale,
                              .drop = true,
                              .drop_seed = c->seed + s->epoch,
                              .chance = chance,
                              .gradient = gradient});
}

#define MOVE(type)                                                                                 \
    static void move_##type(size_t dim, double step, double momentum, double decay, type *w,       \
                            const type *gradient, type *velocity) {                                \
        for (size_t i = 0; i < dim; i++) {                                                         \
            velocity[i] = (type)momentum * velocity[i] + gradient[i] + (type)decay * w[i];         \
            w[i] -= (type)step * velocity[i];                                                      \
        }                                                                                          \
    }
MOVE(float)
MOVE(double)

static void move(blv_classifier *c, const blv_training *t, double step, const void *gradient,
                 void *velocity) {
    const size_t dim = blv_nn_dim(c->net);
    if (c->precision == BLV_F32)
        move_float(dim, step, t->momentum, t->decay, c->params, gradient, velocity);
    else
        move_double(dim, step, t->momentum, t->decay, c->params, gradient, velocity);
}

static double step_at(const blv_training *t, size_t k) {
    const double wave = 0.5 * (1.0 + cos(acos(-1.0) * (double)k / (double)t->steps));
    return t->cosine ? t->step * wave : t->step;
}

static bool take_steps(blv_classifier *c, const blv_training *t, source *own, source *also,
                       blv_nn_work *work, void *gradient, void *velocity) {
    const size_t bytes = blv_nn_dim(c->net) * blv_value_size(c->precision);
    const double scale = 1.0 / (double)(own->batch + (also ? also->batch : 0));
    for (size_t k = 0; k < t->steps && !(t->stop && t->stop(t->stop_context)); k++) {
        memset(gradient, 0, bytes);
        add_gradient(c, work, own, scale, t->label_chance, gradient);
        if (also)
            add_gradient(c, work, also, scale, NULL, gradient);
        move(c, t, step_at(t, k), gradient, velocity);
    }
    for (size_t i = 0; i < blv_nn_dim(c->net); i++)
        if (!isfinite(blv_value_get(c->params, c->precision, i)))
            return false;
    return true;
}

static void observe(blv_classifier *c, const blv_dataset *set, blv_nn_work *work) {
    blv_rows rows = rows_of(set);
    if (blv_nn_statistics(c->net) == 0)
        return;
    if (rows.count > OBSERVED_ROWS)
        rows.count = OBSERVED_ROWS;
    blv_nn_observe(work, &rows, c->params, c->statistics);
    c->observed = true;
}

static void take_defaults(blv_training *t) {
    t->steps = t->steps ? t->steps : 1000;
    t->batch = t->batch ? t->batch : 64;
    t->also_batch = t->also_batch ? t->also_batch : t->batch;
    t->step = t->step > 0.0 ? t->step : 0.05;
}

blv_error blv_classifier_train(blv_classifier *c, const blv_dataset *set, const blv_training *given,
                               blv_message *why) {
    if (!given)
        return reject(why, BLV_E_ARGUMENT, "a NULL argument");
    blv_training t;
    BLV_CHECK(blv_caller_struct(&t, sizeof t, given, "blv_training", why));
    take_defaults(&t);
    BLV_CHECK(expect_rows(c, set, why));
    if (t.also)
        BLV_CHECK(expect_rows(c, t.also, why));
    const size_t dim = blv_nn_dim(c->net);
    const size_t observed = blv_nn_statistics(c->net) > 0 ? OBSERVED_ROWS : 0;
    const size_t most = t.batch > t.also_batch ? t.batch : t.also_batch;
    source own = {0}, also = {0};
    void *gradient = calloc(dim, blv_value_size(c->precision)),
         *velocity = calloc(dim, blv_value_size(c->precision));
    blv_nn_work *work =
        blv_nn_work_create(c->net, c->precision, most > observed ? most : observed, 0, c->threads);
    bool room = gradient && velocity && work &&
                open_source(c, set, t.weight, t.batch, t.seed, "batches", &own) &&
                (!t.also || open_source(c, t.also, t.also_weight, t.also_batch, t.seed,
                                        "other batches", &also));
    blv_error error = BLV_OK;
    if (!room)
        error = reject(why, BLV_E_MEMORY, "out of memory");
    else if (!take_steps(c, &t, &own, t.also ? &also : NULL, work, gradient, velocity))
        error = reject(why, BLV_E_VALUE, "training diverged; lower the step");
    else
        observe(c, set, work);
    blv_nn_work_destroy(work);
    free_source(&own);
    free_source(&also);
    free(gradient);
    free(velocity);
    return error;
}

/* ---- Answers ---- */

/* width numbers for each row: scores or features */
static blv_error look(blv_classifier *c, const blv_dataset *set, bool features, double *out,
                      blv_message *why) {
    BLV_CHECK(expect_rows(c, set, why));
    if (!out)
        return reject(why, BLV_E_ARGUMENT, "a NULL argument");
    const blv_rows rows = rows_of(set);
    const size_t width = features ? blv_nn_features(c->net) : blv_nn_classes(c->net);
    void *numbers = calloc(rows.rows * width, blv_value_size(c->precision));
    blv_nn_work *work = blv_nn_work_create(c->net, c->precision, rows.rows, 0, c->threads);
    if (numbers && work) {
        blv_nn_run(work, &rows,
                   &(blv_nn_pass){.params = c->params,
                                  .scale = 1.0,
                                  .statistics = c->observed ? c->statistics : NULL,
                                  .row_scores = features ? NULL : numbers,
                                  .row_features = features ? numbers : NULL});
        for (size_t i = 0; i < rows.rows * width; i++)
            out[i] = blv_value_get(numbers, c->precision, i);
    }
    const bool room = numbers && work;
    blv_nn_work_destroy(work);
    free(numbers);
    return room ? BLV_OK : reject(why, BLV_E_MEMORY, "out of memory");
}

blv_error blv_classifier_scores(blv_classifier *c, const blv_dataset *rows, double *scores,
                                blv_message *why) {
    return look(c, rows, false, scores, why);
}

size_t blv_classifier_width(const blv_classifier *c) {
    return c ? blv_nn_features(c->net) : 0;
}

size_t blv_classifier_classes(const blv_classifier *c) {
    return blv_nn_classes(c->net);
}

blv_error blv_classifier_features(blv_classifier *c, const blv_dataset *rows, double *features,
                                  blv_message *why) {
    return look(c, rows, true, features, why);
}

blv_error blv_classifier_accuracy(blv_classifier *c, const blv_dataset *set, double *accuracy,
                                  blv_message *why) {
    BLV_CHECK(expect_rows(c, set, why));
    if (!accuracy)
        return reject(why, BLV_E_ARGUMENT, "a NULL argument");
    const size_t classes = blv_nn_classes(c->net), rows = blv_dataset_view_of(set)->rows;
    double *scores = calloc(rows * classes, sizeof *scores);
    if (!scores)
        return reject(why, BLV_E_MEMORY, "out of memory");
    blv_error error = blv_classifier_scores(c, set, scores, why);
    size_t right = 0;
    for (size_t i = 0; error == BLV_OK && i < rows; i++) {
        const size_t best = blv_likeliest(scores + i * classes, classes);
        right += (int32_t)best == blv_dataset_view_of(set)->label[i];
    }
    if (error == BLV_OK)
        *accuracy = (double)right / (double)rows;
    free(scores);
    return error;
}
