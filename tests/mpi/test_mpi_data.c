/* Files that ranks read by shares, against the same files in one process: classes, columns, the
 * features of every row, splits, scaling; files that cannot be shared; a set that is too large for
 * one rank. */
#include "bilevel/bilevel.h"
#include "bilevel/mpi.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static blv_ranks *ranks;

static void meet(void) {
    double here = 1.0;
    assert_true(ranks->sum(ranks->context, 1, &here));
}

/* Rank 0 writes the bytes; the others read them afterwards. Labels have a file of their own. */
static const char *file_of_bytes(bool labels, const void *bytes, size_t size) {
    static char paths[2][100];
    char *path = paths[labels];
    snprintf(path, sizeof paths[0], "mpi-%s-%d.txt", labels ? "labels" : "data", ranks->count);
    meet();
    if (ranks->rank == 0) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(bytes, 1, size, file), size);
        assert_int_equal(fclose(file), 0);
    }
    meet();
    return path;
}

static const char *file_of(const char *text) {
    return file_of_bytes(false, text, strlen(text));
}

static blv_dataset *read_as(const char *path, const blv_ranks *over, blv_read_options options) {
    blv_dataset *set = NULL;
    blv_message why = {""};
    options.size = sizeof options;
    options.ranks = over;
    if (blv_dataset_read(&set, path, &options, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return set;
}

static double value_at(const blv_dataset_view *v, size_t row, size_t column) {
    const void *values = v->dense ? v->dense : v->value;
    size_t k = v->dense ? row * v->stride + column : v->row_start[row];
    while (!v->dense && k < v->row_start[row + 1] && v->column[k] != column)
        k++;
    if (!v->dense && k == v->row_start[row + 1])
        return 0.0;
    return v->precision == BLV_F32 ? (double)((const float *)values)[k]
                                   : ((const double *)values)[k];
}

/* Every row is on exactly one rank, with the numbers that one process has. */
static void assert_alike(const blv_dataset *one, const blv_dataset *spread, double allowed) {
    const blv_dataset_view *a = blv_dataset_view_of(one), *b = blv_dataset_view_of(spread);
    double held = (double)b->held;
    assert_true(b->ranks != NULL || ranks->count == 1);
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->columns, b->columns);
    assert_int_equal(a->classes, b->classes);
    assert_int_equal(!a->dense, !b->dense);
    for (size_t c = 0; c < a->classes; c++)
        assert_string_equal(a->class_names[c], b->class_names[c]);
    if (a->label)
        assert_memory_equal(a->label, b->label, a->rows * sizeof *a->label);
    if (a->target)
        assert_memory_equal(a->target, b->target, a->rows * sizeof *a->target);
    for (size_t k = 0; b->ranks && k < b->held; k++)
        for (size_t j = 0; j < a->columns; j++) {
            const double x = value_at(a, b->held_row[k], j);
            assert_true(fabs(x - value_at(b, k, j)) <= allowed * (1.0 + fabs(x)));
        }
    if (b->ranks) {
        assert_true(ranks->sum(ranks->context, 1, &held));
        assert_true(held == (double)a->rows);
    }
}

/* Splits and scaling of both. */
static void assert_parts_alike(const blv_dataset *one, const blv_dataset *spread) {
    const double sizes[] = {0.5, 0.3};
    blv_dataset *a[2], *b[2];
    assert_int_equal(blv_dataset_split(one, sizes, 2, true, 3, a, NULL), BLV_OK);
    assert_int_equal(blv_dataset_split(spread, sizes, 2, true, 3, b, NULL), BLV_OK);
    for (size_t i = 0; i < 2; i++)
        assert_alike(a[i], b[i], 0.0);
    for (int scaling = BLV_SCALE_STANDARD; scaling <= BLV_SCALE_UNIT; scaling++) {
        assert_int_equal(blv_dataset_scale(a, 2, (blv_scaling)scaling, NULL), BLV_OK);
        assert_int_equal(blv_dataset_scale(b, 2, (blv_scaling)scaling, NULL), BLV_OK);
        for (size_t i = 0; i < 2; i++)
            assert_alike(a[i], b[i], 1e-12);
    }
    for (size_t i = 0; i < 2; i++) {
        blv_dataset_release(a[i]);
        blv_dataset_release(b[i]);
    }
}

/* The rows as their file has them: of a file that was dealt out, on the rank that read it. */
static void assert_texts_alike(const blv_dataset *one, const blv_dataset *spread, bool shared) {
    blv_row_texts *a, *b;
    size_t na, nb;
    if (!shared && ranks->rank > 0)
        return;
    assert_int_equal(blv_row_texts_open(&a, one, NULL), BLV_OK);
    assert_int_equal(blv_row_texts_open(&b, spread, NULL), BLV_OK);
    assert_int_equal(!a, !b);
    for (size_t i = 0; a && i < blv_dataset_view_of(one)->rows; i++) {
        const char *left = blv_row_texts_at(a, i, &na), *right = blv_row_texts_at(b, i, &nb);
        assert_int_equal(na, nb);
        assert_memory_equal(left, right, na);
    }
    blv_row_texts_close(a);
    blv_row_texts_close(b);
}

static bool was_shared(const blv_dataset *set) {
    const char *note;
    for (size_t i = 0; (note = blv_dataset_notes(set, i)); i++)
        if (strstr(note, "whole file"))
            return false;
    return true;
}

static void check_file(const char *path, bool shared, blv_read_options options) {
    blv_dataset *one = read_as(path, NULL, options), *spread = read_as(path, ranks, options);
    assert_int_equal(was_shared(spread), shared || ranks->count == 1);
    assert_alike(one, spread, 0.0);
    assert_texts_alike(one, spread, shared);
    if (blv_dataset_view_of(one)->rows > 20)
        assert_parts_alike(one, spread);
    blv_dataset_release(one);
    blv_dataset_release(spread);
}

static void test_shared(void **state) {
    static char text[20000];
    const blv_read_options usual = {0};
    (void)state;
    check_file(TEST_SPARSE, true, usual);
    for (int header = 0; header < 2; header++) {
        char *at = text + sprintf(text, "%s", header ? "a,b,label\n" : "");
        for (int i = 0; i < 60; i++)
            at += sprintf(at, "%.*g,%d,%s\n", i % 15 + 1, sin(i), i * i,
                          i < 30  ? "late"
                          : i % 2 ? "early"
                                  : "10");
        check_file(file_of(text), true, usual);
        at[-1] = '\0'; /* without a newline at the end */
        check_file(file_of(text), true, usual);
    }
    check_file(file_of("1,2,a\n3,4,b\n"), true, usual); /* fewer rows than ranks */
    check_file(file_of("a;b;y\n1;2;0.5\n3;4;1.5\n5;6;2.5\n"), true,
               (blv_read_options){.targets = BLV_TARGETS_REAL});
    check_file(file_of("0 0:1 5:2\n1 1:3\n0\n"), true, usual);
}

/* ---- Rows of binary files ---- */

enum { ROWS = 47, COLUMNS = 6 };

static const char *npy_file(const char *type, const char *order, const void *values, size_t size) {
    char bytes[128 + ROWS * COLUMNS * 8] = "\x93NUMPY\x01";
    char header[119];
    memset(header, ' ', sizeof header);
    const int length =
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': (%d, %d), }",
                 type, order, ROWS, COLUMNS);
    header[length] = ' ';
    header[117] = '\n';
    bytes[8] = 118;
    memcpy(bytes + 10, header, 118);
    memcpy(bytes + 128, values, size);
    return file_of_bytes(false, bytes, 128 + size);
}

