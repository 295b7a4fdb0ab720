/* Finding wrong labels.
 *
 *     blv_task_files files = {.size = sizeof files, .train = "noisy.csv", .val = "checked.csv"};
 *     blv_task_sets *sets;
 *     blv_clean_result *found;
 *     if (blv_task_sets_read(&sets, &files, &why) || blv_clean(sets, NULL, &found, NULL, &why)) ...
 *     for (size_t i = 0; i < found->suspects; i++)
 *         printf("row %zu\n", found->order[i]);
 *
 * A model of the true class and of which label becomes which is learned in folds, so that every row
 * is judged by models that have not seen its label (docs/clean.md). Results are bitwise identical
 * for any number of threads. */
#ifndef BILEVEL_CLEAN_H
#define BILEVEL_CLEAN_H

#include "bilevel/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What tells the classes apart. `auto`: linear, a network (mlp), or the mean of both, by the loss
 * of rows that were held out; then a mean of that and trees, by the likelihood of the labels. */
typedef enum blv_clean_model_kind {
    BLV_CLEAN_AUTO,
    BLV_CLEAN_LINEAR,
    BLV_CLEAN_MLP,    /* one layer of 32 or 64 units; dense rows only */
    BLV_CLEAN_FOREST, /* trees; dense rows only */
    BLV_CLEAN_BOTH    /* linear and mlp, as a result only */
} blv_clean_model_kind;

/* All fields but size may be 0, which means the default. */
typedef struct blv_clean_options {
    size_t size;                 /* sizeof(blv_clean_options) */
    const blv_solver *solver;    /* exact */
    const blv_setting *settings; /* of the solver and the runs */
    size_t setting_count;
    uint64_t seed; /* of everything that is drawn */
    int threads;   /* all processors */
    bool no_certificate;

    size_t folds; /* parts that are held out in turn, from 2 to 100: 5 */
    double ridge; /* weight of |W|^2 in training: learned */
    /* Which rows are suspect; at most one of the three. By default as many as are expected to be
     * wrong, and others whose labels are hardly likelier right than wrong. */
    double threshold;    /* those whose label is right with a probability below it */
    double flag_share;   /* this share of the rows */
    double false_alarms; /* as many as have this share of right labels among them */
    /* rows x classes, from 0 to 1, each row with the sum 1 but for rounding: the class of each row
     * by models of the caller's that have not seen it. Then no model is trained to judge the rows.
     */
    const double *probabilities;
    bool relabel; /* what is compared: suspects get the believed label in place of going */
    blv_clean_model_kind model;
    blv_memory_kind memory; /* where models are trained: host memory, or BLV_MEMORY_CUDA */
} blv_clean_options;

/* A model that is compared with the others: what it was trained on, and how good it is. */
typedef struct blv_clean_model {
    const char *name, *key; /* "TRAIN as given", "given" */
    blv_quality val, test;
} blv_clean_model;

enum { BLV_CLEAN_MODELS = 5, BLV_CLEAN_AGAINST = 3, BLV_CLEAN_CAUTIONS = 5 };
#define BLV_CLEAN_NO_FEATURE UINT32_MAX

typedef struct blv_clean_result {
    size_t rows, classes, folds;
    double *probability;       /* rows x classes: the true class, by models that have not seen the
                                  row and whatever its label is */
    double *label_probability; /* that the given label of each row is right */
    int32_t *believed;         /* the likeliest class of each row */
    bool *suspect;
    size_t *order; /* rows: the suspects, then the others, the least probable labels first */
    size_t suspects;
    size_t spared; /* rows that would be suspect if that left enough of their class */
    /* rows x BLV_CLEAN_AGAINST: the features that speak most for the believed class of a suspect
     * against its label, or BLV_CLEAN_NO_FEATURE */
    uint32_t *against;
    double *val_probability;  /* like probability, of the validation rows */
    double *test_probability; /* of the test rows, mean over the folds */

    blv_clean_model_kind model;            /* what judged the rows */
    double model_loss[BLV_CLEAN_BOTH + 1]; /* of each kind on held-out rows; NaN: not tried */
    const char *model_text; /* the model and why, in words; NULL: probabilities were given */
    double decay;           /* of the networks; 0: none */
    double forest;          /* weight of trees in the mean with that model; 0: none */
    double *noise;          /* classes x classes: [k * classes + l] of label l for true class k */
    double trusted_weight;  /* of a validation row in training; NaN: there is none */
    double threshold;       /* of no suspect the label is right with more probability */
    double estimated_wrong; /* share of wrong labels */
    double false_alarms;    /* the share that is expected among the suspects; NaN: no suspects */
    bool all_may_be_right;  /* that none is wrong is about as likely as the estimate */

    size_t caution_count;
    const char *cautions[BLV_CLEAN_CAUTIONS]; /* what to know about this result, a line each */

    bool truth_known;    /* sets->wrong; then: */
    size_t wrong, found; /* wrong labels, and those of them that are suspect */
    double precision, recall;
    double auroc_probability;

    size_t model_count; /* 0: there are no rows to test on, or none are left */
    blv_clean_model models[BLV_CLEAN_MODELS];

    double ridge; /* in effect */
    const char *solver;
    uint64_t seed;
    uint64_t iterations; /* of all runs together, as the following */
    double seconds;      /* of all of it */
    blv_counts counts, setup_counts;
    bool certified;
    blv_certificate certificate;
} blv_clean_result;

/* options and hooks may be NULL. On error no result is made. */
BLV_API blv_error blv_clean(const blv_task_sets *sets, const blv_clean_options *options,
                            blv_clean_result **result, const blv_task_hooks *hooks,
                            blv_message *why);
BLV_API void blv_clean_result_destroy(blv_clean_result *result); /* NULL is allowed */

/* The rows without the suspects, or all of them with the believed labels. rows: the training rows
 * in any form, such as read from their file again. */
BLV_API blv_error blv_clean_apply(const blv_clean_result *result, const blv_dataset *rows,
                                  bool relabel, blv_dataset **cleaned, blv_message *why);

#ifdef __cplusplus
}
#endif
#endif
