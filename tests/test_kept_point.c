/* Sweeps that keep the probabilities of their rows: the same bits as sweeps that do not, on dense
 * and sparse rows, in every instruction set; and what is kept when. */
#include "kernels/cpu/host_sweep_private.h"
#include "sweep_instance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SECOND = WANT_HESSIAN | WANT_ROW_CROSS, FACTORS = SECOND | WANT_GRADIENT };

static const blv_instructions every_set[] = {BLV_INSTRUCTIONS_BASE, BLV_INSTRUCTIONS_AVX2,
                                             BLV_INSTRUCTIONS_AVX512};
enum { SETS = sizeof every_set / sizeof *every_set };

static size_t size_of(const sweep_shape *shape) {
    return shape->single ? sizeof(float) : sizeof(double);
}

/* An instance, a second W that differs in the last bit of its last number, a second V, and the
 * sparse form of the data, in which every third entry is missing. */
typedef struct subject {
    sweep_instance instance;
    blv_rows rows[2]; /* dense, sparse */
    void *w[2], *v[2], *weight;
    size_t *row_start, *column_start;
    uint32_t *column, *row;
    void *value, *column_value;
} subject;

static void *exactly(size_t count, size_t size) {
    void *p = calloc(count ? count : 1, size);
    assert_non_null(p);
    return p;
}

static bool is_entry(size_t i, size_t j) {
    return (i * 7 + j) % 3 != 0;
}

static void copy_real(void *to, size_t at, const void *from, size_t from_at, size_t size) {
    memcpy((char *)to + at * size, (const char *)from + from_at * size, size);
}

static void make_sparse(subject *s) {
    const sweep_shape *shape = &s->instance.shape;
    const size_t size = size_of(shape), most = shape->rows * shape->columns;
    s->row_start = exactly(shape->rows + 1, sizeof *s->row_start);
    s->column_start = exactly(shape->columns + 1, sizeof *s->column_start);
    s->column = exactly(most, sizeof *s->column);
    s->row = exactly(most, sizeof *s->row);
    s->value = exactly(most, size);
    s->column_value = exactly(most, size);
    size_t entries = 0;
    for (size_t i = 0; i < shape->rows; i++) {
        for (size_t j = 0; j < shape->columns; j++)
            if (is_entry(i, j)) {
                copy_real(s->value, entries, s->instance.data, i * s->rows[0].stride + j, size);
                s->column[entries++] = (uint32_t)j;
            }
        s->row_start[i + 1] = entries;
    }
    entries = 0;
    for (size_t j = 0; j < shape->columns; j++) {
        for (size_t i = 0; i < shape->rows; i++)
            if (is_entry(i, j)) {
                copy_real(s->column_value, entries, s->instance.data, i * s->rows[0].stride + j,
                          size);
                s->row[entries++] = (uint32_t)i;
            }
        s->column_start[j + 1] = entries;
    }
    s->rows[1] = (blv_rows){.rows = shape->rows,
                            .columns = shape->columns,
                            .row_start = s->row_start,
                            .column = s->column,
                            .value = s->value,
                            .column_start = s->column_start,
                            .row = s->row,
                            .column_value = s->column_value,
                            .label = s->instance.label,
                            .count = shape->rows};
}

static void subject_open(subject *s, sweep_shape shape, uint64_t seed) {
    shape.count = shape.rows;
    shape.size = 1.0 / sqrt((double)shape.columns);
    sweep_instance_create(&s->instance, shape, seed);
    const size_t weights = shape.classes * shape.columns, size = size_of(&shape);
    s->rows[0] = s->instance.rows;
    s->w[0] = s->instance.w;
    s->v[0] = s->instance.v;
    s->w[1] = exactly(weights, size);
    s->v[1] = exactly(weights, size);
    memcpy(s->w[1], s->w[0], weights * size);
    ((unsigned char *)s->w[1])[(weights - 1) * size] ^= 1; /* little end first */
    for (size_t i = 0; i < weights; i++)
        copy_real(s->v[1], i, s->v[0], weights - 1 - i, size);
    make_sparse(s);
}

