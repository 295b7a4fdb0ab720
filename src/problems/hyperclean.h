/* Finding bad labels, on data at hand. */
#ifndef BLV_PROBLEMS_HYPERCLEAN_H
#define BLV_PROBLEMS_HYPERCLEAN_H

#include "problems/linear_model.h"

/* Takes the data over, also when it fails. order: LINEAR_ORDER_RANDOM or LINEAR_ORDER_FILE. */
blv_error hyperclean_make(double C, int order, linear_data *data,
                          const blv_problem_options *options, blv_problem **problem,
                          blv_message *why);

#endif
