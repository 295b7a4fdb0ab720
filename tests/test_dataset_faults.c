/* Data sets when memory runs out at every place, and when the disk does. The set must stay as it
 * was, nothing may leak or be left behind. */
#include "base/arena.h"
#include "data/dataset_private.h"
#include "dataset_helpers.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

/* ---- Calls that fail on demand; the linker puts these before the real ones ---- */

static long memory_countdown = -1; /* fails the call that finds 0; below 0 never fails */
static long system_countdown = -1;

static bool fails(long *countdown) {
    return *countdown >= 0 && (*countdown)-- == 0;
}

#define WRAP(type, name, parameters, countdown, error_code, error_value, arguments)                \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters {                                                                \
        if (fails(&countdown)) {                                                                   \
            errno = error_code;                                                                    \
            return error_value;                                                                    \
        }                                                                                          \
        return __real_##name arguments;                                                            \
    }

WRAP(void *, malloc, (size_t n), memory_countdown, ENOMEM, NULL, (n))
WRAP(void *, calloc, (size_t n, size_t m), memory_countdown, ENOMEM, NULL, (n, m))
WRAP(void *, realloc, (void *p, size_t n), memory_countdown, ENOMEM, NULL, (p, n))
WRAP(char *, strdup, (const char *s), memory_countdown, ENOMEM, NULL, (s))
WRAP(int, deflateInit2_,
     (z_stream * z, int level, int method, int bits, int memory, int strategy, const char *version,
      int size),
     memory_countdown, ENOMEM, Z_MEM_ERROR,
     (z, level, method, bits, memory, strategy, version, size))
WRAP(size_t, fwrite, (const void *p, size_t size, size_t n, FILE *f), system_countdown, ENOSPC, 0,
     (p, size, n, f))
WRAP(FILE *, fdopen, (int fd, const char *mode), system_countdown, EMFILE, NULL, (fd, mode))
WRAP(int, fflush, (FILE * f), system_countdown, ENOSPC, EOF, (f))
WRAP(int, fsync, (int fd), system_countdown, EIO, -1, (fd))
WRAP(int, rename, (const char *from, const char *to), system_countdown, EACCES, -1, (from, to))

/* ---- Operations that make sets ---- */

typedef struct maker {
    const char *name;
    blv_error (*make)(const blv_dataset *d, blv_dataset **out); /* up to 3 sets */
} maker;

static blv_error make_copy(const blv_dataset *d, blv_dataset **out) {
    return blv_dataset_create(out, blv_dataset_view_of(d), "copy", NULL);
}

static blv_error make_selection(const blv_dataset *d, blv_dataset **out) {
    return blv_dataset_select(d, (size_t[]){5, 0, 5}, 3, out, NULL);
}

static blv_error make_split(const blv_dataset *d, blv_dataset **out) {
    return blv_dataset_split(d, (double[]){0.5, 0.25, 2}, 3, true, 1, out, NULL);
}

static blv_error make_relabelled(const blv_dataset *d, blv_dataset **out) {
    return blv_dataset_relabel(d, blv_dataset_view_of(d)->true_label, out, NULL);
}

static blv_error make_joined(const blv_dataset *d, blv_dataset **out) {
    return blv_dataset_join(d, d, out, NULL);
}

static blv_error make_shared(const blv_dataset *d, blv_dataset **out) {
    return blv_dataset_copy(d, out, NULL);
}

static blv_error make_rows(const blv_dataset *d, blv_dataset **out) {
    (void)out;
    size_t row[12], count[2];
    return blv_dataset_split_rows(d, (double[]){0.5, 0.25}, 2, true, 1, row, count, NULL);
}

static blv_error make_plain_split(const blv_dataset *d, blv_dataset **out) {
    return blv_dataset_split(d, (double[]){0.5, 0.25, 2}, 3, false, 1, out, NULL);
}

static const maker makers[] = {{"create", make_copy},     {"select", make_selection},
                               {"split", make_split},     {"plain split", make_plain_split},
                               {"split rows", make_rows}, {"relabel", make_relabelled},
                               {"join", make_joined},     {"copy", make_shared}};

static blv_dataset *faulty_sample(int f) {
    sample s = form((sample){.rows = 12, .columns = 4, .classes = 3, .named = true}, f);
    blv_dataset *d = make_sample(&s);
    assert_int_equal(blv_dataset_corrupt(d, BLV_CORRUPT_UNIFORM, 0.5, 1, NULL), BLV_OK);
    assert_int_equal(blv_dataset_transpose(d, NULL), BLV_OK);
    return d;
}

static void test_making_without_memory(void **state) {
    (void)state;
    for (int f = 0; f < FORMS; f++) {
        blv_dataset *d = faulty_sample(f);
        for (size_t k = 0; k < sizeof makers / sizeof makers[0]; k++) {
            blv_error error = BLV_E_MEMORY;
            for (long n = 0; error != BLV_OK; n++) {
                blv_dataset *out[3] = {NULL, NULL, NULL};
                memory_countdown = n;
                error = makers[k].make(d, out);
                memory_countdown = -1;
                if (error == BLV_E_MEMORY)
                    assert_true(!out[0] && !out[1] && !out[2]);
                else if (error != BLV_OK)
                    fail_msg("%s, allocation %ld: error %d", makers[k].name, n, (int)error);
                for (size_t i = 0; i < 3; i++)
                    blv_dataset_release(out[i]);
            }
        }
        blv_dataset_release(d);
    }
}

