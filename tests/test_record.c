/* Records described by tables: to JSON, back, as text, and with short memory. */
#include "store/record.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_testing.h"

enum shape { ROUND, SQUARE };
static const char *const shape_words[] = {"round", "square", NULL};

typedef struct part {
    char *name;
    double size;
} part;

static const blv_field part_fields[] = {
    BLV_FIELD_AS("name", part, name, TEXT, BLV_REQUIRED), BLV_FIELD(part, size, REAL), {0}};

typedef struct thing {
    double real, infinite;
    uint64_t whole, hex, none;
    size_t size;
    int64_t below;
    int small, shape;
    bool yes, has_part;
    char *text, *absent, *json;
    char chars[4];
    blv_values values;
    part first;
    size_t number_count, text_count, part_count, row_count;
    double *numbers;
    char **texts;
    part *parts;
    blv_values *rows;
} thing;

static const blv_field thing_fields[] = {
    BLV_FIELD(thing, real, REAL),
    BLV_FIELD(thing, infinite, REAL),
    BLV_FIELD(thing, whole, WHOLE),
    BLV_FIELD(thing, hex, HEX),
    BLV_FIELD_AS("none", thing, none, WHOLE, BLV_ZERO_IS_NULL),
    BLV_FIELD(thing, size, SIZE),
    BLV_FIELD(thing, below, INT64),
    BLV_FIELD(thing, small, INT),
    BLV_FIELD_WORD("shape", thing, shape, shape_words),
    BLV_FIELD(thing, yes, BOOL),
    BLV_FIELD(thing, text, TEXT),
    BLV_FIELD_AS("absent", thing, absent, TEXT, BLV_OPTIONAL),
    BLV_FIELD(thing, json, JSON),
    {.name = "chars",
     .kind = BLV_KIND_CHARS,
     .offset = offsetof(thing, chars),
     .size = sizeof((thing){0}.chars)},
    BLV_FIELD(thing, values, VALUES),
    {.name = "first",
     .kind = BLV_KIND_RECORD,
     .offset = offsetof(thing, first),
     .fields = part_fields,
     .size = sizeof(part),
     .when = 1 + offsetof(thing, has_part)},
    BLV_FIELD_ARRAY(thing, numbers, number_count, REALS),
    BLV_FIELD_ARRAY(thing, texts, text_count, TEXTS),
    BLV_FIELD_RECORDS("parts", thing, parts, part_count, part_fields),
    BLV_FIELD_ARRAY(thing, rows, row_count, VALUES_LIST),
    {0}};

static const char whole_text[] =
    "{\"real\": 0.10000000000000001, \"infinite\": null, \"whole\": 7, \"hex\": "
    "\"00000000000000ff\", \"none\": null, \"size\": 3, \"below\": -4, \"small\": -5, \"shape\": "
    "\"square\", \"yes\": true, \"text\": \"a \\\"b\\\"\", \"json\": {\"k\": [1, 2.5]}, "
    "\"chars\": \"abc\", \"values\": {\"a\": 1.5, \"b\": 2, \"c\": \"auto\", \"d\": true, \"e\": "
    "null}, \"first\": {\"name\": \"p\", \"size\": 2.0}, \"numbers\": [1.0, null], \"texts\": "
    "[\"x\", null], \"parts\": [{\"name\": \"q\", \"size\": null}], \"rows\": [{\"i\": 1}, {}]}";

static void goes_to_json_and_back(void **state) {
    (void)state;
    thing t;
    blv_message why = {0};
    assert_int_equal(blv_record_parse(thing_fields, &t, whole_text, &why), BLV_OK);
    assert_true(t.real == 0.1 && isnan(t.infinite) && t.whole == 7 && t.hex == 255 && t.none == 0);
    assert_true(t.size == 3 && t.below == -4 && t.small == -5 && t.shape == SQUARE && t.yes);
    assert_string_equal(t.text, "a \"b\"");
    assert_null(t.absent);
    assert_string_equal(t.chars, "abc");
    assert_true(t.has_part && t.first.size == 2.0);
    assert_true(t.number_count == 2 && t.numbers[0] == 1.0 && isnan(t.numbers[1]));
    assert_true(t.text_count == 2 && !t.texts[1] && t.part_count == 1);
    char *text = blv_record_text(thing_fields, &t);
    assert_string_equal(text, whole_text);
    free(text);
    blv_record_free(thing_fields, &t);
    assert_null(t.text);
    assert_int_equal(t.part_count, 0);
}

