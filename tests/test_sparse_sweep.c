/* Sweeps over sparse rows against the plain loops in double, on the sparse and on the dense form of
 * the same data, for every instruction set that this processor has. */
#include "kernels/cpu/host_sweep.h"
#include "row_sweep_reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Data whose numbers are all floats, so that both precisions see the same. */
typedef struct data {
    size_t rows, columns, classes, entries;
    size_t *row_start, *column_start, *index;
    uint32_t *column, *row;
    double *value, *column_value, *dense, *weight, *w, *v, *ridge_column, *ridge_class;
    int32_t *label;
} data;

typedef enum list { ALL_ROWS, SOME_ROWS, LISTED_ROWS, ONE_ROW, NO_ROWS } list;
typedef enum ridge { NO_RIDGE, ONE_RIDGE, COLUMN_RIDGE, CLASS_RIDGE } ridge;
enum {
    LOSS = 1,
    GRADIENT = 2,
    HESSIAN = 4,
    ROW_LOSS = 8,
    ROW_CROSS = 16,
    ROW_PROBABILITY = 32,
    ROW_CLASS = 64,
    EVERYTHING = 127
};

/* What is asked for, and how. */
typedef struct request {
    bool logistic, single, weights, transposed, dense;
    list list;
    ridge ridge;
    int outputs, threads;
    blv_instructions instructions;
    bool reference; /* plain loops instead */
} request;

/* All outputs as doubles; NAN where nothing was written. */
typedef struct answer {
    double loss, *gradient, *hessian, *row_loss, *row_cross, *row_probability;
    int32_t *row_class;
} answer;

static uint64_t random_state;

static double uniform(void) {
    random_state = random_state * 6364136223846793005U + 1442695040888963407U;
    return (double)(random_state >> 11) * 0x1p-53;
}

static double rounded(double low, double high) {
    return (double)(float)(low + (high - low) * uniform());
}

/* Exactly so much, for a sanitizer to see each step beyond. */
static void *memory(size_t count, size_t size) {
    void *p = calloc(count ? count : 1, size);
    assert_non_null(p);
    return p;
}

static void fill(double *to, size_t count, double low, double high) {
    for (size_t i = 0; i < count; i++)
        to[i] = rounded(low, high);
}

/* Every fifth row from the second on and every fourth column from the second on are empty, where
 * there are that many; the first column has an entry in each other row. */
static void data_open(data *d, size_t rows, size_t columns, size_t classes, double density,
                      double size_of_w) {
    random_state = rows * 1000003 + columns * 1009 + classes;
    *d = (data){.rows = rows, .columns = columns, .classes = classes};
    const size_t size = columns * classes;
    d->row_start = memory(rows + 1, sizeof(size_t));
    d->column_start = memory(columns + 1, sizeof(size_t));
    d->index = memory(rows + 3, sizeof(size_t));
    d->dense = memory(rows * columns, sizeof(double));
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++)
            if (i % 5 != 1 && j % 4 != 1 && (j == 0 || uniform() < density)) {
                d->dense[i * columns + j] = rounded(-1.0, 1.0);
                d->column_start[j + 1]++;
                d->entries++;
            }
        d->row_start[i + 1] = d->entries;
    }
    for (size_t j = 0; j < columns; j++)
        d->column_start[j + 1] += d->column_start[j];
    d->column = memory(d->entries, sizeof(uint32_t));
    d->row = memory(d->entries, sizeof(uint32_t));
    d->value = memory(d->entries, sizeof(double));
    d->column_value = memory(d->entries, sizeof(double));
    size_t *next = memory(columns, sizeof(size_t));
    memcpy(next, d->column_start, columns * sizeof(size_t));
    for (size_t i = 0, e = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            if (d->dense[i * columns + j] != 0.0) {
                const size_t to = next[j]++;
                d->row[to] = (uint32_t)i;
                d->column[e] = (uint32_t)j;
                d->column_value[to] = d->value[e++] = d->dense[i * columns + j];
            }
    free(next);
    fill(d->weight = memory(rows, sizeof(double)), rows, 0.0, 2.0);
    fill(d->w = memory(size, sizeof(double)), size, -size_of_w, size_of_w);
    fill(d->v = memory(size, sizeof(double)), size, -1.0, 1.0);
    fill(d->ridge_column = memory(columns, sizeof(double)), columns, 0.0, 0.5);
    fill(d->ridge_class = memory(classes, sizeof(double)), classes, 0.0, 0.5);
    d->label = memory(rows, sizeof(int32_t));
    for (size_t i = 0; i < rows; i++)
        d->label[i] = (int32_t)(uniform() * (classes == 1 ? 2.0 : (double)classes));
    for (size_t i = 0; i < rows + 3; i++)
        d->index[i] = (size_t)(uniform() * (double)rows);
}

