#include "sweep_instance.h"

#include "row_sweep_reference.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

double sweep_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) * 0x1p-52 - 1.0;
}

static size_t real_size(const sweep_shape *shape) {
    return shape->single ? sizeof(float) : sizeof(double);
}

static void *reals(const sweep_shape *shape, size_t count) {
    void *array = malloc(count ? count * real_size(shape) : 1);
    assert_non_null(array);
    return array;
}

static void put(const sweep_shape *shape, void *array, size_t i, double value) {
    if (shape->single)
        ((float *)array)[i] = (float)value;
    else
        ((double *)array)[i] = value;
}

static void *random_reals(const sweep_shape *shape, size_t count, double center, double size,
                          uint64_t *seed) {
    void *array = reals(shape, count);
    for (size_t i = 0; i < count; i++)
        put(shape, array, i, center + size * sweep_random(seed));
    return array;
}

double sweep_get(const sweep_instance *instance, const void *array, size_t i) {
    return instance->shape.single ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

void sweep_instance_create(sweep_instance *instance, sweep_shape shape, uint64_t seed) {
    const size_t stride = shape.columns + shape.gap, weights = shape.classes * shape.columns;
    *instance = (sweep_instance){.shape = shape};
    instance->data =
        random_reals(&shape, (shape.rows - 1) * stride + shape.columns, 0.0, 1.0, &seed);
    for (size_t i = 0; shape.constant != 0.0 && i < shape.rows; i++)
        put(&shape, instance->data, i * stride, shape.constant);
    instance->w = random_reals(&shape, weights, 0.0, shape.size, &seed);
    instance->v = random_reals(&shape, weights, 0.0, shape.size, &seed);
    instance->weight = random_reals(&shape, shape.rows, 1.0, 1.0, &seed);
    instance->ridge = random_reals(&shape, shape.columns + shape.classes, 1.0, 1.0, &seed);
    instance->label = malloc(shape.rows ? shape.rows * sizeof *instance->label : 1);
    instance->index = malloc((shape.count + 1) * sizeof *instance->index);
    assert_true(instance->label && instance->index);
    const size_t labels = shape.logistic ? 2 : shape.classes;
    for (size_t i = 0; i < shape.rows; i++)
        instance->label[i] = (int32_t)((double)labels * 0.4999 * (sweep_random(&seed) + 1.0));
    for (size_t i = 0; i < shape.count; i++)
        instance->index[i] = (size_t)((double)shape.rows * 0.4999 * (sweep_random(&seed) + 1.0));
    if (shape.squares)
        instance->target = random_reals(&(sweep_shape){0}, shape.rows, 0.5, 1.0, &seed);
    instance->rows = (blv_rows){.rows = shape.rows,
                                .columns = shape.columns,
                                .dense = instance->data,
                                .stride = stride,
                                .label = shape.squares ? NULL : instance->label,
                                .target = instance->target,
                                .weight = shape.weighted ? instance->weight : NULL,
                                .first = shape.indexed ? 0 : shape.first,
                                .count = shape.count,
                                .index = shape.indexed ? instance->index : NULL};
    instance->sweep = (blv_sweep){.classes = shape.classes,
                                  .w = instance->w,
                                  .v = instance->v,
                                  .scale = 1.0 / (double)(shape.count + 1)};
    if (shape.ridge != NO_RIDGE)
        instance->sweep.ridge = 0.25;
    if (shape.ridge == RIDGE_COLUMN)
        instance->sweep.ridge_column = instance->ridge;
    if (shape.ridge == RIDGE_CLASS)
        instance->sweep.ridge_class = instance->ridge;
}

void sweep_instance_destroy(sweep_instance *instance) {
    free(instance->data);
    free(instance->w);
    free(instance->v);
    free(instance->weight);
    free(instance->ridge);
    free(instance->label);
    free(instance->target);
    free(instance->index);
}

/* Outputs begin as a number that no sweep gives, so that what is not written shows. */
static void *blank(const sweep_shape *shape, size_t count) {
    void *array = reals(shape, count);
    for (size_t i = 0; i < count; i++)
        put(shape, array, i, -77.0);
    return array;
}

void sweep_outputs_create(sweep_outputs *outputs, const sweep_shape *shape) {
    outputs->loss = -77.0;
    outputs->gradient = blank(shape, shape->classes * shape->columns);
    outputs->hessian = blank(shape, shape->classes * shape->columns);
    outputs->row_loss = blank(shape, shape->rows);
    outputs->row_cross = blank(shape, shape->rows);
    outputs->row_probability = blank(shape, shape->rows);
    outputs->row_class = malloc(shape->rows ? shape->rows * sizeof *outputs->row_class : 1);
    assert_non_null(outputs->row_class);
    for (size_t i = 0; i < shape->rows; i++)
        outputs->row_class[i] = -77;
}

void sweep_outputs_destroy(sweep_outputs *outputs) {
    free(outputs->gradient);
    free(outputs->hessian);
    free(outputs->row_loss);
    free(outputs->row_cross);
    free(outputs->row_probability);
    free(outputs->row_class);
}

blv_sweep sweep_of(const sweep_instance *instance, sweep_outputs *outputs) {
    const int never = instance->shape.squares ? WANT_ROW_PROBABILITY | WANT_ROW_CLASS : 0;
    const int wanted = instance->shape.wanted & ~never;
    blv_sweep sweep = instance->sweep;
    sweep.loss = wanted & WANT_LOSS ? &outputs->loss : NULL;
    sweep.gradient = wanted & WANT_GRADIENT ? outputs->gradient : NULL;
    sweep.hessian = wanted & WANT_HESSIAN ? outputs->hessian : NULL;
    sweep.row_loss = wanted & WANT_ROW_LOSS ? outputs->row_loss : NULL;
    sweep.row_cross = wanted & WANT_ROW_CROSS ? outputs->row_cross : NULL;
    sweep.row_probability = wanted & WANT_ROW_PROBABILITY ? outputs->row_probability : NULL;
    sweep.row_class = wanted & WANT_ROW_CLASS ? outputs->row_class : NULL;
    if (!sweep.hessian && !sweep.row_cross)
        sweep.v = NULL;
    return sweep;
}

void sweep_run(const sweep_instance *instance, sweep_outputs *outputs,
               blv_instructions instructions, int threads) {
    const sweep_shape *shape = &instance->shape;
    blv_sweep_work *work = blv_sweep_work_create(shape->classes, shape->columns, real_size(shape),
                                                 false, shape->count, threads);
    assert_non_null(work);
    blv_sweep_work_instructions(work, instructions);
    const blv_sweep sweep = sweep_of(instance, outputs);
    blv_host_sweep(&instance->rows, &sweep, work);
    blv_sweep_work_destroy(work);
}

void sweep_run_reference(const sweep_instance *instance, sweep_outputs *outputs) {
    const blv_sweep sweep = sweep_of(instance, outputs);
    assert_true(blv_reference_sweep(&instance->rows, &sweep, instance->shape.logistic,
                                    instance->shape.single));
}

/* Largest sum over columns of |m_kj a_ij|: what the rounding of a score is measured by. */
static double largest_score(const sweep_instance *instance, const void *matrix) {
    const sweep_shape *shape = &instance->shape;
    double largest = 0.0;
    for (size_t i = 0; i < shape->rows; i++)
        for (size_t k = 0; k < shape->classes; k++) {
            double sum = 0.0;
            for (size_t j = 0; j < shape->columns; j++)
                sum += fabs(sweep_get(instance, instance->data, i * instance->rows.stride + j) *
                            sweep_get(instance, matrix, k * shape->columns + j));
            largest = fmax(largest, sum);
        }
    return largest;
}

static void compare(const sweep_instance *instance, const char *name, size_t count, const void *got,
                    const void *expected, double tolerance) {
    for (size_t i = 0; i < count; i++) {
        const double a = sweep_get(instance, got, i), b = sweep_get(instance, expected, i);
        if (!(fabs(a - b) <= tolerance)) {
            const sweep_shape *s = &instance->shape;
            fail_msg("%s[%zu]: %.17g, expected %.17g within %.2g (%s %s, %zu of %zu x %zu x %zu)",
                     name, i, a, b, tolerance, s->logistic ? "logistic" : "softmax",
                     s->single ? "f32" : "f64", s->count, s->rows, s->columns, s->classes);
        }
    }
}

void sweep_compare(const sweep_instance *instance, const sweep_outputs *got,
                   const sweep_outputs *expected, double units) {
    const sweep_shape *shape = &instance->shape;
    const double unit = units * (shape->single ? FLT_EPSILON : DBL_EPSILON);
    const double score = 1.0 + largest_score(instance, instance->w);
    const double tangent = 1.0 + largest_score(instance, instance->v);
    const double data = fmax(1.0, fabs(shape->constant)), rows = shape->weighted ? 2.0 : 1.0;
    const double ridge = 3.0 * shape->size;
    const size_t weights = shape->classes * shape->columns;
    compare(instance, "gradient", weights, got->gradient, expected->gradient,
            unit * (rows * data * score + ridge));
    compare(instance, "hessian", weights, got->hessian, expected->hessian,
            unit * (rows * data * score * tangent + ridge));
    compare(instance, "row_loss", shape->rows, got->row_loss, expected->row_loss, unit * score);
    compare(instance, "row_cross", shape->rows, got->row_cross, expected->row_cross,
            unit * score * tangent);
    compare(instance, "row_probability", shape->rows, got->row_probability,
            expected->row_probability, unit * score);
    assert_true(fabs(got->loss - expected->loss) <= unit * rows * score);
    assert_memory_equal(got->row_class, expected->row_class, shape->rows * sizeof *got->row_class);
}

void sweep_same_bits(const sweep_instance *instance, const sweep_outputs *a,
                     const sweep_outputs *b) {
    const sweep_shape *shape = &instance->shape;
    const size_t weights = shape->classes * shape->columns * real_size(shape);
    const size_t rows = shape->rows * real_size(shape);
    assert_memory_equal(&a->loss, &b->loss, sizeof a->loss);
    assert_memory_equal(a->gradient, b->gradient, weights);
    assert_memory_equal(a->hessian, b->hessian, weights);
    assert_memory_equal(a->row_loss, b->row_loss, rows);
    assert_memory_equal(a->row_cross, b->row_cross, rows);
    assert_memory_equal(a->row_probability, b->row_probability, rows);
    assert_memory_equal(a->row_class, b->row_class, shape->rows * sizeof *a->row_class);
}
