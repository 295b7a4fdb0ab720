#include "cli/outputs.h"
#include "cli/progress_line.h"
#include "cli/rank_start.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Which file a name is ---- */

enum { MOST_LINKS = 40 };

typedef enum role { READS, STORE, WRITES } role;

static struct noted_file {
    char *path;
    role role;
} * files;
static size_t file_count;

/* A file that is there; else its folder, and its name in it. */
typedef struct identity {
    bool known;
    dev_t device;
    ino_t inode;
    char name[NAME_MAX + 1]; /* empty: it is there */
} identity;

/* The path that a link leads to, beside the link. */
static bool follow_link(char path[PATH_MAX]) {
    char target[PATH_MAX], whole[2 * PATH_MAX];
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0)
        return false;
    target[length] = '\0';
    const char *slash = strrchr(path, '/');
    const int folder = target[0] == '/' || !slash ? 0 : (int)(slash + 1 - path);
    const int all = snprintf(whole, sizeof whole, "%.*s%s", folder, path, target);
    if (all < 0 || all >= PATH_MAX)
        return false;
    memcpy(path, whole, (size_t)all + 1);
    return true;
}

static bool follow_links(const char *path, char end[PATH_MAX]) {
    if (strlen(path) >= PATH_MAX)
        return false;
    strcpy(end, path);
    int links = 0;
    while (links < MOST_LINKS && follow_link(end))
        links++;
    return links < MOST_LINKS;
}

bool cli_file_is_below(const char *path) {
    char end[PATH_MAX], folder[PATH_MAX], here[PATH_MAX];
    if (!follow_links(path, end) || !realpath(dirname(end), folder) || !realpath(".", here))
        return false;
    const size_t length = strcmp(here, "/") == 0 ? 0 : strlen(here);
    return strncmp(folder, here, length) == 0 && (!folder[length] || folder[length] == '/');
}

/* Unknown: what is no regular file, and what is in a folder that is not there. */
static identity identify(const char *path) {
    identity id = {0};
    struct stat about;
    char end[PATH_MAX], folder[PATH_MAX];
    if (stat(path, &about) == 0) {
        id = (identity){
            .known = S_ISREG(about.st_mode), .device = about.st_dev, .inode = about.st_ino};
        return id;
    }
    if (!follow_links(path, end))
        return id;
    strcpy(folder, end);
    const char *name = basename(end);
    if (strlen(name) > NAME_MAX || stat(dirname(folder), &about) != 0)
        return id;
    id = (identity){.known = true, .device = about.st_dev, .inode = about.st_ino};
    strcpy(id.name, name);
    return id;
}

static bool is_same(const char *path, const char *other) {
    const identity a = identify(path), b = identify(other);
    return a.known && b.known && a.device == b.device && a.inode == b.inode &&
           strcmp(a.name, b.name) == 0;
}

/* ---- What is known so far ---- */

static blv_error reject(const char *path, const char *also, role is, blv_message *why) {
    static const char *const words[] = {[READS] = "is an input of this command",
                                        [STORE] = "is the run store",
                                        [WRITES] = "is named twice as output"};
    const bool one_name = strcmp(path, also) == 0;
    return blv_explain(why, BLV_E_FILE, "%s %s%s%s%s", blv_shown_path(path), words[is],
                       one_name ? "" : ", as ", one_name ? "" : blv_shown_path(also),
                       is == WRITES ? "" : ", and would be overwritten: name another output");
}

/* again: it may have been noted as output before. */
static blv_error note_file(const char *path, role as, bool again, blv_message *why) {
    for (size_t i = 0; i < file_count; i++) {
        const struct noted_file *f = &files[i];
        const bool known = again && f->role == WRITES && strcmp(f->path, path) == 0;
        if (known || (as != WRITES && f->role != WRITES) || !is_same(path, f->path))
            continue;
        return as == WRITES ? reject(path, f->path, f->role, why) : reject(f->path, path, as, why);
    }
    files = cli_grow(files, file_count + 1, sizeof *files);
    files[file_count++] = (struct noted_file){cli_print("%s", path), as};
    return BLV_OK;
}

/* ---- From outside ---- */

void cli_file_reads(const char *path) {
    if (!path || access(path, F_OK) != 0)
        return;
    cli_expect(note_file(path, READS, false, &cli_why));
    char *labels = blv_dataset_labels_beside(path);
    if (labels)
        cli_expect(note_file(labels, READS, false, &cli_why));
    free(labels);
}

void cli_file_store(const char *path) {
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        cli_expect(note_file(cli_print("%s%s", path, ends[i]), STORE, false, &cli_why));
}

void cli_file_writes(const char *path) {
    if (path)
        cli_expect(note_file(path, WRITES, false, &cli_why));
}

blv_error cli_file_expect_output(const char *path, blv_message *why) {
    return note_file(path, WRITES, true, why);
}

/* ---- Files that appear together ---- */

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

/* ---- Writing ---- */

static blv_error open_one(cli_outputs *outputs, const char *path, blv_message *why) {
    BLV_CHECK(cli_file_expect_output(path, why));
    for (size_t i = 0; i < outputs->count; i++)
        if (is_same(path, outputs->files[i]->path))
            return reject(path, outputs->files[i]->path, WRITES, why);
    if (!unfinished)
        atexit(discard);
    unfinished = outputs;
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

/* NULL where there is nothing to write to. Of several ranks the first writes. */
static blv_atomic_file *add(cli_outputs *outputs, const char *path) {
    if (!path || outputs->code != CLI_DONE || !cli_rank_writes())
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
    if (code == CLI_DONE)
        code = cli_exit_code(blv_atomic_file_commit_all(outputs->files, outputs->count, &cli_why));
    discard();
    return cli_rank_word(code);
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

bool cli_make_folder(const char *path) {
    struct stat found;
    if (mkdir(path, 0777) == 0)
        return true;
    if (errno != EEXIST || stat(path, &found) != 0 || !S_ISDIR(found.st_mode))
        cli_die("%s: cannot be made or is no folder: %s", path, strerror(errno));
    return false;
}

void cli_outputs_try(const char *first, const char *second) {
    cli_outputs outputs = {0};
    cli_outputs_add(&outputs, first);
    cli_outputs_add(&outputs, second);
    const int code = cli_rank_word(outputs.code);
    if (code != CLI_DONE)
        exit(code);
    discard();
}
