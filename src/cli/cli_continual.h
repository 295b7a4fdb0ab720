/* Tasks that come one after the other, and a memory of few rows of those that are gone.
 *
 * Each task brings some of the classes. A network is trained on its rows, and on those in memory at
 * the same time; then the memory takes in rows of the task, chosen by a method, and every task so
 * far keeps the same number of rows in it. */
#ifndef CLI_CONTINUAL_H
#define CLI_CONTINUAL_H

#include "cli_choosing.h"

typedef struct cli_stream {
    const cli_choosing *choosing;
    const blv_dataset *rows, *test; /* the same classes */
    size_t tasks, memory;
    bool imbalanced; /* classes keep from all to a tenth of their rows, by chance */
    bool task_known; /* an answer is one of the classes of the row's task, not of all so far */
} cli_stream;

typedef struct cli_stream_end {
    double *accuracy;  /* tasks x tasks: after task t, on the test rows of task j <= t; else NaN */
    double average;    /* A_T: the mean over tasks at the end */
    double forgetting; /* FGT_T: the mean over tasks but the last of (best so far - at the end) */
    double seconds;    /* of choosing */
    double *seconds_after; /* the same after each task */
} cli_stream_end;

/* One pass through the stream. Returns an exit code, after a message. */
int cli_continual(const cli_stream *stream, const blv_selection_method *method, uint64_t seed,
                  cli_stream_end *end);
/* A_t and FGT_t after so many of the tasks, from 1 on. */
void cli_stream_sums(const cli_stream_end *end, size_t tasks, size_t after, double *average,
                     double *forgetting);
void cli_stream_end_free(cli_stream_end *end);

/* Classes of task t: from first to first + count - 1. */
void cli_task_classes(size_t classes, size_t tasks, size_t t, size_t *first, size_t *count);

#endif
