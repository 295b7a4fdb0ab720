/* Sweeps on a GPU against the plain loops in double: dense and sparse rows, all outputs. */
#include "row_sweep_reference.h"
#include "sweep_instance.h"

#include "kernels/kernel_table.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Rounding errors of the largest terms: tensor cores add with one or two bits less than the CPU. */
static const double UNITS = 8.0;

static const blv_kernels *table(bool single) {
    const blv_kernels *k = blv_kernels_for(BLV_MEMORY_CUDA, single ? BLV_F32 : BLV_F64);
    assert_non_null(k);
    return k;
}

static void *there(const blv_kernels *k, const void *host, size_t bytes) {
    void *memory = host ? k->allocate(bytes) : NULL;
    if (host && bytes)
        k->write_bytes(bytes, host, memory);
    return memory;
}

/* Elements back to where they are compared. */
static void back(const blv_kernels *k, size_t count, void *memory, void *host) {
    double *wide = malloc((count + 1) * sizeof *wide);
    k->read(count, memory, wide);
    for (size_t i = 0; i < count; i++)
        if (k->precision == BLV_F32)
            ((float *)host)[i] = (float)wide[i];
        else
            ((double *)host)[i] = wide[i];
    free(wide);
    k->release(memory);
}

/* Classes are small numbers; their bits pass through the f32 table as tiny floats. */
static void classes_back(size_t count, void *memory, int32_t *host) {
    float *bits = malloc((count + 1) * sizeof *bits);
    back(table(true), count, memory, bits);
    for (size_t i = 0; i < count; i++)
        if (isnan(bits[i]))
            host[i] = -77;
        else
            memcpy(&host[i], &bits[i], sizeof host[i]);
    free(bits);
}

static void run_there(const sweep_instance *instance, sweep_outputs *outputs, bool logits) {
    const sweep_shape *s = &instance->shape;
    const blv_kernels *k = table(s->single);
    const size_t real = k->real_size, weights = s->classes * s->columns * real,
                 rows_bytes = s->rows * real;
    blv_rows rows, host = instance->rows;
    assert_true(k->rows_open(&host, &rows));
    rows.first = host.first;
    rows.count = host.count;
    rows.index = host.index; /* of the host: copied when it is needed */
    rows.weight = there(k, host.weight, rows_bytes);
    if (logits && host.weight) {
        double *logit = malloc(s->rows * sizeof *logit);
        for (size_t i = 0; i < s->rows; i++) {
            const double w = sweep_get(instance, host.weight, i);
            logit[i] = log(w / (1.0 - w));
        }
        void *memory = k->allocate(rows_bytes);
        k->write(s->rows, logit, memory);
        rows.logit = memory;
        free(logit);
    }
    blv_sweep sweep = sweep_of(instance, outputs);
    sweep.w = there(k, sweep.w, weights);
    sweep.v = there(k, sweep.v, weights);
    sweep.ridge_column = there(k, sweep.ridge_column, s->columns * real);
    sweep.ridge_class = there(k, sweep.ridge_class, s->classes * real);
    sweep.gradient = there(k, sweep.gradient, weights);
    sweep.hessian = there(k, sweep.hessian, weights);
    sweep.row_loss = there(k, sweep.row_loss, rows_bytes);
    sweep.row_cross = there(k, sweep.row_cross, rows_bytes);
    sweep.row_probability = there(k, sweep.row_probability, rows_bytes);
    sweep.row_class = there(k, sweep.row_class, s->rows * sizeof(int32_t));
    blv_sweep_work *work = k->sweep_open(s->classes, s->columns, false, s->rows + s->count, 1);
    k->sweep(&rows, &sweep, work);
    k->sweep_close(work);
    if (sweep.gradient)
        back(k, s->classes * s->columns, sweep.gradient, outputs->gradient);
    if (sweep.hessian)
        back(k, s->classes * s->columns, sweep.hessian, outputs->hessian);
    if (sweep.row_loss)
        back(k, s->rows, sweep.row_loss, outputs->row_loss);
    if (sweep.row_cross)
        back(k, s->rows, sweep.row_cross, outputs->row_cross);
    if (sweep.row_probability)
        back(k, s->rows, sweep.row_probability, outputs->row_probability);
    if (sweep.row_class)
        classes_back(s->rows, sweep.row_class, outputs->row_class);
    k->release((void *)(size_t)sweep.w);
    k->release((void *)(size_t)sweep.v);
    k->release((void *)(size_t)sweep.ridge_column);
    k->release((void *)(size_t)sweep.ridge_class);
    k->release((void *)(size_t)rows.weight);
    k->release((void *)(size_t)rows.logit);
    rows.weight = rows.logit = NULL;
    k->rows_close(&rows);
    assert_true(!k->failure() || !fprintf(stderr, "%s\n", k->failure()));
}

