#include "base/visible_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 4 };

/* Bytes of the character of UTF-8 at the start of the text, and its number; 0: there is none. */
static size_t decode(const unsigned char *text, size_t length, unsigned *number) {
    static const unsigned least[LONGEST + 1] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned first = text[0];
    const size_t size = first < 0x80   ? 1
                        : first < 0xc0 ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf8 ? 4
                                       : 0;
    if (size == 0 || size > length)
        return 0;
    *number = size == 1 ? first : first & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        *number = *number << 6 | (text[i] & 0x3fu);
    }
    bool surrogate = *number >= 0xd800 && *number <= 0xdfff;
    return *number < least[size] || *number > 0x10ffff || surrogate ? 0 : size;
}

static bool is_hidden(unsigned number) {
    static const struct {
        unsigned first, last;
    } ranges[] = {{0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},
                  {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
                  {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (number >= ranges[i].first && number <= ranges[i].last)
            return true;
    return false;
}

size_t blv_visible_next(const char *text, size_t length, const char *passed,
                        char out[BLV_VISIBLE_SIZE], size_t *taken) {
    unsigned number = 0;
    const size_t size = decode((const unsigned char *)text, length, &number);
    *taken = size ? size : 1;
    if (size == 0)
        return (size_t)sprintf(out, "\\x%02x", (unsigned)(unsigned char)*text);
    if (!is_hidden(number) || (*text && strchr(passed, *text))) {
        memcpy(out, text, size);
        return size;
    }
    if (*text == '\n' || *text == '\t')
        return (size_t)sprintf(out, "\\%c", *text == '\n' ? 'n' : 't');
    if (number <= 0xffff)
        return (size_t)sprintf(out, "\\u%04x", number);
    return (size_t)sprintf(out, "\\u%04x\\u%04x", 0xd800 + ((number - 0x10000) >> 10),
                           0xdc00 + ((number - 0x10000) & 0x3ff)); /* as JSON writes it */
}

bool blv_is_visible(const char *text) {
    char out[BLV_VISIBLE_SIZE];
    size_t taken, length = strlen(text);
    for (; length > 0; text += taken, length -= taken)
        if (blv_visible_next(text, length, "", out, &taken) != taken)
            return false;
    return true;
}

char *blv_visible_copy(const char *text) {
    size_t length = strlen(text), size = 0, taken;
    char *copy = malloc(length * BLV_VISIBLE_SIZE + 1);
    for (; copy && length > 0; text += taken, length -= taken) {
        char out[BLV_VISIBLE_SIZE];
        const size_t n = blv_visible_next(text, length, "", out, &taken);
        memcpy(copy + size, out, n);
        size += n;
    }
    if (copy)
        copy[size] = '\0';
    return copy;
}
