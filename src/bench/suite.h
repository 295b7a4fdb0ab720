/* A suite of `bilevel bench`: an experiment as a JSON file states it. docs/bench.md has the keys.
 */
#pragma once

#include "base/arena.h"
#include "base/message.h"
#include "bilevel/space.h"
#include "store/record.h"

typedef enum bench_limit_kind { BENCH_SECONDS, BENCH_CALLS, BENCH_ITERATIONS } bench_limit_kind;

typedef struct bench_limit {
    bench_limit_kind kind;
    double amount;
} bench_limit;

/* "seconds", "calls", "iterations" */
extern const char *const bench_limit_words[];
/* The options of a run, and of the command, that set them. */
extern const char *const bench_limit_options[];

/* A suite may choose rows in place of running solvers. */
typedef enum bench_command { BENCH_CORESET, BENCH_CONTINUAL } bench_command;
extern const char *const bench_command_words[]; /* "coreset", "continual" */

typedef enum bench_certify {
    BENCH_CERTIFY_POINTS,
    BENCH_CERTIFY_END,
    BENCH_CERTIFY_NEVER
} bench_certify;

typedef struct bench_names {
    size_t count;
    char **items;
} bench_names;
bool bench_is_listed(const bench_names *names, const char *name);

/* ---- As the file has it ---- */

typedef struct bench_variant {
    char *name;                   /* "" where the suite has none */
    blv_values problem_set, data; /* in a suite that was read: complete, the suite's among them */
    blv_values files, hashes;     /* of the data: paths, and what the files hold; of a benchmark */
} bench_variant;

typedef struct bench_solver_file {
    char *solver;
    bool untuned, is_published, has_sweep, has_baseline;
    blv_values published, grid_set, set;
    char *grid; /* JSON; NULL: none */
    bench_names tuned;
    bench_names sweep_keys;
    char *sweep_values; /* JSON */
    size_t detuned_count;
    double *detuned; /* factors of the settings that were chosen */
    char *baseline_name;
    blv_values baseline_problem_set, baseline_set;
} bench_solver_file;

/* The paper that a suite repeats. */
typedef struct bench_source {
    char *paper, *figure, *claim;
} bench_source;

typedef enum bench_basis {
    BENCH_BY_SECONDS,
    BENCH_BY_CALLS,
    BENCH_BY_END,
    BENCH_BY_SPREAD,
    BENCH_BY_CHANGE
} bench_basis;

/* Of the entries in `who` that all of them come before the others in `of`, or before a bound. */
typedef struct bench_claim {
    char *text;
    bench_names who, of;
    bench_basis by;
    double factor; /* that `who` may be behind; NaN: 1 */
    bool is_bounded;
    blv_values bounds; /* for each variant */
    char *metric;      /* that it is judged by; NULL: the suite's */
    double level;      /* of the metric; NaN: the suite's */
    char *paper;       /* whose claim it is, the name of its page; NULL: none */
    char *published;   /* what the paper has found */
    char *tried;       /* what else was tried where it does not hold */
} bench_claim;

/* ---- As it is used ---- */

/* A solver with settings: a row of the table, a curve. */
typedef struct bench_entry {
    char *id; /* "soba/tuned": the solver and untuned, published, tuned, KEY=VALUE or the name of
               * a baseline */
    const char *solver; /* its name; of a command: the name of a method */
    blv_values set;
    json_t *grid;              /* {key: [value, ...], ...}, of the file; NULL: none */
    bench_names tuned;         /* keys that are tried around their automatic values; borrowed */
    const blv_values *untuned; /* settings without anything tuned: a candidate too; borrowed, NULL:
                                * it is none, for the suite has no such entry */
    blv_values problem_set;    /* of a baseline, on top of the variant's */
    double detuned;            /* tuned keys are so many times what was chosen for them; 0: no */
} bench_entry;