static void check(sweep_shape shape, uint64_t seed) {
    sweep_instance instance;
    sweep_outputs expected, got, again;
    shape.size = 1.0 / sqrt((double)shape.columns);
    sweep_instance_create(&instance, shape, seed);
    sweep_outputs_create(&expected, &shape);
    sweep_outputs_create(&got, &shape);
    sweep_outputs_create(&again, &shape);
    sweep_run_reference(&instance, &expected);
    run_there(&instance, &got, false);
    sweep_compare(&instance, &got, &expected, UNITS);
    run_there(&instance, &again, false);
    sweep_same_bits(&instance, &got, &again);
    sweep_outputs_destroy(&expected);
    sweep_outputs_destroy(&got);
    sweep_outputs_destroy(&again);
    sweep_instance_destroy(&instance);
}

/* Under compute-sanitizer, which is a hundred times slower. */
static bool is_small(void) {
    return getenv("BLV_TEST_SMALL") != NULL;
}

static void check_forms(sweep_shape shape, uint64_t seed) {
    static const int wanted[] = {WANT_ALL, WANT_GRADIENT, WANT_HESSIAN,
                                 WANT_GRADIENT | WANT_HESSIAN | WANT_ROW_CROSS,
                                 WANT_LOSS | WANT_ROW_CLASS};
    for (int form = 0; form < 20; form += is_small() ? 3 : 1) {
        shape.single = form & 1;
        shape.indexed = form & 2;
        shape.weighted = form != 1;
        shape.ridge = (ridge_kind)((seed + (uint64_t)form) % 4);
        shape.wanted = wanted[form / 4];
        check(shape, seed);
    }
}

static void test_softmax(void **state) {
    (void)state;
    static const size_t columns[] = {1, 3, 16, 17, 54, 130, 257, 784, 1000};
    static const size_t classes[] = {2, 4, 5, 8, 10, 12, 13, 20, 26};
    uint64_t seed = 1;
    for (size_t j = 0; j < sizeof columns / sizeof *columns; j++)
        for (size_t k = is_small() ? j % 3 : 0; k < sizeof classes / sizeof *classes;
             k += is_small() ? 4 : 1, seed++)
            check_forms((sweep_shape){.rows = 90,
                                      .columns = columns[j],
                                      .classes = classes[k],
                                      .gap = seed % 3,
                                      .first = seed % 5,
                                      .count = 1 + seed * 7 % 80},
                        seed);
}

static void test_one_score(void **state) {
    (void)state;
    static const size_t columns[] = {1, 7, 16, 22, 54, 129, 300, 784};
    uint64_t seed = 1;
    for (size_t j = 0; j < sizeof columns / sizeof *columns; j++)
        for (int squares = 0; squares < 2; squares++, seed++)
            check_forms((sweep_shape){.rows = 150,
                                      .columns = columns[j],
                                      .classes = 1,
                                      .logistic = true,
                                      .squares = squares,
                                      .gap = seed % 3,
                                      .first = seed % 10,
                                      .count = 1 + seed * 13 % 139},
                        seed);
}

