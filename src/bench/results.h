/* What the runs of a benchmark say: numbers for each entry, and whether the claims held. */
#pragma once

#include "base/arena.h"
#include "bench/bench.h"
#include "report/html.h"
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
    size_t finals;     /* of them over the whole limit */
    bool is_untuned;   /* a tuned entry that shows the runs of the untuned one */
    double grid_seconds, grid_calls;
} bench_cell;

typedef struct bench_view {
    const char *name;     /* of the variant */
    double least_phi;     /* certified; NaN: none */
    double first_gap;     /* of Phi above it at the start; NaN: Phi is not the metric */
    char least_from[160]; /* which run has it */
    double level;         /* of the metric */
    double best_seconds[BENCH_SHARES]; /* infinite: no entry got there */
    size_t count;
    bench_cell *cells; /* one for each entry, in their order */
} bench_view;

typedef enum bench_outcome {
    BENCH_HOLDS,
    BENCH_HOLDS_AS_PUBLISHED, /* and not with the best settings of each */
    BENCH_CANNOT_BE_TOLD,     /* half of the time or too many seeds say the opposite */
    BENCH_DOES_NOT_HOLD
} bench_outcome;
extern const char *const bench_outcome_words[];

/* A claim on a variant. */
typedef struct bench_verdict {
    const bench_claim *stated;
    const char *claim, *variant; /* its text; the name */
    bench_outcome outcome;
    double level;
    bool is_judged, held;
    bool has_half;    /* half of the time says something about it, too */
    bool is_reversed; /* and that is the opposite */
    char text[640];
    char how_much[80]; /* "2.5 times faster" */
    double times;      /* 2.5 */
    const char *unit;  /* "times faster"; NULL: how_much has no number, or two */
    char steady[280];  /* "the same at half the limit; 5 of 5 seeds say so" */
} bench_verdict;

extern const char bench_points[]; /* the unit of accuracies */

enum { BENCH_GROUPS = 5 };
/* Which points count, and which settings a claim means. */
typedef struct bench_filter {
    double share;      /* of the limit, from the start on */
    uint64_t group;    /* of seeds: 1 to BENCH_GROUPS, by their remainder; 0: all */
    bool as_published; /* a solver stands for its published settings, where it has them */
    const struct bench_results *levels; /* whose levels claims have; NULL: their own */
} bench_filter;

typedef struct bench_results {
    const bench *bench;
    bench_filter filter;
    size_t view_count, cell_count, verdict_count;
    bench_view *views; /* one for each variant */
    bench_cell *cells; /* of all of them */
    size_t *sources;   /* of each cell: the entry whose runs it shows */
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
/* The files that are written to the folder of the benchmark; the last one is followed by one
 * without a name. The first one is the page. */
typedef struct bench_file {
    const char *name;
    blv_error (*put)(const bench_results *results, FILE *out);
} bench_file;
extern const bench_file bench_files[];

/* ---- Parts of it ---- */

/* The results of some of the points, with what they say about the claims. bench_results_free either
 * way. */
blv_error bench_results_fill(bench_results *results, const bench *b, bench_filter filter);
/* Fills the verdicts. */
blv_error bench_judge_claims(bench_results *results);
/* Their outcomes. */
blv_error bench_settle_claims(bench_results *results);
/* Whether one of the names in a claim means this entry. */
bool bench_is_named(const bench_results *results, const bench_names *names,
                    const bench_entry *entry);
bool bench_claim_names(const bench_results *results, const bench_claim *claim,
                       const bench_entry *entry);
/* Whether claim i is the first one of its paper. */
bool bench_is_first_of_paper(const bench_suite *suite, size_t i);
/* Whether it is a claim of the paper; NULL: any. */
bool bench_claim_is_of(const bench_claim *claim, const char *paper);
/* Whether a claim of the paper means the entry, or there is no claim. */
bool bench_is_shown(const bench_results *results, const char *paper, const bench_entry *entry);

/* ---- Figures ---- */

/* Of a variant: the entries that the claims of a paper mean. svg->data is NULL where there is
 * nothing to draw; else it is to be freed. */
blv_error bench_figure_draw(const bench_results *results, const char *paper, size_t variant,
                            report_bytes *svg);
/* "SUITE-PAPER-VARIANT.svg", of letters, digits and signs that a file name may have. */
enum { BENCH_NAME_SIZE = 200 };
void bench_figure_name(const bench_results *results, const char *paper, size_t variant,
                       char name[BENCH_NAME_SIZE]);
void bench_figure_caption(const bench_results *results, const char *paper, size_t variant,
                          char text[BENCH_NAME_SIZE]);
/* The record of job i where that is a run that counts, of the entry or of the one whose runs it
 * shows; else NULL. */
const bench_record *bench_run_of(const bench_results *results, size_t i, size_t variant,
                                 size_t entry);
/* A level of Phi that is not a matter of rounding: at least 1e-9 of the first gap. */
double bench_above_rounding(const bench_view *view, double level);
/* Of numbers, which are sorted; where there are none, it has none. */
bench_band bench_band_of(double *numbers, size_t count);
/* At the end, and at the first point that reaches a level; metric NULL: the suite's. */
bench_band bench_find_end(const bench_results *results, size_t variant, size_t entry,
                          const char *metric);
bench_reach bench_reach_level(const bench_results *results, size_t variant, size_t entry,
                              const char *metric, double level);
/* Fills seconds_left, regret and best_seconds. */
void bench_find_regret(const bench_results *results, size_t variant, bench_view *view);
/* A table of them; nothing where Phi is not certified at the points. */
blv_error bench_print_regret(const bench_view *view, report_form form, FILE *out);
blv_error bench_put_regret(const bench_results *results, FILE *out);
/* A line for each claim: its paper, a tab, and a row of a Markdown table. */
blv_error bench_put_rows(const bench_results *results, FILE *out);
blv_error bench_put_stored(const bench_results *results, FILE *out);
/* The table of a variant, the best end first, and remarks. */
blv_error bench_print_view(const bench_results *results, const bench_view *view, report_form form,
                           FILE *out);
void bench_print_claims(const bench_results *results, report_form form, FILE *out);
/* A table for a page: claim, verdict, by how much. */
blv_error bench_print_verdicts(const bench_results *results, FILE *out);
/* Whether the budget decides: what is left of the gap, what half of the limit says, and whether
 * tuning has made a row worse. */
blv_error bench_print_checks(const bench_results *results, report_form form, FILE *out);
/* A paragraph, or an item of a list. */
void bench_print_line(const char *text, report_form form, FILE *out);
/* "8 seconds for each run, 5 seeds, ..." */
enum { BENCH_PROTOCOL_SIZE = 600 };
void bench_protocol_text(const bench_results *results, char text[BENCH_PROTOCOL_SIZE]);
/* "8 seconds", "2048 iterations" */
void bench_limit_text(const bench_limit *limit, char text[64]);
