#include "cli/outputs.h"
#include "base/message.h"

#include <stdlib.h>
#include <string.h>

static cli_outputs *unfinished; /* removed however the command ends */

static void discard(cli_outputs *outputs) {
    for (size_t i = 0; i < outputs->count; i++) {
        blv_atomic_file_discard(outputs->files[i]);
        free(outputs->files[i]);
    }
    free(outputs->files);
    cli_outputs **link = &unfinished;
    while (*link && *link != outputs)
        link = &(*link)->next;
    if (*link)
        *link = outputs->next;
    *outputs = (cli_outputs){0};
}

static void discard_unfinished(void) {
    while (unfinished)
        discard(unfinished);
}

static void note_unfinished(cli_outputs *outputs) {
    static bool noted;
    if (!noted)
        atexit(discard_unfinished);
    noted = true;
    outputs->next = unfinished;
    unfinished = outputs;
}

/* ---- Writing ---- */

static blv_error open_one(cli_outputs *outputs, const char *path, blv_message *why) {
    for (size_t i = 0; i < outputs->count; i++)
        if (strcmp(outputs->files[i]->path, path) == 0)
            return blv_explain(why, BLV_E_FILE, "%s is named twice as output", path);
    if (outputs->count == 0)
        note_unfinished(outputs);
    outputs->files = cli_grow(outputs->files, outputs->count + 1, sizeof outputs->files[0]);
    blv_atomic_file *file = cli_alloc(1, sizeof *file);
    outputs->files[outputs->count++] = file;
    blv_error error = blv_atomic_file_open(file, path, why);
    if (error != BLV_OK)
        free(outputs->files[--outputs->count]);
    return error;
}

/* NULL where there is nothing to write to. */
static blv_atomic_file *add(cli_outputs *outputs, const char *path) {
    blv_message why = {0};
    if (!path || outputs->code != CLI_DONE)
        return NULL;
    outputs->code = cli_exit_code(open_one(outputs, path, &why), &why);
    return outputs->code == CLI_DONE ? outputs->files[outputs->count - 1] : NULL;
}

const char *cli_outputs_add(cli_outputs *outputs, const char *path) {
    const blv_atomic_file *file = add(outputs, path);
    return file ? file->temporary : NULL;
}

void cli_outputs_write(cli_outputs *outputs, const char *path, const blv_dataset *dataset,
                       const char *format) {
    blv_message why = {0};
    blv_atomic_file *file = add(outputs, path);
    if (file)
        outputs->code = cli_exit_code(
            blv_dataset_write_to(dataset, path, format, blv_atomic_file_write, file, &why), &why);
}

void cli_outputs_print(cli_outputs *outputs, const char *path, cli_print_fn print,
                       const void *context) {
    blv_message why = {0};
    blv_atomic_file *file = add(outputs, path);
    if (!file)
        return;
    print(file->file, context);
    if (ferror(file->file) || fflush(file->file) != 0)
        outputs->code = cli_exit_code(blv_explain_errno(&why, path, "write"), &why);
}

void cli_outputs_bytes(cli_outputs *outputs, const char *path, const void *first, size_t size) {
    blv_message why = {0};
    blv_atomic_file *file = add(outputs, path);
    if (file && (fwrite(first, 1, size, file->file) != size || fflush(file->file) != 0))
        outputs->code = cli_exit_code(blv_explain_errno(&why, path, "write"), &why);
}

/* ---- Together ---- */

int cli_outputs_finish(cli_outputs *outputs) {
    blv_message why = {0};
    int code = outputs->code;
    if (code == CLI_DONE)
        code =
            cli_exit_code(blv_atomic_file_commit_all(outputs->files, outputs->count, &why), &why);
    discard(outputs);
    return code;
}

void cli_outputs_try(const char *first, const char *second) {
    cli_outputs outputs = {0};
    cli_outputs_add(&outputs, first);
    cli_outputs_add(&outputs, second);
    if (outputs.code != CLI_DONE)
        exit(outputs.code);
    discard(&outputs);
}
