/* The guard of automatic steps, on directions made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "blocks/guard.h"
#include "blv_testing.h"

typedef struct fixture {
    blv_space *space;
    blv_vec *direction;
    const blv_vec *x; /* NULL: the guard is not that of x */
    blv_guard guard;
    double step;
} fixture;

static const blv_batch some = {.first = 0, .count = 3};

static fixture make_fixture(double step) {
    fixture f = {.step = step};
    assert_int_equal(blv_space_create_host(&f.space, 2, BLV_F64, 1), BLV_OK);
    assert_int_equal(blv_vec_create(&f.direction, f.space), BLV_OK);
    assert_int_equal(blv_vec_create(&f.guard.before, f.space), BLV_OK);
    return f;
}

static void free_fixture(fixture *f) {
    blv_vec_destroy(f->direction);
    blv_vec_destroy(f->guard.before);
    blv_space_destroy(f->space);
}

static double look(fixture *f, const blv_batch *batch, double a, double b) {
    blv_vec_write(f->direction, (const double[]){a, b});
    blv_scalar list[BLV_STEP_SCALARS], *end = list;
    end = blv_guard_ask(&f->guard, f->x, f->direction, end);
    assert_true(blv_reduce((size_t)(end - list), list));
    return blv_guard_step(&f->guard, &f->step, 1.0, batch, f->direction, hypot(a, b));
}

static void test_turns(void **state) {
    (void)state;
    fixture f = make_fixture(1.0);
    assert_true(look(&f, NULL, 1.0, 0.0) == 1.0);
    assert_true(look(&f, NULL, 0.0, 1.0) == 1.0);  /* a right angle */
    assert_true(look(&f, NULL, 0.8, -0.4) == 1.0); /* 117 degrees */
    assert_true(look(&f, NULL, -0.8, 0.0) == 0.5); /* 153 degrees */
    assert_true(look(&f, NULL, -0.8, 0.1) == 0.5); /* for good */
    assert_true(look(&f, NULL, 0.8, 0.1) == 0.25);
    blv_guard_reset(&f.guard);
    assert_true(look(&f, NULL, -0.8, 0.1) == 0.25); /* nothing to compare with */
    free_fixture(&f);
}

/* Near a solution directions are rounding errors and turn by chance. */
static void test_rounding_is_not_a_sign(void **state) {
    (void)state;
    fixture f = make_fixture(1.0);
    look(&f, NULL, 1.0, 0.0);
    for (int k = 0; k < 50; k++) {
        double a = k % 2 ? 1e-13 : -3e-13;
        assert_true(look(&f, NULL, a, 0.0) == 1.0);
        if (k % 10 == 0)
            blv_guard_reset(&f.guard);
    }
    free_fixture(&f);
}

/* After a move of 1 along which the direction went from 1 to 9: 0.5/8. */
static void test_jump(void **state) {
    (void)state;
    fixture f = make_fixture(1.0);
    look(&f, NULL, 1.0, 0.0);
    assert_near(look(&f, NULL, 9.0, 0.0), 0.0625, 1e-15);
    assert_true(look(&f, NULL, 9.0, 0.0) == 1.0);
    free_fixture(&f);
}

/* Directions of batches: of one length on the whole, anywhere. The step must stay. */
static void test_noise_on_batches(void **state) {
    (void)state;
    fixture f = make_fixture(1.0);
    uint64_t numbers = 1;
    for (int k = 0; k < 100000; k++) {
        double u[2];
        for (int i = 0; i < 2; i++) {
            numbers = numbers * 6364136223846793005u + 1442695040888963407u;
            u[i] = (double)(numbers >> 11) * 0x1p-52 - 1.0;
        }
        if (k == 0)
            u[0] = u[1] = 1.0;
        look(&f, &some, u[0], u[1]);
    }
    assert_true(f.step == 1.0);
    free_fixture(&f);
}

/* y <- y - step c y with step c = 5: without the guard y grows fourfold in each step. */
static void test_growth_on_batches(void **state) {
    (void)state;
    fixture f = make_fixture(1.0);
    double y = 1.0, largest = 0.0;
    for (int k = 0; k < 200; k++) {
        y -= look(&f, &some, 5.0 * y, 0.0) * 5.0 * y;
        largest = fmax(largest, fabs(y));
    }
    assert_at_most(largest, 50.0);
    assert_at_most(fabs(y), 1e-3);
    assert_true(f.step >= 0.1);
    free_fixture(&f);
}

/* x -= step d, where d grows like exp(-x): it must not run off. */
static void test_clipping_of_x(void **state) {
    (void)state;
    fixture f = make_fixture(1.0);
    double x = 0.0;
    blv_vec *at;
    assert_int_equal(blv_vec_create(&at, f.space), BLV_OK);
    f.x = at;
    for (int k = 0; k < 20; k++) {
        blv_vec_write(at, (const double[]){x, 0.0});
        x -= look(&f, &some, 0.1 * exp(-x), 0.0) * 0.1 * exp(-x);
    }
    assert_at_most(-x, 20 * 0.1 * 2.0 * pow(1.05, 20.0));
    assert_true(f.step == 1.0); /* clipped, not halved */
    blv_vec_destroy(at);
    free_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_rounding_is_not_a_sign),
        cmocka_unit_test(test_jump),
        cmocka_unit_test(test_noise_on_batches),
        cmocka_unit_test(test_growth_on_batches),
        cmocka_unit_test(test_clipping_of_x),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
