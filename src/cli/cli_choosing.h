/* What `bilevel coreset` and `bilevel continual` share: the file, how it is read and scaled, the
 * network that judges, and how rows are chosen. */
#ifndef CLI_CHOOSING_H
#define CLI_CHOOSING_H

#include "bilevel/select.h"
#include "cli_common.h"

typedef struct cli_choosing {
    const char *data, *test; /* files; test may be NULL */
    blv_read_options reading;
    const char *net; /* that judges */
    bool unscaled;
    int threads;
    uint64_t seed;
    uint64_t iterations; /* of bilevel methods, 0: the default; likewise below */
    double first, ridge, reward;
    uint64_t candidates;
    uint64_t steps; /* of training the network */
    bool json, quiet;
} cli_choosing;

/* Parses DATA and all of the above; a child of a subcommand's own parser. */
extern const struct argp cli_choosing_argp;
cli_choosing cli_choosing_begin(void);

/* Those that return a number return an exit code, after a message. */

/* DATA, dense and with at least two classes, and test where it is given, in the columns and classes
 * of DATA; scaled to [0, 1] by DATA unless that is not wanted. */
int cli_choosing_load(const cli_choosing *asked, blv_dataset **rows, blv_dataset **test);
/* What blv_select is asked. */
blv_selection cli_choosing_selection(const cli_choosing *asked, const blv_selection_method *method,
                                     size_t size, uint64_t seed);
/* A fresh network, trained on rows with weights (NULL: alike), judged on others. */
int cli_choosing_judge(const cli_choosing *asked, const blv_dataset *rows, const double *weight,
                       const blv_dataset *test, uint64_t seed, double *accuracy);
/* A network for rows of this set. */
int cli_choosing_network(const cli_choosing *asked, const blv_dataset *rows, uint64_t seed,
                         blv_classifier **network);
/* How networks are trained here. */
blv_training cli_choosing_training(const cli_choosing *asked, uint64_t seed);
int cli_select_rows(const blv_dataset *rows, const size_t *index, size_t count,
                    blv_dataset **selected);

/* Seconds from some moment on. */
double cli_seconds(void);
/* A whole number. Ends the command with a message when it is none. */
uint64_t cli_parse_count(const char *option, const char *text, uint64_t least, uint64_t most,
                         const struct argp_state *state);
/* A method by name. Ends the command with a message when there is none. */
const blv_selection_method *cli_parse_method(const char *name, const struct argp_state *state);

#endif
