/* Where suites and their data are. */
#define _GNU_SOURCE /* asprintf */
#include "bench/suite.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char ending[] = ".json";

static bool is_file(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* ---- All suites ---- */

static int is_suite(const struct dirent *file) {
    size_t length = strlen(file->d_name), end = sizeof ending - 1;
    return file->d_name[0] != '.' && length > end &&
           strcmp(file->d_name + length - end, ending) == 0;
}

char **bench_suite_list(blv_arena *arena, const char *folder, size_t *count) {
    struct dirent **files = NULL;
    int found = folder ? scandir(folder, &files, is_suite, alphasort) : 0;
    *count = found > 0 ? (size_t)found : 0;
    char **paths = blv_arena_alloc(arena, *count + 1, sizeof *paths);
    for (size_t i = 0; i < *count; i++) {
        if (paths)
            paths[i] = blv_arena_print(arena, "%s/%s", folder, files[i]->d_name);
        free(files[i]);
    }
    free(files);
    return arena->failed ? NULL : paths;
}

/* ---- One suite ---- */

static blv_error explain_name(const char *name, const char *folder, blv_message *why) {
    blv_nearest nearest = {.name = name};
    size_t count;
    blv_arena arena = {0};
    char **paths = bench_suite_list(&arena, folder, &count);
    for (size_t i = 0; paths && i < count; i++) {
        char *stem = basename(paths[i]);
        stem[strlen(stem) - strlen(ending)] = '\0';
        blv_nearest_try(&nearest, stem);
    }
    const char *guess = nearest.best ? blv_nearest_guess(&nearest) : NULL;
    if (guess)
        blv_explain(why, BLV_E_NAME, "there is no suite '%s'; did you mean '%s'?", name, guess);
    else
        blv_explain(why, BLV_E_NAME, "there is no suite '%s'%s%s; 'bilevel bench list' lists them",
                    name, folder ? " in " : "", folder ? folder : "");
    blv_arena_free(&arena);
    return BLV_E_NAME;
}

blv_error bench_suite_find(const char *name, const char *folder, char **path, blv_message *why) {
    bool is_path = strchr(name, '/') || (strstr(name, ending) && is_file(name));
    const int length = is_path ? asprintf(path, "%s", name)
                               : asprintf(path, "%s/%s%s", folder ? folder : ".", name, ending);
    if (length < 0)
        return BLV_E_MEMORY;
    if (is_path || (folder && is_file(*path)))
        return BLV_OK;
    free(*path);
    *path = NULL;
    return explain_name(name, folder, why);
}

blv_error bench_json_load(const char *path, json_t **object, blv_message *why) {
    json_error_t at;
    FILE *file = fopen(path, "r");
    *object = NULL;
    if (!file)
        return blv_explain(why, BLV_E_FILE, "%s: cannot be read: %s", path, strerror(errno));
    json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, &at);
    int failed = ferror(file) ? errno : 0;
    fclose(file);
    if (!failed && json_is_object(root)) {
        *object = root;
        return BLV_OK;
    }
    bool parsed = root != NULL;
    json_decref(root);
    if (failed)
        return blv_explain(why, BLV_E_FILE, "%s: cannot be read: %s", path, strerror(failed));
    if (parsed)
        return blv_explain(why, BLV_E_FORMAT, "%s: the file: expected an object, { ... }", path);
    if (json_error_code(&at) == json_error_out_of_memory)
        return BLV_E_MEMORY;
    return blv_explain(why, BLV_E_FORMAT, "%s: line %d, column %d: %s", path, at.line, at.column,
                       at.text);
}

/* ---- Data ---- */

blv_error bench_suite_data(bench_suite *suite, const char *const folders[2], const char *name,
                           char **path) {
    const bench_names *own = &suite->data_folders;
    for (size_t i = 0; i < 3 + own->count; i++) {
        const char *folder = i < 2 ? folders[i] : i == 2 ? "data" : own->items[i - 3];
        if (!folder || !*folder)
            continue;
        bool beside = i >= 2 && folder[0] != '/';
        *path = blv_arena_print(&suite->arena, "%s%s%s/%s", beside ? suite->folder : "",
                                beside ? "/" : "", folder, name);
        if (!*path)
            return BLV_E_MEMORY;
        if (is_file(*path))
            return BLV_OK;
    }
    return blv_explain(suite->why, BLV_E_FILE,
                       "suite %s needs the file %s, which is in no folder of data; name the folder "
                       "with --data DIR or BILEVEL_DATA, or try --quick",
                       suite->name, name);
}
