/* with_signals FILE SIGNALS COMMAND...: runs the command, waits until FILE has something in it, and
 * sends the signals: "int", "term", "hup" or several of them, which arrive at the same moment, but
 * those behind a + 300 ms later, for which the command is stopped.
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

static void wait_milliseconds(long count) {
    nanosleep(&(struct timespec){.tv_nsec = count * 1000 * 1000}, NULL);
}

static void wait_for(const char *path, pid_t child) {
    for (int i = 0; i < POLLS && !has_content(path); i++) {
        siginfo_t ended = {0};
        if (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid)
            return;
        wait_milliseconds(10);
    }
}

static void send(pid_t child, const char *signals) {
    static const struct {
        const char *name;
        int number;
    } known[] = {{"int", SIGINT}, {"term", SIGTERM}, {"hup", SIGHUP}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(signals, known[i].name))
            kill(child, known[i].number);
}

/* Whether a signal still waits for the process to run. */
static int is_pending(pid_t child) {
    char path[64], line[256];
    unsigned long long mask = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)child);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "ShdPnd:", 7) == 0)
            mask = strtoull(line + 7, NULL, 16);
    if (file)
        fclose(file);
    return mask != 0;
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
    char *later = strchr(argv[2], '+');
    kill(child, SIGSTOP);
    if (later) {
        *later++ = '\0';
        send(child, argv[2]);
        kill(child, SIGCONT);
        while (is_pending(child))
            wait_milliseconds(1);
        wait_milliseconds(5); /* the handler has run */
        kill(child, SIGSTOP);
        wait_milliseconds(300);
    }
    send(child, later ? later : argv[2]);
    kill(child, SIGCONT);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
