/* What comes of a claim: whether the verdict of all points is also that of half the time, of the
 * seeds alone (of groups of them where there are many), and of published settings. */
#include "bench/results.h"

#include "bilevel/solver.h"

#include <stdio.h>

const char *const bench_outcome_words[] = {[BENCH_HOLDS] = "holds",
                                           [BENCH_HOLDS_AS_PUBLISHED] =
                                               "holds only with published settings",
                                           [BENCH_CANNOT_BE_TOLD] = "cannot be told",
                                           [BENCH_DOES_NOT_HOLD] = "does not hold",
                                           NULL};

/* Parts 1 to BENCH_GROUPS are the groups. */
enum { HALF_TIME = 0, AS_PUBLISHED = BENCH_GROUPS + 1, PARTS };

static bool agrees(const bench_results *part, size_t i, const bench_verdict *whole) {
    return part->verdicts[i].is_judged && part->verdicts[i].held == whole->held;
}

static void settle(const bench_suite *suite, bench_verdict *whole, const bench_results *parts,
                   size_t i) {
    const size_t groups = suite->seeds < BENCH_GROUPS ? (size_t)suite->seeds : BENCH_GROUPS;
    size_t agree = 0;
    for (size_t g = 1; g <= groups; g++)
        agree += agrees(&parts[g], i, whole);
    whole->has_half =
        whole->is_judged && !suite->has_command && parts[HALF_TIME].verdicts[i].is_judged;
    whole->is_reversed = whole->has_half && !agrees(&parts[HALF_TIME], i, whole);
    const bool is_noise = groups - agree > groups / BENCH_GROUPS; /* one of five may differ */
    const bench_verdict *published = &parts[AS_PUBLISHED].verdicts[i];
    whole->outcome = !whole->is_judged || whole->is_reversed || is_noise ? BENCH_CANNOT_BE_TOLD
                     : whole->held                                       ? BENCH_HOLDS
                     : published->is_judged && published->held           ? BENCH_HOLDS_AS_PUBLISHED
                                                                         : BENCH_DOES_NOT_HOLD;
    if (whole->is_judged)
        snprintf(whole->steady, sizeof whole->steady, "%s%zu of %zu %sseeds %s so",
                 suite->has_command   ? ""
                 : !whole->has_half   ? "not judged at half the limit; "
                 : whole->is_reversed ? "the opposite at half the limit; "
                                      : "the same at half the limit; ",
                 agree, groups, suite->seeds > groups ? "groups of " : "",
                 groups == 1 ? "says" : "say");
}

blv_error bench_settle_claims(bench_results *results) {
    bench_results parts[PARTS] = {{0}};
    blv_error error = BLV_OK;
    for (size_t k = 0; k < PARTS && error == BLV_OK; k++)
        error =
            bench_results_fill(&parts[k], results->bench,
                               (bench_filter){.share = k == HALF_TIME ? 0.5 : 1.0,
                                              .group = k == AS_PUBLISHED ? 0 : k,
                                              .levels = k > 0 && k <= BENCH_GROUPS ? results : NULL,
                                              .as_published = k == AS_PUBLISHED});
    for (size_t i = 0; i < results->verdict_count && error == BLV_OK; i++)
        settle(&results->bench->suite, &results->verdicts[i], parts, i);
    for (size_t k = 0; k < PARTS; k++)
        bench_results_free(&parts[k]);
    return error;
}
