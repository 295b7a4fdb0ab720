/* A data set of four rows and two classes, and two of them. After run_testing.h. */
#ifndef SMALL_SETS_H
#define SMALL_SETS_H

static inline blv_dataset *small_set(void) {
    const double values[] = {1, 2, 3, 4, 5, 6, 7, 9};
    const int32_t label[] = {0, 1, 0, 1};
    const blv_dataset_view view = {.size = sizeof(blv_dataset_view),
                                   .rows = 4,
                                   .columns = 2,
                                   .dense = values,
                                   .stride = 2,
                                   .classes = 2,
                                   .label = label};
    blv_dataset *set;
    assert_int_equal(blv_dataset_create(&set, &view, NULL, NULL), BLV_OK);
    return set;
}

static inline blv_sets small_sets(void) {
    return (blv_sets){.size = sizeof(blv_sets), .train = small_set(), .val = small_set()};
}

#endif
