/* A process number alone is not enough: numbers are used again. With the start time it is unique
 * until the machine restarts, and with the boot identifier beyond that. */
#include "store/store_private.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void read_line(const char *path, char *text, int size) {
    FILE *file = fopen(path, "r");
    text[0] = '\0';
    if (!file)
        return;
    if (!fgets(text, size, file))
        text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    fclose(file);
}

/* Field 22 of /proc/PID/stat; field 2, the name, may hold blanks and parentheses. */
static int64_t start_of(int64_t pid) {
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    read_line(path, line, sizeof line);
    char *field = strrchr(line, ')');
    for (int number = 2; field && number < 22; number++)
        field = strchr(field + 1, ' ');
    return field ? strtoll(field, NULL, 10) : 0;
}

blv_process blv_process_self(void) {
    blv_process self = {.pid = getpid()};
    if (gethostname(self.host, sizeof self.host) != 0)
        self.host[0] = '\0';
    self.host[sizeof self.host - 1] = '\0';
    read_line("/proc/sys/kernel/random/boot_id", self.boot, sizeof self.boot);
    self.start = start_of(self.pid);
    return self;
}

bool blv_process_is_gone(const blv_process *process) {
    const blv_process self = blv_process_self();
    if (strcmp(process->host, self.host) != 0)
        return false;
    return strcmp(process->boot, self.boot) != 0 || process->pid <= 0 ||
           (kill((pid_t)process->pid, 0) != 0 && errno == ESRCH) ||
           start_of(process->pid) != process->start;
}
