/* bilevel problems [NAME]: the built-in problems, and the arrays that define an instance. */
#include "bilevel/npz.h"
#include "bilevel/registry.h"
#include "cli/printing.h"
#include "cli/problem_choice.h"

#include <stdio.h>
#include <string.h>

typedef struct request {
    cli_instance instance;
    const char *out;
    bool json;
} request;

static const cli_argument table[] = {
    CLI_POSITION(TEXT, request, instance.name, "[NAME]", NULL),
    CLI_OPTION("out", WRITES, request, out, "FILE.npz",
               "write the arrays that define the instance"),
    CLI_OPTION("json", FLAG, request, json, NULL, "print JSON on standard output"),
    CLI_INCLUDE(cli_problem_table, request, instance), CLI_END};

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
    cli_print_params(family->params, instance->settings.count > 0 ? instance->params : NULL,
                     "--problem-set");
}

/* values: NULL where they are the defaults. */
static json_t *describe(const blv_problem_family *family, const void *values) {
    static const blv_field fields[] = {BLV_FIELD(blv_problem_family, name, TEXT),
                                       BLV_FIELD(blv_problem_family, summary, TEXT),
                                       BLV_FIELD(blv_problem_family, formula, TEXT),
                                       {0}};
    json_t *object = json_object();
    cli_json_add(object, fields, family);
    cli_json_set(object, "parameters", cli_json_params(family->params));
    if (values)
        cli_json_set(object, "values", cli_json_values(family->params, values));
    return object;
}

static json_t *describe_all(void) {
    json_t *array = json_array();
    const blv_problem_family *family;
    for (size_t i = 0; (family = blv_family_at(NULL, i)); i++)
        cli_json_append(array, describe(family, NULL));
    return array;
}

static void write_arrays(const char *path, const blv_named_array *arrays) {
    blv_npz_writer *writer = NULL;
    cli_expect(blv_npz_create(&writer, path, &cli_why));
    for (; arrays->name; arrays++) {
        blv_error error = blv_npz_add_f64(writer, arrays->name, arrays->ndim, arrays->shape,
                                          arrays->data, &cli_why);
        if (error != BLV_OK)
            blv_npz_discard(writer);
        cli_expect(error);
    }
    cli_expect(blv_npz_commit(writer, &cli_why));
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
    json_t *shapes = json_object();
    for (; arrays->name; arrays++) {
        json_t *shape = json_array();
        for (size_t i = 0; i < arrays->ndim; i++)
            cli_json_append(shape, cli_json_whole(arrays->shape[i]));
        cli_json_set(shapes, arrays->name, shape);
    }
    return cli_json_put(json_object(), "file", blv_json_string(path), "arrays", shapes, NULL);
}

static void write_instance(request *asked) {
    cli_instance_create(&asked->instance);
    const blv_named_array *arrays = blv_problem_definition(asked->instance.problem)->arrays;
    if (!arrays || !arrays->name)
        cli_die("problem %s has no arrays to write: its formula says all",
                asked->instance.family->name);
    write_arrays(asked->out, arrays);
    if (asked->json)
        cli_json_print(describe_arrays(asked->out, arrays));
    else
        print_arrays(asked->out, arrays);
}

static int show(void *of) {
    request *asked = of;
    if (asked->out) {
        write_instance(asked);
        return CLI_DONE;
    }
    if (asked->instance.name)
        cli_instance_find(&asked->instance);
    if (asked->json)
        cli_json_print(asked->instance.name
                           ? describe(asked->instance.family, asked->instance.params)
                           : describe_all());
    else if (asked->instance.name)
        print_one(&asked->instance);
    else
        print_list();
    return CLI_DONE;
}

const cli_command cmd_problems =
    CLI_COMMAND("problems", "[NAME]", "list the problems, or the parameters of one", request, table,
                show, "List the problems, or describe one and its parameters.", .check = check);
