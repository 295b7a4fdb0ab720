/* The rules that call labels suspect, against their definitions written out slowly, and on mixtures
 * whose wrong labels are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "learn/label_threshold.h"

#include <math.h>
#include <stdlib.h>

static blv_label_threshold from_clean(size_t count, const double *probability, size_t clean_count,
                                      const double *clean, double level) {
    blv_label_threshold found;
    assert_int_equal(
        blv_threshold_from_clean(count, probability, clean_count, clean, level, &found), BLV_OK);
    return found;
}

static blv_label_threshold alone(size_t count, size_t classes, const double *probability,
                                 const int32_t *label) {
    blv_label_threshold found;
    assert_int_equal(blv_threshold_alone(count, classes, probability, label, &found), BLV_OK);
    return found;
}

static blv_label_threshold by_count(size_t count, const double *probability, size_t suspects) {
    blv_label_threshold found;
    assert_int_equal(blv_threshold_by_count(count, probability, suspects, &found), BLV_OK);
    return found;
}

enum { TRAIN = 1000, CLEAN = 300 };

static uint64_t seed;

static double uniform(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / 9007199254740992.0;
}

/* Right labels have probabilities near 1, wrong ones near 0; some of both are in between. */
static double right_label(void) {
    return 1.0 - pow(uniform(), 3.0);
}

static double wrong_label(void) {
    return pow(uniform(), 6.0);
}

static size_t count_below(const double *values, size_t count, double threshold) {
    size_t below = 0;
    for (size_t i = 0; i < count; i++)
        below += values[i] < threshold;
    return below;
}

/* The largest set of smallest probabilities whose expected false alarms are within the level. */
static size_t slow_rule(const double *p, const double *clean, double level) {
    double right = 0.0;
    size_t best = 0;
    double p_value[TRAIN];
    for (size_t i = 0; i < TRAIN; i++) {
        size_t as_small = 0;
        for (size_t j = 0; j < CLEAN; j++)
            as_small += clean[j] <= p[i];
        p_value[i] = (1.0 + (double)as_small) / (CLEAN + 1.0);
        right += p_value[i] > 0.5;
    }
    right = fmin(1.0, (right + 1.0) / (TRAIN / 2.0));
    for (size_t i = 0; i < TRAIN; i++) {
        size_t suspects = 0;
        for (size_t k = 0; k < TRAIN; k++)
            suspects += p[k] <= p[i];
        if (right * TRAIN * p_value[i] <= level * (double)suspects && suspects > best)
            best = suspects;
    }
    return best;
}

static void test_rule_from_clean_rows(void **state) {
    (void)state;
    for (seed = 1; seed <= 40;) {
        uint64_t begin = seed;
        double share = 0.1 * (double)(begin % 6), p[TRAIN], clean[CLEAN];
        for (size_t i = 0; i < TRAIN; i++)
            p[i] = (double)i < share * TRAIN ? wrong_label() : right_label();
        for (size_t j = 0; j < CLEAN; j++)
            clean[j] = right_label();
        blv_label_threshold verdict = from_clean(TRAIN, p, CLEAN, clean, 0.07);
        assert_int_equal(count_below(p, TRAIN, verdict.threshold), slow_rule(p, clean, 0.07));
        assert_true(fabs(verdict.wrong - share) < 0.25);
        verdict = from_clean(TRAIN, p, CLEAN, clean, 0.0);
        size_t expected = slow_rule(p, clean, 0.04);
        expected = expected ? expected : slow_rule(p, clean, 0.1);
        expected = expected ? expected : slow_rule(p, clean, 0.2);
        assert_int_equal(count_below(p, TRAIN, verdict.threshold), expected);
        seed = begin + 1;
    }
}

/* No wrong labels: hardly ever a suspect. */
static void test_nothing_to_find(void **state) {
    (void)state;
    size_t alarms = 0;
    for (uint64_t round = 0; round < 200; round++) {
        double p[TRAIN], clean[CLEAN];
        seed = 1000 + round;
        for (size_t i = 0; i < TRAIN; i++)
            p[i] = right_label();
        for (size_t j = 0; j < CLEAN; j++)
            clean[j] = right_label();
        blv_label_threshold verdict = from_clean(TRAIN, p, CLEAN, clean, 0.0);
        alarms += count_below(p, TRAIN, verdict.threshold) > 0;
    }
    assert_true(alarms <= 20);
}

/* The share of false alarms is what was aimed at, on average. */
static void test_false_alarms(void **state) {
    (void)state;
    double false_share = 0.0, found = 0.0;
    enum { ROUNDS = 100, WRONG = 400 };
    for (uint64_t round = 0; round < ROUNDS; round++) {
        double p[TRAIN], clean[CLEAN];
        seed = 5000 + round;
        for (size_t i = 0; i < TRAIN; i++)
            p[i] = i < WRONG ? wrong_label() : right_label();
        for (size_t j = 0; j < CLEAN; j++)
            clean[j] = right_label();
        blv_label_threshold verdict = from_clean(TRAIN, p, CLEAN, clean, 0.1);
        size_t caught = count_below(p, WRONG, verdict.threshold);
        size_t suspects = count_below(p, TRAIN, verdict.threshold);
        false_share += (double)(suspects - caught) / (double)suspects / ROUNDS;
        found += (double)caught / WRONG / ROUNDS;
    }
    assert_true(false_share > 0.05 && false_share < 0.13);
    assert_true(found > 0.65);
}

static void test_count_and_ties(void **state) {
    (void)state;
    const double p[] = {0.5, 0.1, 0.3, 0.3, 0.9};
    const size_t expected[] = {0, 1, 3, 3, 4, 5};
    for (size_t suspects = 0; suspects <= 5; suspects++) {
        blv_label_threshold verdict = by_count(5, p, suspects);
        assert_int_equal(count_below(p, 5, verdict.threshold), expected[suspects]);
    }
}

/* Confident learning by hand: means of own class 0.6, 0.75; row 2 is likelier to be of class 1, and
 * row 5 is unsure of both. */
static void test_rule_alone(void **state) {
    (void)state;
    const double p[] = {0.9, 0.1, 0.8, 0.2, 0.1, 0.9, 0.2, 0.8, 0.1, 0.9, 0.45, 0.55};
    const int32_t label[] = {0, 0, 0, 1, 1, 1};
    blv_label_threshold verdict = alone(6, 2, p, label);
    assert_true(fabs(verdict.wrong - 1.0 / 6.0) <= 1e-15);
    assert_true(verdict.threshold > 0.1 && verdict.threshold <= 0.55);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rule_from_clean_rows), cmocka_unit_test(test_nothing_to_find),
        cmocka_unit_test(test_false_alarms), cmocka_unit_test(test_count_and_ties),
        cmocka_unit_test(test_rule_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
