/* What the parts of blv_tune share. */
#ifndef BLV_LEARN_TUNE_WORK_H
#define BLV_LEARN_TUNE_WORK_H

#include "base/arena.h"
#include "bilevel/tune.h"
#include "learn/linear_fit.h"

/* A model while it is trained. */
typedef struct blv_tuned_model {
    double *y;       /* as the problem has it; NULL: none */
    double *weights; /* the same, whatever the layout of the rows */
} blv_tuned_model;

typedef struct blv_tuning {
    blv_tune_result result; /* first: what the caller gets */
    blv_arena arena;        /* of everything that the result shows */
    blv_model model;
    blv_tune_options options;
    blv_task task;
    const blv_task_sets *sets;
    blv_dataset *train, *val; /* retained: those of the sets, or parts of train */
    blv_dataset *fit, *stop;  /* parts of val */
    size_t scores;            /* rows of weights */
    size_t dim_y;
    blv_tuned_model none, single, many;
    size_t penalty_count; /* how many there are in the end */
    const char **penalty_names;
    uint32_t *group; /* of each column, with BLV_PENALTY_GROUPS */
    blv_message *why;
} blv_tuning;

/* The problem l2reg on these rows. */
blv_error blv_tune_problem(const blv_tuning *t, blv_dataset *train,
                           const blv_l2reg_setting *setting, blv_problem **problem);
blv_l2reg_setting blv_tune_one_for_all(void);
/* -log of the probability of each row's label. */
blv_error blv_tune_row_losses(const blv_tuning *t, const blv_dataset *set, const double *weights,
                              double *loss);
/* The mean of `from` - `to`, row by row, and its standard error. */
double blv_tune_mean_gain(size_t rows, const double *from, const double *to, double *error);

/* What each penalty is of: penalty_count, penalty_names and group. */
blv_error blv_tune_name_penalties(blv_tuning *t);
/* The best penalty for all, and hardly any: single, none and their models. */
blv_error blv_tune_find_single(blv_tuning *t, const blv_problem *problem);

#endif
