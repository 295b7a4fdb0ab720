/* Whether what a paper claims held, from the points. A claim says that some entries come before
 * others, or before a bound: by the time or the calls until a level is reached, by the end, or by
 * how little the end changes over a sweep or from the other settings to those of a sweep. The level
 * is that of the suite, or the median of the ends of all that the claim names, but for rounding. */
#include "bench/results.h"

#include "report/figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a name in a claim stands for: an entry, the best one of a solver, or how much it changes. */
typedef struct claim_side {
    char name[160];
    double score; /* the less the better; infinite: it did not get there; NaN: it did not run */
    double noise; /* of a change over a sweep: what the seeds alone explain */
    double least; /* of a spread over a sweep: the least end */
} claim_side;

/* Space for all that a claim can name. */
typedef struct claim_sides {
    size_t count;
    claim_side *items;
} claim_sides;

/* A claim on a variant. */
typedef struct claim_context {
    const bench_results *results;
    const bench_claim *claim;
    const bench_view *view;
    size_t variant;
    double factor, level;
    bool more; /* of the metric is better */
} claim_context;

static bool is_about_level(const claim_context *c) {
    return c->claim->by == BENCH_BY_SECONDS || c->claim->by == BENCH_BY_CALLS;
}

static bool is_about_sweep(const claim_context *c) {
    return c->claim->by == BENCH_BY_SPREAD || c->claim->by == BENCH_BY_CHANGE;
}

/* ---- Scores ---- */

static double score_entry(const claim_context *c, size_t entry) {
    const bench_cell *cell = &c->view->cells[entry];
    if (cell->runs == 0)
        return NAN;
    if (!is_about_level(c)) {
        const double end = bench_find_end(c->results, c->variant, entry, c->claim->metric).median;
        return c->more ? -end : end;
    }
    const bench_reach reach =
        bench_reach_level(c->results, c->variant, entry, c->claim->metric, c->level);
    return c->claim->by == BENCH_BY_SECONDS ? reach.seconds.median : reach.calls.median;
}

/* Over the sweep of a solver: the difference between the worst and the best end; or by how much the
 * mean of the ends differs from the end of its entry that is not swept, relative to that. */
static claim_side score_sweep(const claim_context *c, const char *solver) {
    double least = INFINITY, most = -INFINITY, sum = 0.0, usual = NAN;
    claim_side side = {.score = NAN};
    size_t swept = 0;
    for (size_t e = 0; e < c->view->count; e++) {
        const bench_cell *cell = &c->view->cells[e];
        const double end = cell->value.median;
        if (strcmp(cell->entry->solver, solver) != 0 || cell->runs == 0)
            continue;
        if (strchr(cell->entry->id, '=')) {
            least = fmin(least, end);
            most = fmax(most, end);
            sum += end;
            swept++;
        } else if (isnan(usual)) {
            usual = end;
            side.noise =
                fabs((cell->value.high - cell->value.low) / end) / sqrt((double)cell->runs);
        }
    }
    bool by_spread = c->claim->by == BENCH_BY_SPREAD;
    if (swept == 0 || (!by_spread && isnan(usual)))
        return side;
    double change = by_spread ? most - least : fabs(sum / (double)swept - usual) / fabs(usual);
    side.score = isfinite(change) ? change : INFINITY;
    side.least = least;
    return side;
}

/* ---- Names ---- */

static void add_side(claim_sides *sides, const char *name, claim_side side) {
    for (size_t i = 0; i < sides->count; i++) {
        if (strcmp(sides->items[i].name, name) != 0)
            continue;
        sides->items[i].score = fmin(sides->items[i].score, side.score); /* fmin ignores NaN */
        return;
    }
    snprintf(side.name, sizeof side.name, "%s", name);
    sides->items[sides->count++] = side;
}

static bool has_published(const bench_suite *suite, const char *solver) {
    for (size_t e = 0; e < suite->entry_count; e++)
        if (strcmp(suite->entries[e].solver, solver) == 0 &&
            strcmp(strchr(suite->entries[e].id, '/'), "/published") == 0)
            return true;
    return false;
}

/* "soba": its best entry, or the published one where only these count; "soba/tuned": that one;
 * "X/tuned" with a star for X: each that is tuned; a star alone: every entry. */
