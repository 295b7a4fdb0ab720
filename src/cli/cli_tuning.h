/* Learning penalties: the best single one first, then many from there, stopped by rows that neither
 * was learned from. */
#ifndef CLI_TUNING_H
#define CLI_TUNING_H

#include "bilevel/certificate.h"
#include "cli_models.h"
#include "cli_sets.h"

/* A model and what it was trained with. */
typedef struct cli_tuned {
    double *y;       /* as the problem has it */
    double *weights; /* scores x columns, the last column is the intercept */
    cli_quality fit, stop, test;
} cli_tuned;

typedef struct cli_tuning {
    const cli_learning *learning;
    cli_sets *sets; /* with val */
    blv_penalty_kind kind;
    const uint32_t *group; /* of each column, for BLV_PENALTY_GROUPS */
    double stop_share;     /* of the validation rows: they decide when to stop */
    double range;          /* penalties from start / e^range to start e^range */
    uint64_t patience;     /* looks without progress */
    bool refit;            /* in the end train on the validation rows too */
    const char *trace;     /* NULL: none */

    blv_dataset *fit, *stop; /* parts of the validation rows */
    size_t scores;           /* rows of weights */
    double none, single;     /* penalties: hardly any, and the best one for all */
    double start;            /* the largest one that is not clearly worse: many start there */
    size_t penalties;
    double *penalty;   /* learned, as many; those of the single one where that was not worse */
    double gain;       /* of the learned ones in the loss on the stopping rows */
    double gain_error; /* its standard error; NaN: nothing was compared */
    bool kept;         /* whether the learned penalties are the result */
    cli_tuned with_none, with_single, with_many;

    size_t penalties_asked; /* how many there are to be learned */
    uint64_t iterations, best_iteration;
    double seconds;
    bool certified;
    blv_certificate certificate; /* of the run that learns many */
    blv_counts counts, setup_counts;
} cli_tuning;

/* Both return an exit code, after a message. */
int cli_tuning_learn(cli_tuning *tuning);
void cli_tuning_free(cli_tuning *tuning);
/* The model that is the result. */
const cli_tuned *cli_tuning_result(const cli_tuning *tuning);

#endif
