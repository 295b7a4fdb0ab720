/* Tasks that come one after the other, and a memory of few rows of those that are gone.
 *
 * Each task brings some of the classes. A network is trained on its rows, and on those in memory at
 * the same time; then the memory takes in rows of the task, chosen by a method, and every task so
 * far keeps the same number of rows in it. Methods are compared over several passes through all
 * tasks, with other seeds. Results are bitwise identical for any number of
 * threads. */
#ifndef BILEVEL_CONTINUAL_H
#define BILEVEL_CONTINUAL_H

#include "bilevel/select.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All fields but size may be 0, which means the default. */
typedef struct blv_continual_options {
    size_t size;                                /* sizeof(blv_continual_options) */
    const blv_selection_method *const *methods; /* bcsr, d-tfbo, s-tfbo, uniform */
    size_t method_count;
    size_t tasks;  /* the classes are dealt out in their order: 5 */
    size_t memory; /* rows in memory, all tasks together: 100 */
    size_t seeds;  /* passes of each method, with seeds from `seed` on: 3 */
    uint64_t seed;
    int threads;
    bool imbalanced;  /* classes keep from all to a tenth of their rows, by chance */
    bool task_known;  /* an answer is one of the classes of the row's task, not of all so far */
    bool sensitivity; /* passes with the initial values 5, 2, 4, 6, 8 of bilevel methods */
    const char *net;  /* mlp:in-128-out */
    size_t steps;     /* of training for each task: 1500 */
    blv_selection selection; /* iterations, first, ridge, C and candidates of the methods */
} blv_continual_options;

/* One pass through all tasks. */
typedef struct blv_continual_pass {
    const blv_selection_method *method;
    double initial; /* value; 0: the default */
    uint64_t seed;
    size_t tasks;
    double *accuracy;  /* tasks x tasks: after task t, on test rows of task j <= t; else NaN */
    double average;    /* A_T: the mean over tasks at the end */
    double forgetting; /* FGT_T: the mean over tasks but the last of (best so far - at the end) */
    double seconds;    /* of choosing */
    double *seconds_after; /* the same after each task */
} blv_continual_pass;

/* Passes that differ in the seed only. */
typedef struct blv_continual_summary {
    const blv_selection_method *method;
    double initial;
    double average, average_least, average_most; /* of A_T */
    double forgetting, seconds;                  /* means */
} blv_continual_summary;

/* By how much the mean of A_T over the other initial values differs from A_T with the first one,
 * relative to that; NaN: there is one value only. */
typedef struct blv_continual_change {
    const blv_selection_method *method;
    double change;
} blv_continual_change;

typedef struct blv_continual_result {
    size_t tasks, memory, seeds; /* in effect */
    size_t pass_count;
    blv_continual_pass *passes; /* by method, initial value and seed */
    size_t summary_count;
    blv_continual_summary *summaries;
    size_t change_count; /* methods, with sensitivity; else 0 */
    blv_continual_change *changes;
} blv_continual_result;

/* rows and test: dense, with the same columns and classes (blv_dataset_align). options and hooks
 * may be NULL. After each pass `progress` is called with its figures as the activity. */
BLV_API blv_error blv_continual(const blv_dataset *rows, const blv_dataset *test,
                                const blv_continual_options *options, blv_continual_result **result,
                                const blv_task_hooks *hooks, blv_message *why);
BLV_API void blv_continual_result_destroy(blv_continual_result *result); /* NULL is allowed */

/* A_t and FGT_t after so many of the tasks, from 1 on. */
BLV_API void blv_continual_after(const blv_continual_pass *pass, size_t after, double *average,
                                 double *forgetting);

#ifdef __cplusplus
}
#endif
#endif
