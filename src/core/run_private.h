/* The insides of a run, for src/core only. */
#pragma once

#include "base/message.h"
#include "bilevel/certificate.h"
#include "bilevel/run.h"
#include "core/certifier.h"
#include "core/eval.h"
#include "core/key_value_text.h"
#include "core/state_object.h"
#include "space/later.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

typedef struct blv_options {
    int64_t iters;  /* -1: automatic */
    double seconds; /* NaN: none */
    int64_t budget; /* -1: none */
    double tol;     /* 0: none */
    double target;  /* NaN: none */
    int64_t seed;
    int64_t batch; /* -1: automatic, -2: the whole sum */
    int sampler;
    int64_t every;
    int certify;
    int iterates;
} blv_options;

enum { CERTIFY_END, CERTIFY_ROWS, CERTIFY_NEVER };
enum { NAME_SIZE = 32, NOTE_SIZE = 200, NOTES_MAX = 16 };

typedef struct blv_state_entry {
    char name[NAME_SIZE];
    blv_vec *vec;
    blv_vec *previous; /* value before the last move; NULL when it does not move */
    uint64_t moved;    /* number of that move, 0: never */
    bool unchecked;    /* no reduction has shown yet that the move was finite */
    bool borrowed;     /* vec belongs to an object that the run owns */
} blv_state_entry;

/* Numbers of the state: a scalar, a block, or what an object keeps. */
typedef struct blv_numbers_entry {
    char name[NAME_SIZE];
    const char *kind;
    size_t count;
    double *values; /* NULL: the object's */
    blv_state_object kept;
    bool is_column; /* of the trace */
} blv_numbers_entry;

typedef struct blv_owned {
    void *object;
    void (*destroy)(void *object);
    size_t bytes;
} blv_owned;

typedef struct blv_note {
    char format[NOTE_SIZE]; /* a note is made once for each format */
    char text[NOTE_SIZE];
} blv_note;

/* What shows that a run goes astray, and where it was best: watch.c. */
typedef struct blv_watch {
    blv_vec *start_x, *start_y; /* before the first step */
    blv_vec *best_x, *best_y;   /* of the lowest |d| and |gy| in iterations 1, 2, 4, 8, ... */
    double best, best_at;       /* their sum, as shares of the first, and the iteration */
    double first_d, first_gy;   /* largest |d| and |gy| in the first steps */
    double last_d, last_gy;     /* at the last look */
    double start_phi;           /* NaN: not known */
} blv_watch;

/* Steps whose scalars are not waited for: ahead.c. */
typedef struct blv_ahead {
    const blv_later_ops *ops; /* NULL: scalars are known at once */
    blv_later *later;
    bool useful;          /* the solver has asked for scalars that can come later */
    bool now;             /* in this step they do */
    uint64_t steps, most; /* taken since the state was kept, and how many may be */
    double began;         /* when it was */
    uint64_t back;        /* how often it was put back */
    blv_flow end;         /* what they ended the run with, BLV_GO: they did not */
    blv_vec **vec;        /* the state: of each entry; NULL: it does not change */
    size_t vec_count;
    double *number;
    blv_metrics metrics;
} blv_ahead;

typedef enum blv_run_phase { PHASE_CREATED, PHASE_OPEN, PHASE_STEPPING, PHASE_ENDED } blv_run_phase;

struct blv_run {
    const blv_problem *problem;
    const blv_problem_def *def;
    const blv_solver *solver;
    void *state;
    blv_options options;
    blv_run_phase phase;
    blv_error open_error; /* what opening ended with */
    bool busy;            /* inside a step: a monitor may not step */
    bool may_continue;    /* it ended at a limit between two steps */
    bool just_loaded;     /* limits are to be looked at before the next step */
    bool all_rows;        /* are handed out, not few */
    bool rough_constants; /* are enough, however small the problem is */
    bool fingerprint_known;

    blv_vec *x, *y;
    const blv_error *failure_x, *failure_y; /* of their spaces */
    blv_vec *x_displacement; /* for the gradient mapping; NULL when X is the whole space */
    blv_state_entry *entries;
    size_t entry_count;
    blv_numbers_entry *numbers;
    size_t numbers_count;
    blv_owned *owned;
    size_t owned_count;

    blv_eval eval;            /* the solver's */
    blv_eval observe;         /* for trace, monitor and target: off the clock, counted apart */
    blv_certifier *certifier; /* NULL unless options ask for certified values on the way */
    size_t unchecked;         /* entries that are; moved in this iteration */
    uint64_t unchecked_since;
    blv_metrics metrics_whole; /* of the last step that was taken; result has those of this one */
    double mapping_norm;       /* |x - P_X(x - step d)| / step of the last move of x, NaN: none */
    blv_result result;
    blv_watch watch;
    blv_ahead ahead;
    double finish_tolerance;     /* what blv_run_finished claims */
    double tol_factor;           /* of tol in the solver's own test: at most 1, see blv_confirm */
    double last_certified;       /* |grad Phi| at the last such test; 0: none */
    blv_certificate certificate; /* of x, y and v as they are, where it is known */
    bool certificate_known, kept_best;
    blv_error error;         /* memory was short at the end: blv_run_solve returns it */
    unsigned calls_to_clock; /* oracle calls until the clock is looked at again */
    atomic_bool stop_requested;
    bool agrees; /* with other processes, which takes a message each time */

