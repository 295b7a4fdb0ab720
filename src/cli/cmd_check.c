#include "cli_commands.h"
#include "cli_describe.h"
#include "cli_instance.h"
#include "cli_json.h"
#include "cli_table.h"

#include <stdio.h>

typedef struct request {
    cli_inquiry about;
    uint64_t seed;
} request;

enum { KEY_SEED = CLI_KEY_FIRST };

static const struct argp_option options[] = {
    {"seed", KEY_SEED, "N", 0, "seed of the random point (default 0)", 0}, {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
    request *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->about;
        return 0;
    case KEY_SEED:
        asked->seed = cli_parse_seed(arg, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_report(const blv_check_report *report) {
    cli_table table = {.align = "lrrrl"};
    const char *title[] = {"CHECK", "ERROR", "ALLOWED", "WORST AT", "VERDICT"};
    cli_table_row(&table, title);
    for (size_t i = 0; i < report->count; i++) {
        const blv_check_item *item = &report->item[i];
        char error[32], allowed[32], worst[32] = "-";
        snprintf(error, sizeof error, "%.1e", item->error);
        snprintf(allowed, sizeof allowed, "%.1e", item->allowed);
        if (item->worst != SIZE_MAX)
            snprintf(worst, sizeof worst, "%zu", item->worst);
        const char *cells[] = {item->what, error, allowed, worst, item->ok ? "ok" : "WRONG"};
        cli_table_row(&table, cells);
    }
    cli_table_print(&table, 0, stdout);
    printf("%s\n", report->ok ? "Every oracle agrees." : "Some oracles do not agree.");
}

static json_t *describe_report(const cli_instance *instance, const blv_check_report *report) {
    json_t *items = cli_json_array();
    for (size_t i = 0; i < report->count; i++) {
        const blv_check_item *item = &report->item[i];
        json_t *entry = cli_json_object();
        cli_json_set(entry, "what", cli_json_text(item->what));
        cli_json_set(entry, "error", cli_json_real(item->error));
        cli_json_set(entry, "allowed", cli_json_real(item->allowed));
        cli_json_set(entry, "worst",
                     item->worst == SIZE_MAX ? json_null() : cli_json_whole(item->worst));
        cli_json_set(entry, "ok", json_boolean(item->ok));
        cli_json_append(items, entry);
    }
    json_t *object = cli_json_object();
    cli_json_set(object, "problem", cli_json_text(instance->family->name));
    cli_json_set(object, "precision",
                 cli_json_text(cli_precision_word(instance->options.precision)));
    cli_json_set(object, "problem_parameters",
                 cli_json_values(instance->family->params, instance->params));
    cli_json_set(object, "ok", json_boolean(report->ok));
    cli_json_set(object, "items", items);
    return object;
}

static int check(request *asked) {
    cli_instance *instance = &asked->about.instance;
    int code = cli_instance_create(instance);
    if (code != CLI_DONE)
        return code;
    blv_message why = {0};
    blv_check_report report = {0};
    const double scale = 1.0;
    blv_error error = blv_problem_check(instance->problem, asked->seed, scale, &report, &why);
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    if (asked->about.json)
        cli_json_print(describe_report(instance, &report));
    else
        print_report(&report);
    return report.ok ? CLI_DONE : CLI_FAILED;
}

int cmd_check(int argc, char **argv) {
    const struct argp_child children[] = {{&cli_inquiry_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "PROBLEM",
        .doc = "Compare every oracle of PROBLEM with central differences at a random point.\v"
               "Exit status: 0 every oracle agrees, 1 some do not, 2 bad usage.",
        .children = children};
    request asked = {0};
    if (!cli_parse(&argp, argc, argv, &asked))
        return CLI_DONE;
    int code = check(&asked);
    cli_instance_free(&asked.about.instance);
    return code;
}
