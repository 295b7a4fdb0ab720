/* bilevel problems [NAME]: the built-in problems, and the arrays that define an instance. */
#include "base/message.h"
#include "bilevel/npz.h"
#include "bilevel/registry.h"
#include "bilevel/run.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/problem_choice.h"
#include "cli/text_table.h"

#include <stdio.h>
#include <string.h>

typedef struct request {
    cli_instance instance;
    const char *out;
    bool json;
} request;

static const cli_argument table[] = {
    CLI_POSITION(TEXT, request, instance.name, "[NAME]", NULL),
    CLI_OPTION("out", TEXT, request, out, "FILE.npz", "write the arrays that define the instance"),
    CLI_OPTION("json", FLAG, request, json, NULL, "print JSON on standard output"),
    CLI_INCLUDE(cli_problem_table, request, instance, CLI_SECTION_PROBLEM), CLI_END};

static blv_error check(void *of, blv_message *why) {
    const request *asked = of;
    if (!asked->instance.name && (asked->out || asked->instance.settings.count > 0))
        return blv_explain(why, BLV_E_ARGUMENT,
                           "--out and --problem-set need the name of a problem");
    return BLV_OK;
}

static void print_list(void) {
    report_table lines = {.align = "ll"};
    report_table_add(&lines, "NAME\tSUMMARY");
    const blv_problem_family *family;
    for (size_t i = 0; (family = blv_family_at(NULL, i)); i++)
        report_table_add(&lines, "%s\t%s", family->name, family->summary);
    cli_table_print(&lines, 0, stdout);
}

/* A text of several lines, each behind two spaces. */
static void print_indented(const char *text) {
    while (*text) {
        int length = (int)strcspn(text, "\n");
        printf("  %.*s\n", length, text);
        text += length + (text[length] == '\n');
    }
}

static void print_one(const cli_instance *instance) {
    const blv_problem_family *family = instance->family;
    printf("%s: %s\n", family->name, family->summary);
    if (family->formula)
        print_indented(family->formula);
    if (!family->params || !family->params->key) {
        printf("\nIt has no parameters.\n");
        return;
    }
    printf("\nParameters (--problem-set KEY=VALUE)\n");
    cli_print_params(family->params, instance->settings.count > 0 ? instance->params : NULL,
                     REPORT_AS_TEXT);
}

static json_t *describe(const blv_problem_family *family) {
    static const blv_field fields[] = {BLV_FIELD(blv_problem_family, name, TEXT),
                                       BLV_FIELD(blv_problem_family, summary, TEXT),
                                       BLV_FIELD(blv_problem_family, formula, TEXT),
                                       {0}};
    json_t *object = cli_json_object();
    cli_json_add(object, fields, family);
    cli_json_set(object, "parameters", cli_json_params(family->params));
    return object;
}

static json_t *describe_one(const cli_instance *instance) {
    json_t *object = describe(instance->family);
    cli_json_set(object, "values", cli_json_values(instance->family->params, instance->params));
    return object;
}

static json_t *describe_all(void) {
    json_t *array = cli_json_array();
    const blv_problem_family *family;
    for (size_t i = 0; (family = blv_family_at(NULL, i)); i++)
        cli_json_append(array, describe(family));
    return array;
}

static int write_arrays(const char *path, const blv_named_array *arrays) {
    blv_message why = {0};
    blv_npz_writer *writer = NULL;
    blv_error error = blv_npz_create(&writer, path, &why);
    for (; error == BLV_OK && arrays->name; arrays++) {
        error =
            blv_npz_add_f64(writer, arrays->name, arrays->ndim, arrays->shape, arrays->data, &why);
        if (error != BLV_OK)
            blv_npz_discard(writer);
    }
    if (error == BLV_OK)
        error = blv_npz_commit(writer, &why);
    return cli_exit_code(error, &why);
}

static void print_arrays(const char *path, const blv_named_array *arrays) {
    printf("%s holds", path);
    for (const char *joint = " "; arrays->name; arrays++, joint = ", ") {
        printf("%s%s", joint, arrays->name);
        for (size_t i = 0; i < arrays->ndim; i++)
            printf("%s%zu", i == 0 ? " (" : " x ", arrays->shape[i]);
        fputs(arrays->ndim > 0 ? ")" : "", stdout);
    }
    putchar('\n');
}

static json_t *describe_arrays(const char *path, const blv_named_array *arrays) {
    json_t *shapes = cli_json_object();
    for (; arrays->name; arrays++) {
        json_t *shape = cli_json_array();
        for (size_t i = 0; i < arrays->ndim; i++)
            cli_json_append(shape, cli_json_whole(arrays->shape[i]));
        cli_json_set(shapes, arrays->name, shape);
    }
    json_t *object = cli_json_object();
    cli_json_set(object, "file", cli_json_text(path));
    cli_json_set(object, "arrays", shapes);
    return object;
}

static int write_instance(request *asked) {
    int code = cli_instance_create(&asked->instance);
    if (code != CLI_DONE)
        return code;
    const blv_named_array *arrays = blv_problem_definition(asked->instance.problem)->arrays;
    if (!arrays || !arrays->name) {
        cli_complain("problem %s has no arrays to write: its formula says all",
                     asked->instance.family->name);
        return CLI_REJECTED;
    }
    code = write_arrays(asked->out, arrays);
    if (code == CLI_DONE && asked->json)
        cli_json_print(describe_arrays(asked->out, arrays));
    else if (code == CLI_DONE)
        print_arrays(asked->out, arrays);
    return code;
}

static int show_instance(request *asked) {
    int code = cli_instance_find(&asked->instance);
    if (code == CLI_DONE && asked->json)
        cli_json_print(describe_one(&asked->instance));
    else if (code == CLI_DONE)
        print_one(&asked->instance);
    return code;
}

static int show(request *asked) {
    if (asked->out)
        return write_instance(asked);
    if (asked->instance.name)
        return show_instance(asked);
    if (asked->json)
        cli_json_print(describe_all());
    else
        print_list();
    return CLI_DONE;
}

int cmd_problems(int argc, char **argv) {
    static const cli_arguments arguments = {
        .table = table,
        .doc = "List the problems, or describe one and its parameters.",
        .check = check};
    request asked = {0};
    int code = cli_read_arguments(&arguments, argc, argv, &asked) ? show(&asked) : CLI_DONE;
    cli_instance_free(&asked.instance);
    return code;
}
