/* The sweeps over dense rows in every instruction set that this processor has, against the plain
 * loops in double; and those with fused multiply-add against each other, bit by bit. */
#include "base/hash.h"
#include "sweep_instance.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const blv_instructions every_set[] = {BLV_INSTRUCTIONS_BASE, BLV_INSTRUCTIONS_AVX2,
                                             BLV_INSTRUCTIONS_AVX512};
enum { SETS = sizeof every_set / sizeof *every_set };

/* The stated accuracy: a result differs from the exact one by at most this many rounding errors of
 * the largest terms that were added up, in f32 as in f64. */
static const double UNITS = 4.0;

static void check(sweep_shape shape, uint64_t seed) {
    sweep_instance instance;
    sweep_outputs expected;
    sweep_instance_create(&instance, shape, seed);
    sweep_outputs_create(&expected, &shape);
    sweep_run_reference(&instance, &expected);
    sweep_outputs got[SETS];
    for (size_t s = 0; s < SETS; s++) {
        sweep_outputs_create(&got[s], &shape);
        sweep_run(&instance, &got[s], every_set[s], 1);
        sweep_compare(&instance, &got[s], &expected, UNITS);
    }
    if (blv_instructions_fused(BLV_INSTRUCTIONS_AVX2))
        sweep_same_bits(&instance, &got[BLV_INSTRUCTIONS_AVX2], &got[BLV_INSTRUCTIONS_AVX512]);
    for (size_t s = 0; s < SETS; s++)
        sweep_outputs_destroy(&got[s]);
    sweep_outputs_destroy(&expected);
    sweep_instance_destroy(&instance);
}

/* One shape in both precisions, contiguous and by index, with all outputs. */
static void check_forms(sweep_shape shape, uint64_t seed) {
    shape.wanted = WANT_ALL;
    shape.size = 1.0 / sqrt((double)shape.columns);
    for (int form = 0; form < 4; form++) {
        shape.single = form & 1;
        shape.indexed = form & 2;
        shape.weighted = form != 1;
        shape.ridge = (ridge_kind)((seed + (uint64_t)form) % 4);
        check(shape, seed);
    }
}

static void test_softmax_shapes(void **state) {
    (void)state;
    static const size_t columns[] = {1, 2, 3, 5, 8, 15, 16, 17, 31, 48, 49, 97, 130};
    static const size_t classes[] = {2, 3, 4, 5, 7, 10, 11, 13, 20, 26};
    uint64_t seed = 1;
    for (size_t j = 0; j < sizeof columns / sizeof *columns; j++)
        for (size_t k = 0; k < sizeof classes / sizeof *classes; k++, seed++)
            check_forms((sweep_shape){.rows = 40,
                                      .columns = columns[j],
                                      .classes = classes[k],
                                      .gap = seed % 3,
                                      .first = seed % 5,
                                      .count = 1 + seed * 7 % 35},
                        seed);
}

static void test_logistic_shapes(void **state) {
    (void)state;
    static const size_t columns[] = {1,  2,  3,  4,  7,  8,  9,  15,  16,  17,  22,  24, 31,
                                     33, 41, 54, 56, 63, 64, 65, 100, 127, 128, 129, 300};
    uint64_t seed = 1;
    for (size_t j = 0; j < sizeof columns / sizeof *columns; j++)
        for (size_t count = 1; count < 140; count += 1 + count / 3, seed++)
            check_forms((sweep_shape){.rows = 150,
                                      .columns = columns[j],
                                      .classes = 1,
                                      .logistic = true,
                                      .gap = seed % 3,
                                      .first = seed % 10,
                                      .count = count},
                        seed);
}

static void test_squares(void **state) {
    (void)state;
    static const size_t columns[] = {1, 3, 8, 17, 54, 65, 129, 300};
    uint64_t seed = 1;
    for (size_t j = 0; j < sizeof columns / sizeof *columns; j++)
        for (size_t count = 1; count < 140; count += 1 + count / 2, seed++)
            check_forms((sweep_shape){.rows = 150,
                                      .columns = columns[j],
                                      .classes = 1,
                                      .logistic = true,
                                      .squares = true,
                                      .gap = seed % 3,
                                      .first = seed % 10,
                                      .count = count},
                        seed);
    check_forms((sweep_shape){.rows = 9000,
                              .columns = 3,
                              .classes = 1,
                              .logistic = true,
                              .squares = true,
                              .count = 9000},
                9);
}

