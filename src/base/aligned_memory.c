#define _DEFAULT_SOURCE /* madvise */
#include "base/aligned_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#define LINE ((size_t)64)
#define HUGE_PAGE ((size_t)2 << 20)

void *blv_room(size_t bytes) {
    const size_t lines = bytes / LINE + (bytes % LINE != 0 || bytes == 0);
    if (bytes < BLV_LARGE_ROOM)
        return aligned_alloc(LINE, lines * LINE);
    void *room = NULL;
    if (posix_memalign(&room, HUGE_PAGE, lines * LINE) != 0)
        return NULL;
#ifdef MADV_HUGEPAGE
    madvise(room, lines * LINE, MADV_HUGEPAGE); /* a wish: nothing is lost when it is not granted */
#endif
    return room;
}

void blv_discard(void *begin, void *end) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = ((uintptr_t)begin + page - 1) / page * page;
    const uintptr_t last = (uintptr_t)end / page * page;
    if (last > first)
        madvise((char *)begin + (first - (uintptr_t)begin), last - first, MADV_DONTNEED);
}

void blv_return_memory(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
