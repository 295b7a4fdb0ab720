#include "cli/outputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- What is to be removed however the command ends ---- */

static cli_output *unfinished;
static size_t unfinished_count;

static void remove_files(const cli_output *item) {
    unlink(item->temporary);
    unlink(item->former);
    rmdir(item->folder);
}

static void remove_unfinished(void) {
    for (size_t i = 0; i < unfinished_count; i++)
        remove_files(&unfinished[i]);
}

/* Room for one more, so that nothing can fail between making a folder and noting it. */
static void expect_unfinished(void) {
    if (!unfinished)
        atexit(remove_unfinished);
    unfinished = cli_grow(unfinished, unfinished_count + 1, sizeof unfinished[0]);
}

static void forget_unfinished(const cli_output *item) {
    size_t i = 0;
    while (i < unfinished_count && unfinished[i].folder != item->folder)
        i++;
    if (i < unfinished_count)
        unfinished[i] = unfinished[--unfinished_count];
}

/* ---- Adding ---- */

/* FOLDER/NAME, to be freed. */
static char *joined(const char *folder, const char *name) {
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = cli_alloc(size, 1);
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static void free_names(cli_output *item) {
    free(item->former);
    free(item->temporary);
    free(item->folder);
}

const char *cli_outputs_add(cli_outputs *outputs, const char *path) {
    static const char pattern[] = ".bilevel-XXXXXX";
    for (size_t i = 0; i < outputs->count; i++) {
        if (strcmp(outputs->items[i].path, path) == 0) {
            cli_complain("%s is named twice as output", path);
            return NULL;
        }
    }
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        cli_complain("%s: is there and is not a regular file", path);
        return NULL;
    }
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    int stem = (int)(name - path);
    size_t folder_size = (size_t)stem + sizeof pattern;
    cli_output item = {.path = path, .folder = cli_alloc(folder_size, 1)};
    snprintf(item.folder, folder_size, "%.*s%s", stem, path, pattern);
    item.temporary = joined(item.folder, name);
    item.former = joined(item.folder, ".former");
    outputs->items = cli_grow(outputs->items, outputs->count + 1, sizeof outputs->items[0]);
    expect_unfinished();
    if (!*name || !mkdtemp(item.folder)) {
        cli_complain("%s: cannot create a file there: %s", path,
                     *name ? strerror(errno) : "no file is named");
        free_names(&item);
        return NULL;
    }
    memcpy(item.temporary, item.folder, strlen(item.folder)); /* mkdtemp has filled in its name */
    memcpy(item.former, item.folder, strlen(item.folder));
    unfinished[unfinished_count++] = item;
    outputs->items[outputs->count++] = item;
    return item.temporary;
}

/* ---- Writing ---- */

int cli_outputs_write(cli_outputs *outputs, const char *path, const blv_dataset *dataset,
                      const char *format) {
    const char *temporary = cli_outputs_add(outputs, path);
    if (!temporary)
        return CLI_REFUSED;
    blv_message why = {0}, shown = {0};
    blv_error error = blv_dataset_write(dataset, temporary, format, &why);
    if (error == BLV_OK)
        return CLI_DONE;
    size_t length = strlen(temporary);
    bool named = strncmp(why.text, temporary, length) == 0;
    snprintf(shown.text, sizeof shown.text, "%.200s%s%.300s", path, named ? "" : ": ",
             why.text + (named ? length : 0));
    return cli_refuse(error, shown.text);
}

int cli_outputs_print(cli_outputs *outputs, const char *path, cli_print_fn print,
                      const void *context) {
    const char *temporary = cli_outputs_add(outputs, path);
    if (!temporary)
        return CLI_REFUSED;
    FILE *file = fopen(temporary, "wb");
    bool written = file && print(file, context) && !ferror(file) && fflush(file) == 0;
    int error = errno;
    if (file && fclose(file) != 0 && written) {
        written = false;
        error = errno;
    }
    if (written)
        return CLI_DONE;
    cli_complain("%s: cannot be written: %s", path, strerror(error));
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

/* Puts back what was there before the first `count` files were moved. */
static void take_back(const cli_outputs *outputs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const cli_output *item = &outputs->items[i];
        if (item->new)
            unlink(item->path);
        else
            rename(item->former, item->path); /* it stays where there are no hard links */
    }
}

int cli_outputs_commit(cli_outputs *outputs) {
    for (size_t i = 0; i < outputs->count; i++) {
        cli_output *item = &outputs->items[i];
        item->new = link(item->path, item->former) != 0 && errno == ENOENT;
        if (rename(item->temporary, item->path) != 0) {
            cli_complain("%s: cannot put the new file in its place: %s", item->path,
                         strerror(errno));
            take_back(outputs, i);
            return CLI_REFUSED;
        }
    }
    return CLI_DONE;
}

void cli_outputs_free(cli_outputs *outputs) {
    for (size_t i = 0; i < outputs->count; i++) {
        cli_output *item = &outputs->items[i];
        remove_files(item);
        forget_unfinished(item);
        free_names(item);
    }
    free(outputs->items);
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
