#include "base/visible_text.h"
#include "cli/common.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_CHARACTER = 4, BLOCK = 1 << 12 };

/* ---- The streams ---- */

typedef struct terminal_stream {
    int file;
    char begun[LONGEST_CHARACTER]; /* a character whose last bytes are still to come */
    size_t begun_size;
} terminal_stream;

static bool write_all(int file, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t n = write(file, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

/* Bytes at the end that begin a character and do not end it. */
static size_t cut_off(const char *bytes, size_t size) {
    for (size_t back = 1; back < LONGEST_CHARACTER && back <= size; back++) {
        const unsigned char c = (unsigned char)bytes[size - back];
        const size_t needs = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 0;
        if (needs > 0)
            return needs > back ? back : 0;
        if (c < 0x80)
            return 0;
    }
    return 0;
}

static bool write_visible(const terminal_stream *to, const char *bytes, size_t size) {
    char text[BLOCK + BLV_VISIBLE_SIZE];
    size_t used = 0, taken;
    for (; size > 0; bytes += taken, size -= taken) {
        used += blv_visible_next(bytes, size, "\n\t", text + used, &taken);
        if (used >= BLOCK || size == taken) {
            if (!write_all(to->file, text, used))
                return false;
            used = 0;
        }
    }
    return true;
}

/* All or nothing, as far as the stream is told. */
static ssize_t take_bytes(void *cookie, const char *bytes, size_t size) {
    terminal_stream *to = cookie;
    char block[BLOCK];
    for (size_t done = 0; done < size;) {
        size_t more = BLOCK - to->begun_size < size - done ? BLOCK - to->begun_size : size - done;
        memcpy(block, to->begun, to->begun_size);
        memcpy(block + to->begun_size, bytes + done, more);
        const size_t all = to->begun_size + more, left = cut_off(block, all);
        if (!write_visible(to, block, all - left))
            return 0;
        memcpy(to->begun, block + all - left, left);
        to->begun_size = left;
        done += more;
    }
    return (ssize_t)size;
}

static FILE *open_stream(terminal_stream *to, int buffering) {
    FILE *stream = fopencookie(to, "w", (cookie_io_functions_t){.write = take_bytes});
    cli_expect(stream ? BLV_OK : BLV_E_MEMORY);
    setvbuf(stream, NULL, buffering, BUFSIZ);
    return stream;
}

void cli_terminal_begin(void) {
    static terminal_stream out = {.file = STDOUT_FILENO}, err = {.file = STDERR_FILENO};
    stdout = open_stream(&out, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
    stderr = open_stream(&err, _IONBF);
}

/* ---- Within a line ---- */

const char *cli_shown(const char *text) {
    if (!text || blv_is_visible(text))
        return text ? text : "";
    char *visible = blv_visible_copy(text);
    cli_expect(visible ? BLV_OK : BLV_E_MEMORY);
    const char *kept = cli_print("%s", visible);
    free(visible);
    return kept;
}
