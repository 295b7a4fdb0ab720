/* Settings as typed with --set, --problem-set: lines KEY=VALUE for the table that the first byte
 * chooses. What is accepted reads back as itself. */
#include "bilevel/run.h"

#include "registry/builtin.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct owner {
    const char *name;
    const blv_param *table;
    size_t size;
} owner;

static owner choose(uint8_t choice) {
    size_t solvers = 0, problems = 0;
    while (blv_builtin_solvers[solvers])
        solvers++;
    while (blv_builtin_problems[problems])
        problems++;
    size_t i = choice % (solvers + problems);
    if (i < solvers)
        return (owner){blv_builtin_solvers[i]->name, blv_builtin_solvers[i]->params,
                       blv_builtin_solvers[i]->state_size};
    const blv_problem_family *family = blv_builtin_problems[i - solvers];
    return (owner){family->name, family->params, family->params_size};
}

static void require(int holds) {
    if (!holds)
        abort();
}

static void set_and_read_back(const owner *o, void *fields, const char *key, const char *value) {
    char shown[BLV_TEXT_SIZE], again[BLV_TEXT_SIZE];
    blv_message why = {""};
    blv_error error = blv_params_set(o->table, fields, o->name, key, value, &why);
    require((error != BLV_OK) == (why.text[0] != '\0'));
    const blv_param *param = blv_params_find(o->table, key);
    require(param || error == BLV_E_NAME);
    if (!param)
        return;
    blv_params_format(param, fields, shown, sizeof shown);
    require(blv_params_set(o->table, fields, o->name, key, shown, &why) == BLV_OK);
    blv_params_format(param, fields, again, sizeof again);
    require(strcmp(shown, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    owner o = choose(data[0]);
    if (!o.table)
        return 0;
    void *fields = calloc(1, o.size);
    char *text = malloc(size);
    require(fields && text && blv_params_default(o.table, fields, NULL) == BLV_OK);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        char *value = strchr(line, '=');
        if (!value)
            continue;
        *value++ = '\0';
        set_and_read_back(&o, fields, line, value);
    }
    free(text);
    free(fields);
    return 0;
}
