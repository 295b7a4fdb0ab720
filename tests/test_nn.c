/* Networks: f32 against f64, every instruction set, threads, slices, batches by index, weights,
 * dropout, and texts that are wrong. Derivatives and losses have tests of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "blv_testing.h"
#include "nn/nn_work.h"
#include "nn_testing.h"

#include <stdio.h>

BLV_TABLES(nn_loops, blv_nn_loops);

/* ---- Precisions, instruction sets, threads, slices ---- */

typedef struct outputs {
    size_t dim, rows;
    double loss;
    double *gradient, *hessian, *row_loss, *row_cross, *row_probability;
    int32_t *row_class;
} outputs;

static outputs outputs_make(size_t dim, size_t rows) {
    return (outputs){.dim = dim,
                     .rows = rows,
                     .gradient = make_numbers(dim),
                     .hessian = make_numbers(dim),
                     .row_loss = make_numbers(rows),
                     .row_cross = make_numbers(rows),
                     .row_probability = make_numbers(rows),
                     .row_class = nn_memory(rows, sizeof(int32_t))};
}

static void outputs_free(outputs *o) {
    free(o->gradient);
    free(o->hessian);
    free(o->row_loss);
    free(o->row_cross);
    free(o->row_probability);
    free(o->row_class);
}

static void widen(size_t count, double *array) { /* floats at its beginning become doubles */
    const float *single = (const float *)(const void *)array;
    for (size_t i = count; i-- > 0;) {
        float value;
        memcpy(&value, single + i, sizeof value);
        array[i] = (double)value;
    }
}

static void *narrow(size_t count, const double *numbers) {
    float *single = nn_memory(count, sizeof *single);
    for (size_t i = 0; i < count; i++)
        single[i] = (float)numbers[i];
    return single;
}

/* Everything at once, as doubles. */
static void run_all(blv_nn_work *work, blv_precision precision, const blv_rows *rows,
                    const double *params, const double *v, const double *statistics, outputs *o) {
    const bool single = precision == BLV_F32;
    memset(o->gradient, 0, o->dim * sizeof *o->gradient);
    memset(o->hessian, 0, o->dim * sizeof *o->hessian);
    void *params_f32 = narrow(o->dim, params), *v_f32 = narrow(o->dim, v);
    blv_nn_pass pass = {.params = single ? params_f32 : (const void *)params,
                        .v = single ? v_f32 : (const void *)v,
                        .scale = 0.3,
                        .statistics = statistics,
                        .drop = true,
                        .drop_seed = 2,
                        .loss = &o->loss,
                        .gradient = o->gradient,
                        .hessian = o->hessian,
                        .row_loss = o->row_loss,
                        .row_cross = o->row_cross,
                        .row_probability = o->row_probability,
                        .row_class = o->row_class};
    blv_nn_run(work, rows, &pass);
    if (single) {
        widen(o->dim, o->gradient);
        widen(o->dim, o->hessian);
        widen(o->rows, o->row_loss);
        widen(o->rows, o->row_cross);
        widen(o->rows, o->row_probability);
    }
    free(params_f32);
    free(v_f32);
}

static void assert_close(const outputs *a, const outputs *b, double tolerance) {
    assert_near(a->loss, b->loss, tolerance * (1.0 + fabs(b->loss)));
    assert_at_most(dense_gap(a->dim, a->gradient, b->gradient),
                   tolerance * (1.0 + dense_size(a->dim, b->gradient)));
    assert_at_most(dense_gap(a->dim, a->hessian, b->hessian),
                   tolerance * (1.0 + dense_size(a->dim, b->hessian)));
    assert_at_most(dense_gap(a->rows, a->row_loss, b->row_loss), tolerance * (double)a->rows);
    assert_at_most(dense_gap(a->rows, a->row_cross, b->row_cross),
                   tolerance * (1.0 + dense_size(a->rows, b->row_cross)));
    assert_at_most(dense_gap(a->rows, a->row_probability, b->row_probability),
                   tolerance * (double)a->rows);
}

static void assert_same_bits(const outputs *a, const outputs *b) {
    assert_memory_equal(&a->loss, &b->loss, sizeof a->loss);
    assert_memory_equal(a->gradient, b->gradient, a->dim * sizeof *a->gradient);
    assert_memory_equal(a->hessian, b->hessian, a->dim * sizeof *a->hessian);
    assert_memory_equal(a->row_loss, b->row_loss, a->rows * sizeof *a->row_loss);
    assert_memory_equal(a->row_cross, b->row_cross, a->rows * sizeof *a->row_cross);
    assert_memory_equal(a->row_probability, b->row_probability,
                        a->rows * sizeof *a->row_probability);
    assert_memory_equal(a->row_class, b->row_class, a->rows * sizeof *a->row_class);
}

