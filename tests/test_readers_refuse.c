/* What the readers of data sets refuse, and what they say: the file, the place, what was expected.
 * Then damage of every kind: no crash, no leak, and an error or a sound set. */
#include "reader_helpers.h"

#include <sys/stat.h>

/* ---- Texts ---- */

/* The file must be refused with a message that names it and goes on as given. */
static void check_refused(const char *path, const blv_read_options *options, blv_error expected,
                          const char *message) {
    blv_dataset *set = NULL;
    blv_message why = {""};
    blv_error error = blv_dataset_read(&set, path, options, &why);
    assert_null(set);
    if (error != expected || !strstr(why.text, message))
        fail_msg("error %d: %s\nexpected %d: %s", (int)error, why.text, (int)expected, message);
    if (expected == BLV_E_FORMAT && !strstr(why.text, folder))
        fail_msg("does not name the file: %s", why.text);
    assert_int_equal(blv_dataset_read(&set, path, options, NULL), expected);
}

static void test_libsvm_refusals(void **state) {
    (void)state;
    const struct {
        const char *text, *message;
    } cases[] = {
        {"1 1:2\n1,2 1:2\n", ": line 2: several labels '1,2'; expected one for each row"},
        {"1 1:2\n1:2 2:3\n", ": line 2: expected a label before the pairs, found '1:2'"},
        {"1 1:2\nspam 2:3\n", ": line 2: expected a number as label, found 'spam'"},
        {"1 1:2\nnan 2:3\n", ": line 2: expected a number as label, found 'nan'"},
        {"1 1:2\n\n1 3:1 2:3\n", ": line 3: index 2 after index 3; expected ascending indices"},
        {"1 1:2\n1 3:1 3:3\n", ": line 2: index 3 after index 3; expected ascending indices"},
        {"1 1:2\n1 3:1 4\n", ": line 2: expected index:value, found '4'"},
        {"1 1:2\n1 -3:1\n", ": line 2: expected index:value, found '-3:1'"},
        {"1 1:2\n1 qid:x 3:1\n", ": line 2: expected index:value, found 'qid:x'"},
        {"1 1:2\n1 3:1 qid:1\n", ": line 2: expected index:value, found 'qid:1'"},
        {"1 1:2\n1 3:nan\n", ": line 2: index 3: expected a finite number, found 'nan'"},
        {"1 1:2\n1 3:1e999\n", ": line 2: index 3: expected a finite number, found '1e999'"},
        {"1 1:2\n1 3:\n", ": line 2: index 3: expected a finite number, found nothing"},
        {"1 1:2\n1 3:1.5x\n", ": line 2: index 3: expected a finite number, found '1.5x'"},
        {"1 1:2\n1 3:0x10\n", ": line 2: index 3: expected a finite number, found '0x10'"},
        {"1 2147483649:1\n", ": line 1: index '2147483649'; at most 2147483648 is possible"},
        {"1 99999999999999999999999:1\n", ": line 1: index '99999999999999999999999'; at most"},
        {"1\n2\n", ": there are no features"},
        {"# nothing\n\n", ": there is no row of data"},
        {"", ": the file is empty"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_refused(put_text("bad", cases[i].text), NULL, BLV_E_FORMAT, cases[i].message);
        if (cases[i].text[0])
            check_refused(put_gzip("bad.gz", cases[i].text, strlen(cases[i].text)), NULL,
                          BLV_E_FORMAT, cases[i].message);
    }
    blv_read_options few = {.size = sizeof(blv_read_options), .max_classes = 2};
    check_refused(put_text("bad", "1 1:2\n2 1:2\n3 1:2\n"), &few, BLV_E_FORMAT,
                  ": line 3: more than 2 different labels");
    blv_read_options wide = {.size = sizeof(blv_read_options), .columns = (size_t)1 << 40};
    check_refused(put_text("bad", "1 1:2\n"), &wide, BLV_E_VALUE, "at most 2147483648");
    blv_read_options labels = {.size = sizeof(blv_read_options), .labels = "y"};
    check_refused(put_text("bad", "1 1:2\n"), &labels, BLV_E_VALUE, "libsvm files hold their own");
    blv_read_options f32 = {.size = sizeof(blv_read_options), .precision = BLV_F32};
    check_refused(put_text("bad", "1 1:1e300\n"), &f32, BLV_E_FORMAT,
                  "the value 1e+300 does not fit into single precision");
}

static void test_csv_refusals(void **state) {
    (void)state;
    const struct {
        const char *text, *message;
    } cases[] = {
        {"1,2,a\n1,x,a\n", ": line 2, column 2 of 3: expected a finite number, found 'x'"},
        {"u,v,k\n1,2,a\n1,x,a\n",
         ": line 3, column 2 of 3 (v): expected a finite number, found 'x'"},
        {"1,2,a\n1,-inf,a\n", ": line 2, column 2 of 3: expected a finite number, found '-inf'"},
        {"1,2,a\n1,1e999,a\n", ": line 2, column 2 of 3: expected a finite number, found '1e999'"},
        {"1,2,a\n1,\"2 3\",a\n", ": line 2, column 2 of 3: expected a finite number, found '2 3'"},
        {"1,2,a\n1,2\n", ": line 2: 2 fields; expected 3 as in the first row"},
        {"1,2,a\n\n1,2,a,b\n", ": line 3: 4 fields; expected 3 as in the first row"},
        {"1,2,\"a\nb\"\n1,2,\n", ": line 3, column 3 of 3: expected a label, found nothing"},
        {"1,2,a\n1,2,\"a\n1,2,b\n", ": line 2: the quote opened here is never closed"},
        {"1,2,a\n1,2,\"a\"b\n", ": line 2: expected a delimiter or the line's end after a closing"},
        {"word\nother\n", ": one column; expected a label and features"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_refused(put_text("bad", cases[i].text), NULL, BLV_E_FORMAT, cases[i].message);
    const char *path = put_text("bad", "u,v\n1,2\n");
    blv_read_options options = {.size = sizeof(blv_read_options), .label = "w"};
    check_refused(path, &options, BLV_E_NAME, ": no label column 'w'; the header has 'u', 'v'");
    options.label = "2";
    check_refused(path, &options, BLV_E_NAME, ": no label column '2'");
    options.header = "no";
    check_refused(put_text("bad", "1,2\n1,2\n"), &options, BLV_E_NAME, "from 0 to 1");
    options = (blv_read_options){.size = sizeof(blv_read_options), .header = "maybe"};
    check_refused(path, &options, BLV_E_VALUE, "header is 'maybe'; expected yes or no");
    options = (blv_read_options){.size = sizeof(blv_read_options), .header = "yes"};
    check_refused(put_text("bad", "u,v\n"), &options, BLV_E_FORMAT, ": there is no row of data");
    options = (blv_read_options){.size = sizeof(blv_read_options), .real_targets = true};
    check_refused(put_text("bad", "1,2,a\n"), &options, BLV_E_FORMAT,
                  ": line 1, column 3 of 3: expected a finite number, found 'a'");
}

/* ---- Binary files ---- */

static void test_idx_refusals(void **state) {
    (void)state;
    const unsigned char good[] = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 1, 5, 6};
    unsigned char bad[sizeof good + 1] = {0};
    memcpy(bad, good, sizeof good);
    check_refused(put_file("a.idx", good, 3), NULL, BLV_E_FORMAT, "format unknown");
    check_refused(put_file("a.idx", good, 9), NULL, BLV_E_FORMAT,
                  ": byte 9: the file ends inside the dimensions");
    check_refused(put_file("a.idx", good, 13), NULL, BLV_E_FORMAT,
                  ": byte 12: the dimensions need 2 bytes of elements, there are 1");
    check_refused(put_file("a.idx", bad, sizeof bad), NULL, BLV_E_FORMAT,
                  "need 2 bytes of elements, there are 3");
    check_refused(put_gzip("a.gz", good, 13), NULL, BLV_E_FORMAT,
                  ": byte 13: the file ends inside the elements");
    check_refused(put_gzip("a.gz", bad, sizeof bad), NULL, BLV_E_FORMAT,
                  "expected the end of the file after the last element");
    bad[4] = 0xff; /* more rows than any file of this size can hold */
    check_refused(put_gzip("a.gz", bad, sizeof good), NULL, BLV_E_FORMAT,
                  "the dimensions need more bytes than the file can hold");
    bad[4] = 0;
    bad[7] = 0;
    check_refused(put_file("a.idx", bad, 12), NULL, BLV_E_FORMAT, ": 0 rows of no elements");
    bad[3] = 9;
    check_refused(put_file("a.idx", bad, 40 < sizeof bad ? 40 : sizeof bad), NULL, BLV_E_FORMAT,
                  "more than 8 dimensions");
    const unsigned char list[] = {0, 0, 8, 1, 0, 0, 0, 3, 1, 2, 3};
    check_refused(put_file("a.idx", list, sizeof list), NULL, BLV_E_FORMAT, "one dimension");
    put_file("x-labels-idx1", list, sizeof list);
    check_refused(put_file("x-images-idx2", good, sizeof good), NULL, BLV_E_FORMAT,
                  "x-labels-idx1: 3 labels; expected 2, one for each row");
    blv_read_options options = {.size = sizeof(blv_read_options), .labels = "/nowhere/labels"};
    check_refused(in_folder("x-images-idx2"), &options, BLV_E_FILE, "/nowhere/labels: cannot open");
    char labels[512];
    snprintf(labels, sizeof labels, "%s", put_text("names", "a\nb\nc\n"));
    options.labels = labels;
    check_refused(in_folder("x-images-idx2"), &options, BLV_E_FORMAT, "names: line 3: a label too");
    put_text("names", "a\n");
    check_refused(in_folder("x-images-idx2"), &options, BLV_E_FORMAT, "names: 1 labels; expected");
}

static void test_cifar_refusals(void **state) {
    (void)state;
    enum { ROWS = 200 };
    static unsigned char file[ROWS * 3074];
    check_refused(put_file("c.bin", file, 3073 + 100), NULL, BLV_E_FORMAT, "format unknown");
    file[(size_t)100 * 3073] = 10;
    check_refused(put_gzip("c.gz", file, (size_t)ROWS * 3073), NULL, BLV_E_FORMAT,
                  ": byte 307300: label 10; expected 0 to 9");
    file[(size_t)100 * 3073] = 0;
    check_refused(put_gzip("c.gz", file, (size_t)ROWS * 3073 - 1), NULL, BLV_E_FORMAT,
                  ": byte 614599: the file ends inside record 199; expected 3073 bytes each");
    blv_read_options options = {.size = sizeof(blv_read_options), .label = "fine"};
    check_refused(put_file("c.bin", file, 3073), &options, BLV_E_VALUE, "expected none given");
    options.label = "rough";
    check_refused(put_file("c.bin", file, 3074), &options, BLV_E_VALUE, "expected coarse or fine");
}

static void make_list(bytes *b, const char *descr, size_t count, const void *elements, size_t n) {
    char dictionary[160];
    snprintf(dictionary, sizeof dictionary,
             "{'descr': '%s', 'fortran_order': False, 'shape': (%zu,), }", descr, count);
    make_npy(b, 1, dictionary, elements, n);
}

static void check_sparse_refused(const int32_t *starts, const int32_t *columns, const int64_t *size,
                                 const char *message) {
    static bytes data, indices, indptr, shape, archive;
    const double values[] = {1, 2, 3};
    make_list(&data, "<f8", 3, values, sizeof values);
    make_list(&indices, "<i4", 3, columns, 3 * sizeof *columns);
    make_list(&indptr, "<i4", 3, starts, 3 * sizeof *starts);
    make_list(&shape, "<i8", 2, size, 2 * sizeof *size);
    entry entries[] = {stored("data.npy", &data), stored("indices.npy", &indices),
                       stored("indptr.npy", &indptr), stored("shape.npy", &shape)};
    make_archive(&archive, entries, 4);
    check_refused(put_file("s.npz", archive.data, archive.size), NULL, BLV_E_FORMAT, message);
}

static void test_npz_refusals(void **state) {
    (void)state;
    static bytes x, y, archive;
    const double values[] = {1, 2, 3, 0.5};
    make_list(&x, "<f8", 4, values, sizeof values);
    check_refused(put_file("x.npy", x.data, x.size), NULL, BLV_E_FORMAT,
                  ": expected two or more dimensions");
    check_refused(put_file("x.npy", x.data, x.size - 1), NULL, BLV_E_FORMAT, "the shape needs 32");
    check_refused(put_gzip("x.npy.gz", x.data, x.size - 1), NULL, BLV_E_FORMAT, "needs 32 bytes");
    make_npy(&x, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 2), }", NULL, 0);
    check_refused(put_file("x.npy", x.data, x.size), NULL, BLV_E_FORMAT, ": expected rows and col");

    make_npy(&x, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }", values, 32);
    make_list(&y, "<f8", 2, values + 2, 16);
    entry entries[] = {stored("X.npy", &x), stored("y.npy", &y)};
    make_archive(&archive, entries, 2);
    check_refused(put_file("d.npz", archive.data, archive.size), NULL, BLV_E_FORMAT,
                  ": array 'y': label 0.5 of row 1 is not a whole number");
    make_list(&y, "<U1", 2, "a\0\0\0b\0\0\0", 8);
    entries[1] = stored("y.npy", &y);
    make_archive(&archive, entries, 2);
    check_refused(put_file("d.npz", archive.data, archive.size), NULL, BLV_E_FORMAT,
                  "dtype '<U1' cannot be read");
    make_list(&y, "<f8", 3, values, 24);
    entries[1] = stored("y.npy", &y);
    make_archive(&archive, entries, 2);
    check_refused(put_file("d.npz", archive.data, archive.size), NULL, BLV_E_FORMAT,
                  ": array y: 3 labels in 1 dimensions; expected 2, one for each row");
    entries[0] = stored("other.npy", &x);
    make_archive(&archive, entries, 1);
    check_refused(put_file("d.npz", archive.data, archive.size), NULL, BLV_E_NAME,
                  ": no array of features; expected X, x, data or features");
    const double broken[] = {1, 2, 3, 1.0 / 0.0};
    make_npy(&x, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }", broken, 32);
    check_refused(put_file("x.npy", x.data, x.size), NULL, BLV_E_FORMAT, "row 1, column 1: inf");

    const int32_t starts[] = {0, 1, 3}, columns[] = {0, 0, 1}, down[] = {0, 3, 1};
    const int32_t late[] = {1, 1, 3}, early[] = {0, 1, 2}, twice[] = {0, 1, 1}, far[] = {0, 1, 2};
    const int64_t size[] = {2, 2}, tall[] = {3, 2}, huge[] = {2, (int64_t)1 << 40}, none[] = {2, 0};
    check_sparse_refused(down, columns, size, ": array indptr: expected ascending places");
    check_sparse_refused(late, columns, size, ": array indptr: expected places from 0");
    check_sparse_refused(early, columns, size, ": array indptr: expected places from 0");
    check_sparse_refused(starts, twice, size, ": array indices: row 1 has column 1 twice");
    check_sparse_refused(starts, far, size, ": array indices: expected columns within the shape");
    check_sparse_refused(starts, columns, none, ": array indices: expected columns within");
    check_sparse_refused(starts, columns, tall, ": array indptr: expected one element more");
    check_sparse_refused(starts, columns, huge, ": array shape: expected the numbers of rows");
}

/* ---- Files and gzip ---- */

static void test_gzip_refusals(void **state) {
    (void)state;
    const char *text = "1 1:2\n2 1:3\n";
    unsigned char packed[256];
    size_t n = gzip_bytes(text, strlen(text), packed, sizeof packed);
    char cut[64];
    for (size_t length = 2; length < n; length++) {
        snprintf(cut, sizeof cut, ": byte %zu: the gzip data is cut off", length);
        check_refused(put_file("cut.gz", packed, length), NULL, BLV_E_FORMAT, cut);
    }
    packed[n] = 'x';
    snprintf(cut, sizeof cut, ": byte %zu: expected another gzip member or the end", n);
    check_refused(put_file("more.gz", packed, n + 1), NULL, BLV_E_FORMAT, cut);
    packed[n - 8] ^= 1; /* of the checksum */
    check_refused(put_file("sum.gz", packed, n), NULL, BLV_E_FORMAT,
                  "the gzip data is damaged before this byte: incorrect data check");
}

/* Large enough to be inflated in a thread: its errors come out, and it can be left early. */
static void test_large_gzip_refusals(void **state) {
    (void)state;
    enum { SIZE = 1 << 22 };
    unsigned char *text = malloc(SIZE), *packed = malloc(SIZE);
    assert_true(text && packed);
    uint64_t random = 1;
    size_t n = 0;
    while (n + 64 < SIZE) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        n += (size_t)snprintf((char *)text + n, 64, "%d 1:%lu\n", (int)(random >> 63),
                              (unsigned long)(random >> 20));
    }
    size_t size = gzip_bytes(text, n, packed, SIZE);
    assert_true(size > 1 << 20);
    blv_dataset_release(read_set(put_file("large.gz", packed, size), NULL));
    char cut[64];
    snprintf(cut, sizeof cut, ": byte %zu: the gzip data is cut off", size - 5);
    check_refused(put_file("large.gz", packed, size - 5), NULL, BLV_E_FORMAT, cut);
    packed[size - 7] ^= 1; /* of the checksum */
    check_refused(put_file("large.gz", packed, size), NULL, BLV_E_FORMAT, "incorrect data check");
    text[20000] = text[20002] = '\n';
    text[20001] = 'x';
    size = gzip_bytes(text, n, packed, SIZE);
    check_refused(put_file("large.gz", packed, size), NULL, BLV_E_FORMAT, "expected a number as");
    free(text);
    free(packed);
}