static void test_many_rows(void **state) {
    (void)state;
    for (int logistic = 0; logistic < (is_small() ? 0 : 2); logistic++) {
        check_forms((sweep_shape){.rows = 9001,
                                  .columns = 784,
                                  .classes = logistic ? 1 : 10,
                                  .logistic = logistic,
                                  .first = 1,
                                  .count = 9000},
                    3);
        check_forms((sweep_shape){.rows = 60000,
                                  .columns = 20,
                                  .classes = logistic ? 1 : 3,
                                  .logistic = logistic,
                                  .count = 60000},
                    4);
    }
}

/* Weights that come as logits are the same weights. */
static void test_logits(void **state) {
    (void)state;
    for (int form = 0; form < 8; form++) {
        const size_t classes = form & 4 ? 1 : 5;
        const sweep_shape shape = {.single = form & 1,
                                   .indexed = form & 2,
                                   .logistic = classes == 1,
                                   .rows = 60,
                                   .columns = 30,
                                   .classes = classes,
                                   .count = 50,
                                   .weighted = true,
                                   .size = 0.2,
                                   .wanted = WANT_LOSS | WANT_GRADIENT | WANT_HESSIAN};
        sweep_instance instance;
        sweep_outputs expected, got;
        sweep_instance_create(&instance, shape, (uint64_t)form + 1);
        for (size_t i = 0; i < shape.rows; i++) /* weights between 0 and 1 */
            if (shape.single)
                ((float *)instance.weight)[i] = 0.1f + 0.8f * (float)(i % 7) / 7.0f;
            else
                ((double *)instance.weight)[i] = 0.1 + 0.8 * (double)(i % 7) / 7.0;
        sweep_outputs_create(&expected, &shape);
        sweep_outputs_create(&got, &shape);
        sweep_run_reference(&instance, &expected);
        run_there(&instance, &got, true);
        sweep_compare(&instance, &got, &expected, UNITS);
        sweep_outputs_destroy(&expected);
        sweep_outputs_destroy(&got);
        sweep_instance_destroy(&instance);
    }
}

static void test_no_rows(void **state) {
    (void)state;
    check_forms((sweep_shape){.rows = 9, .columns = 19, .classes = 4, .count = 0}, 1);
}

/* H v at a point that is kept is that at the same point without. */
static void test_kept_point(void **state) {
    (void)state;
    enum { ROWS = 500, COLUMNS = 100, CLASSES = 10, WEIGHTS = COLUMNS * CLASSES };
    const blv_kernels *k = table(true);
    const sweep_shape shape = {.single = true,
                               .rows = ROWS,
                               .columns = COLUMNS,
                               .classes = CLASSES,
                               .count = ROWS,
                               .weighted = true,
                               .size = 0.1,
                               .wanted = WANT_HESSIAN | WANT_ROW_CROSS};
    sweep_instance instance;
    sweep_instance_create(&instance, shape, 5);
    blv_rows rows, host = instance.rows;
    host.weight = NULL;
    assert_true(k->rows_open(&host, &rows));
    rows.weight = there(k, instance.weight, ROWS * sizeof(float));
    float *point = there(k, instance.w, WEIGHTS * sizeof(float)),
          *other = there(k, instance.v, WEIGHTS * sizeof(float));
    blv_sweep sweep = {.classes = CLASSES, .scale = 1.0, .keep = true};
    blv_sweep_work *keeping = k->sweep_open(CLASSES, COLUMNS, false, ROWS, 1),
                   *plain = k->sweep_open(CLASSES, COLUMNS, false, ROWS, 1);
    assert_true(k->sweep_keep(keeping, ROWS));
    void *out[2] = {k->allocate(WEIGHTS * sizeof(float)), k->allocate(WEIGHTS * sizeof(float))};
    void *cross[2] = {k->allocate(ROWS * sizeof(float)), k->allocate(ROWS * sizeof(float))};
    double got[2][WEIGHTS], jv[2][ROWS];
    for (int turn = 0; turn < 6; turn++) { /* w, w, v, v, w, w; the other is the direction */
        sweep.w = turn / 2 == 1 ? other : point;
        sweep.v = turn % 2 ? other : point;
        for (int i = 0; i < 2; i++) {
            sweep.hessian = out[i];
            sweep.row_cross = cross[i];
            k->sweep(&rows, &sweep, i ? plain : keeping);
            k->read(WEIGHTS, out[i], got[i]);
            k->read(ROWS, cross[i], jv[i]);
        }
        assert_memory_equal(got[0], got[1], sizeof got[0]);
        assert_memory_equal(jv[0], jv[1], sizeof jv[0]);
    }
    for (int i = 0; i < 2; i++) {
        k->release(out[i]);
        k->release(cross[i]);
    }
    k->sweep_close(keeping);
    k->sweep_close(plain);
    k->release(point);
    k->release(other);
    k->release((void *)(size_t)rows.weight);
    rows.weight = NULL;
    k->rows_close(&rows);
    sweep_instance_destroy(&instance);
}

