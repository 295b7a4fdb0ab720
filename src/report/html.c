#include "report/html.h"

#include "base/text_stream.h"
#include "store/record.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* The policy keeps a fragment that was attached from running scripts and from loading anything. */
static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
    "style-src 'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";

static const char style[] = "<style>\n"
#include "report/page.css.inc"
                            "</style>\n";

void report_html_text(FILE *out, const char *text) {
    static const char special[] = "&<>\"'";
    static const char *const escaped[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    for (; *text; text++) {
        const char *found = strchr(special, *text);
        if (found)
            fputs(escaped[found - special], out);
        else
            fputc((unsigned char)*text < ' ' && *text != '\n' ? ' ' : *text, out);
    }
}

void report_html_element(FILE *out, const char *tag, const char *text) {
    fprintf(out, "<%s>", tag);
    report_html_text(out, text);
    fprintf(out, "</%s>\n", tag);
}

void report_html_print(FILE *out, const char *tag, const char *format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    report_html_element(out, tag, text);
}

void report_page_begin(FILE *out, const char *title) {
    fputs(head, out);
    report_html_element(out, "title", title);
    fputs(style, out);
    fputs("</head>\n<body>\n", out);
}

void report_page_end(FILE *out) {
    fputs("</body>\n</html>\n", out);
}

/* ---- Tables ---- */

static void put_row(FILE *out, const char *tag, const char *columns, const char *const *cells) {
    fputs("<tr>", out);
    for (size_t i = 0; columns[i]; i++) {
        fprintf(out, columns[i] == 'r' ? "<%s class=\"r\">" : "<%s>", tag);
        report_html_text(out, cells[i] ? cells[i] : "-");
        fprintf(out, "</%s>", tag);
    }
    fputs("</tr>\n", out);
}

void report_html_table_begin(FILE *out, const char *columns, const char *const *titles) {
    fputs("<div class=\"wide\"><table>\n", out);
    if (titles)
        put_row(out, "th", columns, titles);
}

void report_html_table_row(FILE *out, const char *columns, const char *const *cells) {
    put_row(out, "td", columns, cells);
}

void report_html_table_end(FILE *out) {
    fputs("</table></div>\n", out);
}

void report_html_values(FILE *out, const char *title, const blv_values *values) {
    if (values->count == 0)
        return;
    report_html_element(out, "h3", title);
    report_html_table_begin(out, "ll", NULL);
    for (size_t i = 0; i < values->count; i++) {
        char text[BLV_SHOWN_SIZE];
        blv_value_show(&values->items[i], text);
        report_html_table_row(out, "ll", (const char *[]){values->items[i].name, text});
    }
    report_html_table_end(out);
}

/* ---- Pictures ---- */

void report_html_base64(FILE *out, const void *bytes, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *b = bytes;
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        unsigned long word = (unsigned long)b[i] << 16 |
                             (left > 1 ? (unsigned long)b[i + 1] << 8 : 0) |
                             (left > 2 ? (unsigned long)b[i + 2] : 0);
        fputc(digits[word >> 18 & 63], out);
        fputc(digits[word >> 12 & 63], out);
        fputc(left > 1 ? digits[word >> 6 & 63] : '=', out);
        fputc(left > 2 ? digits[word & 63] : '=', out);
    }
}

static void put_caption(FILE *out, const char *caption) {
    if (caption && *caption)
        report_html_element(out, "figcaption", caption);
}

void report_html_image(FILE *out, const char *type, const void *bytes, size_t size,
                       const char *caption) {
    fputs("<figure><img alt=\"", out);
    report_html_text(out, caption ? caption : "");
    fprintf(out, "\" src=\"data:%s;base64,", type);
    report_html_base64(out, bytes, size);
    fputs("\">", out);
    put_caption(out, caption);
    fputs("</figure>\n", out);
}

/* In a page a drawing needs no name spaces, no size of its own, and none of the marks that gnuplot
 * defines for points: their names would be there once for each drawing. */
void report_html_drawing(FILE *out, const char *svg, const char *caption) {
    static const char canvas[] = "<g id=\"gnuplot_canvas\">";
    const char *root = strstr(svg, "<svg"), *box = root ? strstr(root, "viewBox=\"") : NULL;
    const char *start = box ? strstr(box, canvas) : NULL;
    if (!start)
        return;
    const char *marks = strstr(start, "<defs>"), *after = strstr(start, "</defs>");
    int box_length = (int)strcspn(box + strlen("viewBox=\""), "\"");
    fprintf(out, "<figure><svg viewBox=\"%.*s\" role=\"img\" aria-label=\"", box_length,
            box + strlen("viewBox=\""));
    report_html_text(out, caption ? caption : "");
    fputs("\">\n<g>", out);
    start += strlen(canvas);
    if (marks && after) {
        fwrite(start, 1, (size_t)(marks - start), out);
        start = after + strlen("</defs>");
    }
    /* each curve has an id and a title of gnuplot's own, alike in every drawing */
    for (const char *id; (id = strstr(start, "<g id=\"gnuplot_plot_"));) {
        const char *end = strstr(id, "</title>");
        if (!end)
            break;
        fwrite(start, 1, (size_t)(id - start), out);
        fputs("<g class=\"curve\">", out);
        start = end + strlen("</title>");
    }
    fputs(start, out);
    put_caption(out, caption);
    fputs("</figure>\n", out);
}

/* ---- Rows as pictures ----
 *
 * PNG: a signature, then chunks of length, name, data and checksum. Each line of pixels begins with
 * the number of its filter, 0: none. */

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
