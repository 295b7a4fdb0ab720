#include "cli_outputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    char *folder = cli_alloc(folder_size, 1);
    snprintf(folder, folder_size, "%.*s%s", stem, path, pattern);
    if (!*name || !mkdtemp(folder)) {
        cli_complain("%s: cannot create a file there: %s", path,
                     *name ? strerror(errno) : "no file is named");
        free(folder);
        return NULL;
    }
    size_t size = strlen(folder) + strlen(name) + 2;
    char *temporary = cli_alloc(size, 1);
    snprintf(temporary, size, "%s/%s", folder, name);
    outputs->items = cli_grow(outputs->items, outputs->count + 1, sizeof outputs->items[0]);
    outputs->items[outputs->count++] = (cli_output){path, folder, temporary};
    return temporary;
}

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

int cli_outputs_bytes(cli_outputs *outputs, const char *path, const void *bytes, size_t size) {
    const char *temporary = cli_outputs_add(outputs, path);
    if (!temporary)
        return CLI_REFUSED;
    FILE *file = fopen(temporary, "wb");
    bool written = file && fwrite(bytes, 1, size, file) == size && fflush(file) == 0;
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

int cli_outputs_commit(cli_outputs *outputs) {
    for (size_t i = 0; i < outputs->count; i++) {
        const cli_output *item = &outputs->items[i];
        if (rename(item->temporary, item->path) != 0) {
            cli_complain("%s: cannot put the new file in its place: %s", item->path,
                         strerror(errno));
            return CLI_REFUSED;
        }
    }
    return CLI_DONE;
}

void cli_outputs_free(cli_outputs *outputs) {
    for (size_t i = 0; i < outputs->count; i++) {
        cli_output *item = &outputs->items[i];
        unlink(item->temporary);
        rmdir(item->folder);
        free(item->temporary);
        free(item->folder);
    }
    free(outputs->items);
    *outputs = (cli_outputs){0};
}
