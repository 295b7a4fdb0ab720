#include "cli/outputs.h"
#include "base/message.h"

#include <stdlib.h>
#include <string.h>

static cli_outputs *unfinished; /* removed however the command ends */

static void remove_unfinished(void) {
    while (unfinished)
        cli_outputs_free(unfinished);
}

static void note_unfinished(cli_outputs *outputs) {
    static bool noted;
    if (!noted)
        atexit(remove_unfinished);
    noted = true;
    outputs->next = unfinished;
    unfinished = outputs;
}

void cli_outputs_free(cli_outputs *outputs) {
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

/* ---- Writing ---- */

static blv_atomic_file *add(cli_outputs *outputs, const char *path) {
    for (size_t i = 0; i < outputs->count; i++) {
        if (strcmp(outputs->files[i]->path, path) == 0) {
            cli_complain("%s is named twice as output", path);
            return NULL;
        }
    }
    if (outputs->count == 0)
        note_unfinished(outputs);
    outputs->files = cli_grow(outputs->files, outputs->count + 1, sizeof outputs->files[0]);
    blv_atomic_file *file = cli_alloc(1, sizeof *file);
    outputs->files[outputs->count++] = file;
    blv_message why = {0};
    if (blv_atomic_file_open(file, path, &why) == BLV_OK)
        return file;
    outputs->count--;
    free(file);
    cli_complain("%s", why.text);
    return NULL;
}

const char *cli_outputs_add(cli_outputs *outputs, const char *path) {
    const blv_atomic_file *file = add(outputs, path);
    return file ? file->temporary : NULL;
}

int cli_outputs_write(cli_outputs *outputs, const char *path, const blv_dataset *dataset,
                      const char *format) {
    blv_message why = {0};
    blv_atomic_file *file = add(outputs, path);
    if (!file)
        return CLI_REJECTED;
    blv_error error =
        blv_dataset_write_to(dataset, path, format, blv_atomic_file_write, file, &why);
    return cli_exit_code(error, &why);
}

int cli_outputs_print(cli_outputs *outputs, const char *path, cli_print_fn print,
                      const void *context) {
    blv_message why = {0};
    blv_atomic_file *file = add(outputs, path);
    if (!file)
        return CLI_REJECTED;
    if (print(file->file, context) && !ferror(file->file) && fflush(file->file) == 0)
        return CLI_DONE;
    return cli_reject(blv_explain_errno(&why, path, "write"), why.text);
}

typedef struct bytes {
    const void *first;
    size_t size;
} bytes;

static bool print_bytes(FILE *file, const void *context) {
    const bytes *b = context;
    return fwrite(b->first, 1, b->size, file) == b->size;
}

int cli_outputs_bytes(cli_outputs *outputs, const char *path, const void *first, size_t size) {
    return cli_outputs_print(outputs, path, print_bytes, &(bytes){first, size});
}

/* ---- Together ---- */

int cli_outputs_finish(cli_outputs *outputs, int code) {
    blv_message why = {0};
    if (code == CLI_DONE)
        code =
            cli_exit_code(blv_atomic_file_commit_all(outputs->files, outputs->count, &why), &why);
    cli_outputs_free(outputs);
    return code;
}

int cli_outputs_try(const char *first, const char *second) {
    cli_outputs outputs = {0};
    bool well = (!first || add(&outputs, first)) && (!second || add(&outputs, second));
    cli_outputs_free(&outputs);
    return well ? CLI_DONE : CLI_REJECTED;
}

int cli_write_file(const char *path, const void *first, size_t size) {
    cli_outputs outputs = {0};
    return cli_outputs_finish(&outputs, cli_outputs_bytes(&outputs, path, first, size));
}