static void test_files(void **state) {
    (void)state;
    blv_dataset *set;
    blv_message why = {""};
    check_refused(in_folder("nothing"), NULL, BLV_E_FILE, "cannot open: No such file");
    check_refused(folder, NULL, BLV_E_FILE, "not a regular file");
    assert_int_equal(blv_dataset_read(NULL, "x", NULL, &why), BLV_E_ARGUMENT);
    assert_int_equal(blv_dataset_read(&set, NULL, NULL, &why), BLV_E_ARGUMENT);
    blv_read_options options = {.size = sizeof(blv_read_options), .precision = (blv_precision)7};
    check_refused(put_text("fine", "1 1:2\n"), &options, BLV_E_VALUE, "neither f32 nor f64");
    check_refused(put_file("zeros", "\0\0\0\0\0\0\0\0", 8), NULL, BLV_E_FORMAT, "format unknown");
}

/* Every file with every byte changed in turn, and cut at every length: read or refused, no more. */
static void test_damage(void **state) {
    (void)state;
    static bytes x, archive;
    const double values[] = {1, 2, 3, 0.5};
    make_npy(&x, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }", values, 32);
    entry entries[] = {stored("x.npy", &x)};
    make_archive(&archive, entries, 1);
    const char *texts[] = {"+1 1:0.5 3:-2 # no\n-1 qid:7 2:1e-3\n",
                           "a,\"b\",c\n1,2,x\n3,4,\"y\"\n"};
    const unsigned char idx[] = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 1, 5, 6};
    const struct {
        const void *data;
        size_t size;
    } files[] = {{texts[0], strlen(texts[0])},
                 {texts[1], strlen(texts[1])},
                 {idx, sizeof idx},
                 {x.data, x.size},
                 {archive.data, archive.size}};
    for (size_t f = 0; f < sizeof files / sizeof files[0]; f++) {
        unsigned char copy[4096];
        assert_true(files[f].size <= sizeof copy);
        for (size_t i = 0; i < 2 * files[f].size; i++) {
            size_t at_byte = i / 2, size = i & 1 ? files[f].size : at_byte;
            memcpy(copy, files[f].data, files[f].size);
            if (i & 1)
                copy[at_byte] ^= (unsigned char)(1u << at_byte % 8);
            for (int gzip = 0; gzip < 2; gzip++) {
                blv_dataset *set;
                blv_message why = {""};
                const char *path = gzip ? put_gzip("d.gz", copy, size) : put_file("d", copy, size);
                blv_error error = blv_dataset_read(&set, path, NULL, &why);
                assert_true(error == BLV_OK || error == BLV_E_FORMAT || error == BLV_E_NAME);
                assert_true((error == BLV_OK) == (set != NULL));
                assert_true((error == BLV_OK) == (why.text[0] == '\0'));
                blv_dataset_release(set);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_libsvm_refusals),
        cmocka_unit_test(test_csv_refusals),
        cmocka_unit_test(test_idx_refusals),
        cmocka_unit_test(test_cifar_refusals),
        cmocka_unit_test(test_npz_refusals),
        cmocka_unit_test(test_gzip_refusals),
        cmocka_unit_test(test_large_gzip_refusals),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
