/* The readers of data sets on small files whose content is known. */
#include "reader_helpers.h"

/* ---- libsvm ---- */

static void test_libsvm(void **state) {
    (void)state;
    const char *text = "+1 1:0.5 3:-2\n"
                       "\n"
                       "# only a comment\n"
                       "-1 qid:7 2:1e-3 # a comment 9:9\n"
                       "1\t1:3  \r\n"
                       "-1";
    const double values[] = {0.5, 0, -2, 0, 1e-3, 0, 3, 0, 0, 0, 0, 0};
    blv_dataset *set = read_text(text, NULL);
    const blv_dataset_view *v = blv_dataset_view_of(set);
    check_values(set, 4, 3, values);
    check_classes(set, "+1 -1 +1 -1");
    assert_int_equal(v->classes, 2);
    assert_int_equal(v->label[0], 1);
    assert_non_null(v->dense);
    assert_string_equal(v->format, "libsvm");
    assert_string_equal(blv_dataset_notes(set, 0), "qid ignored");
    assert_null(blv_dataset_notes(set, 1));
    assert_non_null(strstr(blv_dataset_history(set, 0), ": libsvm, 4 rows, 3 features, 2 classes"));
    blv_dataset_release(set);

    blv_read_options options = {.size = sizeof(blv_read_options),
                                .layout = BLV_LAYOUT_SPARSE,
                                .precision = BLV_F32,
                                .columns = 5};
    set = read_text(text, &options);
    v = blv_dataset_view_of(set);
    assert_null(v->dense);
    assert_int_equal(v->columns, 5);
    assert_int_equal(v->row_start[4], 4);
    assert_true(at(set, 1, 1) == (double)1e-3f);
    blv_dataset_release(set);
}

static void test_libsvm_from_index_zero(void **state) {
    (void)state;
    const double values[] = {0, 2, 1, 0};
    blv_dataset *set = read_text("3 1:2\n10 0:1 1:0\n", NULL);
    check_values(set, 2, 2, values);
    check_classes(set, "3 10");
    assert_string_equal(blv_dataset_notes(set, 0), "indices begin at 0");
    blv_dataset_release(set);
}

static void test_libsvm_real_targets(void **state) {
    (void)state;
    blv_read_options options = {.size = sizeof(blv_read_options), .real_targets = true};
    blv_dataset *set = read_text("0.25 1:1\n-1e2 1:2\n", &options);
    const blv_dataset_view *v = blv_dataset_view_of(set);
    assert_int_equal(v->classes, 0);
    assert_null(v->label);
    assert_true(v->target[0] == 0.25 && v->target[1] == -100.0);
    assert_non_null(strstr(blv_dataset_history(set, 0), "real targets"));
    blv_dataset_release(set);
}

/* Sparse below a quarter of non-zeros. */
static void test_libsvm_layout_by_density(void **state) {
    (void)state;
    blv_dataset *set = read_text("1 1:1 8:1\n", NULL);
    assert_non_null(blv_dataset_view_of(set)->dense);
    blv_dataset_release(set);
    set = read_text("1 1:1 9:1\n", NULL);
    assert_null(blv_dataset_view_of(set)->dense);
    blv_dataset_release(set);
    blv_read_options options = {.size = sizeof(blv_read_options), .layout = BLV_LAYOUT_DENSE};
    set = read_text("1 1:1 9:1\n", &options);
    assert_non_null(blv_dataset_view_of(set)->dense);
    blv_dataset_release(set);
}

