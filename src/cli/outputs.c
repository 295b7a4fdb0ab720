#include "cli/outputs.h"
#include "base/message.h"
#include "cli/file_roles.h"
#include "cli/rank_start.h"
#include "cli/signals.h"

#include <stdlib.h>
#include <string.h>

static cli_outputs *unfinished; /* removed however the command ends; NULL: none */

static void discard(void) {
    for (size_t i = 0; unfinished && i < unfinished->count; i++) {
        blv_atomic_file_discard(unfinished->files[i]);
        free(unfinished->files[i]);
    }
    if (unfinished)
        free(unfinished->files);
    unfinished = NULL;
    cli_signals_forget();
}

static void begin(cli_outputs *outputs) {
    static bool noted;
    if (!noted)
        atexit(discard);
    noted = true;
    unfinished = outputs;
}

/* ---- Writing ---- */

static blv_error open_one(cli_outputs *outputs, const char *path, blv_message *why) {
    BLV_CHECK(cli_file_expect_output(path, why));
    if (outputs->count == 0)
        begin(outputs);
    outputs->files = cli_grow(outputs->files, outputs->count + 1, sizeof outputs->files[0]);
    blv_atomic_file *file = cli_alloc(1, sizeof *file);
    outputs->files[outputs->count++] = file;
    blv_error error = blv_atomic_file_open(file, path, why);
    if (error == BLV_OK)
        cli_signals_remove(file->temporary);
    else
        free(outputs->files[--outputs->count]);
    return error;
}

/* NULL where there is nothing to write to. */
static blv_atomic_file *add(cli_outputs *outputs, const char *path) {
    if (!path || outputs->code != CLI_DONE)
        return NULL;
    outputs->code = cli_exit_code(open_one(outputs, path, &cli_why));
    return outputs->code == CLI_DONE ? outputs->files[outputs->count - 1] : NULL;
}

const char *cli_outputs_add(cli_outputs *outputs, const char *path) {
    const blv_atomic_file *file = add(outputs, path);
    return file ? file->temporary : NULL;
}

void cli_outputs_write(cli_outputs *outputs, const char *path, const blv_dataset *dataset,
                       const char *format) {
    const blv_dataset_view *view = blv_dataset_view_of(dataset);
    blv_atomic_file *file = add(outputs, path);
    if (file && !view->dense && strcmp(format, "csv") == 0) {
        cli_complain("%s: a CSV file has all values of a set, and this one is sparse, %zu rows of "
                     "%zu columns: --dense allows it",
                     path, view->rows, view->columns);
        outputs->code = CLI_REJECTED;
    } else if (file)
        outputs->code = cli_exit_code(
            blv_dataset_write_to(dataset, path, format, blv_atomic_file_write, file, &cli_why));
}

void cli_outputs_print(cli_outputs *outputs, const char *path, cli_print_fn print,
                       const void *context) {
    blv_atomic_file *file = add(outputs, path);
    if (!file)
        return;
    print(file->file, context);
    if (ferror(file->file) || fflush(file->file) != 0)
        outputs->code = cli_exit_code(blv_explain_errno(&cli_why, path, "write"));
}

void cli_outputs_bytes(cli_outputs *outputs, const char *path, const void *first, size_t size) {
    blv_atomic_file *file = add(outputs, path);
    if (file && (fwrite(first, 1, size, file->file) != size || fflush(file->file) != 0))
        outputs->code = cli_exit_code(blv_explain_errno(&cli_why, path, "write"));
}

/* ---- Together ---- */

int cli_outputs_finish(cli_outputs *outputs) {
    int code = outputs->code;
    if (code == CLI_DONE && cli_rank_writes())
        code = cli_exit_code(blv_atomic_file_commit_all(outputs->files, outputs->count, &cli_why));
    discard();
    return code;
}

void cli_outputs_commit(cli_outputs *outputs) {
    int code = cli_outputs_finish(outputs);
    if (code != CLI_DONE)
        exit(code);
}

void cli_output_whole(const char *path, const void *bytes, size_t size) {
    cli_outputs outputs = {0};
    cli_outputs_bytes(&outputs, path, bytes, size);
    cli_outputs_commit(&outputs);
}

void cli_outputs_try(const char *first, const char *second) {
    cli_outputs outputs = {0};
    cli_outputs_add(&outputs, first);
    cli_outputs_add(&outputs, second);
    if (outputs.code != CLI_DONE)
        exit(outputs.code);
    discard();
}
