/* Finding wrong labels.
 *
 *     blv_task_files files = {.size = sizeof files, .train = "noisy.csv", .val = "checked.csv"};
 *     blv_task_sets *sets;
 *     blv_clean_result *found;
 *     if (blv_task_sets_read(&sets, &files, &why) || blv_clean(sets, NULL, &found, NULL, &why)) ...
 *     for (size_t i = 0; i < found->suspects; i++)
 *         printf("row %zu\n", found->order[i]);
 *
 * A weight is learned for every training row, in folds, so that every row is judged by a model that
 * has not seen its label (docs/clean.md). Results are bitwise identical for any
 * number of threads. */
#ifndef BILEVEL_CLEAN_H
#define BILEVEL_CLEAN_H

#include "bilevel/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All fields but size may be 0, which means the default. */
typedef struct blv_clean_options {
    size_t size;                 /* sizeof(blv_clean_options) */
    const blv_solver *solver;    /* exact */
    const blv_setting *settings; /* of the solver and the runs */
    size_t setting_count;
    uint64_t seed; /* of everything that is drawn */
    int threads;   /* all processors */
    bool no_certificate;

    size_t folds;     /* parts that are held out in turn, from 2 to 100: 5 */
    double ridge;     /* weight of |y|^2 in training: 0.001, less where that fits much better */
    double val_share; /* without validation rows: the share of train that replaces them: 0.3 */
    /* Which rows are suspect; at most one of the three. By default this is found from the data. */
    double threshold;    /* those whose label has a probability below it */
    double flag_share;   /* this share of the rows */
    double false_alarms; /* with validation rows: share of the suspects that may be false alarms */
    bool relabel;        /* what is compared: suspects get the believed label in place of going */
} blv_clean_options;

/* A model that is compared with the others: what it was trained on, and how good it is. */
typedef struct blv_clean_model {
    const char *name, *key; /* "TRAIN as given", "given" */
    blv_quality val, test;
} blv_clean_model;

enum { BLV_CLEAN_MODELS = 5 };

typedef struct blv_clean_result {
    size_t rows, classes, folds;
    double *weight;            /* of each row: mean over the folds that it was trained in; or NaN */
    double *probability;       /* rows x classes, by the fold that held the row out */
    double *label_probability; /* of the given label of each row */
    int32_t *believed;         /* the likeliest class of each row */
    bool *suspect;
    size_t *order; /* rows, the most suspicious first */
    size_t suspects;
    double *val_probability;  /* like probability, of the validation rows */
    double *test_probability; /* of the test rows, mean over the folds */

    double threshold;       /* suspects have a label of probability below it */
    double estimated_wrong; /* share of wrong labels; NaN: not estimated */
    double false_alarms;    /* the share among the suspects that was aimed at; NaN: none */

    bool truth_known;    /* sets->wrong; then: */
    size_t wrong, found; /* wrong labels, and those of them that are suspect */
    double precision, recall;
    double auroc_probability, auroc_weight;

    size_t model_count; /* 0: there are no rows to test on, or none are left */
    blv_clean_model models[BLV_CLEAN_MODELS];

    double ridge; /* in effect */
    const char *solver;
    uint64_t seed;
    uint64_t iterations; /* of all runs together, as the following */
    double seconds;
    blv_counts counts, setup_counts;
    bool certified;
    blv_certificate certificate;   /* mean of Phi, the largest of the others */
    blv_certificate *certificates; /* of each fold; NaN where there is none */
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
