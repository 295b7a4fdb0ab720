/* PNG: a signature, then chunks of length, name, data and checksum. Each line of pixels begins with
 * the number of its filter, 0: none. */
#include "base/text_stream.h"
#include "bilevel/status.h"
#include "report/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void put_number(unsigned char *at, unsigned long number) {
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(number >> (24 - 8 * i) & 255);
}

static void add_chunk(FILE *file, const char *name, const void *bytes, size_t size) {
    unsigned char length[4], checksum[4];
    unsigned long crc = crc32(0, (const unsigned char *)name, 4);
    put_number(length, (unsigned long)size);
    put_number(checksum, crc32(crc, bytes, (uInt)size));
    fwrite(length, 1, sizeof length, file);
    fputs(name, file);
    fwrite(bytes, 1, size, file);
    fwrite(checksum, 1, sizeof checksum, file);
}

static unsigned char shade(double value, double low, double high) {
    double share = high > low ? (value - low) / (high - low) : 0.0;
    return (unsigned char)lround(255.0 * (share > 0.0 ? fmin(share, 1.0) : 0.0)); /* NaN: black */
}

static void fill_line(unsigned char *line, const report_picture *p, size_t y) {
    *line++ = 0;
    for (size_t x = 0; x < p->width; x++)
        for (size_t c = 0; c < p->channels; c++) {
            size_t pixel = y * p->width + x;
            size_t at = p->planar ? c * p->width * p->height + pixel : pixel * p->channels + c;
            *line++ = shade(p->values[at], p->low, p->high);
        }
}

/* The pixels of all lines, packed; to be freed, NULL where memory is short. */
static unsigned char *pack_lines(const report_picture *p, uLongf *packed_size) {
    size_t line = 1 + p->width * p->channels, size = line * p->height;
    *packed_size = compressBound(size);
    unsigned char *lines = malloc(size > 0 ? size : 1), *packed = malloc(*packed_size);
    for (size_t y = 0; lines && y < p->height; y++)
        fill_line(lines + y * line, p, y);
    if (!lines || !packed ||
        compress2(packed, packed_size, lines, size, Z_BEST_COMPRESSION) != Z_OK) {
        free(packed);
        packed = NULL;
    }
    free(lines);
    return packed;
}

blv_error report_picture_png(const report_picture *p, report_bytes *png) {
    enum { HEADER = 13, BITS = 8, GRAY = 0, RGB = 2 };
    unsigned char header[HEADER] = {0};
    put_number(header, (unsigned long)p->width);
    put_number(header + 4, (unsigned long)p->height);
    header[8] = BITS;
    header[9] = p->channels == 3 ? RGB : GRAY;

    uLongf packed_size = 0;
    unsigned char *packed = pack_lines(p, &packed_size);
    blv_text_stream text = {0};
    FILE *file = packed ? blv_text_open(&text) : NULL;
    if (file) {
        fputs("\x89PNG\r\n\x1a\n", file);
        add_chunk(file, "IHDR", header, sizeof header);
        add_chunk(file, "IDAT", packed, packed_size);
        add_chunk(file, "IEND", "", 0);
    }
    free(packed);
    png->data = blv_text_close(&text);
    png->size = text.size;
    return png->data ? BLV_OK : BLV_E_MEMORY;
}

blv_error report_contact_sheet(FILE *out, const report_picture *pictures, size_t count) {
    fputs("<div class=\"sheet\">\n", out);
    for (size_t i = 0; i < count; i++) {
        report_bytes png;
        BLV_CHECK(report_picture_png(&pictures[i], &png));
        report_html_image(out, "image/png", png.data, png.size, pictures[i].caption);
        free(png.data);
    }
    fputs("</div>\n", out);
    return BLV_OK;
}
