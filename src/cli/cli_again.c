/* Resuming `clean` and `tune` by their command line, until they keep a typed request. */
#include "cli/json.h"
#include "cli/task_hooks.h"
#include "cli_task.h"
#include "cli_work.h"
#include "store/run_info.h"

#include <stdlib.h>
#include <string.h>

static int do_again(const cli_resume *r, int (*command)(int, char **, const cli_again *)) {
    json_t *run = blv_record_json(blv_run_info_fields, r->run);
    const json_t *task = json_object_get(run, "task");
    const json_t *arguments = json_object_get(task, "arguments");
    size_t count = json_array_size(arguments);
    int code = cli_task_enter_place(task);
    if (code != CLI_DONE || count == 0)
        return code != CLI_DONE ? code : cli_refuse(BLV_E_VALUE, "the run has no command line");
    char **argv = cli_alloc(count + 1, sizeof *argv);
    for (size_t i = 0; i < count; i++) {
        const char *word = json_string_value(json_array_get(arguments, i));
        argv[i] = strdup(word ? word : "");
    }
    cli_again again = {.store = r->store,
                       .store_is_named = r->store_is_named,
                       .id = r->run->id,
                       .run = run,
                       .checkpoint_seconds = r->checkpoint_seconds,
                       .json = r->json,
                       .quiet = r->quiet};
    code = command((int)count, argv, &again);
    for (size_t i = 0; i < count; i++)
        free(argv[i]);
    free(argv);
    json_decref(run);
    return code;
}

int cli_clean_resume(const cli_resume *r) {
    return do_again(r, cli_clean_again);
}

int cli_tune_resume(const cli_resume *r) {
    return do_again(r, cli_tune_again);
}
