#include "cli/outputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What is to be removed however the command ends ---- */

static blv_atomic_file **unfinished;
static size_t unfinished_count;

static void remove_unfinished(void) {
    for (size_t i = 0; i < unfinished_count; i++)
        blv_atomic_file_discard(unfinished[i]);
}

/* Room for one more, so that nothing can fail between making a file and noting it. */
static void expect_unfinished(void) {
    if (!unfinished)
        atexit(remove_unfinished);
    unfinished = cli_grow(unfinished, unfinished_count + 1, sizeof unfinished[0]);
}

static void forget_unfinished(const blv_atomic_file *file) {
    size_t i = 0;
    while (i < unfinished_count && unfinished[i] != file)
        i++;
    if (i < unfinished_count)
        unfinished[i] = unfinished[--unfinished_count];
}

/* ---- Adding ---- */

static blv_atomic_file *add(cli_outputs *outputs, const char *path) {
    for (size_t i = 0; i < outputs->count; i++) {
        if (strcmp(outputs->files[i]->path, path) == 0) {
            cli_complain("%s is named twice as output", path);
            return NULL;
        }
    }
    blv_message why = {0};
    expect_unfinished();
    outputs->files = cli_grow(outputs->files, outputs->count + 1, sizeof outputs->files[0]);
    blv_atomic_file *file = cli_alloc(1, sizeof *file);
    if (blv_atomic_file_open(file, path, &why) != BLV_OK) {
        cli_complain("%s", why.text);
        free(file);
        return NULL;
    }
    unfinished[unfinished_count++] = file;
    outputs->files[outputs->count++] = file;
    return file;
}

const char *cli_outputs_add(cli_outputs *outputs, const char *path) {
    const blv_atomic_file *file = add(outputs, path);
    return file ? file->temporary : NULL;
}

/* ---- Writing ---- */

int cli_outputs_write(cli_outputs *outputs, const char *path, const blv_dataset *dataset,
                      const char *format) {
    blv_atomic_file *file = add(outputs, path);
    if (!file)
        return CLI_REFUSED;
    blv_message why = {0};
    blv_error error =
        blv_dataset_write_to(dataset, path, format, blv_atomic_file_write, file, &why);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}

int cli_outputs_print(cli_outputs *outputs, const char *path, cli_print_fn print,
                      const void *context) {
    blv_atomic_file *file = add(outputs, path);
    if (!file)
        return CLI_REFUSED;
    if (print(file->file, context) && !ferror(file->file) && fflush(file->file) == 0)
        return CLI_DONE;
    cli_complain("%s: cannot be written: %s", path, strerror(errno));
    return CLI_REFUSED;
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

int cli_outputs_commit(cli_outputs *outputs) {
    blv_message why = {0};
    blv_error error = blv_atomic_file_commit_all(outputs->files, outputs->count, &why);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}

void cli_outputs_free(cli_outputs *outputs) {
    for (size_t i = 0; i < outputs->count; i++) {
        blv_atomic_file_discard(outputs->files[i]);
        forget_unfinished(outputs->files[i]);
        free(outputs->files[i]);
    }
    free(outputs->files);
    *outputs = (cli_outputs){0};
}

int cli_outputs_finish(cli_outputs *outputs, int code) {
    if (code == CLI_DONE)
        code = cli_outputs_commit(outputs);
    cli_outputs_free(outputs);
    return code;
}

int cli_write_file(const char *path, const void *first, size_t size) {
    cli_outputs outputs = {0};
    int code = cli_outputs_bytes(&outputs, path, first, size);
    return cli_outputs_finish(&outputs, code);
}
