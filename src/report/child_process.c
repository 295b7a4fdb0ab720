#define _GNU_SOURCE /* pipe2, environ */
#include "report/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { IN, OUT, ERR, STREAMS };
enum { THEIRS, OURS };

typedef struct pipes {
    int end[STREAMS][2];
} pipes;

static void close_end(int *end) {
    if (*end >= 0)
        close(*end);
    *end = -1;
}

static void close_all(pipes *p) {
    for (int i = 0; i < STREAMS; i++) {
        close_end(&p->end[i][THEIRS]);
        close_end(&p->end[i][OURS]);
    }
}

/* Ends of pipes are closed in the child by exec, except those that become its streams. The input
 * goes through a socket: a child that does not read all of it then causes no signal here. */
static int open_pipes(pipes *p) {
    memset(p, -1, sizeof *p); /* every end is -1 */
    for (int i = 0; i < STREAMS; i++) {
        int fds[2];
        if (i == IN ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)
                    : pipe2(fds, O_CLOEXEC))
            return errno;
        p->end[i][THEIRS] = fds[i == IN ? 0 : 1];
        p->end[i][OURS] = fds[i == IN ? 1 : 0];
        if (fcntl(p->end[i][OURS], F_SETFL, O_NONBLOCK) != 0)
            return errno;
    }
    return 0;
}

static int start(const pipes *p, char *const argv[], pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t usual;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (error != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    for (int i = 0; i < STREAMS && error == 0; i++)
        error = posix_spawn_file_actions_adddup2(&actions, p->end[i][THEIRS], i);
    if (error == 0)
        error = posix_spawnp(pid, argv[0], &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* 0, or why it cannot be read. */
static int read_some(int *end, report_bytes *bytes) {
    enum { PIECE = 65536 };
    char *larger = realloc(bytes->data, bytes->size + PIECE + 1);
    if (!larger) {
        close_end(end);
        return ENOMEM;
    }
    bytes->data = larger;
    ssize_t count = read(*end, bytes->data + bytes->size, PIECE);
    int error = count < 0 && errno != EAGAIN && errno != EINTR ? errno : 0;
    if (count > 0)
        bytes->size += (size_t)count;
    bytes->data[bytes->size] = '\0';
    if (count == 0 || error != 0)
        close_end(end);
    return error;
}

static void write_some(int *end, const char **input, size_t *size) {
    ssize_t count = *size > 0 ? send(*end, *input, *size, MSG_NOSIGNAL) : 0;
    if (count > 0) {
        *input += count;
        *size -= (size_t)count;
    }
    bool failed = count < 0 && errno != EAGAIN && errno != EINTR;
    if (failed || *size == 0) /* a child that stops reading says why in its exit code */
        close_end(end);
}

/* 0, or why not all of its output is there. */
static int exchange(pipes *p, report_child *child, const char *input, size_t size) {
    int error = 0;
    while (p->end[IN][OURS] >= 0 || p->end[OUT][OURS] >= 0 || p->end[ERR][OURS] >= 0) {
        struct pollfd ends[STREAMS] = {{p->end[IN][OURS], POLLOUT, 0},
                                       {p->end[OUT][OURS], POLLIN, 0},
                                       {p->end[ERR][OURS], POLLIN, 0}};
        if (poll(ends, STREAMS, -1) < 0 && errno != EINTR)
            return errno;
        if (ends[IN].revents)
            write_some(&p->end[IN][OURS], &input, &size);
        if (ends[OUT].revents && error == 0)
            error = read_some(&p->end[OUT][OURS], &child->out);
        if (ends[ERR].revents)
            read_some(&p->end[ERR][OURS], &child->err);
    }
    return error;
}

int report_child_run(report_child *child, char *const argv[], const char *input, size_t size) {
    pipes p;
    pid_t pid = 0;
    *child = (report_child){.code = -1};
    int error = open_pipes(&p);
    if (error == 0)
        error = start(&p, argv, &pid);
    if (error != 0) {
        close_all(&p);
        return error;
    }
    for (int i = 0; i < STREAMS; i++)
        close_end(&p.end[i][THEIRS]);
    error = exchange(&p, child, input, size);
    close_all(&p);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    child->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return error;
}

void report_child_free(report_child *child) {
    free(child->out.data);
    free(child->err.data);
    *child = (report_child){0};
}