static void test_numpy(void **state) {
    double numbers[ROWS * COLUMNS];
    int16_t whole[ROWS * COLUMNS];
    char labels[4 * ROWS] = "", *at = labels;
    (void)state;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        numbers[i] = sin(i);
        whole[i] = (int16_t)(i * 37 % 1000 - 500);
    }
    for (int i = 0; i < ROWS; i++)
        at += sprintf(at, "%d\n", i % 3);
    blv_read_options options = {.labels = file_of_bytes(true, labels, strlen(labels))};
    for (int single = 0; single < 2; single++) {
        options.precision = single ? BLV_F32 : BLV_F64;
        check_file(npy_file("<f8", "False", numbers, sizeof numbers), true, options);
        check_file(npy_file("<i2", "False", whole, sizeof whole), true, options);
        check_file(npy_file(">i2", "False", whole, sizeof whole), true, options);
        check_file(npy_file("<f8", "True", numbers, sizeof numbers), false, options);
    }
}

/* Stored: by rows; damaged: found by one rank; CSR: dealt out. */
static void test_archives(void **state) {
    char path[60];
    (void)state;
    snprintf(path, sizeof path, "mpi-data-%d.npz", ranks->count);
    for (int sparse = 0; sparse < 2; sparse++) {
        blv_dataset *set =
            read_as(TEST_SPARSE, NULL,
                    (blv_read_options){.layout = sparse ? BLV_LAYOUT_SPARSE : BLV_LAYOUT_DENSE});
        meet();
        if (ranks->rank == 0)
            assert_int_equal(blv_dataset_write(set, path, "npz", NULL), BLV_OK);
        meet();
        blv_dataset_release(set);
        check_file(path, !sparse, (blv_read_options){0});
        check_file(path, !sparse, (blv_read_options){.precision = BLV_F32});
        if (sparse)
            continue;
        meet();
        if (ranks->rank == 0) {
            FILE *file = fopen(path, "r+");
            assert_non_null(file);
            assert_int_equal(fseek(file, 700, SEEK_SET), 0);
            assert_int_not_equal(fputc('?', file), EOF);
            assert_int_equal(fclose(file), 0);
        }
        meet();
        const blv_read_options shared = {.size = sizeof shared, .ranks = ranks};
        blv_message why = {""};
        assert_int_not_equal(blv_dataset_read(&set, path, &shared, &why), BLV_OK);
        assert_non_null(strstr(why.text, "checksum"));
    }
    meet();
    if (ranks->rank == 0)
        unlink(path);
}