/* ---- Operations that change a set ---- */

static blv_error change(blv_dataset *d, blv_dataset *other, int which) {
    blv_dataset *const both[] = {d, other};
    switch (which) {
    case 0:
        return blv_dataset_corrupt(d, BLV_CORRUPT_PAIRWISE, 0.5, 1, NULL);
    case 1:
        return blv_dataset_scale(both, 2, BLV_SCALE_STANDARD, NULL);
    case 2:
        return blv_dataset_multiply(d, 3.0, NULL);
    case 3:
        return blv_dataset_unit_rows(d, NULL);
    case 4:
        return blv_dataset_intercept(d, NULL);
    case 5:
        return blv_dataset_one_against_rest(d, "1", NULL);
    default: /* as from a libsvm file, whose width is not known */
        d->view.format = "libsvm";
        return blv_dataset_align((blv_dataset *const[]){d, other}, NULL, 2, NULL);
    }
}

static size_t lines(const blv_dataset *d) {
    size_t n = 0;
    while (blv_dataset_history(d, n))
        n++;
    return n;
}

static void test_changing_without_memory(void **state) {
    (void)state;
    for (int f = 0; f < FORMS; f++) {
        for (int which = 0; which <= 6; which++) {
            blv_error error = BLV_E_MEMORY;
            for (long n = 0; error != BLV_OK; n++) {
                blv_dataset *d = faulty_sample(f), *other = NULL;
                sample wide = form((sample){.rows = 6, .columns = 4, .classes = 3}, f);
                wide.columns = which == 6 ? 5 : 4;
                other = make_sample(&wide);
                uint64_t before = blv_dataset_fingerprint(d), lines_before = lines(d);
                uint64_t other_before = blv_dataset_fingerprint(other), other_lines = lines(other);
                memory_countdown = n;
                error = change(d, other, which);
                memory_countdown = -1;
                if (error == BLV_E_MEMORY) {
                    assert_true(before == blv_dataset_fingerprint(d));
                    assert_true(other_before == blv_dataset_fingerprint(other));
                    assert_int_equal(lines(d), lines_before);
                    assert_int_equal(lines(other), other_lines);
                } else if (error != BLV_OK) {
                    fail_msg("change %d, allocation %ld: error %d", which, n, (int)error);
                }
                assert_transposes(d);
                blv_dataset_release(d);
                blv_dataset_release(other);
            }
        }
    }
}

/* ---- Writing ---- */

static void test_writing_with_faults(void **state) {
    (void)state;
    const char *const names[] = {"w.libsvm", "w.csv.gz", "w.npz"};
    const char *const formats[] = {"libsvm", "csv", "npz"};
    long *const countdowns[] = {&memory_countdown, &system_countdown};
    const blv_error expected[] = {BLV_E_MEMORY, BLV_E_FILE};
    for (int f = 0; f < FORMS * 6; f++) {
        blv_dataset *d = faulty_sample(f % FORMS);
        size_t k = (size_t)f / FORMS % 3, fault = (size_t)f / FORMS / 3;
        const char *path = in_folder(names[k]);
        put_file(names[k], "old", 3);
        blv_error error = expected[fault];
        for (long n = 0; error != BLV_OK; n++) {
            blv_message why = {""};
            *countdowns[fault] = n;
            error = blv_dataset_write(d, path, formats[k], &why);
            *countdowns[fault] = -1;
            unsigned char text[8];
            if (error == BLV_OK) {
                assert_true(n > 2);
            } else {
                assert_int_equal(error, expected[fault]);
                assert_true(why.text[0] != '\0');
                assert_int_equal(get_file(path, text, sizeof text), 3);
            }
            assert_int_equal(folder_entries(0), 1);
        }
        folder_entries(1);
        blv_dataset_release(d);
    }
}

/* A disk that fills up in the middle, as the system reports it: a limit on the size of files. */
static void test_full_disk(void **state) {
    (void)state;
    const char *const names[] = {"w.libsvm", "w.csv.gz", "w.npz"};
    const char *const formats[] = {"libsvm", "csv", "npz"};
    sample s = {.rows = 3000, .columns = 20, .classes = 2};
    blv_dataset *d = make_sample(&s);
    struct rlimit limit, small;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    small.rlim_cur = 10000;
    for (size_t k = 0; k < 3; k++) {
        blv_message why = {""};
        put_file(names[k], "old", 3);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        blv_error error = blv_dataset_write(d, in_folder(names[k]), formats[k], &why);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        assert_int_equal(error, BLV_E_FILE);
        assert_says(&why, names[k]);
        unsigned char text[8];
        assert_int_equal(get_file(in_folder(names[k]), text, sizeof text), 3);
        assert_int_equal(folder_entries(1), 1);
    }
    blv_dataset_release(d);
}

/* An array that was lost for want of memory does not come back, and is not copied. */
static void test_lost_array(void **state) {
    (void)state;
    blv_arena arena = {0};
    for (size_t count = 1; count < 9; count++)
        assert_null(blv_arena_grow(&arena, NULL, count, 8));
    assert_non_null(blv_arena_grow(&arena, NULL, 0, 8));
    blv_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_making_without_memory),
        cmocka_unit_test(test_changing_without_memory),
        cmocka_unit_test(test_writing_with_faults),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_lost_array),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
