/* Numbers as text, parameter tables, ranges, nearest names, and the texts of errors and outcomes.
 */
#include "run_testing.h"

#include "base/message.h"
#include "base/number_text.h"
#include "base/random.h"

#include <float.h>
#include <locale.h>

/* ---- Numbers ---- */

static void test_parse_number(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {
        {"0", 0.0},      {"1", 1.0},       {"-1", -1.0},
        {"+2", 2.0},     {"1.5", 1.5},     {"1.", 1.0},
        {".5", 0.5},     {"-.5", -0.5},    {"1e6", 1e6},
        {"1E6", 1e6},    {"1e+6", 1e6},    {"1.25e-3", 1.25e-3},
        {"007", 7.0},    {"1e308", 1e308}, {"4.9406564584124654e-324", 4.9406564584124654e-324},
        {"1e-400", 0.0}, {"0.1", 0.1},     {"1.7976931348623157e308", DBL_MAX},
    };
    static const char *const bad[] = {
        "",    " ",   " 1",   "1 ",       "\t1",   "1\n",    "0x10", "0X1p3",     "nan",
        "NaN", "inf", "-inf", "infinity", "1e400", "-1e400", "1,5",  "1.2.3",     "1e",
        "e5",  "--1", "+-1",  "1-",       ".",     "-",      "+",    "1e5e5",     "1_000",
        "1d5", "1f",  "abc",  "1e+",      "..5",   "1..",    "٣",    "1\xc2\xa0",
    };
    for (size_t i = 0; i < LENGTH(good); i++) {
        double value = NAN;
        assert_int_equal(blv_number_parse(good[i].text, &value), 0);
        if (value != good[i].value)
            fail_msg("'%s' gives %.17g", good[i].text, value);
    }
    for (size_t i = 0; i < LENGTH(bad); i++) {
        double value = 7.0;
        if (blv_number_parse(bad[i], &value) == 0)
            fail_msg("'%s' is taken as %.17g", bad[i], value);
        assert_true(value == 7.0);
    }
    double zero = 1.0;
    assert_int_equal(blv_number_parse("-0", &zero), 0);
    assert_true(zero == 0.0 && signbit(zero));
    char digits[400];
    memset(digits, '1', sizeof digits - 1);
    digits[sizeof digits - 1] = '\0';
    assert_int_not_equal(blv_number_parse(digits, &zero), 0);
}

static void round_trip(double value) {
    char text[32];
    double back = NAN;
    blv_number_format(value, text, sizeof text);
    assert_true(strlen(text) <= 25);
    bool parsed = blv_number_parse(text, &back) == 0;
    if (!parsed || back != value || signbit(back) != signbit(value))
        fail_msg("%.17g becomes '%s' and %.17g", value, text, back);
}

