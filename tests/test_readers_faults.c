/* The readers when memory runs out or the disk fails, at every call in turn: the right error, no
 * crash, no leak; and without the failure everything is as before. */
#include "reader_helpers.h"

#include <errno.h>
#include <zstd.h>

/* ---- Calls that fail on demand; the linker puts these before the real ones ---- */

static long memory_countdown = -1; /* fails the call that finds 0; below 0 never fails */
static long disk_countdown = -1;

static int fails(long *countdown) {
    if (*countdown < 0)
        return 0;
    return (*countdown)-- == 0;
}

#define WRAP(type, name, parameters, fail_if, error_code, error_value, arguments)                  \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters {                                                                \
        if (fail_if) {                                                                             \
            errno = error_code;                                                                    \
            return error_value;                                                                    \
        }                                                                                          \
        return __real_##name arguments;                                                            \
    }

WRAP(void *, malloc, (size_t n), fails(&memory_countdown), ENOMEM, NULL, (n))
WRAP(void *, calloc, (size_t n, size_t m), fails(&memory_countdown), ENOMEM, NULL, (n, m))
WRAP(void *, realloc, (void *p, size_t n), fails(&memory_countdown), ENOMEM, NULL, (p, n))
WRAP(char *, strdup, (const char *s), fails(&memory_countdown), ENOMEM, NULL, (s))
WRAP(char *, strndup, (const char *s, size_t n), fails(&memory_countdown), ENOMEM, NULL, (s, n))
WRAP(int, inflateInit2_, (z_stream * z, int bits, const char *version, int size),
     fails(&memory_countdown), ENOMEM, Z_MEM_ERROR, (z, bits, version, size))
WRAP(ZSTD_DStream *, ZSTD_createDStream, (void), fails(&memory_countdown), ENOMEM, NULL, ())
WRAP(ssize_t, read, (int fd, void *out, size_t n), fails(&disk_countdown), EIO, -1, (fd, out, n))
WRAP(ssize_t, pread, (int fd, void *out, size_t n, off_t at_byte), fails(&disk_countdown), EIO, -1,
     (fd, out, n, at_byte))

/* ---- Files of every format ---- */

typedef struct sample {
    char name[32];
    blv_read_options options;
} sample;

static sample samples[80];
static size_t sample_count;

static void add_sample(const char *name, const void *data, size_t n, blv_read_options options) {
    static const char *const ends[] = {"", ".gz", ".zst"};
    static char packed[1 << 14];
    for (int packing = 0; packing < 3; packing++) {
        sample *s = &samples[sample_count++];
        snprintf(s->name, sizeof s->name, "%s%s", name, ends[packing]);
        s->options = options;
        if (packing == 1)
            put_gzip(s->name, data, n);
        else if (packing == 2)
            put_file(s->name, packed, ZSTD_compress(packed, sizeof packed, data, n, 1));
        else
            put_file(s->name, data, n);
    }
}