static void subject_close(subject *s) {
    void *own[] = {s->w[1], s->v[1],   s->row_start, s->column_start,
                   s->row,  s->column, s->value,     s->column_value};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        free(own[i]);
    sweep_instance_destroy(&s->instance);
}

static blv_sweep_work *work_of(const subject *s, bool sparse, blv_instructions set, int threads) {
    const sweep_shape *shape = &s->instance.shape;
    blv_sweep_work *work = blv_sweep_work_create(shape->classes, shape->columns, size_of(shape),
                                                 sparse, shape->rows, threads);
    assert_non_null(work);
    blv_sweep_work_instructions(work, set);
    return work;
}

typedef struct step {
    int w, v, wanted;
    bool weighted;
    size_t left_out; /* rows at the end that are not in the sweep */
} step;

/* Kept at the first or the second sweep, used, not enough for what is wanted, a batch between, W of
 * one bit's difference and back. */
static const step steps[] = {
    {0, 0, WANT_GRADIENT, true, 0},  {0, 0, WANT_HESSIAN, true, 0},
    {0, 1, WANT_HESSIAN, true, 0},   {0, 1, WANT_HESSIAN, false, 0},
    {0, 0, WANT_ROW_CROSS, true, 0}, {0, 0, WANT_GRADIENT, false, 0},
    {0, 0, FACTORS, true, 0},        {0, 1, WANT_ALL, true, 0},
    {1, 1, WANT_HESSIAN, true, 1},   {0, 0, SECOND, true, 0},
    {1, 0, SECOND, true, 0},         {1, 0, SECOND, false, 0},
    {1, 1, FACTORS, true, 0},        {0, 1, FACTORS, true, 0},
    {0, 0, WANT_HESSIAN, true, 0},   {0, 1, WANT_LOSS | WANT_HESSIAN, true, 0},
    {0, 0, WANT_HESSIAN, true, 0},   {1, 0, 0, true, 0},
    {1, 1, WANT_HESSIAN, true, 0},   {1, 1, 0, true, 0},
};

static void compare_step(subject *s, const step *t, bool sparse, blv_sweep_work *kept,
                         blv_sweep_work *plain) {
    sweep_instance *instance = &s->instance;
    sweep_outputs got, expected;
    sweep_outputs_create(&got, &instance->shape);
    sweep_outputs_create(&expected, &instance->shape);
    instance->shape.wanted = t->wanted;
    instance->sweep.w = s->w[t->w];
    instance->sweep.v = s->v[t->v];
    blv_rows rows = s->rows[sparse];
    rows.weight = t->weighted ? instance->weight : NULL;
    rows.count = rows.rows > t->left_out ? rows.rows - t->left_out : rows.rows;
    blv_sweep sweep = sweep_of(instance, &got);
    sweep.keep = true;
    blv_host_sweep(&rows, &sweep, kept);
    sweep = sweep_of(instance, &expected);
    blv_host_sweep(&rows, &sweep, plain);
    sweep_same_bits(instance, &got, &expected);
    sweep_outputs_destroy(&got);
    sweep_outputs_destroy(&expected);
}

static void check(sweep_shape shape, uint64_t seed, int most_threads) {
    for (int form = 0; form < 4; form++) {
        subject s;
        const bool sparse = form & 2;
        shape.single = form & 1;
        shape.ridge = (ridge_kind)((seed + (uint64_t)form) % 4);
        subject_open(&s, shape, seed);
        for (size_t i = 0; i < SETS; i++)
            for (int threads = 1; threads <= most_threads; threads++) {
                blv_sweep_work *kept = work_of(&s, sparse, every_set[i], threads);
                blv_sweep_work *plain = work_of(&s, sparse, every_set[i], 1);
                assert_true(blv_sweep_work_keep(kept, shape.rows));
                for (size_t t = 0; t < sizeof steps / sizeof *steps; t++)
                    compare_step(&s, &steps[t], sparse, kept, plain);
                blv_sweep_work_destroy(kept);
                blv_sweep_work_destroy(plain);
            }
        subject_close(&s);
    }
}

