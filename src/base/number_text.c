/* Numbers as text: decimal numbers read with correct rounding, and the shortest text that reads
 * back as the same number.
 *
 * A number is m 10^e with a whole m. Three ways to read it, from fast to slow:
 * - m and 10^|e| are doubles themselves: one product or quotient, rounded once (Clinger 1990).
 * - m < 2^64 and |e| <= 27: 5^|e| fits into 64 bits, so the product is exact in 128 bits, and so
 *   are quotient and remainder. This takes what "%.17g" writes.
 * - anything else: the C library's strtod in the locale "C". */
#include "base/number_text.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

enum { DOUBLE_BITS = 53, EXACT_TENS = 22, EXACT_FIVES = 27, WHOLE_DIGITS = 19 };

static const double tens[EXACT_TENS + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                            1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static bool is_digit(char c) {
    return (unsigned char)(c - '0') < 10;
}

static int leading_zeros(wide w) {
    uint64_t high = (uint64_t)(w >> 64);
    return high ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)w);
}

/* w 2^shift rounded to even; more: something below the last bit of w was cut off. */
static double round_wide(wide w, bool more, int shift) {
    int drop = 128 - leading_zeros(w) - DOUBLE_BITS;
    if (drop > 0) {
        wide half = (wide)1 << (drop - 1);
        wide rest = w & ((half << 1) - 1);
        w >>= drop;
        shift += drop;
        if (rest > half || (rest == half && (more || (w & 1) != 0)))
            w++;
    }
    return ldexp((double)(uint64_t)w, shift);
}

/* m 10^e for 0 < m and |e| <= EXACT_FIVES. */
static double from_wide(uint64_t m, int e) {
    uint64_t fives = 1;
    for (int i = e < 0 ? -e : e; i > 0; i--)
        fives *= 5;
    if (e >= 0)
        return round_wide((wide)m * fives, false, e);
    int up = __builtin_clzll(m);
    wide scaled = (wide)(m << up) << 64;
    wide quotient = scaled / fives; /* at least 65 bits */
    return round_wide(quotient, quotient * fives != scaled, e - 64 - up);
}

static double from_library(const char *text) {
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain)
        return NAN; /* out of memory; callers reject what is not finite */
    locale_t before = uselocale(plain);
    double value = strtod(text, NULL);
    uselocale(before);
    freelocale(plain);
    return value;
}

/* The exponent behind 'e', kept within bounds; leaves p where there is none. */
static const char *take_exponent(const char *p, int64_t *exponent) {
    const char *q = p + 1;
    bool negative = *q == '-';
    if (*q == '-' || *q == '+')
        q++;
    if (!is_digit(*q))
        return p;
    int64_t e = 0;
    for (; is_digit(*q); q++)
        if (e < 100000)
            e = 10 * e + (*q - '0');
    *exponent += negative ? -e : e;
    return q;
}

static int64_t digits_after_zeros(const char *p) {
    int64_t n = 0;
    for (; is_digit(*p) || *p == '.'; p++)
        n += *p != '.' && (n > 0 || *p != '0');
    return n;
}

const char *blv_decimal(const char *p, double *value) {
    const char *start = p;
    bool negative = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    const char *digits = p;
    uint64_t m = 0;
    for (; is_digit(*p); p++)
        m = 10 * m + (uint64_t)(*p - '0');
    int64_t count = p - digits, e = 0;
    if (*p == '.') {
        const char *fraction = ++p;
        for (; is_digit(*p); p++)
            m = 10 * m + (uint64_t)(*p - '0');
        e = fraction - p;
        count -= e;
    }
    if (count == 0)
        return NULL;
    if ((*p | 0x20) == 'e')
        p = take_exponent(p, &e);

    double magnitude;
    bool whole = count <= WHOLE_DIGITS || digits_after_zeros(digits) <= WHOLE_DIGITS;
    if (whole && m <= (uint64_t)1 << DOUBLE_BITS && e >= -EXACT_TENS && e <= EXACT_TENS) {
        magnitude = e < 0 ? (double)m / tens[-e] : (double)m * tens[e];
    } else if (whole && m == 0) {
        magnitude = 0.0;
    } else if (whole && e >= -EXACT_FIVES && e <= EXACT_FIVES) {
        magnitude = from_wide(m, (int)e);
    } else {
        *value = from_library(start);
        return p;
    }
    *value = negative ? -magnitude : magnitude;
    return p;
}

int blv_number_parse(const char *text, double *value) {
    double parsed;
    const char *end = blv_decimal(text, &parsed);
    if (!end || *end != '\0' || !isfinite(parsed))
        return -1;
    *value = parsed;
    return 0;
}

/* ---- Writing ---- */

static bool reads_as(double read, double value, bool single) {
    return single ? (float)read == (float)value : read == value;
}

/* The digits of whole / 10^places, without zeros at the end. */
static size_t write_digits(bool negative, uint64_t whole, int places, char *text, size_t size) {
    char digits[40];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    for (; places > 0 && whole % 10 == 0; places--)
        whole /= 10;
    for (int n = 0; whole > 0 || n <= places; n++) {
        if (n == places && n > 0)
            digits[--at] = '.';
        digits[--at] = (char)('0' + whole % 10);
        whole /= 10;
    }
    if (negative)
        digits[--at] = '-';
    if (sizeof digits - at > size)
        return 0;
    memcpy(text, digits + at, sizeof digits - at);
    return sizeof digits - at - 1;
}

/* Numbers of common size and few digits without printf: n / 10^k, which is right to the last bit
 * when both are whole numbers below 2^53, is what a reader makes of the digits. 0 where that does
 * not give the value. */
static size_t format_short(double value, bool single, char *text, size_t room) {
    double size = fabs(value);
    if (size == 0.0 && !signbit(value))
        return write_digits(false, 0, 0, text, room);
    if (!(size >= 1e-4 && size < 1e9))
        return 0;
    int before = size < 1.0 ? -4 : 0; /* the power of ten of the first digit */
    while (size >= (before < 0 ? 1.0 / tens[-before - 1] : tens[before + 1]))
        before++;
    for (int digits = single ? 6 : 15; digits <= (single ? 9 : 15); digits++) {
        int places = digits - 1 - before;
        if (places < 0)
            continue;
        double whole = rint(size * tens[places]);
        if (reads_as(whole / tens[places], size, single))
            return write_digits(value < 0.0, (uint64_t)whole, places, text, room);
    }
    return 0;
}

static size_t format_shortest(double value, bool single, char *text, size_t size) {
    size_t length = format_short(value, single, text, size);
    double back;
    bool same = length > 0;
    for (int digits = single ? 6 : 15; !same && digits <= (single ? 9 : 17); digits++) {
        length = (size_t)snprintf(text, size, "%.*g", digits, value);
        char *comma = strchr(text, ',');
        if (comma)
            *comma = '.';
        same = blv_number_parse(text, &back) == 0 && reads_as(back, value, single);
    }
    return length;
}

size_t blv_number_format(double value, char *text, size_t size) {
    return format_shortest(value, false, text, size);
}

size_t blv_number_format_f32(float value, char *text, size_t size) {
    return format_shortest((double)value, true, text, size);
}
