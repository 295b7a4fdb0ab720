/* Whether what a paper claims held, from the points. A claim says that some entries come before
 * others, or before a bound: by the time or the calls until a level is reached, by the end, or by
 * how little the end changes over a sweep or from the other settings to those of a sweep. The level
 * is that of the suite, or the median of the ends of all that the claim names. */
#include "cli_bench.h"
#include "cli_figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of cli_claim_bases. */
typedef enum basis { BY_SECONDS, BY_CALLS, BY_END, BY_SPREAD, BY_CHANGE } basis;

/* What a name in a claim stands for: an entry, the best one of a solver, or how much it changes. */
typedef struct party {
    char name[160];
    double score; /* the less the better; infinite: it did not get there; NaN: it did not run */
} party;

typedef struct parties {
    size_t count;
    party *items;
} parties;

typedef struct hearing {
    const cli_findings *findings;
    const cli_view *view;
    size_t variant;
    basis by;
    double factor, level;
} hearing;

/* ---- Scores ---- */

static double score_of(const hearing *h, size_t entry) {
    const cli_cell *cell = &h->view->cells[entry];
    if (cell->runs == 0)
        return NAN;
    if (h->by == BY_SECONDS || h->by == BY_CALLS) {
        cli_reach reach = cli_reach_of(h->findings->bench, h->view, h->variant, entry, h->level);
        return h->by == BY_SECONDS ? reach.seconds.median : reach.calls.median;
    }
    bool more = cli_more_is_better(h->findings->bench->suite.metric);
    return more ? -cell->value.median : cell->value.median;
}

static bool is_swept(const cli_cell *cell) {
    return strchr(cell->entry->id, '=') != NULL;
}

/* The difference between the worst and the best end over a solver's sweep. */
static double spread_of(const hearing *h, const char *solver) {
    double least = INFINITY, most = -INFINITY;
    for (size_t e = 0; e < h->view->count; e++) {
        const cli_cell *cell = &h->view->cells[e];
        if (strcmp(cell->entry->solver, solver) != 0 || !is_swept(cell) || cell->runs == 0)
            continue;
        least = fmin(least, cell->value.median);
        most = fmax(most, cell->value.median);
    }
    if (isinf(most) && most < 0.0)
        return NAN;
    return isfinite(least) && isfinite(most) ? most - least : INFINITY;
}

/* By how much the mean of the ends over a solver's sweep differs from the end of its entry that is
 * not swept, relative to that. */
static double change_of(const hearing *h, const char *solver) {
    double sum = 0.0, usual = NAN;
    size_t swept = 0;
    for (size_t e = 0; e < h->view->count; e++) {
        const cli_cell *cell = &h->view->cells[e];
        if (strcmp(cell->entry->solver, solver) != 0 || cell->runs == 0)
            continue;
        if (is_swept(cell)) {
            sum += cell->value.median;
            swept++;
        } else if (isnan(usual)) {
            usual = cell->value.median;
        }
    }
    if (swept == 0 || isnan(usual))
        return NAN;
    const double change = fabs(sum / (double)swept - usual) / fabs(usual);
    return isfinite(change) ? change : INFINITY;
}

static bool is_of_sweep(const hearing *h) {
    return h->by == BY_SPREAD || h->by == BY_CHANGE;
}

/* ---- Names ---- */

static void add_party(parties *list, const char *name, double score) {
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, name) != 0)
            continue;
        list->items[i].score = fmin(list->items[i].score, score); /* fmin passes NaN over */
        return;
    }
    list->items = cli_grow(list->items, list->count + 1, sizeof *list->items);
    party *p = &list->items[list->count++];
    snprintf(p->name, sizeof p->name, "%s", name);
    p->score = score;
}

static const char *column_of(const cli_entry *entry) {
    return strchr(entry->id, '/') + 1;
}

/* "soba": its best entry; "soba/tuned": that one; "X/tuned" with a star for X: each that is tuned;
 * a star alone: every entry. */
static bool stands_for(const char *name, const cli_entry *entry) {
    if (strcmp(name, "*") == 0)
        return true;
    if (strncmp(name, "*/", 2) == 0)
        return strcmp(name + 2, column_of(entry)) == 0;
    return strcmp(name, strchr(name, '/') ? entry->id : entry->solver) == 0;
}

static bool is_one_name(const char *name) {
    return name[0] != '*' && !strchr(name, '/');
}

