#include "core/key_value_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for n more bytes and the end of the text. */
static bool make_room(blv_key_values *lines, size_t n) {
    size_t needed = lines->size + n + 1;
    if (needed <= lines->room)
        return true;
    size_t room = needed < 1024 ? 1024 : 2 * needed;
    char *text = lines->incomplete ? NULL : realloc(lines->text, room);
    if (!text) {
        lines->incomplete = true;
        return false;
    }
    lines->text = text;
    lines->room = room;
    return true;
}

static void put_escaped(blv_key_values *lines, const char *text, char end) {
    if (!make_room(lines, 2 * strlen(text) + 1))
        return;
    for (; *text; text++) {
        char letter = *text == '\t' ? 't' : *text == '\n' ? 'n' : *text == '\\' ? '\\' : '\0';
        if (letter)
            lines->text[lines->size++] = '\\';
        lines->text[lines->size++] = letter ? letter : *text;
    }
    lines->text[lines->size++] = end;
    lines->text[lines->size] = '\0';
}

void blv_key_values_put(blv_key_values *lines, const char *key, const char *format, ...) {
    char value[BLV_LINE_VALUE];
    va_list args;
    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    put_escaped(lines, key, '\t');
    put_escaped(lines, value, '\n');
}

void blv_key_values_free(blv_key_values *lines) {
    free(lines->text);
    *lines = (blv_key_values){0};
}

/* Text up to the character `end`, which *at is moved behind. */
static bool take(const char *text, size_t *at, char end, char *out, size_t room) {
    size_t used = 0;
    for (;; (*at)++) {
        char c = text[*at];
        if (c == end)
            break;
        if (c == '\0' || c == '\t' || c == '\n' || used + 1 == room)
            return false;
        if (c == '\\') {
            char letter = text[++*at];
            c = letter == 't' ? '\t' : letter == 'n' ? '\n' : letter == '\\' ? '\\' : '\0';
            if (c == '\0')
                return false;
        }
        out[used++] = c;
    }
    out[used] = '\0';
    (*at)++;
    return true;
}

bool blv_key_values_next(const char *text, size_t *at, char key[BLV_LINE_KEY],
                         char value[BLV_LINE_VALUE]) {
    return text[*at] != '\0' && take(text, at, '\t', key, BLV_LINE_KEY) &&
           take(text, at, '\n', value, BLV_LINE_VALUE);
}

bool blv_key_values_find(const char *text, const char *key, char value[BLV_LINE_VALUE]) {
    char found[BLV_LINE_KEY];
    for (size_t at = 0; text && blv_key_values_next(text, &at, found, value);)
        if (strcmp(found, key) == 0)
            return true;
    return false;
}
