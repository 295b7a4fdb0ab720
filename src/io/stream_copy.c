#define _GNU_SOURCE /* memfd_create */
#include "io/stream_copy.h"

#include "base/message.h"
#include "bilevel/dataset.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The copies of a program that keeps them, by the names of the streams. */
typedef struct kept_stream {
    struct kept_stream *next;
    int fd;
    char path[];
} kept_stream;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kept_stream *kept;
static bool keeping;

void blv_streams_keep(bool keep) {
    pthread_mutex_lock(&lock);
    keeping = keep;
    while (!keep && kept) {
        kept_stream *first = kept;
        kept = first->next;
        close(first->fd);
        free(first);
    }
    pthread_mutex_unlock(&lock);
}

/* A descriptor of its own for a copy. */
static int open_again(int fd) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

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

/* Waits with poll, which a signal interrupts: a program that handles signals can end then. */
static blv_error copy_stream(int from, int to, const char *path, blv_message *why) {
    static const size_t piece = 1 << 16;
    char *bytes = malloc(piece);
    blv_error error = bytes ? BLV_OK : blv_explain_memory(why);
    while (!error) {
        struct pollfd wait = {.fd = from, .events = POLLIN};
        ssize_t n = poll(&wait, 1, -1) < 0 ? -1 : read(from, bytes, piece);
        if (n == 0)
            break;
        if (n > 0)
            error = write_all(to, bytes, (size_t)n, path, why);
        else if (errno == EINTR && keeping)
            error = blv_explain(why, BLV_E_STOPPED, "%s: reading was interrupted",
                                blv_shown_path(path));
        else if (errno != EINTR && errno != EAGAIN)
            error = blv_explain_errno(why, path, "read");
    }
    free(bytes);
    return error;
}

static void keep_copy(const char *path, int fd) {
    kept_stream *k = keeping ? malloc(sizeof *k + strlen(path) + 1) : NULL;
    int again = k ? open_again(fd) : -1;
    if (again < 0) {
        free(k); /* it can be read once */
        return;
    }
    k->fd = again;
    strcpy(k->path, path);
    k->next = kept;
    kept = k;
}

/* Replaces *fd by a copy of what it holds. */
static blv_error take_stream(const char *path, int *fd, blv_message *why) {
    int copy = memfd_create("bilevel", MFD_CLOEXEC);
    if (copy < 0)
        return blv_explain_errno(why, path, "keep a copy of");
    blv_error error = copy_stream(*fd, copy, path, why);
    if (!error && lseek(copy, 0, SEEK_SET) != 0)
        error = blv_explain_errno(why, path, "read");
    if (error) {
        close(copy);
        return error;
    }
    close(*fd);
    *fd = copy;
    keep_copy(path, copy);
    return BLV_OK;
}

/* Non-blocking: a named pipe without a writer is waited for with poll. */
static int open_path(const char *path) {
    const bool standard = keeping && strcmp(path, "-") == 0;
    for (const kept_stream *k = kept; k; k = k->next)
        if (strcmp(k->path, path) == 0)
            return open_again(k->fd);
    int fd = open(standard ? "/dev/stdin" : path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd < 0 && standard ? dup(STDIN_FILENO) : fd; /* a socket cannot be opened */
}

static blv_error open_locked(const char *path, int *fd, uint64_t *size, bool *copied,
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

blv_error blv_open_input(const char *path, int *fd, uint64_t *size, bool *copied,
                         blv_message *why) {
    pthread_mutex_lock(&lock);
    blv_error error = open_locked(path, fd, size, copied, why);
    pthread_mutex_unlock(&lock);
    return error;
}
