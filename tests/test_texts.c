/* Texts of errors and outcomes, and the lines of a checkpoint's header: what is put in comes out,
 * and what is not of their form is refused. */
#include "run_testing.h"

#include "core/key_value_text.h"

/* ---- Errors and outcomes ---- */

#define X(name, value, text) {name, text},
static const struct {
    blv_error error;
    const char *text;
} errors[] = {BLV_ERROR_LIST(X)};
#undef X
#define X(name, value, word, text) {name, word, text},
static const struct {
    blv_outcome outcome;
    const char *word, *text;
} outcomes[] = {BLV_OUTCOME_LIST(X)};
#undef X

static void test_every_text_is_its_own(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(errors); i++) {
        assert_string_equal(blv_error_text(errors[i].error), errors[i].text);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(errors[i].text, errors[j].text);
    }
    for (size_t i = 0; i < LENGTH(outcomes); i++) {
        assert_string_equal(blv_outcome_word(outcomes[i].outcome), outcomes[i].word);
        assert_string_equal(blv_outcome_text(outcomes[i].outcome), outcomes[i].text);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(outcomes[i].word, outcomes[j].word);
    }
}

/* ---- Lines ---- */

/* Every text of up to four of these letters, as key and as value. */
static void test_lines_come_back(void **state) {
    (void)state;
    static const char letters[] = {'\0', 'a', '\t', '\n', '\\', 't', 'n'};
    enum { LETTERS = sizeof letters, TEXTS = LETTERS * LETTERS * LETTERS * LETTERS };
    blv_key_values lines = {0};
    char text[5] = "", key[BLV_LINE_KEY], value[BLV_LINE_VALUE];
    for (int pass = 0; pass < 2; pass++) {
        size_t at = 0;
        for (size_t i = 0; i < TEXTS; i++) {
            size_t rest = i;
            for (size_t k = 0; k < 4; k++, rest /= LETTERS)
                text[k] = letters[rest % LETTERS];
            if (pass == 0) {
                blv_key_values_put(&lines, text, "%s", text);
                continue;
            }
            assert_true(blv_key_values_next(lines.text, &at, key, value));
            assert_string_equal(key, text);
            assert_string_equal(value, text);
        }
        if (pass == 1)
            assert_false(blv_key_values_next(lines.text, &at, key, value));
    }
    assert_false(lines.incomplete);
    blv_key_values_free(&lines);
    assert_false(blv_key_values_find(NULL, "a", value));
}

static void test_no_lines(void **state) {
    (void)state;
    static const char *const wrong[] = {"key",       "key\n",     "key\tvalue",
                                        "a\tb\tc\n", "a\\x\tb\n", "a\tb\\\n",
                                        "a\\",       "a\tb\\q\n", "a\n\tb\tc\n"};
    char key[BLV_LINE_KEY], value[BLV_LINE_VALUE], text[BLV_LINE_VALUE + 300];
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        size_t at = 0;
        assert_false(blv_key_values_next(wrong[i], &at, key, value));
        assert_false(blv_key_values_find(wrong[i], "c", value));
    }
    size_t at = 0; /* too long for a key, and for a value */
    memset(text, 'k', sizeof text);
    snprintf(text + BLV_LINE_KEY, sizeof text - BLV_LINE_KEY, "\tvalue\n");
    assert_false(blv_key_values_next(text, &at, key, value));
    memset(text, 'v', sizeof text);
    memcpy(text, "k\t", 2);
    memcpy(text + sizeof text - 2, "\n", 2);
    at = 0;
    assert_false(blv_key_values_next(text, &at, key, value));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_text_is_its_own),
        cmocka_unit_test(test_lines_come_back),
        cmocka_unit_test(test_no_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
