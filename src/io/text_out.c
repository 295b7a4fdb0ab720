#include "io/text_out.h"
#include "base/number_text.h"
#include "io/npz_private.h"

#include <errno.h>
#include <math.h>
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

static void write_bytes(blv_text_out *out, const void *bytes, size_t n) {
    errno = 0;
    if (out->error || n == 0 || out->write(out->context, bytes, n) == 0)
        return;
    out->error = errno ? blv_explain_errno(out->why, out->name, "write")
                       : blv_explain(out->why, BLV_E_FILE, "%s: the bytes were not taken",
                                     blv_shown_path(out->name));
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

/* The digits of whole / 10^places, without zeros at the end. */
static void put_decimal(blv_text_out *out, bool negative, uint64_t whole, int places) {
    char digits[40];
    size_t at = sizeof digits;
    for (; places > 0 && whole % 10 == 0; places--)
        whole /= 10;
    for (int n = 0; whole > 0 || n <= places; n++) {
        if (n == places && n > 0)
            digits[--at] = '.';
        digits[--at] = (char)('0' + whole % 10);
        whole /= 10;
    }
    if (negative)
        digits[--at] = '-';
    blv_text_out_put(out, digits + at, sizeof digits - at);
}

static bool reads_as(double read, double value, blv_precision precision) {
    return precision == BLV_F32 ? (float)read == (float)value : read == value;
}

/* Numbers of common size and few digits without printf: n / 10^k, which is right to the last bit
 * when both are whole numbers below 2^53, is what a reader makes of the digits. false where that
 * does not give the value. */
static bool put_short(blv_text_out *out, double value, blv_precision precision) {
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                   1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
    double size = fabs(value);
    if (!(size >= 1e-4 && size < 1e9)) {
        if (size > 0.0 || signbit(value))
            return false;
        put_decimal(out, false, 0, 0);
        return true;
    }
    int before = size < 1.0 ? -4 : 0; /* the power of ten of the first digit */
    while (size >= (before < 0 ? 1.0 / power[-before - 1] : power[before + 1]))
        before++;
    int least = precision == BLV_F32 ? 6 : 15, most = precision == BLV_F32 ? 9 : 15;
    for (int digits = least; digits <= most; digits++) {
        int places = digits - 1 - before;
        if (places < 0)
            continue;
        double whole = rint(size * power[places]);
        if (reads_as(whole / power[places], size, precision)) {
            put_decimal(out, value < 0.0, (uint64_t)whole, places);
            return true;
        }
    }
    return false;
}

void blv_text_out_number(blv_text_out *out, double value, blv_precision precision) {
    char text[40];
    if (put_short(out, value, precision))
        return;
    if (precision == BLV_F32)
        blv_number_format_f32((float)value, text, sizeof text);
    else
        blv_number_format(value, text, sizeof text);
    blv_text_out_string(out, text);
}

blv_error blv_text_out_close(blv_text_out *out) {
    flush(out, true);
    blv_error error = out->error;
    deflateEnd(&out->z);
    free(out);
    return error;
}