static void data_close(data *d) {
    void *all[] = {d->row_start, d->column_start, d->index,       d->column, d->row,
                   d->value,     d->column_value, d->dense,       d->weight, d->w,
                   d->v,         d->ridge_column, d->ridge_class, d->label};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

/* A copy in the precision asked for; NULL stays NULL. */
static void *as_real(const double *from, size_t count, bool single) {
    if (!from)
        return NULL;
    void *to = memory(count, single ? sizeof(float) : sizeof(double));
    for (size_t i = 0; i < count; i++) {
        if (single)
            ((float *)to)[i] = (float)from[i];
        else
            ((double *)to)[i] = from[i];
    }
    return to;
}

/* The doubles of an array, which is freed. */
static double *as_double(void *from, size_t count, bool single) {
    if (!from || !single)
        return from;
    double *to = memory(count, sizeof(double));
    for (size_t i = 0; i < count; i++)
        to[i] = (double)((const float *)from)[i];
    free(from);
    return to;
}

static void *unwritten(size_t count, bool wanted, bool single) {
    if (!wanted)
        return NULL;
    double *nan = memory(count, sizeof(double));
    for (size_t i = 0; i < count; i++)
        nan[i] = NAN;
    void *to = as_real(nan, count, single);
    free(nan);
    return to;
}

/* classes x columns out of columns x classes, or back. */
static double *turned(const double *from, size_t rows, size_t columns) {
    double *to = memory(rows * columns, sizeof(double));
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            to[j * rows + i] = from[i * columns + j];
    return to;
}

static void choose_rows(const data *d, const request *r, blv_rows *rows) {
    rows->first = r->list == SOME_ROWS ? d->rows / 3 : r->list == ONE_ROW ? d->rows - 1 : 0;
    rows->count = r->list == SOME_ROWS ? d->rows / 2 : r->list == ONE_ROW ? 1 : d->rows;
    if (r->list == NO_ROWS)
        rows->count = 0;
    if (r->list == LISTED_ROWS) {
        rows->index = d->index;
        rows->count = d->rows + 3; /* some rows twice */
    }
}

static void run_on(const blv_rows *rows, const blv_sweep *sweep, const request *r) {
    if (r->reference) {
        assert_true(blv_reference_sweep(rows, sweep, r->logistic, r->single));
        return;
    }
    blv_sweep_work *work = blv_sweep_work_create(sweep->classes, rows->columns,
                                                 r->single ? sizeof(float) : sizeof(double), true,
                                                 rows->count, r->threads);
    assert_non_null(work);
    blv_sweep_work_instructions(work, r->instructions);
    blv_host_sweep(rows, sweep, work);
    blv_sweep_work_destroy(work);
}

static answer ask(const data *d, const request *r) {
    const size_t size = d->columns * d->classes;
    const bool single = r->single, second = r->outputs & (HESSIAN | ROW_CROSS);
    double *w = r->dense ? turned(d->w, d->columns, d->classes) : NULL;
    double *v = r->dense ? turned(d->v, d->columns, d->classes) : NULL;
    void *own[] = {as_real(r->dense ? d->dense : NULL, d->rows * d->columns, single),
                   as_real(d->value, d->entries, single),
                   as_real(d->column_value, d->entries, single),
                   as_real(r->weights ? d->weight : NULL, d->rows, single),
                   as_real(r->dense ? w : d->w, size, single),
                   as_real(r->dense ? v : d->v, size, single),
                   as_real(r->ridge == COLUMN_RIDGE ? d->ridge_column : NULL, d->columns, single),
                   as_real(r->ridge == CLASS_RIDGE ? d->ridge_class : NULL, d->classes, single)};
    blv_rows rows = {.rows = d->rows,
                     .columns = d->columns,
                     .dense = own[0],
                     .stride = d->columns,
                     .row_start = d->row_start,
                     .column = d->column,
                     .value = own[1],
                     .label = d->label,
                     .weight = own[3]};
    if (r->transposed) {
        rows.column_start = d->column_start;
        rows.row = d->row;
        rows.column_value = own[2];
    }
    choose_rows(d, r, &rows);
    answer a = {.loss = NAN};
    if (r->outputs & ROW_CLASS) {
        a.row_class = memory(d->rows, sizeof(int32_t));
        memset(a.row_class, -1, d->rows * sizeof(int32_t));
    }
    const blv_sweep sweep = {
        .classes = d->classes,
        .w = own[4],
        .v = second ? own[5] : NULL,
        .scale = 1.0 / (double)(rows.count ? rows.count : 1),
        .ridge_column = own[6],
        .ridge_class = own[7],
        .ridge = r->ridge == NO_RIDGE ? 0.0 : 0.25,
        .loss = r->outputs & LOSS ? &a.loss : NULL,
        .gradient = unwritten(size, r->outputs & GRADIENT, single),
        .hessian = unwritten(size, r->outputs & HESSIAN, single),
        .row_loss = unwritten(d->rows, r->outputs & ROW_LOSS, single),
        .row_cross = unwritten(d->rows, r->outputs & ROW_CROSS, single),
        .row_probability = unwritten(d->rows, r->outputs & ROW_PROBABILITY, single),
        .row_class = a.row_class,
    };
    run_on(&rows, &sweep, r);
    a.gradient = as_double(sweep.gradient, size, single);
    a.hessian = as_double(sweep.hessian, size, single);
    a.row_loss = as_double(sweep.row_loss, d->rows, single);
    a.row_cross = as_double(sweep.row_cross, d->rows, single);
    a.row_probability = as_double(sweep.row_probability, d->rows, single);
    if (r->dense && a.gradient) {
        double *t = a.gradient;
        a.gradient = turned(t, d->classes, d->columns);
        free(t);
    }
    if (r->dense && a.hessian) {
        double *t = a.hessian;
        a.hessian = turned(t, d->classes, d->columns);
        free(t);
    }
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        free(own[i]);
    free(w);
    free(v);
    return a;
}

static void answer_close(answer *a) {
    free(a->gradient);
    free(a->hessian);
    free(a->row_loss);
    free(a->row_cross);
    free(a->row_probability);
    free(a->row_class);
}

static void assert_near(const double *got, const double *want, size_t count, double tolerance) {
    if (!want) {
        assert_null(got);
        return;
    }
    double largest = 1.0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, isnan(want[i]) ? 0.0 : fabs(want[i]));
    for (size_t i = 0; i < count; i++) {
        if (isnan(want[i]) ? !isnan(got[i]) : !(fabs(got[i] - want[i]) <= tolerance * largest))
            fail_msg("element %zu is %.17g, not %.17g (tolerance %g)", i, got[i], want[i],
                     tolerance * largest);
    }
}

