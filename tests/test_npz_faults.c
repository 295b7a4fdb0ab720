/* NumPy files when things go wrong: cut off files, flipped bits, memory that runs out, disks that
 * are full. Nothing may crash, leak, take much memory, pass wrong numbers, or leave files behind.
 */
#include "npz_helpers.h"

#include "io/npz_private.h"
#include "npz_samples.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* ---- Calls that fail on demand; the linker puts these before the real ones ---- */

static long memory_countdown = -1; /* fails the call that finds 0; below 0 never fails */
static long system_countdown = -1;
static size_t largest_request;

static int fails(long *countdown) {
    if (*countdown < 0)
        return 0;
    return (*countdown)-- == 0;
}

static int memory_fails(size_t n) {
    if (n > largest_request)
        largest_request = n;
    return fails(&memory_countdown);
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
#define SYSTEM_FAILS fails(&system_countdown)

static char call_order[8] = "-------"; /* the last calls that end a file: Sync, Close, Rename */

static int ending_fails(char letter) {
    memmove(call_order, call_order + 1, sizeof call_order - 2);
    call_order[sizeof call_order - 2] = letter;
    return SYSTEM_FAILS;
}

WRAP(void *, malloc, (size_t n), memory_fails(n), ENOMEM, NULL, (n))
WRAP(void *, calloc, (size_t n, size_t m), memory_fails((n) * (m)), ENOMEM, NULL, (n, m))
WRAP(void *, realloc, (void *p, size_t n), memory_fails(n), ENOMEM, NULL, (p, n))
WRAP(char *, strdup, (const char *s), memory_fails(strlen(s)), ENOMEM, NULL, (s))
WRAP(int, inflateInit2_, (z_stream * z, int bits, const char *version, int size), memory_fails(0),
     ENOMEM, Z_MEM_ERROR, (z, bits, version, size))
WRAP(ssize_t, pread, (int fd, void *out, size_t n, off_t at), SYSTEM_FAILS, EIO, -1,
     (fd, out, n, at))
WRAP(size_t, fwrite, (const void *p, size_t size, size_t n, FILE *f), SYSTEM_FAILS, ENOSPC, 0,
     (p, size, n, f))
WRAP(FILE *, fdopen, (int fd, const char *mode), SYSTEM_FAILS, EMFILE, NULL, (fd, mode))
WRAP(int, fflush, (FILE * f), SYSTEM_FAILS, ENOSPC, EOF, (f))
WRAP(int, fsync, (int fd), ending_fails('S'), EIO, -1, (fd))
WRAP(int, rename, (const char *from, const char *to), ending_fails('R'), EACCES, -1, (from, to))

/* A file that cannot be closed without error is closed all the same. */
int __real_fclose(FILE *f);
int __wrap_fclose(FILE *f);
int __wrap_fclose(FILE *f) {
    int failed = ending_fails('C');
    int result = __real_fclose(f);
    if (failed)
        errno = EIO;
    return failed ? EOF : result;
}

/* ---- Damaged files ---- */

typedef struct sample {
    const char *name;
    const unsigned char *data;
    size_t size;
} sample;

static bytes zip64_file;

/* Our own file with every zip64 record there is. */
static void make_zip64_file(void) {
    const double a[] = {1.5, -2.0, 3.25, 0.0, 1e300, -0.0};
    blv_npz_writer *w;
    const char *path = in_folder("zip64.npz");
    assert_int_equal(blv_npz_create(&w, path, NULL), BLV_OK);
    blv_npz_set_zip64_limit(w, 1);
    assert_int_equal(blv_npz_add_f64(w, "first", 0, NULL, a, NULL), BLV_OK);
    assert_int_equal(blv_npz_add_f64(w, "a", 2, (size_t[]){2, 3}, a, NULL), BLV_OK);
    assert_int_equal(blv_npz_commit(w, NULL), BLV_OK);
    zip64_file.size = get_file(path, zip64_file.data, sizeof zip64_file.data);
}

static size_t all_samples(sample samples[5]) {
    make_zip64_file();
    samples[0] = (sample){"s.npz", sample_savez, sizeof sample_savez};
    samples[1] = (sample){"c.npz", sample_savez_compressed, sizeof sample_savez_compressed};
    samples[2] = (sample){"z.npz", zip64_file.data, zip64_file.size};
    samples[3] = (sample){"f.npy", sample_npy_fortran, sizeof sample_npy_fortran};
    samples[4] = (sample){"b.npy", sample_npy_bool, sizeof sample_npy_bool};
    return 5;
}

static void test_every_prefix_is_refused(void **state) {
    (void)state;
    sample samples[5];
    size_t count = all_samples(samples);
    for (size_t i = 0; i < count; i++) {
        blv_message why = {""};
        for (size_t n = 0; n < samples[i].size; n++) {
            blv_error error = read_all(put_file(samples[i].name, samples[i].data, n), &why);
            if (error != BLV_E_FORMAT)
                fail_msg("%zu bytes of %s: error %d", n, samples[i].name, (int)error);
        }
        const char *whole = put_file(samples[i].name, samples[i].data, samples[i].size);
        assert_int_equal(read_all(whole, &why), BLV_OK);
    }
}

/* What an archive still gives out as "a" has to be right: the checksum stands before it. */
static void expect_right_or_refused(const char *path) {
    const double a[] = {1.5, -2.0, 3.25, 0.0, 1e300, -0.0};
    blv_npz *npz;
    double *data;
    blv_array info;
    if (blv_npz_open(&npz, path, NULL))
        return;
    if (blv_npz_read_f64(npz, "a", &data, &info, NULL) == BLV_OK) {
        assert_int_equal(info.count, 6);
        assert_memory_equal(data, a, sizeof a);
    }
    free(data);
    blv_npz_close(npz);
}

static void test_every_flipped_bit(void **state) {
    (void)state;
    sample samples[5];
    size_t count = all_samples(samples);
    for (size_t i = 0; i < count; i++) {
        static unsigned char file[4096];
        assert_true(samples[i].size <= sizeof file);
        memcpy(file, samples[i].data, samples[i].size);
        largest_request = 0;
        for (size_t bit = 0; bit < 8 * samples[i].size; bit++) {
            blv_message why = {""};
            file[bit / 8] ^= (unsigned char)(1u << bit % 8);
            const char *path = put_file(samples[i].name, file, samples[i].size);
            blv_error error = read_all(path, &why);
            if (error != BLV_OK && error != BLV_E_FORMAT)
                fail_msg("bit %zu of %s: %s", bit, samples[i].name, why.text);
            assert_true(error == BLV_OK || strstr(why.text, samples[i].name));
            if (strstr(samples[i].name, ".npz"))
                expect_right_or_refused(path);
            file[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
        /* the most that deflate can make of the file, as doubles from bytes */
        assert_true(largest_request <= 1033 * sizeof(double) * samples[i].size);
    }
}

static void test_overwritten_words(void **state) {
    (void)state;
    static const unsigned char patterns[][8] = {
        {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
        {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
        {0, 0, 0, 0, 0, 0, 0, 0x80},
        {0, 0, 0, 0, 0, 0, 0, 0},
    };
    sample samples[5];
    size_t count = all_samples(samples);
    for (size_t i = 0; i < count; i++)
        for (size_t p = 0; p < 4; p++)
            for (size_t width = 2; width <= 8; width *= 2)
                for (size_t at = 0; at + width <= samples[i].size; at++) {
                    static unsigned char file[4096];
                    memcpy(file, samples[i].data, samples[i].size);
                    memcpy(file + at, patterns[p] + (8 - width), width);
                    blv_error error =
                        read_all(put_file(samples[i].name, file, samples[i].size), NULL);
                    assert_true(error == BLV_OK || error == BLV_E_FORMAT);
                }
}

/* The last record of the directory says zip64, and its zip64 field is empty. */
static void test_zip64_field_too_short(void **state) {
    (void)state;
    make_zip64_file();
    const size_t field = 24;
    unsigned char *end = zip64_file.data + zip64_file.size - 22 - 20 - 56;
    unsigned char *record = end - (46 + strlen("a.npy") + 4 + field);
    assert_memory_equal(record, "PK\1\2", 4);
    record[30] = 4;
    record[46 + strlen("a.npy") + 2] = 0;
    memmove(end - field, end, 56 + 20 + 22);
    end -= field;
    zip64_file.size -= field;
    uint64_t directory = zip_get64(end + 40) - field, end_at = (uint64_t)(end - zip64_file.data);
    for (size_t i = 0; i < 8; i++) {
        end[40 + i] = (unsigned char)(directory >> 8 * i & 0xff);
        end[56 + 8 + i] = (unsigned char)(end_at >> 8 * i & 0xff);
    }
    blv_message why = {""};
    const char *path = put_file("z.npz", zip64_file.data, zip64_file.size);
    assert_int_equal(read_all(path, &why), BLV_E_FORMAT);
    assert_non_null(strstr(why.text, "(entry 2 of 2): the zip64 field is malformed"));
}

static void test_headers_that_disagree(void **state) {
    (void)state;
    static unsigned char file[sizeof sample_savez + 1];
    const size_t size = sizeof sample_savez;
    blv_message why = {""};
    memcpy(file, sample_savez, size);
    file[30] = 'q'; /* first letter of the first local name */
    assert_int_equal(read_all(put_file("s.npz", file, size), &why), BLV_E_FORMAT);
    assert_non_null(strstr(why.text, "array 'a' (byte 30): the local header has another name"));

    /* a byte after the end record is a comment if the record says so */
    memcpy(file, sample_savez, size);
    file[size] = '!';
    assert_int_equal(read_all(put_file("s.npz", file, size + 1), &why), BLV_E_FORMAT);
    file[size - 2] = 1;
    assert_int_equal(read_all(put_file("s.npz", file, size + 1), &why), BLV_OK);
}

/* ---- Calls that fail ---- */

/* Writes "w.npz" with ten arrays, so that the list of entries grows on the way. */
static blv_error write_some(blv_message *why) {
    const double x[] = {1, 2};
    char name[] = "x0";
    blv_npz_writer *w;
    blv_error error = blv_npz_create(&w, in_folder("w.npz"), why);
    if (error) {
        assert_null(w);
        return error;
    }
    for (; !error && name[1] <= '9'; name[1]++)
        error = blv_npz_add_f64(w, name, 1, (size_t[]){2}, x, why);
    if (!error)
        return blv_npz_commit(w, why);
    if (error == BLV_E_FILE) {
        blv_message again = {""};
        assert_int_equal(blv_npz_add_f64(w, "more", 0, NULL, x, NULL), BLV_E_FILE);
        assert_int_equal(blv_npz_commit(w, &again), BLV_E_FILE);
        assert_non_null(strstr(again.text, "earlier write failed"));
    } else {
        blv_npz_discard(w);
    }
    return error;
}

/* Fails the first call, then the second, and so on until none is left to fail. */
static void fail_every_write(long *countdown, blv_error wanted) {
    unsigned char kept[8];
    size_t failures = 0;
    for (;; failures++) {
        blv_message why = {""};
        put_file("w.npz", "old", 3);
        *countdown = (long)failures;
        blv_error error = write_some(&why);
        int none_failed = *countdown >= 0;
        *countdown = -1;
        if (none_failed) {
            assert_int_equal(error, BLV_OK);
            break;
        }
        assert_int_equal(error, wanted);
        assert_true(strlen(why.text) > 0);
        assert_true(wanted != BLV_E_FILE || strstr(why.text, "w.npz: cannot "));
        assert_int_equal(get_file(in_folder("w.npz"), kept, sizeof kept), 3);
        assert_memory_equal(kept, "old", 3);
        assert_int_equal(folder_entries(0), 1);
    }
    assert_true(failures > 10);
    /* on the disk before it takes the place of the old one */
    assert_string_equal(call_order + strlen(call_order) - 3, "SCR");
    assert_int_equal(read_all(in_folder("w.npz"), NULL), BLV_OK);
}

static void test_every_allocation_of_a_write(void **state) {
    (void)state;
    fail_every_write(&memory_countdown, BLV_E_MEMORY);
}

static void test_every_system_call_of_a_write(void **state) {
    (void)state;
    fail_every_write(&system_countdown, BLV_E_FILE);
}

/* put_file is done before the countdown starts: only the library's own calls fail. */
static void fail_every_read(long *countdown, blv_error wanted) {
    sample samples[5];
    size_t count = all_samples(samples);
    for (size_t i = 0; i < count; i++) {
        const char *path = put_file(samples[i].name, samples[i].data, samples[i].size);
        size_t failures = 0;
        for (;; failures++) {
            blv_message why = {""};
            *countdown = (long)failures;
            blv_error error = read_all(path, &why);
            int none_failed = *countdown >= 0;
            *countdown = -1;
            if (none_failed) {
                assert_int_equal(error, BLV_OK);
                break;
            }
            assert_int_equal(error, wanted);
            assert_true(strlen(why.text) > 0);
        }
        assert_true(failures > 3);
    }
}

static void test_every_allocation_of_a_read(void **state) {
    (void)state;
    fail_every_read(&memory_countdown, BLV_E_MEMORY);
}

static void test_every_system_call_of_a_read(void **state) {
    (void)state;
    fail_every_read(&system_countdown, BLV_E_FILE);
}

static void test_file_that_shrinks(void **state) {
    (void)state;
    blv_npz *npz;
    blv_message why;
    double *data;
    const char *path = put_file("s.npz", sample_savez, sizeof sample_savez);
    assert_int_equal(blv_npz_open(&npz, path, &why), BLV_OK);
    assert_int_equal(truncate(path, 200), 0);
    assert_int_equal(blv_npz_read_f64(npz, "a", &data, NULL, &why), BLV_E_FILE);
    assert_null(data);
    assert_non_null(strstr(why.text, "ends at byte 200"));
    blv_npz_close(npz);
}

/* ---- Disks and folders ---- */

/* A limit on file sizes acts as a full disk does. The last limit lets the arrays go through, but
 * not the directory, which is written by the commit. */
static void test_full_disk(void **state) {
    (void)state;
    static double x[4096];
    const rlim_t limits[] = {0, 4096, 33000};
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*old_handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < 3; i++) {
        blv_message why = {""};
        unsigned char kept[8];
        blv_npz_writer *w;
        put_file("w.npz", "old", 3);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){limits[i], before.rlim_max}), 0);
        blv_error error = blv_npz_create(&w, in_folder("w.npz"), &why);
        assert_int_equal(error, BLV_OK);
        error = blv_npz_add_f64(w, "x", 1, (size_t[]){4096}, x, &why);
        blv_error at_commit = blv_npz_commit(w, error ? NULL : &why);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_true(error == BLV_OK || error == BLV_E_FILE);
        assert_int_equal(at_commit, BLV_E_FILE);
        assert_non_null(strstr(why.text, "w.npz: cannot write: File too large"));
        assert_int_equal(get_file(in_folder("w.npz"), kept, sizeof kept), 3);
        assert_int_equal(folder_entries(0), 1);
    }
    signal(SIGXFSZ, old_handler);
}

static void test_discard_leaves_nothing(void **state) {
    (void)state;
    const double x = 1;
    blv_npz_writer *w, *other;
    assert_int_equal(blv_npz_create(&w, in_folder("w.npz"), NULL), BLV_OK);
    assert_int_equal(blv_npz_create(&other, in_folder("w.npz"), NULL), BLV_OK);
    assert_int_equal(blv_npz_add_f64(w, "x", 0, NULL, &x, NULL), BLV_OK);
    assert_int_equal(folder_entries(0), 2);
    blv_npz_discard(w);
    blv_npz_discard(other);
    assert_int_equal(folder_entries(0), 0);
}

static void test_places_that_cannot_be_written(void **state) {
    (void)state;
    blv_message why;
    blv_npz_writer *w;
    char longest[300];
    assert_int_equal(blv_npz_create(&w, in_folder("none/w.npz"), &why), BLV_E_FILE);
    assert_non_null(strstr(why.text, "none/w.npz: cannot create a file beside it: No such file"));
    assert_int_equal(blv_npz_create(&w, folder, &why), BLV_E_FILE);
    assert_non_null(strstr(why.text, "not a regular file"));
    assert_int_equal(blv_npz_create(&w, "/dev/null", &why), BLV_E_FILE);
    assert_int_equal(blv_npz_create(&w, "", &why), BLV_E_ARGUMENT);
    assert_int_equal(blv_npz_create(NULL, "w", &why), BLV_E_ARGUMENT);

    /* a name of 255 bytes has no room for a suffix, and is fine nevertheless */
    memset(longest, 'n', 255);
    longest[255] = 0;
    assert_int_equal(blv_npz_create(&w, in_folder(longest), &why), BLV_OK);
    assert_int_equal(blv_npz_commit(w, &why), BLV_OK);
    assert_int_equal(read_all(in_folder(longest), &why), BLV_OK);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_every_prefix_is_refused),
        IN_FOLDER(test_every_flipped_bit),
        IN_FOLDER(test_overwritten_words),
        IN_FOLDER(test_zip64_field_too_short),
        IN_FOLDER(test_headers_that_disagree),
        IN_FOLDER(test_every_allocation_of_a_write),
        IN_FOLDER(test_every_system_call_of_a_write),
        IN_FOLDER(test_every_allocation_of_a_read),
        IN_FOLDER(test_every_system_call_of_a_read),
        IN_FOLDER(test_file_that_shrinks),
        IN_FOLDER(test_full_disk),
        IN_FOLDER(test_discard_leaves_nothing),
        IN_FOLDER(test_places_that_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
