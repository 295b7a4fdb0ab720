/* Standardized columns, and those that are less alike. */
#pragma once

#include "bilevel/dataset.h"

/* How far a value of a standardized column may be from its mean, 0. */
#define BLV_CLEAN_DEVIATIONS 5.0

/* The sets `from` (dense and standardized: train, val and test, the last two perhaps NULL) with
 * such columns but for the last one, which is the intercept. map, (columns - 1)^2 numbers that are
 * 0 at first, makes them of the columns as they are. */
blv_error blv_clean_separate_columns(const blv_dataset *const *from, blv_dataset **to, double *map,
                                     blv_message *why);
