/* Files made to do harm, and files that change while they are read: each is refused with a reason
 * or read right, within a fixed amount of memory. */
#include "reader_helpers.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <sys/resource.h>

enum { MEGABYTE = 1 << 20, ROOM = 48 * MEGABYTE };

#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 }; /* shadow memory does not fit under a limit */
#else
enum { SANITIZED = 0 };
#endif

/* ---- Changes while a file is read: done by the first call that gets at its bytes ---- */

ssize_t __real_read(int fd, void *out, size_t n);
ssize_t __wrap_read(int fd, void *out, size_t n);
ssize_t __real_pread(int fd, void *out, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *out, size_t n, off_t at);

static const char *changing; /* this file */
static off_t changed_size;   /* to this */

static void change_now(void) {
    const char *path = changing;
    changing = NULL;
    if (path)
        assert_int_equal(truncate(path, changed_size), 0);
}

ssize_t __wrap_read(int fd, void *out, size_t n) {
    ssize_t got = __real_read(fd, out, n);
    change_now();
    return got;
}

ssize_t __wrap_pread(int fd, void *out, size_t n, off_t at) {
    ssize_t got = __real_pread(fd, out, n, at);
    change_now();
    return got;
}

/* ---- Bounded memory ---- */

static size_t address_space(void) {
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%zu", &pages), 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static struct rlimit allow(rlim_t most) {
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    if (!SANITIZED)
        assert_int_equal(setrlimit(RLIMIT_AS, &(struct rlimit){most, before.rlim_max}), 0);
    return before;
}

/* Reads with ROOM bytes more than there are now. */
static blv_error read_bounded(blv_dataset **set, const char *path, const blv_read_options *options,
                              blv_message *why) {
    struct rlimit before = allow(address_space() + ROOM);
    blv_error error = blv_dataset_read(set, path, options, why);
    setrlimit(RLIMIT_AS, &before);
    return error;
}

static void check_error(const char *path, const blv_read_options *options, blv_error expected,
                        const char *message) {
    blv_dataset *set = NULL;
    blv_message why = {""};
    blv_error error = read_bounded(&set, path, options, &why);
    assert_null(set);
    if (error != expected || !strstr(why.text, message))
        fail_msg("error %d: %s\nexpected %d: %s", (int)error, why.text, (int)expected, message);
}

static void refused(const char *path, const char *message) {
    check_error(path, NULL, BLV_E_FORMAT, message);
}

