#include "cli_commands.h"
#include "cli_describe.h"
#include "cli_instance.h"
#include "cli_json.h"
#include "cli_table.h"

#include "bilevel/npz.h"
#include "bilevel/registry.h"
#include "bilevel/run.h"

#include <stdio.h>
#include <string.h>

typedef struct request {
    cli_inquiry about;
    const char *out;
} request;

enum { KEY_OUT = CLI_KEY_FIRST };

static const struct argp_option options[] = {
    {"out", KEY_OUT, "FILE.npz", 0, "write the arrays that define the instance", 0}, {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
    request *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->about;
        return 0;
    case KEY_OUT:
        asked->out = arg;
        return 0;
    case ARGP_KEY_END:
        if (!asked->about.instance.name && (asked->out || asked->about.instance.settings.count > 0))
            argp_error(state, "--out and --problem-set need the name of a problem");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_list(void) {
    cli_table table = {.align = "ll"};
    const char *title[] = {"NAME", "SUMMARY"};
    cli_table_row(&table, title);
    const blv_problem_family *family;
    for (size_t i = 0; (family = blv_family_at(NULL, i)); i++) {
        const char *cells[] = {family->name, family->summary};
        cli_table_row(&table, cells);
    }
    cli_table_print(&table, 0, stdout);
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
                     stdout);
}

static json_t *describe(const blv_problem_family *family) {
    json_t *object = cli_json_object();
    cli_json_set(object, "name", cli_json_text(family->name));
    cli_json_set(object, "summary", cli_json_text(family->summary));
    cli_json_set(object, "formula", cli_json_text(family->formula));
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
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
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
    cli_instance *instance = &asked->about.instance;
    int code = cli_instance_create(instance);
    if (code != CLI_DONE)
        return code;
    const blv_named_array *arrays = blv_problem_definition(instance->problem)->arrays;
    if (!arrays || !arrays->name) {
        cli_complain("problem %s has no arrays to write: its formula says all",
                     instance->family->name);
        return CLI_REFUSED;
    }
    code = write_arrays(asked->out, arrays);
    if (code == CLI_DONE && asked->about.json)
        cli_json_print(describe_arrays(asked->out, arrays));
    else if (code == CLI_DONE)
        print_arrays(asked->out, arrays);
    return code;
}

static int show_instance(cli_inquiry *asked) {
    int code = cli_instance_find(&asked->instance);
    if (code == CLI_DONE && asked->json)
        cli_json_print(describe_one(&asked->instance));
    else if (code == CLI_DONE)
        print_one(&asked->instance);
    return code;
}

int cmd_problems(int argc, char **argv) {
    const struct argp_child children[] = {{&cli_inquiry_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {.options = options,
                              .parser = parse,
                              .args_doc = "[NAME]",
                              .doc = "List the problems, or describe one and its parameters.",
                              .children = children};
    request asked = {.about.instance.name_optional = true};
    if (!cli_parse(&argp, argc, argv, &asked))
        return CLI_DONE;
    int code = CLI_DONE;
    if (asked.out)
        code = write_instance(&asked);
    else if (asked.about.instance.name)
        code = show_instance(&asked.about);
    else if (asked.about.json)
        cli_json_print(describe_all());
    else
        print_list();
    cli_instance_free(&asked.about.instance);
    return code;
}