/* Larger than the pieces it is read in, so that lines are cut; plain and in several members. */
static void test_libsvm_in_pieces(void **state) {
    (void)state;
    enum { ROWS = 100000 };
    size_t room = (size_t)ROWS * 48, n = 0;
    char *text = malloc(room);
    assert_non_null(text);
    for (size_t i = 0; i < ROWS; i++)
        n += (size_t)snprintf(text + n, room - n, "%zu 1:%zu 2:0.%03zu %zu:1\n", i % 3, i, i % 1000,
                              3 + i % 50);
    unsigned char *packed = malloc(room + 4096);
    assert_non_null(packed);
    size_t half = n / 2 + 1;
    size_t first = gzip_bytes(text, half, packed, room);
    size_t second = gzip_bytes(text + half, n - half, packed + first, room - first);
    memset(packed + first + second, 0, 512); /* padding is allowed */

    for (int gzip = 0; gzip < 2; gzip++) {
        const char *path =
            gzip ? put_file("two.gz", packed, first + second + 512) : put_file("plain", text, n);
        blv_dataset *set = read_set(path, NULL);
        const blv_dataset_view *v = blv_dataset_view_of(set);
        assert_int_equal(v->rows, ROWS);
        assert_int_equal(v->columns, 52);
        assert_int_equal(v->classes, 3);
        for (size_t i = 0; i < ROWS; i++) {
            assert_int_equal(v->label[i], i % 3);
            assert_true(at(set, i, 0) == (double)i);
            assert_true(at(set, i, 1) == (double)(i % 1000) / 1000.0);
            assert_true(at(set, i, 2 + i % 50) == 1.0);
        }
        blv_dataset_release(set);
    }
    free(packed);
    free(text);
}

/* ---- CSV ---- */

static void test_csv(void **state) {
    (void)state;
    const char *text = "\xef\xbb\xbf"
                       "width,\"height, cm\",kind\r\n"
                       "1.5,2,tulip\r\n"
                       "\r\n"
                       " -3 ,\"4\",\"a \"\"rose\"\"\nor two\"\r\n"
                       "0,1e2,tulip";
    const double values[] = {1.5, 2, -3, 4, 0, 100};
    blv_dataset *set = read_text(text, NULL);
    const blv_dataset_view *v = blv_dataset_view_of(set);
    check_values(set, 3, 2, values);
    check_classes(set, "tulip a \"rose\"\nor two tulip");
    assert_string_equal(v->feature_names[0], "width");
    assert_string_equal(v->feature_names[1], "height, cm");
    assert_string_equal(v->format, "csv");
    blv_dataset_release(set);

    blv_read_options options = {.size = sizeof(blv_read_options),
                                .label = "width",
                                .real_targets = true,
                                .precision = BLV_F32};
    set = read_text("width;height\n0.5;1\n2;0.1\n", &options);
    v = blv_dataset_view_of(set);
    assert_int_equal(v->columns, 1);
    assert_true(v->target[0] == 0.5 && v->target[1] == 2.0);
    assert_true(at(set, 1, 0) == (double)0.1f);
    assert_string_equal(v->feature_names[0], "height");
    blv_dataset_release(set);
}

static void test_csv_label_column(void **state) {
    (void)state;
    const double first[] = {2, 3, 5, 6}, all[] = {1, 2, 3, 4, 5, 6}, last[] = {1, 2, 4, 5};
    blv_read_options options = {.size = sizeof(blv_read_options), .label = "0"};
    blv_dataset *set = read_text("1\t2\t3\n4\t5\t6\n", &options);
    check_values(set, 2, 2, first);
    check_classes(set, "1 4");
    assert_null(blv_dataset_view_of(set)->feature_names);
    blv_dataset_release(set);

    options.label = "none";
    options.layout = BLV_LAYOUT_SPARSE;
    set = read_text("1,2,3\n4,5,6\n", &options);
    check_values(set, 2, 3, all);
    assert_null(blv_dataset_view_of(set)->dense);
    assert_null(blv_dataset_view_of(set)->label);
    assert_non_null(strstr(blv_dataset_history(set, 0), "no labels"));
    blv_dataset_release(set);

    set = read_text("1,2,3\n4,5,6\n", NULL);
    check_values(set, 2, 2, last);
    blv_dataset_release(set);
}

