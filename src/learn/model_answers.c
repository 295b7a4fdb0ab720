/* Answers of a model to rows as they are in files. */
#include "base/arena.h"
#include "base/message.h"
#include "bilevel/model.h"
#include "bilevel/solver.h"
#include "learn/linear_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Rows that fit the model ---- */

/* Columns and classes of the model. */
static blv_error align(const blv_model *model, const char *name, blv_dataset *rows,
                       blv_message *why) {
    const blv_dataset_view of_model = {.size = sizeof of_model,
                                       .columns = model->features,
                                       .feature_names = model->feature_names,
                                       .classes = model->classes,
                                       .class_names = model->class_names};
    return blv_dataset_align_to(rows, name, &of_model, model->name, why);
}

blv_error blv_model_read_rows(const blv_model *model, blv_dataset **rows, const char *path,
                              const blv_read_options *given, blv_message *why) {
    blv_read_options reading;
    if (!model || !rows || !path)
        return blv_explain(why, BLV_E_ARGUMENT, "rows: a NULL argument");
    *rows = NULL;
    BLV_CHECK(blv_model_check(model, why));
    BLV_CHECK(blv_caller_struct(&reading, sizeof reading, given, "blv_read_options", why));
    reading.columns = model->features;
    reading.targets = model->classes > 0 ? BLV_TARGETS_CLASSES : BLV_TARGETS_REAL;
    reading.recipe = model->recipe;
    BLV_CHECK(blv_dataset_read(rows, path, &reading, why));
    const blv_dataset_view *view = blv_dataset_view_of(*rows);
    if (!reading.recipe && !reading.label && strcmp(view->format, "csv") == 0 &&
        view->columns + 1 == model->features) {
        blv_dataset_release(*rows);
        *rows = NULL;
        reading.label = "none";
        BLV_CHECK(blv_dataset_read(rows, path, &reading, why));
    }
    blv_error error = align(model, path, *rows, why);
    if (error == BLV_OK)
        return BLV_OK;
    blv_dataset_release(*rows);
    *rows = NULL;
    return error;
}

/* ---- Answers ---- */

/* Scaling goes into the weights: w (x - shift) / divisor + b = (w / divisor) x + b - ... */
static void fold_scaling(const blv_model *m, double *weights, double *intercept) {
    for (size_t k = 0; k < m->scores; k++) {
        intercept[k] = m->intercept[k];
        for (size_t j = 0; j < m->features; j++) {
            size_t at = k * m->features + j;
            weights[at] = m->weights[at] / m->divisor[j];
            intercept[k] -= weights[at] * m->shift[j];
        }
    }
}

blv_error blv_model_answer(const blv_model *m, const blv_dataset *rows, double *probability,
                           blv_message *why) {
    if (!m || !rows || !probability)
        return blv_explain(why, BLV_E_ARGUMENT, "answers: a NULL argument");
    BLV_CHECK(blv_model_check(m, why));
    blv_arena arena = {0};
    blv_dataset *unit = NULL;
    double *weights = blv_arena_alloc(&arena, m->scores * m->features, sizeof *weights);
    double *intercept = blv_arena_alloc(&arena, m->scores, sizeof *intercept);
    blv_error error = weights && intercept ? BLV_OK : blv_explain_memory(why);
    if (error == BLV_OK && m->unit_rows)
        error = blv_dataset_copy(rows, &unit, why);
    if (error == BLV_OK && unit)
        error = blv_dataset_unit_rows(unit, why);
    if (error == BLV_OK) {
        fold_scaling(m, weights, intercept);
        blv_linear_model linear = {.size = sizeof linear,
                                   .scores = m->scores,
                                   .columns = m->features,
                                   .weights = weights,
                                   .intercept = intercept,
                                   .real = m->classes == 0};
        error = blv_linear_answer(&linear, unit ? unit : rows, probability, why);
    }
    const size_t answers = m->classes > 0 ? m->classes : 1;
    for (size_t i = 0; error == BLV_OK && i < blv_dataset_view_of(rows)->rows * answers; i++)
        if (!isfinite(probability[i])) /* weights or rows are too large */
            error = blv_explain(why, BLV_E_VALUE, "%s: row %zu has no finite answer",
                                blv_shown_path(m->name ? m->name : "the model"), i / answers);
    blv_dataset_release(unit);
    blv_arena_free(&arena);
    return error;
}