    double clock_started; /* monotonic seconds at the last start of the clock */
    double clock_before;  /* seconds on the clock before that */
    bool clock_running;

    blv_monitor_fn monitor;
    void *monitor_context;
    uint64_t monitor_iterations;
    double monitor_seconds, monitor_last;

    blv_every_fn pause;
    void *pause_context;
    double pause_seconds, pause_last; /* of real time */

    blv_key_values parameters; /* of the solver, as they were when it was opened */
    uint64_t fingerprint;      /* of the problem, once it is known */
    uint64_t part_set;         /* of the checkpoint that was saved last; 0: it has no parts */

    /* 1 + the iteration of the last row in the file, row handed out and call of the monitor */
    uint64_t row_seen, row_given, monitor_seen;
    double observed_seconds; /* of real time, that rows and monitor have taken */
    blv_trace_fn row;
    void *row_context;
    FILE *row_stream; /* writes row_text */
    char *row_text;
    size_t row_size;
    FILE *trace;
    char *trace_path;
    uint64_t trace_at;    /* bytes written to it */
    double *trace_values; /* room for one vector, when iterates are traced */
    bool trace_failed;    /* the disk was full: the run goes on, the trace ends */

    blv_message message;
    blv_message ending; /* the message of the end, which later calls may write over above */
    blv_note notes[NOTES_MAX];
    size_t note_count;
};

extern const blv_param blv_option_table[];
extern const blv_metrics blv_no_metrics;

static inline const blv_space *blv_space_at(const blv_run *run, blv_level level) {
    return level == BLV_LEVEL_X ? run->def->space_x : run->def->space_y;
}

/* state.c */
blv_state_entry *blv_state_find(const blv_run *run, const char *name);
void blv_state_free(blv_run *run);

/* ahead.c */
blv_error blv_ahead_open(blv_run *run); /* after the solver's open */
void blv_ahead_close(blv_run *run);
/* Before a step: decides whether its scalars are waited for. */
blv_flow blv_ahead_begin(blv_run *run, bool to_the_end);
/* Waits for all scalars. Not BLV_GO: some steps were taken once more, and this is how they end. */
blv_flow blv_ahead_settle(blv_run *run);

/* moves.c */
/* Checks what no reduction has checked yet, before iterates leave the run. */
blv_flow blv_settle_moves(blv_run *run);
/* Whether an operation of a space has: from then on no value is worth anything. */
static inline bool blv_has_failed(const blv_run *run) {
    return *run->failure_x != BLV_OK || *run->failure_y != BLV_OK;
}
/* BLV_FATAL, with the space's message. */
blv_flow blv_space_failed(blv_run *run);
/* Halves the moves that came after the last success of the oracle that rejected the point. False:
 * none. */
bool blv_halve_moves(blv_run *run);

/* clock.c */
double blv_clock_seconds(const blv_run *run);
void blv_clock_start(blv_run *run);
void blv_clock_stop(blv_run *run);
/* What this process would act on becomes what all processes of the space do. All that depends on a
 * clock, a signal or a callback's answer goes through here. */
double blv_agree(const blv_run *run, double word);
/* With several ranks: the error and the message of the first rank that has one, on all of them. */
blv_error blv_run_agree_error(const blv_run *run, blv_error error, blv_message *why);
/* Whether this process writes the files of the run: of several ranks the first does. */
bool blv_run_writes(const blv_run *run);
double blv_clock_now(const blv_run *run); /* real seconds, from some start; agreed */
/* Calls the pause if its time has come. */
blv_flow blv_pause_if_due(blv_run *run);

/* stop.c */
blv_flow blv_run_interrupt(void *run);
blv_outcome blv_limit_reached(blv_run *run);
bool blv_tolerance_reached(const blv_run *run);

/* watch.c */
blv_error blv_watch_register(blv_run *run);
void blv_watch_start(blv_run *run);
enum { BLV_WATCH_FIRST_STEPS = 16 };
static inline bool blv_watch_looks_at(uint64_t iteration) { /* whether it needs its metrics */
    return iteration <= BLV_WATCH_FIRST_STEPS || (iteration & (iteration - 1)) == 0;
}
/* After such a step: an outcome where the run is not to go on. */
blv_outcome blv_watch_look(blv_run *run);
/* At the end: where Phi has left every scale of the problem, the run has diverged, and x and y
 * become the best that were seen. */
blv_outcome blv_watch_end(blv_run *run, blv_outcome outcome);
/* The method's own test is met: converged, if the certificate says so too. BLV_RUNNING: it nearly
 * does, and the run continues with a harder test. */
blv_outcome blv_confirm(blv_run *run, double tolerance, bool may_go_on);

/* run_loop.c */
blv_flow blv_run_take_step(blv_run *run);
/* Sets the outcome and its message, from the cause that the message holds. */
void blv_run_explain_end(blv_run *run, blv_outcome outcome, bool in_step);
/* Prepares the solver before the first step, then steps once or until the run ends. */
void blv_run_advance(blv_run *run, bool to_the_end);

/* trace.c: evaluation off the clock, trace rows and the monitor. last: the run ends here. */
blv_error blv_trace_open(blv_run *run);
void blv_trace_close(blv_run *run);
void blv_rows_close(blv_run *run);
blv_outcome blv_observe(blv_run *run, bool last);
static inline bool blv_is_observed(const blv_run *run) {
    return run->trace_path || run->row_stream || run->monitor || !isnan(run->options.target);
}
