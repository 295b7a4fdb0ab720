/* Memory for large arrays. */
#pragma once

#include <stddef.h>

/* At least bytes (0 is taken as 1), aligned to 64 bytes, not cleared; NULL when memory is short.
 * Give it back with free(). Large room asks the system for huge pages: rows that stream by cross a
 * page every nine rows otherwise, and each crossing stops the processor's prefetcher. Measured on
 * rows of 54 doubles: 24 instead of 16 GB/s. */
void *blv_room(size_t bytes);

/* Gives the whole pages between begin and end back to the system; what was there is lost, and the
 * memory stays the caller's. */
void blv_discard(void *begin, void *end);
/* What was freed goes back to the system, where the allocator can do that: before large arrays are
 * made of what was read piece by piece. */
void blv_return_memory(void);

/* From here on room is large. */
#define BLV_LARGE_ROOM ((size_t)4 << 20)
