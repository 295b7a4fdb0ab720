/* Spaces of several ranks: the conformance suite on replicated and spread vectors, the number of
 * exchanges, sums that do not depend on the run, and failures that all ranks learn of. Started with
 * mpirun, by any number of ranks. */
#include "base/rank_exchange.h"
#include "bilevel/mpi.h"
#include "space_conformance.h"

#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static blv_ranks *ranks;

static blv_space *replicated(size_t dim, blv_precision precision) {
    blv_space *space;
    assert_int_equal(blv_space_create_replicated(&space, ranks, dim, precision, 2), BLV_OK);
    return space;
}

static blv_space *spread(size_t dim, blv_precision precision) {
    blv_space *space;
    assert_int_equal(blv_space_create_spread(&space, ranks, dim, NULL, 0, precision, 2), BLV_OK);
    return space;
}

/* Everything but one element in three is on the last rank; some ranks may have none. */
static blv_space *uneven(size_t dim, blv_precision precision) {
    size_t *index = malloc(dim * sizeof *index), local = 0;
    blv_space *space;
    assert_non_null(index);
    for (size_t i = 0; i < dim; i++)
        if ((i % 3 == 0 ? 0 : ranks->count - 1) == ranks->rank)
            index[local++] = i;
    assert_int_equal(blv_space_create_spread(&space, ranks, dim, index, local, precision, 2),
                     BLV_OK);
    free(index);
    return space;
}

static void test_conformance(void **state) {
    static blv_space *(*const kinds[])(size_t, blv_precision) = {replicated, spread, uneven};
    static const size_t dims[] = {1, 2, 1000, 10000};
    (void)state;
    for (size_t k = 0; k < 3; k++)
        for (size_t d = 0; d < 4; d++)
            for (int p = 0; p < 2; p++) {
                blv_space *space = kinds[k](dims[d], p ? BLV_F32 : BLV_F64);
                blv_space *other = kinds[k](7, p ? BLV_F32 : BLV_F64);
                space_conformance(space, other);
                blv_space_destroy(space);
                blv_space_destroy(other);
            }
}

static uint64_t exchanges(void) {
    uint64_t count;
    double seconds;
    blv_mpi_use(ranks, &count, &seconds);
    return count;
}

/* Scalars of both levels in one call: one exchange, none where all vectors are replicated. */
static void test_one_exchange(void **state) {
    blv_space *x = spread(50, BLV_F64), *y = replicated(30, BLV_F64);
    blv_vec *a, *b, *c;
    double ab, aa, cc;
    (void)state;
    assert_int_equal(blv_vec_create(&a, x), BLV_OK);
    assert_int_equal(blv_vec_create(&b, x), BLV_OK);
    assert_int_equal(blv_vec_create(&c, y), BLV_OK);
    blv_vec_fill(a, 2.0);
    blv_vec_fill(b, 3.0);
    blv_vec_fill(c, 1.0);
    const uint64_t before = exchanges();
    assert_true(blv_reduce(BLV_SCALARS(BLV_DOT(&ab, a, b), BLV_NORM(&aa, a), BLV_DOT(&cc, c, c))));
    assert_int_equal(exchanges() - before, ranks->count > 1);
    assert_true(ab == 300.0 && fabs(aa - sqrt(200.0)) < 1e-12 && cc == 30.0);
    assert_true(blv_vec_norm(c) > 5.0);
    assert_int_equal(exchanges() - before, ranks->count > 1);
    blv_vec_destroy(a);
    blv_vec_destroy(b);
    blv_vec_destroy(c);
    blv_space_destroy(x);
    blv_space_destroy(y);
}

/* Sums of few and many values, against integers, whose sums are exact. */
static void test_sums(void **state) {
    static const size_t counts[] = {1, 2, 511, 512, 513, 514, 7841, 100003};
    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        double *values = malloc(counts[c] * sizeof *values);
        assert_non_null(values);
        for (size_t i = 0; i < counts[c]; i++)
            values[i] = (double)(i % 1000) * (ranks->rank + 1);
        assert_true(ranks->sum(ranks->context, counts[c], values));
        for (size_t i = 0; i < counts[c]; i++)
            assert_true(values[i] == (double)(i % 1000) * (ranks->count * (ranks->count + 1) / 2));
        free(values);
    }
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* However many values are summed, no rank can be short of memory for them: the others would wait.
 */
static void test_no_memory(void **state) {
    enum { MANY = 1 << 21 };
    (void)state;
    double *values = malloc(MANY * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < MANY; i++)
        values[i] = (double)(i % 1000);
    const struct mallinfo2 before = mallinfo2();
    assert_true(ranks->sum(ranks->context, MANY, values));
    const struct mallinfo2 after = mallinfo2();
    for (size_t i = 0; i < MANY; i++)
        assert_true(values[i] == (double)(i % 1000) * ranks->count);
    const size_t more = after.uordblks + after.hblkhd - before.uordblks - before.hblkhd;
    assert_true(more < MANY * sizeof *values / 4 || more > SIZE_MAX / 2); /* what MPI takes */
    free(values);
}
#endif

