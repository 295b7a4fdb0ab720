#include "coverage_counts.h"

#include "fault_files.h"

#include <gcov.h>
#include <stdbool.h>
#include <sys/mman.h>

extern char coverage_first[], coverage_end[]; /* coverage_counts.ld */
void __real___gcov_exit(void);
void __wrap___gcov_exit(void);

static bool shared;

void coverage_share(void) {
    size_t size = (size_t)(coverage_end - coverage_first);
    if (mmap(coverage_first, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED,
             -1, 0) == MAP_FAILED)
        die("mmap");
    shared = true;
}

void coverage_write(void) {
    __gcov_dump();
}

/* At the end of a process. */
void __wrap___gcov_exit(void) {
    if (!shared)
        __real___gcov_exit();
}