static bool is_meant(const bench_results *results, const char *name, const bench_entry *entry) {
    if (strcmp(name, "*") == 0)
        return true;
    if (strncmp(name, "*/", 2) == 0)
        return strcmp(name + 1, strchr(entry->id, '/')) == 0;
    if (strchr(name, '/'))
        return strcmp(name, entry->id) == 0;
    if (strcmp(name, entry->solver) != 0)
        return false;
    return !results->filter.as_published || !has_published(&results->bench->suite, name) ||
           strcmp(strchr(entry->id, '/'), "/published") == 0;
}

static void resolve_name(const claim_context *c, const char *name, claim_sides *sides) {
    size_t before = sides->count;
    bool is_solver = name[0] != '*' && !strchr(name, '/');
    for (size_t e = 0; e < c->view->count; e++) {
        const bench_entry *entry = c->view->cells[e].entry;
        if (!is_meant(c->results, name, entry))
            continue;
        if (is_about_sweep(c))
            add_side(sides, entry->solver, score_sweep(c, entry->solver));
        else
            add_side(sides, is_solver ? name : entry->id, (claim_side){.score = score_entry(c, e)});
    }
    if (sides->count == before && name[0] != '*')
        add_side(sides, name, (claim_side){.score = NAN});
}

static blv_error resolve(const claim_context *c, blv_arena *arena, const bench_names *names,
                         claim_sides *sides) {
    *sides = (claim_sides){0};
    sides->items = blv_arena_alloc(arena, c->view->count + names->count, sizeof *sides->items);
    for (size_t i = 0; sides->items && i < names->count; i++)
        resolve_name(c, names->items[i], sides);
    return sides->items ? BLV_OK : BLV_E_MEMORY;
}

bool bench_is_named(const bench_results *results, const bench_names *names,
                    const bench_entry *entry) {
    for (size_t i = 0; i < names->count; i++)
        if (is_meant(results, names->items[i], entry))
            return true;
    return false;
}

bool bench_claim_names(const bench_results *results, const bench_claim *claim,
                       const bench_entry *entry) {
    return bench_is_named(results, &claim->who, entry) ||
           bench_is_named(results, &claim->of, entry);
}

bool bench_is_first_of_paper(const bench_suite *suite, size_t i) {
    const char *paper = suite->claim_count > 0 ? suite->claims[i].paper : NULL;
    for (size_t k = 0; k < i; k++)
        if (strcmp(suite->claims[k].paper ? suite->claims[k].paper : "", paper ? paper : "") == 0)
            return false;
    return true;
}

bool bench_claim_is_of(const bench_claim *claim, const char *paper) {
    return !paper || (claim->paper && strcmp(claim->paper, paper) == 0);
}

bool bench_is_shown(const bench_results *results, const char *paper, const bench_entry *entry) {
    const bench_suite *suite = &results->bench->suite;
    bool is_named = suite->claim_count == 0;
    for (size_t i = 0; i < suite->claim_count && !is_named; i++)
        is_named = bench_claim_is_of(&suite->claims[i], paper) &&
                   bench_claim_names(results, &suite->claims[i], entry);
    return is_named;
}

/* What half of those that the claim names reach in the end, but for rounding; those that failed
 * are left out. ends: space for one of each entry. */
static double find_level(const claim_context *c, double *ends) {
    size_t count = 0;
    if (!isnan(c->claim->level))
        return c->claim->level;
    if (!isnan(c->results->bench->suite.level) && !c->claim->metric)
        return c->results->bench->suite.level;
    for (size_t e = 0; e < c->view->count; e++) {
        const bench_cell *cell = &c->view->cells[e];
        if (cell->runs == 0 || !bench_claim_names(c->results, c->claim, cell->entry))
            continue;
        ends[count] = bench_find_end(c->results, c->variant, e, c->claim->metric).median;
        count += isfinite(ends[count]) ? 1 : 0;
    }
    report_sort(ends, count);
    return count > 0 ? bench_above_rounding(c->view, report_quantile(ends, count, 0.5))
                     : (double)NAN;
}

static bool is_among(const claim_sides *sides, const char *name) {
    for (size_t i = 0; i < sides->count; i++) {
        const char *other = sides->items[i].name;
        size_t length = strlen(other);
        if (strncmp(other, name, length) == 0 && (name[length] == '\0' || name[length] == '/'))
            return true;
    }
    return false;
}

/* The best of `of` that is not among `who`; NULL: there is none. */
static const claim_side *best_of(const claim_sides *of, const claim_sides *who) {
    const claim_side *best = NULL;
    for (size_t i = 0; i < of->count; i++) {
        const claim_side *side = &of->items[i];
        if (!isnan(side->score) && !is_among(who, side->name) &&
            (!best || side->score < best->score))
            best = side;
    }
    return best;
}

