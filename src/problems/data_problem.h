/* The frame of all problems on data: sets become rows in the memory of the kernels, a linear model
 * or a network gives losses on them, and a family adds what x means.
 *
 * Linear models: the scores of row a are W a, one for each class (one only for a binary logistic
 * model). y is W as one vector: classes x columns for dense data, columns x classes for sparse
 * data. Networks: y is the parameter vector.
 *
 * A family's instance begins with a data_model, so that `user` of its oracles is one too. */
#pragma once

#include "nn/nn.h"
#include "problems/data_source.h"
#include "problems/family.h"

#include <pthread.h>
#include <stdatomic.h>

/* Buffers of one oracle call. weight, row, guess and extra are in the memory of the kernels. Calls
 * may come from several threads: each takes a work and returns it, and one that finds none makes
 * one. */
typedef struct model_work {
    struct model_work *next;
    blv_sweep_work *sweep; /* linear models */
    blv_nn_work *network;  /* networks */
    void *weight, *row;    /* one number for each row of the largest set */
    int32_t *guess;        /* likewise */
    size_t *picked;        /* rows of a batch that are here, of several ranks */
    double *shared;        /* what ranks add up */
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
    size_t shared_numbers;            /* likewise, of ranks; 0: gy, hv and a loss */
    _Atomic(model_work *) hot;        /* a single thread takes and returns it without a lock */
    pthread_mutex_t lock;
    model_work *rest;
    double lo, hi; /* bounds of x, where the family has them */

    /* rows that are spread over ranks, see rank_rows.c */
    const blv_ranks *ranks; /* NULL: all rows are here */
    blv_space *space_x, *space_y;
    int32_t *held_label[3]; /* of the rows that are here: training, validation, test */
    double *held_target[3];

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
    bool weighs;      /* rows that have weights, by them */
    bool spreads;     /* over ranks */
    bool x_of_rows;   /* x has an entry for each training row, and is spread with them */
    linear_loss loss; /* AUTO: as the parameters say */
    /* Oracles, dimension of x where it is not the number of training rows, projection, start (NULL:
     * zero, and the start of the network), measures. The frame fills in the rest. */
    blv_problem_def oracles;
    /* Changes what was loaded from files; may be NULL, as may the others. */
    void (*change)(const void *params, data_sets *sets);
    /* Finishes the instance and, where they differ, the definition. The rows are there; the model
     * takes no works yet. On error close is called. */
    blv_error (*open)(data_model *model, const void *params, blv_problem_def *def,
                      blv_message *why);
    void (*close)(data_model *model);
} data_family;

/* params begin with a data_params, here and below. From files; */
blv_error data_problem_create(const data_family *family, const void *params,
                              const blv_problem_options *options, blv_problem **problem,
                              blv_message *why);
/* from sets of a caller (complete: whether the caller's other arguments are there); */
blv_error data_problem_on_sets(const data_family *family, void *params, const blv_sets *given,
                               bool complete, const blv_problem_options *options,
                               blv_problem **problem, blv_message *why);
/* and from sets of which it takes the references, also when it fails. name: of the problem. */
blv_error data_problem_make(const data_family *family, const char *name, const void *params,
                            data_sets *sets, const blv_problem_options *options,
                            blv_problem **problem, blv_message *why);

/* Bounds of x, where NaN is none, and the projection onto them. */
blv_error data_problem_bounds(data_model *model, double lo, double hi, blv_problem_def *def,
                              blv_message *why);
/* "problem NAME: ..." */
blv_error data_problem_explain(const data_model *model, blv_error error, const char *text,
                               blv_message *why);
/* BLV_E_MEMORY, with what the kernels say. */
blv_error data_problem_no_memory(const data_model *model, blv_message *why);
/* A copy of bytes in the memory of the kernels; NULL where memory is short, or for NULL. */
void *data_problem_put(const data_model *model, size_t bytes, const void *from);

