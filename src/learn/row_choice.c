/* Choosing rows by the name of a method; the methods that look at points are here. */
#include "base/message.h"
#include "base/precision.h"
#include "learn/choose.h"
#include "learn/selecting.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KMEANS_ROUNDS = 25, MODEL_STEPS = 1500 };
static const double matching_ridge = 1e-4; /* relative to the mean square of a gradient */

/* ---- Points ---- */

static blv_points points_of(const blv_selecting *s, size_t width, const float *numbers) {
    return (blv_points){.count = s->view->rows,
                        .left_width = 1,
                        .right_width = width,
                        .right = numbers,
                        .threads = s->how->threads};
}

/* row NULL: all, in their order */
static blv_error rows_as_points(const blv_selecting *s, const size_t *row, size_t count,
                                blv_points *points) {
    const blv_dataset_view *v = s->view;
    float *numbers = blv_arena_alloc(s->arena, count * v->columns, sizeof *numbers);
    if (!numbers)
        return blv_select_memory(s->why);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < v->columns; j++)
            numbers[i * v->columns + j] =
                (float)blv_value_get(v->dense, v->precision, (row ? row[i] : i) * v->stride + j);
    *points = points_of(s, v->columns, numbers);
    points->count = count;
    return BLV_OK;
}

/* What the model makes of the rows, and what its loss pulls at: p - e, the gradient in the scores.
 */
typedef struct looks {
    size_t width, classes;
    float *features, *residuals;
} looks;

static void residuals_of(const blv_selecting *s, size_t classes, const double *scores, float *out) {
    for (size_t i = 0; i < s->view->rows; i++) {
        const double *score = scores + i * classes;
        double largest = score[0], sum = 0.0;
        for (size_t k = 1; k < classes; k++)
            largest = fmax(largest, score[k]);
        for (size_t k = 0; k < classes; k++)
            sum += exp(score[k] - largest);
        for (size_t k = 0; k < classes; k++)
            out[i * classes + k] =
                (float)(exp(score[k] - largest) / sum - ((int32_t)k == s->view->label[i]));
    }
}

static blv_error look_with(const blv_selecting *s, blv_classifier *model, looks *l) {
    const size_t rows = s->view->rows;
    l->width = blv_classifier_width(model);
    l->classes = blv_classifier_classes(model); /* the rows may have fewer */
    const size_t most = l->width > l->classes ? l->width : l->classes;
    l->features = blv_arena_alloc(s->arena, rows * (l->width + 1), sizeof *l->features);
    l->residuals = blv_arena_alloc(s->arena, rows * l->classes, sizeof *l->residuals);
    double *numbers = blv_arena_alloc(s->arena, rows * most, sizeof *numbers);
    if (!l->features || !l->residuals || !numbers)
        return blv_select_memory(s->why);
    BLV_CHECK(blv_classifier_features(model, s->rows, numbers, s->why));
    for (size_t i = 0; i < rows * l->width; i++)
        l->features[i] = (float)numbers[i];
    BLV_CHECK(blv_classifier_scores(model, s->rows, numbers, s->why));
    residuals_of(s, l->classes, numbers, l->residuals);
    return BLV_OK;
}

static blv_error train_model(const blv_selecting *s, blv_classifier **model) {
    const blv_classifier_options options = {.size = sizeof options,
                                            .precision = s->view->precision,
                                            .threads = s->how->threads,
                                            .seed = s->how->seed};
    const blv_training training = {.size = sizeof training,
                                   .steps = MODEL_STEPS,
                                   .momentum = 0.9,
                                   .cosine = true,
                                   .seed = s->how->seed};
    blv_error error =
        blv_classifier_create(model, s->view->columns, s->view->classes, &options, s->why);
    if (error == BLV_OK)
        error = blv_classifier_train(*model, s->rows, &training, s->why);
    return error;
}

static blv_error look_at(const blv_selecting *s, looks *l) {
    blv_classifier *own = NULL;
    blv_error error = s->how->model ? BLV_OK : train_model(s, &own);
    if (error == BLV_OK)
        error = look_with(s, s->how->model ? s->how->model : own, l);
    blv_classifier_destroy(own);
    return error;
}