/* single: the tolerance is a few roundings of scores of the size of W. */
static void assert_answer(const data *d, const answer *got, const answer *want, bool single,
                          double size_of_w) {
    const double tolerance = (single ? 1e-6 : 2e-15) * (1.0 + size_of_w),
                 size = fmax(1.0, size_of_w);
    assert_near(&got->loss, &want->loss, 1, tolerance * size);
    assert_near(got->gradient, want->gradient, d->columns * d->classes, tolerance);
    assert_near(got->hessian, want->hessian, d->columns * d->classes, tolerance);
    assert_near(got->row_loss, want->row_loss, d->rows, tolerance);
    assert_near(got->row_cross, want->row_cross, d->rows, tolerance * 4.0);
    assert_near(got->row_probability, want->row_probability, d->rows, tolerance);
    for (size_t i = 0; want->row_class && i < d->rows; i++)
        assert_int_equal(got->row_class[i], want->row_class[i]);
}

static void assert_same_bits(const double *a, const double *b, size_t count) {
    assert_true(!a == !b);
    if (a)
        assert_memory_equal(a, b, count * sizeof(double));
}

static void assert_same_answer(const data *d, const answer *a, const answer *b) {
    assert_same_bits(&a->loss, &b->loss, 1);
    assert_same_bits(a->gradient, b->gradient, d->columns * d->classes);
    assert_same_bits(a->hessian, b->hessian, d->columns * d->classes);
    assert_same_bits(a->row_loss, b->row_loss, d->rows);
    assert_same_bits(a->row_cross, b->row_cross, d->rows);
    assert_same_bits(a->row_probability, b->row_probability, d->rows);
    if (a->row_class)
        assert_memory_equal(a->row_class, b->row_class, d->rows * sizeof(int32_t));
}