/* Of those in `who` the last one counts: all of them must be ahead. NULL: there is none. */
static const claim_side *last_of(const claim_sides *who) {
    const claim_side *last = who->count > 0 ? who->items : NULL;
    for (size_t i = 0; i < who->count; i++)
        if (isnan(who->items[i].score) || who->items[i].score > last->score)
            last = &who->items[i];
    return last;
}

/* ---- Sentences ---- */

enum { SENTENCE = 240 };

static void put_sentence(const claim_context *c, const claim_side *side, char text[SENTENCE]) {
    char what[120], left[24] = "";
    if (!isnan(c->view->first_gap))
        snprintf(left, sizeof left, "%.3g %%", 100.0 * side->least / c->view->first_gap);
    if (isinf(side->score) && is_about_level(c))
        snprintf(what, sizeof what, "did not reach %.4g", c->level);
    else if (isinf(side->score))
        snprintf(what, sizeof what, "failed%s",
                 is_about_sweep(c) ? " for a value of the sweep" : "");
    else if (c->claim->by == BENCH_BY_SECONDS)
        snprintf(what, sizeof what, "reached %.4g after %.3g s", c->level, side->score);
    else if (c->claim->by == BENCH_BY_CALLS)
        snprintf(what, sizeof what, "reached %.4g after %.4g calls", c->level, side->score);
    else if (c->claim->by == BENCH_BY_END)
        snprintf(what, sizeof what, "ended at %.5g", c->more ? -side->score : side->score);
    else if (c->claim->by == BENCH_BY_SPREAD)
        snprintf(what, sizeof what, "changed by %.4g over the sweep%s%s%s", side->score,
                 *left ? ", whose best end leaves " : "", left, *left ? " of the first gap" : "");
    else
        snprintf(what, sizeof what, "changed by %.2f %% to the mean of the sweep",
                 100.0 * side->score);
    snprintf(text, SENTENCE, "%.110s %s", side->name, what);
}

/* ---- Verdicts ---- */

/* Whether a comes before b, as far as the factor demands. */
static bool comes_first(const claim_context *c, double a, double b) {
    return !isinf(a) && a <= (b >= 0.0 ? b * c->factor : b / c->factor);
}

static void not_judged(bench_verdict *verdict, const char *how_much, const char *reason) {
    verdict->is_judged = false;
    snprintf(verdict->how_much, sizeof verdict->how_much, "%s", how_much);
    snprintf(verdict->text, sizeof verdict->text, "%s", reason);
}

const char bench_points[] = "points";

static void set_how_much(bench_verdict *verdict, double times, const char *unit) {
    verdict->times = times;
    verdict->unit = unit;
    snprintf(verdict->how_much, sizeof verdict->how_much,
             unit == bench_points ? "%+.2f %s" : "%.3g %s", times, unit);
}

/* Within 0.1 %: nothing comes first. */
static bool are_alike(double a, double b) {
    return isfinite(a) && isfinite(b) && fabs(a - b) <= 1e-3 * fabs(b);
}

/* By how much `last`, at a, comes before or after the others, at b. */
static void put_how_much(const claim_context *c, double a, double b, bench_verdict *verdict) {
    static const char *const words[][2] = {
        [BENCH_BY_SECONDS] = {"times faster", "times slower"},
        [BENCH_BY_CALLS] = {"times fewer calls", "times more calls"},
        [BENCH_BY_END] = {"times lower", "times higher"},
        [BENCH_BY_SPREAD] = {"times less change", "times more change"},
        [BENCH_BY_CHANGE] = {"times less change", "times more change"}};
    const bool ahead = a <= b;
    if (are_alike(a, b))
        snprintf(verdict->how_much, sizeof verdict->how_much, "alike");
    else if (isinf(a) || isinf(b))
        snprintf(verdict->how_much, sizeof verdict->how_much, "%s%s", isinf(a) ? "" : "others ",
                 isinf(a) && isinf(b) ? "neither"
                 : is_about_level(c)  ? "never"
                                      : "failed");
    else if (c->more && c->claim->by == BENCH_BY_END)
        set_how_much(verdict, 100.0 * (b - a), bench_points);
    else if (a > 0.0 && b > 0.0)
        set_how_much(verdict, ahead ? b / a : a / b, words[c->claim->by][!ahead]);
    else
        snprintf(verdict->how_much, sizeof verdict->how_much, "%.3g against %.3g", a, b);
}

