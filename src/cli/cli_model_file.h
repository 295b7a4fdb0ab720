/* A linear model in a file (docs/tune.md has the arrays). */
#ifndef CLI_MODEL_FILE_H
#define CLI_MODEL_FILE_H

#include "bilevel/linear.h"
#include "bilevel/npz.h"
#include "cli_common.h"

typedef struct cli_model {
    size_t scores, features, classes;
    double *weights;         /* scores x features, of the scaled features */
    double *intercept;       /* scores */
    double *shift, *divisor; /* x becomes (x - shift) / divisor */
    bool unit_rows;          /* then its rows get length 1 */
    size_t penalties;
    double *penalty;
    char **class_names;
    char **feature_names; /* NULL: none */
    char **penalty_names; /* what each penalty is of */
} cli_model;

/* All of these return an exit code, after a message. */

/* place: where the file is made; path: what it is called in messages. */
int cli_model_write(const cli_model *model, const char *place, const char *path);
int cli_model_read(cli_model *model, const char *path);
/* Frees what cli_model_read made. */
void cli_model_free(cli_model *model);
/* probability: rows x classes. The rows are as in a file: they are scaled here; the set itself is
 * changed where rows get length 1. */
int cli_model_answer(const cli_model *model, blv_dataset *dataset, double *probability);

#endif
