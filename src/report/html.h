/* A web page that needs no other file: no script, nothing from elsewhere. Its parts are written to
 * a stream one after the other, from report_page_begin to report_page_end. The same parts without
 * begin and end are a fragment, which can be attached to a run under a name that ends in ".html":
 * `bilevel report` shows it. Errors of the stream are left to its owner. */
#pragma once

#include "bilevel/values.h"

#include <stddef.h>
#include <stdio.h>

void report_page_begin(FILE *out, const char *title);
void report_page_end(FILE *out);

/* Text with &, <, > and quotes escaped; fit for attributes in quotes as well. */
void report_html_text(FILE *out, const char *text);
/* <tag>text</tag> */
void report_html_element(FILE *out, const char *tag, const char *text);
/* The same of a format; at most 2047 bytes. */
void report_html_print(FILE *out, const char *tag, const char *format, ...) BLV_PRINTF(3, 4);

/* ---- Tables: wide ones can be moved sideways on a narrow screen ---- */

/* columns: "l" or "r" for each; titles NULL: no head. A cell that is NULL shows as "-". */
void report_html_table_begin(FILE *out, const char *columns, const char *const *titles);
void report_html_table_row(FILE *out, const char *columns, const char *const *cells);
void report_html_table_end(FILE *out);
/* A table of names and values; nothing where there are none. */
void report_html_values(FILE *out, const char *title, const blv_values *values);

/* ---- Pictures ---- */

typedef struct report_bytes {
    char *data; /* to be freed */
    size_t size;
} report_bytes;

/* An image within the page; type: "image/png", ... */
void report_html_image(FILE *out, const char *type, const void *bytes, size_t size,
                       const char *caption);
/* A drawing of gnuplot within the page. */
void report_html_drawing(FILE *out, const char *svg, const char *caption);
/* Bytes in base 64. */
void report_html_base64(FILE *out, const void *bytes, size_t size);

/* Rows of pixel values as a small picture. */
typedef struct report_picture {
    size_t width, height;
    size_t channels;      /* 1: gray, 3: RGB */
    bool planar;          /* all red values first, then green, then blue; else pixel by pixel */
    const double *values; /* width * height * channels of them, line after line */
    double low, high;     /* become black and white; what lies outside is cut off */
    const char *caption;
} report_picture;

/* A picture as a PNG file; its bytes are to be freed. */
blv_error report_picture_png(const report_picture *picture, report_bytes *file);
/* Writes a grid of pictures; as many beside each other as the screen has space for. */
blv_error report_contact_sheet(FILE *out, const report_picture *pictures, size_t count);
