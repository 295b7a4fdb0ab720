/* Penalties of a linear model: the parameters and the family, for problems that generate data. */
#pragma once

#include "problems/data_problem.h"

typedef struct l2reg_params {
    data_params data;
    int penalty; /* blv_penalty_kind */
    char groups[BLV_TEXT_SIZE];
    const uint32_t *group_of; /* of each column, in place of a file; not in the table */
    double scale, lo, hi;
    /* not in the table, as in blv_l2reg_setting */
    double last_penalty, shrinkage;
    size_t folds, repeats;
    const uint32_t *fold_of;
    blv_dataset *const *fold_rows;
} l2reg_params;

extern const data_family l2reg_family;
