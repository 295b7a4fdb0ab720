#define _DEFAULT_SOURCE /* madvise */
#include "base/aligned_memory.h"

#include <stdlib.h>
#include <sys/mman.h>

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
