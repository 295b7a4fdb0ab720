/* The random numbers against published answers and against chance; the samplers against what they
 * promise: every sample once an epoch, nothing twice, the first epoch in random order too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "blv_testing.h"
#include "core/sampler.h"

/* ---- Random numbers ---- */

/* Random123, kat_vectors, philox4x32-10. */
static void test_philox_known_answers(void **state) {
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t out[4];
        blv_philox(known[i].counter, known[i].key, out);
        assert_memory_equal(out, known[i].out, sizeof out);
    }
}

enum { DRAWS = 100000, CELLS = 100 };

/* Mean and variance within five standard errors; cells by chi-square, whose mean is CELLS - 1 and
 * whose standard deviation is about 14. */
static void test_uniform(void **state) {
    (void)state;
    blv_stream stream = blv_stream_make(7, "test uniform");
    double mean = 0.0, square = 0.0, chi = 0.0;
    size_t cells[CELLS] = {0};
    for (uint64_t n = 0; n < DRAWS; n++) {
        double u = blv_random_uniform(&stream, n);
        assert_true(u >= 0.0 && u < 1.0);
        mean += u / DRAWS;
        square += (u - 0.5) * (u - 0.5) / DRAWS;
        cells[(size_t)(u * CELLS)]++;
    }
    for (size_t i = 0; i < CELLS; i++) {
        double off = (double)cells[i] - (double)DRAWS / CELLS;
        chi += off * off / ((double)DRAWS / CELLS);
    }
    assert_near(mean, 0.5, 5.0 * sqrt(1.0 / 12.0 / DRAWS));
    assert_near(square, 1.0 / 12.0, 5.0 * sqrt(1.0 / 180.0 / DRAWS));
    assert_near(chi, CELLS - 1.0, 75.0);
}

/* Moments of the normal: 0, 1, 0, 3, with variances 1, 2, 15, 96 of their terms; and the share
 * beyond one standard deviation. */
static void test_normal(void **state) {
    (void)state;
    blv_stream stream = blv_stream_make(8, "test normal");
    double moment[5] = {0}, beyond = 0.0, *draws = make_numbers(DRAWS);
    blv_random_normals(&stream, 0, DRAWS, draws);
    for (size_t n = 0; n < DRAWS; n++) {
        double z = draws[n];
        assert_true(isfinite(z));
        moment[1] += z / DRAWS;
        moment[2] += z * z / DRAWS;
        moment[3] += z * z * z / DRAWS;
        moment[4] += z * z * z * z / DRAWS;
        beyond += fabs(z) > 1.0 ? 1.0 / DRAWS : 0.0;
    }
    assert_near(moment[1], 0.0, 5.0 * sqrt(1.0 / DRAWS));
    assert_near(moment[2], 1.0, 5.0 * sqrt(2.0 / DRAWS));
    assert_near(moment[3], 0.0, 5.0 * sqrt(15.0 / DRAWS));
    assert_near(moment[4], 3.0, 5.0 * sqrt(96.0 / DRAWS));
    assert_near(beyond, 0.317310508, 5.0 * sqrt(0.2166 / DRAWS));
    /* any number can be had alone, and in any order */
    double part[3];
    blv_random_normals(&stream, 1234, 3, part);
    assert_memory_equal(part, draws + 1234, sizeof part);
    assert_true(blv_random_normal(&stream, 99) == draws[99]);
    free(draws);
}

static void test_below(void **state) {
    (void)state;
    blv_stream stream = blv_stream_make(9, "test below");
    static const uint64_t bounds[] = {1, 2, 3, 7, 10, 64, 1000};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        const uint64_t bound = bounds[i];
        size_t *hits = calloc(bound, sizeof *hits);
        assert_non_null(hits);
        for (uint64_t n = 0; n < DRAWS; n++) {
            uint64_t k = blv_random_below(&stream, n, bound);
            assert_true(k < bound);
            hits[k]++;
        }
        double p = 1.0 / (double)bound, allowed = 6.0 * sqrt(p * (1.0 - p) * DRAWS);
        for (uint64_t k = 0; k < bound; k++)
            assert_near((double)hits[k], p * DRAWS, allowed);
        free(hits);
    }
    /* bounds near and beyond 32 bits: the halves are met equally often */
    static const uint64_t large[] = {UINT32_MAX, (uint64_t)UINT32_MAX + 1, (uint64_t)3 << 40};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        double upper = 0.0;
        for (uint64_t n = 0; n < DRAWS; n++) {
            uint64_t k = blv_random_below(&stream, n, large[i]);
            assert_true(k < large[i]);
            upper += k >= large[i] / 2 ? 1.0 / DRAWS : 0.0;
        }
        assert_near(upper, 0.5, 5.0 * sqrt(0.25 / DRAWS));
    }
}

