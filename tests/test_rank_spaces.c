/* Spaces of two ranks in one process: what is refused, sums and codes of oracles, and reductions
 * over vectors of several kinds of spaces at once. */
#include "bilevel/bilevel.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_testing.h"
#include "rank_turns.h"

enum { DIM = 7, MANY = 5000 };

/* Both ranks without a fault. */
static void expect_done(rank_work work) {
    const long before = memory_live;
    const one_rank *pair = run_ranks(work, NULL, -1, -1, -1);
    for (int rank = 0; rank < TWO; rank++)
        if (pair[rank].error)
            fail_msg("rank %d: %s", rank, pair[rank].why.text);
    assert_int_equal(memory_live, before);
}

#define REFUSES(call)                                                                              \
    do {                                                                                           \
        blv_space *space = NULL;                                                                   \
        assert_int_equal((call), BLV_E_ARGUMENT);                                                  \
        assert_null(space);                                                                        \
    } while (0)

static blv_error refuse(const blv_ranks *ranks, const void *context, blv_message *why) {
    const size_t twice[] = {1, 1}, beyond[] = {0, DIM};
    blv_ranks other = *ranks;
    (void)context, (void)why;
    assert_int_equal(blv_space_create_replicated(NULL, ranks, DIM, BLV_F64, 1), BLV_E_ARGUMENT);
    REFUSES(blv_space_create_replicated(&space, NULL, DIM, BLV_F64, 1));
    REFUSES(blv_space_create_replicated(&space, ranks, 0, BLV_F64, 1));
    REFUSES(blv_space_create_spread(&space, NULL, DIM, NULL, 0, BLV_F64, 1));
    REFUSES(blv_space_create_spread(&space, ranks, DIM, twice, 2, BLV_F64, 1));
    REFUSES(blv_space_create_spread(&space, ranks, DIM, beyond, 2, BLV_F64, 1));
    REFUSES(blv_space_create_spread(&space, ranks, DIM, ranks->rank ? twice : beyond,
                                    ranks->rank ? 1 : 2, BLV_F64, 1)); /* wrong on one of them */
    other.size = 1;
    REFUSES(blv_space_create_replicated(&space, &other, DIM, BLV_F64, 1));
    other = *ranks;
    other.sum = NULL;
    REFUSES(blv_space_create_replicated(&space, &other, DIM, BLV_F64, 1));
    other = *ranks;
    other.broadcast = NULL;
    REFUSES(blv_space_create_replicated(&space, &other, DIM, BLV_F64, 1));
    return BLV_OK;
}

static void test_refused(void **state) {
    (void)state;
    expect_done(refuse);
}

/* A failure on one rank is one on both, the worse of the two. */
static blv_error sum_codes(const blv_ranks *ranks, const void *context, blv_message *why) {
    static const struct {
        int mine[TWO], both;
    } codes[] = {{{0, 0}, 0}, {{1, 0}, 1}, {{0, 3}, 1}, {{2, 2}, 1}, {{-4, 0}, -1}, {{1, -1}, -1}};
    const size_t counts[] = {0, 3, MANY};
    double *values = calloc(MANY, sizeof *values);
    assert_non_null(values);
    (void)context, (void)why;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        for (size_t c = 0; c < sizeof codes / sizeof *codes; c++) {
            for (size_t i = 0; i < counts[k]; i++)
                values[i] = (double)i + ranks->rank;
            assert_int_equal(blv_ranks_sum(ranks, codes[c].mine[ranks->rank], counts[k], values),
                             codes[c].both);
            for (size_t i = 0; i < counts[k]; i++)
                assert_true(values[i] == 2.0 * (double)i + 1.0);
        }
    assert_int_equal(blv_ranks_sum(NULL, 5, 1, values), 5); /* of one process */
    free(values);
    return BLV_OK;
}

static void test_codes(void **state) {
    (void)state;
    expect_done(sum_codes);
}

/* Where the exchange fails it is fatal. */
static blv_error sum_without_exchange(const blv_ranks *ranks, const void *context,
                                      blv_message *why) {
    double values[3] = {0};
    (void)context, (void)why;
    assert_int_equal(blv_ranks_sum(ranks, 0, 3, values), -1);
    return BLV_OK;
}

static void test_no_exchange(void **state) {
    (void)state;
    const one_rank *pair = run_ranks(sum_without_exchange, NULL, -1, -1, 0);
    assert_true(pair[0].error == BLV_OK && pair[1].error == BLV_OK);
}

/* Of host vectors, replicated ones and spread ones, more than one call of a space takes. */
static blv_error reduce_mixed(const blv_ranks *ranks, const void *context, blv_message *why) {
    enum { KINDS = 3, ALL = 80 };
    blv_space *space[KINDS];
    blv_vec *v[KINDS];
    double host[DIM], result[ALL];
    blv_scalar scalars[ALL];
    (void)context, (void)why;
    assert_int_equal(blv_space_create_host(&space[0], DIM, BLV_F64, 1), BLV_OK);
    assert_int_equal(blv_space_create_replicated(&space[1], ranks, DIM, BLV_F64, 1), BLV_OK);
    assert_int_equal(blv_space_create_spread(&space[2], ranks, DIM, NULL, 0, BLV_F32, 1), BLV_OK);
    for (int k = 0; k < KINDS; k++) {
        for (int i = 0; i < DIM; i++)
            host[i] = (double)(i + k);
        assert_int_equal(blv_vec_create(&v[k], space[k]), BLV_OK);
        blv_vec_write(v[k], host);
        assert_true(blv_space_ranks(space[k]) == (k == 0 ? NULL : ranks));
    }
    for (size_t n = 1; n <= ALL; n += 13) {
        for (size_t i = 0; i < n; i++)
            scalars[i] = i % 2 ? (blv_scalar)BLV_NORM(&result[i], v[i % KINDS])
                               : (blv_scalar)BLV_DOT(&result[i], v[i % KINDS], v[i % KINDS]);
        assert_true(blv_reduce(n, scalars));
        for (size_t i = 0; i < n; i++) {
            double square = 0.0;
            for (size_t j = 0; j < DIM; j++)
                square += (double)((j + i % KINDS) * (j + i % KINDS));
            assert_true(fabs(result[i] - (i % 2 ? sqrt(square) : square)) < 1e-12 * square);
        }
    }
    blv_vec_fill(v[2], NAN);
    scalars[0] = (blv_scalar)BLV_NORM(&result[0], v[2]);
    scalars[1] = (blv_scalar)BLV_NORM(&result[1], v[0]);
    assert_false(blv_reduce(2, scalars));
    assert_true(isnan(result[0]) && isfinite(result[1]));
    for (int k = 0; k < KINDS; k++) {
        blv_vec_destroy(v[k]);
        blv_space_destroy(space[k]);
    }
    return BLV_OK;
}

static void test_mixed(void **state) {
    (void)state;
    expect_done(reduce_mixed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_no_exchange),
        cmocka_unit_test(test_mixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
