/* Checkpoints of a run, loaded from memory: taken over as a whole, or refused with the run as it
 * was. The run can then go on. */
#include "fuzz_archive.h"

#include "bilevel/checkpoint.h"
#include "bilevel/registry.h"
#include "bilevel/run.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds) {
    if (!holds)
        abort();
}

static void load(blv_run *run, const void *bytes, size_t size) {
    double before[3], after[3];
    require(blv_run_read(run, "x", before) == BLV_OK);
    if (blv_run_load_from(run, bytes, size) != BLV_OK) {
        require(blv_run_message(run)[0] != '\0');
        require(blv_run_read(run, "x", after) == BLV_OK);
        require(memcmp(before, after, sizeof before) == 0);
    }
    blv_run_step(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static blv_problem *problem;
    static const char *const settings[] = {"dx", "3", "dy", "2", NULL};
    static const char *const solvers[] = {"s-tfbo", "soba"};
    if (size == 0)
        return 0;
    if (!problem)
        require(blv_problem_from_family(
                    blv_family_find(NULL, "quadratic", NULL), settings,
                    &(blv_problem_options){.size = sizeof(blv_problem_options), .threads = 1},
                    &problem, NULL) == BLV_OK);
    uint8_t choice = data[size - 1];
    uint8_t *copy = malloc(size);
    blv_run *run = NULL;
    require(copy != NULL);
    memcpy(copy, data, size);
    if (choice & 2)
        repair_checksums(copy, size - 1);
    require(blv_run_create(&run, problem, blv_solver_find(NULL, solvers[choice & 1], NULL), NULL) ==
            BLV_OK);
    load(run, copy, size - 1);
    blv_run_destroy(run);
    free(copy);
    return 0;
}
