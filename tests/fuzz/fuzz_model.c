/* Files of models, as `predict` reads them. */
#include "fuzz_archive.h"
#include "fuzz_reader.h"

#include "bilevel/model.h"

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
    blv_model *model = NULL;
    if (blv_model_read(&model, file.path, NULL) == BLV_OK &&
        (model->features == 0 || model->classes == 1 ||
         (model->classes > 0) != (model->class_names != NULL)))
        abort();
    blv_model_destroy(model);
    return 0;
}
