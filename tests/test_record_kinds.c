/* Every kind of field of a record: what comes back from JSON, what is rejected, loosely as records
 * of a store are read and strictly as files that people write. */
#include "store/record.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const word_words[] = {"first", "second", "third", NULL};
static const char long_word[] = "a_word_of_many_letters_that_does_not_fit_where_all_are_listed";
static const char *const many_words[] = {long_word, long_word, long_word, long_word,
                                         long_word, long_word, long_word, long_word,
                                         long_word, long_word, long_word, NULL};

typedef struct all_kinds {
    double real;
    uint64_t whole, hex, mark;
    int word, many;
    bool yes;
    char *text, *bytes, *path, *file, *note;
    blv_values set;
    size_t name_count, number_count;
    char **names;
    double *numbers;
} all_kinds;

static const blv_field fields[] = {BLV_FIELD(all_kinds, real, REAL),
                                   BLV_FIELD(all_kinds, whole, WHOLE),
                                   BLV_FIELD(all_kinds, hex, HEX),
                                   BLV_FIELD_AS("mark", all_kinds, mark, HEX, BLV_ZERO_IS_NULL),
                                   BLV_FIELD_WORD("word", all_kinds, word, word_words),
                                   BLV_FIELD_WORD("many", all_kinds, many, many_words),
                                   BLV_FIELD(all_kinds, yes, BOOL),
                                   BLV_FIELD(all_kinds, text, TEXT),
                                   BLV_FIELD_AS("bytes", all_kinds, bytes, TEXT, BLV_ANY_BYTES),
                                   BLV_FIELD_AS("path", all_kinds, path, PATH, 0),
                                   BLV_FIELD_AS("file", all_kinds, file, PATH, BLV_IF_FILE),
                                   BLV_FIELD_AS("note", all_kinds, note, TEXT, BLV_ZERO_IS_NULL),
                                   BLV_FIELD(all_kinds, set, VALUES),
                                   BLV_FIELD_WITH("names", all_kinds, names, TEXTS,
                                                  .flags = BLV_REQUIRED,
                                                  .count = offsetof(all_kinds, name_count)),
                                   BLV_FIELD_ARRAY(all_kinds, numbers, number_count, REALS),
                                   {0}};

static char *key_text(const json_t *object, const char *key) {
    return json_dumps(json_object_get(object, key), JSON_ENCODE_ANY);
}

static void expect_key(const json_t *object, const char *key, const char *expected) {
    char *text = key_text(object, key);
    if (!text || strcmp(text, expected) != 0)
        fail_msg("%s is %s, not %s", key, text ? text : "absent", expected);
    free(text);
}

/* Texts that are not UTF-8 come back byte for byte where a field takes any bytes; elsewhere each
 * byte that is none of ASCII is a question mark. */
static void bytes_come_back(void **state) {
    (void)state;
    char caf[] = "caf\xe9 \x01", name[] = "x";
    char *names[] = {name};
    const all_kinds from = {
        .text = caf, .bytes = caf, .path = caf, .name_count = 1, .names = names, .hex = 0};
    json_t *object = blv_record_json(fields, &from);
    expect_key(object, "text", "\"caf? \\u0001\"");
    expect_key(object, "bytes", "{\"bytes\": \"636166e92001\"}");
    all_kinds back;
    blv_message why = {0};
    assert_int_equal(blv_record_read(fields, &back, object, &why), BLV_OK);
    assert_string_equal(back.bytes, caf);
    assert_string_equal(back.path, caf); /* from the present folder it is the same path */
    assert_string_equal(back.text, "caf? \x01");
    blv_record_free(fields, &back);
    json_decref(object);
}

/* Paths are kept from the root, and named from the present folder again. */
static void paths_are_absolute(void **state) {
    (void)state;
    char folder[4096], expected[4200], empty[] = "", there[] = ".", nowhere[] = "no such file";
    assert_non_null(getcwd(folder, sizeof folder));
    const all_kinds from = {.path = nowhere, .file = nowhere, .note = empty, .text = empty};
    json_t *object = blv_record_json(fields, &from);
    snprintf(expected, sizeof expected, "\"%s/no such file\"", folder);
    expect_key(object, "path", expected);
    expect_key(object, "file", "\"no such file\"");
    expect_key(object, "note", "null");
    expect_key(object, "text", "\"\"");
    expect_key(object, "hex", "\"0000000000000000\"");
    expect_key(object, "mark", "null");
    expect_key(object, "bytes", "null");
    expect_key(object, "names", "[]");
    json_decref(object);
    all_kinds with_file = {.file = there, .path = folder, .mark = 255};
    object = blv_record_json(fields, &with_file);
    snprintf(expected, sizeof expected, "\"%s/.\"", folder);
    expect_key(object, "file", expected);
    expect_key(object, "mark", "\"00000000000000ff\"");
    json_object_set_new(object, "names", json_pack("[s, n]", "a"));
    all_kinds back;
    blv_message why = {0};
    assert_int_equal(blv_record_read(fields, &back, object, &why), BLV_OK);
    assert_string_equal(back.file, ".");
    assert_string_equal(back.path, folder); /* the folder itself has no other name */
    assert_true(back.name_count == 2 && !back.names[1] && back.mark == 255);
    blv_record_free(fields, &back);
    json_decref(object);
}

