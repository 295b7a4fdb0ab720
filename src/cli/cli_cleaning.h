/* Learning a weight for every training row, in folds, so that every row is judged by a model that
 * has not seen its label. */
#ifndef CLI_CLEANING_H
#define CLI_CLEANING_H

#include "bilevel/certificate.h"
#include "cli_models.h"
#include "cli_sets.h"

typedef struct cli_cleaning {
    const cli_learning *learning;
    const cli_sets *sets; /* without val: a share of the other rows stands in, in every fold */
    size_t folds;
    double ridge; /* C of the problem; NaN: found, and put here */
    double val_share;

    size_t rows, classes;
    double *weight;      /* of each row: mean over the folds that it was trained in; NaN: none */
    double *probability; /* rows x classes, by the fold that held the row out */
    double *val_probability;
    double *test_probability; /* mean over the folds */

    blv_certificate *certificate; /* of each fold's run; NaN where there is none */

    uint64_t iterations; /* of all runs together */
    double seconds;
    blv_counts counts, setup_counts; /* likewise */
} cli_cleaning;

/* Fills the results in. Returns an exit code, after a message. */
int cli_cleaning_learn(cli_cleaning *cleaning);
void cli_cleaning_free(cli_cleaning *cleaning);

#endif
