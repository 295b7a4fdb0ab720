/* The frame of all problems on data: sets become rows in the memory of the kernels, a linear model
 * or a network gives losses on them, and a family adds what x means.
 *
 * Linear models: the scores of row a are W a, one for each class (one only for a binary logistic
 * model). y is W as one vector: classes x columns for dense data, columns x classes for sparse
 * data. Networks: y is the parameter vector.
 *
 * A family's instance begins with a data_model, so that `user` of its oracles is one too. */
#ifndef BLV_PROBLEMS_DATA_PROBLEM_H
#define BLV_PROBLEMS_DATA_PROBLEM_H

#include "kernels/kernel_table.h"
#include "nn/nn.h"
#include "problems/data_source.h"
#include "problems/work_pool.h"

typedef enum linear_loss {
    LINEAR_LOSS_AUTO,
    LINEAR_LOSS_LOGISTIC,
    LINEAR_LOSS_SOFTMAX,
    LINEAR_LOSS_SQUARES /* 1/2 (score - target)^2 */
} linear_loss;

/* Buffers of one oracle call. weight, row, guess and extra are in the memory of the kernels. */
typedef struct model_work {
    pool_link link;
    blv_sweep_work *sweep; /* linear models */
    blv_nn_work *network;  /* networks */
    void *weight, *row;    /* one number for each row of the largest set */
    int32_t *guess;        /* likewise */
    void *extra;           /* extra_bytes, for the family */
    double *numbers;       /* host_numbers, for the family */
    double *statistics;    /* of norms */
} model_work;

typedef struct data_model {
    const struct data_family *family;
    const char *name; /* of the problem, for messages */
    data_sets sets;
    blv_rows train, val, test;
    const blv_kernels *kernels;
    blv_precision precision;
    int threads;
    size_t dim;                       /* of y */
    size_t extra_bytes, host_numbers; /* what the family needs of a work, set by its open */
    work_pool *pool;
    double lo, hi; /* bounds of x, where the family has them */

    /* linear models */
    bool one_score;          /* logistic, squares */
    size_t classes, columns; /* classes: scores of a row, 1 for logistic and squares */

    /* networks */
    blv_nn *net; /* NULL: the model is linear */
    const blv_nn_kernels *nn;
    uint64_t seed;
    size_t slice;       /* 0: automatic */
    double *statistics; /* of norms; NULL: those of the rows of a call, or there are no norms */
} data_model;

/* ---- Families ---- */

typedef struct data_family {
    const char *name;
    size_t instance_size;
    bool network;
    bool val_optional;
    /* Oracles, dimension of x where it is not the number of training rows, projection, start (NULL:
     * zero, and the start of the network), measures. The frame fills in the rest. */
    blv_problem_def oracles;
    /* Finishes the instance and, where they differ, the definition. The rows are there; the model
     * takes no works yet. On error close is called. Both may be NULL. */
    blv_error (*open)(data_model *model, const void *params, blv_problem_def *def,
                      blv_message *why);
    void (*close)(data_model *model);
} data_family;

/* From files; params begin with a data_params. */
blv_error data_problem_create(const data_family *family, const void *params, linear_loss loss,
                              const blv_problem_options *options, blv_problem **problem,
                              blv_message *why);
/* Loads what the family needs, and makes a problem of sets, of which it takes the references, also
 * when it fails. name: of the problem. */
blv_error data_problem_load(const data_family *family, const void *params,
                            const blv_problem_options *options, data_sets *sets, blv_message *why);
blv_error data_problem_make(const data_family *family, const char *name, const void *params,
                            linear_loss loss, data_sets *sets, const blv_problem_options *options,
                            blv_problem **problem, blv_message *why);

/* Bounds of x, where NaN is none, and the projection onto them. */
blv_error data_problem_bounds(data_model *model, double lo, double hi, blv_problem_def *def,
                              blv_message *why);
/* "problem NAME: ..." */
blv_error data_problem_explain(const data_model *model, blv_error error, const char *text,
                               blv_message *why);

/* ---- Calls ---- */

/* Buffers for a call on this batch; NULL when memory is short, or when the kernels cannot read the
 * batch's index list. */
model_work *model_begin(data_model *model, const blv_batch *batch);
void model_end(data_model *model, model_work *work);

/* The rows of a batch of a set; batch NULL: all. */
blv_rows model_rows(const blv_rows *set, const blv_batch *batch);

/* Loss, gradient and products over rows: scale sum weight_i l_i (rows->weight), with a penalty in
 * gy and hv that is ridge, or ridge_column and ridge_class of a linear model, times y and v. */
typedef struct model_sums {
    const blv_vec *y, *v;
    size_t block; /* linear models: W begins at this element of y, v, gy and hv */
    double scale;
    double ridge;
    const void *ridge_column, *ridge_class;
    bool add;                 /* networks: gy and hv hold what the sums are added to */
    bool training;            /* dropout is on, and a linear model may keep its probabilities */
    const double *statistics; /* of norms, in place of the model's */
    double *loss;             /* NULL: not needed, here and below */
    blv_vec *gy, *hv;
    void *row_loss, *row_cross, *row_probability;
    int32_t *row_class;
} model_sums;
void model_run(data_model *model, const blv_rows *rows, const model_sums *sums, model_work *work);

/* Mean loss and share of right answers, NaN where targets are real, of rows by the model at y's
 * block; statistics as in model_sums. */
void model_judge(data_model *model, const blv_rows *rows, const blv_vec *y, size_t block,
                 const double *statistics, model_work *work, double *loss, double *accuracy);

/* Probabilities that the model gives the labels of the training rows, without dropout. */
void model_probabilities(data_model *model, const blv_vec *y, void *probability, model_work *work);

/* f: mean loss on the validation rows, which does not depend on x. */
int model_upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                blv_vec *fx, blv_vec *fy);
/* y at the start of the network */
int model_start(void *user, blv_vec *x, blv_vec *y);

extern const char *const model_measures[];
/* The first four measures of every problem on data: val_loss, val_accuracy, test_loss,
 * test_accuracy (NaN without test rows). With norm = batch, statistics are those of training rows
 * at y. */
int model_measure(void *user, const blv_vec *x, const blv_vec *y, double *values);

/* ---- Between data_problem.c and data_network.c ---- */

blv_error network_open(data_model *model, const net_source *source, blv_message *why);
bool network_freeze_norms(data_model *model); /* false when memory is short */
void network_run(data_model *model, const blv_rows *rows, const model_sums *sums, model_work *work);
/* Statistics for judging y: the frozen ones, or those of training rows. NULL: no norms. */
const double *network_statistics(data_model *model, const blv_vec *y, model_work *work);

#endif
