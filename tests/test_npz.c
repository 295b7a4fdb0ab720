/* NumPy files: what NumPy wrote can be read, what we write can be read by us and by NumPy, and what
 * is not supported is refused with a message that says so. */
#include "npz_helpers.h"

#include "io/npz_private.h"
#include "npz_samples.h"

#include <math.h>
#include <sys/stat.h>

/* The elements are the caller's. */
static double *read_ok(const char *path, const char *name, blv_array *info) {
    blv_message why = {""};
    blv_npz *npz = NULL;
    double *data = NULL;
    if (blv_npz_open(&npz, path, &why) || blv_npz_read_f64(npz, name, &data, info, &why))
        fail_msg("%s", why.text);
    blv_npz_close(npz);
    return data;
}

static void expect_values(const double *got, const double *wanted, size_t n) {
    for (size_t i = 0; i < n; i++) {
        /* bits, so that -0.0 is not 0.0 */
        assert_memory_equal(&got[i], &wanted[i], sizeof *got);
    }
}

static void check_sample(const char *path) {
    const double a[] = {1.5, -2.0, 3.25, 0.0, 1e300, -0.0};
    const double b[] = {1, -2, 1099511627776.0};
    double *data;
    blv_array info;
    data = read_ok(path, "a", &info);
    assert_int_equal(info.ndim, 2);
    assert_int_equal(info.shape[0], 2);
    assert_int_equal(info.shape[1], 3);
    assert_int_equal(info.count, 6);
    assert_int_equal(info.kind, 'f');
    assert_int_equal(info.item_size, 8);
    expect_values(data, a, 6);
    free(data);
    data = read_ok(path, "b", &info);
    assert_int_equal(info.kind, 'i');
    assert_int_equal(info.ndim, 1);
    expect_values(data, b, 3);
    free(data);
}

static void test_reads_savez(void **state) {
    (void)state;
    check_sample(put_file("s.npz", sample_savez, sizeof sample_savez));
}

static void test_reads_savez_compressed(void **state) {
    (void)state;
    const char *path = put_file("c.npz", sample_savez_compressed, sizeof sample_savez_compressed);
    check_sample(path);
    double *data;
    blv_array info;
    data = read_ok(path, "z", &info);
    assert_int_equal(info.count, 100);
    assert_int_equal(info.item_size, 4);
    for (size_t i = 0; i < 100; i++)
        assert_true(data[i] == 0);
    free(data);
}

static void test_reads_npy(void **state) {
    (void)state;
    const double fortran[] = {1, 2, 3, 4, 5, -6}, flags[] = {1, 0, 1};
    double *data;
    blv_array info;
    data = read_ok(put_file("f.npy", sample_npy_fortran, sizeof sample_npy_fortran), "", &info);
    assert_int_equal(info.ndim, 2);
    assert_int_equal(info.shape[0], 2);
    assert_int_equal(info.shape[1], 3);
    assert_int_equal(info.item_size, 2);
    expect_values(data, fortran, 6);
    free(data);
    data = read_ok(put_file("b.npy", sample_npy_bool, sizeof sample_npy_bool), "", &info);
    assert_int_equal(info.kind, 'b');
    expect_values(data, flags, 3);
    free(data);
}

static void test_lists_arrays(void **state) {
    (void)state;
    blv_npz *npz;
    blv_message why;
    blv_array info;
    assert_int_equal(blv_npz_open(&npz, put_file("s.npz", sample_savez, sizeof sample_savez), &why),
                     BLV_OK);
    assert_int_equal(blv_npz_count(npz), 2);
    assert_string_equal(blv_npz_name(npz, 0), "a");
    assert_string_equal(blv_npz_name(npz, 1), "b");
    assert_null(blv_npz_name(npz, 2));
    assert_int_equal(blv_npz_info(npz, "b", &info, NULL), BLV_OK);
    assert_string_equal(info.name, "b");
    assert_int_equal(info.count, 3);
    assert_int_equal(blv_npz_info(npz, "c", &info, &why), BLV_E_NAME);
    assert_non_null(strstr(why.text, "s.npz: no array 'c'; there is 'a', 'b'"));
    blv_npz_close(npz);
    blv_npz_close(NULL);
}

/* ---- Dtypes and headers, from the format's description ---- */

