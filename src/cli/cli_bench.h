/* `bilevel bench`: the runs that a suite asks for, what came of them, and what that says.
 *
 * Plan, run, choose tuned settings, run those, look at the points, write. Finished runs lie in
 * DIR/points.jsonl under a key made from all that defines them, so that a bench that was stopped
 * goes on where it was. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "cli_store.h"
#include "cli_suite.h"
#include "cli_watch.h"

typedef struct cli_bench_request {
    const char *suite, *suites, *data, *out, *solvers, *grid;
    uint64_t seeds; /* 0: as the suite says */
    bool has_limit;
    cli_limit limit;
    uint64_t jobs;
    int threads;
    bool quick, markdown, no_plots;
    cli_progress progress;
    cli_store_choice store;
    const json_t *command; /* as typed */
} cli_bench_request;

/* ---- Jobs: one run each ---- */

typedef enum cli_job_kind { CLI_JOB_REFERENCE, CLI_JOB_TUNING, CLI_JOB_RUN } cli_job_kind;
extern const char *const cli_job_words[]; /* "reference", "tuning", "run" */

typedef struct cli_job {
    cli_job_kind kind;
    size_t variant, entry; /* entry: SIZE_MAX for a reference */
    size_t setting;        /* of a grid, for tuning */
    uint64_t seed;
    const char *solver;
    json_t *set;         /* of the solver and of the run, complete but for limit and seed */
    json_t *problem_set; /* of the problem, or of the command; complete but for data */
    cli_limit limit;
    uint64_t points;
    cli_certify certify;
    char key[20];
} cli_job;

typedef struct cli_bench {
    const cli_bench_request *asked;
    cli_suite suite;
    char *points_path;
    size_t job_count;
    cli_job *jobs;
    json_t *records; /* {key: record} of every finished run */
} cli_bench;

/* References, tuning and the runs of entries that are not tuned. */
void cli_bench_plan(cli_bench *bench);
/* The runs of tuned entries, once tuning is done. */
void cli_bench_plan_tuned(cli_bench *bench);
/* The tuning job whose setting was chosen; NULL: none of them came to an end. */
const cli_job *cli_bench_chosen(const cli_bench *bench, size_t variant, size_t entry);
void cli_bench_free(cli_bench *bench);

/* These return exit codes, after a message. Before the plan: data are there, and the problem takes
 * its settings. */
int cli_bench_check(const cli_bench *bench);
/* After it: the solvers take theirs. */
int cli_bench_rehearse(const cli_bench *bench);
/* Makes the runs that have no record yet. */
int cli_bench_execute(cli_bench *bench);

/* ---- Records: {"key", "kind", "variant", "entry", "solver", "setting", "seed", "set", "outcome",
 * "failed", "message", "refused", "run", "points": [{...}]} ---- */

/* Reads the finished runs of the folder; a last line that was not written to its end is dropped. */
int cli_bench_load(cli_bench *bench);
int cli_bench_keep(const cli_bench *bench, const json_t *record);
/* NULL: not finished. */
json_t *cli_bench_record(const cli_bench *bench, const cli_job *job);
/* A number of the last point; NaN where there is none or the run failed. */
double cli_record_end_value(const json_t *record, const char *what);
bool cli_more_is_better(const char *what);

/* The job's data with their folder; NULL after a message. To be freed. */
char *cli_bench_data(const cli_bench *bench, const char *name);

/* ---- What came of it ---- */

typedef struct cli_band {
    double low, median, high; /* quantiles of 20, 50 and 80 % */
} cli_band;

/* What it took to reach a level of the metric; infinite: it was not reached. */
typedef struct cli_reach {
    cli_band seconds, calls;
} cli_reach;

enum { CLI_SHOWN_MAX = 8 };

/* An entry on a variant. */
typedef struct cli_cell {
    const cli_entry *entry;
    size_t runs, failed;               /* failed: diverged or worse */
    const char *refused;               /* why there are none */
    cli_band value;                    /* of the metric, at the end */
    cli_reach reach;                   /* of the variant's level */
    double seconds, calls, iterations; /* at the end, medians */
    double shown[CLI_SHOWN_MAX];       /* medians at the end */
    json_t *chosen;                    /* settings; borrowed; NULL: nothing was chosen */
    size_t tried;                      /* settings of the grid */
    double grid_seconds, grid_calls;
} cli_cell;

typedef struct cli_view {
    const cli_variant *variant;
    double least_phi;     /* certified; NaN: none */
    char least_from[160]; /* which run has it */
    double level;         /* of the metric */
    size_t count;
    cli_cell *cells; /* one for each entry, in their order */
} cli_view;

typedef struct cli_verdict_line {
    size_t claim, variant;
    int held; /* 1, 0, or -1: it could not be judged */
    char text[640];
} cli_verdict_line;

typedef struct cli_findings {
    const cli_bench *bench;
    size_t view_count, line_count;
    cli_view *views; /* one for each variant */
    cli_verdict_line *lines;
} cli_findings;

void cli_findings_make(cli_findings *findings, const cli_bench *bench);
cli_reach cli_reach_of(const cli_bench *bench, const cli_view *view, size_t variant, size_t entry,
                       double level);
void cli_findings_judge(cli_findings *findings);
void cli_findings_free(cli_findings *findings);
/* The processor time of a run over the time that passed, the median of all runs: well below 1 when
 * other programs were at work, and then times mean little. */
double cli_processor_share(const cli_bench *bench);
#define CLI_QUIET 0.9 /* from here on a run had the processor to itself */
/* "8 seconds for each run, 5 seeds, ..." */
void cli_protocol_text(const cli_findings *findings, char *text, size_t size);
/* What the metric is called in tables: "Phi - Phi*" for phi. */
const char *cli_metric_title(const cli_suite *suite);

/* ---- Output ---- */

/* "8 seconds", "2048 iterations" */
void cli_limit_text(const cli_limit *limit, char text[64]);
void cli_findings_print(const cli_findings *findings);
void cli_findings_markdown(const cli_findings *findings);
/* index.html, points.csv and points.json in the folder. Returns an exit code, after a message. */
int cli_findings_write(const cli_findings *findings);
/* The processor and how many there are. */
void cli_machine_text(char *text, size_t size);

/* The cells of a row of the table; the first of them are those of cli_column_titles. */
enum { CLI_COLUMNS_MAX = 9 + CLI_SHOWN_MAX, CLI_CELL_SIZE = 160 };
typedef struct cli_cells {
    size_t count;
    char align[CLI_COLUMNS_MAX + 1];
    char text[CLI_COLUMNS_MAX][CLI_CELL_SIZE];
    const char *cell[CLI_COLUMNS_MAX];
} cli_cells;
void cli_column_titles(const cli_findings *findings, cli_cells *cells);
void cli_column_cells(const cli_findings *findings, const cli_cell *cell, cli_cells *cells);
/* The cells of a variant, the best end first. To be freed. */
const cli_cell **cli_view_sorted(const cli_findings *findings, const cli_view *view);
/* Phi* and where it is from, the level, and what the grids cost. */
void cli_view_remarks(const cli_findings *findings, const cli_view *view, FILE *out,
                      void (*put)(FILE *out, const char *text));

#endif