static double any_double(const blv_stream *stream, uint64_t n) {
    uint64_t bits = blv_random_bits(stream, n);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void test_round_trip(void **state) {
    (void)state;
    static const double special[] = {0.0,
                                     -0.0,
                                     1.0,
                                     0.1,
                                     1e22,
                                     1e23,
                                     5e-324,
                                     DBL_MIN,
                                     DBL_MAX,
                                     -DBL_MAX,
                                     1e15,
                                     1e16,
                                     123456789012345678.0,
                                     1.0 / 3,
                                     2.0 / 3,
                                     1e-5,
                                     1e5,
                                     100.0};
    blv_stream stream = blv_stream_make(1, "numbers");
    for (size_t i = 0; i < LENGTH(special); i++)
        round_trip(special[i]);
    for (uint64_t n = 0; n < 20000; n++) {
        double value = any_double(&stream, n);
        if (isfinite(value))
            round_trip(value);
        round_trip(blv_random_normal(&stream, n));
    }
    char text[32];
    blv_number_format(0.1, text, sizeof text);
    assert_string_equal(text, "0.1"); /* the shortest */
    blv_number_format(NAN, text, sizeof text);
    expect_text(text, "nan");
    blv_number_format(-INFINITY, text, sizeof text);
    assert_string_equal(text, "-inf");
}

static void test_decimal_comma(void **state) {
    (void)state;
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    bool found = false;
    for (size_t i = 0; !found && i < LENGTH(locales); i++)
        found = setlocale(LC_ALL, locales[i]) != NULL;
    if (!found) {
        print_message("no locale with a decimal comma is installed\n");
        skip();
    }
    test_parse_number(NULL);
    test_round_trip(NULL);
    setlocale(LC_ALL, "C");
}

/* ---- Tables ---- */

typedef struct fields {
    double positive, any, percent, step;
    int64_t count, batch;
    int choice;
} fields;

#define FIELD(name) offsetof(fields, name)

static const blv_param table[] = {
    {"positive", BLV_REAL, FIELD(positive), "1", DBL_MIN, DBL_MAX, NULL, "help"},
    {"any", BLV_REAL, FIELD(any), "-2.5", -DBL_MAX, DBL_MAX, NULL, "help"},
    {"percent", BLV_REAL, FIELD(percent), "50", 0, 100, NULL, "help"},
    {"step", BLV_REAL, FIELD(step), "auto", DBL_MIN, DBL_MAX, "auto", "help"},
    {"count", BLV_INT, FIELD(count), "10", -5, 1e6, NULL, "help"},
    {"batch", BLV_INT, FIELD(batch), "full", 1, 9e15, "auto|full", "help"},
    {"choice", BLV_CHOICE, FIELD(choice), "b", 0, 0, "a|b|ccc", "help"},
    {NULL, BLV_REAL, 0, NULL, 0, 0, NULL, NULL},
};

static blv_error set(fields *f, const char *key, const char *value, blv_message *why) {
    return blv_params_set(table, f, "thing", key, value, why);
}

static void test_defaults_and_words(void **state) {
    (void)state;
    fields f;
    memset(&f, 0xff, sizeof f);
    assert_int_equal(blv_params_default(table, &f, NULL), BLV_OK);
    assert_true(f.positive == 1.0 && f.any == -2.5 && f.percent == 50.0 && isnan(f.step));
    assert_true(f.count == 10 && f.batch == -2 && f.choice == 1);
    assert_int_equal(set(&f, "batch", "auto", NULL), BLV_OK);
    assert_true(f.batch == -1);
    assert_int_equal(set(&f, "step", "0.25", NULL), BLV_OK);
    assert_true(f.step == 0.25);
    assert_int_equal(set(&f, "choice", "ccc", NULL), BLV_OK);
    assert_true(f.choice == 2);
    assert_int_equal(blv_params_default(NULL, &f, NULL), BLV_OK);
    for (const blv_param *p = table; p->key; p++) { /* what is shown can be read back */
        char text[64];
        fields g;
        assert_int_equal(blv_params_default(table, &g, NULL), BLV_OK);
        blv_params_format(p, &f, text, sizeof text);
        assert_int_equal(set(&g, p->key, text, NULL), BLV_OK);
        char again[64];
        blv_params_format(p, &g, again, sizeof again);
        assert_string_equal(text, again);
    }
}

static void test_whole_numbers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"7", 7},      {"-5", -5}, {"+3", 3},    {"1e3", 1000}, {"1e6", 1000000},
                {"2.5e1", 25}, {"-0", 0},  {"0010", 10}, {"12.", 12},   {"1000000", 1000000}};
    static const char *const bad[] = {"",
                                      "1.5",
                                      "1e-1",
                                      "1000001",
                                      "-6",
                                      "1e7",
                                      "0x5",
                                      " 5",
                                      "5 ",
                                      "five",
                                      "1e400",
                                      "nan",
                                      "999999999999999999999999",
                                      "-1e18"};
    fields f;
    assert_int_equal(blv_params_default(table, &f, NULL), BLV_OK);
    for (size_t i = 0; i < LENGTH(good); i++) {
        assert_int_equal(set(&f, "count", good[i].text, NULL), BLV_OK);
        if (f.count != good[i].value)
            fail_msg("'%s' gives %lld", good[i].text, (long long)f.count);
    }
    for (size_t i = 0; i < LENGTH(bad); i++) {
        blv_message why = {""};
        f.count = 77;
        if (set(&f, "count", bad[i], &why) != BLV_E_VALUE)
            fail_msg("'%s' gives %lld", bad[i], (long long)f.count);
        assert_true(f.count == 77);
        expect_text(why.text, "thing: count = ");
        expect_text(why.text, "expected a whole number from -5 to 1e+06");
    }
    assert_int_equal(set(&f, "batch", "9e15", NULL), BLV_OK);
    assert_true(f.batch == INT64_C(9000000000000000));
    assert_int_equal(set(&f, "batch", "8999999999999999", NULL), BLV_OK);
    assert_true(f.batch == INT64_C(8999999999999999));
    assert_int_equal(set(&f, "batch", "-1", NULL), BLV_E_VALUE); /* not a word by the back door */
}

