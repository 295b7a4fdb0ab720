/* Data sets written in every format and read back, and the exact bytes of small ones. */
#include "dataset_helpers.h"

#include <limits.h>
#include <locale.h>
#include <sys/stat.h>

static blv_dataset *read_back(const char *path, const blv_read_options *options) {
    blv_dataset *d = NULL;
    blv_message why = {""};
    if (blv_dataset_read(&d, path, options, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return d;
}

static void write_set(const blv_dataset *d, const char *path, const char *format) {
    blv_message why = {""};
    if (blv_dataset_write(d, path, format, &why) != BLV_OK)
        fail_msg("%s", why.text);
}

static void assert_file(const char *path, const char *expected) {
    unsigned char text[4096];
    size_t size = get_file(path, text, sizeof text - 1);
    text[size] = '\0';
    assert_string_equal((char *)text, expected);
}

/* ---- Exact bytes ---- */

static void test_text_of_small_sets(void **state) {
    (void)state;
    const double x[] = {1, 0, -0.1, 1e300, 0, 0, 1.0 / 3.0, -12, 0};
    const int32_t label[] = {1, 0, 1};
    const char *const numbers[] = {"-1", "+1"}, *const words[] = {"a, \"b\"", "plain"};
    const char *const columns[] = {"length", "tab\there", " pad"};
    blv_dataset_view view = {.size = sizeof(blv_dataset_view),
                             .rows = 3,
                             .columns = 3,
                             .dense = x,
                             .stride = 3,
                             .classes = 2};
    view.label = label;
    view.class_names = numbers;
    blv_dataset *d = NULL;
    assert_int_equal(blv_dataset_create(&d, &view, NULL, NULL), BLV_OK);
    write_set(d, in_folder("a.libsvm"), "libsvm");
    assert_file(in_folder("a.libsvm"),
                "+1 1:1 3:-0.1\n-1 1:1e+300\n+1 1:0.3333333333333333 2:-12\n");
    write_set(d, in_folder("a.csv"), "csv");
    assert_file(in_folder("a.csv"),
                "x0,x1,x2,label\n1,0,-0.1,+1\n1e+300,0,0,-1\n0.3333333333333333,-12,0,+1\n");
    blv_dataset_release(d);

    view.class_names = words;
    view.feature_names = columns;
    view.rows = 2;
    assert_int_equal(blv_dataset_create(&d, &view, NULL, NULL), BLV_OK);
    write_set(d, in_folder("b.libsvm"), "libsvm");
    assert_file(in_folder("b.libsvm"), "1 1:1 3:-0.1\n0 1:1e+300\n");
    write_set(d, in_folder("b.csv"), "csv");
    assert_file(in_folder("b.csv"), "length,tab\there,\" pad\",label\n1,0,-0.1,plain\n"
                                    "1e+300,0,0,\"a, \"\"b\"\"\"\n");
    write_set(d, in_folder("b.tsv"), "csv");
    assert_file(in_folder("b.tsv"), "length\t\"tab\there\"\t\" pad\"\tlabel\n1\t0\t-0.1\tplain\n"
                                    "1e+300\t0\t0\t\"a, \"\"b\"\"\"\n");
    blv_dataset_release(d);
}

static void test_width_is_kept(void **state) {
    (void)state;
    const float x[] = {0, 0, 0, 0.1f, 0, 0};
    const double target[] = {-1.5, 0.1};
    const blv_dataset_view view = {.size = sizeof(blv_dataset_view),
                                   .rows = 2,
                                   .columns = 3,
                                   .precision = BLV_F32,
                                   .dense = x,
                                   .stride = 3,
                                   .target = target};
    blv_dataset *d = NULL;
    assert_int_equal(blv_dataset_create(&d, &view, NULL, NULL), BLV_OK);
    write_set(d, in_folder("w.libsvm"), "libsvm");
    assert_file(in_folder("w.libsvm"), "-1.5 3:0\n0.1 1:0.1\n");
    blv_dataset *back =
        read_back(in_folder("w.libsvm"), &(blv_read_options){.size = sizeof(blv_read_options),
                                                             .real_targets = true,
                                                             .precision = BLV_F32});
    assert_same_features(blv_dataset_view_of(back), &view);
    assert_true(blv_dataset_view_of(back)->target[1] == 0.1);
    blv_dataset_release(back);
    blv_dataset_release(d);
}

/* ---- Round trips ---- */

static void test_round_trips(void **state) {
    (void)state;
    const char *const names[] = {"t.libsvm", "t.libsvm.gz", "t.csv", "t.tsv.gz", "t.npz"};
    const char *const formats[] = {"libsvm", "libsvm", "csv", "csv", "npz"};
    for (int f = 0; f < FORMS; f++) {
        for (size_t classes = 0; classes <= 3; classes++) {
            sample s = form((sample){.rows = 40, .columns = 6, .classes = classes}, f);
            blv_dataset *d = make_sample(&s);
            const blv_dataset_view *v = blv_dataset_view_of(d);
            for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
                write_set(d, in_folder(names[k]), formats[k]);
                blv_dataset *back = read_back(
                    in_folder(names[k]),
                    &(blv_read_options){.size = sizeof(blv_read_options),
                                        .precision = s.precision,
                                        .layout = s.sparse ? BLV_LAYOUT_SPARSE : BLV_LAYOUT_DENSE,
                                        .real_targets = classes == 0});
                const blv_dataset_view *b = blv_dataset_view_of(back);
                assert_same_features(v, b);
                assert_int_equal(b->classes, classes);
                assert_int_equal(b->precision, s.precision);
                assert_int_equal(!b->dense, s.sparse);
                for (size_t i = 0; i < v->rows; i++) {
                    if (classes)
                        assert_string_equal(b->class_names[b->label[i]],
                                            v->class_names[v->label[i]]);
                    else
                        assert_true(b->target[i] == v->target[i]);
                }
                if (formats[k][0] != 'c')
                    assert_true(blv_dataset_fingerprint(d) == blv_dataset_fingerprint(back));
                blv_dataset_release(back);
            }
            blv_dataset_release(d);
        }
    }
    assert_int_equal(folder_entries(0) >= 5, 1);
}

/* Numbers of every size, in both precisions, bit for bit. */
static void test_numbers_read_back(void **state) {
    (void)state;
    enum { N = 4000 };
    for (int p = 0; p < 2; p++) {
        double *x = calloc(N, sizeof *x);
        float *y = calloc(N, sizeof *y);
        uint64_t bits = 88172645463325252u;
        for (size_t i = 0; i < N;) {
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
            uint32_t half = (uint32_t)(bits >> 32);
            memcpy(&x[i], &bits, sizeof bits);
            memcpy(&y[i], &half, sizeof half);
            i += isfinite(x[i]) && isfinite(y[i]);
        }
        x[0] = INT_MAX;
        x[1] = -999999999.0;
        x[2] = 1e15;
        x[3] = 5e-324;
        const blv_dataset_view view = {.size = sizeof(blv_dataset_view),
                                       .rows = N / 2,
                                       .columns = 2,
                                       .precision = p ? BLV_F32 : BLV_F64,
                                       .dense = p ? (void *)y : (void *)x,
                                       .stride = 2,
                                       .target = x};
        blv_dataset *d = NULL;
        assert_int_equal(blv_dataset_create(&d, &view, NULL, NULL), BLV_OK);
        for (int k = 0; k < 2; k++) {
            const char *path = in_folder(k ? "n.csv.gz" : "n.libsvm");
            write_set(d, path, k ? "csv" : "libsvm");
            blv_dataset *back =
                read_back(path, &(blv_read_options){.size = sizeof(blv_read_options),
                                                    .precision = view.precision,
                                                    .layout = BLV_LAYOUT_DENSE,
                                                    .real_targets = true});
            const blv_dataset_view *b = blv_dataset_view_of(back);
            assert_same_features(&view, b);
            assert_memory_equal(b->target, x, N / 2 * sizeof *x);
            blv_dataset_release(back);
        }
        blv_dataset_release(d);
        free(x);
        free(y);
    }
}

/* The digits are those that printf finds with the fewest that read back. */
static void test_numbers_are_short(void **state) {
    (void)state;
    enum { N = 20000 };
    double *x = calloc(N, sizeof *x);
    float *y = calloc(N, sizeof *y);
    uint64_t bits = 88172645463325252u;
    for (size_t i = 0; i < N; i++) {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        double size = pow(10.0, (double)(bits % 17) - 6.0), u = (double)(bits >> 20) * 0x1p-44;
        double digits = pow(10.0, (double)(bits >> 8 & 15));
        x[i] = (i % 2 ? -1.0 : 1.0) * size * (i % 3 ? round(u * digits) / digits : u);
        x[i] = i < 256 ? (double)i / 255.0 : x[i];
        x[i] = i >= 256 && i < 266 ? pow(10.0, (double)i - 261.0) : x[i];
        y[i] = (float)x[i];
    }
    for (int p = 0; p < 2; p++) {
        const blv_dataset_view view = {.size = sizeof(blv_dataset_view),
                                       .rows = N,
                                       .columns = 1,
                                       .precision = p ? BLV_F32 : BLV_F64,
                                       .dense = p ? (void *)y : (void *)x,
                                       .stride = 1};
        blv_dataset *d = NULL;
        assert_int_equal(blv_dataset_create(&d, &view, NULL, NULL), BLV_OK);
        write_set(d, in_folder("short.csv"), "csv");
        FILE *file = fopen(in_folder("short.csv"), "r");
        char line[64], expected[64];
        assert_non_null(fgets(line, sizeof line, file));
        for (size_t i = 0; i < N; i++) {
            double value = p ? (double)y[i] : x[i];
            for (int digits = p ? 6 : 15; digits <= 17; digits++) {
                snprintf(expected, sizeof expected, "%.*g\n", digits, value);
                if (p ? strtof(expected, NULL) == y[i] : strtod(expected, NULL) == x[i])
                    break;
            }
            assert_non_null(fgets(line, sizeof line, file));
            if (fabs(value) < 1e6 || fabs(value) != floor(fabs(value)))
                assert_string_equal(line, expected);
            assert_true(p ? strtof(line, NULL) == y[i] : strtod(line, NULL) == x[i]);
        }
        fclose(file);
        blv_dataset_release(d);
    }
    free(x);
    free(y);
}

static void test_npz_arrays(void **state) {
    (void)state;
    const char *const names[] = {"ant", "bee"};
    sample s = {.rows = 5, .columns = 4, .classes = 2, .sparse = true, .named = true};
    blv_dataset *plain = make_sample(&s), *d = NULL;
    blv_dataset_view view = *blv_dataset_view_of(plain);
    view.class_names = names;
    assert_int_equal(blv_dataset_create(&d, &view, NULL, NULL), BLV_OK);
    write_set(d, in_folder("s.npz"), "npz");
    blv_npz *npz = NULL;
    assert_int_equal(blv_npz_open(&npz, in_folder("s.npz"), NULL), BLV_OK);
    const char *const arrays[] = {"data",   "indices", "indptr",      "shape",
                                  "format", "y",       "class_names", "feature_names"};
    assert_int_equal(blv_npz_count(npz), 8);
    for (size_t i = 0; i < 8; i++)
        assert_string_equal(blv_npz_name(npz, i), arrays[i]);
    double *indptr = NULL, *y = NULL;
    assert_int_equal(blv_npz_read_f64(npz, "indptr", &indptr, NULL, NULL), BLV_OK);
    assert_int_equal(blv_npz_read_f64(npz, "y", &y, NULL, NULL), BLV_OK);
    for (size_t i = 0; i < 5; i++) {
        assert_true(indptr[i + 1] == (double)view.row_start[i + 1]);
        assert_true(y[i] == (double)view.label[i]);
    }
    free(indptr);
    free(y);
    blv_npz_close(npz);
    blv_dataset_release(plain);
    blv_dataset_release(d);
}

/* ---- The file and its place ---- */

static void test_what_is_refused(void **state) {
    (void)state;
    sample s = {.rows = 3, .columns = 3, .classes = 2};
    blv_dataset *d = make_sample(&s);
    blv_message why = {""};
    folder_entries(1);
    assert_int_equal(blv_dataset_write(d, in_folder("x"), "arff", &why), BLV_E_NAME);
    assert_says(&why, "no format 'arff'; expected libsvm, csv, npz or source");
    assert_int_equal(blv_dataset_write(d, in_folder("none/x"), "csv", &why), BLV_E_FILE);
    assert_says(&why, "none/x: cannot create a file beside it");
    assert_int_equal(blv_dataset_write(d, folder, "libsvm", &why), BLV_E_FILE);
    assert_says(&why, "not a regular file");
    assert_int_equal(blv_dataset_write(d, folder, "npz", &why), BLV_E_FILE);
    assert_int_equal(blv_dataset_write(NULL, "x", "csv", &why), BLV_E_ARGUMENT);
    assert_int_equal(blv_dataset_write(d, NULL, "csv", &why), BLV_E_ARGUMENT);
    assert_int_equal(blv_dataset_write(d, "x", NULL, &why), BLV_E_ARGUMENT);
    assert_int_equal(folder_entries(0), 0);
    blv_dataset_release(d);
}

/* A locale that writes a comma must not show. Skipped where none is installed. */
static void test_locale(void **state) {
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
        skip();
    const float x[] = {0.5f, 1.25e-7f};
    const blv_dataset_view view = {.size = sizeof(blv_dataset_view),
                                   .rows = 1,
                                   .columns = 2,
                                   .precision = BLV_F32,
                                   .dense = x,
                                   .stride = 2};
    blv_dataset *d = NULL;
    assert_int_equal(blv_dataset_create(&d, &view, NULL, NULL), BLV_OK);
    write_set(d, in_folder("l.libsvm"), "libsvm");
    setlocale(LC_NUMERIC, "C");
    assert_file(in_folder("l.libsvm"), "0 1:0.5 2:1.25e-07\n");
    blv_dataset_release(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_of_small_sets), cmocka_unit_test(test_width_is_kept),
        cmocka_unit_test(test_round_trips),        cmocka_unit_test(test_numbers_read_back),
        cmocka_unit_test(test_numbers_are_short),  cmocka_unit_test(test_npz_arrays),
        cmocka_unit_test(test_what_is_refused),    cmocka_unit_test(test_locale),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