static void test_dtypes(void **state) {
    (void)state;
    static const struct {
        const char *descr;
        const char *elements;
        size_t size;
        double wanted[2];
    } cases[] = {
        {"|i1", "\x01\xfe", 2, {1, -2}},
        {"|u1", "\x01\xfe", 2, {1, 254}},
        {"<u1", "\x01\xfe", 2, {1, 254}},
        {"|b1", "\x02\x00", 2, {1, 0}},
        {"<i2", "\x01\x02\xff\xff", 4, {513, -1}},
        {">i2", "\x01\x02\xff\xfe", 4, {258, -2}},
        {"<u2", "\x01\x02\xff\xff", 4, {513, 65535}},
        {">u2", "\x01\x02\xff\xfe", 4, {258, 65534}},
        {"<i4", "\x01\0\0\x80\x05\0\0\0", 8, {-2147483647, 5}},
        {">i4", "\x80\0\0\x01\0\0\0\x05", 8, {-2147483647, 5}},
        {"<u4", "\x01\0\0\x80\x05\0\0\0", 8, {2147483649, 5}},
        {">u4", "\x80\0\0\x01\0\0\0\x05", 8, {2147483649, 5}},
        {"<i8", "\0\0\0\0\0\x01\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 16, {1099511627776, -1}},
        {">i8", "\0\0\x01\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xfe", 16, {1099511627776, -2}},
        {"<u8", "\0\0\0\0\0\0\0\x80\x07\0\0\0\0\0\0\0", 16, {9223372036854775808.0, 7}},
        {">u8", "\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x07", 16, {9223372036854775808.0, 7}},
        {"<f4", "\0\0\xc0\x3f\0\0\0\xc0", 8, {1.5, -2}},
        {">f4", "\x3f\xc0\0\0\xc0\0\0\0", 8, {1.5, -2}},
        {"<f8", "\0\0\0\0\0\0\xf8\x3f\0\0\0\0\0\0\0\xc0", 16, {1.5, -2}},
        {">f8", "\x3f\xf8\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0", 16, {1.5, -2}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[128];
        static bytes npy;
        double *data;
        blv_array info;
        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (2,), }",
                 cases[i].descr);
        make_npy(&npy, 1, text, cases[i].elements, cases[i].size);
        data = read_ok(put_file("d.npy", npy.data, npy.size), "", &info);
        assert_int_equal(info.kind, cases[i].descr[1]);
        assert_int_equal(info.item_size, cases[i].descr[2] - '0');
        expect_values(data, cases[i].wanted, 2);
        free(data);
    }
}

static void test_header_forms(void **state) {
    (void)state;
    static const struct {
        int version;
        const char *text;
        size_t ndim, shape[3];
    } cases[] = {
        {1, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }", 2, {2, 3}},
        {2, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }", 2, {2, 3}},
        {3, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }    ", 2, {2, 3}},
        {1, "{\"shape\":(6,),\"descr\":\"|u1\",\"fortran_order\":False}", 1, {6}},
        {1, "{ 'shape' : (2L, 3L), 'descr': '|u1' , 'fortran_order': False }", 2, {2, 3}},
        {1, "{'descr': '|u1', 'fortran_order': True, 'shape': (6, 1, 1,), }", 3, {6, 1, 1}},
    };
    const double wanted[] = {1, 2, 3, 4, 5, 6};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static bytes npy;
        double *data;
        blv_array info;
        make_npy(&npy, cases[i].version, cases[i].text, "\1\2\3\4\5\6", 6);
        data = read_ok(put_file("h.npy", npy.data, npy.size), "", &info);
        assert_int_equal(info.ndim, cases[i].ndim);
        for (size_t d = 0; d < info.ndim; d++)
            assert_int_equal(info.shape[d], cases[i].shape[d]);
        expect_values(data, wanted, 6);
        free(data);
    }
}

static void test_fortran_order_in_three_dimensions(void **state) {
    (void)state;
    /* element (i, j, k) of shape (2, 3, 4) is 100 i + 10 j + k */
    unsigned char elements[24];
    double wanted[24], *data;
    blv_array info;
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 3; j++)
            for (size_t k = 0; k < 4; k++) {
                elements[i + 2 * j + 6 * k] = (unsigned char)(100 * i + 10 * j + k);
                wanted[12 * i + 4 * j + k] = (double)(100 * i + 10 * j + k);
            }
    static bytes npy;
    make_npy(&npy, 1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }", elements,
             sizeof elements);
    data = read_ok(put_file("f.npy", npy.data, npy.size), "", &info);
    expect_values(data, wanted, 24);
    free(data);
}