static void test_row_counts(void **state) {
    (void)state;
    uint64_t seed = 100;
    for (size_t count = 0; count < 300; count = count < 20 ? count + 1 : count * 5 / 4)
        for (int logistic = 0; logistic < 2; logistic++, seed++)
            check_forms((sweep_shape){.rows = count + 1,
                                      .columns = 19,
                                      .classes = logistic ? 1 : 4,
                                      .logistic = logistic,
                                      .first = count ? seed % 2 : 0,
                                      .count = count},
                        seed);
}

/* Wide enough for several stretches of columns, long enough for several groups of rows. */
static void test_large(void **state) {
    (void)state;
    for (int logistic = 0; logistic < 2; logistic++) {
        const size_t classes = logistic ? 1 : 10;
        check_forms((sweep_shape){.rows = 70,
                                  .columns = 2500,
                                  .classes = classes,
                                  .logistic = logistic,
                                  .gap = 12,
                                  .count = 70},
                    7);
        check_forms((sweep_shape){.rows = 1300,
                                  .columns = 120,
                                  .classes = classes,
                                  .logistic = logistic,
                                  .first = 3,
                                  .count = 1290},
                    8);
    }
    check_forms(
        (sweep_shape){
            .rows = 300000, .columns = 3, .classes = 1, .logistic = true, .count = 300000},
        9);
}

/* Gradients of many rows without gaps have a loop of their own. It may not read behind the last
 * row, nor leave out what is less than a step. */
static void test_stream(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (size_t columns = 1; columns <= 66; columns += columns < 20 ? 1 : 5)
        for (int form = 0; form < 4; form++, seed++) {
            const size_t count = 1024 + seed * 37 % 1100, first = seed % 3 * (seed % 7);
            check((sweep_shape){.single = form & 1,
                                .logistic = true,
                                .rows = first + count + seed * 5 % 12,
                                .columns = columns,
                                .classes = 1,
                                .first = first,
                                .count = count,
                                .size = 1.0 / sqrt((double)columns),
                                .weighted = form & 2,
                                .ridge = (ridge_kind)(seed % 3),
                                .wanted = WANT_GRADIENT},
                  seed);
        }
}

static void test_each_output_alone(void **state) {
    (void)state;
    for (int wanted = 0; wanted <= WANT_ALL; wanted++)
        for (int form = 0; form < 4; form++)
            check((sweep_shape){.single = form & 1,
                                .logistic = form & 2,
                                .rows = 37,
                                .columns = 21,
                                .classes = form & 2 ? 1 : 3,
                                .count = 35,
                                .size = 0.5,
                                .weighted = wanted % 3 == 0,
                                .ridge = (ridge_kind)(wanted % 4),
                                .wanted = wanted},
                  (uint64_t)wanted);
}

static void test_constant_feature(void **state) {
    (void)state;
    for (int form = 0; form < 4; form++)
        check((sweep_shape){.single = form & 1,
                            .logistic = form & 2,
                            .rows = 50,
                            .columns = 6,
                            .classes = form & 2 ? 1 : 5,
                            .count = 50,
                            .size = 0.5,
                            .constant = 1000.0,
                            .wanted = WANT_ALL},
              3);
}

static void test_equal_scores(void **state) {
    (void)state;
    for (size_t s = 0; s < SETS; s++)
        for (int form = 0; form < 4; form++) {
            sweep_shape shape = {.single = form & 1,
                                 .logistic = form & 2,
                                 .rows = 9,
                                 .columns = 4,
                                 .classes = form & 2 ? 1 : 6,
                                 .count = 9,
                                 .wanted = WANT_FIRST_ORDER};
            sweep_instance instance;
            sweep_outputs got;
            sweep_instance_create(&instance, shape, 5); /* size 0: all weights are 0 */
            sweep_outputs_create(&got, &shape);
            sweep_run(&instance, &got, every_set[s], 1);
            const double labels = form & 2 ? 2.0 : 6.0;
            for (size_t i = 0; i < 9; i++) {
                assert_int_equal(got.row_class[i], 0);
                assert_true(fabs(sweep_get(&instance, got.row_loss, i) - log(labels)) <= 1e-6);
                assert_true(fabs(sweep_get(&instance, got.row_probability, i) - 1.0 / labels) <=
                            1e-7);
            }
            sweep_outputs_destroy(&got);
            sweep_instance_destroy(&instance);
        }
}

/* Loss of a row whose scores are these, to the last digit of a long double. */
static long double exact_loss(size_t classes, const double *score, size_t label) {
    size_t best = 0;
    for (size_t k = 1; k < classes; k++)
        best = score[k] > score[best] ? k : best;
    long double others = 0.0L;
    for (size_t k = 0; k < classes; k++)
        if (k != best)
            others += expl((long double)score[k] - (long double)score[best]);
    return log1pl(others) + ((long double)score[best] - (long double)score[label]);
}