/* Bitwise the same on all ranks, however the sums are rounded. */
static void test_same_bits(void **state) {
    static const size_t counts[] = {100, 5000};
    (void)state;
    for (size_t c = 0; c < 2; c++) {
        const size_t n = counts[c];
        double *mine = malloc(2 * n * sizeof *mine), *first = mine + n;
        assert_non_null(mine);
        for (size_t i = 0; i < n; i++)
            mine[i] = sin((double)(i + 1) * (ranks->rank + 1)) * pow(10.0, (double)(i % 30));
        assert_true(ranks->sum(ranks->context, n, mine));
        memcpy(first, mine, n * sizeof *mine);
        assert_true(ranks->broadcast(ranks->context, 0, first, n * sizeof *first));
        assert_memory_equal(first, mine, n * sizeof *mine);
        free(mine);
    }
}

/* One rank's failure is everybody's: codes of oracles, errors with their message. */
static void test_failures(void **state) {
    const int last = ranks->count - 1;
    double values[2] = {1.0, 2.0};
    blv_message why;
    (void)state;
    assert_int_equal(blv_ranks_sum(ranks, 0, 2, values), 0);
    assert_true(values[0] == ranks->count && values[1] == 2.0 * ranks->count);
    assert_true(blv_ranks_sum(ranks, ranks->rank == last ? 3 : 0, 2, values) > 0);
    assert_true(blv_ranks_sum(ranks, ranks->rank == last ? -3 : 1, 2, values) < 0);
    const bool fails = ranks->rank == last;
    strcpy(why.text, fails ? "line 7: no number" : "");
    assert_int_equal(blv_ranks_agree(ranks, fails ? BLV_E_FORMAT : BLV_OK, &why), BLV_E_FORMAT);
    char expected[60];
    snprintf(expected, sizeof expected, "line 7: no number (rank %d)", last);
    assert_string_equal(why.text, last == 0 ? "line 7: no number" : expected);
    assert_int_equal(blv_ranks_agree(ranks, BLV_OK, &why), BLV_OK);
}

/* The code goes with few and with many values, which are the sums all the same. */
static void test_codes(void **state) {
    static const size_t counts[] = {0, 1, 2047, 2048, 2049, 300001};
    const int last = ranks->count - 1;
    double *values = malloc(300001 * sizeof *values);
    (void)state;
    assert_non_null(values);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int code = -1; code <= 1; code++) {
            for (size_t i = 0; i < counts[c]; i++)
                values[i] = (double)i;
            assert_int_equal(
                blv_ranks_sum(ranks, ranks->rank == last ? code : 0, counts[c], values), code);
            for (size_t i = 0; i < counts[c]; i++)
                assert_true(values[i] == (double)i * ranks->count);
        }
    free(values);
}

/* Ranks that are not at the same exchange: it fails on all of them, and so does what follows. */
static void test_out_of_step(void **state) {
    enum { MANY = 1 << 20 };
    static double values[MANY];
    blv_message why;
    (void)state;
    for (int kind = 0; kind < 4 && ranks->count > 1; kind++) {
        const bool last = ranks->rank == ranks->count - 1;
        blv_ranks *own;
        bool well;
        assert_int_equal(blv_mpi_open(&own, MPI_COMM_WORLD, &why), BLV_OK);
        assert_true(own->broadcast(own->context, 0, values, sizeof values));
        if (!last)
            well = own->sum(own->context, kind == 1 ? MANY : 3, values);
        else if (kind < 2) /* another kind of exchange, of as many bytes where kind is 0 */
            well = own->broadcast(own->context, 0, values, 3 * sizeof *values);
        else if (kind == 2) /* other numbers */
            well = own->sum(own->context, 2, values);
        else /* one that the others have made */
            well = own->broadcast(own->context, own->rank, values, 0) &&
                   own->sum(own->context, 3, values);
        /* a rank that had all it waited for learns of it at the next exchange */
        well = well && own->sum(own->context, 1, values);
        assert_false(well);
        assert_false(own->sum(own->context, 1, values));
        assert_false(own->broadcast(own->context, 0, values, 1));
        blv_mpi_close(own);
    }
}

/* Rank 0 has the word. */
static void test_agree(void **state) {
    blv_space *y = replicated(3, BLV_F64);
    (void)state;
    assert_true(blv_space_agree(y, 5.0 + ranks->rank) == 5.0);
    blv_space_destroy(y);
}

static void test_refused(void **state) {
    blv_space *space = NULL;
    (void)state;
    assert_int_equal(blv_space_create_spread(&space, NULL, 3, NULL, 0, BLV_F64, 1), BLV_E_ARGUMENT);
    assert_int_equal(
        blv_space_create_spread(&space, ranks, 3, (const size_t[]){2, 1}, 2, BLV_F64, 1),
        BLV_E_ARGUMENT);
    assert_int_equal(blv_space_create_spread(&space, ranks, 3, (const size_t[]){3}, 1, BLV_F64, 1),
                     BLV_E_ARGUMENT);
    assert_null(space);
    /* on one rank only: rejected on all of them */
    const size_t second = ranks->rank == ranks->count - 1 ? 3 : 1;
    assert_int_equal(
        blv_space_create_spread(&space, ranks, 3, (const size_t[]){0, second}, 2, BLV_F64, 1),
        BLV_E_ARGUMENT);
    assert_null(space);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_out_of_step),
        cmocka_unit_test(test_agree),
        cmocka_unit_test(test_one_exchange),
        cmocka_unit_test(test_conformance),
        cmocka_unit_test(test_refused),
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(test_no_memory),
#endif
    };
    blv_message why;
    if (blv_mpi_start(&ranks, &why) != BLV_OK)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    blv_mpi_leave(ranks, failed, NULL);
    return failed;
}