static void resolve(const hearing *h, const char *name, parties *list) {
    size_t before = list->count;
    for (size_t e = 0; e < h->view->count; e++) {
        const cli_cell *cell = &h->view->cells[e];
        if (!stands_for(name, cell->entry))
            continue;
        const char *solver = cell->entry->solver;
        if (is_of_sweep(h))
            add_party(list, solver,
                      h->by == BY_SPREAD ? spread_of(h, solver) : change_of(h, solver));
        else
            add_party(list, is_one_name(name) ? name : cell->entry->id, score_of(h, e));
    }
    if (list->count == before && name[0] != '*')
        add_party(list, name, NAN);
}

static void resolve_all(const hearing *h, const json_t *names, parties *list) {
    size_t i;
    json_t *name;
    json_array_foreach(names, i, name) {
        resolve(h, json_string_value(name), list);
    }
}

static bool is_named(const json_t *names, const cli_entry *entry) {
    size_t i;
    json_t *name;
    json_array_foreach(names, i, name) {
        if (stands_for(json_string_value(name), entry))
            return true;
    }
    return false;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What half of those that the claim names reach in the end; those that failed are left out. */
static double level_of(const cli_suite *suite, const cli_view *view, const json_t *claim) {
    if (!isnan(suite->level))
        return suite->level;
    double *ends = cli_alloc(view->count, sizeof *ends), level = NAN;
    size_t count = 0;
    for (size_t e = 0; e < view->count; e++) {
        const cli_cell *cell = &view->cells[e];
        bool named = is_named(json_object_get(claim, "who"), cell->entry) ||
                     is_named(json_object_get(claim, "of"), cell->entry);
        if (named && cell->runs > 0 && isfinite(cell->value.median))
            ends[count++] = cell->value.median;
    }
    if (count > 0) {
        qsort(ends, count, sizeof *ends, compare);
        level = cli_quantile(ends, count, 0.5);
    }
    free(ends);
    return level;
}

static bool is_among(const parties *list, const char *name) {
    for (size_t i = 0; i < list->count; i++) {
        const char *other = list->items[i].name;
        size_t length = strlen(other);
        if (strcmp(other, name) == 0 || (strncmp(other, name, length) == 0 && name[length] == '/'))
            return true;
    }
    return false;
}

/* ---- Sentences ---- */

enum { SENTENCE = 240 };

static void put_sentence(const hearing *h, const party *p, char text[SENTENCE]) {
    bool more = cli_more_is_better(h->findings->bench->suite.metric);
    bool lost = isinf(p->score);
    if (h->by == BY_SECONDS && !lost)
        snprintf(text, SENTENCE, "%.150s reached %.4g after %.3g s", p->name, h->level, p->score);
    else if (h->by == BY_CALLS && !lost)
        snprintf(text, SENTENCE, "%.150s reached %.4g after %.4g calls", p->name, h->level,
                 p->score);
    else if (h->by == BY_SECONDS || h->by == BY_CALLS)
        snprintf(text, SENTENCE, "%.150s did not reach %.4g", p->name, h->level);
    else if (h->by == BY_END && !lost)
        snprintf(text, SENTENCE, "%.150s ended at %.6g", p->name, more ? -p->score : p->score);
    else if (h->by == BY_SPREAD && !lost)
        snprintf(text, SENTENCE, "%.150s changed by %.4g over the sweep", p->name, p->score);
    else if (h->by == BY_CHANGE && !lost)
        snprintf(text, SENTENCE, "%.150s changed by %.2f %% to the mean of the sweep", p->name,
                 100.0 * p->score);
    else
        snprintf(text, SENTENCE, "%.150s failed%s", p->name,
                 is_of_sweep(h) ? " for a value of the sweep" : "");
}

/* Whether a comes before b, as far as the factor demands. */
static bool comes_first(const hearing *h, double a, double b) {
    if (isinf(a))
        return false;
    double allowed = b >= 0.0 ? b * h->factor : b / h->factor;
    return a <= allowed;
}

static const party *best_of(const parties *list, const parties *except) {
    const party *best = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const party *p = &list->items[i];
        if (isnan(p->score) || (except && is_among(except, p->name)))
            continue;
        if (!best || p->score < best->score)
            best = p;
    }
    return best;
}

/* Of those in who the last one counts: all of them must be ahead. */
static const party *last_of(const parties *list) {
    const party *last = &list->items[0];
    for (size_t i = 0; i < list->count; i++)
        if (isnan(list->items[i].score) || list->items[i].score > last->score)
            last = &list->items[i];
    return last;
}

