/* Files of any format, also compressed: the format is told from the content. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static memory_file file;
    if (size == 0)
        return 0;
    uint8_t choice = data[size - 1];
    blv_read_options options = options_from(choice);
    put_memory_file(&file, data, size - 1);
    read_and_check(&file, BLV_FORMAT_NONE, &options);
    return 0;
}