static void test_reals(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"positive", "0"},  {"positive", "-1"},   {"positive", "1e-400"}, {"positive", "-0"},
        {"percent", "101"}, {"percent", "-1e-9"}, {"percent", "auto"},    {"step", "none"},
        {"any", "nan"},     {"any", "inf"},       {"any", "1e400"},       {"step", "nan"},
        {"step", "AUTO"},   {"choice", "d"},      {"choice", ""},         {"choice", "a|b"},
        {"choice", "cc"},   {"choice", "1"}};
    fields f, before;
    memset(&f, 0, sizeof f);
    assert_int_equal(blv_params_default(table, &f, NULL), BLV_OK);
    memcpy(&before, &f, sizeof f);
    for (size_t i = 0; i < LENGTH(bad); i++) {
        if (set(&f, bad[i][0], bad[i][1], NULL) != BLV_E_VALUE)
            fail_msg("%s = '%s' is taken", bad[i][0], bad[i][1]);
        assert_memory_equal(&f, &before, sizeof f);
    }
    assert_int_equal(set(&f, "percent", "0", NULL), BLV_OK); /* ends belong to the range */
    assert_int_equal(set(&f, "percent", "100", NULL), BLV_OK);
    assert_int_equal(set(&f, "positive", "1e-300", NULL), BLV_OK);
}

static void test_ranges(void **state) {
    (void)state;
    static const char *const expected[] = {"a number > 0",
                                           "a number",
                                           "a number from 0 to 100",
                                           "a number > 0 or auto",
                                           "a whole number from -5 to 1e+06",
                                           "a whole number from 1 to 9e+15, auto or full",
                                           "a, b or ccc"};
    char text[160], tiny[8];
    for (size_t i = 0; table[i].key; i++) {
        blv_params_range(&table[i], text, sizeof text);
        assert_string_equal(text, expected[i]);
        blv_params_range(&table[i], tiny, sizeof tiny); /* cut off, not overrun */
        assert_true(strlen(tiny) < sizeof tiny && strncmp(tiny, text, strlen(tiny)) == 0);
    }
    blv_param p = {"x", BLV_REAL, 0, "1", 2, DBL_MAX, NULL, ""};
    blv_params_range(&p, text, sizeof text);
    assert_string_equal(text, "a number >= 2");
    p.lo = -DBL_MAX;
    p.hi = 3;
    blv_params_range(&p, text, sizeof text);
    assert_string_equal(text, "a number <= 3");
    p.lo = DBL_MIN;
    blv_params_range(&p, text, sizeof text);
    assert_string_equal(text, "a number > 0 and <= 3");
}

static void test_unknown_keys(void **state) {
    (void)state;
    fields f;
    blv_message why = {""};
    assert_int_equal(set(&f, "cuont", "1", &why), BLV_E_NAME);
    assert_string_equal(why.text, "thing has no parameter 'cuont'; did you mean 'count'?");
    assert_int_equal(set(&f, "zzzzzzzzzz", "1", &why), BLV_E_NAME);
    assert_string_equal(why.text, "thing has no parameter 'zzzzzzzzzz'");
    assert_int_equal(set(&f, NULL, "1", &why), BLV_E_ARGUMENT);
    assert_int_equal(set(&f, "count", NULL, &why), BLV_E_ARGUMENT);
    assert_int_equal(blv_params_set(NULL, &f, "thing", "a", "1", &why), BLV_E_NAME);
    expect_text(why.text, "no parameters");
    const blv_param bad[] = {{"x", BLV_INT, FIELD(count), "11", 0, 10, NULL, ""},
                             {NULL, BLV_REAL, 0, NULL, 0, 0, NULL, NULL}};
    assert_int_equal(blv_params_default(bad, &f, &why), BLV_E_VALUE);
    expect_text(why.text, "from 0 to 10");
}

/* Numbers are stored as they are: the last bit too, which a text of 6 or 15 digits would lose. */
static void test_set_numbers(void **state) {
    (void)state;
    const double exact = 0.1 + 0.2;
    fields f;
    assert_int_equal(blv_params_default(table, &f, NULL), BLV_OK);
    assert_int_equal(blv_params_set_real(table, &f, NULL, "positive", exact, NULL), BLV_OK);
    assert_true(f.positive == exact);
    assert_int_equal(blv_params_set_real(table, &f, NULL, "positive", 5e-324, NULL), BLV_E_VALUE);
    assert_int_equal(blv_params_set_real(table, &f, NULL, "step", exact, NULL), BLV_OK);
    assert_true(f.step == exact);
    assert_int_equal(blv_params_set_int(table, &f, NULL, "any", -7, NULL), BLV_OK);
    assert_true(f.any == -7.0);
    assert_int_equal(blv_params_set_real(table, &f, NULL, "count", 1e3, NULL), BLV_OK);
    assert_true(f.count == 1000);
    const int64_t large = INT64_C(8999999999999999);
    assert_int_equal(blv_params_set_int(table, &f, NULL, "batch", large, NULL), BLV_OK);
    assert_true(f.batch == large);
}