static void make_samples(void) {
    static bytes b, archive;
    static unsigned char cifar[3073];
    static char labels[512], numbers[512], list[512];
    const double values[] = {1, 2, 3, 0.5};
    const int64_t y[] = {4, 5}, starts[] = {0, 1, 2}, columns[] = {1, 0}, size[] = {2, 9};
    const char *svm = "+1 1:0.5 3:-2\n-1 qid:7 2:1e-3\n", *zero = "1 0:1\n2 9:1\n";
    const char *csv = "a,b,c\n1,2,x\n3,4,\"y\"\"\"\n", *odd = "z\n1,2,x\n3,4,y\n";
    const unsigned char idx[] = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 1, 5, 6};
    blv_read_options f32_sparse = {
        .size = sizeof(blv_read_options), .precision = BLV_F32, .layout = BLV_LAYOUT_SPARSE};
    snprintf(labels, sizeof labels, "%s", put_text("labels", "a\nb\n"));
    add_sample("svm", svm, strlen(svm), (blv_read_options){.size = sizeof(blv_read_options)});
    add_sample("zero.svm", zero, strlen(zero),
               (blv_read_options){.size = sizeof(blv_read_options), .real_targets = true});
    add_sample("csv", csv, strlen(csv), (blv_read_options){.size = sizeof(blv_read_options)});
    const char *truth = "a,given,true\n1,x,y\n2,y,z\n";
    add_sample(
        "truth.csv", truth, strlen(truth),
        (blv_read_options){.size = sizeof(blv_read_options), .label = "given", .truth = "true"});
    const char *mixed = "n;city;ok;label\n1,5;Rome;yes;a\n;Bern;no;b\n2,5;NA;;a\n";
    add_sample("mixed.csv", mixed, strlen(mixed),
               (blv_read_options){.size = sizeof(blv_read_options), .layout = BLV_LAYOUT_DENSE});
    add_sample("drop.csv", mixed, strlen(mixed),
               (blv_read_options){.size = sizeof(blv_read_options),
                                  .missing = BLV_MISSING_DROP,
                                  .kinds = "city:category,ok:drop"});
    add_sample("like.csv", mixed, strlen(mixed),
               (blv_read_options){.size = sizeof(blv_read_options),
                                  .layout = BLV_LAYOUT_SPARSE,
                                  .recipe = "number\tn\t3\t1\ncategory\tcity\t0\t0\tOslo\tRome\n"});
    const char *arff =
        "@relation r\n@attribute n numeric\n@attribute c {p,q}\n@attribute s string\n"
        "@data\n1,p,'x y'\n?,q,z\n";
    add_sample("arff", arff, strlen(arff), (blv_read_options){.size = sizeof(blv_read_options)});
    const char *pairs = "@relation r\n@attribute n numeric\n@attribute c {p,q}\n"
                        "@data\n{0 1, 1 q}\n{}\n{0 2.5}\n";
    add_sample("pairs.arff", pairs, strlen(pairs),
               (blv_read_options){.size = sizeof(blv_read_options)});
    add_sample("sparse.csv", csv, strlen(csv), f32_sparse);
    add_sample("odd.csv", odd, strlen(odd),
               (blv_read_options){.size = sizeof(blv_read_options), .header = "yes"});
    add_sample("idx", idx, sizeof idx,
               (blv_read_options){.size = sizeof(blv_read_options), .labels = labels});
    const unsigned char idx_labels[] = {0, 0, 8, 1, 0, 0, 0, 2, 3, 4};
    snprintf(numbers, sizeof numbers, "%s", put_text("numbers", "0.5\n2\n"));
    snprintf(list, sizeof list, "%s", put_file("list", idx_labels, sizeof idx_labels));
    add_sample("targets.idx", idx, sizeof idx,
               (blv_read_options){
                   .size = sizeof(blv_read_options), .labels = numbers, .real_targets = true});
    add_sample("list.idx", idx, sizeof idx,
               (blv_read_options){.size = sizeof(blv_read_options), .labels = list});
    add_sample("alone.idx", idx, sizeof idx, (blv_read_options){.size = sizeof(blv_read_options)});
    add_sample("cifar", cifar, sizeof cifar, (blv_read_options){.size = sizeof(blv_read_options)});
    make_npy(&b, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }", values, 32);
    add_sample("npy", b.data, b.size,
               (blv_read_options){.size = sizeof(blv_read_options), .precision = BLV_F32});

    static bytes part[5];
    const struct {
        const char *name, *shape;
        const int64_t *elements;
        size_t count;
    } lists[] = {{"indices.npy", "2", columns, 2},
                 {"indptr.npy", "3", starts, 3},
                 {"shape.npy", "2", size, 2},
                 {"y.npy", "2", y, 2},
                 {"data.npy", "2", columns, 2}};
    entry entries[5];
    for (size_t i = 0; i < 5; i++) {
        char text[128];
        snprintf(text, sizeof text, "{'descr': '<i8', 'fortran_order': False, 'shape': (%s,), }",
                 lists[i].shape);
        make_npy(&part[i], 1, text, lists[i].elements, 8 * lists[i].count);
        entries[i] = stored(lists[i].name, &part[i]);
    }
    make_archive(&archive, entries, 5);
    add_sample("npz", archive.data, archive.size,
               (blv_read_options){.size = sizeof(blv_read_options)});
}

/* ---- Tests ---- */

static void check_failures(long *countdown, blv_error expected) {
    for (size_t i = 0; i < sample_count; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%.31s", folder, samples[i].name);
        blv_error error = expected;
        for (long n = 0; error; n++) {
            blv_dataset *set;
            blv_message why = {""};
            *countdown = n;
            error = blv_dataset_read(&set, path, &samples[i].options, &why);
            bool failed = *countdown < 0;
            *countdown = -1;
            if (error && (error != expected || !why.text[0] || set))
                fail_msg("%s, call %ld: error %d: %s", samples[i].name, n, (int)error, why.text);
            if (!error && failed) /* a failure that could be worked around */
                error = expected;
            blv_dataset_release(set);
            assert_true(n < 1000);
        }
    }
}

static void test_memory_runs_out(void **state) {
    (void)state;
    check_failures(&memory_countdown, BLV_E_MEMORY);
}

static void test_disk_fails(void **state) {
    (void)state;
    check_failures(&disk_countdown, BLV_E_FILE);
}

/* What is done with a table before it is learned from. */
static void test_tables_without_memory(void **state) {
    (void)state;
    static const char text[] = "n;m;city;label\n1,5;3;Rome;a\n;4;Bern;b\n2,5;5;NA;a\n";
    const blv_read_options options = {.size = sizeof options, .layout = BLV_LAYOUT_SPARSE};
    blv_dataset *set[3] = {NULL};
    char path[512];
    snprintf(path, sizeof path, "%s", put_text("table.csv", text));
    for (int what = 0; what < 2; what++) {
        for (size_t s = 0; s < 3; s += 2)
            assert_int_equal(blv_dataset_read(&set[s], path, &options, NULL), BLV_OK);
        blv_error error = BLV_E_MEMORY;
        for (long n = 0; error; n++) {
            bool mixed;
            blv_message why = {""};
            memory_countdown = n;
            error = what ? blv_dataset_centre_table(set, 3, false, &mixed, &why)
                         : blv_dataset_learn_fills(set[0], &why);
            memory_countdown = -1;
            assert_true(error == BLV_OK || (error == BLV_E_MEMORY && why.text[0]));
            for (size_t s = 0; s < 3; s += 2) /* as it was */
                assert_true(!blv_dataset_view_of(set[s])->dense == (error || !what));
            assert_true(!strstr(blv_dataset_recipe(set[0]), "m\t4\t") == (error || what));
            assert_true(n < 1000);
        }
        blv_dataset_release(set[0]);
        blv_dataset_release(set[2]);
    }
}

static int setup(void **state) {
    if (make_folder(state) != 0)
        return -1;
    make_samples();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_disk_fails),
        cmocka_unit_test(test_tables_without_memory),
    };
    return cmocka_run_group_tests(tests, setup, remove_folder);
}