static void expect_both(const char *text, const char *loosely, const char *strictly) {
    json_t *object = json_loads(text, 0, NULL);
    assert_non_null(object);
    for (int strict = 0; strict < 2; strict++) {
        all_kinds to;
        blv_message why = {0};
        const char *expected = strict ? strictly : loosely;
        blv_error error = strict ? blv_record_read_file(fields, &to, object, "f", "", &why)
                                 : blv_record_read(fields, &to, object, &why);
        if (error != (expected ? BLV_E_FORMAT : BLV_OK) ||
            strncmp(why.text, expected ? expected : "", expected ? strlen(expected) : 1) != 0)
            fail_msg("%s: '%s', not '%s'", text, why.text, expected ? expected : "");
        if (!expected)
            blv_record_free(fields, &to);
    }
    json_decref(object);
}

#define WITH(pair) "{\"names\": [\"a\"], " pair "}"

static void misfits_are_named(void **state) {
    (void)state;
    expect_both(WITH("\"real\": 0.5"), NULL, NULL);
    expect_both(WITH("\"real\": null"), NULL, "f: real: expected a number above 0");
    expect_both(WITH("\"real\": true"), "real: expected a number", "f: real: expected a number");
    expect_both(WITH("\"whole\": 0"), NULL, "f: whole: expected a whole number from 1 on");
    expect_both(WITH("\"whole\": \"1\""), "whole: expected a whole number", "f: whole: expected");
    expect_both(WITH("\"yes\": null"), NULL, "f: yes: expected true or false");
    expect_both(WITH("\"yes\": false"), NULL, NULL);
    expect_both(WITH("\"text\": {}"), "text: expected a text", "f: text: expected a text");
    expect_both(WITH("\"text\": {\"bytes\": 1}"), "text: expected a text", "f: text: expected");
    expect_both(WITH("\"text\": {\"bytes\": \"6\"}"), NULL, "f: text: expected a text");
    expect_both(WITH("\"text\": \"\\u001b[2J\""), NULL,
                "f: text: expected a text without control characters");
    expect_both(WITH("\"hex\": 1"), "hex: expected a text", "f: hex: expected a text");
    expect_both(WITH("\"word\": \"third\""), NULL, NULL);
    expect_both(WITH("\"word\": \"thrid\""), "word is 'thrid': expected first, second or third",
                "f: word is 'thrid': expected first, second or third");
    expect_both(WITH("\"many\": \"x\""), "many is 'x': expected a_word_of_many_letters",
                "f: many is 'x': expected a_word_of_many_letters");
    expect_both(WITH("\"set\": []"), "set: expected an object",
                "f: set: expected an object of settings, {\"KEY\": VALUE, ...}");
    expect_both(WITH("\"set\": {\"k\": true}"), NULL, "f: set.k: expected a text or a number");
    expect_both(WITH("\"numbers\": {}"), "numbers: expected an array",
                "f: numbers: expected an array of objects");
    expect_both("{\"names\": []}", NULL, "f: names: expected an array of texts");
    expect_both("{\"names\": [\"a\", 1]}", "names[1]: expected a text",
                "f: names: expected an array of texts");
    expect_both("{\"names\": \"a\"}", "names: expected an array",
                "f: names: expected an array of texts");
    expect_both("{\"names\": null}", "'names' is missing", "f: names: expected an array of texts");
    expect_both(WITH("\"qqqqqqqqqqqqqq\": 1"), NULL,
                "f: there is no key 'qqqqqqqqqqqqqq'; expected one such as 'real'");
    expect_both(WITH("\"txet\": 1"), NULL, "f: there is no key 'txet'; did you mean 'text'?");
}

/* A key longer than a message has room for is cut. */
static void long_keys_are_cut(void **state) {
    (void)state;
    char key[1001], text[1200];
    memset(key, 'k', 1000);
    key[1000] = '\0';
    snprintf(text, sizeof text, "{\"names\": [\"a\"], \"set\": {\"%s\": [1]}}", key);
    json_t *object = json_loads(text, 0, NULL);
    all_kinds to;
    blv_message why = {0};
    assert_int_equal(blv_record_read_file(fields, &to, object, "f", "at", &why), BLV_E_FORMAT);
    assert_int_equal(strncmp(why.text, "f: at.set.kkkk", 14), 0);
    assert_true(strlen(why.text) < 1000);
    json_decref(object);
}

/* Text that is no JSON is no record. */
static void text_is_parsed(void **state) {
    (void)state;
    all_kinds to;
    blv_message why = {0};
    assert_int_equal(blv_record_parse(fields, &to, "{\"names\": ", &why), BLV_E_FORMAT);
    assert_string_equal(why.text, "expected a JSON object");
    assert_int_equal(blv_record_parse(fields, &to, "{\"names\": [null]}", &why), BLV_OK);
    assert_true(to.name_count == 1 && !to.names[0] && isnan(to.real));
    blv_record_free(fields, &to);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_back),   cmocka_unit_test(paths_are_absolute),
        cmocka_unit_test(misfits_are_named), cmocka_unit_test(long_keys_are_cut),
        cmocka_unit_test(text_is_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