/* The request in both precisions and with every instruction set, against the plain loops; those
 * with fused multiply-add also against each other. */
static void check(const data *d, request r, double size_of_w) {
    request plain = r;
    plain.reference = true;
    plain.single = false;
    answer want = ask(d, &plain);
    for (r.instructions = BLV_INSTRUCTIONS_BASE; r.instructions <= BLV_INSTRUCTIONS_AVX512;
         r.instructions++)
        for (int single = 0; single < 2 && blv_has_instructions(r.instructions); single++) {
            r.single = single;
            answer got = ask(d, &r);
            assert_answer(d, &got, &want, r.single, size_of_w);
            if (r.instructions == BLV_INSTRUCTIONS_AVX512) {
                request narrow = r;
                narrow.instructions = BLV_INSTRUCTIONS_AVX2;
                answer other = ask(d, &narrow);
                assert_same_answer(d, &got, &other);
                answer_close(&other);
            }
            answer_close(&got);
        }
    plain.dense = true;
    answer dense = ask(d, &plain);
    assert_answer(d, &want, &dense, false, size_of_w);
    answer_close(&dense);
    answer_close(&want);
}

static request everything(bool logistic) {
    return (request){.logistic = logistic,
                     .weights = true,
                     .transposed = true,
                     .ridge = ONE_RIDGE,
                     .outputs = EVERYTHING,
                     .threads = 1};
}

static void any_shape(void **state) {
    (void)state;
    static const size_t shapes[][2] = {{1, 1}, {1, 7}, {7, 1}, {2, 3}, {23, 19}, {40, 90}};
    static const size_t classes[] = {1, 2, 3, 4, 5, 8, 10, 16, 17, 20, 33, 64, 65, 131};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (size_t c = 0; c < sizeof classes / sizeof classes[0]; c++) {
            data d;
            data_open(&d, shapes[s][0], shapes[s][1], classes[c], 0.3, 1.0);
            request r = everything(classes[c] == 1);
            check(&d, r, 1.0);
            r.transposed = false;
            check(&d, r, 1.0);
            data_close(&d);
        }
}

static void any_rows_and_ridge(void **state) {
    (void)state;
    static const size_t classes[] = {1, 2, 20, 33};
    for (size_t c = 0; c < sizeof classes / sizeof classes[0]; c++) {
        data d;
        data_open(&d, 31, 37, classes[c], 0.2, 1.0);
        for (list l = ALL_ROWS; l <= NO_ROWS; l++)
            for (ridge k = NO_RIDGE; k <= CLASS_RIDGE; k++)
                for (int how = 0; how < 4; how++) {
                    request r = everything(classes[c] == 1);
                    r.list = l;
                    r.ridge = k;
                    r.weights = how & 1;
                    r.transposed = how & 2;
                    check(&d, r, 1.0);
                }
        data_close(&d);
    }
}