/* Two streams are independent when their numbers are not correlated. */
static double correlation(blv_stream a, blv_stream b) {
    double sum = 0.0;
    for (uint64_t n = 0; n < DRAWS; n++)
        sum += blv_random_normal(&a, n) * blv_random_normal(&b, n) / DRAWS;
    return sum;
}

static void test_streams_are_independent(void **state) {
    (void)state;
    const double allowed = 5.0 / sqrt(DRAWS);
    blv_stream f = blv_stream_make(1, "f batch"), g = blv_stream_make(1, "g batch");
    blv_stream next = blv_stream_make(2, "f batch"), far = blv_stream_make(1ull << 40, "f batch");
    assert_near(correlation(f, g), 0.0, allowed);
    assert_near(correlation(f, next), 0.0, allowed);
    assert_near(correlation(f, far), 0.0, allowed);
    assert_near(correlation(f, blv_stream_make(1, "f batch")), 1.0, 5.0 * sqrt(2.0) / sqrt(DRAWS));
    assert_true(blv_random_bits(&f, 0) != blv_random_bits(&f, 1));
    assert_true(blv_random_bits(&f, 0) != blv_random_bits(&f, 1ull << 32));
}

static void assert_permutation(size_t count, const size_t *order) {
    char *seen = calloc(count, 1);
    assert_non_null(seen);
    for (size_t i = 0; i < count; i++) {
        assert_true(order[i] < count && !seen[order[i]]);
        seen[order[i]] = 1;
    }
    free(seen);
}

static void test_permutation(void **state) {
    (void)state;
    blv_stream stream = blv_stream_make(3, "test permutation");
    static const size_t counts[] = {1, 2, 3, 10, 1000};
    size_t order[1000], other[1000];
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (uint64_t round = 0; round < 20; round++) {
            blv_random_permutation(&stream, round, counts[i], order);
            assert_permutation(counts[i], order);
        }
    blv_random_permutation(&stream, 0, 1000, order);
    blv_random_permutation(&stream, 1, 1000, other);
    assert_memory_not_equal(order, other, sizeof order);
    blv_random_permutation(&stream, 0, 1000, other);
    assert_memory_equal(order, other, sizeof order);
    /* every element comes to every place equally often: 5 x 5 cells over 20,000 rounds */
    size_t hits[5][5] = {{0}};
    for (uint64_t round = 0; round < 20000; round++) {
        blv_random_permutation(&stream, round, 5, order);
        for (size_t i = 0; i < 5; i++)
            hits[i][order[i]]++;
    }
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 5; j++)
            assert_near((double)hits[i][j], 4000.0, 6.0 * sqrt(4000.0 * 0.8));
}

/* ---- Samplers ---- */

static blv_sampler *make_sampler(blv_sampler_kind kind, size_t samples, size_t batch,
                                 bool contiguous, uint64_t seed, const char *stream) {
    blv_sampler *sampler = NULL;
    const blv_sampler_spec spec = {.kind = kind,
                                   .samples = samples,
                                   .batch = batch,
                                   .contiguous = contiguous,
                                   .seed = seed,
                                   .stream = stream};
    assert_int_equal(blv_sampler_create(&sampler, &spec), BLV_OK);
    return sampler;
}

static size_t sample_of(const blv_batch *batch, size_t i) {
    return batch->index ? batch->index[i] : batch->first + i;
}

/* The samples of one epoch in the order in which they come; checks the sizes of the batches. */
static void read_epoch(blv_sampler *sampler, size_t samples, size_t size, size_t *out) {
    size_t blocks = (samples + size - 1) / size, shorter = 0, count = 0;
    for (size_t k = 0; k < blocks; k++) {
        const blv_batch *batch = blv_sampler_next(sampler);
        assert_non_null(batch);
        assert_true(batch->count == size || batch->count == samples % size);
        shorter += batch->count < size;
        for (size_t i = 0; i < batch->count && count < samples; i++)
            out[count++] = sample_of(batch, i);
    }
    assert_int_equal(shorter, samples % size != 0);
    assert_int_equal(count, samples);
}

