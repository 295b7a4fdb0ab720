#define _GNU_SOURCE /* memfd_create */
#include "io/input.h"

#include "base/hash.h"
#include "base/message.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static blv_error write_all(int fd, const char *bytes, size_t n, const char *path,
                           blv_message *why) {
    for (size_t done = 0; done < n;) {
        ssize_t w = write(fd, bytes + done, n - done);
        if (w < 0 && errno != EINTR)
            return blv_explain_errno(why, path, "keep a copy of");
        done += w > 0 ? (size_t)w : 0;
    }
    return BLV_OK;
}

static blv_error copy_stream(int from, int to, const char *path, blv_message *why) {
    static const size_t piece = 1 << 16;
    char *bytes = malloc(piece);
    uint64_t copied = 0, checked = 0;
    blv_error error = bytes ? BLV_OK : blv_explain_memory(why);
    while (!error) {
        struct pollfd wait = {.fd = from, .events = POLLIN};
        ssize_t n = poll(&wait, 1, -1) < 0 ? -1 : read(from, bytes, piece);
        if (n == 0)
            break;
        copied += n > 0 ? (uint64_t)n : 0;
        if (n > 0 && copied > checked) { /* now and then, as it grows */
            error = blv_expect_memory(&(blv_memory_limit){0}, copied, 2, blv_shown_path(path),
                                      "a copy of the stream", why);
            checked = copied + (copied >> 3);
        }
        if (n > 0 && !error)
            error = write_all(to, bytes, (size_t)n, path, why);
        else if (n < 0 &&
                 errno != EAGAIN) /* a signal ends the waiting: the writer may never come */
            error = blv_explain_errno(why, path, "read");
    }
    free(bytes);
    return error;
}

/* Replaces *fd by a copy of what it holds. */
static blv_error take_stream(const char *path, int *fd, blv_message *why) {
    int copy = memfd_create("bilevel", MFD_CLOEXEC);
    blv_error error = copy >= 0 ? copy_stream(*fd, copy, path, why)
                                : blv_explain_errno(why, path, "keep a copy of");
    if (!error && lseek(copy, 0, SEEK_SET) != 0)
        error = blv_explain_errno(why, path, "read");
    close(*fd);
    *fd = copy;
    return error;
}

/* Non-blocking: a named pipe that has no writer yet is waited for with poll. */
static int open_path(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENXIO && strcmp(path, "/dev/stdin") == 0)
        return dup(STDIN_FILENO); /* a socket, which has no path */
    return fd;
}

blv_error blv_open_input(const char *path, int *fd, uint64_t *size, bool *copied,
                         blv_message *why) {
    struct stat status;
    *copied = false;
    *fd = open_path(path);
    if (*fd < 0 || fstat(*fd, &status) != 0)
        return blv_explain_errno(why, path, "open");
    *copied = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || isatty(*fd);
    if (!S_ISREG(status.st_mode) && !*copied)
        return blv_explain(why, BLV_E_FILE, "%s: cannot read: not a regular file or a pipe",
                           blv_shown_path(path));
    if (*copied) {
        BLV_CHECK(take_stream(path, fd, why));
        if (fstat(*fd, &status) != 0)
            return blv_explain_errno(why, path, "read");
    }
    *size = (uint64_t)status.st_size;
    return BLV_OK;
}

uint64_t blv_file_stamp(int fd) {
    struct stat status;
    if (fstat(fd, &status) != 0)
        return 0;
    const uint64_t about[] = {(uint64_t)status.st_dev, (uint64_t)status.st_ino,
                              (uint64_t)status.st_size, (uint64_t)status.st_mtim.tv_sec,
                              (uint64_t)status.st_mtim.tv_nsec};
    return blv_hash_bytes(BLV_HASH_EMPTY, about, sizeof about);
}
