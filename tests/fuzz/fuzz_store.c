/* A run store that is damaged: whatever is in it, it is looked through and written to with an error
 * or without. */
#include "fuzz_reader.h"

#include "store/run_groups.h"

#include <math.h>
#include <sys/stat.h>

static void look_at(blv_store *store, int64_t id) {
    static const char *const names[] = {"checkpoint", "start"};
    blv_run_info *run = NULL;
    blv_run_groups groups;
    blv_attachment *list = NULL;
    size_t count = 0;
    if (blv_store_find(store, id, &run) == BLV_OK)
        blv_run_info_free(run);
    if (blv_run_groups_load(&groups, store, &id, 1, NULL) == BLV_OK)
        blv_run_groups_free(&groups);
    if (blv_store_attachments(store, id, &list, &count) == BLV_OK)
        blv_attachments_free(list, count);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *bytes = NULL;
        size_t size = 0;
        if (blv_store_read(store, id, names[i], &bytes, &size) == BLV_OK)
            free(bytes);
    }
}

static void look(blv_store *store) {
    const blv_run_filter filter = {.size = sizeof filter, .limit = 10};
    blv_run_info **runs = NULL;
    size_t count = 0;
    if (blv_store_list(store, &filter, &runs, &count) == BLV_OK) {
        if (count > 10)
            abort();
        blv_run_list_free(runs, count);
    }
    for (int64_t id = 0; id < 4; id++)
        look_at(store, id);
}

static void write_to(blv_store *store) {
    int64_t id = 0;
    const blv_run_info begin = {
        .size = sizeof begin, .kind = "solve", .problem = "parabola", .solver = "s-tfbo"};
    const blv_run_info end = {
        .size = sizeof end, .status = BLV_STATUS_FINISHED, .phi = NAN, .grad_norm = NAN};
    if (blv_store_begin(store, &begin, &id) == BLV_OK) {
        blv_store_row(store, id, 1, 0.5, "{\"iteration\": 1}");
        blv_store_attach(store, id, "start", "bytes", 5);
        blv_store_finish(store, id, &end);
        look_at(store, id);
    }
    blv_store_remove(store, 1);
}

static void put_store(const char *path, const uint8_t *data, size_t size) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char folder[64], path[80], other[96];
    if (size == 0)
        return 0;
    fuzz_silence();
    if (!folder[0]) {
        snprintf(folder, sizeof folder, "/dev/shm/fuzz-store-XXXXXX");
        if (!mkdtemp(folder))
            abort();
        snprintf(path, sizeof path, "%s/runs.db", folder);
    }
    put_store(path, data, size - 1);
    blv_store *store = NULL;
    if (blv_store_open(&store, path, BLV_STORE_EXISTING, NULL) == BLV_OK) {
        look(store);
        if (data[size - 1] & 1)
            write_to(store);
        blv_store_close(store);
    }
    static const char *const ends[] = {"", "-journal", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        snprintf(other, sizeof other, "%s%s", path, ends[i]);
        unlink(other);
    }
    return 0;
}
