#define _XOPEN_SOURCE 700 /* realpath */
#include "base/atomic_file.h"
#include "base/message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    KNOWN_NAMES = 4,          /* what killed processes left under these is found again */
    TEMPORARY_ATTEMPTS = 100, /* then names with a random number */
    TEMPORARY_SUFFIX = 32,
    TEMPORARY_STEM = 200 /* leaves room for the suffix where a name may have 255 bytes */
};

static uint64_t some_number(const blv_atomic_file *a) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)getpid() << 40 ^ (uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec ^
           (uint64_t)(uintptr_t)a;
}

static void name_temporary(blv_atomic_file *a, size_t stem, int attempt) {
    uint64_t number = (uint64_t)attempt;
    if (attempt >= KNOWN_NAMES)
        number = (some_number(a) + number) * 6364136223846793005u + 1442695040888963407u;
    snprintf(a->temporary, stem + TEMPORARY_SUFFIX, "%.*s.%012llx.tmp", (int)stem, a->path,
             (unsigned long long)(number >> (attempt < KNOWN_NAMES ? 0 : 16)));
}

/* Whether fd is what is at the path, and a file. */
static bool is_at(int fd, const char *path) {
    struct stat open_file, there;
    return fstat(fd, &open_file) == 0 && lstat(path, &there) == 0 && S_ISREG(there.st_mode) &&
           open_file.st_dev == there.st_dev && open_file.st_ino == there.st_ino;
}

/* Who writes a file holds a lock on it, until it has its place. The lock of a process that was
 * killed is gone: its file is removed. */
static void remove_abandoned(const char *path) {
    int fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_at(fd, path))
        unlink(path);
    close(fd);
}

/* A new file with its lock; -1 with errno. open() with O_EXCL rather than mkstemp(): the file gets
 * the permissions that the umask allows, and the umask cannot be asked for without changing it
 * under other threads. */
static int create_locked(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return -1;
    bool mine = flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; /* or has no locks */
    if (mine && is_at(fd, path))
        return fd;
    close(fd);
    remove_abandoned(path); /* somebody took it for that in between, or fstat failed */
    errno = EEXIST;
    return -1;
}

