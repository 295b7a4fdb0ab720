/* bilevel solvers [NAME]: the built-in solvers, as text, JSON or Markdown, for a problem or for
 * all.
 */
#include "bilevel/registry.h"
#include "cli/printing.h"
#include "cli/problem_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    const char *name;     /* NULL: list them all */
    cli_instance problem; /* that of --for */
    bool json, markdown;
} request;

static const cli_argument table[] = {
    CLI_POSITION(TEXT, request, name, "[NAME]", NULL),
    CLI_OPTION("for", TEXT, request, problem.name, "PROBLEM",
               "only those that suit a problem, and why the others do not"),
    CLI_OPTION("markdown", FLAG, request, markdown, NULL,
               "print what the pages of the solvers are made from"),
    CLI_OPTION("json", FLAG, request, json, NULL, "print JSON on standard output"),
    CLI_INCLUDE(cli_problem_table, request, problem),
    CLI_END};

static blv_error check(void *of, blv_message *why) {
    const request *asked = of;
    const cli_instance *problem = &asked->problem;
    if (!problem->name && (problem->settings.count > 0 || problem->gradients_only))
        return blv_explain(why, BLV_E_ARGUMENT, "options of a problem need --for PROBLEM");
    if (asked->markdown && (asked->json || problem->name))
        return blv_explain(why, BLV_E_ARGUMENT, "--markdown goes with neither --json nor --for");
    return BLV_OK;
}

/* ---- What is said about a solver ---- */

static const struct {
    const char *name, *summary;
} groups[] = {
    {"automatic", "choose the method too"},
    {"tuning-free", "choose their own step sizes as they go"},
    {"single-loop", "take one step of every variable in an iteration"},
    {"double-loop", "take inner steps on the lower level between two steps of x"},
    {"variance-reduced", "carry their stochastic estimates on from step to step"},
    {"first-order penalty", "need gradients only, with the lower level as a penalty"},
    {"reference", "solve tightly, to measure others by"},
};
enum { GROUPS = sizeof groups / sizeof groups[0] };

typedef struct entry {
    const blv_solver *solver;
    const char *group_summary;
    blv_fit fit;
    blv_message remark;
} entry;

/* The solvers, group by group, with what is to be said about them and the problem, which may be
 * NULL: then each suits. Ends with a NULL solver; to be freed. */
static entry *list_entries(const blv_problem *problem) {
    entry *entries = cli_alloc(1, sizeof *entries);
    const blv_solver *solver;
    size_t count = 0;
    for (size_t g = 0; g < GROUPS; g++)
        for (size_t i = 0; (solver = blv_solver_at(NULL, i)); i++) {
            if (strcmp(solver->group, groups[g].name) != 0)
                continue;
            entries = cli_grow(entries, count + 2, sizeof *entries);
            entry *e = &entries[count++];
            *e = (entry){
                .solver = solver, .group_summary = groups[g].summary, .fit = BLV_FIT_SUITED};
            if (problem)
                e->fit = blv_solver_fit(solver, problem, &e->remark);
            entries[count] = (entry){0};
        }
    return entries;
}

/* Whether it is the first of its group. */
static bool begins_group(const entry *entries, const entry *e) {
    return e == entries || strcmp(e[-1].solver->group, e->solver->group) != 0;
}

/* "f, g, Hv, Jv": gradients of f and g are always needed */
static const char *oracles_needed(const blv_solver *solver) {
    static const char *const words[] = {"f, g", "f, g, Hv", "f, g, Jv", "f, g, Hv, Jv"};
    return words[(solver->uses & BLV_USES_HVP ? 1 : 0) + (solver->uses & BLV_USES_CROSS ? 2 : 0)];
}

static const char *yes_or_no(unsigned flag) {
    return flag ? "yes" : "no";
}

