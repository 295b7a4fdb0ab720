#include "learn/linear_fit.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

const blv_quality blv_quality_unknown = {(double)NAN, (double)NAN};

void blv_fit_weights(const blv_dataset *dataset, const double *y, size_t scores, double *weights) {
    const blv_dataset_view *view = blv_dataset_view_of(dataset);
    for (size_t k = 0; k < scores; k++)
        for (size_t j = 0; j < view->columns; j++)
            weights[k * view->columns + j] =
                view->dense ? y[k * view->columns + j] : y[j * scores + k];
}

blv_error blv_fit_answer(const blv_dataset *dataset, const double *weights, size_t scores,
                         double *probability, blv_message *why) {
    blv_linear_model model = {.size = sizeof model,
                              .scores = scores,
                              .columns = blv_dataset_view_of(dataset)->columns,
                              .weights = weights};
    return blv_linear_answer(&model, dataset, probability, why);
}

size_t blv_likeliest(const double *probability, size_t classes) {
    size_t best = 0;
    for (size_t k = 1; k < classes; k++)
        if (probability[k] > probability[best])
            best = k;
    return best;
}

blv_quality blv_quality_of(size_t rows, size_t classes, const int32_t *label, const double *weight,
                           const double *probability) {
    double loss = 0.0, right = 0.0, all = 0.0;
    for (size_t i = 0; i < rows; i++) {
        const double *p = probability + i * classes, counts = weight ? weight[i] : 1.0;
        loss -= counts * log(fmax(p[label[i]], DBL_MIN));
        right += blv_likeliest(p, classes) == (size_t)label[i] ? counts : 0.0;
        all += counts;
    }
    return (blv_quality){loss / all, right / all};
}

blv_error blv_fit_quality(const blv_dataset *dataset, const double *weights, size_t scores,
                          blv_quality *quality, blv_message *why) {
    *quality = blv_quality_unknown;
    if (!dataset)
        return BLV_OK;
    const blv_dataset_view *view = blv_dataset_view_of(dataset);
    double *probability = calloc(view->rows * view->classes + 1, sizeof *probability);
    if (!probability)
        return blv_explain_memory(why);
    blv_error error = blv_fit_answer(dataset, weights, scores, probability, why);
    if (error == BLV_OK)
        *quality =
            blv_quality_of(view->rows, view->classes, view->label, view->weight, probability);
    free(probability);
    return error;
}

blv_error blv_fit(blv_task *task, const blv_problem *problem, const double *x, double tolerance,
                  double *y) {
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_vec *at = NULL, *model = NULL;
    double reached;
    blv_error error = blv_vec_create(&at, def->space_x);
    if (error == BLV_OK)
        error = blv_vec_create(&model, def->space_y);
    if (error != BLV_OK) {
        blv_explain(task->why, error, "%s", blv_error_text(error));
    } else {
        blv_vec_write(at, x);
        blv_vec_write(model, y);
        error = blv_solve_lower(problem, at, model, tolerance, blv_task_should_stop, task, &reached,
                                task->why);
    }
    if (error == BLV_OK)
        blv_vec_read(model, y);
    blv_vec_destroy(at);
    blv_vec_destroy(model);
    return error;
}

blv_error blv_fit_gradient(const blv_task *task, const blv_problem *problem, const double *x,
                           double *norm) {
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_vec *at = NULL, *y = NULL, *gy = NULL;
    blv_error error = blv_vec_create(&at, def->space_x);
    if (error == BLV_OK)
        error = blv_vec_create(&y, def->space_y);
    if (error == BLV_OK)
        error = blv_vec_create(&gy, def->space_y);
    if (error == BLV_OK && x)
        blv_vec_write(at, x);
    if (error == BLV_OK && def->lower(def->user, NULL, at, y, NULL, NULL, gy) != 0)
        error = BLV_E_MEMORY;
    if (error == BLV_OK)
        *norm = blv_vec_norm(gy);
    blv_vec_destroy(at);
    blv_vec_destroy(y);
    blv_vec_destroy(gy);
    return error == BLV_OK ? BLV_OK : blv_explain(task->why, error, "%s", blv_error_text(error));
}
