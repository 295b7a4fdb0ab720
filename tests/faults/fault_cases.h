/* The command lines that are tried, and what is there before each of them. */
#ifndef FAULT_CASES_H
#define FAULT_CASES_H

#include <stdbool.h>
#include <stddef.h>

/* What is the same in every run, so that a run which ends with exit code 0 must have it too. The
 * others tell times. */
typedef enum fault_same { SAME_NOTHING, SAME_OUTPUTS, SAME_ALL } fault_same;

typedef struct fault_case {
    const char *arguments; /* words of the command line */
    const char *outputs;   /* names of the files that it writes; .jsonl: as it goes */
    fault_same same;       /* outputs; and standard output */
    bool changes_runs;     /* may take runs out of the store, or go on with them */
    bool real_gnuplot;     /* not the stand-in */
} fault_case;

enum { FAULT_CASES_MAX = 100, FAULT_SOLVERS_MAX = 100 };

extern const fault_case
    fault_cases[]; /* at most FAULT_CASES_MAX; ends with one without arguments */
/* Different first words of the cases. */
int fault_subcommand_count(void);
/* Every solver as a case of `solve`; how many. */
size_t fault_solver_cases(fault_case cases[FAULT_SOLVERS_MAX]);

/* Command lines that make the files and the store which the cases work with; ends with NULL. */
extern const char *const fault_preparations[];
extern const char fault_suite[];         /* suite.json, for `bench` */
extern const char fault_suite_of_data[]; /* data.json */
extern const char fault_suite_of_rows[]; /* few.json */
extern const char fault_groups[];        /* groups.txt, of features */
extern const char fault_mixed[]; /* mixed.csv, with texts, dates, weights and missing values */
extern const char fault_arff[];  /* rows.arff */
extern const unsigned char fault_zstd[]; /* rows.zst */
extern const size_t fault_zstd_size;
extern const char fault_gnuplot[]; /* a program that stands in for gnuplot */

#endif
