/* Problems: find x in X that minimizes f(x, y*(x)), where y*(x) minimizes g(x, .).
 *
 * Fill a blv_problem_def with your oracles and call blv_problem_create. `upper` and `lower` are
 * enough; with the second-order ones most solvers are faster and more accurate. */
#ifndef BILEVEL_PROBLEM_H
#define BILEVEL_PROBLEM_H

#include "bilevel/param.h"
#include "bilevel/space.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct blv_problem blv_problem;

/* ---- Oracles ---- */

/* A list that the indices of many batches lie in, so that a device can take it as a whole. Lists
 * with other indices have another number, never 0. */
typedef struct blv_index_list {
    const size_t *begin;
    size_t count;
    uint64_t number;
} blv_index_list;

/* The samples of one call: index[0 .. count-1] when index is set, else first .. first + count - 1.
 * A NULL batch means every sample. Values and derivatives are means over the batch. */
typedef struct blv_batch {
    size_t first;
    size_t count;
    const size_t *index;
    blv_memory_kind memory;        /* of index */
    size_t next_first, next_count; /* the range that comes next, to be fetched; 0: not known */
    const blv_index_list *list;    /* that index lies in; NULL: none */
} blv_batch;

/* Every oracle returns 0, a positive number (recoverable: this point is rejected; the last move is
 * halved and tried again) or a negative number (fatal: the run ends). A NULL output is not needed.
 * Output vectors never alias inputs. Oracles of one problem may be called from two runs in two
 * threads at once: what they write must not be shared. */
typedef int (*blv_upper_fn)(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                            double *f, blv_vec *fx, blv_vec *fy);
typedef int (*blv_lower_fn)(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                            double *g, blv_vec *gx, blv_vec *gy);
/* hv = (d2g/dy2) v, size of y;  jv = (d2g/dxdy) v, size of x */
typedef int (*blv_hvp_fn)(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                          const blv_vec *v, blv_vec *hv);
typedef int (*blv_cross_fn)(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                            const blv_vec *v, blv_vec *jv);
/* gy, hv and jv in one pass over the data: the hot path of single-loop solvers */
typedef int (*blv_all_fn)(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                          const blv_vec *v, blv_vec *gy, blv_vec *hv, blv_vec *jv);
/* x = P_X(x), Euclidean, in place */
typedef int (*blv_project_fn)(void *user, blv_vec *x);
/* Where a run begins: x and y come as zero vectors. */
typedef int (*blv_start_fn)(void *user, blv_vec *x, blv_vec *y);
/* A dense matrix, row by row: d2g/dy2 (dim_y x dim_y) or d2g/dxdy (dim_x x dim_y) */
typedef int (*blv_matrix_fn)(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                             double *matrix);

/* ---- What is known about the answer, where it is known ---- */

/* Phi(x) and its gradient in closed form. Either output may be NULL. */
typedef int (*blv_known_phi_fn)(void *user, const blv_vec *x, double *phi, blv_vec *gradient);
/* A solution. Either output may be NULL. */
typedef int (*blv_known_solution_fn)(void *user, blv_vec *x, blv_vec *y);

/* What else a problem can tell about a point, such as the accuracy on test data: one number for
 * each name of the definition's `measures`. Off the clock, for trace and report. */
typedef int (*blv_measure_fn)(void *user, const blv_vec *x, const blv_vec *y, double *values);
#define BLV_MEASURES_MAX 16

/* The arrays that define an instance, so that it can be checked with other tools. */
typedef struct blv_named_array {
    const char *name;
    size_t ndim;
    size_t shape[2];
    const double *data;
} blv_named_array;

/* A number made from the data that the oracles read, that distinguishes these data from others. */
typedef uint64_t (*blv_fingerprint_fn)(void *user);

