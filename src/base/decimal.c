/* Decimal numbers, correctly rounded.
 *
 * A number is m 10^e with a whole m. Three ways, from fast to slow:
 * - m and 10^|e| are doubles themselves: one product or quotient, rounded once (Clinger 1990).
 * - m < 2^64 and |e| <= 27: 5^|e| fits into 64 bits, so the product is exact in 128 bits, and so
 *   are quotient and remainder. This takes what "%.17g" writes.
 * - anything else: the C library's strtod in the locale "C". */
#include "base/decimal.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

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
