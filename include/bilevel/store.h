/* The run store: runs with their traces, results and checkpoints in one SQLite file
 * (docs/store.md). Part of libbilevel-store (-lbilevel-store, CMake target bilevel::store).
 *
 *     blv_store *store;
 *     blv_message why;
 *     if (blv_store_open(&store, "runs.db", BLV_STORE_EXISTING, &why) != BLV_OK) ...
 *     size_t count;
 *     blv_run_info **runs;
 *     blv_store_list(store, NULL, &runs, &count);
 *     for (size_t i = 0; i < count; i++)
 *         printf("%lld %s %g\n", (long long)runs[i]->id, runs[i]->solver, runs[i]->phi);
 *     blv_run_list_free(runs, count);
 *     blv_store_close(store);
 *
 * Several processes may use one file at the same time. What a call writes is there as a whole or
 * not at all, whenever the process is killed. A store is used by one thread at a time. */
#ifndef BILEVEL_STORE_H
#define BILEVEL_STORE_H

#include "bilevel/run.h"
#include "bilevel/values.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct blv_store blv_store;

/* ---- Opening ---- */

typedef enum blv_store_mode {
    BLV_STORE_CREATE,   /* the file is created where there is none */
    BLV_STORE_EXISTING, /* there must be one; it can be read on a full disk, and where nothing may
                           be written */
    BLV_STORE_COPY      /* a copy in memory of one that is there: changes are lost */
} blv_store_mode;

/* A file that is damaged, of another program or of a later version is rejected and not changed:
 * BLV_E_FORMAT, or BLV_E_FILE with the reason of the system. */
BLV_API blv_error blv_store_open(blv_store **store, const char *path, blv_store_mode mode,
                                 blv_message *why);
BLV_API void blv_store_close(blv_store *store); /* NULL is allowed */
BLV_API const char *blv_store_path(const blv_store *store);
/* Why the last call failed: "store FILE: ...". Valid until the next call. */
BLV_API const char *blv_store_message(const blv_store *store);

/* ---- Runs ---- */

typedef enum blv_run_status {
    BLV_STATUS_RUNNING,  /* its process lives, as far as can be told from this machine */
    BLV_STATUS_FINISHED, /* it converged, stalled or stopped at a limit */
    BLV_STATUS_INTERRUPTED,
    BLV_STATUS_FAILED
} blv_run_status;
BLV_API const char *blv_run_status_word(blv_run_status status);
/* False where it is none of these words. */
BLV_API bool blv_run_status_parse(const char *word, blv_run_status *status);

/* All that is known about a run, except its trace and attachments. Texts may be NULL. What the
 * store returns is freed as a whole by blv_run_info_free. */
typedef struct blv_run_info {
    size_t size; /* sizeof(blv_run_info) */
    int64_t id;
    const char *kind; /* "solve", "clean", "tune", "bench" */
    blv_run_status status;
    const char *started, *ended; /* UTC, 2001-02-03T04:05:06.789Z */
    const char *version;         /* of the program */
    size_t command_count;
    char **command;      /* the arguments */
    const char *request; /* what is needed to do it again, JSON: a record of the kind's own */

    const char *problem;
    blv_values problem_parameters;
    size_t dim_x, dim_y;
    const char *precision; /* "f32" or "f64" */
    uint64_t fingerprint;  /* of the data; 0: none */
    const char *solver;
    blv_values parameters; /* of the solver, */
    blv_values options;    /* and of the run, with the values at the start */

    const char *outcome; /* the word of the library's outcome */
    const char *message; /* how it ended */
    bool has_iterations;
    uint64_t iterations;
    double seconds;        /* NaN: not known */
    double phi, grad_norm; /* NaN: not certified */
    const char *result;    /* everything, JSON: a record of the kind's own */

    uint64_t rows; /* of the trace */
    bool has_checkpoint;
    uint64_t checkpoint_iteration;
    const char *checkpoint_saved; /* UTC */
    const char *host;             /* the process that makes it, or made it */
    int64_t pid;
} blv_run_info;

/* NULL: any. */
typedef struct blv_run_filter {
    size_t size; /* sizeof(blv_run_filter) */
    const char *kind, *problem, *solver;
    bool by_status;
    blv_run_status status; /* with by_status */
    uint64_t limit;        /* the newest ones; 0: all */
} blv_run_filter;

