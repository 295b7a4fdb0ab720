/* Decimal numbers: bit for bit what strtod makes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/number_text.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_decimal(const char *text) {
    double ours, expected = strtod(text, NULL);
    char line[512];
    snprintf(line, sizeof line, "%s\n", text);
    const char *end = blv_decimal(line, &ours);
    if (end != line + strlen(text) || ours != expected || signbit(ours) != signbit(expected))
        fail_msg("%s: %.17g, expected %.17g", text, ours, expected);
}

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void test_numbers_are_rounded_as_by_strtod(void **state) {
    (void)state;
    const char *const special[] = {
        "0",
        "-0",
        "+1",
        ".5",
        "5.",
        "-.25e1",
        "1e22",
        "1e23",
        "1E-22",
        "9007199254740993",
        "9007199254740993e0",
        "9007199254740992.5",
        "18446744073709551615",
        "18446744073709551616",
        "0.1000000000000000055511151231257827021181583404541015625",
        "2.2250738585072011e-308",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "1.7976931348623158e308",
        "1e400",
        "-1e-400",
        "0e99999999999999999999",
        "1e99999999999999999999",
        "0.000000000000000000000000000000000000012345",
        "123456789012345678901234567890",
        "0000000000000000000000000000000000001.5",
        "8.98846567431158e307",
        "6929495644600919.5",
        "3.7455744005952583e15",
        "9007199254740991e22",
        "9223372036854775808e-27",
        "1e-27",
        "18446744073709551615e27",
    };
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++)
        check_decimal(special[i]);
    double value;
    assert_null(blv_decimal("\n", &value));
    assert_null(blv_decimal("-\n", &value));
    assert_null(blv_decimal(".\n", &value));
    assert_null(blv_decimal("nan\n", &value));
    assert_null(blv_decimal("e5\n", &value));
    const char *open_exponent = "1e+\n";
    assert_ptr_equal(blv_decimal(open_exponent, &value), open_exponent + 1);

    uint64_t random = 88172645463325252u;
    for (size_t i = 0; i < 1000000; i++) {
        char text[64];
        uint64_t r = next_random(&random);
        double magnitude;
        switch (r % 4) {
        case 0: /* short, as data files have them */
            snprintf(text, sizeof text, "%s%u.%0*u", r & 8 ? "-" : "", (unsigned)(r >> 8 & 1023),
                     (int)(1 + (r >> 20) % 8), (unsigned)(r >> 32 & 0xfffff));
            break;
        case 1: /* any double, with 15 to 18 digits */
            r = next_random(&random) & ~(UINT64_C(1) << 62);
            memcpy(&magnitude, &r, sizeof magnitude);
            snprintf(text, sizeof text, "%.*g", (int)(15 + random % 4),
                     isfinite(magnitude) ? magnitude : 1.0);
            break;
        case 2: /* usual sizes, all digits */
            snprintf(text, sizeof text, "%.17g",
                     ldexp((double)(next_random(&random) >> 11), -(int)(30 + r % 40)));
            break;
        default: /* digits and a small exponent */
            snprintf(text, sizeof text, "%lu.%lue%d", (unsigned long)(r >> 40),
                     (unsigned long)(next_random(&random) >> (random % 50)), (int)(r >> 5) % 30);
        }
        check_decimal(text);
    }
}

/* Another locale's decimal comma changes nothing. */
static void test_locale(void **state) {
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8")) {
        print_message("no locale with a decimal comma is installed\n");
        skip();
    }
    double value;
    blv_decimal("1.5e-200\n", &value);
    setlocale(LC_NUMERIC, "C");
    assert_true(value == 1.5e-200);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_rounded_as_by_strtod),
        cmocka_unit_test(test_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
