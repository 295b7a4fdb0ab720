#include "cli/solver_listing.h"
#include "bilevel/registry.h"
#include "cli/common.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *summary;
} groups[] = {
    {"tuning-free", "choose their own step sizes as they go"},
    {"single-loop", "take one step of every variable in an iteration"},
    {"double-loop", "take inner steps on the lower level between two steps of x"},
    {"variance-reduced", "carry their stochastic estimates on from step to step"},
    {"first-order penalty", "need gradients only, with the lower level as a penalty"},
    {"reference", "solve tightly, to measure others by"},
};
enum { GROUPS = sizeof groups / sizeof groups[0] };

static size_t rank_of(const char *group) {
    size_t rank = 0;
    while (rank < GROUPS && strcmp(groups[rank].name, group) != 0)
        rank++;
    return rank;
}

const char *cli_group_summary(const char *group) {
    size_t rank = rank_of(group);
    return rank < GROUPS ? groups[rank].summary : NULL;
}

/* Whether a comes before b: by rank; among groups that are not known, by name. */
static bool comes_before(const blv_solver *a, const blv_solver *b) {
    size_t rank_a = rank_of(a->group), rank_b = rank_of(b->group);
    if (rank_a != rank_b)
        return rank_a < rank_b;
    return strcmp(a->group, b->group) < 0 && rank_a == GROUPS;
}

const blv_solver **cli_solvers_by_group(void) {
    size_t count = 0;
    while (blv_solver_at(NULL, count))
        count++;
    const blv_solver **sorted = cli_alloc(count + 1, sizeof(*sorted));
    for (size_t i = 0; i < count; i++) {
        const blv_solver *solver = blv_solver_at(NULL, i);
        size_t at = i;
        for (; at > 0 && comes_before(solver, sorted[at - 1]); at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = solver;
    }
    return sorted;
}

const char *cli_oracles_needed(const blv_solver *solver) {
    static const char *const words[] = {"f, g", "f, g, Hv", "f, g, Jv", "f, g, Hv, Jv"};
    return words[(solver->uses & BLV_USES_HVP ? 1 : 0) + (solver->uses & BLV_USES_CROSS ? 2 : 0)];
}

const char *cli_yes_or_no(unsigned flag) {
    return flag ? "yes" : "no";
}

void cli_solver_facts(report_table *table, const blv_solver *solver) {
    report_table_add(table, "source\t%s", solver->citation);
    report_table_add(table, "group\t%s", solver->group);
    report_table_add(table, "oracles\t%s", cli_oracles_needed(solver));
    report_table_add(table, "stochastic\t%s", cli_yes_or_no(solver->uses & BLV_IS_STOCHASTIC));
    report_table_add(table, "needs an invertible d2g/dy2\t%s",
                     cli_yes_or_no(solver->uses & BLV_USES_INVERSE));
    report_table_add(table, "when it diverges\t%s", solver->hint ? solver->hint : "");
}

void cli_markdown_solver(const blv_solver *solver) {
    report_table table = {.align = "ll"};
    puts("## In short\n");
    report_table_add(&table, "\t");
    report_table_add(&table, "what it does\t%s", solver->summary);
    cli_solver_facts(&table, solver);
    cli_table_markdown(&table);
    puts("\n## Parameters\n");
    if (solver->params && solver->params->key)
        cli_print_params(solver->params, NULL, REPORT_AS_MARKDOWN);
    else
        puts("It has none.");
}

static void print_group_title(const char *group, bool first) {
    const char *summary = cli_group_summary(group);
    printf("%s## %s\n\n", first ? "" : "\n", group);
    if (summary)
        printf("These %s.\n\n", summary);
}

void cli_markdown_solvers(void) {
    const blv_solver **solvers = cli_solvers_by_group();
    report_table table = {.align = "llll"};
    for (size_t i = 0; solvers[i]; i++) {
        const blv_solver *s = solvers[i];
        if (table.rows == 0) {
            print_group_title(s->group, i == 0);
            report_table_add(&table, "name\toracles\tstochastic\twhat it does");
        }
        report_table_add(&table, "[`%s`](%s.md)\t%s\t%s\t%s", s->name, s->name,
                         cli_oracles_needed(s), cli_yes_or_no(s->uses & BLV_IS_STOCHASTIC),
                         s->summary);
        if (!solvers[i + 1] || strcmp(solvers[i + 1]->group, s->group) != 0)
            cli_table_markdown(&table);
    }
    free(solvers);
}