static void put_ratio(const party *last, const party *next, char text[48]) {
    bool comparable = isfinite(last->score) && isfinite(next->score) && last->score > 0.0;
    text[0] = '\0';
    if (comparable)
        snprintf(text, 48, " (%.3g times as much)", next->score / last->score);
}

static const char *disturbance(const hearing *h) {
    bool disturbed = h->by == BY_SECONDS && cli_processor_share(h->findings->bench) < CLI_QUIET;
    return disturbed ? "; other programs disturbed the clock" : "";
}

static void did_not_run(const party *missing, cli_verdict_line *line) {
    line->held = -1;
    snprintf(line->text, sizeof line->text, "not judged: %.150s did not run",
             missing ? missing->name : "what it is compared with");
}

static void decide(const hearing *h, const parties *who, const parties *of,
                   cli_verdict_line *line) {
    const party *last = who->count ? last_of(who) : NULL, *next = best_of(of, who);
    if (!last || isnan(last->score) || !next) {
        did_not_run(last && isnan(last->score) ? last : NULL, line);
        return;
    }
    if ((h->by == BY_SECONDS || h->by == BY_CALLS) && (last->score == 0.0 || next->score == 0.0)) {
        line->held = -1;
        snprintf(line->text, sizeof line->text,
                 "not judged: half of those compared did not leave the start, %.4g", h->level);
        return;
    }
    char mine[SENTENCE], theirs[SENTENCE], ratio[48];
    put_sentence(h, last, mine);
    put_sentence(h, next, theirs);
    put_ratio(last, next, ratio);
    line->held = comes_first(h, last->score, next->score);
    snprintf(line->text, sizeof line->text, "%s: %s; of the others %s%s%s",
             line->held ? "held" : "did not hold", mine, theirs, ratio, disturbance(h));
}

/* Against a number: at most, but of the end as the metric goes. */
static void decide_bound(const hearing *h, const parties *who, double bound,
                         cli_verdict_line *line) {
    const bool more = h->by == BY_END && cli_more_is_better(h->findings->bench->suite.metric);
    const party *last = who->count ? last_of(who) : NULL;
    const party limit = {.name = "the bound", .score = more ? -bound : bound};
    if (!last || isnan(last->score)) {
        did_not_run(last, line);
        return;
    }
    char mine[SENTENCE], ratio[48];
    put_sentence(h, last, mine);
    put_ratio(last, &limit, ratio);
    line->held = comes_first(h, last->score, limit.score);
    snprintf(line->text, sizeof line->text, "%s: %s; the bound is %.6g%s%s",
             line->held ? "held" : "did not hold", mine, bound, ratio, disturbance(h));
}

static basis basis_of(const json_t *claim) {
    const char *by = json_string_value(json_object_get(claim, "by"));
    basis b = BY_SECONDS;
    while (b < BY_CHANGE && strcmp(by, cli_claim_bases[b]) != 0)
        b++;
    return b;
}

static void judge_claim(cli_findings *findings, size_t c, size_t v) {
    const json_t *claim = json_array_get(findings->bench->suite.claims, c);
    const json_t *factor = json_object_get(claim, "factor");
    const json_t *bounds = json_object_get(claim, "bounds");
    const json_t *bound = json_object_get(bounds, findings->views[v].variant->name);
    if (bounds && !bound)
        return;
    const hearing h = {.findings = findings,
                       .view = &findings->views[v],
                       .variant = v,
                       .by = basis_of(claim),
                       .factor = factor ? json_number_value(factor) : 1.0,
                       .level = level_of(&findings->bench->suite, &findings->views[v], claim)};
    parties who = {0}, of = {0};
    resolve_all(&h, json_object_get(claim, "who"), &who);
    resolve_all(&h, json_object_get(claim, "of"), &of);
    cli_verdict_line *line = &findings->lines[findings->line_count++];
    *line = (cli_verdict_line){.claim = c, .variant = v};
    if (bound)
        decide_bound(&h, &who, json_number_value(bound), line);
    else
        decide(&h, &who, &of, line);
    free(who.items);
    free(of.items);
}

void cli_findings_judge(cli_findings *findings) {
    size_t claims = json_array_size(findings->bench->suite.claims);
    findings->lines = cli_alloc(claims * findings->view_count, sizeof *findings->lines);
    for (size_t c = 0; c < claims; c++)
        for (size_t v = 0; v < findings->view_count; v++)
            judge_claim(findings, c, v);
}
