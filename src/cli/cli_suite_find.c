/* Where suites and their data are. The command finds its own suites relative to itself: in the
 * source tree that it was built in, or where it is installed. */
#include "cli_suite.h"
#include "cli_text.h"

#include <dirent.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char ending[] = ".json";
/* From the folder of the program. */
static const char *const own_folders[] = {"../../bench/suites", "../share/bilevel/bench/suites"};
enum { OWN_FOLDERS = sizeof own_folders / sizeof own_folders[0] };

static char *joined(const char *folder, const char *name, const char *end) {
    return cli_print("%s/%s%s", folder, name, end);
}

static bool is_file(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static bool is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* To be freed; NULL where there is none. */
static char *own_folder(void) {
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return NULL;
    program[length] = '\0';
    const char *beside = dirname(program);
    for (size_t i = 0; i < OWN_FOLDERS; i++) {
        char *folder = joined(beside, own_folders[i], "");
        if (is_folder(folder))
            return folder;
        free(folder);
    }
    return NULL;
}

/* ---- All suites ---- */

static int is_suite(const struct dirent *file) {
    size_t length = strlen(file->d_name), end = sizeof ending - 1;
    return file->d_name[0] != '.' && length > end &&
           strcmp(file->d_name + length - end, ending) == 0;
}

char **cli_suite_list(const char *folder) {
    char *own = folder ? NULL : own_folder();
    const char *place = folder ? folder : own;
    struct dirent **files = NULL;
    int count = place ? scandir(place, &files, is_suite, alphasort) : 0;
    char **paths = cli_alloc((size_t)(count > 0 ? count : 0) + 1, sizeof *paths);
    for (int i = 0; i < count; i++) {
        paths[i] = joined(place, files[i]->d_name, "");
        free(files[i]);
    }
    free(files);
    free(own);
    return paths;
}

/* ---- One suite ---- */

static void refuse_name(const char *name, const char *folder) {
    cli_nearest nearest = {.word = name};
    char **paths = cli_suite_list(folder);
    for (size_t i = 0; paths[i]; i++) {
        char *stem = basename(paths[i]);
        stem[strlen(stem) - strlen(ending)] = '\0';
        cli_nearest_try(&nearest, stem);
    }
    if (nearest.best)
        cli_complain("there is no suite '%s'; did you mean '%s'?", name, nearest.best);
    else
        cli_complain("there is no suite '%s'%s%s; 'bilevel bench list' lists them", name,
                     folder ? " in " : "", folder ? folder : "");
    for (size_t i = 0; paths[i]; i++)
        free(paths[i]);
    free(paths);
}

char *cli_suite_find(const char *name, const char *folder) {
    if (strchr(name, '/') || (strstr(name, ending) && is_file(name))) {
        size_t size = strlen(name) + 1;
        return memcpy(cli_alloc(size, 1), name, size);
    }
    char *own = folder ? NULL : own_folder();
    const char *place = folder ? folder : own;
    char *path = place ? joined(place, name, ending) : NULL;
    free(own);
    if (path && is_file(path))
        return path;
    free(path);
    refuse_name(name, folder);
    return NULL;
}

/* ---- Data ---- */

/* Further folders of a suite are named from where the suite is. */
static char *in_own_folders(const cli_suite *suite, const char *name) {
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(suite->root, "data_folders"), i, item) {
        const char *folder = json_string_value(item);
        char *place = folder[0] == '/' ? joined(folder, "", "") : joined(suite->folder, folder, "");
        char *path = joined(place, name, "");
        free(place);
        if (is_file(path))
            return path;
        free(path);
    }
    return NULL;
}

char *cli_suite_data(const cli_suite *suite, const char *folder, const char *name) {
    char *beside = joined(suite->folder, "data", "");
    const char *folders[] = {folder, getenv("BILEVEL_DATA"), beside};
    char *found = NULL;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0] && !found; i++) {
        char *path = folders[i] && *folders[i] ? joined(folders[i], name, "") : NULL;
        if (path && is_file(path))
            found = path;
        else
            free(path);
    }
    free(beside);
    if (!found)
        found = in_own_folders(suite, name);
    if (!found)
        cli_complain("suite %s needs the file %s, which is in no folder of data; name the folder "
                     "with --data DIR or BILEVEL_DATA, or try --quick",
                     suite->name, name);
    return found;
}
