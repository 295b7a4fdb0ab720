/* Labels in a file of their own, in every format that can hold them, and names in NPZ files: read
 * as they stand there, or refused with what was expected. */
#include "reader_helpers.h"

#include <math.h>

enum { ROWS = 3 };

static char images[512], labels[512];

/* Three rows of two bytes. */
static void put_images(void) {
    const unsigned char idx[] = {0, 0, 8, 2, 0, 0, 0, ROWS, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6};
    snprintf(images, sizeof images, "%s", put_file("rows.idx", idx, sizeof idx));
}

static void put_labels(const void *data, size_t n) {
    snprintf(labels, sizeof labels, "%s", put_file("labels", data, n));
}

static blv_read_options with_labels(bool real_targets) {
    return (blv_read_options){
        .size = sizeof(blv_read_options), .labels = labels, .real_targets = real_targets};
}

static void refuse_labels(bool real_targets, blv_error expected, const char *part) {
    blv_dataset *set = NULL;
    blv_message why = {""};
    blv_read_options options = with_labels(real_targets);
    blv_error error = blv_dataset_read(&set, images, &options, &why);
    assert_null(set);
    if (error != expected || !strstr(why.text, part))
        fail_msg("error %d: %s\nexpected %d: %s", (int)error, why.text, (int)expected, part);
    assert_non_null(strstr(why.text, labels));
}

/* ---- Text ---- */

static void test_targets_in_text(void **state) {
    (void)state;
    const double expected[ROWS] = {0.5, -1e3, 7.0};
    put_labels("0.5\r\n-1e3 \n\n7", 13);
    blv_read_options options = with_labels(true);
    blv_dataset *set = read_set(images, &options);
    const blv_dataset_view *v = blv_dataset_view_of(set);
    assert_int_equal(v->classes, 0);
    assert_memory_equal(v->target, expected, sizeof expected);
    blv_dataset_release(set);
}