static bool is_identity(size_t count, const size_t *order) {
    for (size_t i = 0; i < count; i++)
        if (order[i] != i)
            return false;
    return true;
}

enum { SAMPLES_MAX = 103 };

static void test_epochs(void **state) {
    (void)state;
    static const struct {
        blv_sampler_kind kind;
        bool contiguous;
    } kinds[] = {
        {BLV_SAMPLER_FIXED, false}, {BLV_SAMPLER_FIXED, true}, {BLV_SAMPLER_SHUFFLE, false}};
    static const size_t shapes[][2] = {{103, 10}, {100, 10}, {103, 7}, {64, 63}, {9, 1}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            size_t samples = shapes[s][0], size = shapes[s][1], changed = 0;
            size_t order[SAMPLES_MAX], before[SAMPLES_MAX] = {0};
            blv_sampler *sampler =
                make_sampler(kinds[k].kind, samples, size, kinds[k].contiguous, 5, "f batch");
            for (int epoch = 0; epoch < 6; epoch++) {
                read_epoch(sampler, samples, size, order);
                assert_permutation(samples, order);
                if (epoch == 0 && samples > 2 * size)
                    assert_false(is_identity(samples, order));
                changed += epoch > 0 && memcmp(order, before, samples * sizeof *order) != 0;
                memcpy(before, order, samples * sizeof *order);
            }
            assert_true(samples > 2 * size ? changed == 5 : changed >= 1);
            blv_sampler_destroy(sampler);
        }
}

/* All blocks are full, and no sample comes twice in an epoch; with samples in random order already
 * a block is a range, or an index where it wraps around. */
static void test_full_blocks(void **state) {
    (void)state;
    static const size_t shapes[][2] = {{103, 10}, {100, 10}, {103, 7}, {65, 64}, {7, 3}, {9, 1}};
    for (int contiguous = 0; contiguous < 2; contiguous++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            size_t samples = shapes[s][0], size = shapes[s][1], wrapped = 0;
            blv_sampler *sampler =
                make_sampler(BLV_SAMPLER_BLOCK, samples, size, contiguous, 5, "f batch");
            for (int epoch = 0; epoch < 50; epoch++) {
                bool seen[SAMPLES_MAX] = {false};
                for (size_t k = 0; k < samples / size; k++) {
                    const blv_batch *batch = blv_sampler_next(sampler);
                    assert_int_equal(batch->count, size);
                    assert_true(!contiguous || batch->index || batch->first + size <= samples);
                    assert_true(batch->next_first + batch->next_count <= samples);
                    wrapped += contiguous && batch->index;
                    for (size_t i = 0; i < size; i++) {
                        size_t sample = sample_of(batch, i);
                        assert_true(sample < samples && !seen[sample]);
                        seen[sample] = true;
                    }
                }
            }
            assert_int_equal(wrapped > 0, contiguous && samples % size != 0);
            blv_sampler_destroy(sampler);
        }
}

/* The mean over many epochs of the means of batches is the mean of all, within five standard errors
 * of independent epochs. The first and the last samples are far from the others, so that one weight
 * that is wrong shows. */
