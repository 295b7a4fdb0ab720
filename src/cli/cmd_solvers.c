#include "cli_commands.h"
#include "cli_common.h"
#include "cli_json.h"
#include "cli_table.h"

#include "bilevel/run.h"

#include <stdio.h>

typedef struct request {
    const char *name; /* NULL: list them all */
    bool json;
} request;

enum { KEY_JSON = CLI_KEY_FIRST };

static const struct argp_option options[] = {
    {"json", KEY_JSON, NULL, 0, "print JSON on standard output", 0}, {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
    request *asked = state->input;
    switch (key) {
    case KEY_JSON:
        asked->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (asked->name)
            argp_error(state, "'%s' is one argument too many", arg);
        asked->name = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char *products_used(const blv_solver *solver) {
    static const char *const words[] = {"-", "Hv", "Jv", "Hv, Jv"};
    return words[(solver->uses & BLV_USES_HVP ? 1 : 0) + (solver->uses & BLV_USES_JVP ? 2 : 0)];
}

static const char *yes_or_no(unsigned flag) {
    return flag ? "yes" : "no";
}

static void print_list(void) {
    cli_table table = {.align = "lllll"};
    const char *title[] = {"NAME", "GROUP", "STOCHASTIC", "USES", "SUMMARY"};
    cli_table_row(&table, title);
    const blv_solver *solver;
    for (size_t i = 0; (solver = blv_solver_at(NULL, i)); i++) {
        const char *cells[] = {solver->name, solver->group,
                               yes_or_no(solver->uses & BLV_IS_STOCHASTIC), products_used(solver),
                               solver->summary};
        cli_table_row(&table, cells);
    }
    cli_table_print(&table, 0, stdout);
}

static void print_one(const blv_solver *solver) {
    printf("%s: %s\n\n", solver->name, solver->summary);
    cli_table table = {.align = "ll"};
    const char *rows[][2] = {
        {"Source", solver->citation},
        {"Group", solver->group},
        {"Stochastic", yes_or_no(solver->uses & BLV_IS_STOCHASTIC)},
        {"Products used", products_used(solver)},
        {"Needs an invertible lower Hessian", yes_or_no(solver->uses & BLV_USES_INVERSE)},
        {"When it diverges", solver->hint},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cli_table_row(&table, rows[i]);
    cli_table_print(&table, 0, stdout);
    if (!solver->params || !solver->params->key) {
        printf("\nIt has no parameters.\n");
        return;
    }
    printf("\nParameters (--set KEY=VALUE)\n");
    cli_print_params(solver->params, NULL, stdout);
}

static json_t *describe(const blv_solver *solver) {
    json_t *object = cli_json_object();
    cli_json_set(object, "name", cli_json_text(solver->name));
    cli_json_set(object, "group", cli_json_text(solver->group));
    cli_json_set(object, "summary", cli_json_text(solver->summary));
    cli_json_set(object, "citation", cli_json_text(solver->citation));
    cli_json_set(object, "hint", cli_json_text(solver->hint));
    cli_json_set(object, "stochastic", json_boolean(solver->uses & BLV_IS_STOCHASTIC));
    cli_json_set(object, "uses_hvp", json_boolean(solver->uses & BLV_USES_HVP));
    cli_json_set(object, "uses_jvp", json_boolean(solver->uses & BLV_USES_JVP));
    cli_json_set(object, "uses_inverse", json_boolean(solver->uses & BLV_USES_INVERSE));
    cli_json_set(object, "parameters", cli_json_params(solver->params));
    return object;
}

static json_t *describe_all(void) {
    json_t *array = cli_json_array();
    const blv_solver *solver;
    for (size_t i = 0; (solver = blv_solver_at(NULL, i)); i++)
        cli_json_append(array, describe(solver));
    return array;
}

int cmd_solvers(int argc, char **argv) {
    const struct argp argp = {.options = options,
                              .parser = parse,
                              .args_doc = "[NAME]",
                              .doc = "List the solvers, or describe one and its parameters."};
    request asked = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &asked);
    if (!asked.name) {
        if (asked.json)
            cli_json_print(describe_all());
        else
            print_list();
        return CLI_DONE;
    }
    blv_message why = {0};
    const blv_solver *solver = blv_solver_find(NULL, asked.name, &why);
    if (!solver)
        return cli_refuse(BLV_E_NAME, why.text);
    if (asked.json)
        cli_json_print(describe(solver));
    else
        print_one(solver);
    return CLI_DONE;
}