static void test_csv_header(void **state) {
    (void)state;
    blv_read_options no = {.size = sizeof no, .header = "no"},
                     yes = {.size = sizeof yes, .header = "yes"};
    blv_dataset *set = read_text("1,2,x\n3,4,y\n", NULL); /* no number stands under a word */
    assert_int_equal(blv_dataset_view_of(set)->rows, 2);
    blv_dataset_release(set);
    set = read_text("1,2,x\n3,4,y\n", &yes);
    assert_int_equal(blv_dataset_view_of(set)->rows, 1);
    assert_string_equal(blv_dataset_view_of(set)->feature_names[1], "2");
    blv_dataset_release(set);
    set = read_text("1,2,x\n3,4,5\n", NULL); /* a header whose names are mostly numbers */
    assert_int_equal(blv_dataset_view_of(set)->rows, 1);
    blv_dataset_release(set);
    set = read_text("1,2,x\n3,4,5\n", &no);
    assert_int_equal(blv_dataset_view_of(set)->rows, 2);
    blv_dataset_release(set);
    set = read_text("7,x\n1,2,3,7\n4,5,6,8\n", NULL); /* not of the rows' width */
    assert_int_equal(blv_dataset_view_of(set)->rows, 2);
    assert_non_null(strstr(blv_dataset_notes(set, 0), "line 1 left out"));
    blv_dataset_release(set);
}

/* A field that goes on over many pieces of the file. */
static void test_csv_long_quoted_field(void **state) {
    (void)state;
    enum { LINES = 300000 };
    size_t n = 0, room = 8 * LINES + 64;
    char *text = malloc(room);
    assert_non_null(text);
    n += (size_t)snprintf(text, room, "1,\"");
    for (size_t i = 0; i < LINES; i++)
        n += (size_t)snprintf(text + n, room - n, "word,\n");
    n += (size_t)snprintf(text + n, room - n, "\"\n2,b\n");
    blv_dataset *set = read_set(put_gzip("long.gz", text, n), NULL);
    assert_int_equal(blv_dataset_view_of(set)->rows, 2);
    assert_int_equal(strlen(class_of(set, 0)), 6 * LINES);
    assert_string_equal(class_of(set, 1), "b");
    assert_true(at(set, 1, 0) == 2.0);
    blv_dataset_release(set);
    free(text);
}

/* ---- NumPy ---- */

static const double grid[] = {1.5, -2, 0, 4, 5, 6};

static void make_grid(bytes *b, const char *descr) {
    char dictionary[160];
    float narrow[6];
    for (size_t i = 0; i < 6; i++)
        narrow[i] = (float)grid[i];
    snprintf(dictionary, sizeof dictionary,
             "{'descr': '%s', 'fortran_order': False, 'shape': (3, 2), }%*s", descr, 58, "");
    bool f4 = strcmp(descr, "<f4") == 0;
    make_npy(b, 1, dictionary, f4 ? (const void *)narrow : grid, f4 ? sizeof narrow : sizeof grid);
    assert_int_equal((b->size - (f4 ? sizeof narrow : sizeof grid)) % 8, 0);
}

static void make_list(bytes *b, const char *descr, size_t count, const void *elements, size_t n) {
    char dictionary[160];
    snprintf(dictionary, sizeof dictionary,
             "{'descr': '%s', 'fortran_order': False, 'shape': (%zu,), }", descr, count);
    make_npy(b, 1, dictionary, elements, n);
}

static void test_npy(void **state) {
    (void)state;
    static bytes b;
    const char *const descr[] = {"<f8", "<f4"};
    const int64_t y[] = {5, -1, 5};
    make_list(&b, "<i8", 3, y, sizeof y);
    char labels[512];
    snprintf(labels, sizeof labels, "%s", put_file("labels.npy", b.data, b.size));
    for (int f4 = 0; f4 < 2; f4++) {
        make_grid(&b, descr[f4]);
        for (int f32 = 0; f32 < 2; f32++) {
            blv_read_options options = {.size = sizeof(blv_read_options),
                                        .precision = f32 ? BLV_F32 : BLV_F64,
                                        .labels = labels};
            blv_dataset *set = read_set(put_file("x.npy", b.data, b.size), &options);
            check_values(set, 3, 2, grid);
            check_classes(set, "5 -1 5");
            assert_int_equal(blv_dataset_view_of(set)->mapped, f4 == f32);
            assert_string_equal(blv_dataset_view_of(set)->format, "npy");
            blv_dataset_release(set);
            set = read_set(put_gzip("x.npy.gz", b.data, b.size), &options);
            check_values(set, 3, 2, grid);
            assert_false(blv_dataset_view_of(set)->mapped);
            blv_dataset_release(set);
        }
    }
    blv_dataset *set = read_set(in_folder("x.npy"), NULL);
    assert_string_equal(blv_dataset_notes(set, 0), "no labels");
    blv_dataset_release(set);
    blv_read_options options = {.size = sizeof(blv_read_options),
                                .labels = put_text("names.txt", "red\nblue\n\nred\n")};
    char names[512];
    snprintf(names, sizeof names, "%s", options.labels);
    options.labels = names;
    set = read_set(in_folder("x.npy"), &options);
    check_classes(set, "red blue red");
    blv_dataset_release(set);
}