static blv_dataset *read_within(const char *path) {
    blv_dataset *set;
    blv_message why = {""};
    if (read_bounded(&set, path, NULL, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return set;
}

/* ---- Promises of 2^60 rows ---- */

static void test_npy_promises(void **state) {
    (void)state;
    static const char *const shapes[] = {
        "(1152921504606846976, 2)",           /* 2^60 rows: the bytes do not fit into 64 bits */
        "(1152921504606846976, 1)",           /* nor into a file */
        "(1099511627776, 4)",                 /* 2^40 rows */
        "(4294967296, 4294967296, 4)",        /* a product that wraps around */
        "(0, 18446744073709551615, 4)",       /* nothing of very much */
        "(18446744073709551616, 1)",          /* no number of 64 bits */
        "(99999999999999999999999999999, 1)", /* likewise */
    };
    static bytes x, archive, packed;
    const double values[] = {1, 2, 3, 4};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        char dictionary[200];
        snprintf(dictionary, sizeof dictionary,
                 "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }", shapes[i]);
        make_npy(&x, 1, dictionary, values, sizeof values);
        refused(put_file("x.npy", x.data, x.size), "x.npy: ");
        refused(put_gzip("x.npy.gz", x.data, x.size), "x.npy.gz: ");
        entry e = stored("X.npy", &x);
        make_archive(&archive, &e, 1);
        refused(put_file("x.npz", archive.data, archive.size), "x.npz: ");
        e = deflated("X.npy", &x, &packed);
        make_archive(&archive, &e, 1);
        refused(put_file("x.npz", archive.data, archive.size), "x.npz: ");
    }
}

static void test_idx_promises(void **state) {
    (void)state;
    /* 2^31 rows of 2^31 elements of 8 bytes; then eight dimensions that multiply to 2^248 */
    unsigned char two[] = {0, 0, 14, 2, 128, 0, 0, 0, 128, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    unsigned char eight[4 + 32 + 8] = {0, 0, 8, 8};
    for (size_t d = 0; d < 8; d++)
        eight[4 + 4 * d] = 128;
    refused(put_file("x.idx", two, sizeof two), "need more bytes than the file can hold");
    refused(put_gzip("x.gz", two, sizeof two), "need more bytes than the file can hold");
    refused(put_file("x.idx", eight, sizeof eight), "need more bytes than the file can hold");
    refused(put_gzip("x.gz", eight, sizeof eight), "need more bytes than the file can hold");
    /* zeros among them do not hide the others */
    memset(eight + 4, 0, 4);
    refused(put_file("x.idx", eight, sizeof eight), "x.idx: ");
}

/* One index is a promise of columns: kept as such in a sparse set, refused where all would have to
 * be there. */
static void test_libsvm_promises(void **state) {
    (void)state;
    const char *path = put_text("wide", "1 2147483648:5\n2 1:3\n");
    const char *out_of_proportion = "more than 1000 times the file of 21 bytes";
    blv_read_options dense = {.size = sizeof(blv_read_options), .layout = BLV_LAYOUT_DENSE};
    check_error(path, NULL, BLV_E_VALUE, out_of_proportion);
    check_error(path, &dense, BLV_E_VALUE, out_of_proportion);
    blv_read_options allowed = {.size = sizeof(blv_read_options), .max_memory = (size_t)1 << 36};
    blv_dataset *set;
    assert_int_equal(read_bounded(&set, path, &allowed, NULL), BLV_OK);
    const blv_dataset_view *v = blv_dataset_view_of(set);
    assert_non_null(v->row_start);
    assert_int_equal(v->columns, (size_t)1 << 31);
    assert_true(at(set, 0, ((size_t)1 << 31) - 1) == 5.0);
    blv_dataset_release(set);
    refused(put_text("far", "1 1:1 2147483649:1\n"), ": line 1: index '2147483649'; at most");
    refused(put_text("far", "1 1:1\n1 18446744073709551617:1\n"), ": line 2: index '184467440737");
}

/* A sparse archive that promises 2^60 rows in `shape`, or that many elements in `indptr`. */
static void test_sparse_npz_promises(void **state) {
    (void)state;
    static bytes data, indices, indptr, shape, archive;
    static const int64_t big = (int64_t)1 << 60;
    const struct {
        int64_t shape[2], starts[3], columns[2];
        const char *message;
    } cases[] = {
        {{big, 3}, {0, 1, 2}, {0, 1}, "array shape: expected the numbers of rows"},
        {{INT64_MAX, 3}, {0, 1, 2}, {0, 1}, "array shape: expected the numbers of rows"},
        {{2, big}, {0, 1, 2}, {0, 1}, "array shape: expected the numbers of rows"},
        {{-2, 3}, {0, 1, 2}, {0, 1}, "array shape: "},
        {{2, -3}, {0, 1, 2}, {0, 1}, "array shape: "},
        {{2, 3}, {0, big, 2}, {0, 1}, "array indptr: "},
        {{2, 3}, {0, 1, big}, {0, 1}, "array indptr: "},
        {{2, 3}, {0, -1, 2}, {0, 1}, "array indptr: "},
        {{2, 3}, {INT64_MIN, 1, 2}, {0, 1}, "array indptr: "},
        {{2, 3}, {0, 1, 2}, {0, -1}, "array indices: expected columns within the shape"},
        {{2, 3}, {0, 1, 2}, {3, 0}, "array indices: expected columns within the shape"},
        {{2, 3}, {0, 1, 2}, {0, big}, "array indices: expected columns within the shape"},
        {{2, 3}, {0, 2, 2}, {1, 1}, "array indices: row 0 has column 1 twice"},
    };
    const double values[] = {1, 2};
    const char *list = "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }";
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, list, "<f8", 2);
        make_npy(&data, 1, text, values, sizeof values);
        snprintf(text, sizeof text, list, "<i8", 2);
        make_npy(&indices, 1, text, cases[i].columns, sizeof cases[i].columns);
        make_npy(&shape, 1, text, cases[i].shape, sizeof cases[i].shape);
        snprintf(text, sizeof text, list, "<i8", 3);
        make_npy(&indptr, 1, text, cases[i].starts, sizeof cases[i].starts);
        entry entries[] = {stored("data.npy", &data), stored("indices.npy", &indices),
                           stored("indptr.npy", &indptr), stored("shape.npy", &shape)};
        make_archive(&archive, entries, 4);
        refused(put_file("s.npz", archive.data, archive.size), cases[i].message);
    }
}