static int open_temporary(blv_atomic_file *a) {
    const char *slash = strrchr(a->path, '/');
    size_t stem = slash ? (size_t)(slash + 1 - a->path) : 0;
    size_t name = strlen(a->path + stem);
    stem += name < TEMPORARY_STEM ? name : TEMPORARY_STEM;
    a->temporary = malloc(stem + TEMPORARY_SUFFIX);
    if (!a->temporary) {
        errno = ENOMEM;
        return -1;
    }
    for (int i = 0; i < KNOWN_NAMES; i++) {
        name_temporary(a, stem, i);
        remove_abandoned(a->temporary);
    }
    int fd = -1;
    for (int attempt = 0; attempt < TEMPORARY_ATTEMPTS; attempt++) {
        name_temporary(a, stem, attempt);
        fd = create_locked(a->temporary);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    return fd;
}

static void release(blv_atomic_file *a) {
    if (a->locked)
        close(a->lock);
    free(a->temporary);
    free(a->path);
    *a = (blv_atomic_file){0};
}

/* The folders of the system, where names such as /dev/stdout stand for what is open: to rename a
 * file over one of them would take it from everybody. */
static bool is_of_system(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = strndup(path, slash ? (size_t)(slash + 1 - path) : 0);
    char *real = folder ? realpath(slash ? folder : ".", NULL) : NULL;
    const bool of_system = real && (strcmp(real, "/dev") == 0 || strncmp(real, "/proc/", 6) == 0);
    free(folder);
    free(real);
    return of_system;
}

blv_error blv_atomic_file_open(blv_atomic_file *file, const char *path, blv_message *why) {
    *file = (blv_atomic_file){0};
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return blv_explain(why, BLV_E_FILE, "%s: is there and is not a regular file",
                           blv_shown_path(path));
    if (is_of_system(path))
        return blv_explain(why, BLV_E_FILE, "%s: is no place for a file", blv_shown_path(path));
    file->path = strdup(path);
    if (!file->path)
        return blv_explain_memory(why);
    int fd = open_temporary(file);
    if (fd >= 0) {
        file->lock = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* stays when the file is closed */
        file->locked = file->lock >= 0;
        file->file = file->locked ? fdopen(fd, "wb") : NULL;
        if (!file->file) {
            int saved = errno;
            unlink(file->temporary);
            close(fd);
            errno = saved;
        }
    }
    if (file->file)
        return BLV_OK;
    blv_error error = errno == ENOMEM ? blv_explain_memory(why)
                                      : blv_explain_errno(why, path, "create a file beside it");
    release(file);
    return error;
}

int blv_atomic_file_write(void *file, const void *bytes, size_t count) {
    return fwrite(bytes, 1, count, ((blv_atomic_file *)file)->file) == count ? 0 : -1;
}

void blv_atomic_file_discard(blv_atomic_file *file) {
    if (file->file)
        fclose(file->file);
    if (file->temporary)
        unlink(file->temporary);
    release(file);
}

/* The temporary file is complete on disk. */
static blv_error complete(blv_atomic_file *file, blv_message *why) {
    blv_error error = BLV_OK;
    if (fflush(file->file) != 0)
        error = blv_explain_errno(why, file->path, "write");
    else if (fsync(fileno(file->file)) != 0)
        error = blv_explain_errno(why, file->path, "flush it to disk");
    if (fclose(file->file) != 0 && !error)
        error = blv_explain_errno(why, file->path, "close it");
    file->file = NULL;
    return error;
}

/* Where the file that is replaced stays until all are in place. */
typedef struct former_file {
    char *path; /* NULL: there was none, or it could not be kept */
    bool none;
} former_file;

static blv_error keep_former(const blv_atomic_file *file, former_file *former, blv_message *why) {
    static const char ending[] = "old"; /* in place of tmp */
    char *path = strdup(file->temporary);
    if (!path)
        return blv_explain_memory(why);
    memcpy(path + strlen(path) - strlen(ending), ending, strlen(ending));
    unlink(path); /* of a process that was killed */
    if (link(file->path, path) == 0) {
        former->path = path;
        return BLV_OK;
    }
    former->none = errno == ENOENT;
    free(path);
    return BLV_OK;
}

static void bring_back(const blv_atomic_file *file, const former_file *former) {
    if (former->none)
        unlink(file->path);
    else if (former->path)
        rename(former->path, file->path); /* it stays where there are no hard links */
}

blv_error blv_atomic_file_commit_all(blv_atomic_file *const *files, size_t count,
                                     blv_message *why) {
    former_file *former = calloc(count > 0 ? count : 1, sizeof *former);
    blv_error error = former ? BLV_OK : blv_explain_memory(why);
    for (size_t i = 0; !error && i < count; i++)
        error = complete(files[i], why);
    size_t moved = 0;
    while (!error && moved < count) {
        if (count > 1)
            error = keep_former(files[moved], &former[moved], why);
        if (!error && rename(files[moved]->temporary, files[moved]->path) != 0)
            error = blv_explain_errno(why, files[moved]->path, "put the new file in its place");
        moved += !error;
    }
    for (size_t i = 0; i < count; i++) {
        if (error && i < moved)
            bring_back(files[i], &former[i]);
        if (former && former[i].path)
            unlink(former[i].path);
        free(former ? former[i].path : NULL);
        if (i < moved)
            release(files[i]);
        else
            blv_atomic_file_discard(files[i]);
    }
    free(former);
    return error;
}

blv_error blv_atomic_file_commit(blv_atomic_file *file, blv_message *why) {
    return blv_atomic_file_commit_all(&file, 1, why);
}