typedef struct bench_suite {
    char *path, *folder;
    blv_message *why; /* gets messages, here and in all that belongs to a benchmark; NULL: none */
    json_t *root;     /* the file, with the quick form's keys in place where that is asked for */
    json_t *grids;    /* in place of those in the file; NULL: none */
    blv_arena arena;
    bool quick;

    /* from the file */
    char *quick_form; /* JSON */
    char *name, *title, *metric;
    bench_source reproduces;
    char *problem; /* NULL where there is a command */
    bool has_command;
    bench_command command;
    blv_values problem_set, data, run_set;
    bench_names seeded; /* parameters of the problem that take the run's seed */
    bench_names data_folders, show;
    double level;  /* of the metric; NaN: the median of the ends */
    int precision; /* blv_precision */
    int start;     /* 0: zero, 1: random */
    bench_certify certify;
    uint64_t seeds, points;
    bool has_tuning, has_reference;
    double limits[3], tuning_limits[3], reference_limits[3]; /* the kind that is set; else NaN */
    blv_values reference_set;
    char *choose;         /* what tuned settings are chosen by */
    size_t most_settings; /* of a grid that are tried */
    size_t variant_count, solver_count, claim_count, entry_count;
    bench_variant *variants;
    bench_solver_file *solvers;
    bench_claim *claims;

    /* made from it */
    bench_limit limit, tuning, reference;
    bench_entry *entries;
} bench_suite;

/* "zero", "random" */
extern const char *const bench_start_words[];

/* Reads a file, strictly; quick: in its quick form. A message names the file, the key and what is
 * expected. On error nothing is left to be freed. */
blv_error bench_suite_read(bench_suite *suite, const char *path, bool quick, blv_message *why);
void bench_suite_free(bench_suite *suite);
/* BLV_E_FORMAT with "PATH: ...". */
blv_error bench_reject(const bench_suite *suite, const char *format, ...) BLV_PRINTF(2, 3);

/* The solver, or of a command the method, of this name as entries have it; NULL: there is none, and
 * why names some. */
const char *bench_suite_solver(const bench_suite *suite, const char *name, blv_message *why);
/* Keeps the entries of these solvers, and adds those that the suite lacks with their defaults. */
blv_error bench_suite_select(bench_suite *suite, const char *const *solvers, size_t count);
/* {"SOLVER": {"KEY": [values]}} in place of the suite's own grids; NULL: no entry is tuned. */
blv_error bench_suite_replace_grids(bench_suite *suite, const char *path);
/* Where settings are chosen, test rows must not choose them. */
blv_error bench_suite_check_choice(const bench_suite *suite);

/* Parts of reading and freeing a suite. */
blv_error bench_suite_add_entries(bench_suite *suite);
void bench_suite_free_entries(bench_suite *suite);

/* Whether its settings follow from tuning: it has a grid, keys that are tuned, or is detuned. */
bool bench_is_tuned(const bench_entry *entry);
/* Whether settings are tried for it: it is tuned, and not a multiple of another one. */
bool bench_has_grid(const bench_entry *entry);
/* The number of settings that an entry's grid has, at most the suite's most_settings. */
size_t bench_suite_grid_size(const bench_suite *suite, const bench_entry *entry);
/* Setting i of a grid together with the entry's own. The last key runs fastest. */
blv_error bench_suite_grid_at(const bench_entry *entry, size_t i, blv_values *set);

/* ---- Where suites are ---- */

/* Reads a file whose content is an object. A key that is there twice is an error. */
blv_error bench_json_load(const char *path, json_t **object, blv_message *why);

/* The path of NAME.json in the folder, to be freed; a name with a slash, or of a file that ends in
 * .json, is the path itself. folder NULL: none is known. */
blv_error bench_suite_find(const char *name, const char *folder, char **path, blv_message *why);
/* The paths of all suites of a folder in the order of their names, and their number. NULL where
 * memory is short. */
char **bench_suite_list(blv_arena *arena, const char *folder, size_t *count);

/* A file of the data: the first that is there of the folders (NULL: none), `data` beside the suite,
 * and the suite's own folders. *path lives as long as the suite. */
blv_error bench_suite_data(bench_suite *suite, const char *const folders[2], const char *name,
                           char **path);