/* ---- Bombs ---- */

/* `n` zero bytes behind a start, deflated raw or as gzip. */
static size_t deflate_zeros(const void *start, size_t started, size_t n, int window,
                            unsigned char *out, size_t room, uint32_t *crc) {
    static const unsigned char zeros[1 << 16];
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, window, 9, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_out = out;
    z.avail_out = (uInt)room;
    z.next_in = start;
    z.avail_in = (uInt)started;
    *crc = (uint32_t)crc32_z(0, start, started);
    assert_int_equal(deflate(&z, Z_NO_FLUSH), Z_OK);
    while (n > 0) {
        size_t part = n < sizeof zeros ? n : sizeof zeros;
        z.next_in = zeros;
        z.avail_in = (uInt)part;
        *crc = (uint32_t)crc32_z(*crc, zeros, part);
        assert_int_equal(deflate(&z, Z_NO_FLUSH), Z_OK);
        n -= part;
    }
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t made = z.total_out;
    deflateEnd(&z);
    return made;
}

/* An archive of few kilobytes: zeros for 12 MB, which its headers deny or exaggerate. */
static void test_npz_bombs(void **state) {
    (void)state;
    enum { COUNT = 1500000 };
    static bytes head, archive;
    static unsigned char packed[16000];
    uint32_t crc;
    make_npy(&head, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1500000, 1), }", NULL,
             0);
    size_t size = head.size + (size_t)COUNT * 8;
    size_t n =
        deflate_zeros(head.data, head.size, (size_t)COUNT * 8, -15, packed, sizeof packed, &crc);
    entry honest = {.name = "X.npy",
                    .method = 8,
                    .packed = packed,
                    .packed_size = n,
                    .really = n,
                    .size = size,
                    .crc = crc};
    make_archive(&archive, &honest, 1);
    blv_dataset *set = read_within(put_file("x.npz", archive.data, archive.size));
    assert_int_equal(blv_dataset_view_of(set)->rows, COUNT);
    blv_dataset_release(set);

    static const uint64_t lies[] = {200, 1 << 20, 0xfffffff0u};
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        entry lie = honest;
        lie.size = lies[i];
        make_archive(&archive, &lie, 1);
        refused(put_file("x.npz", archive.data, archive.size), "X");
    }
    /* header and entry agree on 2^32 - 16 bytes that are not there */
    make_npy(&head, 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (4294967152, 1), }", NULL,
             0);
    n = deflate_zeros(head.data, head.size, 1000, -15, packed, sizeof packed, &crc);
    entry agreed = honest;
    agreed.packed_size = agreed.really = n;
    agreed.size = head.size + 4294967152u;
    make_archive(&archive, &agreed, 1);
    refused(put_file("x.npz", archive.data, archive.size), "X");
}

/* Half a megabyte of gzip that are 96 MB: one line without an end, or an array whose header is
 * honest. */
static void test_gzip_bombs(void **state) {
    (void)state;
    enum { BIG = 96 * MEGABYTE, PACKED = MEGABYTE };
    static bytes head;
    if (SANITIZED)
        skip(); /* nothing would bound the memory */
    unsigned char *packed = malloc(PACKED);
    assert_non_null(packed);
    uint32_t crc;
    size_t n = deflate_zeros("1 1:1\n1 1:", 10, BIG, 15 + 16, packed, PACKED, &crc);
    check_error(put_file("line.gz", packed, n), NULL, BLV_E_FORMAT, "line.gz: ");
    make_npy(&head, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (12582912, 1), }", NULL,
             0);
    n = deflate_zeros(head.data, head.size, BIG, 15 + 16, packed, PACKED, &crc);
    check_error(put_file("x.npy.gz", packed, n), NULL, BLV_E_MEMORY, "memory");
    free(packed);
}

/* ---- Texts from elsewhere ---- */

static void check_text(const char *text, size_t rows, size_t columns, const double *values,
                       const char *classes) {
    blv_dataset *set = read_within(put_text("text", text));
    check_values(set, rows, columns, values);
    check_classes(set, classes);
    blv_dataset_release(set);
}

