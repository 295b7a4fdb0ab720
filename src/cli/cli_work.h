/* The work of a command that learns, in the run store: one stored run for all the runs that the
 * command makes, one after the other. How each of them ended is kept until the work is done, so
 * that it can go on from there.
 *
 *     cli_work_open(&work, &learning);
 *     cli_work_begin(&work, &learning, problem, dim_x);     once the first problem is made
 *     cli_drive(...), cli_drive(...), ...                   always the same ones, in this order
 *     cli_work_end(&work, code, &summary);
 *     cli_work_close(&work);
 *
 * Without a store all of it does nothing. */
#ifndef CLI_WORK_H
#define CLI_WORK_H

#include "bilevel/certificate.h"
#include "cli_drive.h"
#include "cli_json.h"
#include "cli_record.h"

/* A stored run that goes on. */
typedef struct cli_again {
    blv_store *store; /* borrowed */
    bool store_is_named;
    int64_t id;
    const json_t *run;         /* as the store has it */
    double checkpoint_seconds; /* 0: as its command line says */
    bool json, quiet;
} cli_again;

/* The commands, with the command line that the store has. */
int cli_clean_again(int argc, char **argv, const cli_again *again);
int cli_tune_again(int argc, char **argv, const cli_again *again);

typedef struct cli_work {
    const char *kind;    /* "clean" or "tune" */
    const char *problem; /* name of the problem family */
    json_t *command, *problem_parameters;
    uint64_t fingerprint;   /* of the data */
    const cli_again *again; /* NULL: new work */

    cli_record record;
    size_t runs;       /* made or remembered so far */
    size_t remembered; /* of a run that goes on: those that had ended */
    bool has_checkpoint;
    char message[512]; /* why a run failed */
    bool ended;
} cli_work;

/* A run that goes on: what its command line says is set anew by what `resume` says. */
void cli_work_take_over(const cli_again *again, cli_learning *learning);

/* These return an exit code, after a message. */
int cli_work_open(cli_work *work, cli_learning *learning);
/* From here on the store knows of it. dim_x: of the runs, where the problem has another. */
int cli_work_begin(cli_work *work, const cli_learning *learning, const blv_problem *problem,
                   size_t dim_x);

/* For cli_drive. Whether the next run has been made already; then this is its end. */
bool cli_work_recall(cli_work *work, const cli_drive_plan *plan, cli_driven *end);
void cli_work_listen(cli_work *work, const cli_learning *learning, const cli_drive_plan *plan,
                     blv_run *run);
/* Takes the run's place over from the checkpoint, if that is one of it. */
int cli_work_go_on(cli_work *work, const cli_drive_plan *plan, blv_run *run);
void cli_work_keep(cli_work *work, const cli_drive_plan *plan, const cli_driven *end);

typedef struct cli_work_summary {
    const char *message; /* what came out, in a line */
    bool partial;        /* a signal has ended it, with something to show for */
    uint64_t iterations;
    double seconds;
    const blv_certificate *certificate; /* NULL: none */
    json_t *result;                     /* borrowed; NULL: none */
} cli_work_summary;

/* code: that of the work. Returns the code of the command. The first call counts. */
int cli_work_end(cli_work *work, int code, const cli_work_summary *summary);
void cli_work_close(cli_work *work);

#endif
