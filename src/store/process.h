/* Which process made a run, and whether it still lives. */
#ifndef BLV_STORE_PROCESS_H
#define BLV_STORE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

enum { BLV_HOST_SIZE = 65, BLV_BOOT_SIZE = 40 };

typedef struct blv_process {
    char host[BLV_HOST_SIZE];
    char boot[BLV_BOOT_SIZE]; /* changes when the machine starts; empty: not known */
    int64_t pid;
    int64_t start; /* when it started, in ticks since the boot; 0: not known */
} blv_process;

blv_process blv_process_self(void);

/* Of a process on another machine nothing is known: it counts as alive. */
typedef enum blv_process_state {
    BLV_PROCESS_LIVES,
    BLV_PROCESS_ELSEWHERE,
    BLV_PROCESS_GONE
} blv_process_state;
blv_process_state blv_process_life(const blv_process *process);

#endif