static blv_nn *network_number(size_t i, blv_nn_activation smooth) {
    return i == 0 ? nn_text(smooth == BLV_NN_GELU ? "mlp:126-50-130-4,act=gelu,dropout=0.1"
                                                  : "mlp:126-50-130-4,act=softplus,dropout=0.1",
                            126, 4)
           : i == 1 ? nn_text("mlp:126-512-4,dropout=0.5", 126, 4)
                    : nn_everything(smooth, true);
}

static void test_precisions_and_instructions(void **state) {
    (void)state;
    for (size_t which = 0; which < 3; which++)
        for (int own = 0; own < 2; own++) {
            blv_nn *net = network_number(which, which == 2 ? BLV_NN_GELU : BLV_NN_SOFTPLUS);
            nn_sample sample = nn_make_sample(45, 126, 4, 31);
            double *params = nn_params(net, 6), *v = nn_normals(blv_nn_dim(net), 0.3, 3);
            double *statistics = statistics_of(net);
            outputs best = outputs_make(blv_nn_dim(net), 45), other = outputs_make(best.dim, 45);
            for (blv_precision p = BLV_F64; p <= BLV_F32; p++)
                for (blv_instructions set = BLV_INSTRUCTIONS_BASE; set <= BLV_INSTRUCTIONS_BEST;
                     set++) {
                    if (!blv_has_instructions(set))
                        continue;
                    blv_nn_work *work = nn_work(net, p, 45, 0, 2);
                    blv_nn_work_instructions(work, set);
                    blv_rows rows = nn_rows(&sample, p);
                    bool first = p == BLV_F64 && set == BLV_INSTRUCTIONS_BASE;
                    run_all(work, p, &rows, params, v, own ? NULL : statistics,
                            first ? &best : &other);
                    if (!first)
                        assert_close(&other, &best, p == BLV_F64 ? 1e-12 : 2e-5);
                    blv_nn_work_destroy(work);
                }
            outputs_free(&best);
            outputs_free(&other);
            free(params);
            free(v);
            free(statistics);
            nn_free_sample(&sample);
            blv_nn_destroy(net);
        }
}

static void test_threads(void **state) {
    (void)state;
    for (size_t which = 0; which < 3; which++)
        for (blv_precision p = BLV_F64; p <= BLV_F32; p++)
            for (int own = 0; own < 2; own++) {
                size_t n = which == 2 ? 70 : 300; /* slices of 64 rows */
                blv_nn *net = network_number(which, BLV_NN_GELU);
                nn_sample sample = nn_make_sample(n, 126, 4, 12);
                double *params = nn_params(net, 6), *v = nn_normals(blv_nn_dim(net), 0.3, 3);
                double *statistics = statistics_of(net);
                outputs one = outputs_make(blv_nn_dim(net), n), more = outputs_make(one.dim, n);
                blv_rows rows = nn_rows(&sample, p);
                for (int threads = 1; threads <= 5; threads += 2) {
                    blv_nn_work *work = nn_work(net, p, n, 64, threads);
                    run_all(work, p, &rows, params, v, own ? NULL : statistics,
                            threads == 1 ? &one : &more);
                    if (threads > 1)
                        assert_same_bits(&more, &one);
                    blv_nn_work_destroy(work);
                }
                outputs_free(&one);
                outputs_free(&more);
                free(params);
                free(v);
                free(statistics);
                nn_free_sample(&sample);
                blv_nn_destroy(net);
            }
}

