/* The reader of CSV files. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static memory_file file;
    if (size == 0)
        return 0;
    uint8_t choice = data[size - 1];
    blv_read_options options = options_from(choice);
    options.header = choice & 16 ? "yes" : choice & 32 ? "no" : NULL;
    options.label = choice & 64 ? "none" : choice & 128 ? "0" : NULL;
    static const char recipe[] = "number\ta\t0.5\t1\ncategory\tb\t0\t0\tx\ty\nlabel\tc\n";
    options.missing = (blv_missing)(size % 3);
    options.kinds = size % 5 == 0 ? "0:category,1:drop" : NULL;
    options.recipe = size % 7 == 0 ? recipe : NULL;
    options.weight = size % 11 == 0 ? "1" : NULL;
    char own[200] = ""; /* a recipe that is made up, too: the beginning of the file */
    if (size % 13 == 0)
        snprintf(own, sizeof own, "%.*s", (int)(size - 1), (const char *)data);
    options.recipe = own[0] ? own : options.recipe;
    put_memory_file(&file, data, size - 1);
    read_and_check(&file, BLV_FORMAT_CSV, &options);
    return 0;
}
