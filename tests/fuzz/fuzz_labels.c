/* Files of labels, for a set of three rows. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint8_t images[] = {0, 0, 8, 2, 0, 0, 0, 3, 0, 0, 0, 1, 1, 2, 3};
    static memory_file file, labels;
    if (size == 0)
        return 0;
    blv_read_options options = options_from(data[size - 1]);
    put_memory_file(&file, images, sizeof images);
    put_memory_file(&labels, data, size - 1);
    options.labels = labels.path;
    read_and_check(&file, BLV_FORMAT_IDX, &options);
    return 0;
}
