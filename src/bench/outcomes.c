/* What comes of a claim: whether the verdict of all points is also that of half the time, of the
 * seeds alone (of groups of them where there are many), and of published settings. */
#include "bench/results.h"

#include <stdio.h>
#include <string.h>

const char *const bench_outcome_words[] = {[BENCH_HOLDS] = "holds",
                                           [BENCH_HOLDS_AS_PUBLISHED] =
                                               "holds only with published settings",
                                           [BENCH_CANNOT_BE_TOLD] = "cannot be told",
                                           [BENCH_DOES_NOT_HOLD] = "does not hold",
                                           NULL};

/* What some of the points say: all of them, half of the time, and from FIRST_GROUP on groups of
 * seeds. */
enum { ALL = 0, HALF_TIME, FIRST_GROUP, PARTS = FIRST_GROUP + BENCH_GROUPS };

static bool agrees(const bench_results *part, size_t i, const bench_verdict *whole) {
    return part->verdicts[i].is_judged && part->verdicts[i].held == whole->held;
}

static size_t count_groups(const bench_suite *suite) {
    return suite->seeds < BENCH_GROUPS ? (size_t)suite->seeds : BENCH_GROUPS;
}

/* Whether half of the time and the seeds agree with all points; one group of five may differ. */
static bool is_steady(const bench_suite *suite, const bench_results *parts, size_t i,
                      bench_verdict *whole) {
    const size_t groups = count_groups(suite);
    size_t agree = 0;
    for (size_t g = 0; g < groups; g++)
        agree += agrees(&parts[FIRST_GROUP + g], i, whole);
    whole->has_half =
        whole->is_judged && !suite->has_command && parts[HALF_TIME].verdicts[i].is_judged;
    whole->is_reversed = whole->has_half && !agrees(&parts[HALF_TIME], i, whole);
    if (whole->is_judged)
        snprintf(whole->steady, sizeof whole->steady, "%s%zu of %zu %sseeds %s so",
                 suite->has_command   ? ""
                 : !whole->has_half   ? "not judged at half the limit; "
                 : whole->is_reversed ? "the opposite at half the limit; "
                                      : "the same at half the limit; ",
                 agree, groups, suite->seeds > groups ? "groups of " : "",
                 groups == 1 ? "says" : "say");
    return whole->is_judged && !whole->is_reversed && groups - agree <= groups / BENCH_GROUPS;
}

/* The parts, without ALL where `whole` has it. */
static blv_error fill_parts(bench_results parts[PARTS], const bench *b, bool as_published,
                            const bench_results *whole) {
    bench_filter filter = {.share = 1.0, .as_published = as_published};
    if (!whole)
        BLV_CHECK(bench_results_fill(&parts[ALL], b, filter));
    filter.share = 0.5;
    BLV_CHECK(bench_results_fill(&parts[HALF_TIME], b, filter));
    filter.share = 1.0;
    filter.levels = whole ? whole : &parts[ALL];
    for (size_t g = 0; g < count_groups(&b->suite); g++) {
        filter.group = g + 1;
        BLV_CHECK(bench_results_fill(&parts[FIRST_GROUP + g], b, filter));
    }
    return BLV_OK;
}

static bench_outcome settle(const bench_suite *suite, bench_verdict *whole,
                            const bench_results *best, const bench_results *published, size_t i) {
    bench_verdict *other = &published[ALL].verdicts[i];
    if (!is_steady(suite, best, i, whole))
        return BENCH_CANNOT_BE_TOLD;
    if (whole->held || !other->is_judged || !other->held)
        return whole->held ? BENCH_HOLDS : BENCH_DOES_NOT_HOLD;
    if (is_steady(suite, published, i, other))
        return BENCH_HOLDS_AS_PUBLISHED;
    const size_t used = strlen(whole->steady);
    snprintf(whole->steady + used, sizeof whole->steady - used,
             "; with published settings it holds: %s", other->steady);
    return BENCH_CANNOT_BE_TOLD;
}

blv_error bench_settle_claims(bench_results *results) {
    const bench *b = results->bench;
    bench_results best[PARTS] = {{0}}, published[PARTS] = {{0}};
    blv_error error = fill_parts(best, b, false, results);
    if (error == BLV_OK)
        error = fill_parts(published, b, true, NULL);
    for (size_t i = 0; i < results->verdict_count && error == BLV_OK; i++)
        results->verdicts[i].outcome = settle(&b->suite, &results->verdicts[i], best, published, i);
    for (size_t k = 0; k < PARTS; k++) {
        bench_results_free(&best[k]);
        bench_results_free(&published[k]);
    }
    return error;
}
