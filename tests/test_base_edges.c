/* What src/base does at the ends of its ranges: text that is no UTF-8, sizes that no number holds,
 * names that are too long; and what L-BFGS takes back from a file. */
#include "base/aligned_memory.h"
#include "base/arena.h"
#include "base/memory_limit.h"
#include "base/message.h"
#include "base/number_text.h"
#include "base/visible_text.h"
#include "linsolve/lbfgs.h"

#include "bilevel/space.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Every form that UTF-8 does not allow shows its bytes; characters that hide show their number. */
static void test_visible_text(void **state) {
    (void)state;
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"plain", "plain"},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"a\nb\tc", "a\\nb\\tc"},
        {"\x1b[2J\x7f", "\\u001b[2J\\u007f"},
        {"\xc2\x9b", "\\u009b"},                      /* C1 */
        {"\xe2\x80\xae", "\\u202e"},                  /* turns the direction */
        {"\xf3\xa0\x81\xa1", "\\udb40\\udc61"},       /* a tag, beyond 16 bits */
        {"\x80", "\\x80"},                            /* a byte that only follows */
        {"\xc3", "\\xc3"},                            /* cut */
        {"\xe2\x82 ", "\\xe2\\x82 "},                 /* cut before the last byte */
        {"\xc1\xa1", "\\xc1\\xa1"},                   /* longer than it needs to be */
        {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},          /* the same in three bytes */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},          /* half of a pair */
        {"\xee\x80\x80", "\xee\x80\x80"},             /* the first behind them */
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* beyond the last one */
        {"\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *shown = blv_visible_copy(cases[i].text);
        assert_string_equal(shown, cases[i].shown);
        assert_int_equal(blv_is_visible(cases[i].text), strcmp(cases[i].text, cases[i].shown) == 0);
        free(shown);
    }
}