typedef struct blv_problem_def {
    size_t size;             /* of this struct: BLV_SIZED(blv_problem_def) */
    const char *name;        /* copied; NULL: "problem" */
    size_t dim_x, dim_y;     /* sizes of x and y */
    blv_precision precision; /* BLV_F64 unless said otherwise */
    int threads;             /* of host vectors; 0: all processors */
    size_t upper_samples;    /* f is a mean of this many terms; 0 or 1: not a sum */
    size_t lower_samples;    /* g likewise */
    bool shuffled;           /* samples are in random order already: blocks may be contiguous */
    bool singular_lower;     /* d2g/dy2 is known to be singular: implicit solvers reject it */
    bool many_minimizers;    /* of g, as a network has: there is no y*(x), and no certificate */

    void *user;                    /* handed to every oracle */
    void (*free_user)(void *user); /* called by blv_problem_destroy, and when create fails */

    blv_upper_fn upper; /* required */
    blv_lower_fn lower; /* required */
    blv_hvp_fn lower_hvp;
    blv_cross_fn lower_cross;
    blv_all_fn lower_all;
    blv_project_fn project_x; /* NULL: X is the whole space */
    blv_start_fn start;       /* NULL: runs begin at zero */
    blv_matrix_fn lower_hessian_matrix;
    blv_matrix_fn lower_cross_matrix;

    blv_known_phi_fn known_phi;
    blv_known_solution_fn known_solution;
    blv_measure_fn measure;         /* NULL: none */
    const char *const *measures;    /* names, borrowed from user; ends with NULL */
    const blv_named_array *arrays;  /* borrowed from user; ends with a NULL name; NULL: none */
    blv_fingerprint_fn fingerprint; /* NULL: that of the arrays */

    const blv_space *space_x; /* vectors of your own kind: borrowed, must outlive the problem. */
    const blv_space *space_y; /* NULL: in `memory`, from dim, precision and threads */
    blv_memory_kind memory;   /* BLV_MEMORY_HOST or BLV_MEMORY_CUDA, where spaces are NULL */
} blv_problem_def;

/* The definition is copied. Where its size is not set, nothing else of it is read or freed. */
BLV_API blv_error blv_problem_create(blv_problem **problem, const blv_problem_def *def,
                                     blv_message *why);
/* Every run of the problem must have been destroyed before. NULL is allowed. */
BLV_API void blv_problem_destroy(blv_problem *problem);

/* The definition in effect (spaces, dimensions and sample counts filled in). */
BLV_API const blv_problem_def *blv_problem_definition(const blv_problem *problem);
/* The definition's fingerprint, else one of its arrays, else 0. Goes through all the data. */
BLV_API uint64_t blv_problem_fingerprint(const blv_problem *problem);

/* ---- Checking oracles ---- */

typedef struct blv_check_item {
    const char *what; /* "fy against differences of f" */
    double error;     /* largest relative error seen */
    double allowed;   /* above this it is reported as wrong */
    size_t worst;     /* coordinate of the largest error, or SIZE_MAX when not by coordinate */
    bool ok;
} blv_check_item;

#define BLV_CHECK_MAX 24
typedef struct blv_check_report {
    size_t count;
    bool ok; /* every item is */
    blv_check_item item[BLV_CHECK_MAX];
} blv_check_report;

/* Compares every oracle with central differences, with each other, on batches and with NULL
 * outputs, around a random point of the given seed and scale (projected onto X). Returns
 * BLV_E_ORACLE when an oracle fails; a wrong derivative is not an error but an item that is not ok.
 */
BLV_API blv_error blv_problem_check(const blv_problem *problem, uint64_t seed, double scale,
                                    blv_check_report *report, blv_message *why);

/* ---- Problem families: problems that are created by name ---- */

typedef struct blv_problem_options {
    size_t size; /* sizeof(blv_problem_options) */
    blv_precision precision;
    int threads;             /* 0: all processors */
    blv_memory_kind memory;  /* where data and vectors are kept; BLV_E_UNSUPPORTED: not there */
    const char *data_folder; /* where files are looked for that are not at their path; NULL: none */
    const blv_ranks *ranks; /* rows and vectors are shared with these processes (ranks.h): borrowed,
                               must outlive the problem; NULL: they are of this process alone */
    void (*warn)(void *context, const char *line); /* remarks on how files are read; may be NULL */
    void *context;                                 /* of warn */
} blv_problem_options;

typedef struct blv_problem_family {
    size_t size; /* of this struct: BLV_SIZED(blv_problem_family) */
    const char *name;
    const char *summary; /* one line */
    const char *formula; /* f and g, one line each */
    size_t params_size;  /* of the struct that the table describes */
    const blv_param *params;
    blv_error (*create)(const void *params, const blv_problem_options *options,
                        blv_problem **problem, blv_message *why);
} blv_problem_family;

/* Creates a problem from its family with settings {"key", "value", ..., NULL}; NULL: defaults.
 * options may be NULL: f64, all processors, host memory. */
BLV_API blv_error blv_problem_from_family(const blv_problem_family *family,
                                          const char *const *settings,
                                          const blv_problem_options *options, blv_problem **problem,
                                          blv_message *why);

#ifdef __cplusplus
}
#endif
#endif