static void test_unbiased(void **state) {
    (void)state;
    static const size_t shapes[][2] = {{65, 64}, {1000, 64}, {7, 3}, {10, 5}};
    static const blv_sampler_kind kinds[] = {BLV_SAMPLER_BLOCK, BLV_SAMPLER_IID,
                                             BLV_SAMPLER_SHUFFLE};
    enum { EPOCHS = 4000 };
    for (size_t c = 0; c < 6; c++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            size_t samples = shapes[s][0], size = shapes[s][1];
            size_t blocks =
                kinds[c / 2] == BLV_SAMPLER_SHUFFLE ? (samples - 1) / size + 1 : samples / size;
            blv_sampler *sampler =
                make_sampler(kinds[c / 2], samples, size, c % 2 == 1, 5 + c, "f batch");
            double all = 0.0, sum = 0.0, squares = 0.0;
            for (size_t i = 0; i < samples; i++)
                all += sin((double)i) + (i == 0 || i + 1 == samples ? 10.0 : 0.0);
            all /= (double)samples;
            for (int epoch = 0; epoch < EPOCHS; epoch++) {
                double mean = 0.0;
                for (size_t k = 0; k < blocks; k++) {
                    const blv_batch *batch = blv_sampler_next(sampler);
                    for (size_t j = 0; j < batch->count; j++) {
                        size_t i = sample_of(batch, j);
                        mean += (sin((double)i) + (i == 0 || i + 1 == samples ? 10.0 : 0.0)) /
                                (double)(batch->count * blocks);
                    }
                }
                sum += mean / EPOCHS;
                squares += (mean - all) * (mean - all) / EPOCHS;
            }
            assert_near(sum, all, 5.0 * sqrt(squares / EPOCHS) + 1e-12);
            blv_sampler_destroy(sampler);
        }
}

/* Lists that a device copies: indices lie in one, it is another once an epoch at most (twice where
 * the sampler is put back), its number changes with its contents and only then, and the samples are
 * those of a sampler that draws batch by batch. */
static void test_lists(void **state) {
    (void)state;
    enum { SAMPLES = 103, BATCH = 10, STEPS = 200 };
    static const blv_sampler_kind kinds[] = {BLV_SAMPLER_BLOCK, BLV_SAMPLER_IID,
                                             BLV_SAMPLER_SHUFFLE};
    for (size_t k = 0; k < 3; k++) {
        blv_sampler_spec spec = {
            .kind = kinds[k], .samples = SAMPLES, .batch = BATCH, .seed = 5, .stream = "g batch"};
        blv_sampler *one, *whole;
        assert_int_equal(blv_sampler_create(&one, &spec), BLV_OK);
        spec.whole_lists = true;
        assert_int_equal(blv_sampler_create(&whole, &spec), BLV_OK);
        size_t copy[2 * SAMPLES] = {0}, lists = 0, steps = 0;
        uint64_t number = 0;
        double position[BLV_SAMPLER_NUMBERS] = {0.0};
        for (int pass = 0; pass < 2; pass++) {
            for (size_t i = 0; i < STEPS; i++, steps++) {
                if (pass == 0 && i == 57)
                    blv_sampler_get(whole, position);
                const blv_batch *a = blv_sampler_next(one), *b = blv_sampler_next(whole);
                assert_int_equal(a->count, b->count);
                assert_memory_equal(a->index, b->index, a->count * sizeof *a->index);
                const blv_index_list *list = b->list;
                assert_non_null(list);
                assert_true(list->count <= sizeof copy / sizeof *copy);
                assert_true(b->index >= list->begin &&
                            b->index + b->count <= list->begin + list->count);
                lists += list->number != number;
                if (list->number != number)
                    memcpy(copy, list->begin, list->count * sizeof *copy);
                number = list->number;
                assert_memory_equal(copy, list->begin, list->count * sizeof *copy);
            }
            if (pass == 0) {
                blv_sampler_put(one, position);
                blv_sampler_put(whole, position);
            }
        }
        assert_true(lists <= steps / (SAMPLES / BATCH) + 2);
        blv_sampler_destroy(one);
        blv_sampler_destroy(whole);
    }
}

/* A fixed block is the same set of samples in every epoch, and with samples in random order already
 * it is a range. */
static void test_blocks(void **state) {
    (void)state;
    for (int contiguous = 0; contiguous < 2; contiguous++) {
        blv_sampler *sampler = make_sampler(BLV_SAMPLER_FIXED, 50, 8, contiguous, 11, "g batch");
        size_t block_of[50];
        for (size_t k = 0; k < 7; k++) {
            const blv_batch *batch = blv_sampler_next(sampler);
            assert_int_equal(batch->index == NULL, contiguous);
            if (contiguous)
                assert_int_equal(batch->first % 8, 0);
            for (size_t i = 0; i < batch->count; i++)
                block_of[sample_of(batch, i)] = k;
        }
        for (size_t k = 0; k < 28; k++) {
            const blv_batch *batch = blv_sampler_next(sampler);
            for (size_t i = 1; i < batch->count; i++)
                assert_int_equal(block_of[sample_of(batch, i)], block_of[sample_of(batch, 0)]);
        }
        blv_sampler_destroy(sampler);
    }
}

