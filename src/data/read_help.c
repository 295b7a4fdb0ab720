/* Growing arrays, and pieces of files in messages. */
#include "data/reading.h"

#include <stdio.h>
#include <stdlib.h>

void *blv_grown(void *array, size_t *capacity, size_t wanted, size_t item_size) {
    if (array && wanted <= *capacity)
        return array;
    size_t larger = *capacity <= SIZE_MAX / 4 ? 2 * *capacity : SIZE_MAX / 2;
    if (larger < wanted)
        larger = wanted;
    if (larger == 0)
        larger = 1;
    if (larger > PTRDIFF_MAX / item_size)
        return NULL;
    void *grown = realloc(array, larger * item_size);
    if (grown)
        *capacity = larger;
    return grown;
}

void *blv_trimmed(void *array, size_t count, size_t item_size) {
    void *trimmed = realloc(array, (count > 0 ? count : 1) * item_size);
    if (!trimmed)
        return array;
    return trimmed;
}

blv_shown_text blv_show(const char *text, size_t length) {
    enum { MOST = 32 };
    blv_shown_text shown;
    if (length == 0) {
        snprintf(shown.text, sizeof shown.text, "nothing");
        return shown;
    }
    size_t n = length < MOST ? length : MOST;
    char copy[MOST + 1];
    for (size_t i = 0; i < n; i++)
        copy[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    copy[n] = '\0';
    snprintf(shown.text, sizeof shown.text, "'%s%s'", copy, length > MOST ? "..." : "");
    return shown;
}
