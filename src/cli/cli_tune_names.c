#include "cli_tune.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *copy_text(const char *text) {
    char *copy = strdup(text);
    if (!copy)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
    return copy;
}

static void add_name(cli_penalty_names *names, const char *text) {
    names->names = cli_grow(names->names, names->count + 1, sizeof *names->names);
    names->names[names->count++] = copy_text(text);
}

static void name_features(const cli_sets *sets, cli_penalty_names *names) {
    const blv_dataset_view *train = blv_dataset_view_of(sets->train);
    for (size_t j = 0; j < sets->features; j++) {
        char number[32];
        snprintf(number, sizeof number, "%zu", j);
        add_name(names, train->feature_names ? train->feature_names[j] : number);
    }
    add_name(names, "intercept");
}

/* Two classes have one row of weights, and one penalty. */
static void name_classes(const cli_sets *sets, cli_penalty_names *names) {
    const blv_dataset_view *train = blv_dataset_view_of(sets->train);
    if (train->classes == 2)
        add_name(names, "all");
    for (size_t k = 0; train->classes > 2 && k < train->classes; k++)
        add_name(names, train->class_names[k]);
}

/* ---- Groups ---- */

static uint32_t group_number(cli_penalty_names *names, const char *text) {
    for (size_t k = 0; k < names->count; k++)
        if (strcmp(names->names[k], text) == 0)
            return (uint32_t)k;
    add_name(names, text);
    return (uint32_t)(names->count - 1);
}

static int refuse_groups(const char *path, size_t line, const char *text) {
    cli_complain("%s, line %zu: %s", path, line, text);
    return CLI_REFUSED;
}

/* One line for each feature: the name of its group. */
static int take_groups(const char *path, FILE *file, size_t features, cli_penalty_names *names) {
    char *line = NULL;
    size_t size = 0, count = 0;
    int code = CLI_DONE;
    while (code == CLI_DONE && getline(&line, &size, file) >= 0) {
        line[strcspn(line, "\r\n")] = '\0';
        if (!*line)
            code = refuse_groups(path, count + 1, "expected the name of a group, found nothing");
        else if (count == features)
            code = refuse_groups(path, count + 1, "more lines than features");
        else
            names->group[count++] = group_number(names, line);
    }
    free(line);
    if (code == CLI_DONE && !feof(file))
        code = refuse_groups(path, count + 1, strerror(errno));
    if (code == CLI_DONE && count < features)
        code = refuse_groups(path, count + 1, "fewer lines than features");
    return code;
}

static int read_groups(const char *path, const cli_sets *sets, cli_penalty_names *names) {
    FILE *file = fopen(path, "r");
    if (!file) {
        cli_complain("%s: cannot open: %s", path, strerror(errno));
        return CLI_REFUSED;
    }
    names->group = cli_alloc(sets->features + 1, sizeof *names->group);
    int code = take_groups(path, file, sets->features, names);
    fclose(file);
    if (code == CLI_DONE)
        names->group[sets->features] = group_number(names, "intercept");
    return code;
}

int cli_penalty_names_find(const cli_tune_request *request, const cli_sets *sets,
                           cli_penalty_names *names) {
    switch (request->kind) {
    case BLV_PENALTY_PER_FEATURE:
        name_features(sets, names);
        return CLI_DONE;
    case BLV_PENALTY_PER_CLASS:
        name_classes(sets, names);
        return CLI_DONE;
    case BLV_PENALTY_GROUPS:
        return read_groups(request->groups, sets, names);
    case BLV_PENALTY_ONE:
        break;
    }
    add_name(names, "all");
    return CLI_DONE;
}

void cli_penalty_names_free(cli_penalty_names *names) {
    for (size_t k = 0; k < names->count; k++)
        free(names->names[k]);
    free(names->names);
    free(names->group);
}
