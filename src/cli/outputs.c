#include "cli/outputs.h"
#include "base/message.h"
#include "cli/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Folders beside the files ---- */

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
        cli_output *item = &outputs->items[i];
        unlink(item->temporary);
        unlink(item->former);
        rmdir(item->folder);
        free(item->former);
        free(item->temporary);
        free(item->folder);
    }
    free(outputs->items);
    cli_outputs **link = &unfinished;
    while (*link && *link != outputs)
        link = &(*link)->next;
    if (*link)
        *link = outputs->next;
    *outputs = (cli_outputs){0};
}

/* The folder gets its name from mkdtemp, the files in it afterwards. Everything that can run out of
 * memory comes before the folder is made. */
const char *cli_outputs_add(cli_outputs *outputs, const char *path) {
    struct stat status;
    for (size_t i = 0; i < outputs->count; i++) {
        if (strcmp(outputs->items[i].path, path) == 0) {
            cli_complain("%s is named twice as output", path);
            return NULL;
        }
    }
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        cli_complain("%s: is there and is not a regular file", path);
        return NULL;
    }
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (outputs->count == 0)
        note_unfinished(outputs);
    outputs->items = cli_grow(outputs->items, outputs->count + 1, sizeof outputs->items[0]);
    cli_output *item = &outputs->items[outputs->count++];
    *item = (cli_output){.path = path};
    item->folder = cli_print("%.*s.bilevel-XXXXXX", (int)(name - path), path);
    item->temporary = cli_print("%s/%s", item->folder, name);
    item->former = cli_print("%s/.former", item->folder);
    if (!*name || !mkdtemp(item->folder)) {
        cli_complain("%s: cannot create a file there: %s", path,
                     *name ? strerror(errno) : "no file is named");
        return NULL;
    }
    memcpy(item->temporary, item->folder, strlen(item->folder));
    memcpy(item->former, item->folder, strlen(item->folder));
    return item->temporary;
}

/* ---- Writing ---- */

/* A message about the temporary file is one about the path. */
static int finish_writing(const char *path, const char *temporary, blv_error error,
                          const char *why) {
    if (error == BLV_OK)
        return CLI_DONE;
    size_t length = strlen(temporary);
    bool named = strncmp(why, temporary, length) == 0;
    blv_message shown = {0};
    blv_explain(&shown, error, "%s%s%s", blv_shown_path(path), named ? "" : ": ",
                why + (named ? length : 0));
    return cli_refuse(error, shown.text);
}

int cli_outputs_write(cli_outputs *outputs, const char *path, const blv_dataset *dataset,
                      const char *format) {
    const char *temporary = cli_outputs_add(outputs, path);
    if (!temporary)
        return CLI_REFUSED;
    blv_message why = {0};
    blv_error error = blv_dataset_write(dataset, temporary, format, &why);
    return finish_writing(path, temporary, error, why.text);
}

int cli_outputs_print(cli_outputs *outputs, const char *path, cli_print_fn print,
                      const void *context) {
    const char *temporary = cli_outputs_add(outputs, path);
    if (!temporary)
        return CLI_REFUSED;
    blv_message why = {0};
    blv_error error = BLV_OK;
    FILE *file = fopen(temporary, "wb"); /* alone in its folder: it need not be atomic itself */
    if (!file || !print(file, context) || ferror(file) || fflush(file) != 0)
        error = blv_explain_errno(&why, temporary, "write");
    if (file && fclose(file) != 0 && error == BLV_OK)
        error = blv_explain_errno(&why, temporary, "close it");
    return finish_writing(path, temporary, error, why.text);
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
