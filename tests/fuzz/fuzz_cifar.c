/* The reader of CIFAR files, of both kinds. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static memory_file file;
    if (size == 0)
        return 0;
    uint8_t choice = data[size - 1];
    blv_read_options options = options_from(choice);
    options.label = choice & 32 && !(choice & 16) ? "coarse" : NULL;
    put_memory_file(&file, data, size - 1);
    read_and_check(&file, choice & 16 ? BLV_FORMAT_CIFAR10 : BLV_FORMAT_CIFAR100, &options);
    return 0;
}
