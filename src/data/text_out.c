#include "data/text_out.h"
#include "core/number.h"
#include "data/npz_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8 };

blv_text_out *blv_text_create(const char *path, blv_error *error, blv_message *why) {
    size_t length = strlen(path);
    blv_text_out *out = malloc(sizeof *out);
    if (!out) {
        *error = blv_npz_fail(why, BLV_E_MEMORY, "out of memory");
        return NULL;
    }
    out->used = 0;
    out->error = BLV_OK;
    out->why = why;
    out->compressed = length > 3 && strcmp(path + length - 3, ".gz") == 0;
    memset(&out->z, 0, sizeof out->z);
    if (out->compressed && deflateInit2(&out->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW,
                                        MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(out);
        *error = blv_npz_fail(why, BLV_E_MEMORY, "out of memory");
        return NULL;
    }
    *error = blv_aside_open(&out->aside, path, why);
    if (*error) {
        deflateEnd(&out->z);
        free(out);
        return NULL;
    }
    return out;
}

static void write_bytes(blv_text_out *out, const void *bytes, size_t n) {
    if (!out->error && n > 0 && fwrite(bytes, 1, n, out->aside.file) != n)
        out->error = blv_npz_fail_errno(out->why, out->aside.path, "write");
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
    } while (!out->error && (out->z.avail_out == 0 || (end && state == Z_OK)));
    out->used = 0;
}

void blv_text_put(blv_text_out *out, const char *text, size_t length) {
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

void blv_text_string(blv_text_out *out, const char *text) {
    blv_text_put(out, text, strlen(text));
}

/* Whole numbers, which many data sets consist of, without printf. */
static bool put_whole(blv_text_out *out, double value) {
    if (!(fabs(value) < 1e9) || value != floor(value) || (value == 0.0 && signbit(value)))
        return false;
    char digits[16];
    size_t at = sizeof digits;
    unsigned long rest = (unsigned long)fabs(value);
    do
        digits[--at] = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (value < 0.0)
        digits[--at] = '-';
    blv_text_put(out, digits + at, sizeof digits - at);
    return true;
}

void blv_text_number(blv_text_out *out, double value, blv_precision precision) {
    char text[40];
    if (put_whole(out, value))
        return;
    if (precision == BLV_F64) {
        blv_number_format(value, text, sizeof text);
        blv_text_string(out, text);
        return;
    }
    for (int digits = 6; digits <= 9; digits++) {
        double back;
        snprintf(text, sizeof text, "%.*g", digits, value);
        char *comma = strchr(text, ',');
        if (comma)
            *comma = '.';
        if (blv_number_parse(text, &back) == 0 && (float)back == (float)value)
            break;
    }
    blv_text_string(out, text);
}

blv_error blv_text_commit(blv_text_out *out) {
    flush(out, true);
    blv_error error = out->error;
    deflateEnd(&out->z);
    if (error)
        blv_aside_discard(&out->aside);
    else
        error = blv_aside_commit(&out->aside, out->why);
    free(out);
    return error;
}
