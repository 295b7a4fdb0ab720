/* Claims and their verdicts as text, Markdown or HTML, and what the budget of the runs decides. */
#include "bench/results.h"

#include "base/text_stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Claims ---- */

/* What was tried to make a claim hold. */
static void print_tried(const bench_results *results, const bench_claim *claim, report_form form,
                        FILE *out) {
    bool untuned = false, published = false;
    size_t tuned = 0;
    char line[1024];
    for (size_t i = 0; i < results->cell_count; i++) {
        const bench_cell *cell = &results->cells[i];
        const char *column = strchr(cell->id, '/') + 1;
        if (cell->runs == 0 || !bench_claim_names(results, claim, cell->entry))
            continue;
        untuned = untuned || strcmp(column, "untuned") == 0;
        published = published || strcmp(column, "published") == 0;
        tuned = cell->tried > tuned ? cell->tried : tuned;
    }
    char settings[64] = "";
    if (tuned > 0)
        snprintf(settings, sizeof settings, " the best of up to %zu settings;", tuned);
    snprintf(line, sizeof line, "Tried:%s%s%s %llu seed%s%s%s%.600s",
             published ? " published settings;" : "", untuned ? " automatic settings;" : "",
             settings, (unsigned long long)results->bench->suite.seeds,
             results->bench->suite.seeds == 1 ? "" : "s",
             results->bench->suite.has_command ? "" : "; half of the limit and all of it",
             claim->tried ? ". " : ".", claim->tried ? claim->tried : "");
    bench_print_line(line, form, out);
}

static void print_claim(const bench_claim *claim, report_form form, FILE *out) {
    char text[1024];
    snprintf(text, sizeof text, "%.600s%s%.300s%s", claim->text,
             claim->published ? " (published: " : "", claim->published ? claim->published : "",
             claim->published ? ")" : "");
    if (form == REPORT_AS_HTML)
        report_html_element(out, "h3", text);
    else if (form == REPORT_AS_TEXT)
        fprintf(out, "Claim: %s\n", text);
    else {
        fputs("**", out);
        report_markdown_text(out, text);
        fputs("**\n\n", out);
    }
}

static void print_verdict(const bench_verdict *verdict, report_form form, FILE *out) {
    const char *mark = form == REPORT_AS_MARKDOWN ? "**" : "";
    char line[1200];
    snprintf(line, sizeof line, "%s%.200s%s%s%s%s: %s%s%s", form == REPORT_AS_TEXT ? "  " : "",
             verdict->variant, *verdict->variant ? ": " : "", mark,
             bench_outcome_words[verdict->outcome], mark, verdict->text,
             *verdict->steady ? "; " : "", verdict->steady);
    if (form == REPORT_AS_MARKDOWN)
        fprintf(out, "- %s\n", line);
    else
        bench_print_line(line, form, out);
}

void bench_print_claims(const bench_results *results, report_form form, FILE *out) {
    if (form == REPORT_AS_TEXT && results->bench->suite.quick && results->verdict_count > 0)
        fputs("The quick form is too small to say anything about the claims:\n", out);
    bool all_hold = true;
    for (size_t i = 0; i < results->verdict_count; i++) {
        const bench_verdict *verdict = &results->verdicts[i];
        const bench_claim *claim = verdict->stated;
        if (!bench_claim_is_of(claim, results->bench->request->paper))
            continue;
        if (i == 0 || verdict[-1].stated != claim) {
            print_claim(claim, form, out);
            all_hold = true;
        }
        print_verdict(verdict, form, out);
        all_hold = all_hold && verdict->outcome == BENCH_HOLDS;
        if (i + 1 < results->verdict_count && verdict[1].stated == claim)
            continue;
        if (!all_hold)
            print_tried(results, claim, form, out);
        fputs(form == REPORT_AS_MARKDOWN ? "\n" : "", out);
    }
}

/* ---- A row of the summary ---- */