static void test_set_bad_numbers(void **state) {
    (void)state;
    static const struct {
        const char *key;
        double value;
        const char *message;
    } bad[] = {
        {"positive", 0.0, "thing: positive = '0' is not allowed: expected a number > 0"},
        {"positive", NAN, "thing: positive = 'nan' is not allowed: expected a number > 0"},
        {"any", INFINITY, "thing: any = 'inf' is not allowed: expected a number"},
        {"step", NAN, "thing: step = 'nan' is not allowed: expected a number > 0 or auto"},
        {"count", 1.5,
         "thing: count = '1.5' is not allowed: expected a whole number from -5 to 1e+06"},
        {"count", NAN,
         "thing: count = 'nan' is not allowed: expected a whole number from -5 to 1e+06"},
        {"choice", 1.0, "thing: choice = '1' is not allowed: expected a, b or ccc"},
        {"cuont", 1.0, "thing has no parameter 'cuont'; did you mean 'count'?"},
    };
    fields f, before;
    blv_message why;
    memset(&f, 0, sizeof f);
    assert_int_equal(blv_params_default(table, &f, NULL), BLV_OK);
    memcpy(&before, &f, sizeof f);
    for (size_t i = 0; i < LENGTH(bad); i++) {
        blv_error error = blv_params_set_real(table, &f, "thing", bad[i].key, bad[i].value, &why);
        assert_int_equal(error, i + 1 < LENGTH(bad) ? BLV_E_VALUE : BLV_E_NAME);
        assert_string_equal(why.text, bad[i].message);
        assert_memory_equal(&f, &before, sizeof f);
    }
    static const char *const keys[] = {"positive", "any", "count", "batch", "choice"};
    static const int64_t values[] = {-1, (INT64_C(1) << 53) + 1, 1000001, -1, 1};
    for (size_t i = 0; i < LENGTH(keys); i++) {
        blv_error error = blv_params_set_int(table, &f, "thing", keys[i], values[i], &why);
        assert_int_equal(error, BLV_E_VALUE);
        char shown[64];
        snprintf(shown, sizeof shown, "%s = '%lld'", keys[i], (long long)values[i]);
        expect_text(why.text, shown);
        assert_memory_equal(&f, &before, sizeof f);
    }
}

/* ---- Nearest names ---- */

static const char *nearest(const char *name, const char *const *candidates) {
    blv_nearest n = {.name = name};
    for (size_t i = 0; candidates[i]; i++)
        blv_nearest_try(&n, candidates[i]);
    return blv_nearest_guess(&n);
}

static void test_nearest(void **state) {
    (void)state;
    const char *const *names = SETTINGS("alpha", "beta", "gamma", "step_x", "step_y");
    assert_string_equal(nearest("alhpa", names), "alpha"); /* two letters swapped */
    assert_string_equal(nearest("bet", names), "beta");
    assert_string_equal(nearest("gammma", names), "gamma");
    assert_string_equal(nearest("stepx", names), "step_x");
    assert_string_equal(nearest("step-y", names), "step_y");
    assert_null(nearest("unrelated-thing", names));
    assert_null(nearest("", SETTINGS("alpha")));
    char longest[100];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_null(nearest(longest, names));
    assert_null(nearest("a", SETTINGS(longest)));
    blv_nearest nothing = {.name = "x"};
    assert_null(blv_nearest_guess(&nothing));
}

/* ---- Status ---- */

static void test_status_texts(void **state) {
    (void)state;
    assert_string_equal(blv_error_text(BLV_OK), "no error");
    assert_string_equal(blv_error_text(BLV_E_MEMORY), "out of memory");
    assert_string_equal(blv_error_text((blv_error)999), "unknown error");
    assert_string_equal(blv_outcome_word(BLV_CONVERGED), "converged");
    assert_string_equal(blv_outcome_word(BLV_LIMIT_BUDGET), "budget");
    assert_string_equal(blv_outcome_text(BLV_SINGULAR), "the lower-level Hessian is singular");
    assert_string_equal(blv_outcome_word((blv_outcome)999), "unknown");
    assert_string_equal(blv_outcome_text((blv_outcome)999), "unknown outcome");
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", BLV_VERSION_MAJOR, BLV_VERSION_MINOR,
             BLV_VERSION_PATCH);
    assert_string_equal(blv_version(), version);
    blv_message why = {"kept"};
    assert_int_equal(blv_explain(NULL, BLV_E_FILE, "nobody reads %d", 1), BLV_E_FILE);
    assert_int_equal(blv_explain(&why, BLV_E_FILE, "%0600d", 1), BLV_E_FILE);
    assert_int_equal(strlen(why.text), sizeof why.text - 1); /* cut off, not overrun */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_number),  cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_decimal_comma), cmocka_unit_test(test_defaults_and_words),
        cmocka_unit_test(test_whole_numbers), cmocka_unit_test(test_reals),
        cmocka_unit_test(test_ranges),        cmocka_unit_test(test_unknown_keys),
        cmocka_unit_test(test_set_numbers),   cmocka_unit_test(test_set_bad_numbers),
        cmocka_unit_test(test_nearest),       cmocka_unit_test(test_status_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
