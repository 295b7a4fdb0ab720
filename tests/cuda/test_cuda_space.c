/* The conformance suite on a GPU, bitwise repetition, sticky errors, lack of memory. */
#include "space_conformance.h"

#include "bilevel/cuda.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static blv_space *make(size_t dim, blv_precision precision) {
    blv_space *space = NULL;
    blv_message why = {""};
    if (blv_space_create_cuda(&space, dim, precision, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return space;
}

static void test_conformance(void **state) {
    (void)state;
    static const size_t dims[] = {1, 2, 31, 257, 1024, 1025, 40000, 700001};
    for (int p = 0; p < 2; p++)
        for (size_t i = 0; i < sizeof dims / sizeof *dims - (getenv("BLV_TEST_SMALL") ? 2 : 0);
             i++) {
            blv_space *space = make(dims[i], (blv_precision)p), *other = make(77, (blv_precision)p);
            space_conformance(space, other);
            blv_space_destroy(space);
            blv_space_destroy(other);
        }
}

/* More updates than the queue takes, each on what the one before left. */
static void test_long_chain(void **state) {
    (void)state;
    blv_space *space = make(5000, BLV_F32);
    blv_vec *a, *b;
    assert_int_equal(blv_vec_create(&a, space), BLV_OK);
    assert_int_equal(blv_vec_create(&b, space), BLV_OK);
    blv_vec_fill(a, 1.0);
    for (int i = 0; i < 40; i++) {
        blv_vec_combine(b, 1.0, a, 0.5, b);
        blv_vec_swap(a, b);
    }
    double now = 1.0, before = 0.0;
    for (int i = 0; i < 40; i++) {
        const double next = (double)(float)(now + 0.5 * before);
        before = now;
        now = next;
    }
    assert_true(fabs(blv_vec_norm(a) - now * sqrt(5000.0)) <= 1e-6 * now * sqrt(5000.0));
    blv_vec_destroy(a);
    blv_vec_destroy(b);
    blv_space_destroy(space);
}

static void test_repetition(void **state) {
    (void)state;
    blv_space *space = make(1000003, BLV_F32);
    blv_vec *a;
    double *host = malloc(1000003 * sizeof *host);
    assert_non_null(host);
    uint64_t seed = 1;
    for (size_t i = 0; i < 1000003; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        host[i] = (double)(seed >> 40) * 0x1p-24 - 0.5;
    }
    assert_int_equal(blv_vec_create(&a, space), BLV_OK);
    blv_vec_write(a, host);
    const double first = blv_vec_norm(a);
    for (int i = 0; i < 50; i++)
        assert_true(blv_vec_norm(a) == first);
    free(host);
    blv_vec_destroy(a);
    blv_space_destroy(space);
}

/* Last: the failure stays. */
static void test_no_memory(void **state) {
    (void)state;
    blv_space *space = make((size_t)1 << 45, BLV_F64);
    blv_vec *a;
    blv_message why = {""};
    assert_int_equal(blv_vec_create(&a, space), BLV_E_MEMORY);
    assert_int_equal(blv_space_error(space, &why), BLV_E_MEMORY);
    assert_non_null(strstr(why.text, "281474976710656 bytes asked for"));
    assert_non_null(strstr(why.text, "free"));
    blv_space_destroy(space);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conformance),
        cmocka_unit_test(test_long_chain),
        cmocka_unit_test(test_repetition),
        cmocka_unit_test(test_no_memory),
    };
    /* compute-sanitizer reports every call that fails: without the last test */
    return getenv("BLV_TEST_SMALL")
               ? _cmocka_run_group_tests("space", tests, sizeof tests / sizeof *tests - 1, NULL,
                                         NULL)
               : cmocka_run_group_tests(tests, NULL, NULL);
}