/* The worst outcome of all variants, between marks, and those that differ. */
static void put_outcomes(const bench_verdict *first, size_t count, const char *mark, FILE *out) {
    bench_outcome worst = BENCH_HOLDS;
    for (size_t i = 0; i < count; i++)
        worst = first[i].outcome > worst ? first[i].outcome : worst;
    fprintf(out, "%s%s%s", mark, bench_outcome_words[worst], mark);
    for (bench_outcome outcome = BENCH_HOLDS; outcome < worst; outcome++) {
        bool is_first = true;
        for (size_t i = 0; i < count; i++) {
            if (first[i].outcome != outcome)
                continue;
            fprintf(out, "%s%s", is_first ? "; " : ", ", first[i].variant);
            is_first = false;
        }
        if (!is_first)
            fprintf(out, ": %s", bench_outcome_words[outcome]);
    }
}

static bool says_the_same(const bench_verdict *a, const bench_verdict *b) {
    return a->unit == b->unit && (a->unit || strcmp(a->how_much, b->how_much) == 0);
}

/* From the least to the most of all variants: "1.2 to 4.2 times slower". */
static void put_range(const bench_verdict *first, size_t count, size_t i, FILE *out) {
    const char *format = first[i].unit == bench_points ? "%+.2f to " : "%.3g to ";
    const bench_verdict *least = &first[i], *most = &first[i];
    for (size_t k = i + 1; k < count && first[i].unit; k++) {
        if (first[k].unit != first[i].unit)
            continue;
        least = first[k].times < least->times ? &first[k] : least;
        most = first[k].times > most->times ? &first[k] : most;
    }
    if (strcmp(least->how_much, most->how_much) != 0)
        fprintf(out, format, least->times);
    fputs(most->how_much, out);
}

static void put_amounts(const bench_verdict *first, size_t count, FILE *out) {
    for (size_t i = 0; i < count; i++) {
        bool is_new = true;
        for (size_t k = 0; k < i; k++)
            is_new = is_new && !says_the_same(&first[i], &first[k]);
        if (!is_new)
            continue;
        fputs(i > 0 ? "; " : "", out);
        put_range(first, count, i, out);
    }
}

/* How many verdicts are about the same claim. */
static size_t count_variants(const bench_results *results, size_t first) {
    size_t count = 1;
    while (first + count < results->verdict_count &&
           results->verdicts[first + count].stated == results->verdicts[first].stated)
        count++;
    return count;
}

blv_error bench_put_rows(const bench_results *results, FILE *out) {
    const bench *b = results->bench;
    for (size_t i = 0, count; i < results->verdict_count; i += count) {
        const bench_verdict *first = &results->verdicts[i];
        bool has_half = false, reversed = false;
        count = count_variants(results, i);
        for (size_t k = 0; k < count; k++) {
            has_half = has_half || first[k].has_half;
            reversed = reversed || first[k].is_reversed;
        }
        fprintf(out, "%s\t| [`%s`](#%s) | ", first->stated->paper ? first->stated->paper : "-",
                b->facts.command, b->suite.name);
        report_markdown_text(out, first->claim);
        fputs(" | ", out);
        put_outcomes(first, count, "**", out);
        fputs(" | ", out);
        put_amounts(first, count, out);
        fprintf(out, " | %s | %llu |\n",
                reversed   ? "opposite"
                : has_half ? "same"
                           : "-",
                (unsigned long long)b->suite.seeds);
    }
    return BLV_OK;
}

blv_error bench_print_verdicts(const bench_results *results, FILE *out) {
    report_table table = {.align = "lll"};
    report_table_add(&table, "claim\tverdict\tby how much");
    for (size_t i = 0, count; i < results->verdict_count; i += count) {
        const bench_verdict *first = &results->verdicts[i];
        blv_text_stream text;
        FILE *line = blv_text_open(&text);
        count = count_variants(results, i);
        if (line) {
            put_outcomes(first, count, "", line);
            fputc('\t', line);
            put_amounts(first, count, line);
        }
        char *words = blv_text_close(&text), *amounts = words ? strrchr(words, '\t') : NULL;
        table.arena.failed = table.arena.failed || !amounts;
        if (amounts) {
            *amounts++ = '\0';
            report_table_row(&table, (const char *const[]){first->claim, words, amounts});
        }
        free(words);
    }
    if (results->verdict_count == 0)
        report_table_free(&table);
    return results->verdict_count == 0 ? BLV_OK
                                       : report_table_print(&table, REPORT_AS_HTML, 0, out);
}

/* ---- What the runs decide ---- */