/* Adds source, group, oracles, ... to a table of two columns. */
static void add_facts(report_table *lines, const blv_solver *solver) {
    report_table_add(lines, "source\t%s", solver->citation);
    report_table_add(lines, "group\t%s", solver->group);
    report_table_add(lines, "oracles\t%s", oracles_needed(solver));
    report_table_add(lines, "stochastic\t%s", yes_or_no(solver->uses & BLV_IS_STOCHASTIC));
    report_table_add(lines, "needs an invertible d2g/dy2\t%s",
                     yes_or_no(solver->uses & BLV_USES_INVERSE));
    report_table_add(lines, "biased\t%s", solver->bias ? solver->bias : "no");
    report_table_add(lines, "when it diverges\t%s", solver->hint ? solver->hint : "");
}

/* ---- The list ---- */

/* The names of those that have this remark, below it. */
static void print_names(const entry *entries, const char *remark, blv_fit fit) {
    int column = 0;
    for (const entry *e = entries; e->solver; e++)
        if (e->fit == fit && strcmp(e->remark.text, remark) == 0)
            column = cli_print_word(column, e->solver->name);
    putchar('\n');
}

static bool said_before(const entry *entries, const entry *e) {
    for (const entry *earlier = entries; earlier < e; earlier++)
        if (earlier->fit == e->fit && strcmp(earlier->remark.text, e->remark.text) == 0)
            return true;
    return false;
}

static void print_remarks(const entry *entries, blv_fit fit, const char *title) {
    for (const entry *e = entries; e->solver; e++) {
        if (e->fit != fit || !e->remark.text[0] || said_before(entries, e))
            continue;
        printf("\n%s%s\n", title, e->remark.text);
        print_names(entries, e->remark.text, fit);
    }
}

static void print_table(const entry *entries) {
    report_table lines = {.align = "llll"};
    const char *group = "";
    report_table_add(&lines, "  NAME\tNEEDS\tSTOCHASTIC\tSUMMARY");
    for (const entry *e = entries; e->solver; e++) {
        const blv_solver *solver = e->solver;
        if (e->fit != BLV_FIT_SUITED)
            continue;
        if (strcmp(group, solver->group) != 0)
            report_table_heading(&lines, cli_print("%s: %s", solver->group, e->group_summary));
        group = solver->group;
        report_table_add(&lines, "  %s\t%s\t%s\t%s", solver->name, oracles_needed(solver),
                         yes_or_no(solver->uses & BLV_IS_STOCHASTIC), solver->summary);
    }
    if (*group)
        cli_table_print(&lines, 0, stdout);
    else
        puts("No solver suits it as it is.");
    report_table_free(&lines);
}

static void print_list(const entry *entries, const cli_instance *problem) {
    if (problem->problem)
        printf("For %s\n\n", cli_instance_describe(problem));
    print_table(entries);
    print_remarks(entries, BLV_FIT_SUITED, "Note: ");
    print_remarks(entries, BLV_FIT_DIFFERENCES, "Left out, though they run: ");
    print_remarks(entries, BLV_FIT_REJECTED, "Left out: ");
}

/* ---- One solver ---- */

static void print_one(const entry *e, const cli_instance *problem) {
    static const char *const fit_words[] = {
        [BLV_FIT_REJECTED] = "no", [BLV_FIT_DIFFERENCES] = "it runs", [BLV_FIT_SUITED] = "yes"};
    const blv_solver *solver = e->solver;
    printf("%s: %s\n\n", solver->name, solver->summary);
    report_table lines = {.align = "ll"};
    add_facts(&lines, solver);
    if (problem->problem)
        report_table_add(&lines, "suits %s\t%s%s%s", problem->family->name, fit_words[e->fit],
                         e->remark.text[0] ? ": " : "", e->remark.text);
    cli_table_print(&lines, 0, stdout);
    cli_print_params(solver->params, NULL, "--set");
}

/* ---- Markdown: what scripts/solver-pages writes below the hand-written parts ---- */

static void print_markdown_of(const blv_solver *solver) {
    report_table lines = {.align = "ll"};
    puts("## In short\n");
    report_table_add(&lines, "\t");
    report_table_add(&lines, "what it does\t%s", solver->summary);
    add_facts(&lines, solver);
    cli_table_markdown(&lines);
    puts("\n## Parameters\n");
    cli_print_params(solver->params, NULL, NULL);
}

