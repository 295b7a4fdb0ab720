/* The vectors of a run as host doubles: where it starts, where it ends, and both in files. */
#pragma once

#include "bilevel/run.h"

#include <stdbool.h>

enum { BLV_VECTOR_X, BLV_VECTOR_Y, BLV_VECTOR_V, BLV_VECTORS };
extern const char *const blv_vector_names[BLV_VECTORS]; /* "x", "y", "v" */

typedef struct blv_vectors {
    size_t dim[BLV_VECTORS];
    double *values[BLV_VECTORS]; /* NULL: the solver has none of that name */
} blv_vectors;

/* Those that the run has. */
blv_error blv_vectors_read(blv_vectors *vectors, const blv_run *run);
void blv_vectors_free(blv_vectors *vectors);

/* A start is "zero", "random", or a file with x, y and v as far as present. A file is read and
 * checked before the run is opened; v can be compared with the solver's only afterwards. */
blv_error blv_start_load(blv_vectors *loaded, const char *start, const blv_problem *problem,
                         blv_message *why);
/* Sets the start of an opened run. v_is_optional: for a solver without v that of the file is passed
 * over. */
blv_error blv_start_apply(blv_run *run, const char *start, const blv_vectors *loaded,
                          bool v_is_optional, blv_message *why);

/* Whether a file can be written at path. */
blv_error blv_vectors_expect_writable(const char *path, blv_message *why);
/* Writes the end as x, y, v and the start as x0, y0, v0. */
blv_error blv_vectors_save(const char *path, const blv_vectors *end, const blv_vectors *start,
                           blv_message *why);
