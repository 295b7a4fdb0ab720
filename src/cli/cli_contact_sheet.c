/* PNG: a signature, then chunks of length, name, data and checksum. Each line of pixels begins with
 * the number of its filter, 0: none. */
#include "cli_contact_sheet.h"
#include "cli_common.h"
#include "cli_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void put_number(unsigned char *at, unsigned long number) {
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(number >> (24 - 8 * i) & 255);
}

static void add_bytes(cli_bytes *file, const void *bytes, size_t size) {
    file->data = cli_grow(file->data, file->size + size + 1, 1);
    if (size > 0)
        memcpy(file->data + file->size, bytes, size);
    file->size += size;
    file->data[file->size] = '\0';
}

static void add_chunk(cli_bytes *file, const char *name, const void *bytes, size_t size) {
    unsigned char length[4], checksum[4];
    const unsigned char *data = bytes ? bytes : (const unsigned char *)"";
    unsigned long crc = crc32(0, (const unsigned char *)name, 4);
    put_number(length, (unsigned long)size);
    put_number(checksum, crc32(crc, data, (uInt)size));
    add_bytes(file, length, sizeof length);
    add_bytes(file, name, 4);
    add_bytes(file, data, size);
    add_bytes(file, checksum, sizeof checksum);
}

static unsigned char shade(double value, double low, double high) {
    double share = high > low ? (value - low) / (high - low) : 0.0;
    return (unsigned char)lround(255.0 * (share > 0.0 ? fmin(share, 1.0) : 0.0)); /* NaN: black */
}

static void fill_line(unsigned char *line, const cli_picture *p, size_t y) {
    *line++ = 0;
    for (size_t x = 0; x < p->width; x++)
        for (size_t c = 0; c < p->channels; c++) {
            size_t pixel = y * p->width + x;
            size_t at = p->planar ? c * p->width * p->height + pixel : pixel * p->channels + c;
            *line++ = shade(p->values[at], p->low, p->high);
        }
}

cli_bytes cli_picture_png(const cli_picture *p) {
    static const unsigned char signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    enum { HEADER = 13, BITS = 8, GRAY = 0, RGB = 2 };
    unsigned char header[HEADER] = {0};
    put_number(header, (unsigned long)p->width);
    put_number(header + 4, (unsigned long)p->height);
    header[8] = BITS;
    header[9] = p->channels == 3 ? RGB : GRAY;

    size_t line = 1 + p->width * p->channels, size = line * p->height;
    unsigned char *lines = cli_alloc(size, 1);
    for (size_t y = 0; y < p->height; y++)
        fill_line(lines + y * line, p, y);
    uLongf packed_size = compressBound(size);
    unsigned char *packed = cli_alloc(packed_size, 1);
    bool well = compress2(packed, &packed_size, lines, size, Z_BEST_COMPRESSION) == Z_OK;
    free(lines);
    if (!well) {
        free(packed);
        exit(cli_refuse(BLV_E_MEMORY, NULL));
    }

    cli_bytes file = {0};
    add_bytes(&file, signature, sizeof signature);
    add_chunk(&file, "IHDR", header, sizeof header);
    add_chunk(&file, "IDAT", packed, packed_size);
    add_chunk(&file, "IEND", NULL, 0);
    free(packed);
    return file;
}

void cli_contact_sheet(FILE *out, const cli_picture *pictures, size_t count) {
    fputs("<div class=\"sheet\">\n", out);
    for (size_t i = 0; i < count; i++) {
        cli_bytes png = cli_picture_png(&pictures[i]);
        cli_html_image(out, "image/png", png.data, png.size, pictures[i].caption);
        free(png.data);
    }
    fputs("</div>\n", out);
}
