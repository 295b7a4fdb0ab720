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
    TEMPORARY_ATTEMPTS = 100, /* then come names that nobody else thinks of */
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

blv_error blv_atomic_file_open(blv_atomic_file *aside, const char *path, blv_message *why) {
    *aside = (blv_atomic_file){0};
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return blv_explain(why, BLV_E_FILE, "%s: is there and is not a regular file",
                           blv_shown_path(path));
    aside->path = strdup(path);
    if (!aside->path)
        return blv_explain(why, BLV_E_MEMORY, "out of memory");
    int fd = open_temporary(aside);
    if (fd >= 0) {
        aside->lock = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* stays when the file is closed */
        aside->locked = aside->lock >= 0;
        aside->file = aside->locked ? fdopen(fd, "wb") : NULL;
        if (!aside->file) {
            int saved = errno;
            unlink(aside->temporary);
            close(fd);
            errno = saved;
        }
    }
    if (aside->file)
        return BLV_OK;
    blv_error error = errno == ENOMEM ? blv_explain(why, BLV_E_MEMORY, "out of memory")
                                      : blv_explain_errno(why, path, "create a file beside it");
    release(aside);
    return error;
}

void blv_atomic_file_discard(blv_atomic_file *aside) {
    if (aside->file) {
        fclose(aside->file);
        unlink(aside->temporary);
    }
    release(aside);
}

blv_error blv_atomic_file_commit(blv_atomic_file *aside, blv_message *why) {
    blv_error error = BLV_OK;
    if (fflush(aside->file) != 0)
        error = blv_explain_errno(why, aside->path, "write");
    else if (fsync(fileno(aside->file)) != 0)
        error = blv_explain_errno(why, aside->path, "bring it to the disk");
    if (fclose(aside->file) != 0 && !error)
        error = blv_explain_errno(why, aside->path, "close it");
    if (!error && rename(aside->temporary, aside->path) != 0)
        error = blv_explain_errno(why, aside->path, "put the new file in its place");
    if (error)
        unlink(aside->temporary);
    release(aside);
    return error;
}

blv_error blv_atomic_write(const char *path, const void *bytes, size_t size, blv_message *why) {
    blv_atomic_file aside;
    blv_error error = blv_atomic_file_open(&aside, path, why);
    if (error != BLV_OK)
        return error;
    if (fwrite(bytes, 1, size, aside.file) == size && fflush(aside.file) == 0)
        return blv_atomic_file_commit(&aside, why);
    error = blv_explain_errno(why, path, "write");
    blv_atomic_file_discard(&aside);
    return error;
}