static void test_same_bits(void **state) {
    (void)state;
    static const size_t columns[] = {1, 3, 8, 17, 49, 130};
    static const size_t classes[] = {2, 3, 5, 10, 11, 20, 26};
    static const size_t rows[] = {1, 15, 16, 17, 63, 65, 210};
    uint64_t seed = 1;
    for (size_t j = 0; j < sizeof columns / sizeof *columns; j++)
        for (size_t k = 0; k < sizeof classes / sizeof *classes; k++, seed++)
            check((sweep_shape){.rows = rows[seed % (sizeof rows / sizeof *rows)],
                                .columns = columns[j],
                                .classes = classes[k],
                                .gap = seed % 3},
                  seed, 1);
}

/* Long enough for several groups of rows, which threads share. */
static void test_same_bits_with_threads(void **state) {
    (void)state;
    check((sweep_shape){.rows = 701, .columns = 90, .classes = 10}, 5, 2);
    check((sweep_shape){.rows = 70, .columns = 1300, .classes = 7}, 6, 2);
}

/* With probabilities of 0 in place of those that were kept, the rows have no curvature. */
static void test_kept_is_what_is_read(void **state) {
    (void)state;
    for (int form = 0; form < 4; form++)
        for (size_t i = 0; i < SETS; i++) {
            subject s;
            sweep_outputs got;
            const bool sparse = form & 2;
            const sweep_shape shape = {.single = form & 1,
                                       .rows = 90,
                                       .columns = 21,
                                       .classes = 4,
                                       .ridge = RIDGE_SCALAR,
                                       .wanted = WANT_HESSIAN};
            subject_open(&s, shape, 3);
            sweep_outputs_create(&got, &shape);
            blv_sweep_work *work = work_of(&s, sparse, every_set[i], 1);
            assert_true(blv_sweep_work_keep(work, shape.rows));
            blv_sweep sweep = sweep_of(&s.instance, &got);
            sweep.keep = true;
            for (int k = 0; k < 2; k++)
                blv_host_sweep(&s.rows[sparse], &sweep, work);
            memset(work->kept.probability, 0, (sparse ? 96U * 5U : 96U * 4U) * size_of(&shape));
            blv_host_sweep(&s.rows[sparse], &sweep, work);
            for (size_t j = 0; j < 21 * 4; j++)
                assert_true(sweep_get(&s.instance, got.hessian, j) ==
                            0.25 * sweep_get(&s.instance, sweep.v, j));
            blv_sweep_work_instructions(work, every_set[i]); /* forgets what is kept */
            blv_host_sweep(&s.rows[sparse], &sweep, work);
            for (size_t j = 0; j < 21 * 4; j++)
                assert_true(sweep_get(&s.instance, got.hessian, j) !=
                            0.25 * sweep_get(&s.instance, sweep.v, j));
            blv_sweep_work_destroy(work);
            sweep_outputs_destroy(&got);
            subject_close(&s);
        }
}

static void expect(blv_sweep_work *work, const blv_rows *rows, const blv_sweep *sweep,
                   blv_keeping expected) {
    assert_int_equal(blv_sweep_kept_plan(work, rows, sweep), expected);
}

/* A series of products keeps a W that is small at once, other sweeps when it comes again. Only
 * sweeps over all rows keep, and only one set of rows at a time has its probabilities there. */
