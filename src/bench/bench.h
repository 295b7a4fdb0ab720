/* `bilevel bench`: the runs that a suite asks for, and their records.
 *
 * Plan, run, choose tuned settings, run those. Finished runs are kept in DIR/points.jsonl under a
 * key made from everything that defines them, so that an interrupted benchmark resumes. */
#pragma once

#include "bench/suite.h"
#include "bilevel/dataset.h"
#include "bilevel/registry.h"
#include "bilevel/store.h"

#include <time.h>

/* What is asked. All texts are borrowed. */
typedef struct bench_request {
    const char *suite;           /* the file */
    const char *data_folders[2]; /* where to look for data first; NULL: none */
    const char *out;             /* folder of what is written; NULL: bench-NAME */
    const char *solvers;         /* "papers", "all" or NAME,NAME,... */
    const char *grid;            /* "default", "none" or a file */
    const char *from;            /* stored points: nothing is run; NULL: none */
    const char *paper;           /* whose claims are shown; NULL: all */
    const char *figures;         /* the folder that Markdown names figures in; NULL: it has none */
    uint64_t seeds;              /* 0: as the suite says */
    bool has_limit;
    bench_limit limit;
    uint64_t jobs;          /* processes */
    const blv_ranks *ranks; /* several share the runs; NULL: this process makes all */
    int threads;            /* of each run */
    bool quick, no_plots;
    char **command; /* as typed, for the store */
    size_t command_count;

    void *context;
    /* Opens the run store, in the process that uses it; *store stays NULL where none is wanted. */
    blv_error (*open_store)(void *context, blv_store **store, blv_message *why);
    /* A store that was asked for by name must take everything. */
    bool store_must_work;
    /* A run begins (NULL: it has ended): it must be stopped when the user asks for it. */
    void (*follow)(void *context, blv_run *run);
    /* Whether the user has asked to stop. */
    bool (*stopped)(void *context);
    /* A line for each run; NULL: none. */
    void (*progress)(void *context, const char *line);
    /* Something went wrong that does not end the benchmark. */
    void (*remark)(void *context, const char *text);
} bench_request;

/* ---- Records of finished runs ---- */

/* BENCH_FINAL: one of the best settings of the tuning, over the whole limit. */
typedef enum bench_job_kind {
    BENCH_REFERENCE,
    BENCH_TUNING,
    BENCH_FINAL,
    BENCH_RUN
} bench_job_kind;
extern const char *const bench_job_words[]; /* "reference", "tuning", "final", "run" */

enum { BENCH_KEY_SIZE = 20 };

typedef struct bench_record {
    char key[BENCH_KEY_SIZE];
    bench_job_kind kind;
    const char *variant, *entry, *solver; /* entry: NULL for a reference */
    size_t setting;
    uint64_t seed;
    blv_values set;  /* as asked */
    blv_values used; /* by the solver, automatic ones among them */
    size_t point_count;
    blv_values *points;
    double processor_share; /* processor time over the time that passed */
    const char *outcome;
    bool failed;
    const char *message;
    int64_t run;          /* number in the run store; 0: none */
    const char *rejected; /* why there was no run; NULL: there was one */
    size_t tried;         /* tuning runs that it stands for, of stored points; 0: itself */
    size_t finals;        /* likewise, over the whole limit */
} bench_record;

extern const blv_field bench_record_fields[];

/* Adds a point with these two values. */
blv_error bench_record_point(bench_record *record, uint64_t iteration, double seconds,
                             blv_values **point);
/* A number of the last point; NaN where there is none. */
double bench_record_end(const bench_record *record, const char *name);

/* ---- Jobs: one run each ---- */

typedef struct bench_job {
    bench_job_kind kind;
    size_t variant, entry; /* entry: SIZE_MAX for a reference */
    size_t setting;        /* of a grid, for tuning */
    uint64_t seed;
    const char *solver;
    blv_values set;         /* of the solver and of the run, complete but for limit and seed */
    blv_values problem_set; /* of the problem, or of the command; complete but for data */
    bench_limit limit;
    uint64_t points;
    bench_certify certify;
    char key[BENCH_KEY_SIZE];
    const bench_record *record; /* NULL: it is not finished */
} bench_job;

typedef struct bench_least {
    char *variant;
    double phi;
    char *from; /* which run has it */
} bench_least;

/* How and where the runs are made, or were where they are stored points. */
typedef struct bench_facts {
    char *suite, *command, *version, *machine;
    int threads;
    bool quick;
    uint64_t seeds;
    bench_limit limit;
    size_t least_count;
    bench_least *least;  /* of stored points: the least Phi of each variant */
    bench_names columns; /* of stored points */
} bench_facts;