/* Slices of any size give the same sums to rounding, and rows have the same bits. */
static void test_slices(void **state) {
    (void)state;
    for (size_t which = 0; which < 3; which++) {
        blv_nn *net = network_number(which, BLV_NN_GELU);
        nn_sample sample = nn_make_sample(90, 126, 4, 12);
        double *params = nn_params(net, 6), *v = nn_normals(blv_nn_dim(net), 0.3, 3);
        double *statistics = statistics_of(net);
        outputs whole = outputs_make(blv_nn_dim(net), 90), cut = outputs_make(whole.dim, 90);
        blv_rows rows = nn_rows(&sample, BLV_F64);
        static const size_t slices[] = {90, 1, 7, 64};
        for (size_t i = 0; i < 4; i++) {
            blv_nn_work *work = nn_work(net, BLV_F64, 90, slices[i], 2);
            assert_int_equal(work->slice, slices[i]);
            run_all(work, BLV_F64, &rows, params, v, statistics, i ? &cut : &whole);
            if (i > 0) {
                assert_close(&cut, &whole, 1e-12);
                assert_memory_equal(cut.row_loss, whole.row_loss, 90 * sizeof *cut.row_loss);
                assert_memory_equal(cut.row_cross, whole.row_cross, 90 * sizeof *cut.row_cross);
            }
            blv_nn_work_destroy(work);
        }
        outputs_free(&whole);
        outputs_free(&cut);
        free(params);
        free(v);
        free(statistics);
        nn_free_sample(&sample);
        blv_nn_destroy(net);
    }
}

/* ---- Products ---- */

typedef struct product_case {
    size_t rows, columns, depth;
    double zeros; /* share of A */
    bool turned, add, whole;
} product_case;

static void put_real(blv_precision precision, void *array, size_t i, double value) {
    if (precision == BLV_F32)
        ((float *)array)[i] = (float)value;
    else
        ((double *)array)[i] = value;
}

