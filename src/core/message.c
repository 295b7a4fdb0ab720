#include "core/message.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

blv_error blv_explain(blv_message *why, blv_error error, const char *format, ...) {
    if (why) {
        va_list args;
        va_start(args, format);
        vsnprintf(why->text, sizeof why->text, format, args);
        va_end(args);
    }
    return error;
}

enum { NAME_MAX_LENGTH = 63 };

/* Edit distance with insertions, deletions, substitutions and swaps of neighbours. */
static size_t edit_distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    if (n > NAME_MAX_LENGTH || m > NAME_MAX_LENGTH)
        return SIZE_MAX;
    size_t row[3][NAME_MAX_LENGTH + 1];
    for (size_t j = 0; j <= m; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t cost = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < cost)
                cost = last[j] + 1;
            if (now[j - 1] + 1 < cost)
                cost = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < cost)
                cost = before[j - 2] + 1;
            now[j] = cost;
        }
    }
    return row[n % 3][m];
}

void blv_nearest_try(blv_nearest *nearest, const char *candidate) {
    size_t distance = edit_distance(nearest->name, candidate);
    if (!nearest->best || distance < nearest->distance) {
        nearest->best = candidate;
        nearest->distance = distance;
    }
}

const char *blv_nearest_guess(const blv_nearest *nearest) {
    if (!nearest->best || nearest->distance > 1 + strlen(nearest->best) / 2)
        return NULL;
    return nearest->best;
}