static void test_line_ends_and_marks(void **state) {
    (void)state;
    static const double values[] = {1, 2, 3, 4};
    check_text("1 1:1 2:2\r\n2 1:3 2:4\r\n", 2, 2, values, "1 2");
    check_text("1 1:1 2:2\r\n2 1:3 2:4", 2, 2, values, "1 2");
    check_text("\xEF\xBB\xBF"
               "1 1:1 2:2\n2 1:3 2:4\n",
               2, 2, values, "1 2");
    check_text("1,2,a\r\n3,4,b\r\n", 2, 2, values, "a b");
    check_text("\"1\",\"2\",\"a\"\r\n3,4,b", 2, 2, values, "a b");
    check_text("\xEF\xBB\xBFu,v,k\r\n1,2,a\r\n3,4,b\r\n", 2, 2, values, "a b");
    blv_dataset *set = read_within(put_text("text", "\xEF\xBB\xBFu,v,k\n1,2,a\n3,4,b\n"));
    assert_string_equal(blv_dataset_view_of(set)->feature_names[0], "u");
    blv_dataset_release(set);
}

static void test_extreme_numbers(void **state) {
    (void)state;
    const double least = nextafter(0.0, 1.0);
    const double values[] = {least, -least, 2.2250738585072011e-308, DBL_MAX};
    check_text("1 1:4.9406564584124654e-324 2:-5e-324\n"
               "2 1:2.2250738585072011e-308 2:1.7976931348623157e308\n",
               2, 2, values, "1 2");
    check_text("5e-324,-4.94e-324,a\n2.2250738585072011e-308,1.7976931348623157e308,b\n", 2, 2,
               values, "a b");
    static const double zeros[] = {0, -0.0, 1, 1}; /* less than half of the least is zero */
    check_text("1e-400,-2e-324,a\n1,1,b\n", 2, 2, zeros, "a b");
    refused(put_text("big", "1 1:1\n1 1:1e400\n"), ": line 2: index 1: expected a finite number");
    refused(put_text("big", "1,1,a\n1,-1e400,a\n"), ": line 2, column 2 of 3: expected a finite");
    refused(put_text("big", "1,1,a\n1,1.7976931348623159e308,a\n"), ": line 2, column 2 of 3");
    static bytes x;
    const uint64_t bits[] = {1, 0x8000000000000001u};
    double stored_least[2];
    memcpy(stored_least, bits, sizeof bits);
    make_npy(&x, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1), }", bits, 16);
    blv_dataset *set = read_within(put_file("x.npy", x.data, x.size));
    check_values(set, 2, 1, stored_least);
    blv_dataset_release(set);
}

static void test_indices(void **state) {
    (void)state;
    refused(put_text("i", "1 1:1\n1 -1:1\n"), ": line 2: expected index:value, found '-1:1'");
    refused(put_text("i", "1 1:1\n1 2:1 2:1\n"), ": line 2: index 2 after index 2");
    refused(put_text("i", "1 1:1\n1 2:1 1:1\n"), ": line 2: index 1 after index 2");
    refused(put_text("i", "1 1:1\n1 1.5:1\n"), ": line 2: expected index:value, found '1.5:1'");
    refused(put_text("i", "1 1:1\n1 +1:1\n"), ": line 2: expected index:value, found '+1:1'");
}

/* A locale with a decimal comma, made here where the system has none. */
static bool decimal_comma(void) {
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
        char command[200];
        snprintf(command, sizeof command,
                 "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
        if (system(command) != 0 || setenv("LOCPATH", folder, 1) != 0 ||
            !setlocale(LC_ALL, "de_DE.UTF-8"))
            return false;
    }
    return localeconv()->decimal_point[0] == ',';
}

static void test_locale(void **state) {
    (void)state;
    static const double values[] = {1.5, -2.25e-300, 3.75, 123456789.12345678901234567890};
    if (!decimal_comma()) {
        print_message("no locale with a decimal comma\n");
        skip();
    }
    check_text("1 1:1.5 2:-2.25e-300\n2 1:3.75 2:123456789.12345678901234567890\n", 2, 2, values,
               "1 2");
    check_text("1.5,-2.25e-300,a\n3.75,123456789.12345678901234567890,b\n", 2, 2, values, "a b");
    refused(put_text("comma", "1 1:1\n1 1:1,5\n"), ": line 2: index 1: expected a finite number");
    /* medians that stay */
    blv_dataset *all = read_within(put_text("halves", "1,x,a\n2,y,b\n1,x,a\n2,y,b\n")), *part;
    assert_int_equal(blv_dataset_learn_fills(all, NULL), BLV_OK);
    assert_int_equal(blv_dataset_select(all, (const size_t[]){0, 1}, 2, &part, NULL), BLV_OK);
    assert_int_equal(blv_dataset_relearn(&part, 1, NULL), BLV_OK);
    assert_string_equal(blv_dataset_recipe(part), blv_dataset_recipe(all));
    blv_dataset_release(part);
    blv_dataset_release(all);
    setlocale(LC_ALL, "C");
    char command[200];
    snprintf(command, sizeof command, "rm -rf %s/de_DE.UTF-8", folder);
    assert_int_equal(system(command), 0);
}