/* Gradients in the last layer: residuals times features. Its biases count as a feature of 1. */
static blv_points gradients_of(const blv_selecting *s, looks *l) {
    const size_t wide = l->width + 1;
    for (size_t i = s->view->rows; i-- > 0;) { /* from the end: rows move to later places */
        memmove(l->features + i * wide, l->features + i * l->width, l->width * sizeof(float));
        l->features[i * wide + l->width] = 1.0f;
    }
    blv_points p = points_of(s, wide, l->features);
    p.left_width = l->classes;
    p.left = l->residuals;
    return p;
}

/* ---- Methods ---- */

/* What the ways of choosing return. */
static blv_error done(const blv_selecting *s, bool room) {
    return room ? BLV_OK : blv_select_memory(s->why);
}

static blv_error uniform(blv_selecting *s) {
    return done(s, blv_choose_uniform(s->view->rows, s->how->count, s->how->seed, s->index));
}

static blv_error cluster(blv_selecting *s, const blv_points *points) {
    return done(s, blv_choose_kmeans(points, s->how->count, KMEANS_ROUNDS, s->how->seed, s->index,
                                     s->weight));
}

static blv_error kmeans(blv_selecting *s) {
    blv_points points;
    BLV_CHECK(rows_as_points(s, NULL, s->view->rows, &points));
    return cluster(s, &points);
}

/* Among candidates, which represent all others: the work grows with their square. */
static blv_error facility_location(blv_selecting *s) {
    const size_t count = blv_select_candidates(s);
    size_t *row = blv_arena_alloc(s->arena, count, sizeof *row);
    blv_points points;
    if (!row)
        return blv_select_memory(s->why);
    BLV_CHECK(blv_select_some(s, count, "candidates", row));
    BLV_CHECK(rows_as_points(s, row, count, &points));
    BLV_CHECK(done(s, blv_choose_facility(&points, s->how->count, s->index, s->weight)));
    for (size_t k = 0; k < s->how->count; k++)
        s->index[k] = row[s->index[k]];
    return BLV_OK;
}

static blv_error kmeans_embedding(blv_selecting *s) {
    looks l;
    BLV_CHECK(look_at(s, &l));
    const blv_points points = points_of(s, l.width, l.features);
    return cluster(s, &points);
}

/* Features of length 1, as iCaRL has them. */
static void unit_features(size_t rows, size_t width, float *features) {
    for (size_t i = 0; i < rows; i++) {
        double square = 0.0;
        for (size_t j = 0; j < width; j++)
            square += (double)features[i * width + j] * (double)features[i * width + j];
        for (size_t j = 0; square > 0.0 && j < width; j++)
            features[i * width + j] = (float)((double)features[i * width + j] / sqrt(square));
    }
}

blv_error blv_select_shares(const blv_selecting *s, size_t classes, const size_t *row, size_t rows,
                            size_t **of_class, size_t **share) {
    *of_class = blv_arena_alloc(s->arena, classes, sizeof **of_class);
    *share = blv_arena_alloc(s->arena, classes, sizeof **share);
    if (!*of_class || !*share)
        return blv_select_memory(s->why);
    for (size_t i = 0; i < rows; i++)
        (*of_class)[s->view->label[row ? row[i] : i]]++;
    for (size_t left = s->how->count; left > 0;)
        for (size_t k = 0; k < classes && left > 0; k++)
            if ((*share)[k] < (*of_class)[k]) {
                (*share)[k]++;
                left--;
            }
    return BLV_OK;
}

static blv_error herd_class(blv_selecting *s, const blv_points *p, int32_t class, size_t rows,
                            size_t share, size_t *index) {
    bool *own = blv_arena_alloc(s->arena, p->count, sizeof *own);
    double *weight = blv_arena_alloc(s->arena, p->count, sizeof *weight);
    double *mean = blv_arena_alloc(s->arena, blv_points_dim(p), sizeof *mean);
    if (!own || !weight || !mean)
        return blv_select_memory(s->why);
    for (size_t i = 0; i < p->count; i++) {
        own[i] = s->view->label[i] == class;
        weight[i] = own[i] ? 1.0 / (double)rows : 0.0;
    }
    blv_points_sum(p, weight, mean);
    return done(s, blv_choose_herding(p, own, mean, share, index));
}

