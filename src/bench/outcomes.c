/* What comes of a claim: whether the verdict of all points is also that of half the time, of each
 * half of the seeds, and of published settings. */
#include "bench/results.h"

#include "bilevel/solver.h"

#include <stdio.h>

const char *const bench_outcome_words[] = {[BENCH_HOLDS] = "holds",
                                           [BENCH_HOLDS_AS_PUBLISHED] =
                                               "holds only with published settings",
                                           [BENCH_CANNOT_BE_TOLD] = "cannot be told",
                                           [BENCH_DOES_NOT_HOLD] = "does not hold",
                                           NULL};

enum { HALF_TIME, EVEN_SEEDS, ODD_SEEDS, AS_PUBLISHED, PARTS };
static const bench_filter filters[PARTS] = {[HALF_TIME] = {.share = 0.5},
                                            [EVEN_SEEDS] = {.share = 1.0, .seeds = BENCH_EVEN},
                                            [ODD_SEEDS] = {.share = 1.0, .seeds = BENCH_ODD},
                                            [AS_PUBLISHED] = {.share = 1.0, .as_published = true}};

static bool differs(const bench_verdict *part, const bench_verdict *whole) {
    return part->is_judged && part->held != whole->held;
}

static void settle(const bench_suite *suite, bench_verdict *whole, bench_results parts[PARTS],
                   size_t i) {
    const bench_verdict *part[PARTS];
    for (int k = 0; k < PARTS; k++)
        part[k] = &parts[k].verdicts[i];
    const bool other_time = !suite->has_command && differs(part[HALF_TIME], whole);
    const bool other_seeds =
        suite->seeds > 1 && (differs(part[EVEN_SEEDS], whole) || differs(part[ODD_SEEDS], whole));
    const bool as_published = part[AS_PUBLISHED]->is_judged && part[AS_PUBLISHED]->held;
    whole->outcome = !whole->is_judged || other_time || other_seeds ? BENCH_CANNOT_BE_TOLD
                     : whole->held                                  ? BENCH_HOLDS
                     : as_published                                 ? BENCH_HOLDS_AS_PUBLISHED
                                                                    : BENCH_DOES_NOT_HOLD;
    if (!whole->is_judged)
        return;
    whole->is_reversed = other_time;
    snprintf(whole->steady, sizeof whole->steady, "%s%s",
             suite->has_command                ? ""
             : !part[HALF_TIME]->is_judged     ? "not judged at half the limit; "
             : differs(part[HALF_TIME], whole) ? "the opposite at half the limit; "
                                               : "the same at half the limit; ",
             suite->seeds == 1 ? "one seed"
             : other_seeds     ? "a half of the seeds says the opposite"
                               : "each half of the seeds says the same");
}

blv_error bench_settle_claims(bench_results *results) {
    bench_results parts[PARTS] = {{0}};
    blv_error error = BLV_OK;
    for (int k = 0; k < PARTS && error == BLV_OK; k++)
        error = bench_results_fill(&parts[k], results->bench, filters[k]);
    for (size_t i = 0; i < results->verdict_count && error == BLV_OK; i++)
        settle(&results->bench->suite, &results->verdicts[i], parts, i);
    for (int k = 0; k < PARTS; k++)
        bench_results_free(&parts[k]);
    return error;
}
