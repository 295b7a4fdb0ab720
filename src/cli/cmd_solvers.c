/* bilevel solvers [NAME]: the built-in solvers, as text, JSON or Markdown, for a problem or for
 * all.
 */
#include "bilevel/registry.h"
#include "cli_commands.h"
#include "cli_describe.h"
#include "cli_groups.h"
#include "cli_instance.h"
#include "cli_json.h"
#include "cli_markdown.h"
#include "cli_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    cli_inquiry about; /* its problem is that of --for */
    const char *name;  /* NULL: list them all */
    bool markdown;
} request;

/* ---- Options ---- */

enum { KEY_FOR = CLI_KEY_FIRST, KEY_MARKDOWN };

static const struct argp_option options[] = {
    {"for", KEY_FOR, "PROBLEM", 0, "only those that suit a problem, and why the others do not", 0},
    {"markdown", KEY_MARKDOWN, NULL, 0, "print what the pages of the solvers are made from", 0},
    {0}};

static void check_request(const request *asked, const struct argp_state *state) {
    const cli_instance *problem = &asked->about.instance;
    if (!problem->name && (problem->settings.count > 0 || problem->gradients_only))
        argp_error(state, "options of a problem need --for PROBLEM");
    if (asked->markdown && (asked->about.json || problem->name))
        argp_error(state, "--markdown goes with neither --json nor --for");
}

