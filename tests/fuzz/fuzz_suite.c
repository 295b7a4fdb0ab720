/* Files of suites, as `bench` reads them; the last byte chooses the quick form. */
#include "fuzz_reader.h"

#include "bench/suite.h"

static void walk_grid(const bench_suite *suite, const bench_entry *entry) {
    const size_t settings = bench_suite_grid_size(suite, entry);
    if (settings > suite->most_settings)
        abort();
    for (size_t i = 0; i < settings && i < 3; i++) {
        blv_values set;
        if (bench_suite_grid_at(entry, i, &set) == BLV_OK)
            blv_values_free(&set);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static memory_file file;
    if (size == 0)
        return 0;
    put_memory_file(&file, data, size - 1);
    bench_suite suite = {0};
    if (bench_suite_read(&suite, file.path, data[size - 1] & 1, NULL) == BLV_OK) {
        if (suite.entry_count == 0 || suite.variant_count == 0 || suite.seeds == 0 ||
            !suite.problem != suite.has_command)
            abort();
        (void)bench_suite_check_choice(&suite);
        for (size_t i = 0; i < suite.entry_count; i++)
            if (suite.entries[i].grid)
                walk_grid(&suite, &suite.entries[i]);
    }
    bench_suite_free(&suite);
    return 0;
}