static void print_markdown(const entry *entries) {
    report_table lines = {.align = "llll"};
    for (const entry *e = entries; e->solver; e++) {
        const blv_solver *s = e->solver;
        if (begins_group(entries, e)) {
            printf("%s## %s\n\nThese %s.\n\n", e == entries ? "" : "\n", s->group,
                   e->group_summary);
            report_table_add(&lines, "name\toracles\tstochastic\twhat it does");
        }
        report_table_add(&lines, "[`%s`](%s.md)\t%s\t%s\t%s", s->name, s->name, oracles_needed(s),
                         yes_or_no(s->uses & BLV_IS_STOCHASTIC), s->summary);
        if (!e[1].solver || begins_group(entries, e + 1))
            cli_table_markdown(&lines);
    }
}

/* ---- JSON ---- */

static json_t *describe(const entry *e, bool with_fit) {
    static const char *const fit_words[] = {"refused", "differences", "suited", NULL};
    _Static_assert(BLV_FIT_REJECTED == 0 && BLV_FIT_DIFFERENCES == 1 && BLV_FIT_SUITED == 2,
                   "the words are in this order");
    static const blv_field names[] = {BLV_FIELD(blv_solver, name, TEXT),
                                      BLV_FIELD(blv_solver, group, TEXT),
                                      BLV_FIELD(blv_solver, summary, TEXT),
                                      BLV_FIELD(blv_solver, citation, TEXT),
                                      BLV_FIELD(blv_solver, hint, TEXT),
                                      BLV_FIELD_AS("bias", blv_solver, bias, TEXT, BLV_OPTIONAL),
                                      {0}};
    static const blv_field fit[] = {BLV_FIELD_WORD("fit", entry, fit, fit_words),
                                    BLV_FIELD_AS("remark", entry, remark.text, CHARS, 0),
                                    {0}};
    const unsigned uses = e->solver->uses;
    json_t *object = json_object();
    cli_json_add(object, names, e->solver);
    cli_json_put(object, "stochastic", json_boolean(uses & BLV_IS_STOCHASTIC), "uses_hvp",
                 json_boolean(uses & BLV_USES_HVP), "uses_jvp", json_boolean(uses & BLV_USES_CROSS),
                 "uses_inverse", json_boolean(uses & BLV_USES_INVERSE), "parameters",
                 cli_json_params(e->solver->params), NULL);
    if (with_fit)
        cli_json_add(object, fit, e);
    return object;
}

static json_t *describe_all(const entry *entries, bool with_fit) {
    json_t *array = json_array();
    for (const entry *e = entries; e->solver; e++)
        cli_json_append(array, describe(e, with_fit));
    return array;
}

/* ---- The command ---- */

static void show_all(const request *asked) {
    const cli_instance *problem = &asked->problem;
    entry *entries = list_entries(problem->problem);
    if (asked->json)
        cli_json_print(describe_all(entries, problem->problem));
    else if (asked->markdown)
        print_markdown(entries);
    else
        print_list(entries, problem);
    free(entries);
}

static void show_one(const request *asked) {
    const cli_instance *problem = &asked->problem;
    entry e = {.solver = blv_solver_find(NULL, asked->name, &cli_why)};
    cli_expect(e.solver ? BLV_OK : BLV_E_NAME);
    if (problem->problem)
        e.fit = blv_solver_fit(e.solver, problem->problem, &e.remark);
    if (asked->json)
        cli_json_print(describe(&e, problem->problem));
    else if (asked->markdown)
        print_markdown_of(e.solver);
    else
        print_one(&e, problem);
}

static int show(void *of) {
    request *asked = of;
    if (asked->problem.name)
        cli_instance_create(&asked->problem);
    if (asked->name)
        show_one(asked);
    else
        show_all(asked);
    return CLI_DONE;
}

const cli_command cmd_solvers =
    CLI_COMMAND("solvers", "[NAME]", "list the solvers, or the parameters of one", request, table,
                show, "List the solvers, or describe one and its parameters.", .check = check);
