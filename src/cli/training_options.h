/* The command line that `bilevel clean` and `bilevel tune` share: the files, how they are read and
 * scaled, and the runs that learn from them; and the record of it, so that it can be resumed. */
#pragma once

#include "cli/arguments.h"
#include "cli/printing.h"
#include "cli/problem_choice.h"
#include "cli/task_hooks.h"
#include "store/run_info.h"

typedef struct cli_training {
    const char *train, *val, *test; /* files; val and test may be NULL */
    double val_share;               /* 0: not given */
    blv_read_options reading;
    bool may_be_real; /* targets, as tune can have them */
    blv_task_scaling scaling;
    int threads;
    cli_device device;
    const char *solver_name; /* NULL: exact */
    const blv_solver *solver;
    cli_settings settings; /* parameters of the solver and options of the run, as typed */
    uint64_t seed;         /* one of them; also of everything that is drawn */
    bool no_certificate;
    cli_task_options task;
} cli_training;

/* TRAIN and all of the above. */
extern const cli_argument cli_training_table[];
#define CLI_TRAINING_DEFAULTS                                                                      \
    {                                                                                              \
        .reading = {.size = sizeof(blv_read_options), .precision = BLV_F32 }                       \
    }
/* What is kept in the run store. */
extern const blv_field cli_training_fields[];

/* To be called where the whole request is checked; finds the solver. */
blv_error cli_training_check(cli_training *training, blv_message *why);

/* Reads a request from the store and checks it. table: of the request, which the training is a part
 * of. The command ends where that fails. */
void cli_training_restore(const blv_field *table, void *request, cli_training *training,
                          const cli_resume *resume);

/* Reads the files; truth as in blv_task_files. The command ends where that fails. */
blv_task_sets *cli_training_read(const cli_training *training, const char *truth);

/* Values that a run is known by. usual_val_share: where none is given; 0: there is
 * none then. */
void cli_facts_training(blv_values *facts, const cli_training *training, double usual_val_share);

/* Adds the names of the files, the kinds of the columns and the warnings. */
void cli_training_describe(json_t *object, const cli_training *training, const blv_task_sets *sets);
/* "Stored as run 7; ..."; nothing for 0. */
void cli_print_stored(int64_t run);
/* Of the options of a task, those that all have. */
#define CLI_TRAINING_OPTIONS(t)                                                                    \
    .solver = (t)->solver, .settings = (t)->settings.items, .setting_count = (t)->settings.count,  \
    .seed = (t)->seed, .threads = (t)->threads, .memory = cli_device_memory((t)->device),          \
    .no_certificate = (t)->no_certificate
/* Of the result of a task, called TYPE: how it was learned. */
#define CLI_LEARNED_FIELDS(type)                                                                   \
    BLV_FIELD(type, solver, TEXT), BLV_FIELD(type, seed, WHOLE),                                   \
        BLV_FIELD(type, iterations, WHOLE), BLV_FIELD(type, seconds, REAL),                        \
        BLV_FIELD_RECORD("counts", type, counts, blv_counts_fields),                               \
        BLV_FIELD_RECORD("setup_counts", type, setup_counts, blv_counts_fields),                   \
        BLV_FIELD_WITH("certificate", type, certificate, RECORD, BLV_WHEN(type, certified),        \
                       .fields = blv_certificate_fields)
/* `bilevel resume` of a run of these commands. */
int cli_clean_resume(const cli_resume *resume);
int cli_tune_resume(const cli_resume *resume);
