/* Learning penalties of a linear model, by how it does on rows that it has not seen: logistic or
 * softmax regression for classes, ridge regression for real targets.
 *
 *   one for all   the best of a grid by cross-validation
 *   many          depart from it, held back by a shrinkage that an outer cross-validation chooses;
 *                 they are kept where their gain there is clear beside its standard error
 *
 * docs/tune.md. Results are bitwise identical for any number of threads. */
#ifndef BILEVEL_TUNE_H
#define BILEVEL_TUNE_H

#include "bilevel/linear.h"
#include "bilevel/model.h"
#include "bilevel/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Groups of features that share a penalty. */
typedef struct blv_feature_groups {
    size_t count;             /* of groups */
    const char *const *names; /* of each group */
    size_t features;
    const uint32_t *group; /* of each feature, from 0 */
} blv_feature_groups;

/* From a file with one line for each feature: the name of its group. */
BLV_API blv_error blv_feature_groups_read(blv_feature_groups **groups, const char *path,
                                          size_t features, blv_message *why);
BLV_API void blv_feature_groups_destroy(blv_feature_groups *groups); /* NULL is allowed */

/* All fields but size may be 0, which means the default. */
typedef struct blv_tune_options {
    size_t size;                 /* sizeof(blv_tune_options) */
    const blv_solver *solver;    /* exact */
    const blv_setting *settings; /* of the solver and the runs */
    size_t setting_count;
    uint64_t seed; /* of everything that is drawn */
    int threads;   /* all processors */
    bool no_certificate;

    blv_penalty_kind penalty;         /* what each penalty is of: per feature */
    const blv_feature_groups *groups; /* with BLV_PENALTY_GROUPS */
    double val_share; /* without validation rows: the share of train that replaces them; 0: none
                         does, and there is cross-validation with five folds */
    bool refit;       /* with validation rows: in the end train on them too */
    blv_memory_kind memory; /* where models are trained: host memory, or BLV_MEMORY_CUDA */
} blv_tune_options;

/* A model and how good it is. Real targets: `loss` is the mean squared error, `accuracy` is R2. */
typedef struct blv_tuned {
    const double
        *weights; /* scores x (features + 1), the last column is the intercept; NULL: none */
    blv_quality held_out; /* on rows of the outer cross-validation: neither penalties nor weights
                             were learned from them */
    blv_quality test;
} blv_tuned;

typedef struct blv_tune_result {
    size_t train_rows, val_rows; /* val_rows 0: cross-validation */
    size_t folds;                /* of the upper level; 0 with validation rows */
    size_t held_out_rows;        /* that gain and held_out are of */
    bool real;                   /* targets are real: the loss is the squared error */
    bool continued_in_f64;       /* f32 failed */
    double none, single;         /* penalties: hardly any, and the best one for all */
    double shrinkage;            /* of many, in units of the held-out loss */
    size_t learned_count;        /* 0: many penalties were not learned */
    const double *learned;
    double gain;       /* of the learned ones in the loss on the held-out rows */
    double gain_error; /* its standard error; NaN: nothing was compared */
    bool kept;         /* the learned penalties are the result, not the single one */
    blv_tuned with_none, with_single, with_many;
    const blv_tuned *chosen; /* with_many or with_single */
    const blv_model *model;  /* that is the result, with its penalties; part of it */

    const char *solver;
    uint64_t seed;
    uint64_t iterations; /* of the run that learns many from all rows, as the following */
    double seconds;
    blv_counts counts, setup_counts;
    bool certified;
    blv_certificate certificate;
    blv_message failure; /* why many could not be learned; empty: they were */
} blv_tune_result;

/* options and hooks may be NULL. BLV_E_STOPPED: the result is the best so far. On any other error
 * no result is made. */
BLV_API blv_error blv_tune(const blv_task_sets *sets, const blv_tune_options *options,
                           blv_tune_result **result, const blv_task_hooks *hooks, blv_message *why);
BLV_API void blv_tune_result_destroy(blv_tune_result *result); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