static void test_refused_headers(void **state) {
    (void)state;
#define DICT(descr, shape) "{'descr': " descr ", 'fortran_order': False, 'shape': " shape ", }"
    static const struct {
        int version;
        const char *text, *reason;
    } cases[] = {
        {1, DICT("'|O'", "(1,)"), "Python objects"},
        {1, DICT("[('a', '<f4')]", "(1,)"), "structured"},
        {1, DICT("'<f2'", "(2,)"), "dtype '<f2' cannot be read"},
        {1, DICT("'<f16'", "(2,)"), "dtype '<f16'"},
        {1, DICT("'<c8'", "(2,)"), "dtype '<c8'"},
        {1, DICT("'<U1'", "(1,)"), "dtype '<U1'"},
        {1, DICT("'|f4'", "(1,)"), "dtype '|f4'"},
        {1, DICT("'<i3'", "(1,)"), "dtype '<i3'"},
        {1, DICT("'<b4'", "(1,)"), "dtype '<b4'"},
        {1, DICT("''", "(1,)"), "dtype ''"},
        {1, DICT("'|u1'", "(1,1,1,1,1,1,1,1,4)"), "more than 8 dimensions"},
        {1, DICT("'|u1'", "(5,)"), "needs 5 bytes of elements, there are 4"},
        {1, DICT("'|u1'", "(3,)"), "needs 3 bytes of elements, there are 4"},
        {1, DICT("'|u1'", "(4294967296, 4294967297)"), "larger than any memory"},
        {1, DICT("'<f8'", "(9223372036854775807,)"), "larger than any memory"},
        {1, DICT("'|u1'", "(18446744073709551616,)"), "smaller dimension"},
        {1, DICT("'|u1'", "(-4,)"), "digits only"},
        {1, DICT("'|u1'", "(4)"), "',' after a dimension"},
        {1, DICT("'|u1'", "[4]"), "'(' of the shape"},
        {1, "{'descr': '|u1', 'shape': (4,)}", "has no 'fortran_order'"},
        {1, "{'descr': '|u1', 'descr': '|u1'}", "once"},
        {1, "{'descr': '|u1', 'other': 1}", "once"},
        {1, "{'descr': '|u1', 'fortran_order': None}", "True or False"},
        {1, "{'descr': '|u1' 'shape'", "',' or '}'"},
        {1, "{'descr: 1", "closing quote"},
        {1, "{", "quoted string"},
        {1, "", "'{'"},
        {1, DICT("'|u1'", "(4,)") "x", "nothing but spaces"},
        {4, DICT("'|u1'", "(4,)"), "format version 4.0"},
        {0x101, DICT("'|u1'", "(4,)"), "format version 1.1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static bytes npy;
        blv_message why = {""};
        make_npy(&npy, cases[i].version, cases[i].text, "\1\2\3\4", 4);
        assert_int_equal(read_all(put_file("r.npy", npy.data, npy.size), &why), BLV_E_FORMAT);
        if (!strstr(why.text, cases[i].reason) || !strstr(why.text, "r.npy: array ''"))
            fail_msg("case %zu: \"%s\" does not say \"%s\"", i, why.text, cases[i].reason);
    }
}

/* ---- Archives ---- */

#define FOUR_BYTES "{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }"

static void expect_refused(const entry *entries, size_t count, const char *reason) {
    static bytes archive;
    blv_message why = {""};
    make_archive(&archive, entries, count);
    assert_int_equal(read_all(put_file("r.npz", archive.data, archive.size), &why), BLV_E_FORMAT);
    if (!strstr(why.text, reason) || !strstr(why.text, "r.npz: "))
        fail_msg("\"%s\" does not say \"%s\"", why.text, reason);
}

static void test_archive_by_hand(void **state) {
    (void)state;
    static bytes npy, packed, other, archive;
    const double wanted[] = {1, 2, 3, 4};
    double *data;
    blv_array info;
    make_npy(&npy, 1, FOUR_BYTES, "\1\2\3\4", 4);
    append(&other, "not an array", 12);
    entry entries[] = {stored("y.npy", &npy), stored("notes.txt", &other),
                       deflated("x/1.npy", &npy, &packed)};
    make_archive(&archive, entries, 3);
    const char *path = put_file("h.npz", archive.data, archive.size);
    data = read_ok(path, "y", &info);
    expect_values(data, wanted, 4);
    free(data);
    data = read_ok(path, "x/1", &info);
    expect_values(data, wanted, 4);
    free(data);
    blv_npz *npz;
    assert_int_equal(blv_npz_open(&npz, path, NULL), BLV_OK);
    assert_int_equal(blv_npz_count(npz), 2);
    blv_npz_close(npz);

    make_archive(&archive, NULL, 0);
    assert_int_equal(blv_npz_open(&npz, put_file("e.npz", archive.data, archive.size), NULL),
                     BLV_OK);
    assert_int_equal(blv_npz_count(npz), 0);
    blv_npz_close(npz);
}

static void test_refused_archives(void **state) {
    (void)state;
    static bytes npy, packed, junk, longer;
    make_npy(&npy, 1, FOUR_BYTES, "\1\2\3\4", 4);

    entry e = stored("x.npy", &npy);
    e.flags = 1;
    expect_refused(&e, 1, "array 'x' (byte 0): the entry is encrypted");
    e = stored("x.npy", &npy);
    e.method = 12;
    expect_refused(&e, 1, "compression method 12; expected 0");
    e = stored("x.npy", &npy);
    e.crc ^= 1;
    expect_refused(&e, 1, "damaged: the checksum is");
    e = stored("x.npy", &npy);
    e.size++;
    expect_refused(&e, 1, "but said to be");
    e = stored("x.npy", &npy);
    e.size = e.packed_size = 1000000;
    expect_refused(&e, 1, "runs into the directory");
    entry twice[] = {stored("x.npy", &npy), stored("x.npy", &npy)};
    expect_refused(twice, 2, "two arrays with the name 'x'");
    append(&junk, "hello", 5);
    e = stored("x.npy", &junk);
    expect_refused(&e, 1, "ends inside the array's header");
    append(&junk, " hello hello", 12);
    e = stored("x.npy", &junk);
    expect_refused(&e, 1, "not a NumPy array");

    /* names do not bring control characters into messages */
    e = stored("\x1b[2J.npy", &junk);
    expect_refused(&e, 1, "array '?[2J'");

    /* A deflate stream that makes more, less, or cannot make as much as its entry says. */
    longer = npy;
    append(&longer, "\5", 1);
    e = deflated("x.npy", &longer, &packed);
    e.size = npy.size;
    expect_refused(&e, 1, "unpacks to more than it promised");
    longer = npy;
    longer.size--;
    e = deflated("x.npy", &longer, &packed);
    e.size = npy.size;
    expect_refused(&e, 1, "unpacks to less than it promised");
    e = deflated("x.npy", &npy, &packed);
    e.size = 4000000000;
    expect_refused(&e, 1, "cannot become the 4000000000 promised");
    e = deflated("x.npy", &npy, &packed);
    e.packed_size = e.really = packed.size - 3;
    expect_refused(&e, 1, "cut off");
    e = deflated("x.npy", &npy, &packed);
    append(&packed, "more", 4);
    e.packed_size = e.really = packed.size;
    expect_refused(&e, 1, "ends before its entry does");
    e = deflated("x.npy", &npy, &packed);
    packed.data[0] = 0xff;
    expect_refused(&e, 1, "damaged");
}

static void test_not_a_numpy_file(void **state) {
    (void)state;
    blv_message why;
    blv_npz *npz;
    assert_int_equal(read_all(put_file("t.npz", "1 2 3\n", 6), &why), BLV_E_FORMAT);
    assert_non_null(strstr(why.text, "t.npz: not a NumPy file"));
    assert_int_equal(read_all(put_file("t.npz", "", 0), &why), BLV_E_FORMAT);
    assert_int_equal(read_all(put_file("t.npz", sample_savez, 300), &why), BLV_E_FORMAT);
    assert_non_null(strstr(why.text, "cut off"));
    assert_int_equal(blv_npz_open(&npz, in_folder("absent.npz"), &why), BLV_E_FILE);
    assert_non_null(strstr(why.text, "absent.npz: cannot open: No such file"));
    assert_int_equal(blv_npz_open(&npz, folder, &why), BLV_E_FILE);
    assert_int_equal(blv_npz_open(&npz, NULL, &why), BLV_E_ARGUMENT);
    assert_int_equal(blv_npz_open(NULL, "x", &why), BLV_E_ARGUMENT);
}

/* ---- Writing ---- */

/* Arrays x (2 x 3), w (float), n (int64 scalar), e (0 x 3) and a name beyond ASCII. */
static void write_example(const char *path, uint64_t zip64_limit) {
    const double x[] = {1.5, -2, 3, 0.1, INFINITY, -0.0};
    const float w[] = {1, 0.5f};
    const int64_t n = INT64_MIN;
    blv_message why = {""};
    blv_npz_writer *writer;
    assert_int_equal(blv_npz_create(&writer, path, &why), BLV_OK);
    if (zip64_limit)
        blv_npz_set_zip64_limit(writer, zip64_limit);
    assert_int_equal(blv_npz_add_f64(writer, "x", 2, (size_t[]){2, 3}, x, &why), BLV_OK);
    assert_int_equal(blv_npz_add_f32(writer, "w", 1, (size_t[]){2}, w, &why), BLV_OK);
    assert_int_equal(blv_npz_add_i64(writer, "n", 0, NULL, &n, &why), BLV_OK);
    assert_int_equal(blv_npz_add_f64(writer, "e", 2, (size_t[]){0, 3}, NULL, &why), BLV_OK);
    assert_int_equal(
        blv_npz_add_f64(writer, "\xce\xbb", 8, (size_t[]){1, 1, 1, 1, 3, 1, 2, 1}, x, &why),
        BLV_OK);
    assert_int_equal(blv_npz_commit(writer, &why), BLV_OK);
}

static void check_example(const char *path) {
    const double x[] = {1.5, -2, 3, 0.1, INFINITY, -0.0}, w[] = {1, 0.5};
    double *data;
    blv_array info;
    data = read_ok(path, "x", &info);
    assert_int_equal(info.ndim, 2);
    assert_int_equal(info.shape[1], 3);
    expect_values(data, x, 6);
    free(data);
    data = read_ok(path, "w", &info);
    assert_int_equal(info.item_size, 4);
    expect_values(data, w, 2);
    free(data);
    data = read_ok(path, "n", &info);
    assert_int_equal(info.ndim, 0);
    assert_int_equal(info.count, 1);
    assert_true(data[0] == -9223372036854775808.0);
    free(data);
    data = read_ok(path, "e", &info);
    assert_int_equal(info.shape[0], 0);
    assert_int_equal(info.shape[1], 3);
    assert_int_equal(info.count, 0);
    assert_non_null(data);
    free(data);
    data = read_ok(path, "\xce\xbb", &info);
    assert_int_equal(info.ndim, 8);
    assert_int_equal(info.shape[4], 3);
    expect_values(data, x, 6);
    free(data);
}

static void test_round_trip(void **state) {
    (void)state;
    const char *path = in_folder("w.npz");
    write_example(path, 0);
    check_example(path);
    assert_int_equal(folder_entries(0), 1);
    struct stat status;
    mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0666 & ~mask);
}