static double get_real(blv_precision precision, const void *array, size_t i) {
    return precision == BLV_F32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

/* Against plain sums; leaving out zeros gives the same bits; nothing behind a row is written unless
 * that is allowed. */
static void check_product_of(const product_case *c, blv_precision precision, blv_instructions set) {
    const size_t real = precision == BLV_F32 ? 4 : 8, line = 64 / real;
    const size_t wide = (c->columns + line - 1) / line * line, c_row = wide + 3;
    const size_t a_step = (c->turned ? c->rows : c->depth) + 5;
    const size_t a_rows = c->turned ? c->depth : c->rows;
    void *a = nn_memory(a_rows * a_step + line, real), *b = nn_memory(c->depth * wide, real);
    void *full = nn_memory(c->rows * c_row + line, real);
    void *thin = nn_memory(c->rows * c_row + line, real);
    uint32_t *list = nn_memory(c->depth + 16, sizeof *list);
    blv_stream stream = blv_stream_make(c->rows * 1000 + c->columns, "product");
    for (size_t i = 0; i < a_rows * a_step; i++)
        put_real(precision, a, i,
                 blv_random_uniform(&stream, i) < c->zeros ? (i % 2 ? -0.0 : 0.0)
                                                           : blv_random_normal(&stream, i));
    for (size_t i = 0; i < c->depth * wide; i++)
        put_real(precision, b, i, blv_random_normal(&stream, (1u << 20) + i));
    for (size_t i = 0; i < c->rows * c_row; i++) {
        put_real(precision, full, i, 0.25);
        put_real(precision, thin, i, 0.25);
    }
    nn_product p = {.rows = c->rows,
                    .columns = c->columns,
                    .depth = c->depth,
                    .a = a,
                    .a_row = c->turned ? 1 : a_step,
                    .a_depth = c->turned ? a_step : 1,
                    .b = b,
                    .b_depth = wide,
                    .c = full,
                    .c_row = c_row,
                    .add = c->add,
                    .whole = c->whole};
    blv_nn_loops_tables[precision == BLV_F32][set]->product(&p);
    p.c = thin;
    p.list = list;
    blv_nn_loops_tables[precision == BLV_F32][set]->product(&p);
    for (size_t i = 0; i < c->rows; i++)
        for (size_t j = 0; j < c_row; j++) {
            long double sum = c->add ? 0.25L : 0.0L, size = 0.25L;
            for (size_t k = 0; j < c->columns && k < c->depth; k++) {
                long double term = get_real(precision, a, i * p.a_row + k * p.a_depth) *
                                   (long double)get_real(precision, b, k * wide + j);
                sum += term;
                size += fabsl(term);
            }
            double got = get_real(precision, full, i * c_row + j);
            if (j < c->columns)
                assert_near(got, (double)sum, (precision == BLV_F32 ? 2e-6 : 4e-15) * (double)size);
            else if (!c->whole || j >= wide)
                assert_true(got == 0.25);
        }
    for (size_t i = 0; i < c->rows; i++)
        assert_memory_equal((char *)full + i * c_row * real, (char *)thin + i * c_row * real,
                            c->columns * real);
    free(a);
    free(b);
    free(full);
    free(thin);
    free(list);
}

static void test_products(void **state) {
    (void)state;
    static const size_t shapes[][3] = {{1, 1, 1},   {8, 32, 128},  {7, 33, 129}, {13, 10, 300},
                                       {5, 70, 17}, {16, 128, 40}, {3, 16, 257}, {30, 100, 64}};
    for (blv_precision p = BLV_F64; p <= BLV_F32; p++)
        for (blv_instructions set = BLV_INSTRUCTIONS_BASE; set < BLV_INSTRUCTIONS_BEST; set++)
            for (size_t i = 0; blv_has_instructions(set) && i < 8 * 24; i++) {
                static const double zeros[] = {0.0, 0.8, 0.99};
                const size_t *shape = shapes[i % 8];
                check_product_of(&(product_case){shape[0], shape[1], shape[2], zeros[i / 8 % 3],
                                                 i / 24 % 2, i / 48 % 2, i / 96 % 2},
                                 p, set);
            }
}

/* ---- Batches and dropout ---- */

/* Rows by index, one of them twice: their losses are those of the whole pass, with dropout as well:
 * a mask belongs to a row, not to a call. Other rows are left alone. */
static void test_batches(void **state) {
    (void)state;
    for (size_t which = 0; which < 3; which++) {
        blv_nn *net = network_number(which, BLV_NN_GELU);
        nn_sample sample = nn_make_sample(50, 126, 4, 12);
        double *params = nn_params(net, 6), *v = nn_normals(blv_nn_dim(net), 0.3, 3);
        double *statistics = statistics_of(net), *sum = make_numbers(blv_nn_dim(net));
        outputs whole = outputs_make(blv_nn_dim(net), 50), part = outputs_make(whole.dim, 50);
        static const size_t index[] = {49, 3, 3, 17, 0};
        blv_nn_work *work = nn_work(net, BLV_F64, 50, 0, 2);
        blv_rows rows = nn_rows(&sample, BLV_F64);
        run_all(work, BLV_F64, &rows, params, v, statistics, &whole);
        blv_rows some = rows;
        some.index = index;
        some.count = 5;
        for (size_t i = 0; i < 50; i++)
            part.row_loss[i] = -1.0;
        run_all(work, BLV_F64, &some, params, v, statistics, &part);
        double loss = 0.0;
        for (size_t i = 0; i < 5; i++) {
            assert_true(part.row_loss[index[i]] == whole.row_loss[index[i]]);
            loss += 0.3 * sample.weight[index[i]] * whole.row_loss[index[i]];
        }
        assert_near(part.loss, loss, 1e-13);
        assert_true(part.row_loss[1] == -1.0);
        for (size_t i = 0; i < 5; i++) { /* the gradient is the sum of those of single rows */
            some.index = index + i;
            some.count = 1;
            outputs one = outputs_make(whole.dim, 50);
            run_all(work, BLV_F64, &some, params, v, statistics, &one);
            for (size_t j = 0; j < whole.dim; j++)
                sum[j] += one.gradient[j];
            outputs_free(&one);
        }
        assert_at_most(dense_gap(whole.dim, sum, part.gradient), 1e-12);
        some = rows;
        some.first = 11;
        some.count = 20;
        run_all(work, BLV_F64, &some, params, v, statistics, &part);
        assert_memory_equal(part.row_loss + 11, whole.row_loss + 11, 20 * sizeof(double));
        blv_nn_work_destroy(work);
        outputs_free(&whole);
        outputs_free(&part);
        free(params);
        free(v);
        free(statistics);
        free(sum);
        nn_free_sample(&sample);
        blv_nn_destroy(net);
    }
}

/* Hidden units that are all 1 before dropout, and scores (sum of them, 0): the loss of label 1
 * tells how many were kept. */
static void test_dropout_share(void **state) {
    (void)state;
    enum { UNITS = 4000, ROWS = 6 };
    const double share = 0.3;
    blv_nn *net = nn_text("mlp:1-4000-2,dropout=0.3", 1, 2);
    nn_sample sample = nn_make_sample(ROWS, 1, 2, 12);
    double *params = make_numbers(blv_nn_dim(net)), loss[ROWS], again[ROWS];
    for (size_t i = 0; i < UNITS; i++) {
        params[UNITS + i] = 1.0;                 /* biases of the first layer */
        params[2 * UNITS + 2 * i] = 1.0 / UNITS; /* weights of the second */
    }
    for (size_t i = 0; i < ROWS; i++)
        sample.label[i] = 1;
    blv_nn_work *work = nn_work(net, BLV_F64, ROWS, 0, 1);
    blv_rows rows = nn_rows(&sample, BLV_F64);
    blv_nn_pass pass = {
        .params = params, .scale = 1.0, .drop = true, .drop_seed = 9, .row_loss = loss};
    blv_nn_run(work, &rows, &pass);
    for (size_t i = 0; i < ROWS; i++) {
        double kept = (1.0 - share) * log(expm1(loss[i]));
        assert_near(kept, 1.0 - share, 5.0 * sqrt(share * (1.0 - share) / UNITS));
    }
    assert_true(loss[0] != loss[1] || loss[1] != loss[2] || loss[2] != loss[3]);
    pass.drop_seed = 10;
    pass.row_loss = again;
    blv_nn_run(work, &rows, &pass);
    assert_true(loss[0] != again[0]);
    pass.drop = false;
    blv_nn_run(work, &rows, &pass);
    assert_near(again[0], log1p(exp(1.0)), 1e-12);
    blv_nn_work_destroy(work);
    free(params);
    nn_free_sample(&sample);
    blv_nn_destroy(net);
}

/* ---- Start, parts, mistakes ---- */

static void test_start_and_parts(void **state) {
    (void)state;
    blv_nn *net = nn_text("resnet18:16", 3072, 10);
    double *params = make_numbers(blv_nn_dim(net)), total = 0.0;
    float *single = nn_memory(blv_nn_dim(net), sizeof *single);
    size_t offset = 0;
    blv_nn_start(net, BLV_F64, 3, params);
    blv_nn_start(net, BLV_F32, 3, single);
    for (size_t i = 0; i < blv_nn_parts(net); i++) {
        const blv_nn_part *part = blv_nn_part_at(net, i);
        size_t count = 1;
        for (size_t k = 0; k < part->ndim; k++)
            count *= part->shape[k];
        assert_int_equal(part->count, count);
        assert_int_equal(part->offset, offset);
        assert_true(part->layer < blv_nn_layers(net));
        offset += count;
        const double *p = params + part->offset;
        double mean_square = dense_inner(count, p, p) / (double)count;
        bool weights = part->ndim > 1, last = part->layer + 1 == blv_nn_layers(net);
        double inputs = weights ? (double)(count / part->shape[part->ndim - 1]) : 1.0;
        double expected = weights                       ? (last ? 1.0 : 2.0) / inputs
                          : strstr(part->name, "scale") ? 1.0
                                                        : 0.0;
        assert_near(mean_square, expected, weights ? 0.25 * expected : 0.0);
        total += mean_square;
    }
    for (size_t i = 0; i < blv_nn_dim(net); i++)
        assert_true(single[i] == (float)params[i]);
    assert_int_equal(offset, blv_nn_dim(net));
    assert_int_equal(blv_nn_dim(net), 697776 + 2400 + 1290); /* by hand: kernels, norms, fc */
    assert_true(total > 0.0);
    free(params);
    free(single);
    blv_nn_destroy(net);
}

static void refuse_text(const char *text, const char *part) {
    blv_nn *net;
    blv_message why = {0};
    assert_int_equal(blv_nn_from_text(&net, text, 784, 10, &why), BLV_E_VALUE);
    assert_null(net);
    if (!strstr(why.text, part))
        fail_msg("'%s' should have said '%s'", why.text, part);
}

static void test_bad_texts(void **state) {
    (void)state;
    refuse_text("", "at character 1: expected mlp: or resnet18:");
    refuse_text("mpl:784-10", "at character 1: expected mlp:");
    refuse_text("mlp:", "at character 5: expected a number of units");
    refuse_text("mlp:784", "at character 8: expected '-'");
    refuse_text("mlp:784-x-10", "at character 9: expected a number of units");
    refuse_text("mlp:784-0-10", "at character 9: expected a number of units");
    refuse_text("mlp:784-99999999999-10", "at character 9: expected a number of units");
    refuse_text("mlp:783-10", "at character 5: 783 inputs, but a row of the data has 784 numbers");
    refuse_text("mlp:784-128-11", "at character 13: 11 outputs, but the data have 10 classes");
    refuse_text("mlp:784-128-10;act=gelu", "at character 15: expected '-', ',' or the end");
    refuse_text("mlp:784-12y-10", "at character 11: expected '-', ',' or the end");
    refuse_text("resnet18:16;", "at character 12: expected ',' or the end");
    refuse_text("mlp:784-128-10,", "at character 16: expected act= or dropout=");
    refuse_text("mlp:784-128-10,act=tanh", "at character 20: expected relu, softplus or gelu");
    refuse_text("mlp:784-128-10,act=gelux", "at character 20: expected relu, softplus or gelu");
    refuse_text("mlp:784-128-10,dropout=1", "at character 24: expected a share");
    refuse_text("mlp:784-128-10,dropout=", "at character 24: expected a share");
    refuse_text("mlp:784-128-10,dropout=0.2.1", "at character 24: expected a share");
    refuse_text("mlp:784-128-10,image=1x28x28", "at character 16: expected act= or dropout=");
    refuse_text("resnet18:", "at character 10: expected a number of planes");
    refuse_text("resnet18:16,image=3x28x28", "at character 19: an image of 2352 numbers");
    refuse_text("resnet18:16,image=1x28", "at character 23: expected 'x' and the width");
    blv_nn *net;
    blv_message why = {0};
    assert_int_equal(blv_nn_from_text(&net, "resnet18:4", 12345, 10, &why), BLV_E_VALUE);
    assert_non_null(strstr(why.text, "no square image"));
}

/* Labels that may be wrong: the loss by its formula from the scores, the gradient by differences.
 */
static void test_chance(void **state) {
    (void)state;
    enum { ROWS = 7, INPUTS = 3, CLASSES = 3 };
    static const double chance[CLASSES * CLASSES] = {0.7, 0.2, 0.1, 0.2, 0.8, 0.3, 0.1, 0.0, 0.6};
    double x[ROWS * INPUTS], weight[ROWS], scores[ROWS * CLASSES], loss, by_hand = 0.0;
    int32_t label[ROWS];
    for (size_t i = 0; i < ROWS * INPUTS; i++)
        x[i] = sin(1.0 + 3.7 * (double)i);
    for (size_t i = 0; i < ROWS; i++) {
        label[i] = (int32_t)(i * 2 % CLASSES);
        weight[i] = 0.5 + (double)i;
    }
    const blv_rows rows = {.rows = ROWS,
                           .columns = INPUTS,
                           .dense = x,
                           .stride = INPUTS,
                           .label = label,
                           .weight = weight,
                           .count = ROWS};
    blv_nn *net = NULL;
    assert_int_equal(blv_nn_from_text(&net, "mlp:in-4-out,act=softplus", INPUTS, CLASSES, NULL),
                     BLV_OK);
    const size_t dim = blv_nn_dim(net);
    blv_nn_work *work = blv_nn_work_create(net, BLV_F64, ROWS, 0, 1);
    double *params = calloc(dim, sizeof *params), *gradient = calloc(dim, sizeof *gradient);
    blv_nn_start(net, BLV_F64, 5, params);
    blv_nn_pass pass = {.params = params,
                        .scale = 0.25,
                        .chance = chance,
                        .loss = &loss,
                        .gradient = gradient,
                        .row_scores = scores};
    blv_nn_run(work, &rows, &pass);
    for (size_t i = 0; i < ROWS; i++) {
        double all = 0.0, stated = 0.0;
        for (size_t k = 0; k < CLASSES; k++) {
            all += exp(scores[i * CLASSES + k]);
            stated += exp(scores[i * CLASSES + k]) * chance[(size_t)label[i] * CLASSES + k];
        }
        by_hand += 0.25 * weight[i] * (log(all) - log(stated));
    }
    assert_true(fabs(loss - by_hand) < 1e-12 * by_hand);
    pass.gradient = pass.row_scores = NULL;
    for (size_t j = 0; j < dim; j++) {
        const double at = params[j], h = 1e-5;
        double side[2];
        for (int s = 0; s < 2; s++) {
            params[j] = s ? at + h : at - h;
            blv_nn_run(work, &rows, &pass);
            side[s] = loss;
        }
        params[j] = at;
        assert_true(fabs((side[1] - side[0]) / (2.0 * h) - gradient[j]) < 1e-7);
    }
    free(params);
    free(gradient);
    blv_nn_work_destroy(work);
    blv_nn_destroy(net);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chance),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_precisions_and_instructions),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_dropout_share),
        cmocka_unit_test(test_start_and_parts),
        cmocka_unit_test(test_bad_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
