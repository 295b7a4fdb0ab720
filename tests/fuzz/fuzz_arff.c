/* The reader of ARFF files. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static memory_file file;
    if (size == 0)
        return 0;
    uint8_t choice = data[size - 1];
    blv_read_options options = options_from(choice);
    options.label = choice & 64 ? "none" : choice & 128 ? "0" : NULL;
    options.missing = (blv_missing)(size % 3);
    options.kinds = size % 5 == 0 ? "0:category,1:drop" : NULL;
    options.weight = size % 11 == 0 ? "1" : NULL;
    put_memory_file(&file, data, size - 1);
    read_and_check(&file, BLV_FORMAT_ARFF, &options);
    return 0;
}
