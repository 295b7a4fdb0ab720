/* Which process made a run, and whether it still lives. */
#ifndef CLI_PROCESS_H
#define CLI_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

enum { CLI_HOST_SIZE = 65, CLI_BOOT_SIZE = 40 };

typedef struct cli_process {
    char host[CLI_HOST_SIZE];
    char boot[CLI_BOOT_SIZE]; /* changes when the machine starts; empty: not known */
    int64_t pid;
    int64_t start; /* when it started, in ticks since the boot; 0: not known */
} cli_process;

cli_process cli_process_self(void);

/* Of a process on another machine it cannot be told: it counts as one that lives. */
typedef enum cli_life { CLI_LIVES, CLI_ELSEWHERE, CLI_GONE } cli_life;
cli_life cli_process_life(const cli_process *process);

#endif
