/* on_terminal FILE COMMAND...: runs the command with a terminal as its stderr and copies what is
 * shown there to FILE. Exits with the command's exit code. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int fail(const char *what) {
    perror(what);
    return 126;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: on_terminal FILE COMMAND...\n");
        return 2;
    }
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0)
        return fail("terminal");
    int screen = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    FILE *copy = fopen(argv[1], "wb");
    if (screen < 0 || !copy)
        return fail(argv[1]);
    pid_t child = fork();
    if (child == 0) {
        dup2(screen, STDERR_FILENO);
        execv(argv[2], argv + 2);
        _exit(127);
    }
    close(screen);
    char buffer[4096];
    ssize_t length; /* reading fails once the last user of the screen is gone */
    while ((length = read(terminal, buffer, sizeof buffer)) > 0)
        fwrite(buffer, 1, (size_t)length, copy);
    fclose(copy);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