typedef struct bench {
    const bench_request *request;
    bench_suite suite;
    bench_facts facts;
    char *folder, *points_path;
    size_t job_count, record_count;
    bench_job *jobs;
    bench_record *records;
} bench;

/* Reads the suite, changes it as the request says, finds data, checks all settings, plans
 * references, tuning and the runs of entries that are not tuned, and makes the folder. bench_close
 * either way. */
blv_error bench_open(bench *b, const bench_request *request, blv_message *why);
/* Makes the runs that have no record yet; then those of tuned entries. BLV_E_STOPPED: the user
 * asked for it. */
blv_error bench_run_all(bench *b, blv_message *why);
void bench_close(bench *b);

/* "soba/tuned", or "exact" for a reference. */
const char *bench_job_entry(const bench *b, const bench_job *job);
/* The job whose setting was chosen: the best final one, or of tuning where there is none; NULL:
 * none of them came to an end. */
const bench_job *bench_chosen(const bench *b, size_t variant, size_t entry);
/* Seconds on a clock of the system. */
double bench_clock(clockid_t id);
/* Of accuracies and the like. */
bool bench_more_is_better(const char *metric);

/* Sets the fields of a parameter table from values; owner: "problem NAME", for messages. */
blv_error bench_set_params(const blv_values *settings, const blv_param *params, void *fields,
                           const char *owner, blv_message *why);

/* ---- Parts of it ---- */

/* The suite and finished runs from stored points. */
blv_error bench_open_stored(bench *b, blv_message *why);
void bench_facts_free(bench_facts *facts);
/* The least Phi of a variant that came with stored points; NULL: none did. */
const bench_least *bench_find_least(const bench *b, const char *variant);
/* The processor and how many there are. */
void bench_machine_text(char *text, size_t size);
/* own: settings of the job, which win over those that the suite has for every run. */
blv_error bench_add_job(bench *b, bench_job job, const blv_values *own);
/* The settings of a tuned entry that can be tried at once. */
blv_error bench_plan_tuning(bench *b, size_t variant, size_t entry);
/* The settings of a tuned entry's runs, to be freed either way. BLV_E_NAME where none
 * was chosen. */
blv_error bench_tuned_set(const bench *b, size_t variant, size_t entry, blv_values *set);
/* Those that follow from what came out: around automatic values, and beyond an edge of the grid
 * where the best setting is. *added: whether there are any. */
blv_error bench_plan_more_tuning(bench *b, bool *added);
/* The final round, where tuning has a shorter limit than the runs: the best settings and the
 * untuned one over the whole limit. */
blv_error bench_plan_final(bench *b);
/* What decides it: the metric, or what chooses where that is of test rows. */
const char *bench_judged_by(const bench_suite *suite);
/* Reads the finished runs of the folder and gives them to the jobs. */
blv_error bench_load_records(bench *b);
void bench_forget_records(bench *b);
/* Adds a finished run to the file. */
blv_error bench_keep_record(const bench *b, const bench_record *record);
/* Before the plan: data are there, and the problem accepts its settings. */
blv_error bench_check_problems(const bench *b);
/* After it: the solvers, or methods, accept theirs. */
blv_error bench_check_jobs(const bench *b);
/* Makes the runs that have no record yet. */
blv_error bench_execute(bench *b);

/* ---- The problem of a variant, made once for all of its runs: variant_problem.c ---- */

typedef struct bench_problem {
    const blv_problem_family *family;
    void *params; /* the struct that family->params describes */
    blv_problem *problem;
    size_t variant;
    const blv_values *settings; /* that it was made with; borrowed */
} bench_problem;

/* Makes the problem of a job, unless it is there already. */
blv_error bench_problem_take(bench_problem *p, const bench *b, const bench_job *job);
void bench_problem_free(bench_problem *p);

/* The limit, seed and settings of a job. */
blv_error bench_configure(blv_run *run, const bench_job *job);

/* ---- The runs of a suite with a command: row_choice_runs.c ---- */

/* The rows of a variant, kept until a job needs another. Start from {0}. */
typedef struct bench_rows {
    size_t variant;
    blv_dataset *rows, *test;
    blv_dataset *fitted, *held_out; /* parts of rows, for choosing settings; NULL until needed */
} bench_rows;

/* The metric, what is shown, what tuned settings are chosen by and the data are right. */
blv_error bench_check_choices(const bench *b);
/* The settings of a job are. */
blv_error bench_check_choice(const bench *b, const bench_job *job);
/* Makes a run and adds its points to the record. */
blv_error bench_choose_rows(bench_rows *kept, const bench *b, const bench_job *job,
                            bench_record *record);
void bench_rows_free(bench_rows *kept);