static void any_outputs(void **state) {
    (void)state;
    data d, binary;
    data_open(&d, 29, 17, 20, 0.3, 1.0);
    data_open(&binary, 29, 17, 1, 0.3, 1.0);
    for (int outputs = 0; outputs <= EVERYTHING; outputs++) {
        request r = everything(false);
        r.outputs = outputs;
        check(&d, r, 1.0);
        r.logistic = true;
        check(&binary, r, 1.0);
    }
    data_close(&d);
    data_close(&binary);
}

/* Scores whose exponentials overflow; probabilities that underflow. */
static void large_scores(void **state) {
    (void)state;
    static const double sizes[] = {30.0, 1000.0, 1e5};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (size_t classes = 1; classes <= 20; classes += 19) {
            data d;
            data_open(&d, 25, 15, classes, 0.5, sizes[s]);
            check(&d, everything(classes == 1), sizes[s]);
            data_close(&d);
        }
}

/* Rows that are almost certain: loss and residual are tiny, and keep their digits. */
static void certain_rows(void **state) {
    (void)state;
    const double gap = 25.0;
    for (int single = 0; single < 2; single++) {
        data d;
        data_open(&d, 1, 1, 3, 1.0, 1.0);
        d.value[0] = d.column_value[0] = 1.0;
        d.w[0] = gap;
        d.w[1] = d.w[2] = 0.0;
        d.label[0] = 0;
        request r = everything(false);
        r.single = single;
        r.ridge = NO_RIDGE;
        r.weights = false;
        r.instructions = BLV_INSTRUCTIONS_BEST;
        answer a = ask(&d, &r);
        const double others = 2.0 * exp(-gap), want = log1p(others);
        const double relative = single ? 1e-6 : 1e-14;
        assert_true(fabs(a.loss - want) <= relative * want);
        assert_true(fabs(a.gradient[0] + others / (1.0 + others)) <= relative * want);
        answer_close(&a);
        data_close(&d);
    }
}

/* Large enough for the sweeps to fork. */
static void threads_do_not_show(void **state) {
    (void)state;
    for (size_t classes = 1; classes <= 20; classes += 19) {
        data d;
        data_open(&d, 1200, 400, classes, 0.15, 1.0);
        for (list l = ALL_ROWS; l <= LISTED_ROWS; l++)
            for (int how = 0; how < 4; how++) {
                request r = everything(classes == 1);
                r.list = l;
                r.single = how & 1;
                r.transposed = how & 2;
                r.instructions = BLV_INSTRUCTIONS_BEST;
                answer one = ask(&d, &r);
                for (r.threads = 2; r.threads <= 3; r.threads++) {
                    answer more = ask(&d, &r);
                    assert_same_answer(&d, &more, &one);
                    answer_close(&more);
                }
                answer_close(&one);
            }
        request r = everything(classes == 1);
        r.threads = 2;
        check(&d, r, 1.0);
        data_close(&d);
    }
}

/* Residuals that no cache is trusted to hold are fetched ahead in the sweep over columns. */
static void more_residuals_than_cache(void **state) {
    (void)state;
    data d;
    data_open(&d, 4100, 90, 65, 0.05, 1.0);
    request r = everything(false);
    r.outputs = GRADIENT | HESSIAN;
    check(&d, r, 1.0);
    data_close(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_shape),
        cmocka_unit_test(any_rows_and_ridge),
        cmocka_unit_test(any_outputs),
        cmocka_unit_test(large_scores),
        cmocka_unit_test(certain_rows),
        cmocka_unit_test(threads_do_not_show),
        cmocka_unit_test(more_residuals_than_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