/* Columns in other units, powers of two apart, give the same numbers in these units. */
static void test_units_of_columns(void **state) {
    (void)state;
    enum { ROWS = 200, COLUMNS = 150, CLASSES = 7 };
    const sweep_shape shape = {.single = true,
                               .rows = ROWS,
                               .columns = COLUMNS,
                               .classes = CLASSES,
                               .count = ROWS,
                               .weighted = true,
                               .size = 0.1,
                               .wanted = WANT_ALL};
    sweep_instance instance;
    sweep_outputs plain, scaled;
    sweep_instance_create(&instance, shape, 6);
    sweep_outputs_create(&plain, &shape);
    sweep_outputs_create(&scaled, &shape);
    run_there(&instance, &plain, false);
    for (int j = 0; j < COLUMNS; j++) {
        const int e = j % 81 - 40;
        for (size_t i = 0; i < ROWS; i++) {
            float *x = (float *)instance.data + i * instance.rows.stride + j;
            *x = ldexpf(*x, e);
        }
        for (int k = 0; k < CLASSES; k++) {
            float *w = (float *)instance.w + k * COLUMNS + j;
            float *v = (float *)instance.v + k * COLUMNS + j;
            *w = ldexpf(*w, -e);
            *v = ldexpf(*v, -e);
        }
    }
    run_there(&instance, &scaled, false);
    for (int i = 0; i < CLASSES * COLUMNS; i++) {
        float *g = (float *)scaled.gradient + i, *h = (float *)scaled.hessian + i;
        *g = ldexpf(*g, 40 - i % COLUMNS % 81);
        *h = ldexpf(*h, 40 - i % COLUMNS % 81);
    }
    sweep_same_bits(&instance, &plain, &scaled);
    sweep_outputs_destroy(&plain);
    sweep_outputs_destroy(&scaled);
    sweep_instance_destroy(&instance);
}

/* Rows that are far smaller than the others keep their accuracy. */
static void test_small_rows(void **state) {
    (void)state;
    const sweep_shape shape = {.single = true,
                               .rows = 100,
                               .columns = 200,
                               .classes = 5,
                               .first = 50,
                               .count = 50,
                               .size = 0.1,
                               .wanted = WANT_ALL};
    sweep_instance instance;
    sweep_outputs expected, got;
    sweep_instance_create(&instance, shape, 7);
    sweep_outputs_create(&expected, &shape);
    sweep_outputs_create(&got, &shape);
    for (size_t i = 0; i < 50 * instance.rows.stride; i++) /* not in the sweep */
        ((float *)instance.data)[i] *= 1e12f;
    sweep_run_reference(&instance, &expected);
    run_there(&instance, &got, false);
    memset(instance.data, 0, 50 * instance.rows.stride * sizeof(float)); /* not in the tolerance */
    sweep_compare(&instance, &got, &expected, UNITS);
    sweep_outputs_destroy(&expected);
    sweep_outputs_destroy(&got);
    sweep_instance_destroy(&instance);
}

/* ---- Sparse rows ---- */