static void test_images(void **state) {
    enum { RECORD = 3073, RECORDS = 7 };
    static unsigned char cifar[RECORD * RECORDS];
    unsigned char idx[16 + ROWS * COLUMNS] = {0, 0, 8, 3, 0, 0, 0, ROWS, 0, 0, 0, 2, 0, 0, 0, 3};
    unsigned char labels[8 + ROWS] = {0, 0, 8, 1, 0, 0, 0, ROWS};
    (void)state;
    for (size_t i = 16; i < sizeof idx; i++)
        idx[i] = (unsigned char)(i * i);
    for (size_t i = 8; i < sizeof labels; i++)
        labels[i] = i % 4;
    for (int single = 0; single < 2; single++) {
        blv_read_options options = {.labels = file_of_bytes(true, labels, sizeof labels),
                                    .precision = single ? BLV_F32 : BLV_F64};
        check_file(file_of_bytes(false, idx, sizeof idx), true, options);
        idx[7] = labels[7] = 2; /* fewer rows than ranks */
        options.labels = file_of_bytes(true, labels, 8 + 2);
        check_file(file_of_bytes(false, idx, 16 + 2 * COLUMNS), true, options);
        idx[7] = labels[7] = ROWS;
    }
    for (size_t i = 0; i < sizeof cifar; i++)
        cifar[i] = i % RECORD == 0 ? (unsigned char)(7 - i / RECORD) : (unsigned char)(i * 7);
    check_file(file_of_bytes(false, cifar, sizeof cifar), true, (blv_read_options){0});
    const blv_read_options shared = {.size = sizeof shared, .ranks = ranks};
    blv_message why = {""};
    blv_dataset *set;
    const char *path = file_of_bytes(false, cifar, sizeof cifar - 5);
    assert_int_equal(blv_dataset_read(&set, path, &shared, &why), BLV_E_FORMAT);
}

static void test_whole(void **state) {
    const blv_read_options usual = {0};
    (void)state;
    check_file(TEST_DATA "/digits.csv.gz", false, usual);
    check_file(file_of("a,b,label\n1,\"2\",x\n3,4,y\n5,6,x\n"), false, usual); /* quotes */
    check_file(file_of("a,b,label\n1,red,x\n3,blue,y\n5,red,x\n"), false, usual);
    check_file(file_of("a,b,label\n1,,x\n3,4,y\n5,6,x\n"), false, usual);
    check_file(file_of("row_id,b,label\n7,1,x\n3,4,y\n5,6,x\n"), false, usual);
    check_file(file_of("a,b,label,w\n1,2,x,1\n3,4,y,0.5\n5,6,x,2\n"), false,
               (blv_read_options){.weight = "w", .label = "label"});
}