static void test_npz_dense(void **state) {
    (void)state;
    static bytes x, y, packed, archive;
    const double target[] = {0.5, 1, 2};
    const uint8_t classes[] = {2, 0, 2};
    make_grid(&x, "<f8");
    make_list(&y, "|u1", 3, classes, sizeof classes);
    entry entries[] = {stored("X.npy", &x), stored("y.npy", &y)};
    make_archive(&archive, entries, 2);
    blv_dataset *set = read_set(put_file("d.npz", archive.data, archive.size), NULL);
    check_values(set, 3, 2, grid);
    check_classes(set, "2 0 2");
    assert_string_equal(blv_dataset_view_of(set)->format, "npz");
    blv_dataset_release(set);

    entries[0] = deflated("features.npy", &x, &packed);
    make_list(&y, "<f8", 3, target, sizeof target);
    entries[1] = stored("target.npy", &y);
    make_archive(&archive, entries, 2);
    blv_read_options options = {
        .size = sizeof(blv_read_options), .real_targets = true, .layout = BLV_LAYOUT_SPARSE};
    set = read_set(put_gzip("d.npz.gz", archive.data, archive.size), &options);
    check_values(set, 3, 2, grid);
    assert_int_equal(blv_dataset_view_of(set)->row_start[3], 5);
    assert_true(blv_dataset_view_of(set)->target[0] == 0.5);
    blv_dataset_release(set);
}

/* Our own archives have aligned arrays, which are mapped. */
static void test_npz_mapped(void **state) {
    (void)state;
    blv_npz_writer *w;
    const int64_t y[] = {1, 2, 3};
    const char *path = in_folder("ours.npz");
    assert_int_equal(blv_npz_create(&w, path, NULL), BLV_OK);
    assert_int_equal(blv_npz_add_i64(w, "y", 1, (size_t[]){3}, y, NULL), BLV_OK);
    assert_int_equal(blv_npz_add_f64(w, "x", 2, (size_t[]){3, 2}, grid, NULL), BLV_OK);
    assert_int_equal(blv_npz_commit(w, NULL), BLV_OK);
    blv_dataset *set = read_set(path, NULL);
    assert_true(blv_dataset_view_of(set)->mapped);
    check_values(set, 3, 2, grid);
    blv_dataset_release(set);
}