static void test_what_is_kept(void **state) {
    (void)state;
    double data[40 * 5] = {0.0}, w[2 * 5] = {1.0}, other[2 * 5] = {1.0}, out[2 * 5], loss;
    const int32_t label[40] = {0}, other_label[40] = {0};
    const size_t index[40] = {0};
    blv_sweep_work *work = blv_sweep_work_create(2, 5, sizeof(double), false, 40, 1);
    assert_non_null(work);
    blv_rows all = {
        .rows = 40, .columns = 5, .dense = data, .stride = 5, .label = label, .count = 40};
    blv_rows part = all, late = all, listed = all, other_labels = all;
    part.count = 39;
    late.first = 1;
    listed.index = index;
    other_labels.label = other_label;
    blv_sweep sweep = {.classes = 2, .w = w, .v = other, .keep = true, .hessian = out};
    blv_sweep elsewhere = sweep, with_loss = sweep, with_gradient = sweep;
    elsewhere.w = other;
    with_loss.loss = &loss;
    with_gradient.gradient = out;
    other[9] = 1e-300;

    expect(work, &all, &sweep, BLV_KEEP_NOTHING); /* no room yet */
    assert_true(blv_sweep_work_keep(work, 40));
    expect(work, &part, &sweep, BLV_KEEP_NOTHING);
    expect(work, &late, &sweep, BLV_KEEP_NOTHING);
    expect(work, &listed, &sweep, BLV_KEEP_NOTHING);
    expect(work, &all, &sweep, BLV_KEEP_WRITE);
    expect(work, &all, &sweep, BLV_KEEP_READ);
    expect(work, &part, &sweep, BLV_KEEP_NOTHING);
    expect(work, &part, &elsewhere, BLV_KEEP_NOTHING);
    expect(work, &all, &with_loss, BLV_KEEP_NOTHING);
    expect(work, &all, &sweep, BLV_KEEP_READ);
    expect(work, &all, &elsewhere, BLV_KEEP_WRITE);
    expect(work, &all, &elsewhere, BLV_KEEP_READ);
    expect(work, &all, &with_loss, BLV_KEEP_WRITE);
    expect(work, &other_labels, &sweep, BLV_KEEP_WRITE);
    expect(work, &all, &sweep, BLV_KEEP_WRITE);
    w[1] = 2.0;
    expect(work, &all, &with_gradient, BLV_KEEP_NOTHING);
    expect(work, &part, &with_gradient, BLV_KEEP_NOTHING);
    expect(work, &all, &with_gradient, BLV_KEEP_WRITE);
    expect(work, &all, &with_gradient, BLV_KEEP_READ);
    sweep.keep = false;
    expect(work, &all, &sweep, BLV_KEEP_NOTHING);
    sweep.keep = true;
    w[3] = -0.0; /* the same number, other bits */
    expect(work, &all, &sweep, BLV_KEEP_WRITE);
    blv_rows more = all;
    more.rows = more.count = 41;
    expect(work, &more, &sweep, BLV_KEEP_NOTHING);
    blv_sweep_work_destroy(work);
}

/* A W as large as the data is kept when it comes again, and compared to its end by all threads. */
static void test_large_weights(void **state) {
    (void)state;
    enum { COLUMNS = 20011, CLASSES = 20 };
    const size_t row_start[3] = {0, 1, 2};
    const uint32_t column[2] = {0, 1};
    const double value[2] = {1.0, 1.0};
    const int32_t label[2] = {0, 1};
    double *w = exactly((size_t)COLUMNS * CLASSES, sizeof *w);
    const blv_rows rows = {.rows = 2,
                           .columns = COLUMNS,
                           .row_start = row_start,
                           .column = column,
                           .value = value,
                           .label = label,
                           .count = 2};
    const blv_sweep sweep = {.classes = CLASSES, .w = w, .keep = true};
    for (int threads = 1; threads <= 3; threads++) {
        blv_sweep_work *work = blv_sweep_work_create(CLASSES, COLUMNS, sizeof *w, true, 2, threads);
        assert_non_null(work);
        assert_true(blv_sweep_work_keep(work, 2));
        w[0] = threads;
        expect(work, &rows, &sweep, BLV_KEEP_NOTHING);
        expect(work, &rows, &sweep, BLV_KEEP_WRITE);
        expect(work, &rows, &sweep, BLV_KEEP_READ);
        static const size_t places[] = {0, 8191, 8192, COLUMNS * CLASSES / 2 + 1,
                                        COLUMNS * CLASSES - 1};
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            const double before = w[places[i]];
            w[places[i]] = before + 1.0;
            assert_true(blv_sweep_kept_plan(work, &rows, &sweep) != BLV_KEEP_READ);
            (void)blv_sweep_kept_plan(work, &rows, &sweep);
            expect(work, &rows, &sweep, BLV_KEEP_READ);
            assert_memory_equal(work->kept.w, w, (size_t)COLUMNS * CLASSES * sizeof *w);
            w[places[i]] = before;
        }
        blv_sweep_work_destroy(work);
    }
    free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_same_bits_with_threads),
        cmocka_unit_test(test_kept_is_what_is_read),
        cmocka_unit_test(test_what_is_kept),
        cmocka_unit_test(test_large_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
