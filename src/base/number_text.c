/* Numbers as text. */
#include "base/number_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A decimal number with '.' as its point, whatever the locale. Accepts what a JSON number is, and
 * forms like "1." and ".5"; refuses spaces, hex, "nan", "inf" and anything behind the number. */
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

/* The shortest of 15 to 17 digits that reads back as the same number. */
void blv_number_format(double value, char *text, size_t size) {
    for (int digits = 15; digits <= 17; digits++) {
        double back;
        snprintf(text, size, "%.*g", digits, value);
        char *comma = strchr(text, ',');
        if (comma)
            *comma = '.';
        if (blv_number_parse(text, &back) == 0 && back == value)
            return;
    }
}