static void expect_rejected(const char *text, const char *message) {
    thing t;
    blv_message why = {0};
    assert_int_equal(blv_record_parse(thing_fields, &t, text, &why), BLV_E_FORMAT);
    assert_string_equal(why.text, message);
}

static void rejects_other_types(void **state) {
    (void)state;
    expect_rejected("[]", "expected a JSON object");
    expect_rejected("{", "expected a JSON object");
    expect_rejected("{\"real\": \"1\"}", "real: expected a number");
    expect_rejected("{\"whole\": 1.5}", "whole: expected a whole number");
    expect_rejected("{\"text\": 1}", "text: expected a text");
    expect_rejected("{\"yes\": 1}", "yes: expected true or false");
    expect_rejected("{\"shape\": \"flat\"}", "shape is 'flat': expected round or square");
    expect_rejected("{\"values\": 1}", "values: expected an object");
    expect_rejected("{\"numbers\": 1}", "numbers: expected an array");
    expect_rejected("{\"numbers\": [1, \"2\"]}", "numbers[1]: expected a number");
    expect_rejected("{\"texts\": [\"a\", 2]}", "texts[1]: expected a text");
    expect_rejected("{\"parts\": [{\"name\": \"a\"}, {}]}", "'parts[1].name' is missing");
    expect_rejected("{\"rows\": [{}, 1]}", "rows[1]: expected an object");
    expect_rejected("{\"first\": {\"name\": null}}", "'first.name' is missing");
}

/* What people write is read strictly; a message names the file, the key and what is expected. */
static void reads_files_strictly(void **state) {
    (void)state;
    const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"nmae\": \"a\"}", "f: there is no key 'at.nmae'; did you mean 'name'?"},
        {"{\"size\": 1}", "f: 'at.name' is missing"},
        {"{\"name\": null}", "f: at.name: expected a text"},
        {"{\"name\": \"a\", \"size\": 0}", "f: at.size: expected a number above 0"},
        {"[]", "f: at: expected an object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        part p;
        blv_message why = {0};
        json_t *object = json_loads(cases[i].text, 0, NULL);
        assert_int_equal(blv_record_read_file(part_fields, &p, object, "f", "at", &why),
                         BLV_E_FORMAT);
        assert_string_equal(why.text, cases[i].message);
        json_decref(object);
    }
    part p;
    json_t *object = json_loads("{\"name\": \"a\", \"size\": 2}", 0, NULL);
    assert_int_equal(blv_record_read_file(part_fields, &p, object, "f", "", NULL), BLV_OK);
    assert_true(strcmp(p.name, "a") == 0 && p.size == 2.0);
    blv_record_free(part_fields, &p);
    json_decref(object);
}

static void what_is_missing_is_nothing(void **state) {
    (void)state;
    thing t;
    memset(&t, 0xff, sizeof t);
    assert_int_equal(blv_record_parse(thing_fields, &t, "{\"other\": 1}", NULL), BLV_OK);
    assert_true(isnan(t.real) && t.whole == 0 && !t.text && !t.parts && !t.has_part);
    blv_record_free(thing_fields, &t);
}

