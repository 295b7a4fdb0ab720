/* Learning penalties of a linear classifier, by how it does on validation rows.
 *
 *   one for all   the loss on all validation rows along a grid of penalties, then a parabola
 *   many          learned from there, stopped by rows that neither was learned from; they are kept
 *                 where their gain on those rows is clear beside its standard error
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
    double val_share;  /* without validation rows: the share of train that replaces them: 0.2 */
    double stop_share; /* share of the validation rows that decide when to stop: 0.25 */
    double range;      /* penalties from the first one / e^range to that times e^range: 7 */
    uint64_t patience; /* looks without progress on the stopping rows that end the run: 2 */
    bool refit;        /* in the end train on the validation rows too */
} blv_tune_options;

/* A model and how good it is. */
typedef struct blv_tuned {
    const double
        *weights; /* scores x (features + 1), the last column is the intercept; NULL: none */
    blv_quality fit, stop, test;
} blv_tuned;

typedef struct blv_tune_result {
    size_t train_rows, fit_rows, stop_rows; /* of the validation rows: for fitting, for stopping */
    double none, single;                    /* penalties: hardly any, and the best one for all */
    double start;         /* the largest that is not clearly worse: where many start */
    size_t learned_count; /* 0: many penalties were not learned */
    const double *learned;
    double gain;       /* of the learned ones in the loss on the stopping rows */
    double gain_error; /* its standard error; NaN: nothing was compared */
    bool kept;         /* the learned penalties are the result, not the single one */
    blv_tuned with_none, with_single, with_many;
    const blv_tuned *chosen; /* with_many or with_single */
    const blv_model *model;  /* that is the result, with its penalties; part of it */

    const char *solver;
    uint64_t seed;
    uint64_t iterations, best_iteration; /* of the run that learns many, as the following */
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
