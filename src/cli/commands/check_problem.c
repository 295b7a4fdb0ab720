/* bilevel check PROBLEM: compares a problem's derivatives with differences. */
#include "cli/printing.h"
#include "cli/problem_choice.h"
#include "store/run_info.h"

#include <stdio.h>

typedef struct request {
    cli_instance instance;
    bool json;
    uint64_t seed;
} request;

static const cli_argument table[] = {
    CLI_POSITION(TEXT, request, instance.name, "PROBLEM", "no problem is named"),
    CLI_OPTION("seed", WHOLE, request, seed, "N", "seed of the random point (default 0)"),
    CLI_OPTION("json", FLAG, request, json, NULL, "print JSON on standard output"),
    CLI_INCLUDE(cli_problem_table, request, instance), CLI_END};

static void print_report(const blv_check_report *report) {
    report_table lines = {.align = "lrrrl"};
    report_table_add(&lines, "CHECK\tERROR\tALLOWED\tWORST AT\tVERDICT");
    for (size_t i = 0; i < report->count; i++) {
        const blv_check_item *item = &report->item[i];
        report_table_add(&lines, "%s\t%.1e\t%.1e\t%s\t%s", item->what, item->error, item->allowed,
                         item->worst == SIZE_MAX ? "-" : cli_print("%zu", item->worst),
                         item->ok ? "ok" : "WRONG");
    }
    cli_table_print(&lines, 0, stdout);
    printf("%s\n", report->ok ? "Every oracle agrees." : "Some oracles do not agree.");
}

static json_t *describe_report(const cli_instance *instance, const blv_check_report *report) {
    json_t *items = json_array();
    for (size_t i = 0; i < report->count; i++) {
        const blv_check_item *item = &report->item[i];
        json_t *worst = item->worst == SIZE_MAX ? json_null() : cli_json_whole(item->worst);
        cli_json_append(items, cli_json_put(json_object(), "what", blv_json_string(item->what),
                                            "error", blv_json_real(item->error), "allowed",
                                            blv_json_real(item->allowed), "worst", worst, "ok",
                                            json_boolean(item->ok), NULL));
    }
    return cli_json_put(
        json_object(), "problem", blv_json_string(instance->family->name), "precision",
        blv_json_string(blv_precision_words[instance->options.precision]), "problem_parameters",
        cli_json_values(instance->family->params, instance->params), "ok", json_boolean(report->ok),
        "items", items, NULL);
}

static int check(void *of) {
    request *asked = of;
    blv_check_report report = {0};
    const double scale = 1.0;
    cli_instance_create(&asked->instance);
    cli_expect(blv_problem_check(asked->instance.problem, asked->seed, scale, &report, &cli_why));
    if (asked->json)
        cli_json_print(describe_report(&asked->instance, &report));
    else
        print_report(&report);
    return report.ok ? CLI_DONE : CLI_FAILED;
}

const cli_command cmd_check = CLI_COMMAND(
    "check", "PROBLEM", "compare a problem's derivatives with differences", request, table, check,
    "Compare every oracle of PROBLEM with central differences at a random point.\v"
    "Exit status: 0 every oracle agrees, 1 some do not, 2 bad usage.");
