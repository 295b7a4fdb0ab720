#include "data/aside.h"
#include "data/npz_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    TEMPORARY_ATTEMPTS = 100,
    TEMPORARY_STEM = 200 /* leaves room for the suffix where a name may have 255 bytes */
};

/* open() with O_EXCL rather than mkstemp(): the file gets the permissions that the umask allows,
 * and the umask cannot be asked for without changing it under other threads. */
static int open_temporary(blv_aside *a) {
    const char *slash = strrchr(a->path, '/');
    size_t stem = slash ? (size_t)(slash + 1 - a->path) : 0;
    size_t name = strlen(a->path + stem);
    stem += name < TEMPORARY_STEM ? name : TEMPORARY_STEM;
    size_t capacity = stem + 32;
    a->temporary = malloc(capacity);
    if (!a->temporary) {
        errno = ENOMEM;
        return -1;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t tag = (uint64_t)getpid() << 40 ^ (uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec ^
                   (uint64_t)(uintptr_t)a;
    int fd = -1;
    for (int attempt = 0; attempt < TEMPORARY_ATTEMPTS; attempt++) {
        tag = tag * 6364136223846793005u + 1442695040888963407u;
        snprintf(a->temporary, capacity, "%.*s.%012llx.tmp", (int)stem, a->path,
                 (unsigned long long)(tag >> 16));
        fd = open(a->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    return fd;
}

static void release(blv_aside *a) {
    free(a->temporary);
    free(a->path);
    *a = (blv_aside){0};
}

blv_error blv_aside_open(blv_aside *aside, const char *path, blv_message *why) {
    *aside = (blv_aside){0};
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return blv_npz_fail(why, BLV_E_FILE, "%s: is there and is not a regular file",
                            blv_npz_shown(path));
    aside->path = strdup(path);
    if (!aside->path)
        return blv_npz_fail(why, BLV_E_MEMORY, "out of memory");
    int fd = open_temporary(aside);
    if (fd >= 0) {
        aside->file = fdopen(fd, "wb");
        if (!aside->file) {
            int saved = errno;
            close(fd);
            unlink(aside->temporary);
            errno = saved;
        }
    }
    if (aside->file)
        return BLV_OK;
    blv_error error = errno == ENOMEM ? blv_npz_fail(why, BLV_E_MEMORY, "out of memory")
                                      : blv_npz_fail_errno(why, path, "create a file beside it");
    release(aside);
    return error;
}

void blv_aside_discard(blv_aside *aside) {
    if (aside->file) {
        fclose(aside->file);
        unlink(aside->temporary);
    }
    release(aside);
}

blv_error blv_aside_commit(blv_aside *aside, blv_message *why) {
    blv_error error = BLV_OK;
    if (fflush(aside->file) != 0)
        error = blv_npz_fail_errno(why, aside->path, "write");
    else if (fsync(fileno(aside->file)) != 0)
        error = blv_npz_fail_errno(why, aside->path, "bring it to the disk");
    if (fclose(aside->file) != 0 && !error)
        error = blv_npz_fail_errno(why, aside->path, "close it");
    if (!error && rename(aside->temporary, aside->path) != 0)
        error = blv_npz_fail_errno(why, aside->path, "put the new file in its place");
    if (error)
        unlink(aside->temporary);
    release(aside);
    return error;
}