/* One column that is 1, and scores with few bits, so that every error is the loss's own. */
static void check_losses(bool single, size_t classes, const double *score) {
    const bool logistic = classes == 1;
    for (size_t label = 0; label < (logistic ? 2 : classes); label++)
        for (size_t s = 0; s < SETS; s++) {
            sweep_shape shape = {.single = single,
                                 .logistic = logistic,
                                 .rows = 5,
                                 .columns = 1,
                                 .classes = classes,
                                 .count = 5,
                                 .constant = 1.0,
                                 .wanted = WANT_FIRST_ORDER};
            sweep_instance instance;
            sweep_outputs got;
            sweep_instance_create(&instance, shape, 5);
            sweep_outputs_create(&got, &shape);
            for (size_t k = 0; k < classes; k++)
                if (single)
                    ((float *)instance.w)[k] = (float)score[k];
                else
                    ((double *)instance.w)[k] = score[k];
            for (size_t i = 0; i < 5; i++)
                instance.label[i] = (int32_t)label;
            sweep_run(&instance, &got, every_set[s], 1);
            const double two[2] = {0.0, score[0]};
            const long double exact =
                logistic ? exact_loss(2, two, label) : exact_loss(classes, score, label);
            const double unit = single ? FLT_EPSILON : DBL_EPSILON;
            const double loss = sweep_get(&instance, got.row_loss, 4);
            const double chance = sweep_get(&instance, got.row_probability, 4);
            const long double least = single ? FLT_MIN : DBL_MIN;
            assert_true(fabsl(loss - exact) <= 3.0 * unit * exact + least);
            assert_true(fabsl(chance - expl(-exact)) <= 3.0 * unit * expl(-exact) + least);
            assert_true(fabs(got.loss - 5.0 / 6.0 * loss) <= 3.0 * DBL_EPSILON * loss);
            for (size_t k = 0; k < classes; k++)
                assert_true(isfinite(sweep_get(&instance, got.gradient, k)));
            sweep_outputs_destroy(&got);
            sweep_instance_destroy(&instance);
        }
}

static void test_large_scores(void **state) {
    (void)state;
    static const double scores[][4] = {
        {1e4, -1e4, 9999.0, 12.0},   {-1e6, 1e6, 1e6, 0.0},          {0.0, 0.0, 0.0, -30000.0},
        {3.0, 2.5, -1.25, 0.0},      {16.0, 0.0, -3.0, -80.0},       {-87.5, 0.0, 0.5, -88.0},
        {700.0, 0.0, -709.0, -0.25}, {0.0, 0x1p-10, 40.0, -0x1p-10}, {-1e5, -1e5, -1e5, -1e5},
        {-720.0, 0.0, 1.0, 720.0},   {5000.0, 4990.0, 0.0, -1.0}};
    for (size_t t = 0; t < sizeof scores / sizeof *scores; t++)
        for (int single = 0; single < 2; single++) {
            double rounded[4];
            for (size_t k = 0; k < 4; k++)
                rounded[k] = single ? (double)(float)scores[t][k] : scores[t][k];
            for (size_t classes = 1; classes <= 4; classes++)
                check_losses(single, classes, rounded);
        }
}

/* What every processor with fused multiply-add has to give, whatever its instruction set: x86-64 in
 * `make test`, aarch64 in `make test-arm`. These numbers change when the order of a sum does. */
