/* A run store that is damaged: whatever is in it, it is looked through and written to with an error
 * or without. */
#include "fuzz_reader.h"

#include "cli/cli_store.h"

#include <math.h>
#include <sys/stat.h>

static void look_at(cli_store *store, int64_t id) {
    static const char *const names[] = {"checkpoint", "start"};
    json_t *value = NULL;
    double best;
    if (cli_store_find(store, id, &value))
        json_decref(value);
    value = NULL;
    if (cli_store_rows(store, id, &value))
        json_decref(value);
    value = NULL;
    if (cli_store_attachments(store, id, &value))
        json_decref(value);
    cli_store_best(store, id, &best);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *bytes = NULL;
        size_t size = 0;
        if (cli_store_read(store, id, names[i], &bytes, &size))
            free(bytes);
    }
}

static void look(cli_store *store) {
    json_t *runs = NULL;
    if (cli_store_list(store, &(cli_run_filter){.limit = 10}, &runs)) {
        if (!json_is_array(runs))
            abort();
        json_decref(runs);
    }
    for (int64_t id = 0; id < 4; id++)
        look_at(store, id);
}

static void write_to(cli_store *store) {
    int64_t id = 0;
    cli_run_facts facts = {.kind = "solve", .problem = "parabola", .solver = "s-tfbo"};
    if (cli_store_begin(store, &facts, &id)) {
        cli_store_row(store, id, 1, 0.5, "{\"iteration\": 1}");
        cli_store_attach(store, id, "start", "bytes", 5);
        cli_store_finish(store, id,
                         &(cli_run_end){.status = "finished", .phi = NAN, .grad_norm = NAN});
        look_at(store, id);
    }
    cli_store_remove(store, 1);
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
    cli_store *store = NULL;
    cli_store_choice choice = {.path = path};
    if (cli_store_open_existing(&store, &choice) == CLI_DONE) {
        look(store);
        if (data[size - 1] & 1)
            write_to(store);
        cli_store_close(store);
    }
    static const char *const ends[] = {"", "-journal", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        snprintf(other, sizeof other, "%s%s", path, ends[i]);
        unlink(other);
    }
    return 0;
}
