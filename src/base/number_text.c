/* Numbers as text. */
#include "base/number_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A decimal number with '.' as its point, whatever the locale. Accepts what a JSON number is, and
 * forms like "1." and ".5"; rejects spaces, hex, "nan", "inf" and anything behind the number. */
int blv_number_parse(const char *text, double *value) {
    size_t length = strspn(text, "+-.0123456789eE");
    if (length == 0 || text[length] != '\0' || length > 63)
        return -1;
    char *end;
    double parsed = strtod(text, &end);
    const char *dot = strchr(text, '.');
    if (*end != '\0' && dot) { /* the locale's point is another one: put it in */
        char copy[64], point[8];
        snprintf(point, sizeof point, "%.1f", 0.5);
        memcpy(copy, text, length + 1);
        copy[dot - text] = point[1];
        parsed = strtod(copy, &end);
        if (*end != '\0')
            return -1;
    } else if (*end != '\0') {
        return -1;
    }
    if (!isfinite(parsed))
        return -1;
    *value = parsed;
    return 0;
}

/* The shortest text from `least` to `most` digits that reads back as the same number. */
static void format_shortest(double value, bool single, char *text, size_t size) {
    const int least = single ? 6 : 15, most = single ? 9 : 17;
    for (int digits = least; digits <= most; digits++) {
        double back;
        snprintf(text, size, "%.*g", digits, value);
        char *comma = strchr(text, ',');
        if (comma)
            *comma = '.';
        if (blv_number_parse(text, &back) == 0 &&
            (single ? (float)back == (float)value : back == value))
            return;
    }
}

void blv_number_format(double value, char *text, size_t size) {
    format_shortest(value, false, text, size);
}

void blv_number_format_f32(float value, char *text, size_t size) {
    format_shortest((double)value, true, text, size);
}
