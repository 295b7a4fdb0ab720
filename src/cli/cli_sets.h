/* The training, validation and test rows that models are learned from. */
#ifndef CLI_SETS_H
#define CLI_SETS_H

#include "cli_learning.h"

typedef struct cli_sets {
    blv_dataset *train, *val, *test; /* val and test may be NULL */
    size_t features;                 /* there is one column more, the last: the intercept */
    bool unit_rows;
    double *shift, *divisor; /* x becomes (x - shift) / divisor; with unit_rows they are 0 and 1 */
} cli_sets;

/* All of these return an exit code, after a message. */

/* Reads the files, gives all of them the columns and classes of TRAIN, scales them by it and adds
 * the intercept. truth: as in blv_read_options, for TRAIN; NULL: none. */
int cli_sets_load(const cli_learning *learning, const char *truth, cli_sets *sets);
void cli_sets_free(cli_sets *sets);
/* A number made from all of them. */
uint64_t cli_sets_fingerprint(const cli_sets *sets);

/* part[i], from 0 to parts - 1: the rows dealt out at random, each class alike. */
int cli_deal_rows(const blv_dataset *dataset, size_t parts, uint64_t seed, uint32_t *part);
/* The rows of a set for which keep[i] is true, in their order. */
int cli_keep_rows(const blv_dataset *dataset, const bool *keep, blv_dataset **kept);
/* The rows of both, one after the other. */
int cli_join_rows(const blv_dataset *first, const blv_dataset *second, blv_dataset **joined);

#endif
