/* Files of suites, as `bench` reads them; the last byte chooses the quick form. */
#include "fuzz_reader.h"

#include "cli/cli_suite.h"

static void walk_grid(const cli_suite *suite, const cli_entry *entry) {
    const size_t settings = cli_suite_grid_size(suite, entry);
    if (settings > suite->most_settings)
        abort();
    for (size_t i = 0; i < settings && i < 3; i++)
        json_decref(cli_suite_grid_at(entry, i));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static memory_file file;
    if (size == 0)
        return 0;
    fuzz_silence();
    put_memory_file(&file, data, size - 1);
    cli_suite suite = {0};
    if (cli_suite_read(&suite, file.path, data[size - 1] & 1) == CLI_DONE) {
        if (suite.entry_count == 0 || suite.variant_count == 0 || suite.seeds == 0 ||
            !suite.problem == !suite.command)
            abort();
        (void)cli_suite_check_choice(&suite);
        for (size_t i = 0; i < suite.entry_count; i++)
            if (suite.entries[i].grid)
                walk_grid(&suite, &suite.entries[i]);
    }
    cli_suite_free(&suite);
    return 0;
}