/* Oldest first. filter may be NULL. Command, request, parameters, options and result are not read:
 * blv_store_find reads them. */
BLV_API blv_error blv_store_list(blv_store *store, const blv_run_filter *filter,
                                 blv_run_info ***runs, size_t *count);
BLV_API void blv_run_list_free(blv_run_info **runs, size_t count);
/* All of one run; BLV_E_NAME when there is none of that number. A run whose process is gone is
 * BLV_STATUS_INTERRUPTED. */
BLV_API blv_error blv_store_find(blv_store *store, int64_t id, blv_run_info **run);
BLV_API void blv_run_info_free(blv_run_info *run); /* NULL is allowed */
/* The least certified Phi of all runs on the problem of this one, with its parameters and its data;
 * NaN where none is certified. */
BLV_API blv_error blv_store_best(blv_store *store, int64_t id, double *phi);
/* Removes a run with its trace and attachments, on a full disk too. */
BLV_API blv_error blv_store_remove(blv_store *store, int64_t id);
/* Gives the space of what was removed back to the file system. */
BLV_API blv_error blv_store_shrink(blv_store *store);

/* ---- Traces ---- */

/* A column for each number of the rows; an array has one for each element, "x[0]". */
typedef struct blv_trace {
    size_t rows, columns;
    char **names;
    double *values; /* values[row * columns + column]; NaN: none */
} blv_trace;
BLV_API blv_error blv_store_trace(blv_store *store, int64_t id, blv_trace *trace);
/* The number of a column, SIZE_MAX when there is none of that name. */
BLV_API size_t blv_trace_find(const blv_trace *trace, const char *name);
/* NaN where there is none. */
BLV_API double blv_trace_at(const blv_trace *trace, size_t row, const char *name);
BLV_API void blv_trace_free(blv_trace *trace);

/* ---- Attachments: bytes with a name ---- */

typedef struct blv_attachment {
    char *name;
    uint64_t bytes;
} blv_attachment;
/* In the order of the names. */
BLV_API blv_error blv_store_attachments(blv_store *store, int64_t id, blv_attachment **list,
                                        size_t *count);
BLV_API void blv_attachments_free(blv_attachment *list, size_t count);
/* *bytes is to be freed; NULL when nothing of that name is attached. */
BLV_API blv_error blv_store_read(blv_store *store, int64_t id, const char *name, void **bytes,
                                 size_t *size);
/* In place of what had that name. */
BLV_API blv_error blv_store_attach(blv_store *store, int64_t id, const char *name,
                                   const void *bytes, size_t size);
BLV_API blv_error blv_store_detach(blv_store *store, int64_t id, const char *name);

/* ---- Recording a run: on error nothing of the call is stored ---- */

/* What is known at the start: kind, command, request, problem, its parameters, dimensions,
 * precision and fingerprint, solver, parameters, options; the rest is not looked at. From here on
 * the run is listed as running, as long as this process lives. *id: its number. */
BLV_API blv_error blv_store_begin(blv_store *store, const blv_run_info *run, int64_t *id);
/* A run that is there is resumed: rows after this iteration are removed. BLV_E_ORDER when another
 * process of this machine is making it. */
BLV_API blv_error blv_store_resume(blv_store *store, int64_t id, uint64_t iteration);
/* Keeps a row of the trace, a JSON object, until about a second has passed since the last ones were
 * written; blv_store_flush writes the rest. */
BLV_API blv_error blv_store_row(blv_store *store, int64_t id, uint64_t iteration, double seconds,
                                const char *row);
BLV_API blv_error blv_store_flush(blv_store *store);
/* Attaches a checkpoint of the run as "checkpoint", and what its maker carries beside it, if
 * anything, as "carried". Both are removed when "checkpoint" is detached. */
BLV_API blv_error blv_store_checkpoint(blv_store *store, int64_t id, blv_run *run,
                                       const void *carried, size_t carried_size);
/* Attaches how one of several runs ended, in place of its checkpoint. */
BLV_API blv_error blv_store_attach_end(blv_store *store, int64_t id, const char *name,
                                       const void *bytes, size_t size);
/* The end: status, outcome, message, iterations, seconds, phi, grad_norm, result. */
BLV_API blv_error blv_store_finish(blv_store *store, int64_t id, const blv_run_info *run);

#ifdef __cplusplus
}
#endif
#endif
