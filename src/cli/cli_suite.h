/* A suite of `bilevel bench`: an experiment as a JSON file states it. docs/bench.md has the keys.
 */
#ifndef CLI_SUITE_H
#define CLI_SUITE_H

#include "cli_common.h"

#include <jansson.h>

typedef enum cli_limit_kind { CLI_SECONDS, CLI_CALLS, CLI_ITERATIONS } cli_limit_kind;

typedef struct cli_limit {
    cli_limit_kind kind;
    double amount;
} cli_limit;

/* "coreset", "continual", NULL */
extern const char *const cli_suite_commands[];
/* "seconds", "calls", "end", "spread", "change", NULL */
extern const char *const cli_claim_bases[];
/* "seconds", "calls", "iterations" */
extern const char *const cli_limit_words[];
/* The option of a run that sets it. */
extern const char *const cli_limit_options[];

/* A solver with settings: a row of the table, a curve. */
typedef struct cli_entry {
    char *id;            /* "soba/tuned": the solver and untuned, published, tuned, KEY=VALUE or the
                          * name of a baseline */
    const char *solver;  /* its name; of a command: the name of a method */
    json_t *set;         /* {key: value, ...} */
    json_t *grid;        /* {key: [value, ...], ...}; NULL: nothing is to be chosen */
    json_t *problem_set; /* of a baseline, on top of the variant's; NULL: none. Borrowed */
} cli_entry;

typedef struct cli_variant {
    const char *name; /* "" where the suite has none */
    json_t *problem_set, *data;
} cli_variant;

typedef enum cli_certify { CLI_CERTIFY_POINTS, CLI_CERTIFY_END, CLI_CERTIFY_NEVER } cli_certify;

/* Texts and JSON values belong to root, unless said otherwise. */
typedef struct cli_suite {
    char *path, *folder;
    json_t *root; /* with the quick form's keys in place, where that is asked for */
    bool quick;
    const char *name, *title, *start, *metric;
    const char *problem; /* NULL where there is a command */
    const char *command; /* of cli_suite_commands: rows are chosen; NULL: solvers run */
    blv_precision precision;
    json_t *reproduces, *run_set, *claims, *show;
    json_t *seeded; /* parameters of the problem that take the run's seed; NULL: none */
    double level;   /* of the metric; NaN: the median of the ends */
    size_t variant_count, entry_count;
    cli_variant *variants; /* their sets are complete: the suite's and the variant's own */
    cli_entry *entries;
    cli_limit limit, tuning, reference;
    bool has_reference;
    json_t *reference_set; /* NULL: none */
    const char *choose;    /* what tuned settings are chosen by */
    size_t most_settings;  /* of a grid that are tried */
    uint64_t seeds, points;
    cli_certify certify;
} cli_suite;

/* Reads a file, strictly. quick: in its quick form. Returns an exit code, after a message that
 * names the file, the key and what is expected. */
int cli_suite_read(cli_suite *suite, const char *path, bool quick);
void cli_suite_free(cli_suite *suite);

/* The solver, or of a command the method, of this name as entries have it; NULL: there is none, and
 * why names some. */
const char *cli_suite_solver(const cli_suite *suite, const char *name, blv_message *why);
/* Adds a solver with its defaults. */
void cli_suite_add_untuned(cli_suite *suite, const char *solver);
/* Drops the entries that keep does not want. */
void cli_suite_keep(cli_suite *suite, bool (*keep)(const cli_entry *entry, const void *context),
                    const void *context);
/* {"SOLVER": {"KEY": [values]}} in place of the suite's own grids; NULL: no entry is tuned. Returns
 * an exit code, after a message. */
int cli_suite_replace_grids(cli_suite *suite, const char *path);

/* Where settings are chosen, test rows must not choose them. Returns an exit code, after a message.
 */
int cli_suite_check_choice(const cli_suite *suite);

/* The number of settings that a grid has, at most the suite's most_settings. */
size_t cli_suite_grid_size(const cli_suite *suite, const cli_entry *entry);
/* Setting i of a grid together with the entry's own; a new reference. The last key runs fastest. */
json_t *cli_suite_grid_at(const cli_entry *entry, size_t i);

/* ---- Where suites are ---- */

/* NAME, or a path to a file. folder: where to look first; NULL: none is named. The path is to be
 * freed; NULL after a message. */
char *cli_suite_find(const char *name, const char *folder);
/* The paths of all suites in the order of their names; ends with NULL. To be freed, each and all.
 */
char **cli_suite_list(const char *folder);

/* A file of the data: the first that is there of folder (NULL: none), that of BILEVEL_DATA, `data`
 * beside the suite, and the suite's own folders. To be freed; NULL after a message. */
char *cli_suite_data(const cli_suite *suite, const char *folder, const char *name);

#endif
