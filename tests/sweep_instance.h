/* Random sweeps over dense rows, and their outputs, for the tests of the kernels. */
#ifndef SWEEP_INSTANCE_H
#define SWEEP_INSTANCE_H

#include "kernels/cpu/host_sweep.h"

enum {
    WANT_LOSS = 1,
    WANT_GRADIENT = 2,
    WANT_HESSIAN = 4,
    WANT_ROW_LOSS = 8,
    WANT_ROW_CROSS = 16,
    WANT_ROW_PROBABILITY = 32,
    WANT_ROW_CLASS = 64,
    WANT_FIRST_ORDER = 1 + 2 + 8 + 32 + 64,
    WANT_ALL = 127
};

typedef enum ridge_kind { NO_RIDGE, RIDGE_SCALAR, RIDGE_COLUMN, RIDGE_CLASS } ridge_kind;

typedef struct sweep_shape {
    bool single, logistic;
    bool squares; /* real targets; with logistic, for one score */
    size_t rows, columns, classes;
    size_t gap;          /* stride - columns */
    size_t first, count; /* rows of the sweep; with an index, count of them at random */
    bool indexed, weighted;
    ridge_kind ridge;
    int wanted;
    double size;     /* of the weights */
    double constant; /* not 0: the value of the first column in all rows */
} sweep_shape;

/* Arrays are allocated to the element, so that reading past one is an error that ASan sees. */
typedef struct sweep_instance {
    sweep_shape shape;
    blv_rows rows;
    blv_sweep sweep; /* inputs; outputs are those of a sweep_outputs */
    void *data, *weight, *w, *v, *ridge;
    int32_t *label;
    double *target; /* NULL unless squares */
    size_t *index;
} sweep_instance;

typedef struct sweep_outputs {
    double loss;
    void *gradient, *hessian, *row_loss, *row_cross, *row_probability;
    int32_t *row_class;
} sweep_outputs;

double sweep_random(uint64_t *seed); /* between -1 and 1 */
void sweep_instance_create(sweep_instance *instance, sweep_shape shape, uint64_t seed);
void sweep_instance_destroy(sweep_instance *instance);
void sweep_outputs_create(sweep_outputs *outputs, const sweep_shape *shape);
void sweep_outputs_destroy(sweep_outputs *outputs);
double sweep_get(const sweep_instance *instance, const void *array, size_t i);
/* The sweep of the instance with what the shape wants going to these outputs. */
blv_sweep sweep_of(const sweep_instance *instance, sweep_outputs *outputs);
void sweep_run(const sweep_instance *instance, sweep_outputs *outputs,
               blv_instructions instructions, int threads);
void sweep_run_reference(const sweep_instance *instance, sweep_outputs *outputs);
/* Fails the test where the outputs differ by more than `units` rounding errors of the terms that
 * were added up. */
void sweep_compare(const sweep_instance *instance, const sweep_outputs *got,
                   const sweep_outputs *expected, double units);
void sweep_same_bits(const sweep_instance *instance, const sweep_outputs *a,
                     const sweep_outputs *b);

#endif
