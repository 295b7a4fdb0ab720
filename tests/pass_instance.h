/* Random passes over dense rows, and their outputs, for the tests of the kernels. */
#ifndef PASS_INSTANCE_H
#define PASS_INSTANCE_H

#include "kernels/row_sweep.h"

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

typedef struct pass_shape {
    bool single, logistic;
    size_t rows, columns, classes;
    size_t gap;          /* stride - columns */
    size_t first, count; /* rows of the pass; with an index, count of them at random */
    bool indexed, weighted;
    ridge_kind ridge;
    int wanted;
    double size;     /* of the weights */
    double constant; /* not 0: the value of the first column in all rows */
} pass_shape;

/* Arrays are allocated to the element, so that reading past one is an error that ASan sees. */
typedef struct pass_instance {
    pass_shape shape;
    blv_rows rows;
    blv_sweep pass; /* inputs; outputs are those of a pass_outputs */
    void *data, *weight, *w, *v, *ridge;
    int32_t *label;
    size_t *index;
} pass_instance;

typedef struct pass_outputs {
    double loss;
    void *gradient, *hessian, *row_loss, *row_cross, *row_probability;
    int32_t *row_class;
} pass_outputs;

double pass_random(uint64_t *seed); /* between -1 and 1 */
void pass_instance_create(pass_instance *instance, pass_shape shape, uint64_t seed);
void pass_instance_destroy(pass_instance *instance);
void pass_outputs_create(pass_outputs *outputs, const pass_shape *shape);
void pass_outputs_destroy(pass_outputs *outputs);
double pass_get(const pass_instance *instance, const void *array, size_t i);
/* The pass of the instance with what the shape wants going to these outputs. */
blv_sweep pass_of(const pass_instance *instance, pass_outputs *outputs);
void pass_run(const pass_instance *instance, pass_outputs *outputs, blv_instructions instructions,
              int threads);
void pass_run_reference(const pass_instance *instance, pass_outputs *outputs);
/* Fails the test where the outputs differ by more than `units` rounding errors of the terms that
 * were added up. */
void pass_compare(const pass_instance *instance, const pass_outputs *got,
                  const pass_outputs *expected, double units);
void pass_same_bits(const pass_instance *instance, const pass_outputs *a, const pass_outputs *b);

#endif
