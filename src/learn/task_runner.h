/* A task at work: every run of a task goes through blv_task_solve, and every progress report and
 * request to stop through blv_task_say. */
#pragma once

#include "base/message.h"
#include "bilevel/task.h"

typedef struct blv_task {
    blv_task_hooks hooks;
    const blv_solver *solver;
    const blv_setting *settings;
    size_t setting_count;
    uint64_t seed;
    bool no_certificate;

    size_t runs;       /* made or recalled so far */
    bool stopped;      /* as asked */
    char activity[96]; /* between runs */
    double last_report;
    blv_message *why, own_why; /* why is never NULL: hooks may write to it */
} blv_task;

typedef struct blv_task_plan {
    const blv_problem *problem;
    blv_task_run which;              /* its number is filled in */
    uint64_t iterations;             /* where the settings have no limit */
    const double *start_x, *start_y; /* NULL: zero */
    bool
        quiet; /* a step on the way: with exact, past all hooks but progress, without certificate */
    bool uncertified;    /* a certificate would take too long */
    blv_monitor_fn look; /* called after every `every` iterations; NULL: none */
    void *context;
    uint64_t every;
    const char *products; /* products with H at most, for solvers that have such a limit; or NULL */
    const char *accuracy, *solve_tol; /* of exact, likewise */
} blv_task_plan;

/* Checks and takes the hooks; solver NULL becomes exact. */
blv_error blv_task_open(blv_task *task, const blv_task_hooks *hooks, blv_message *why);
/* Calls the hook `start`. */
blv_error blv_task_start_work(blv_task *task, const blv_task_start *start,
                              const blv_problem *problem);
/* Reports what is being done. Afterwards task->stopped says whether to stop. */
void blv_task_say(blv_task *task, const char *format, ...) BLV_PRINTF(2, 3);
/* A blv_stop_fn with a task as its context: keeps reporting the present activity. */
int blv_task_should_stop(void *task);

/* Creates the run, sets it, solves it, certifies it and reads x and y. BLV_OK also where it was
 * stopped (task->stopped); BLV_E_FAILED where the solver failed. */
blv_error blv_task_solve(blv_task *task, blv_task_plan *plan, blv_run_end *end);

/* The training rows as they were read; NULL where nothing of them was filled. */
const blv_dataset *blv_task_raw(const blv_task_sets *sets);
/* Such rows as the sets are, with fills and scaling learned from rows[0] alone. */
blv_error blv_task_refill(const blv_task_sets *sets, blv_dataset *const *rows, size_t count,
                          blv_message *why);

/* Seconds from some moment on. */
double blv_wall_clock(void);

/* Whether the solver makes few and costly iterations. */
bool blv_task_is_exact(const blv_task *task);