typedef struct sparse_data {
    size_t *row_start;
    uint32_t *column;
    void *value;
} sparse_data;

/* About every third entry of the dense rows. */
static sparse_data make_sparse(const sweep_instance *d) {
    const sweep_shape *s = &d->shape;
    const size_t real = s->single ? 4 : 8;
    sparse_data c = {calloc(s->rows + 1, sizeof(size_t)),
                     malloc(s->rows * s->columns * sizeof(uint32_t)),
                     malloc(s->rows * s->columns * real)};
    size_t entries = 0;
    for (size_t i = 0; i < s->rows; i++) {
        for (size_t j = (i * 7) % 3; j < s->columns; j += 1 + (i * j) % 5) {
            c.column[entries] = (uint32_t)j;
            memcpy((char *)c.value + real * entries++,
                   (const char *)d->rows.dense + real * (i * d->rows.stride + j), real);
        }
        c.row_start[i + 1] = entries;
    }
    return c;
}

static void test_sparse(void **state) {
    (void)state;
    uint64_t seed = 1;
    static const size_t classes[] = {1, 2, 3, 10, 20, 40};
    for (int form = 0; form < 4; form++)
        for (size_t c = 0; c < 6; c++, seed++) {
            sweep_shape shape = {.single = form & 1,
                                 .indexed = form & 2,
                                 .logistic = classes[c] == 1,
                                 .rows = 211,
                                 .columns = 97,
                                 .classes = classes[c],
                                 .first = seed % 2 ? 0 : 3,
                                 .count = seed % 2 ? 211 : 150,
                                 .weighted = true,
                                 .size = 0.3,
                                 .ridge = (ridge_kind)(seed % 4),
                                 .wanted = WANT_ALL};
            sweep_instance instance;
            sweep_outputs expected, got;
            sweep_instance_create(&instance, shape, seed);
            sparse_data data = make_sparse(&instance);
            instance.rows.dense = NULL;
            instance.rows.row_start = data.row_start;
            instance.rows.column = data.column;
            instance.rows.value = data.value;
            sweep_outputs_create(&expected, &shape);
            sweep_outputs_create(&got, &shape);
            sweep_run_reference(&instance, &expected);
            run_there(&instance, &got, false);
            sweep_compare(&instance, &got, &expected, UNITS);
            sweep_outputs_destroy(&expected);
            sweep_outputs_destroy(&got);
            free(data.row_start);
            free(data.column);
            free(data.value);
            sweep_instance_destroy(&instance);
        }
}

/* ---- Groups ---- */

static void test_groups(void **state) {
    (void)state;
    enum { N = 5000, GROUPS = 7 };
    for (int single = 0; single < 2; single++) {
        const blv_kernels *k = table(single);
        uint32_t group[N];
        double in[N], expected[GROUPS] = {0}, got[GROUPS];
        for (size_t j = 0; j < N; j++) {
            group[j] = (uint32_t)(j * j % GROUPS);
            in[j] = (double)(float)(sin((double)j) * exp((double)(j % 20) - 10.0));
            expected[group[j]] += in[j];
        }
        void *groups = there(k, group, sizeof group), *x = k->allocate(N * k->real_size),
             *out = k->allocate(GROUPS * k->real_size);
        k->write(N, in, x);
        k->sum_groups(N, groups, x, GROUPS, NULL, out);
        k->read(GROUPS, out, got);
        for (size_t g = 0; g < GROUPS; g++)
            assert_true(fabs(got[g] - expected[g]) <= (single ? 1e-6 : 1e-12) * 8000.0);
        k->release(groups);
        k->release(x);
        k->release(out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax),    cmocka_unit_test(test_one_score),
        cmocka_unit_test(test_many_rows),  cmocka_unit_test(test_no_rows),
        cmocka_unit_test(test_logits),     cmocka_unit_test(test_kept_point),
        cmocka_unit_test(test_sparse),     cmocka_unit_test(test_groups),
        cmocka_unit_test(test_small_rows), cmocka_unit_test(test_units_of_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