static void test_npz_sparse(void **state) {
    (void)state;
    static bytes data, indices, indptr, shape, format, y, archive;
    const float values[] = {1, 2, 0, 4};
    const int32_t columns[] = {1, 3, 2, 0}, starts[] = {0, 2, 2, 4};
    const int64_t size[] = {3, 9}, labels[] = {1, 0, 1};
    const double expected[27] = {[1] = 1, [3] = 2, [18] = 4};
    make_list(&data, "<f4", 4, values, sizeof values);
    make_list(&indices, "<i4", 4, columns, sizeof columns);
    make_list(&indptr, "<i4", 4, starts, sizeof starts);
    make_list(&shape, "<i8", 2, size, sizeof size);
    make_list(&y, "<i8", 3, labels, sizeof labels);
    make_npy(&format, 1, "{'descr': '|S3', 'fortran_order': False, 'shape': (), }", "csr", 3);
    entry entries[] = {stored("indices.npy", &indices), stored("indptr.npy", &indptr),
                       stored("format.npy", &format),   stored("shape.npy", &shape),
                       stored("data.npy", &data),       stored("y.npy", &y)};
    make_archive(&archive, entries, 6);
    blv_dataset *set = read_set(put_file("s.npz", archive.data, archive.size), NULL);
    check_values(set, 3, 9, expected); /* sorted by columns, the zero dropped */
    assert_null(blv_dataset_view_of(set)->dense);
    assert_int_equal(blv_dataset_view_of(set)->row_start[3], 3);
    check_classes(set, "1 0 1");
    blv_dataset_release(set);

    make_npy(&format, 1, "{'descr': '<U3', 'fortran_order': False, 'shape': (), }",
             "c\0\0\0s\0\0\0c\0\0\0", 12);
    entries[2] = stored("format.npy", &format);
    make_archive(&archive, entries, 6);
    blv_message why = {""};
    assert_int_equal(
        blv_dataset_read(&set, put_file("s.npz", archive.data, archive.size), NULL, &why),
        BLV_E_FORMAT);
    assert_non_null(strstr(why.text, "not in CSR form"));
}

/* ---- IDX ---- */

static void test_idx(void **state) {
    (void)state;
    const unsigned char images[] = {0, 0, 8, 3, 0, 0, 0, 2, 0,   0,   0,
                                    1, 0, 0, 0, 3, 0, 1, 2, 253, 254, 255};
    const unsigned char labels[] = {0, 0, 8, 1, 0, 0, 0, 2, 7, 3};
    const double values[] = {0, 1, 2, 253, 254, 255};
    put_file("train-images-idx3-ubyte", images, sizeof images);
    put_gzip("train-labels-idx1-ubyte.gz", labels, sizeof labels);
    put_gzip("t.images.idx3.gz", images, sizeof images);
    put_file("t.labels.idx1", labels, sizeof labels);
    put_file("alone.idx", images, sizeof images);
    const char *const names[] = {"train-images-idx3-ubyte", "t.images.idx3.gz"};
    for (int i = 0; i < 4; i++) {
        blv_read_options options = {.size = sizeof(blv_read_options),
                                    .precision = i / 2 ? BLV_F32 : BLV_F64};
        blv_dataset *set = read_set(in_folder(names[i % 2]), &options);
        check_values(set, 2, 3, values);
        check_classes(set, "7 3");
        assert_string_equal(blv_dataset_view_of(set)->format, "idx");
        blv_dataset_release(set);
    }
    blv_dataset *set = read_set(in_folder("alone.idx"), NULL);
    assert_non_null(strstr(blv_dataset_notes(set, 0), "no file of labels"));
    blv_dataset_release(set);
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("t.labels.idx1"));
    blv_read_options options = {
        .size = sizeof(blv_read_options), .labels = path, .real_targets = true};
    set = read_set(in_folder("alone.idx"), &options);
    assert_true(blv_dataset_view_of(set)->target[0] == 7.0);
    blv_dataset_release(set);
}

/* 200,000 elements that deflate to less than a sixteenth: memory grows as they arrive. */
static void test_idx_deflated_far(void **state) {
    (void)state;
    enum { ROWS = 2000, COLUMNS = 100, HEAD = 12 };
    static unsigned char images[HEAD + ROWS * COLUMNS] = {0,         0,          8, 2, 0, 0,
                                                          ROWS >> 8, ROWS & 255, 0, 0, 0, COLUMNS};
    for (size_t k = 0; k < (size_t)ROWS * COLUMNS; k += 997)
        images[HEAD + k] = (unsigned char)(1 + k % 255);
    for (int f32 = 0; f32 < 2; f32++) {
        const blv_read_options options = {.size = sizeof(blv_read_options),
                                          .precision = f32 ? BLV_F32 : BLV_F64,
                                          .layout = BLV_LAYOUT_DENSE};
        blv_dataset *set = read_set(put_gzip("far.idx.gz", images, sizeof images), &options);
        const blv_dataset_view *view = blv_dataset_view_of(set);
        assert_int_equal(view->rows, ROWS);
        assert_int_equal(view->columns, COLUMNS);
        for (size_t k = 0; k < (size_t)ROWS * COLUMNS; k++) {
            const double value =
                f32 ? (double)((const float *)view->dense)[k] : ((const double *)view->dense)[k];
            assert_true(value == (double)images[HEAD + k]);
        }
        blv_dataset_release(set);
    }
}