static void test_sizes(void **state) {
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {{0, "0 bytes"},
                 {1023, "1023 bytes"},
                 {1024, "1.0 KiB"},
                 {(uint64_t)3 << 29, "1.5 GiB"},
                 {(uint64_t)1 << 60, "1.0 EiB"},
                 {UINT64_MAX, "16.0 EiB"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[BLV_BYTES_TEXT];
        blv_format_bytes(cases[i].bytes, text);
        assert_string_equal(text, cases[i].text);
    }
    const blv_memory_limit given = {.most = 1000}, file = {.file_bytes = 100000},
                           part = {.file_bytes = 100000, .so_far = true}, none = {0};
    blv_message why = {""};
    assert_int_equal(blv_expect_memory(&given, 10, 100, "n", "rows", &why), BLV_OK);
    assert_int_equal(blv_expect_memory(&given, 10, 0, "n", "rows", &why), BLV_OK);
    assert_int_equal(blv_expect_memory(&given, 11, 100, "n", "rows", &why), BLV_E_VALUE);
    assert_string_equal(why.text, "n: rows would take 1.1 KiB, more than the limit of 1000 bytes");
    assert_int_equal(blv_expect_memory(&given, UINT64_MAX / 2, 4, "n", "rows", &why), BLV_E_VALUE);
    assert_non_null(strstr(why.text, "would take 16.0 EiB"));
    assert_int_equal(blv_expect_memory(&file, 64, 1 << 20, "n", "rows", &why), BLV_OK);
    assert_int_equal(blv_expect_memory(&file, 110, 1 << 20, "n", "rows", &why), BLV_E_VALUE);
    assert_non_null(strstr(why.text, "more than 1000 times the file of 97.7 KiB"));
    assert_int_equal(blv_expect_memory(&part, 110, 1 << 20, "n", "rows", &why), BLV_E_VALUE);
    assert_non_null(strstr(why.text, "more than 1000 times the 97.7 KiB of it that were read"));
    assert_int_equal(blv_expect_memory(&none, UINT64_MAX, 1, "n", "rows", &why), BLV_E_VALUE);
    assert_non_null(strstr(why.text, "half of the memory that is free"));
}

/* What no address can reach is not there; nothing at all is. */
static void test_memory_that_cannot_be(void **state) {
    (void)state;
    blv_arena arena = {0};
    assert_non_null(blv_arena_alloc(&arena, 0, 8));
    assert_non_null(blv_arena_alloc(&arena, 8, 0));
    assert_false(arena.failed);
    assert_null(blv_arena_alloc(&arena, SIZE_MAX / 4, 8));
    assert_true(arena.failed);
    blv_arena_free(&arena);
    void *nothing = blv_room(0);
    assert_non_null(nothing);
    free(nothing);
}

static void test_names(void **state) {
    (void)state;
    char list[16] = "", path[301], name[80];
    blv_list_name(list, sizeof list, "one");
    assert_string_equal(list, "'one'");
    blv_list_name(list, sizeof list, "two");
    assert_string_equal(list, "'one', 'two'");
    blv_list_name(list, sizeof list, "three");
    assert_string_equal(list, "'one', 'two'...");
    for (size_t i = 0; i < 300; i++)
        path[i] = (char)('a' + i % 26);
    path[300] = '\0';
    assert_string_equal(blv_shown_path(path), path + 100);
    assert_ptr_equal(blv_shown_path(path + 100), path + 100);
    /* names of more than 63 letters are like no other */
    memset(name, 'n', 64);
    name[64] = '\0';
    blv_nearest nearest = {.name = name};
    blv_nearest_try(&nearest, name + 1);
    assert_null(blv_nearest_guess(&nearest));
    nearest = (blv_nearest){.name = name + 1};
    blv_nearest_try(&nearest, name);
    blv_nearest_try(&nearest, name + 2);
    assert_ptr_equal(blv_nearest_guess(&nearest), name + 2);
    nearest = (blv_nearest){.name = "abcd"};
    assert_null(blv_nearest_guess(&nearest));
    blv_nearest_try(&nearest, "wxyz");
    assert_null(blv_nearest_guess(&nearest));
}

/* As with snprintf, a number is cut to the room that there is. */
static void test_numbers_are_cut(void **state) {
    (void)state;
    char text[8] = "xxxxxxx";
    blv_number_format(123456.0, text, 4);
    assert_string_equal(text, "123");
    assert_true(text[4] == 'x');
    assert_int_equal(blv_number_format(-0.5, text, sizeof text), 4);
    assert_string_equal(text, "-0.5");
}

/* Numbers of a file are taken where they are in their ranges, each of them. */
static void test_numbers_of_lbfgs(void **state) {
    (void)state;
    enum { MEMORY = 3 };
    static const struct {
        size_t place;
        double most;
    } wholes[] = {{0, MEMORY}, {1, MEMORY - 1}, {3, BLV_LBFGS_CALLBACK}, {4, 1e9}, {7, 0x1p53},
                  {8, 0x1p53}, {12, 1e9}};
    blv_space *space = NULL;
    blv_lbfgs *lbfgs = NULL;
    assert_int_equal(blv_space_create_host(&space, 2, BLV_F64, 1), BLV_OK);
    assert_int_equal(blv_lbfgs_create(&lbfgs, space, MEMORY), BLV_OK);
    double *numbers = calloc(blv_lbfgs_number_count(lbfgs), sizeof *numbers);
    blv_lbfgs_get(lbfgs, numbers);
    assert_true(blv_lbfgs_fits(lbfgs, numbers));
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) {
        const double most = wholes[i].most, wrong[] = {0.5, -1e10, 2.0 * most + 1.0, NAN};
        double *const number = &numbers[wholes[i].place], own = *number;
        *number = most;
        assert_true(blv_lbfgs_fits(lbfgs, numbers));
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
            *number = wrong[k];
            if (blv_lbfgs_fits(lbfgs, numbers))
                fail_msg("number %zu may be %g", wholes[i].place, wrong[k]);
        }
        *number = own;
    }
    assert_true(blv_lbfgs_fits(lbfgs, numbers));
    free(numbers);
    blv_lbfgs_destroy(lbfgs);
    blv_space_destroy(space);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_visible_text),          cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_memory_that_cannot_be), cmocka_unit_test(test_names),
        cmocka_unit_test(test_numbers_are_cut),       cmocka_unit_test(test_numbers_of_lbfgs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