/* other: what `last` is compared with, in words. */
static void decide(const claim_context *c, const claim_side *last, double score, const char *other,
                   bench_verdict *verdict) {
    char mine[SENTENCE];
    bool disturbed = c->claim->by == BENCH_BY_SECONDS && c->results->processor_share < BENCH_QUIET;
    put_sentence(c, last, mine);
    verdict->held = comes_first(c, last->score, score);
    put_how_much(c, last->score, score, verdict);
    snprintf(verdict->text, sizeof verdict->text, "%s; %s (%s)%s", mine, other, verdict->how_much,
             disturbed ? "; other programs disturbed the clock" : "");
}

static void judge(const claim_context *c, const claim_sides *who, const claim_sides *of,
                  const blv_values *bounds, bench_verdict *verdict) {
    const claim_side *last = last_of(who), *next = best_of(of, who);
    char text[SENTENCE], other[SENTENCE + 32];
    if (!last || isnan(last->score) || (!bounds && !next)) {
        bool mine = last && isnan(last->score);
        snprintf(text, sizeof text, "%.150s did not run",
                 mine ? last->name : "what it is compared with");
        not_judged(verdict, "not run", text);
    } else if (bounds) { /* at most, but of the end as the metric goes */
        double bound = blv_values_number(bounds, c->view->name);
        snprintf(other, sizeof other, "the bound is %.6g", bound);
        decide(c, last, c->claim->by == BENCH_BY_END && c->more ? -bound : bound, other, verdict);
    } else if (is_about_level(c) && (last->score == 0.0 || next->score == 0.0)) {
        snprintf(text, sizeof text, "half of those compared did not leave the start, %.4g",
                 c->level);
        not_judged(verdict, "at the start", text);
    } else if (c->claim->by == BENCH_BY_CHANGE && last->score < 2.0 * last->noise &&
               next->score < 2.0 * next->noise) {
        snprintf(text, sizeof text,
                 "%.80s changed by %.2f %% and %.80s by %.2f %%, no more than seeds", last->name,
                 100.0 * last->score, next->name, 100.0 * next->score);
        not_judged(verdict, "no more than seeds", text);
    } else if (c->factor == 1.0 && are_alike(last->score, next->score)) {
        put_sentence(c, last, other);
        snprintf(text, sizeof text, "%.100s, and %.100s is within 0.1 %% of that", other,
                 next->name);
        not_judged(verdict, "alike", text);
    } else {
        put_sentence(c, next, text);
        snprintf(other, sizeof other, "of the others %s", text);
        decide(c, last, next->score, other, verdict);
    }
}

static blv_error judge_claim(bench_results *results, size_t claim, size_t variant) {
    const bench_suite *suite = &results->bench->suite;
    claim_context c = {.results = results,
                       .claim = &suite->claims[claim],
                       .view = &results->views[variant],
                       .variant = variant,
                       .more = bench_more_is_better(suite->claims[claim].metric
                                                        ? suite->claims[claim].metric
                                                        : suite->metric)};
    const blv_values *bounds = c.claim->is_bounded ? &c.claim->bounds : NULL;
    if (bounds && !blv_values_find(bounds, c.view->name))
        return BLV_OK;
    c.factor = isnan(c.claim->factor) ? 1.0 : c.claim->factor;
    const bench_results *levels = results->filter.levels;
    double *ends = blv_arena_alloc(&results->arena, c.view->count, sizeof *ends);
    if (!ends)
        return BLV_E_MEMORY;
    c.level = levels ? levels->verdicts[results->verdict_count].level : find_level(&c, ends);
    claim_sides who, of;
    BLV_CHECK(resolve(&c, &results->arena, &c.claim->who, &who));
    BLV_CHECK(resolve(&c, &results->arena, &c.claim->of, &of));
    bench_verdict *verdict = &results->verdicts[results->verdict_count++];
    *verdict = (bench_verdict){.level = c.level,
                               .stated = c.claim,
                               .claim = c.claim->text,
                               .variant = c.view->name,
                               .is_judged = true};
    judge(&c, &who, &of, bounds, verdict);
    return BLV_OK;
}

blv_error bench_judge_claims(bench_results *results) {
    size_t claims = results->bench->suite.claim_count;
    results->verdicts =
        blv_arena_alloc(&results->arena, claims * results->view_count, sizeof *results->verdicts);
    if (!results->verdicts)
        return BLV_E_MEMORY;
    for (size_t c = 0; c < claims; c++)
        for (size_t v = 0; v < results->view_count; v++)
            BLV_CHECK(judge_claim(results, c, v));
    return BLV_OK;
}