static void test_bits_of_every_processor(void **state) {
    (void)state;
    static const struct {
        sweep_shape shape;
        uint64_t bits;
    } cases[] = {
        {{.rows = 90, .columns = 1203, .classes = 10, .count = 90, .wanted = WANT_ALL},
         UINT64_C(0x4a77117f8c565db5)},
        {{.rows = 90, .columns = 54, .classes = 7, .count = 83, .wanted = WANT_ALL},
         UINT64_C(0x6b81b85606cdac81)},
        {{.logistic = true,
          .rows = 90,
          .columns = 22,
          .classes = 1,
          .count = 90,
          .wanted = WANT_ALL},
         UINT64_C(0xc0594e620e652905)},
        {{.logistic = true,
          .rows = 80,
          .columns = 117,
          .classes = 1,
          .count = 80,
          .wanted = WANT_ALL},
         UINT64_C(0x96460789d5efd821)},
        {{.logistic = true,
          .rows = 2500,
          .columns = 61,
          .classes = 1,
          .count = 2477,
          .wanted = WANT_GRADIENT},
         UINT64_C(0xbe68deb619cb3716)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t bits = BLV_HASH_EMPTY;
        for (int single = 0; single < 2; single++) {
            sweep_shape shape = cases[i].shape;
            shape.single = single;
            shape.size = 0.1;
            shape.weighted = true;
            sweep_instance instance;
            sweep_outputs got;
            sweep_instance_create(&instance, shape, 11);
            sweep_outputs_create(&got, &shape);
            sweep_run(&instance, &got, BLV_INSTRUCTIONS_BEST, 1);
            const size_t size = single ? sizeof(float) : sizeof(double);
            bits = blv_hash_bytes(bits, got.gradient, shape.classes * shape.columns * size);
            bits = blv_hash_bytes(bits, got.hessian, shape.classes * shape.columns * size);
            bits = blv_hash_bytes(bits, got.row_loss, shape.rows * size);
            bits = blv_hash_bytes(bits, got.row_cross, shape.rows * size);
            sweep_outputs_destroy(&got);
            sweep_instance_destroy(&instance);
        }
        if (blv_instructions_fused(BLV_INSTRUCTIONS_BEST) && bits != cases[i].bits)
            fail_msg("case %zu: 0x%016" PRIx64, i, bits);
    }
}

static void test_nan_is_not_lost(void **state) {
    (void)state;
    for (size_t s = 0; s < SETS; s++)
        for (int form = 0; form < 4; form++)
            for (size_t at = 0; at < (form & 2 ? 1 : 3); at++) {
                sweep_shape shape = {.single = form & 1,
                                     .logistic = form & 2,
                                     .rows = 3,
                                     .columns = 1,
                                     .classes = form & 2 ? 1 : 3,
                                     .count = 3,
                                     .size = 1.0,
                                     .wanted = WANT_FIRST_ORDER};
                sweep_instance instance;
                sweep_outputs got;
                sweep_instance_create(&instance, shape, 5);
                sweep_outputs_create(&got, &shape);
                if (form & 1)
                    ((float *)instance.w)[at] = NAN;
                else
                    ((double *)instance.w)[at] = NAN;
                sweep_run(&instance, &got, every_set[s], 1);
                assert_true(isnan(got.loss));
                assert_true(isnan(sweep_get(&instance, got.gradient, 0)));
                assert_true(isnan(sweep_get(&instance, got.row_loss, 2)));
                sweep_outputs_destroy(&got);
                sweep_instance_destroy(&instance);
            }
}

/* Neither the number of threads nor the rows that come next show in the bits. */
static void test_same_bits(void **state) {
    (void)state;
    for (int form = 0; form < 18; form++) {
        sweep_shape shape = {.single = form & 1,
                             .logistic = form & 2,
                             .indexed = form & 4,
                             .rows = form & 8 ? 2000 : 100,
                             .columns = form & 2 ? 54 : 150,
                             .classes = form & 2 ? 1 : 10,
                             .count = form & 8 ? 1950 : 64,
                             .size = 0.1,
                             .weighted = true,
                             .ridge = RIDGE_COLUMN,
                             .wanted = WANT_ALL};
        if ((form & 10) == 10)
            shape.rows = shape.count = 40000;
        if (form >= 16) {
            shape.logistic = true;
            shape.columns = 54;
            shape.classes = 1;
            shape.rows = shape.count = 40000;
            shape.wanted = WANT_GRADIENT;
        }
        sweep_instance instance;
        sweep_outputs one;
        sweep_instance_create(&instance, shape, 11);
        sweep_outputs_create(&one, &shape);
        for (size_t s = 0; s < SETS; s++) {
            sweep_run(&instance, &one, every_set[s], 1);
            instance.rows.next_first = 5;
            instance.rows.next_count = 30;
            for (int threads = 1; threads <= 3; threads++) {
                sweep_outputs more;
                sweep_outputs_create(&more, &shape);
                sweep_run(&instance, &more, every_set[s], threads);
                sweep_same_bits(&instance, &one, &more);
                sweep_outputs_destroy(&more);
            }
            instance.rows.next_count = 0;
        }
        sweep_outputs_destroy(&one);
        sweep_instance_destroy(&instance);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax_shapes),
        cmocka_unit_test(test_logistic_shapes),
        cmocka_unit_test(test_squares),
        cmocka_unit_test(test_row_counts),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_each_output_alone),
        cmocka_unit_test(test_constant_feature),
        cmocka_unit_test(test_equal_scores),
        cmocka_unit_test(test_large_scores),
        cmocka_unit_test(test_bits_of_every_processor),
        cmocka_unit_test(test_nan_is_not_lost),
        cmocka_unit_test(test_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