static void test_refused_texts(void **state) {
    (void)state;
    static const struct {
        const char *text, *part;
        bool real_targets;
    } cases[] = {{"1\nx\n3\n", "line 2: expected a number", true},
                 {"1\n2 3\n3\n", "line 2: expected a number", true},
                 {"1\n1e999\n3\n", "line 2: expected a number", true},
                 {"1\n2\n", "2 labels; expected 3", true},
                 {"1\n2\n3\n4\n", "line 4: a label too many", true},
                 {"a\nb\n", "2 labels; expected 3", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_labels(cases[i].text, strlen(cases[i].text));
        refuse_labels(cases[i].real_targets, BLV_E_FORMAT, cases[i].part);
    }
}

/* Beyond what is looked at to tell the format. */
static void test_zero_bytes(void **state) {
    (void)state;
    enum { MANY = 140000 };
    static unsigned char rows[12 + MANY] = {0, 0, 8, 2};
    static char text[2 * MANY];
    for (size_t i = 0; i < MANY; i++)
        memcpy(text + 2 * i, i % 2 ? "b\n" : "a\n", 2);
    text[2 * MANY - 2] = '\0'; /* of the last label */
    rows[5] = MANY >> 16;
    rows[6] = MANY >> 8 & 255;
    rows[7] = MANY & 255;
    rows[11] = 1;
    snprintf(images, sizeof images, "%s", put_file("many.idx", rows, sizeof rows));
    put_labels(text, sizeof text);
    refuse_labels(false, BLV_E_FORMAT, "line 140000: the label has a zero byte");
    put_images();
}

/* ---- Arrays ---- */

static void put_array(const char *descr, const char *shape, const void *elements, size_t n) {
    static bytes b;
    char dictionary[160];
    snprintf(dictionary, sizeof dictionary,
             "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape);
    make_npy(&b, 1, dictionary, elements, n);
    put_labels(b.data, b.size);
}

static void test_arrays(void **state) {
    (void)state;
    const int64_t classes[] = {7, -2, 7};
    const double reals[] = {0.5, 2.0, -3.0};
    blv_read_options options = with_labels(false), targets = with_labels(true);
    put_array("<i8", "3, 1", classes, sizeof classes);
    options = with_labels(false);
    blv_dataset *set = read_set(images, &options);
    check_classes(set, "7 -2 7");
    blv_dataset_release(set);
    put_array("<f8", "3,", reals, sizeof reals);
    set = read_set(images, &targets);
    assert_memory_equal(blv_dataset_view_of(set)->target, reals, sizeof reals);
    blv_dataset_release(set);
    refuse_labels(false, BLV_E_FORMAT, "label 0.5 of row 0 is not a whole number");
    put_array("<i8", "1, 3", classes, sizeof classes);
    refuse_labels(false, BLV_E_FORMAT, "3 labels in 2 dimensions");
    put_array("<i8", "3, 1, 1", classes, sizeof classes);
    refuse_labels(false, BLV_E_FORMAT, "3 labels in 3 dimensions");
    const double large[] = {1e300, 1.0, 2.0}, infinite[] = {1.0, (double)INFINITY, 2.0};
    put_array("<f8", "3,", large, sizeof large);
    refuse_labels(false, BLV_E_FORMAT, "label 1e+300 of row 0");
    put_array("<f8", "3,", infinite, sizeof infinite);
    refuse_labels(false, BLV_E_FORMAT, "of row 1");
}

static void test_too_many_classes(void **state) {
    (void)state;
    const int64_t classes[] = {1, 2, 3};
    blv_dataset *set;
    blv_message why = {""};
    put_array("<i8", "3,", classes, sizeof classes);
    blv_read_options options = with_labels(false);
    options.max_classes = 2;
    assert_int_equal(blv_dataset_read(&set, images, &options, &why), BLV_E_FORMAT);
    assert_non_null(strstr(why.text, "more than 2 different labels"));
}

/* ---- Other files ---- */

static void test_other_files(void **state) {
    (void)state;
    static bytes b, archive;
    const unsigned char square[] = {0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 3, 1, 2, 3};
    const unsigned char bytes_of_labels[] = {0, 0, 8, 1, 0, 0, 0, 3, 9, 4, 9};
    static unsigned char cifar[3073];
    const double numbers[] = {1, 2, 3};
    put_labels(square, sizeof square);
    refuse_labels(false, BLV_E_FORMAT, "2 dimensions; expected labels with one");
    put_labels(bytes_of_labels, sizeof bytes_of_labels);
    blv_read_options options = with_labels(false);
    blv_dataset *set = read_set(images, &options);
    check_classes(set, "9 4 9");
    blv_dataset_release(set);
    put_labels(bytes_of_labels, 7);
    refuse_labels(false, BLV_E_FORMAT, "the file ends inside the dimensions");
    cifar[5] = 1;
    put_labels(cifar, sizeof cifar);
    refuse_labels(false, BLV_E_FORMAT, "expected labels as IDX, NPY, NPZ or text");
    make_npy(&b, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", numbers, 24);
    entry e = stored("other.npy", &b);
    make_archive(&archive, &e, 1);
    put_labels(archive.data, archive.size);
    refuse_labels(false, BLV_E_NAME, "no array of labels; expected y, labels or target");
    e = stored("target.npy", &b);
    make_archive(&archive, &e, 1);
    put_labels(archive.data, archive.size);
    set = read_set(images, &options);
    check_classes(set, "1 2 3");
    blv_dataset_release(set);
    put_labels("", 0);
    refuse_labels(false, BLV_E_FORMAT, "the file is empty");
}

/* ---- Names ---- */

static blv_error read_names(const bytes *content, char ***names, size_t *count, blv_message *why) {
    static bytes archive;
    blv_npz *npz;
    entry e = stored("names.npy", content);
    make_archive(&archive, &e, 1);
    assert_int_equal(blv_npz_open_memory(&npz, archive.data, archive.size, "here", NULL), BLV_OK);
    blv_error error = blv_npz_read_names(npz, "names", names, count, why);
    assert_int_equal(blv_npz_read_names(npz, "none", names, count, NULL), BLV_E_NAME);
    blv_npz_close(npz);
    return error;
}

static void test_names(void **state) {
    (void)state;
    static bytes b;
    char **names = NULL;
    size_t count = 0;
    make_npy(&b, 1, "{'descr': '|S3', 'fortran_order': False, 'shape': (2,), }", "one\0\0\0", 6);
    static bytes archive;
    blv_npz *npz;
    entry e = stored("names.npy", &b);
    make_archive(&archive, &e, 1);
    assert_int_equal(blv_npz_open_memory(&npz, archive.data, archive.size, "here", NULL), BLV_OK);
    assert_int_equal(blv_npz_read_names(npz, "names", &names, &count, NULL), BLV_OK);
    assert_int_equal(count, 2);
    assert_string_equal(names[0], "one");
    assert_string_equal(names[1], "");
    free(names);
    blv_npz_close(npz);
}

static void test_refused_names(void **state) {
    (void)state;
    static const struct {
        const char *header;
        size_t bytes;
        const char *says;
    } cases[] = {
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", 16, "expected names"},
        {"{'descr': '|S3', 'fortran_order': True, 'shape': (2,), }", 6, "expected names"},
        {"{'descr': '<U1', 'fortran_order': False, 'shape': (2,), }", 8, "expected names"},
        {"{'descr': '|S3', 'fortran_order': False, 'shape': (1, 2), }", 6, "expected names"},
        {"{'descr': '|S3', 'fortran_order': False, 'shape': (2), }", 6, "expected ','"},
        {"{'descr': '|S0', 'fortran_order': False, 'shape': (2,), }", 0, "expected names"},
        {"{'descr': '|S3', 'fortran_order': False, 'shape': (3,), }", 6, "needs 9 bytes"},
        {"{'descr': '|S3', 'fortran_order': False, 'shape': (2,), }", 7, "needs 6 bytes"},
        {"{'fortran_order': False, 'shape': (2,), }", 6, "has no 'descr'"},
        {"{'descr': '|S3', 'fortran_order': False, }", 6, "has no 'shape'"},
        {"{'descr': '|S3'}", 0, "has no 'fortran_order'"},
    };
    static bytes b;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char **names = NULL;
        size_t count = 0;
        blv_message why = {""};
        make_npy(&b, 1, cases[i].header, "abcdefghijklmnop", cases[i].bytes);
        if (read_names(&b, &names, &count, &why) != BLV_E_FORMAT || names)
            fail_msg("'%s' was taken for names", cases[i].header);
        assert_non_null(strstr(why.text, cases[i].says));
    }
    char **names = NULL;
    size_t count = 0;
    blv_message why = {""};
    make_npy(&b, 1, "{'descr': '|S3', 'fortran_order': False, 'shape': (2,), }", "onetwo", 6);
    for (size_t size = 0; size < b.size; size++) { /* ends early, anywhere */
        bytes part = {.size = size};
        memcpy(part.data, b.data, size);
        assert_int_equal(read_names(&part, &names, &count, &why), BLV_E_FORMAT);
        assert_null(names);
    }
    b.data[0] = 'x';
    assert_int_equal(read_names(&b, &names, &count, &why), BLV_E_FORMAT);
}

static int setup(void **state) {
    if (make_folder(state) != 0)
        return -1;
    put_images();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_targets_in_text),
        cmocka_unit_test(test_refused_texts),
        cmocka_unit_test(test_zero_bytes),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_too_many_classes),
        cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_refused_names),
    };
    return cmocka_run_group_tests(tests, setup, remove_folder);
}
