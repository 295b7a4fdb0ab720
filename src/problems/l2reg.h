/* Penalties of a linear model: the parameters, and the problem on data at hand. */
#ifndef BLV_PROBLEMS_L2REG_H
#define BLV_PROBLEMS_L2REG_H

#include "problems/linear_model.h"

typedef struct l2reg_params {
    linear_source source;
    int loss, penalty;
    char groups[BLV_TEXT_SIZE];
    const uint32_t *group_of; /* of each column, in place of a file; not in the table */
    double scale, lo, hi;
} l2reg_params;

/* Takes the data over, also when it fails. The source of the parameters is not looked at. */
blv_error l2reg_make(const l2reg_params *params, const char *name, linear_data *data,
                     const blv_problem_options *options, blv_problem **problem, blv_message *why);

#endif
