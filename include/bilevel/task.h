/* What the tasks (clean.h, tune.h, select.h, continual.h) have in common: progress, a request to
 * stop, and hooks that follow the runs that a task makes, so that they can be recorded and resumed.
 *
 * A task never prints, exits, reads the environment or installs a signal handler. */
#ifndef BILEVEL_TASK_H
#define BILEVEL_TASK_H

#include "bilevel/certificate.h"
#include "bilevel/dataset.h"
#include "bilevel/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The data of a task ---- */

typedef enum blv_task_scaling {
    BLV_TASK_SCALE_AUTO,     /* unit where the rows are dense, rows where they are sparse */
    BLV_TASK_SCALE_UNIT,     /* features to [0, 1] */
    BLV_TASK_SCALE_STANDARD, /* features to mean 0 and variance 1 */
    BLV_TASK_SCALE_ROWS,     /* rows to length 1 */
    BLV_TASK_SCALE_NONE
} blv_task_scaling;

/* All fields but size and train may be 0. */
typedef struct blv_task_files {
    size_t size;                     /* sizeof(blv_task_files) */
    const char *train, *val, *test;  /* validation rows are those whose labels are right */
    const blv_read_options *reading; /* of all files, `labels` of train alone; NULL: in f32 */
    const char *truth;               /* the labels of train as they should be: a column of it, or a
                                        file with the columns row, given and true */
    blv_task_scaling scaling;        /* by the rows of train */
    double val_share; /* without val: this share of train, drawn by the seed; 0: none */
    uint64_t seed;
    bool for_tune; /* targets may be real, and BLV_TASK_SCALE_AUTO is standard where rows are dense
                    */
} blv_task_files;

/* Sets with the same columns, classes or real targets, layout and precision, scaled, with a last
 * column of ones. */
typedef struct blv_task_sets {
    blv_dataset *train, *val, *test; /* val and test may be NULL */
    const char *train_name, *val_name,
        *test_name;    /* in messages: the files, or "train" and so on */
    const bool *wrong; /* rows of train whose label is wrong, where that is known; else NULL */
    size_t features;   /* columns without the last */
    const double *shift, *divisor; /* x became (x - shift) / divisor; features numbers each */
    bool unit_rows;                /* then its rows got length 1 */
    const char *kinds;             /* of the columns of train, in a line: blv_dataset_kinds */
    const char *const *warnings;   /* blv_dataset_warn; NULL behind the last */
    double seconds;                /* that reading took, which tasks add to theirs */
} blv_task_sets;

/* Reads the files and prepares the sets. */
BLV_API blv_error blv_task_sets_read(blv_task_sets **sets, const blv_task_files *files,
                                     blv_message *why);
/* The same from sets in memory, which stay as they are; val and test may be NULL. */
BLV_API blv_error blv_task_sets_create(blv_task_sets **sets, const blv_dataset *train,
                                       const blv_dataset *val, const blv_dataset *test,
                                       blv_task_scaling scaling, blv_message *why);
BLV_API void blv_task_sets_destroy(blv_task_sets *sets); /* NULL is allowed */
/* A number made from all sets. */
BLV_API uint64_t blv_task_sets_fingerprint(const blv_task_sets *sets);

/* ---- Settings of its runs ---- */

/* A parameter of the solver or an option of the run, as blv_run_set takes it. */
typedef struct blv_setting {
    const char *key, *value;
} blv_setting;

/* How good a model is on some rows; NaN: not known. */
typedef struct blv_quality {
    double loss, accuracy; /* mean loss and share of right answers */
} blv_quality;

/* ---- Hooks ---- */

/* What a task is about to do. */
typedef struct blv_task_start {
    const char *task;    /* "clean", "tune" */
    const char *problem; /* name of the problem family */
    size_t dim_x, dim_y; /* of its runs */
    blv_precision precision;
    uint64_t fingerprint; /* of the data */
    const blv_run *run; /* set as the task's runs are and never solved: for the values in effect */
} blv_task_start;

/* What the rows of a run's trace are marked with: {"fold", 2}. */
typedef struct blv_task_mark {
    const char *name;
    double value;
} blv_task_mark;

/* A run of a task. Runs come in an order that depends on the task's input alone. */
typedef struct blv_task_run {
    size_t number;        /* from 0 */
    const char *label;    /* "fold 2/5" */
    size_t piece, pieces; /* of runs that are alike, for estimates of time; pieces 0: not known */
    const blv_task_mark *marks;
    size_t mark_count;
    double *carried; /* numbers that the task keeps while the run is made: part of a checkpoint */
    size_t carried_count;
} blv_task_run;

/* How a run of a task ended. x and y are from malloc. */
typedef struct blv_run_end {
    size_t dim_x, dim_y;
    double *x, *y;
    blv_outcome outcome;
    uint64_t iterations;
    double seconds; /* on the solver's clock */
    bool certified;
    blv_certificate certificate; /* NaN where it is not certified */
    blv_counts counts, setup_counts;
} blv_run_end;

typedef struct blv_task_progress {
    const char *activity;         /* "comparing"; during a run its label */
    const blv_task_run *which;    /* NULL: between runs */
    const blv_progress *progress; /* of that run; NULL where none is at hand */
} blv_task_progress;

/* All functions may be NULL. They are called from the thread that called the task. */
typedef struct blv_task_hooks {
    size_t size; /* sizeof(blv_task_hooks) */
    void *context;
    /* Seconds between two calls of `progress` during a run, at least: the values that it shows are
     * evaluated for it. 0: 0.1; negative: not during runs. Where that would take more than a tenth
     * of the time it is called less often. */
    double interval;
    /* Called now and then, at least once for each activity between runs. Non-zero asks the task to
     * stop: it then returns BLV_E_STOPPED. */
    int (*progress)(void *context, const blv_task_progress *progress);
    /* The input is checked and the work begins. An error ends the task. */
    blv_error (*start)(void *context, const blv_task_start *start, blv_message *why);
    /* Before a run is made: true when it has been made before and *end tells how it ended;
     * `carried` is filled too. */
    bool (*recall)(void *context, const blv_task_run *which, blv_run_end *end);
    /* The run is created and set, and not opened: time to follow its trace, to save it now and then
     * and to load a checkpoint (which fills `carried` too). blv_run_stop on it, from a signal
     * handler or another thread, stops the task. An error ends the task. */
    blv_error (*begin)(void *context, const blv_task_run *which, blv_run *run, blv_message *why);
    /* The run is about to be destroyed; follows every `begin`. end: how it ended, NULL where it
     * failed or was stopped. */
    void (*end)(void *context, const blv_task_run *which, const blv_run_end *end);
    /* A remark: something went wrong that does not end the task. */
    void (*note)(void *context, const char *text);
} blv_task_hooks;

/* Frees x and y. */
BLV_API void blv_run_end_free(blv_run_end *end);

#ifdef __cplusplus
}
#endif
#endif
