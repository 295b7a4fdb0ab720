/* How much memory the content of a file may take: sizes are known before they are taken, and those
 * that are out of proportion are rejected, so that a small file cannot bring a machine down. */
#pragma once

#include "bilevel/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct blv_memory_limit {
    uint64_t most;       /* bytes that are allowed; 0: half of what is free, and */
    uint64_t file_bytes; /* at most 1000 times the file; 0: there is none. 64 MiB always are */
    bool so_far;         /* these are what has been read of it */
} blv_memory_limit;

/* count * size bytes; BLV_E_VALUE with the sizes where they are not allowed. "name: what takes
 * 3.2 GiB, ..." */
blv_error blv_expect_memory(const blv_memory_limit *limit, uint64_t count, uint64_t size,
                            const char *name, const char *what, blv_message *why);
/* "3.2 GiB" */
enum { BLV_BYTES_TEXT = 32 };
void blv_format_bytes(uint64_t bytes, char text[BLV_BYTES_TEXT]);