/* The problem family of a data_family. */
#define DATA_PROBLEM(id, name, type, params, family, summary, formula)                             \
    static blv_error id##_create(const void *given, const blv_problem_options *options,            \
                                 blv_problem **problem, blv_message *why) {                        \
        return data_problem_create(&family, given, options, problem, why);                         \
    }                                                                                              \
    PROBLEM_FAMILY(id, name, type, params, id##_create, summary, formula)

/* ---- Calls ---- */

/* Buffers for a call on this batch; NULL when memory is short, or when the kernels cannot read the
 * batch's index list. */
model_work *model_begin(data_model *model, const blv_batch *batch);
void model_end(data_model *model, model_work *work);

/* The rows of a batch of a set; batch NULL: all. (Not returned: GCC would copy the structure twice,
 * and wait for its fields in between.) */
static inline void model_rows(blv_rows *rows, const blv_rows *set, const blv_batch *batch) {
    *rows = *set;
    if (batch) {
        rows->first = batch->first;
        rows->count = rows->whole = batch->count;
        rows->index = batch->index;
        rows->index_memory = batch->memory;
        rows->list = batch->list;
        rows->next_first = batch->next_first;
        rows->next_count = batch->next_count;
    }
}
/* The same; of several ranks those that are here. */
void model_part(data_model *model, blv_rows *rows, const blv_rows *set, const blv_batch *batch,
                model_work *work);

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
    double row_slope;         /* as in blv_sweep, where kernels take logits */
    double *loss;             /* NULL: not needed, here and below */
    blv_vec *gy, *hv;
    void *row_loss, *row_cross, *row_probability;
    int32_t *row_class;
} model_sums;
void model_run(data_model *model, const blv_rows *rows, const model_sums *sums, model_work *work);

/* The rows of a set in the memory of the kernels; which: 0, 1 or 2, whose labels ranks share.
 * kernels->rows_close ends it. False when memory is short. */
bool data_problem_rows(data_model *model, size_t which, const blv_dataset *set, blv_rows *rows);

/* The mean loss of training rows, as a call of the lower level asks for it. */
model_sums model_lower_sums(const lower_call *call, const blv_rows *rows);
/* g = scale sum weight_i l_i + ridge |y|^2 and its derivatives by y; work->row becomes the losses
 * of the rows for gx, or the products of their gradients with v for jv. */
void model_weighted(data_model *model, const lower_call *call, const blv_rows *rows, double scale,
                    double ridge, model_work *work);

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

/* ---- Rows that are spread over ranks: rank_rows.c ---- */

/* Spreads the sets where options name ranks and they are whole. */
blv_error ranks_take_sets(data_model *model, const blv_problem_options *options, blv_message *why);
/* Labels and targets by row that is here; false when memory is short. */
bool ranks_open_labels(data_model *model, size_t which, const blv_dataset *set, blv_rows *host);
/* The spaces of a complete definition. */
blv_error ranks_open_spaces(data_model *model, blv_problem_def *def, blv_message *why);
void ranks_close(data_model *model);
blv_rows ranks_part(const data_model *model, const blv_rows *set, const blv_batch *batch,
                    model_work *work);
/* Adds up what a sweep over the rows here has left in loss, gy and hv. */
void ranks_add_up(const data_model *model, const model_sums *sums, model_work *work);
/* The sum of a number over the ranks; the number where there are none. */
double ranks_total(const data_model *model, double number);
/* one: a number for each training row here; all: those of all training rows, on all ranks. */
void ranks_collect(const data_model *model, const double *one, double *all);

/* ---- Between data_problem.c and data_network.c ---- */

blv_error network_open(data_model *model, const net_source *source, blv_message *why);
bool network_freeze_norms(data_model *model); /* false when memory is short */
void network_run(data_model *model, const blv_rows *rows, const model_sums *sums, model_work *work);
/* Statistics for judging y: the frozen ones, or those of training rows. NULL: no norms. */
const double *network_statistics(data_model *model, const blv_vec *y, model_work *work);