static void shows_values(void **state) {
    (void)state;
    thing t = {.real = 0.1, .infinite = INFINITY, .whole = 12, .yes = true};
    char text[BLV_SHOWN_SIZE];
    const struct {
        const char *name, *shown;
    } cases[] = {{"real", "0.1"}, {"infinite", "-"}, {"whole", "12"},
                 {"yes", "yes"},  {"text", "-"},     {"shape", "round"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        blv_field_show(blv_field_find(thing_fields, cases[i].name), &t, text);
        assert_string_equal(text, cases[i].shown);
    }
    assert_null(blv_field_find(thing_fields, "unknown"));
    t.text = (char[]){"\xff bytes"};
    blv_field_show(blv_field_find(thing_fields, "text"), &t, text);
    assert_string_equal(text, "? bytes");
}

static void compares_values(void **state) {
    (void)state;
    thing a, b;
    blv_values copy;
    assert_int_equal(blv_record_parse(thing_fields, &a, whole_text, NULL), BLV_OK);
    assert_int_equal(
        blv_record_parse(thing_fields, &b,
                         "{\"values\": {\"e\": null, \"d\": true, \"c\": \"auto\", \"b\": 2, "
                         "\"a\": 1.5}}",
                         NULL),
        BLV_OK);
    assert_true(blv_values_equal(&a.values, &b.values));
    assert_int_equal(blv_values_copy(&copy, &a.values), BLV_OK);
    assert_true(blv_values_equal(&a.values, &copy));
    copy.items[0].real = 2.0;
    assert_false(blv_values_equal(&a.values, &copy));
    assert_int_equal(blv_values_add_text(&copy, "f", "g"), BLV_OK);
    assert_false(blv_values_equal(&a.values, &copy));
    blv_values_free(&copy);
    blv_record_free(thing_fields, &a);
    blv_record_free(thing_fields, &b);
}

static void updates_values(void **state) {
    (void)state;
    blv_values all = {0}, more = {0};
    assert_int_equal(blv_values_add_text(&all, "a", "old"), BLV_OK);
    assert_int_equal(blv_values_add_int(&all, "b", 2), BLV_OK);
    assert_int_equal(blv_values_add_real(&more, "a", 0.5), BLV_OK);
    assert_int_equal(blv_values_add_real(&more, "c", NAN), BLV_OK);
    assert_int_equal(blv_values_update(&all, &more), BLV_OK);
    assert_int_equal(all.count, 3);
    assert_true(all.items[0].kind == BLV_VALUE_REAL && all.items[0].real == 0.5);
    assert_true(!all.items[0].text && all.items[1].whole == 2);
    assert_true(all.items[2].kind == BLV_VALUE_NONE);
    blv_values_free(&all);
    blv_values_free(&more);
}

static void short_memory_is_an_error(void **state) {
    (void)state;
    bool failed = true;
    for (long n = 0; failed; n++) {
        thing t;
        blv_values copy = {0};
        char *text = NULL;
        fail_request(n);
        blv_error error = blv_record_parse(thing_fields, &t, whole_text, NULL);
        if (error == BLV_OK) {
            error = blv_values_copy(&copy, &t.values);
            text = error == BLV_OK ? blv_record_text(thing_fields, &t) : NULL;
            blv_record_free(thing_fields, &t);
        }
        failed = a_request_failed();
        assert_true(failed ? error == BLV_E_MEMORY || !text : text != NULL);
        blv_values_free(&copy);
        free(text);
    }
}

/* Memory of jansson, of which it hides some: what comes back may tell nothing, and nothing of it is
 * kept. */
static void short_memory_of_json_keeps_nothing(void **state) {
    (void)state;
    json_set_alloc_funcs(malloc, free); /* those of this program */
    bool failed = true;
    long errors = 0;
    for (long n = 0; failed; n++) {
        const long before = memory_live;
        thing t;
        fail_request(n);
        blv_error error = blv_record_parse(thing_fields, &t, whole_text, NULL);
        char *text = error == BLV_OK ? blv_record_text(thing_fields, &t) : NULL;
        failed = a_request_failed();
        errors += !text;
        assert_true(failed || text);
        assert_true(error == BLV_OK || error == BLV_E_MEMORY || error == BLV_E_FORMAT);
        if (error == BLV_OK)
            blv_record_free(thing_fields, &t);
        free(text);
        assert_int_equal(memory_live, before);
    }
    assert_true(errors > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_to_json_and_back),
        cmocka_unit_test(updates_values),
        cmocka_unit_test(rejects_other_types),
        cmocka_unit_test(reads_files_strictly),
        cmocka_unit_test(what_is_missing_is_nothing),
        cmocka_unit_test(shows_values),
        cmocka_unit_test(compares_values),
        cmocka_unit_test(short_memory_is_an_error),
        cmocka_unit_test(short_memory_of_json_keeps_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
