/* The run store when memory is short and when the disk is full. */
#include "bilevel/store.h"
#include "store/run_groups.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc_testing.h"
#include "blv_testing.h"

static char path[] = "/tmp/test-store-faults-XXXXXX";

static int make_file(void **state) {
    (void)state;
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int remove_files(void **state) {
    (void)state;
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < LENGTH(ends); i++) {
        char name[80];
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
    return 0;
}

static blv_error record_run(blv_store *store, int64_t *id) {
    blv_value options[] = {{"seed", BLV_VALUE_INT, 0.0, 1, NULL}};
    const blv_run_info info = {.size = sizeof info,
                               .kind = "solve",
                               .request = "{\"start\": \"zero\"}",
                               .problem = "parabola",
                               .solver = "soba",
                               .options = {1, options}};
    const blv_run_info end = {.size = sizeof end,
                              .status = BLV_STATUS_FINISHED,
                              .phi = 1.0,
                              .grad_norm = NAN,
                              .result = "{}"};
    BLV_CHECK(blv_store_begin(store, &info, id));
    BLV_CHECK(blv_store_row(store, *id, 1, 0.5, "{\"iteration\":1,\"x\":[1,2]}"));
    BLV_CHECK(blv_store_flush(store));
    BLV_CHECK(blv_store_attach(store, *id, "bytes", "12345", 5));
    return blv_store_finish(store, *id, &end);
}

static blv_error look(blv_store *store, int64_t id) {
    blv_run_info **runs = NULL;
    blv_attachment *list = NULL;
    size_t count = 0, size = 0;
    void *bytes = NULL;
    BLV_CHECK(blv_store_list(store, NULL, &runs, &count));
    blv_run_list_free(runs, count);
    BLV_CHECK(blv_store_attachments(store, id, &list, &count));
    blv_attachments_free(list, count);
    BLV_CHECK(blv_store_read(store, id, "bytes", &bytes, &size));
    free(bytes);
    return blv_store_remove(store, id);
}

static blv_error work(blv_message *why) {
    blv_store *store = NULL;
    blv_run_groups groups;
    int64_t id = 0;
    BLV_CHECK(blv_store_open(&store, path, BLV_STORE_CREATE, why));
    blv_error error = record_run(store, &id);
    if (error == BLV_OK)
        error = blv_run_groups_load(&groups, store, &id, 1, NULL);
    if (error == BLV_OK)
        blv_run_groups_free(&groups);
    if (error == BLV_OK)
        error = look(store, id);
    snprintf(why->text, sizeof why->text, "%s",
             error == BLV_E_MEMORY ? "out of memory" : blv_store_message(store));
    blv_store_close(store);
    return error;
}

/* Of the store's own requests, one after the other; those of SQLite and jansson do not fail. */
static void short_memory_is_an_error(void **state) {
    (void)state;
    bool failed = true;
    long n = 0;
    for (; failed; n++) {
        blv_message why = {0};
        remove_files(NULL); /* or the list would grow with every round */
        fail_request(n);
        blv_error error = work(&why);
        failed = a_request_failed();
        if (error != (failed ? BLV_E_MEMORY : BLV_OK) || (failed && !strstr(why.text, "memory")))
            fail_msg("request %ld: '%s': %s", n, blv_error_text(error), why.text);
    }
    assert_true(n > 20);
}

/* Memory of jansson, of which it hides some: work fails or goes on, and the store can be read. */
static void short_memory_of_json_harms_nothing(void **state) {
    (void)state;
    json_set_alloc_funcs(malloc, free); /* those of this program */
    bool failed = true;
    long n = 0, errors = 0;
    for (; failed; n += n < 40 ? 1 : 6) { /* each writes to disk */
        blv_message why = {0};
        remove_files(NULL);
        fail_request(n);
        blv_error error = work(&why);
        failed = a_request_failed();
        errors += error != BLV_OK;
        if (error != BLV_OK && (!failed || !why.text[0]))
            fail_msg("request %ld: '%s': %s", n, blv_error_text(error), why.text);
        blv_store *store = NULL;
        blv_run_info **runs = NULL;
        size_t count = 0;
        if (access(path, F_OK) == 0 && blv_store_open(&store, path, BLV_STORE_COPY, &why) == BLV_OK)
            assert_int_equal(blv_store_list(store, NULL, &runs, &count), BLV_OK);
        blv_run_list_free(runs, count);
        blv_store_close(store);
    }
    assert_true(errors > 30);
}

/* Nothing of a call that failed is stored, and the file is sound. */
static void a_full_disk_is_an_error(void **state) {
    (void)state;
    blv_store *store = NULL;
    blv_message why = {0};
    int64_t id = 0, other = 0;
    const struct rlimit small = {200000, RLIM_INFINITY}, any = {RLIM_INFINITY, RLIM_INFINITY};
    char *bytes = calloc(1, 1 << 20);
    assert_int_equal(blv_store_open(&store, path, BLV_STORE_CREATE, &why), BLV_OK);
    assert_int_equal(record_run(store, &id), BLV_OK);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(blv_store_attach(store, id, "bytes", bytes, 1 << 20), BLV_E_FILE);
    assert_non_null(strstr(blv_store_message(store), path));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &any), 0);
    void *kept = NULL;
    size_t size = 0;
    assert_int_equal(blv_store_read(store, id, "bytes", &kept, &size), BLV_OK);
    assert_int_equal(size, 5);
    assert_int_equal(record_run(store, &other), BLV_OK);
    free(kept);
    free(bytes);
    blv_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(short_memory_is_an_error),
                                       cmocka_unit_test(short_memory_of_json_harms_nothing),
                                       cmocka_unit_test(a_full_disk_is_an_error)};
    return cmocka_run_group_tests(tests, make_file, remove_files);
}