static void test_same_content_same_bytes(void **state) {
    (void)state;
    static unsigned char first[8192], second[8192];
    write_example(in_folder("w.npz"), 0);
    size_t n = get_file(in_folder("w.npz"), first, sizeof first);
    write_example(in_folder("v.npz"), 0);
    assert_int_equal(get_file(in_folder("v.npz"), second, sizeof second), n);
    assert_memory_equal(first, second, n);
}

static void test_elements_are_aligned(void **state) {
    (void)state;
    static unsigned char file[8192];
    size_t found = 0, last = 0;
    write_example(in_folder("w.npz"), 0);
    size_t n = get_file(in_folder("w.npz"), file, sizeof file);
    for (size_t i = 0; i + 10 < n; i++) {
        if (memcmp(file + i, "\x93NUMPY\1", 8) != 0)
            continue;
        last = i + 10 + (size_t)(file[i + 8] | file[i + 9] << 8);
        assert_int_equal(i % 64, 0);
        assert_int_equal(last % 64, 0);
        assert_int_equal(file[last - 1], '\n');
        found++;
    }
    assert_int_equal(found, 5);
}

/* The limit is lowered so that sizes (200) or only offsets (600) go into zip64 records. */
static void test_zip64_records(void **state) {
    (void)state;
    static unsigned char file[8192];
    const uint64_t limits[] = {1, 200, 600};
    for (size_t i = 0; i < 3; i++) {
        write_example(in_folder("z.npz"), limits[i]);
        check_example(in_folder("z.npz"));
        size_t n = get_file(in_folder("z.npz"), file, sizeof file);
        assert_memory_equal(file + n - 22 - 20, "PK\6\7", 4);
    }
}

