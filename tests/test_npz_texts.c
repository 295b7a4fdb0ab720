/* NPZ files that go to a function and come from memory, and texts in them. */
#include "npz_helpers.h"

#include <math.h>

typedef struct received {
    unsigned char bytes[8192];
    size_t size;
    size_t room; /* more than this is refused */
} received;

static int receive(void *context, const void *from, size_t count) {
    received *r = context;
    if (r->size + count > r->room)
        return 1;
    memcpy(r->bytes + r->size, from, count);
    r->size += count;
    return 0;
}

static const char words[] = "one\ttwo\nthree\\ \xc3\xa9";

static blv_error add_sample(blv_npz_writer *writer, blv_message *why) {
    const double numbers[] = {1.0, -0.0, 3.5};
    blv_error error = blv_npz_add_text(writer, "words", words, why);
    if (!error)
        error = blv_npz_add_f64(writer, "a", 1, (const size_t[]){3}, numbers, why);
    return error;
}

static void test_to_a_function_and_from_memory(void **state) {
    (void)state;
    received r = {.room = sizeof r.bytes};
    blv_npz_writer *writer = NULL;
    assert_int_equal(blv_npz_create_to(&writer, "there", receive, &r, NULL), BLV_OK);
    assert_int_equal(add_sample(writer, NULL), BLV_OK);
    assert_int_equal(blv_npz_commit(writer, NULL), BLV_OK);
    const char *path = in_folder("f.npz");
    assert_int_equal(blv_npz_create(&writer, path, NULL), BLV_OK);
    assert_int_equal(add_sample(writer, NULL), BLV_OK);
    assert_int_equal(blv_npz_commit(writer, NULL), BLV_OK);
    unsigned char in_file[8192];
    assert_int_equal(get_file(path, in_file, sizeof in_file), r.size);
    assert_memory_equal(in_file, r.bytes, r.size);

    blv_npz *npz = NULL;
    char *text = NULL;
    double *a = NULL;
    assert_int_equal(blv_npz_open_memory(&npz, r.bytes, r.size, "here", NULL), BLV_OK);
    assert_int_equal(blv_npz_count(npz), 2);
    assert_int_equal(blv_npz_read_text(npz, "words", &text, NULL), BLV_OK);
    assert_string_equal(text, words);
    assert_int_equal(blv_npz_read_f64(npz, "a", &a, NULL, NULL), BLV_OK);
    assert_true(a[2] == 3.5 && signbit(a[1]));
    free(text);
    free(a);
    blv_npz_close(npz);
}

static void test_refused(void **state) {
    (void)state;
    received r = {.room = sizeof r.bytes};
    blv_message why = {""};
    blv_npz_writer *writer = NULL;
    blv_npz *npz = NULL;
    char *text = NULL;
    assert_int_equal(blv_npz_create_to(&writer, "there", NULL, &r, &why), BLV_E_ARGUMENT);
    assert_int_equal(blv_npz_create_to(&writer, "there", receive, &r, &why), BLV_OK);
    assert_int_equal(blv_npz_add_text(writer, "t", "", &why), BLV_E_VALUE);
    assert_int_equal(blv_npz_add_text(writer, "t", NULL, &why), BLV_E_VALUE);
    assert_int_equal(add_sample(writer, &why), BLV_OK);
    assert_int_equal(blv_npz_commit(writer, &why), BLV_OK);
    assert_int_equal(blv_npz_open_memory(&npz, NULL, 3, "here", &why), BLV_E_ARGUMENT);
    assert_int_equal(blv_npz_open_memory(&npz, r.bytes, r.size / 2, "here", &why), BLV_E_FORMAT);
    assert_non_null(strstr(why.text, "here"));
    assert_int_equal(blv_npz_open_memory(&npz, r.bytes, r.size, "here", &why), BLV_OK);
    assert_int_equal(blv_npz_read_text(npz, "none", &text, &why), BLV_E_NAME);
    assert_null(text);
    assert_int_equal(blv_npz_read_text(npz, NULL, &text, &why), BLV_E_ARGUMENT);
    unsigned char *letter = NULL;
    for (size_t i = 0; !letter && i + 3 < r.size; i++)
        letter = memcmp(r.bytes + i, "one", 3) == 0 ? r.bytes + i : NULL;
    assert_non_null(letter);
    *letter ^= 1;
    assert_int_equal(blv_npz_read_text(npz, "words", &text, &why), BLV_E_FORMAT);
    assert_non_null(strstr(why.text, "checksum"));
    assert_null(text);
    blv_npz_close(npz);
}

/* A function that takes no more: the writer says so, then and afterwards. */
static void test_receiver_that_is_full(void **state) {
    (void)state;
    received all = {.room = sizeof all.bytes};
    blv_npz_writer *to_all = NULL;
    assert_int_equal(blv_npz_create_to(&to_all, "all", receive, &all, NULL), BLV_OK);
    assert_int_equal(add_sample(to_all, NULL), BLV_OK);
    assert_int_equal(blv_npz_commit(to_all, NULL), BLV_OK);
    for (size_t room = 0; room < all.size; room += 10) {
        received r = {.room = room};
        blv_message why = {""};
        blv_npz_writer *writer = NULL;
        assert_int_equal(blv_npz_create_to(&writer, "there", receive, &r, &why), BLV_OK);
        blv_error error = add_sample(writer, &why);
        blv_error at_end = blv_npz_commit(writer, &why);
        assert_true(error == BLV_OK || error == BLV_E_FILE);
        assert_int_equal(at_end, BLV_E_FILE);
        assert_non_null(strstr(why.text, "there"));
    }
}

static void test_numpy_reads_texts(void **state) {
    (void)state;
    if (system("python3 -c 'import numpy' >/dev/null 2>&1") != 0) {
        print_message("python3 with numpy was not found: skipped\n");
        skip();
    }
    char command[1024];
    blv_npz_writer *writer = NULL;
    assert_int_equal(blv_npz_create(&writer, in_folder("t.npz"), NULL), BLV_OK);
    assert_int_equal(add_sample(writer, NULL), BLV_OK);
    assert_int_equal(blv_npz_commit(writer, NULL), BLV_OK);
    snprintf(command, sizeof command,
             "python3 -c \"import numpy as np; d = np.load('%s/t.npz'); "
             "assert bytes(d['words']).decode() == 'one\\\\ttwo\\\\nthree\\\\\\\\ \\\u00e9'; "
             "assert d['words'].shape == ()\"",
             folder);
    assert_int_equal(system(command), 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_to_a_function_and_from_memory),
        IN_FOLDER(test_refused),
        IN_FOLDER(test_receiver_that_is_full),
        IN_FOLDER(test_numpy_reads_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