/* The message is that of one process, on all ranks. */
static void test_messages(void **state) {
    blv_message one = {""}, all = {""};
    blv_dataset *set;
    const blv_read_options alone = {.size = sizeof alone},
                           shared = {.size = sizeof shared, .ranks = ranks};
    static const char *const wrong[] = {"1 1:2\n0 2:1\n1 3:x\n0 1:1\n", "1,2,a\n3,b\n5,6,b\n"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const char *path = file_of(wrong[i]);
        assert_int_equal(blv_dataset_read(&set, path, &alone, &one), BLV_E_FORMAT);
        assert_int_equal(blv_dataset_read(&set, path, &shared, &all), BLV_E_FORMAT);
        assert_string_equal(one.text, all.text);
        assert_non_null(strstr(all.text, "line "));
    }
    assert_int_equal(blv_dataset_read(&set, "no-such-file", &shared, &all), BLV_E_FILE);
    assert_null(set);
}

/* More than one rank may hold, less than all of them may together. */
static void check_large(const char *path, size_t rows, size_t bytes, blv_read_options options) {
    blv_message why;
    blv_dataset *set;
    options.size = sizeof options;
    options.layout = BLV_LAYOUT_DENSE;
    options.max_memory = bytes * 4 / 5;
    assert_int_equal(blv_dataset_read(&set, path, &options, &why), BLV_E_VALUE);
    if (ranks->count > 1) {
        set = read_as(path, ranks, options);
        assert_int_equal(blv_dataset_view_of(set)->rows, rows);
        assert_true(blv_dataset_view_of(set)->held < rows * 2 / 3);
        blv_dataset_release(set);
    }
}

static void test_large(void **state) {
    enum { MANY = 2000, WIDE = 10, RECORDS = 120, IMAGE = 3073 };
    (void)state;
    char *text = calloc(MANY * WIDE * 8 + MANY * 4 + RECORDS * IMAGE, 1), *at = text;
    assert_non_null(text);
    for (int i = 0; i < MANY; i++) {
        at += sprintf(at, "%d", i % 2);
        for (int j = 0; j < WIDE; j++)
            at += sprintf(at, " %d:%d", j + 1, (i * 7 + j * 13) % 1000);
        at += sprintf(at, "\n");
    }
    check_large(file_of(text), MANY, MANY * WIDE * 8, (blv_read_options){0});
    memset(text, 0, RECORDS * IMAGE);
    for (int i = 0; i < RECORDS; i++)
        text[i * IMAGE] = (char)(i % 10);
    check_large(file_of_bytes(false, text, RECORDS * IMAGE), RECORDS, RECORDS * 3072 * 8,
                (blv_read_options){0});
    const unsigned char header[16] = {0, 0, 8, 3, 0, 0, MANY >> 8, MANY & 255,
                                      0, 0, 0, 2, 0, 0, 0,         5};
    memcpy(text, header, sizeof header);
    check_large(file_of_bytes(false, text, 16 + MANY * WIDE), MANY, MANY * WIDE * 8,
                (blv_read_options){0});
    free(text);
}

/* What needs all rows is rejected. */
static void test_refused(void **state) {
    blv_dataset *set = read_as(TEST_SPARSE, NULL, (blv_read_options){0});
    blv_message why;
    (void)state;
    assert_int_equal(blv_dataset_spread(set, NULL, &why), BLV_E_ARGUMENT);
    assert_int_equal(blv_dataset_spread(set, ranks, &why), BLV_OK);
    assert_int_equal(blv_dataset_spread(set, ranks, &why), BLV_OK);
    assert_int_equal(blv_dataset_write(set, "never-written.csv", "csv", &why), BLV_E_UNSUPPORTED);
    assert_int_not_equal(access("never-written.csv", F_OK), 0);
    blv_dataset_release(set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared),   cmocka_unit_test(test_numpy),
        cmocka_unit_test(test_archives), cmocka_unit_test(test_images),
        cmocka_unit_test(test_whole),    cmocka_unit_test(test_messages),
        cmocka_unit_test(test_large),    cmocka_unit_test(test_refused),
    };
    blv_message why;
    if (blv_mpi_start(&ranks, &why) != BLV_OK)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    const char *path = file_of(""), *labels = file_of_bytes(true, "", 0);
    if (ranks->rank == 0) {
        unlink(path);
        unlink(labels);
    }
    blv_mpi_leave(ranks, failed, NULL);
    return failed;
}
