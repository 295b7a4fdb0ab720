#include "io/text_out.h"
#include "base/number_text.h"
#include "io/npz_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8 };

blv_text_out *blv_text_out_open(const char *name, blv_write_fn write, void *context,
                                blv_message *why) {
    size_t length = strlen(name);
    blv_text_out *out = malloc(sizeof *out);
    if (!out)
        return NULL;
    out->name = name;
    out->write = write;
    out->context = context;
    out->used = 0;
    out->error = BLV_OK;
    out->why = why;
    out->compressed = length > 3 && strcmp(name + length - 3, ".gz") == 0;
    memset(&out->z, 0, sizeof out->z);
    if (out->compressed && deflateInit2(&out->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW,
                                        MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(out);
        return NULL;
    }
    return out;
}

blv_error blv_write_bytes(blv_write_fn write, void *context, const void *bytes, size_t count,
                          const char *name, blv_message *why) {
    errno = 0;
    if (count == 0 || write(context, bytes, count) == 0)
        return BLV_OK;
    return errno
               ? blv_explain_errno(why, name, "write")
               : blv_explain(why, BLV_E_FILE, "%s: the bytes were not taken", blv_shown_path(name));
}

static void write_bytes(blv_text_out *out, const void *bytes, size_t n) {
    if (!out->error)
        out->error = blv_write_bytes(out->write, out->context, bytes, n, out->name, out->why);
}

/* Hands on what the buffer holds; at the end of the file everything that deflate keeps as well. */
static void flush(blv_text_out *out, bool end) {
    if (!out->compressed) {
        write_bytes(out, out->buffer, out->used);
        out->used = 0;
        return;
    }
    out->z.next_in = out->buffer;
    out->z.avail_in = (uInt)out->used;
    int state = Z_OK;
    do {
        out->z.next_out = out->packed;
        out->z.avail_out = sizeof out->packed;
        state = deflate(&out->z, end ? Z_FINISH : Z_NO_FLUSH);
        write_bytes(out, out->packed, sizeof out->packed - out->z.avail_out);
        if (state == Z_STREAM_ERROR && !out->error)
            out->error = blv_explain(out->why, BLV_E_FILE, "%s: cannot be compressed",
                                     blv_shown_path(out->name));
    } while (!out->error && (out->z.avail_out == 0 || (end && state == Z_OK)));
    out->used = 0;
}

void blv_text_out_put(blv_text_out *out, const char *text, size_t length) {
    while (!out->error && length > 0) {
        size_t room = sizeof out->buffer - out->used, n = length < room ? length : room;
        memcpy(out->buffer + out->used, text, n);
        out->used += n;
        text += n;
        length -= n;
        if (out->used == sizeof out->buffer)
            flush(out, false);
    }
}

void blv_text_out_string(blv_text_out *out, const char *text) {
    blv_text_out_put(out, text, strlen(text));
}

void blv_text_out_field(blv_text_out *out, const char *text, char separator) {
    size_t length = strlen(text);
    bool plain = length > 0 && !strchr(text, separator) && !strpbrk(text, "\"\r\n") &&
                 text[0] != ' ' && text[length - 1] != ' ';
    if (plain) {
        blv_text_out_put(out, text, length);
        return;
    }
    blv_text_out_put(out, "\"", 1);
    for (; *text; text++) {
        if (*text == '"')
            blv_text_out_put(out, "\"", 1);
        blv_text_out_put(out, text, 1);
    }
    blv_text_out_put(out, "\"", 1);
}

void blv_text_out_number(blv_text_out *out, double value, blv_precision precision) {
    char text[40];
    size_t length = precision == BLV_F32 ? blv_number_format_f32((float)value, text, sizeof text)
                                         : blv_number_format(value, text, sizeof text);
    blv_text_out_put(out, text, length);
}

blv_error blv_text_out_close(blv_text_out *out) {
    flush(out, true);
    blv_error error = out->error;
    deflateEnd(&out->z);
    free(out);
    return error;
}