/* The best end of a variant, of all entries or of those that claims of the paper compare. */
static const bench_cell *best_cell(const bench_results *results, const bench_view *view,
                                   const char *paper) {
    const bool more = bench_more_is_better(results->bench->suite.metric);
    const bench_cell *best = NULL;
    for (size_t i = 0; i < view->count; i++) {
        const bench_cell *cell = &view->cells[i];
        const double end = cell->value.median;
        if (cell->runs == 0 || isnan(end) ||
            (paper && !bench_is_shown(results, paper, cell->entry)))
            continue;
        if (!best || (more ? end > best->value.median : end < best->value.median))
            best = cell;
    }
    return best;
}

static void check_budget(const bench_results *results, FILE *line) {
    const char *paper = results->bench->request->paper, *before = "";
    for (size_t v = 0; v < results->view_count; v++) {
        const bench_view *view = &results->views[v];
        const bench_cell *best = best_cell(results, view, NULL);
        const bench_cell *compared = best_cell(results, view, paper);
        if (isnan(view->first_gap) || !best || !compared)
            continue;
        fprintf(line, "%s%s%s%.2g %% (%s)",
                *before ? before : "Left of the first gap of Phi in the end: ", view->name,
                *view->name ? ": " : "", 100.0 * best->value.median / view->first_gap, best->id);
        if (compared->value.median > best->value.median)
            fprintf(line, ", of those compared here %.2g %% (%s)",
                    100.0 * compared->value.median / view->first_gap, compared->id);
        before = "; ";
    }
    fputs(*before ? "." : "", line);
}

static void check_doubling(const bench_results *results, FILE *line) {
    size_t all = 0, changed = 0;
    for (size_t i = 0; i < results->verdict_count; i++) {
        const bench_verdict *verdict = &results->verdicts[i];
        const bool is_it =
            verdict->has_half && bench_claim_is_of(verdict->stated, results->bench->request->paper);
        all += is_it;
        changed += is_it && verdict->is_reversed;
    }
    if (all > 0)
        fprintf(line, "From half of the limit to all of it %zu of %zu verdicts change%s%s.",
                changed, all, changed == 1 ? "s" : "", changed > 0 ? ", and cannot be told" : "");
}

/* Rows that hardly begin. `auto` ends by itself. */
static void check_iterations(const bench_results *results, FILE *line) {
    enum { FEW = 10 };
    const bench_suite *suite = &results->bench->suite;
    const bool asks = !suite->has_command && suite->limit.kind != BENCH_ITERATIONS;
    size_t count = 0;
    for (size_t e = 0; e < suite->entry_count && asks; e++) {
        const bench_entry *entry = &suite->entries[e];
        double least = INFINITY;
        for (size_t v = 0; v < results->view_count; v++)
            if (results->views[v].cells[e].runs > 0)
                least = fmin(least, results->views[v].cells[e].iterations);
        if (least < FEW && strcmp(entry->solver, "auto") != 0 &&
            bench_is_shown(results, results->bench->request->paper, entry))
            fprintf(line, "%s%s (%.0f)",
                    count++ ? ", " : "The limit is short for rows of fewer than ten iterations: ",
                    entry->id, least);
    }
    fputs(count > 0 ? "; what is said of them is said of their start." : "", line);
}

/* Rows that tuning has not made better. */
static void check_tuned(const bench_results *results, FILE *line) {
    size_t count = 0;
    for (size_t i = 0; i < results->cell_count; i++) {
        const bench_cell *cell = &results->cells[i];
        if (!cell->is_untuned)
            continue;
        fprintf(line, "%s%s%s%s",
                count++ ? ", " : "Over all seeds the untuned row ends better, and stands for: ",
                cell->id, *cell->variant ? " at " : "", cell->variant);
    }
    fputs(count > 0 ? "." : "", line);
}

blv_error bench_print_checks(const bench_results *results, report_form form, FILE *out) {
    static void (*const checks[])(const bench_results *results, FILE *line) = {
        check_budget, check_doubling, check_iterations, check_tuned};
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        blv_text_stream text;
        FILE *line = blv_text_open(&text);
        if (line)
            checks[i](results, line);
        char *words = blv_text_close(&text);
        if (!words)
            return BLV_E_MEMORY;
        if (*words)
            bench_print_line(words, form, out);
        free(words);
    }
    return BLV_OK;
}