static void test_refused_writes(void **state) {
    (void)state;
    const double x = 1;
    blv_message why;
    blv_npz_writer *w;
    static char name[65536];
    memset(name, 'n', sizeof name - 1);
    assert_int_equal(blv_npz_create(&w, in_folder("w.npz"), &why), BLV_OK);
    assert_int_equal(blv_npz_add_f64(w, "x", 0, NULL, &x, &why), BLV_OK);
    assert_int_equal(blv_npz_add_f64(w, "x", 0, NULL, &x, &why), BLV_E_VALUE);
    assert_non_null(strstr(why.text, "w.npz: there is an array 'x' already"));
    assert_int_equal(blv_npz_add_f64(w, "", 0, NULL, &x, &why), BLV_E_VALUE);
    assert_int_equal(blv_npz_add_f64(w, name, 0, NULL, &x, &why), BLV_E_VALUE);
    assert_int_equal(blv_npz_add_f64(w, "y", 9, (size_t[9]){0}, &x, &why), BLV_E_VALUE);
    assert_int_equal(blv_npz_add_f64(w, "y", 2, (size_t[]){SIZE_MAX, 2}, &x, &why), BLV_E_VALUE);
    assert_int_equal(blv_npz_add_f64(w, "y", 1, (size_t[]){1}, NULL, &why), BLV_E_ARGUMENT);
    assert_int_equal(blv_npz_add_f64(w, "y", 1, NULL, &x, &why), BLV_E_ARGUMENT);
    assert_int_equal(blv_npz_add_f64(w, NULL, 0, NULL, &x, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_npz_add_f64(w, name + 4, 0, NULL, &x, &why), BLV_OK);
    assert_int_equal(blv_npz_commit(w, &why), BLV_OK);
    double *data;
    blv_array info;
    data = read_ok(in_folder("w.npz"), "x", &info);
    free(data);
    data = read_ok(in_folder("w.npz"), name + 4, &info);
    free(data);
    assert_int_equal(blv_npz_commit(NULL, &why), BLV_E_ARGUMENT);
    blv_npz_discard(NULL);
}

static void test_numpy_reads_it(void **state) {
    (void)state;
    static const char script[] =
        "import sys, zipfile, numpy as np\n"
        "for path in sys.argv[1:]:\n"
        "    assert zipfile.ZipFile(path).testzip() is None\n"
        "    d = np.load(path)\n"
        "    assert sorted(d.keys()) == ['e', 'n', 'w', 'x', '\\u03bb']\n"
        "    x = np.array([[1.5, -2, 3], [0.1, np.inf, -0.0]])\n"
        "    assert d['x'].dtype == np.float64 and d['x'].tobytes() == x.tobytes()\n"
        "    assert d['x'].shape == (2, 3)\n"
        "    assert d['w'].dtype == np.float32 and d['w'].tolist() == [1, 0.5]\n"
        "    assert d['n'].dtype == np.int64 and d['n'].shape == () and d['n'] == -2**63\n"
        "    assert d['e'].shape == (0, 3)\n"
        "    assert d['\\u03bb'].shape == (1, 1, 1, 1, 3, 1, 2, 1)\n";
    char command[1024], script_path[512];
    if (system("python3 -c 'import numpy' >/dev/null 2>&1") != 0) {
        print_message("python3 with numpy was not found: skipped\n");
        skip();
    }
    snprintf(script_path, sizeof script_path, "%s",
             put_file("check.py", script, sizeof script - 1));
    write_example(in_folder("plain.npz"), 0);
    write_example(in_folder("sizes.npz"), 200);
    write_example(in_folder("offsets.npz"), 600);
    snprintf(command, sizeof command, "python3 %s %s/plain.npz %s/sizes.npz %s/offsets.npz",
             script_path, folder, folder, folder);
    assert_int_equal(system(command), 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_reads_savez),
        IN_FOLDER(test_reads_savez_compressed),
        IN_FOLDER(test_reads_npy),
        IN_FOLDER(test_lists_arrays),
        IN_FOLDER(test_dtypes),
        IN_FOLDER(test_header_forms),
        IN_FOLDER(test_fortran_order_in_three_dimensions),
        IN_FOLDER(test_refused_headers),
        IN_FOLDER(test_archive_by_hand),
        IN_FOLDER(test_refused_archives),
        IN_FOLDER(test_not_a_numpy_file),
        IN_FOLDER(test_round_trip),
        IN_FOLDER(test_same_content_same_bytes),
        IN_FOLDER(test_elements_are_aligned),
        IN_FOLDER(test_zip64_records),
        IN_FOLDER(test_refused_writes),
        IN_FOLDER(test_numpy_reads_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