/* ---- Files that change ---- */

static blv_error read_while_changing(const char *path, off_t size, blv_dataset **set,
                                     blv_message *why) {
    char kept[512];
    snprintf(kept, sizeof kept, "%s", path);
    changing = kept;
    changed_size = size;
    blv_error error = read_bounded(set, kept, NULL, why);
    changing = NULL;
    return error;
}

/* Cut or made longer by zeros after the first bytes were read: the set that was there, or an error
 * that names the file. */
static void check_changes(const char *name, const void *bytes_of, size_t n, size_t rows) {
    for (size_t size = 0; size <= 2 * n; size += n / 7 + 1) {
        blv_dataset *set = NULL;
        blv_message why = {""};
        blv_error error = read_while_changing(put_file(name, bytes_of, n), (off_t)size, &set, &why);
        if (error == BLV_OK) {
            assert_int_equal(blv_dataset_view_of(set)->rows, rows);
        } else {
            assert_null(set);
            if (!strstr(why.text, name))
                fail_msg("%s", why.text);
        }
        blv_dataset_release(set);
    }
}

static void test_files_that_change(void **state) {
    (void)state;
    static bytes x, archive, packed;
    const double values[] = {1, 2, 3, 4};
    const unsigned char idx[] = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 1, 5, 6};
    const char *text = "1 1:1 2:2\n2 1:3 2:4\n", *table = "1,2,a\n3,4,b\n";
    check_changes("c.svm", text, strlen(text), 2);
    check_changes("c.csv", table, strlen(table), 2);
    check_changes("c.idx", idx, sizeof idx, 2);
    make_npy(&x, 1, "{'descr': '>f8', 'fortran_order': False, 'shape': (2, 2), }", values, 32);
    check_changes("c.npy", x.data, x.size, 2);
    entry e = deflated("X.npy", &x, &packed);
    make_archive(&archive, &e, 1);
    check_changes("c.npz", archive.data, archive.size, 2);
    unsigned char zipped[4096];
    size_t n = gzip_bytes(text, strlen(text), zipped, sizeof zipped);
    check_changes("c.gz", zipped, n, 2);
}

/* Two pages of doubles, mapped; longer afterwards: what was mapped stays what it was. */
static void test_mapped_file_grows(void **state) {
    (void)state;
    enum { ROWS = 1024 };
    static double values[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        values[i] = (double)i;
    blv_npz_writer *w;
    assert_int_equal(blv_npz_create(&w, in_folder("map.npz"), NULL), BLV_OK);
    assert_int_equal(blv_npz_add_f64(w, "X", 2, (size_t[]){ROWS, 1}, values, NULL), BLV_OK);
    assert_int_equal(blv_npz_commit(w, NULL), BLV_OK);
    blv_dataset *set = read_within(in_folder("map.npz"));
    assert_true(blv_dataset_view_of(set)->mapped);
    uint64_t before = blv_dataset_fingerprint(set);
    assert_int_equal(truncate(in_folder("map.npz"), 10 * MEGABYTE), 0);
    assert_true(blv_dataset_fingerprint(set) == before);
    check_values(set, ROWS, 1, values);
    blv_dataset_release(set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy_promises),
        cmocka_unit_test(test_idx_promises),
        cmocka_unit_test(test_libsvm_promises),
        cmocka_unit_test(test_sparse_npz_promises),
        cmocka_unit_test(test_npz_bombs),
        cmocka_unit_test(test_gzip_bombs),
        cmocka_unit_test(test_line_ends_and_marks),
        cmocka_unit_test(test_extreme_numbers),
        cmocka_unit_test(test_indices),
        cmocka_unit_test(test_locale),
        cmocka_unit_test(test_files_that_change),
        cmocka_unit_test(test_mapped_file_grows),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
