#include "cli_text.h"
#include "cli_common.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(cli_text *text, size_t more) {
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

/* The end of the command must not come from within the stream. */
static ssize_t take(void *cookie, const char *bytes, size_t size) {
    cli_text *text = cookie;
    if (text->lost || !make_room(text, size)) {
        text->lost = true;
        return 0;
    }
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    return (ssize_t)size;
}

FILE *cli_text_begin(cli_text *text) {
    *text = (cli_text){.bytes = cli_alloc(1, 1), .room = 1};
    text->out = fopencookie(text, "w", (cookie_io_functions_t){.write = take});
    if (!text->out)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
    return text->out;
}

char *cli_text_end(cli_text *text) {
    bool closed = fclose(text->out) == 0;
    text->out = NULL;
    if (!closed || text->lost)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
    text->bytes[text->size] = '\0';
    return text->bytes;
}

char *cli_print(const char *format, ...) {
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
    return text;
}
