/* Linear models on sets: training with everything fixed, answers, and how good they are. */
#pragma once

#include "bilevel/linear.h"
#include "bilevel/model.h"
#include "learn/task_runner.h"

/* weights, scores x columns, of what y is on this set: its order depends on the layout. */
void blv_fit_weights(const blv_dataset *dataset, const double *y, size_t scores, double *weights);
/* probability: rows x classes. */
blv_error blv_fit_answer(const blv_dataset *dataset, const double *weights, size_t scores,
                         double *probability, blv_message *why);
/* The class with the largest probability or score, the first of several. */
size_t blv_likeliest(const double *probability, size_t classes);

extern const blv_quality blv_quality_unknown;
/* label: the class of each row; weight: of each row in the means, NULL: 1. */
blv_quality blv_quality_of(size_t rows, size_t classes, const int32_t *label, const double *weight,
                           const double *probability);
/* Of a model on a set; a set that is NULL leaves it unknown. */
blv_error blv_fit_quality(const blv_dataset *dataset, const double *weights, size_t scores,
                          blv_quality *quality, blv_message *why);

/* Whether the numbers and names of a model are there and fit together. */
blv_error blv_model_check(const blv_model *model, blv_message *why);

/* |gy| of a model that is handed out. */
#define BLV_FIT_TOLERANCE 1e-6

/* y becomes the minimizer of the problem's lower level at x, from where it is: |gy| <= tolerance.
 * A request to stop ends it on the way. */
blv_error blv_fit(blv_task *task, const blv_problem *problem, const double *x, double tolerance,
                  double *y);
/* |gy| at x, NULL: 0, where there is no model yet (y = 0): what tolerances are relative to. */
blv_error blv_fit_gradient(const blv_task *task, const blv_problem *problem, const double *x,
                           double *norm);
