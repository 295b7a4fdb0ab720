/* What the runs of a benchmark say: numbers for each entry, and whether the claims held. */
#pragma once

#include "base/arena.h"
#include "bench/bench.h"
#include "report/table.h"

/* Quantiles of 20, 50 and 80 % over the seeds. */
typedef struct bench_band {
    double low, median, high;
} bench_band;

/* What it took to reach a level of the metric; infinite: it was not reached. */
typedef struct bench_reach {
    bench_band seconds, calls;
} bench_reach;

enum { BENCH_SHOWN_MAX = 8, BENCH_SHARES = 3 };
/* Of the first gap of Phi that are left: 10, 1 and 0.1 %. */
extern const double bench_shares[BENCH_SHARES];

/* An entry on a variant. */
typedef struct bench_cell {
    const bench_entry *entry;
    const char *variant, *id;          /* names of both */
    size_t runs, failed;               /* failed: diverged or worse */
    const char *rejected;              /* why there are none */
    bench_band value;                  /* of the metric, at the end */
    bench_reach reach;                 /* of the variant's level */
    double seconds, calls, iterations; /* at the end, medians */
    double shown[BENCH_SHOWN_MAX];     /* medians at the end */
    double seconds_left[BENCH_SHARES]; /* until a share of the first gap is left, medians */
    double regret[BENCH_SHARES];       /* divided by those of the fastest entry */
    bool is_chosen;
    blv_values chosen; /* settings, with is_chosen; borrowed */
    size_t tried;      /* settings of the grid */
    double grid_seconds, grid_calls;
} bench_cell;

typedef struct bench_view {
    const char *name;                  /* of the variant */
    double least_phi;                  /* certified; NaN: none */
    char least_from[160];              /* which run has it */
    double level;                      /* of the metric */
    double best_seconds[BENCH_SHARES]; /* infinite: no entry got there */
    size_t count;
    bench_cell *cells; /* one for each entry, in their order */
} bench_view;

/* A claim on a variant. */
typedef struct bench_verdict {
    const char *claim, *variant; /* its text; the name */
    bool is_judged, held;
    char text[640];
} bench_verdict;

typedef struct bench_results {
    const bench *bench;
    size_t view_count, cell_count, verdict_count;
    bench_view *views; /* one for each variant */
    bench_cell *cells; /* of all of them */
    bench_verdict *verdicts;
    double processor_share; /* processor time over the time that passed, the median of all runs:
                             * well below 1 when other programs disturbed them */
    double *numbers;        /* space for one of each job, that are sorted */
    blv_arena arena;
} bench_results;
#define BENCH_QUIET 0.9 /* from here on a run had the processor to itself */

/* bench_results_free either way. */
blv_error bench_results_make(bench_results *results, const bench *b);
void bench_results_free(bench_results *results);

/* The table, remarks and claims as text or Markdown. */
blv_error bench_results_print(const bench_results *results, report_form form, FILE *out);
/* The files that are written to the folder of the benchmark: index.html, points.csv and
 * points.json; the last one is followed by one without a name. */
typedef struct bench_file {
    const char *name;
    blv_error (*put)(const bench_results *results, FILE *out, blv_message *why);
} bench_file;
extern const bench_file bench_files[];

/* ---- Parts of it ---- */

/* Fills the verdicts. */
blv_error bench_judge_claims(bench_results *results);
bench_reach bench_reach_level(const bench_results *results, size_t variant, size_t entry,
                              double level);
/* Fills seconds_left, regret and best_seconds. */
void bench_find_regret(const bench_results *results, size_t variant, bench_view *view);
/* A table of them; nothing where Phi is not certified at the points. */
blv_error bench_print_regret(const bench_view *view, report_form form, FILE *out);
blv_error bench_put_regret(const bench_results *results, FILE *out, blv_message *why);
/* The table of a variant, the best end first, and remarks. */
blv_error bench_print_view(const bench_results *results, const bench_view *view, report_form form,
                           FILE *out);
void bench_print_claims(const bench_results *results, report_form form, FILE *out);
/* "8 seconds for each run, 5 seeds, ..." */
enum { BENCH_PROTOCOL_SIZE = 600 };
void bench_protocol_text(const bench_results *results, char text[BENCH_PROTOCOL_SIZE]);
/* "8 seconds", "2048 iterations" */
void bench_limit_text(const bench_limit *limit, char text[64]);
/* The processor and how many there are. */
void bench_machine_text(char *text, size_t size);
