/* with_signals FILE SIGNALS COMMAND...: runs the command, waits until FILE has something in it, and
 * sends the signals: "int", "term", "hup" or several of them, which arrive at the same moment.
 * Exits with the command's exit code, or 128 and the number of the signal that ended it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POLLS = 6000 };

static int has_content(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && about.st_size > 0;
}

static void wait_for(const char *path, pid_t child) {
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    for (int i = 0; i < POLLS && !has_content(path); i++) {
        siginfo_t ended = {0};
        if (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid)
            return;
        nanosleep(&pause, NULL);
    }
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: with_signals FILE SIGNALS COMMAND...\n");
        return 2;
    }
    remove(argv[1]);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGINT, SIG_DFL); /* a shell lets background jobs ignore it */
        signal(SIGHUP, SIG_DFL); /* and nohup this one */
        execv(argv[3], argv + 3);
        perror(argv[3]);
        _exit(127);
    }
    wait_for(argv[1], child);
    kill(child, SIGSTOP);
    if (strstr(argv[2], "int"))
        kill(child, SIGINT);
    if (strstr(argv[2], "term"))
        kill(child, SIGTERM);
    if (strstr(argv[2], "hup"))
        kill(child, SIGHUP);
    kill(child, SIGCONT);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
