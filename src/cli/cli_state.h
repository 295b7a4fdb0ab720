/* The vectors of a run as host doubles: where it starts, where it ends, and both in files. */
#ifndef CLI_STATE_H
#define CLI_STATE_H

#include "bilevel/run.h"

#include <stdbool.h>

enum { CLI_X, CLI_Y, CLI_V, CLI_VECTORS };
extern const char *const cli_vector_names[CLI_VECTORS]; /* "x", "y", "v" */

typedef struct cli_vectors {
    size_t dim[CLI_VECTORS];
    double *values[CLI_VECTORS]; /* NULL: the solver has none of that name */
} cli_vectors;

void cli_vectors_read(cli_vectors *vectors, const blv_run *run);
/* Forgets one of them. */
void cli_vectors_drop(cli_vectors *vectors, int which);
void cli_vectors_free(cli_vectors *vectors);

/* The others return an exit code, after a message. */

/* What a start is: "zero", "random", or a file with x, y and v as far as present. A file is read
 * and checked before the run is opened; v can be compared with the solver's only afterwards. */
int cli_start_load(cli_vectors *loaded, const blv_run *run, const char *start,
                   blv_precision precision);
/* Sets the start of an opened run. */
int cli_start_apply(blv_run *run, const char *start, const cli_vectors *loaded);
/* Whether a file can be written at path. */
int cli_expect_writable(const char *path);
/* Writes the end as x, y, v and the start as x0, y0, v0. */
int cli_save(const char *path, const cli_vectors *end, const cli_vectors *start);

/* |x - x*| and |y - y*| for the solution that the problem knows. False when it knows none. */
bool cli_known_distance(const blv_problem *problem, const cli_vectors *end, double *distance_x,
                        double *distance_y);

#endif