static error_t parse(int key, char *arg, struct argp_state *state) {
    request *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->about;
        return 0;
    case KEY_FOR:
        asked->about.instance.name = arg;
        return 0;
    case KEY_MARKDOWN:
        asked->markdown = true;
        return 0;
    case ARGP_KEY_ARG:
        if (asked->name)
            argp_error(state, "'%s' is one argument too many", arg);
        asked->name = arg;
        return 0;
    case ARGP_KEY_END:
        check_request(asked, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- The list ---- */

typedef struct entry {
    const blv_solver *solver;
    blv_fit fit;
    blv_message remark;
} entry;

/* All solvers with what is to be said about them and the problem, which may be NULL: then each
 * suits. Ends with a NULL solver; to be freed. */
static entry *list_entries(const blv_problem *problem) {
    const blv_solver **solvers = cli_solvers_by_group();
    size_t count = 0;
    while (solvers[count])
        count++;
    entry *entries = cli_alloc(count + 1, sizeof *entries);
    for (size_t i = 0; i < count; i++) {
        entries[i].solver = solvers[i];
        entries[i].fit =
            problem ? blv_solver_fit(solvers[i], problem, &entries[i].remark) : BLV_FIT_SUITED;
    }
    free(solvers);
    return entries;
}

static void add_group_heading(cli_table *table, const char *group) {
    char text[160];
    const char *summary = cli_group_summary(group);
    snprintf(text, sizeof text, "%s%s%s", group, summary ? ": " : "", summary ? summary : "");
    cli_table_heading(table, text);
}

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
    cli_table table = {.align = "llll"};
    const char *title[] = {"  NAME", "NEEDS", "STOCHASTIC", "SUMMARY"}, *group = "";
    cli_table_row(&table, title);
    for (const entry *e = entries; e->solver; e++) {
        if (e->fit != BLV_FIT_SUITED)
            continue;
        if (strcmp(group, e->solver->group) != 0)
            add_group_heading(&table, e->solver->group);
        group = e->solver->group;
        char name[80];
        snprintf(name, sizeof name, "  %s", e->solver->name);
        const char *cells[] = {name, cli_oracles_needed(e->solver),
                               cli_yes_or_no(e->solver->uses & BLV_IS_STOCHASTIC),
                               e->solver->summary};
        cli_table_row(&table, cells);
    }
    if (*group)
        cli_table_print(&table, 0, stdout);
    else
        puts("No solver suits it as it is.");
    cli_table_free(&table);
}

static void print_list(const entry *entries, const cli_instance *problem) {
    if (problem->problem) {
        char text[256];
        cli_instance_describe(problem, text, sizeof text);
        printf("For %s\n\n", text);
    }
    print_table(entries);
    print_remarks(entries, BLV_FIT_SUITED, "Note: ");
    print_remarks(entries, BLV_FIT_DIFFERENCES, "Left out, though they run: ");
    print_remarks(entries, BLV_FIT_REFUSED, "Left out: ");
}

/* ---- One solver ---- */

static void print_one(const entry *e, const cli_instance *problem) {
    static const char *const fit_words[] = {
        [BLV_FIT_REFUSED] = "no", [BLV_FIT_DIFFERENCES] = "it runs", [BLV_FIT_SUITED] = "yes"};
    const blv_solver *solver = e->solver;
    printf("%s: %s\n\n", solver->name, solver->summary);
    cli_table table = {.align = "ll"};
    const char *rows[][2] = {
        {"Source", solver->citation},
        {"Group", solver->group},
        {"Stochastic", cli_yes_or_no(solver->uses & BLV_IS_STOCHASTIC)},
        {"Oracles needed", cli_oracles_needed(solver)},
        {"Needs an invertible lower Hessian", cli_yes_or_no(solver->uses & BLV_USES_INVERSE)},
        {"When it diverges", solver->hint},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cli_table_row(&table, rows[i]);
    if (problem->problem) {
        char title[80], text[600];
        snprintf(title, sizeof title, "Suits %.60s", problem->family->name);
        snprintf(text, sizeof text, "%s%s%s", fit_words[e->fit], e->remark.text[0] ? ": " : "",
                 e->remark.text);
        cli_table_row(&table, (const char *[]){title, text});
    }
    cli_table_print(&table, 0, stdout);
    if (!solver->params || !solver->params->key) {
        printf("\nIt has no parameters.\n");
        return;
    }
    printf("\nParameters (--set KEY=VALUE)\n");
    cli_print_params(solver->params, NULL, stdout);
}

/* ---- JSON ---- */

static json_t *describe(const entry *e, bool with_fit) {
    static const char *const fit_words[] = {[BLV_FIT_REFUSED] = "refused",
                                            [BLV_FIT_DIFFERENCES] = "differences",
                                            [BLV_FIT_SUITED] = "suited"};
    const blv_solver *solver = e->solver;
    json_t *object = cli_json_object();
    cli_json_set(object, "name", cli_json_text(solver->name));
    cli_json_set(object, "group", cli_json_text(solver->group));
    cli_json_set(object, "summary", cli_json_text(solver->summary));
    cli_json_set(object, "citation", cli_json_text(solver->citation));
    cli_json_set(object, "hint", cli_json_text(solver->hint));
    cli_json_set(object, "stochastic", json_boolean(solver->uses & BLV_IS_STOCHASTIC));
    cli_json_set(object, "uses_hvp", json_boolean(solver->uses & BLV_USES_HVP));
    cli_json_set(object, "uses_jvp", json_boolean(solver->uses & BLV_USES_CROSS));
    cli_json_set(object, "uses_inverse", json_boolean(solver->uses & BLV_USES_INVERSE));
    cli_json_set(object, "parameters", cli_json_params(solver->params));
    if (with_fit) {
        cli_json_set(object, "fit", cli_json_text(fit_words[e->fit]));
        cli_json_set(object, "remark", cli_json_text(e->remark.text));
    }
    return object;
}

static json_t *describe_all(const entry *entries, bool with_fit) {
    json_t *array = cli_json_array();
    for (const entry *e = entries; e->solver; e++)
        cli_json_append(array, describe(e, with_fit));
    return array;
}

/* ---- The command ---- */

static void show_all(const request *asked) {
    const cli_instance *problem = &asked->about.instance;
    entry *entries = list_entries(problem->problem);
    if (asked->about.json)
        cli_json_print(describe_all(entries, problem->problem));
    else
        print_list(entries, problem);
    free(entries);
}

static int show_one(const request *asked) {
    const cli_instance *problem = &asked->about.instance;
    blv_message why = {0};
    entry e = {.solver = blv_solver_find(NULL, asked->name, &why)};
    if (!e.solver)
        return cli_refuse(BLV_E_NAME, why.text);
    if (problem->problem)
        e.fit = blv_solver_fit(e.solver, problem->problem, &e.remark);
    if (asked->about.json)
        cli_json_print(describe(&e, problem->problem));
    else if (asked->markdown)
        cli_markdown_solver(e.solver);
    else
        print_one(&e, problem);
    return CLI_DONE;
}

static int show(request *asked) {
    if (asked->about.instance.name) {
        int code = cli_instance_create(&asked->about.instance);
        if (code != CLI_DONE)
            return code;
    }
    if (asked->name)
        return show_one(asked);
    if (asked->markdown)
        cli_markdown_solvers();
    else
        show_all(asked);
    return CLI_DONE;
}

int cmd_solvers(int argc, char **argv) {
    const struct argp_child children[] = {{&cli_inquiry_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {.options = options,
                              .parser = parse,
                              .args_doc = "[NAME]",
                              .doc = "List the solvers, or describe one and its parameters.",
                              .children = children};
    request asked = {.about.instance.name_optional = true};
    if (!cli_parse(&argp, argc, argv, &asked))
        return CLI_DONE;
    int code = show(&asked);
    cli_instance_free(&asked.about.instance);
    return code;
}