static void test_idx_types(void **state) {
    (void)state;
    const struct {
        unsigned char type;
        size_t size;
        const char *elements; /* of -2 and 3 */
    } types[] = {{0x09, 1, "\xfe\x03"},
                 {0x0b, 2, "\xff\xfe\x00\x03"},
                 {0x0c, 4, "\xff\xff\xff\xfe\x00\x00\x00\x03"},
                 {0x0d, 4, "\xc0\x00\x00\x00\x40\x40\x00\x00"},
                 {0x0e, 8, "\xc0\x00\x00\x00\x00\x00\x00\x00\x40\x08\x00\x00\x00\x00\x00\x00"}};
    const double values[] = {-2, 3};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        unsigned char file[64] = {0, 0, types[i].type, 2, 0, 0, 0, 2, 0, 0, 0, 1};
        memcpy(file + 12, types[i].elements, 2 * types[i].size);
        blv_dataset *set = read_set(put_file("typed.idx", file, 12 + 2 * types[i].size), NULL);
        check_values(set, 2, 1, values);
        blv_dataset_release(set);
    }
}

/* ---- CIFAR ---- */

static void test_cifar(void **state) {
    (void)state;
    enum { PIXELS = 3072, ROWS = 40 };
    static unsigned char file[ROWS * (PIXELS + 2)];
    for (int hundred = 0; hundred < 2; hundred++) {
        size_t head = hundred ? 2 : 1, record = PIXELS + head;
        for (size_t i = 0; i < ROWS; i++) {
            file[i * record] = (unsigned char)(i % 10);
            file[i * record + head - 1] = (unsigned char)(hundred ? i + 60 : i % 10);
            for (size_t j = 0; j < PIXELS; j++)
                file[i * record + head + j] = (unsigned char)(i + j);
        }
        for (int kind = 0; kind < 4; kind++) {
            blv_read_options options = {.size = sizeof(blv_read_options),
                                        .precision = kind & 1 ? BLV_F32 : BLV_F64,
                                        .label = hundred && kind & 1 ? "coarse" : NULL};
            const char *path = kind & 2 ? put_gzip("c.bin.gz", file, ROWS * record)
                                        : put_file("c.bin", file, ROWS * record);
            blv_dataset *set = read_set(path, &options);
            const blv_dataset_view *v = blv_dataset_view_of(set);
            assert_string_equal(v->format, hundred ? "cifar100" : "cifar10");
            assert_int_equal(v->rows, ROWS);
            assert_int_equal(v->columns, PIXELS);
            assert_int_equal(v->classes, hundred && !options.label ? ROWS : 10);
            assert_string_equal(class_of(set, 13), hundred && !options.label ? "73" : "3");
            for (size_t i = 0; i < ROWS; i++)
                for (size_t j = 0; j < PIXELS; j += 7)
                    assert_true(at(set, i, j) == (double)((i + j) & 255));
            blv_dataset_release(set);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_libsvm),
        cmocka_unit_test(test_libsvm_from_index_zero),
        cmocka_unit_test(test_libsvm_real_targets),
        cmocka_unit_test(test_libsvm_layout_by_density),
        cmocka_unit_test(test_libsvm_in_pieces),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_csv_label_column),
        cmocka_unit_test(test_csv_header),
        cmocka_unit_test(test_csv_long_quoted_field),
        cmocka_unit_test(test_npy),
        cmocka_unit_test(test_npz_dense),
        cmocka_unit_test(test_npz_mapped),
        cmocka_unit_test(test_npz_sparse),
        cmocka_unit_test(test_idx),
        cmocka_unit_test(test_idx_deflated_far),
        cmocka_unit_test(test_idx_types),
        cmocka_unit_test(test_cifar),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