/* ---- Predictions ---- */

typedef struct owned_prediction {
    blv_prediction prediction;
    blv_arena arena;
} owned_prediction;

static blv_error predict(owned_prediction *o, const blv_model *model, const blv_dataset *rows,
                         blv_message *why) {
    const blv_dataset_view *view = blv_dataset_view_of(rows);
    const size_t classes = model->classes;
    double *probability = blv_arena_alloc(&o->arena, view->rows * classes + 1, sizeof *probability);
    int32_t *predicted = blv_arena_alloc(&o->arena, view->rows + 1, sizeof *predicted);
    int32_t *label = blv_arena_alloc(&o->arena, view->rows + 1, sizeof *label);
    size_t *count = blv_arena_alloc(&o->arena, classes, sizeof *count);
    if (!probability || !predicted || !label || !count)
        return blv_explain_memory(why);
    if (view->label)
        memcpy(label, view->label, view->rows * sizeof *label);
    BLV_CHECK(blv_model_answer(model, rows, probability, why));
    for (size_t i = 0; i < view->rows; i++) {
        predicted[i] = (int32_t)blv_likeliest(probability + i * classes, classes);
        count[predicted[i]]++;
    }
    blv_quality quality = view->label
                              ? blv_quality_of(view->rows, classes, label, NULL, probability)
                              : blv_quality_unknown;
    o->prediction = (blv_prediction){.rows = view->rows,
                                     .classes = classes,
                                     .probability = probability,
                                     .predicted = predicted,
                                     .label = view->label ? label : NULL,
                                     .count = count,
                                     .accuracy = quality.accuracy,
                                     .loss = quality.loss};
    return BLV_OK;
}

static blv_error predict_real(owned_prediction *o, const blv_model *model, const blv_dataset *rows,
                              blv_message *why) {
    const blv_dataset_view *view = blv_dataset_view_of(rows);
    const double n = (double)view->rows;
    double *value = blv_arena_alloc(&o->arena, view->rows + 1, sizeof *value);
    double *target = blv_arena_alloc(&o->arena, view->rows + 1, sizeof *target);
    double mean = 0.0, variance = 0.0, error = 0.0;
    if (!value || !target)
        return blv_explain_memory(why);
    BLV_CHECK(blv_model_answer(model, rows, value, why));
    for (size_t i = 0; view->target && i < view->rows; i++)
        mean += (target[i] = view->target[i]) / n;
    for (size_t i = 0; view->target && i < view->rows; i++) {
        error += (value[i] - target[i]) * (value[i] - target[i]) / n;
        variance += (target[i] - mean) * (target[i] - mean) / n;
    }
    o->prediction = (blv_prediction){.rows = view->rows,
                                     .accuracy = (double)NAN,
                                     .loss = (double)NAN,
                                     .value = value,
                                     .target = view->target ? target : NULL,
                                     .rmse = view->target ? sqrt(error) : (double)NAN,
                                     .r2 = view->target && variance > 0.0 ? 1.0 - error / variance
                                                                          : (double)NAN};
    return BLV_OK;
}

blv_error blv_model_predict(const blv_model *model, const blv_dataset *rows,
                            blv_prediction **prediction, blv_message *why) {
    if (!model || !rows || !prediction)
        return blv_explain(why, BLV_E_ARGUMENT, "prediction: a NULL argument");
    *prediction = NULL;
    BLV_CHECK(blv_model_check(model, why));
    blv_dataset *aligned = NULL;
    owned_prediction *o = calloc(1, sizeof *o);
    blv_error error = o ? blv_dataset_copy(rows, &aligned, why) : blv_explain_memory(why);
    if (error == BLV_OK)
        error = align(model, NULL, aligned, why);
    if (error == BLV_OK)
        error = (model->classes ? predict : predict_real)(o, model, aligned, why);
    blv_dataset_release(aligned);
    if (error == BLV_OK)
        *prediction = &o->prediction;
    else
        blv_prediction_destroy(o ? &o->prediction : NULL);
    return error;
}

void blv_prediction_destroy(blv_prediction *prediction) {
    if (!prediction)
        return;
    owned_prediction *o = (owned_prediction *)(void *)prediction; /* its first member */
    blv_arena_free(&o->arena);
    free(o);
}
