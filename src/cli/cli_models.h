/* Linear models on sets: training with everything fixed, answers, and how good they are. */
#ifndef CLI_MODELS_H
#define CLI_MODELS_H

#include "bilevel/linear.h"
#include "cli_common.h"

/* The weights that y stands for on this set, scores x columns, whatever the layout of the rows. To
 * be freed. */
double *cli_weights(const blv_dataset *dataset, const double *y, size_t scores);
/* probability: rows x classes. Returns an exit code, after a message. */
int cli_answer(const blv_dataset *dataset, const double *weights, size_t scores,
               double *probability);
/* The class with the largest probability, the first of several. */
size_t cli_believed(const double *probability, size_t classes);

typedef struct cli_quality {
    double loss, accuracy; /* mean loss and share of right answers; NaN: not known */
} cli_quality;
extern const cli_quality cli_quality_unknown;

cli_quality cli_judge_answers(const blv_dataset *dataset, const double *probability);
/* Answers and judges; a set that is NULL leaves the quality unknown. */
int cli_judge_weights(const blv_dataset *dataset, const double *weights, size_t scores,
                      cli_quality *quality);

/* |gy| of a model that is handed out. */
#define CLI_TRAINED 1e-6

/* y becomes the minimizer of the problem's lower level at x, from where it is: |gy| <= tolerance.
 * Ctrl-C ends it there. */
int cli_train(const blv_problem *problem, const double *x, double tolerance, double *y);

#endif
