/* Several files that appear together or not at all, with every call of the system failing once. */
#include "npz_helpers.h"

#include "base/atomic_file.h"

#include <errno.h>

static long countdown = -1; /* fails the call that finds 0; below 0 never fails */

#define WRAP(type, name, parameters, error_code, error_value, arguments)                           \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters {                                                                \
        if (countdown >= 0 && countdown-- == 0) {                                                  \
            errno = error_code;                                                                    \
            return error_value;                                                                    \
        }                                                                                          \
        return __real_##name arguments;                                                            \
    }

WRAP(void *, calloc, (size_t n, size_t m), ENOMEM, NULL, (n, m))
WRAP(char *, strdup, (const char *s), ENOMEM, NULL, (s))
WRAP(int, fflush, (FILE * f), ENOSPC, EOF, (f))
WRAP(int, fsync, (int fd), EIO, -1, (fd))
WRAP(int, rename, (const char *from, const char *to), EACCES, -1, (from, to))

enum { FILES = 3 };

/* The second is new, the others replace what is there. */
static blv_error write_all(blv_message *why) {
    static const char *const names[FILES] = {"a", "b", "c"};
    blv_atomic_file file[FILES], *all[FILES];
    for (size_t i = 0; i < FILES; i++) {
        assert_int_equal(blv_atomic_file_open(&file[i], in_folder(names[i]), why), BLV_OK);
        assert_int_equal(blv_atomic_file_write(&file[i], "new", 3), 0);
        all[i] = &file[i];
    }
    return blv_atomic_file_commit_all(all, FILES, why);
}

static void assert_content(const char *name, const char *text) {
    unsigned char found[8] = {0};
    assert_int_equal(get_file(in_folder(name), found, sizeof found), strlen(text));
    assert_string_equal((const char *)found, text);
}

static void test_all_or_none(void **state) {
    (void)state;
    blv_error error = BLV_E_FILE;
    long n = 0, kept = 0;
    for (; error != BLV_OK; n++) {
        blv_message why = {""};
        unlink(in_folder("b"));
        put_file("a", "old", 3);
        put_file("c", "old", 3);
        long opening = FILES; /* a strdup for each path */
        countdown = opening + n;
        error = write_all(&why);
        countdown = -1;
        if (error == BLV_OK)
            break;
        assert_true(why.text[0] != '\0');
        assert_content("a", "old");
        assert_content("c", "old");
        assert_int_equal(folder_entries(0), 2);
        kept++;
    }
    assert_true(kept >= 3 * FILES + 1);
    for (const char *name = "a\0b\0c\0"; *name; name += 2)
        assert_content(name, "new");
    assert_int_equal(folder_entries(0), FILES);
}

static void test_none(void **state) {
    (void)state;
    assert_int_equal(blv_atomic_file_commit_all(NULL, 0, NULL), BLV_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_or_none),
                                       cmocka_unit_test(test_none)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