static blv_error herding(blv_selecting *s) {
    looks l;
    BLV_CHECK(look_at(s, &l));
    unit_features(s->view->rows, l.width, l.features);
    const blv_points p = points_of(s, l.width, l.features);
    size_t *rows, *share, first = 0;
    BLV_CHECK(blv_select_shares(s, l.classes, NULL, p.count, &rows, &share));
    for (size_t k = 0; k < l.classes; k++) {
        if (share[k] > 0)
            BLV_CHECK(herd_class(s, &p, (int32_t)k, rows[k], share[k], s->index + first));
        for (size_t i = first; i < first + share[k]; i++)
            s->weight[i] = (double)rows[k] / (double)share[k];
        first += share[k];
    }
    return BLV_OK;
}

/* Within each class, which gets as many rows as the others: k-means, or facility location among
 * candidates. Weights add up to the rows of the class. */
static blv_error choose_in_class(blv_selecting *s, bool facility, const size_t *row, size_t rows,
                                 size_t share, size_t *index, double *weight) {
    const size_t most = blv_select_candidates(s) / s->view->classes + share;
    const size_t count = facility && rows > most ? most : rows;
    size_t *taken = blv_arena_alloc(s->arena, count, sizeof *taken);
    blv_points points;
    if (!taken)
        return blv_select_memory(s->why);
    for (size_t i = 0; i < count; i++) /* evenly spaced where they are not all */
        taken[i] = row[(size_t)((double)i * ((double)rows / (double)count))];
    BLV_CHECK(rows_as_points(s, taken, count, &points));
    BLV_CHECK(done(s, facility ? blv_choose_facility(&points, share, index, weight)
                               : blv_choose_kmeans(&points, share, KMEANS_ROUNDS, s->how->seed,
                                                   index, weight)));
    for (size_t k = 0; k < share; k++) {
        index[k] = taken[index[k]];
        weight[k] *= (double)rows / (double)count;
    }
    return BLV_OK;
}

static blv_error by_class(blv_selecting *s, bool facility) {
    const size_t rows = s->view->rows, classes = s->view->classes;
    size_t *row = blv_arena_alloc(s->arena, rows, sizeof *row), *of_class, *share, first = 0;
    if (!row)
        return blv_select_memory(s->why);
    BLV_CHECK(blv_select_shares(s, classes, NULL, rows, &of_class, &share));
    for (size_t k = 0; k < classes; k++) {
        size_t count = 0;
        for (size_t i = 0; i < rows; i++)
            if (s->view->label[i] == (int32_t)k)
                row[count++] = i;
        if (share[k] > 0)
            BLV_CHECK(choose_in_class(s, facility, row, count, share[k], s->index + first,
                                      s->weight + first));
        first += share[k];
    }
    return BLV_OK;
}

static blv_error kmeans_by_class(blv_selecting *s) {
    return by_class(s, false);
}

static blv_error facility_by_class(blv_selecting *s) {
    return by_class(s, true);
}

/* weighted: by matching pursuit (GCR), else by herding, all weights being alike */
static blv_error match_gradients(blv_selecting *s, bool weighted) {
    looks l;
    BLV_CHECK(look_at(s, &l));
    const blv_points p = gradients_of(s, &l);
    double *target = blv_arena_alloc(s->arena, blv_points_dim(&p), sizeof *target), square = 0.0;
    if (!target)
        return blv_select_memory(s->why);
    for (size_t i = 0; i < p.count; i++)
        square += blv_points_dot(&p, i, i) / (double)p.count;
    blv_points_sum(&p, NULL, target);
    return done(s, weighted ? blv_choose_matching(&p, target, matching_ridge * square,
                                                  s->how->count, s->index, s->weight)
                            : blv_choose_herding(&p, NULL, target, s->how->count, s->index));
}

static blv_error gradient_matching(blv_selecting *s) {
    return match_gradients(s, false);
}

static blv_error gcr(blv_selecting *s) {
    return match_gradients(s, true);
}

/* ---- The table ---- */