/* In a shuffle, which samples come together changes from epoch to epoch. */
static void test_shuffle_mixes(void **state) {
    (void)state;
    blv_sampler *sampler = make_sampler(BLV_SAMPLER_SHUFFLE, 50, 10, false, 11, "g batch");
    size_t first[50], second[50], together = 0;
    read_epoch(sampler, 50, 10, first);
    read_epoch(sampler, 50, 10, second);
    for (size_t i = 0; i < 10; i++)
        for (size_t j = 0; j < 10; j++)
            together += first[i] == second[j];
    assert_true(together < 10);
    blv_sampler_destroy(sampler);
}

static void test_iid(void **state) {
    (void)state;
    blv_sampler *sampler = make_sampler(BLV_SAMPLER_IID, 20, 6, false, 2, "f batch");
    size_t hits[20] = {0}, repeated = 0;
    for (size_t k = 0; k < 10000; k++) {
        const blv_batch *batch = blv_sampler_next(sampler);
        assert_int_equal(batch->count, 6);
        assert_non_null(batch->index);
        for (size_t i = 0; i < 6; i++) {
            assert_true(batch->index[i] < 20);
            hits[batch->index[i]]++;
            repeated += i > 0 && batch->index[i] == batch->index[i - 1];
        }
    }
    for (size_t i = 0; i < 20; i++)
        assert_near((double)hits[i], 3000.0, 6.0 * sqrt(3000.0 * 0.95));
    assert_near((double)repeated, 2500.0, 6.0 * sqrt(2500.0 * 0.95)); /* with replacement */
    blv_sampler_destroy(sampler);
}

/* 1 when the first batches of two samplers are all the same. */
static bool same_batches(blv_sampler *a, blv_sampler *b) {
    bool same = true;
    for (size_t k = 0; k < 30; k++) {
        const blv_batch *p = blv_sampler_next(a), *q = blv_sampler_next(b);
        same = same && p->count == q->count;
        for (size_t i = 0; same && i < p->count; i++)
            same = sample_of(p, i) == sample_of(q, i);
    }
    blv_sampler_destroy(a);
    blv_sampler_destroy(b);
    return same;
}

static void test_seeds_and_names(void **state) {
    (void)state;
    static const blv_sampler_kind kinds[] = {BLV_SAMPLER_BLOCK, BLV_SAMPLER_IID,
                                             BLV_SAMPLER_SHUFFLE};
    for (size_t k = 0; k < 3; k++) {
        assert_true(same_batches(make_sampler(kinds[k], 60, 7, false, 4, "f batch"),
                                 make_sampler(kinds[k], 60, 7, false, 4, "f batch")));
        assert_false(same_batches(make_sampler(kinds[k], 60, 7, false, 4, "f batch"),
                                  make_sampler(kinds[k], 60, 7, false, 5, "f batch")));
        assert_false(same_batches(make_sampler(kinds[k], 60, 7, false, 4, "f batch"),
                                  make_sampler(kinds[k], 60, 7, false, 4, "g batch")));
    }
}

static void test_whole_sum(void **state) {
    (void)state;
    static const blv_sampler_kind kinds[] = {BLV_SAMPLER_BLOCK, BLV_SAMPLER_IID,
                                             BLV_SAMPLER_SHUFFLE};
    static const size_t shapes[][2] = {{10, 0}, {10, 10}, {10, 11}, {1, 1}, {1, 64}};
    for (size_t k = 0; k < 3; k++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            blv_sampler *sampler =
                make_sampler(kinds[k], shapes[s][0], shapes[s][1], false, 1, "f batch");
            for (int i = 0; i < 3; i++)
                assert_null(blv_sampler_next(sampler));
            blv_sampler_destroy(sampler);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox_known_answers),
        cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_normal),
        cmocka_unit_test(test_below),
        cmocka_unit_test(test_streams_are_independent),
        cmocka_unit_test(test_permutation),
        cmocka_unit_test(test_epochs),
        cmocka_unit_test(test_full_blocks),
        cmocka_unit_test(test_unbiased),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_shuffle_mixes),
        cmocka_unit_test(test_iid),
        cmocka_unit_test(test_seeds_and_names),
        cmocka_unit_test(test_whole_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
