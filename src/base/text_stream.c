#define _GNU_SOURCE /* fopencookie */
#include "base/text_stream.h"

#include <stdlib.h>
#include <string.h>

static bool make_room(blv_text_stream *text, size_t more) {
    if (more < text->room - text->size)
        return true;
    size_t room = 2 * (text->size + more + 1);
    char *larger = realloc(text->bytes, room);
    if (!larger)
        return false;
    text->bytes = larger;
    text->room = room;
    return true;
}

static ssize_t take_bytes(void *cookie, const char *bytes, size_t size) {
    blv_text_stream *text = cookie;
    if (text->lost || !make_room(text, size)) {
        text->lost = true;
        return 0;
    }
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    return (ssize_t)size;
}

FILE *blv_text_open(blv_text_stream *text) {
    *text = (blv_text_stream){.bytes = malloc(1), .room = 1};
    if (text->bytes)
        text->out = fopencookie(text, "w", (cookie_io_functions_t){.write = take_bytes});
    return text->out;
}

char *blv_text_close(blv_text_stream *text) {
    bool whole = text->out && fclose(text->out) == 0 && !text->lost;
    text->out = NULL;
    if (!whole) {
        free(text->bytes);
        text->bytes = NULL;
        return NULL;
    }
    text->bytes[text->size] = '\0';
    return text->bytes;
}