static const struct {
    blv_selection_method method;
    blv_error (*select)(blv_selecting *s);
} methods[] = {
    {{"bcsr", "bilevel: weights by the solver bcsr", false, true}, blv_select_by_solver},
    {{"s-tfbo", "bilevel: weights by the solver s-tfbo, nothing to tune", false, true},
     blv_select_by_solver},
    {{"d-tfbo", "bilevel: weights by the solver d-tfbo, nothing to tune", false, true},
     blv_select_by_solver},
    {{"uniform", "at random", false, false}, uniform},
    {{"kmeans", "nearest to the centers of k-means on the features", false, false}, kmeans},
    {{"kmeans-embedding", "the same on what a trained network makes of them", true, false},
     kmeans_embedding},
    {{"facility-location", "nearest to all others, one after the other", false, false},
     facility_location},
    {{"kmeans-by-class", "k-means within each class, as many rows of each", false, false},
     kmeans_by_class},
    {{"facility-by-class", "facility location within each class, as many rows of each", false,
      false},
     facility_by_class},
    {{"herding", "means of each class, by a trained network (iCaRL)", true, false}, herding},
    {{"gradient-matching", "the mean gradient of a trained network", true, false},
     gradient_matching},
    {{"gcr", "the same with weights, by matching pursuit (GCR)", true, false}, gcr},
    {{"greedy", "bilevel, row after row (greedy coreset)", false, false}, blv_select_greedy},
    {{"probabilistic", "bilevel, by policy gradients (PBCS)", false, false},
     blv_select_probabilistic},
};
enum { METHODS = sizeof methods / sizeof *methods };

const blv_selection_method *blv_selection_method_at(size_t i) {
    return i < METHODS ? &methods[i].method : NULL;
}

const blv_selection_method *blv_selection_method_find(const char *name, blv_message *why) {
    size_t used = 0;
    for (size_t i = 0; i < METHODS; i++)
        if (name && strcmp(methods[i].method.name, name) == 0)
            return &methods[i].method;
    if (!why)
        return NULL;
    used = (size_t)snprintf(why->text, sizeof why->text, "no method '%.40s'; there are",
                            name ? name : "");
    for (size_t i = 0; i < METHODS && used < sizeof why->text; i++)
        used += (size_t)snprintf(why->text + used, sizeof why->text - used, "%s %s",
                                 i > 0 ? "," : "", methods[i].method.name);
    return NULL;
}

/* Weights with sum 1; all alike where they are all zero. */
static void settle_weights(size_t size, double *weight) {
    double sum = 0.0;
    for (size_t k = 0; k < size; k++)
        sum += weight[k];
    for (size_t k = 0; k < size; k++)
        weight[k] = sum > 0.0 ? weight[k] / sum : 1.0 / (double)size;
}

static blv_error check(const blv_selecting *s) {
    if (!s->view->dense)
        return blv_select_reject(s, BLV_E_UNSUPPORTED, "the rows must be dense");
    if (!s->view->label || s->view->classes < 2)
        return blv_select_reject(s, BLV_E_VALUE, "the rows must have at least two classes");
    if (s->how->count == 0 || s->how->count > s->view->rows)
        return blv_select_reject(s, BLV_E_VALUE, "count: expected from 1 to the number of rows");
    return BLV_OK;
}

static blv_error run_method(blv_selecting *s, double *weight) {
    const size_t count = s->how->count;
    blv_error error = BLV_E_NAME;
    s->weight = blv_arena_alloc(s->arena, count, sizeof *s->weight);
    if (!s->weight)
        return blv_select_memory(s->why);
    for (size_t k = 0; k < count; k++)
        s->weight[k] = 1.0;
    for (size_t i = 0; i < METHODS; i++)
        if (&methods[i].method == s->how->method)
            error = methods[i].select(s);
    settle_weights(count, s->weight);
    if (weight && error == BLV_OK)
        memcpy(weight, s->weight, count * sizeof *weight);
    return error;
}

blv_error blv_select(const blv_dataset *rows, const blv_selection *given, size_t *index,
                     double *weight, blv_message *why) {
    blv_selection how;
    blv_arena arena = {0};
    blv_selecting s = {.rows = rows, .how = &how, .index = index, .arena = &arena, .why = why};
    if (!rows || !given || !index)
        return blv_select_reject(&s, BLV_E_ARGUMENT, "a NULL argument");
    BLV_CHECK(blv_caller_struct(&how, sizeof how, given, "blv_selection", why));
    if (!how.method)
        return blv_select_reject(&s, BLV_E_ARGUMENT, "a NULL argument");
    s.view = blv_dataset_view_of(rows);
    BLV_CHECK(check(&s));
    blv_error error = run_method(&s, weight);
    blv_arena_free(&arena);
    return error;
}
