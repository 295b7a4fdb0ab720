/* Files of models, as `predict` reads them. */
#include "fuzz_archive.h"
#include "fuzz_reader.h"

#include "cli/cli_model_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static memory_file file;
    if (size == 0)
        return 0;
    fuzz_silence();
    uint8_t *copy = malloc(size);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    if (data[size - 1] & 1)
        repair_checksums(copy, size - 1);
    put_memory_file(&file, copy, size - 1);
    free(copy);
    cli_model model = {0};
    if (cli_model_read(&model, file.path) == CLI_DONE &&
        (model.features == 0 || model.classes < 2 || !model.class_names))
        abort();
    cli_model_free(&model);
    return 0;
}
