/* A web page that stands alone: no script, nothing from elsewhere. Its parts are written one after
 * the other to a stream:
 *
 *     cli_page_begin(out, "title");
 *     cli_html_heading(out, 2, "Rows that look wrong");
 *     cli_contact_sheet(out, pictures, count);        cli_contact_sheet.h
 *     cli_page_end(out);
 *
 * The same parts without begin and end are a fragment, which can be attached to a run under a name
 * that ends in ".html": `bilevel report` shows it. */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

void cli_page_begin(FILE *out, const char *title);
void cli_page_end(FILE *out);

/* Text with &, <, > and quotes escaped; fit for attributes in quotes as well. */
void cli_html_text(FILE *out, const char *text);
/* <tag>text</tag> */
void cli_html_element(FILE *out, const char *tag, const char *text);
void cli_html_heading(FILE *out, int level, const char *text);

/* ---- Tables: wide ones can be moved sideways on a narrow screen ---- */

/* columns: "l" or "r" for each; titles NULL: no head. */
void cli_html_table_begin(FILE *out, const char *columns, const char *const *titles);
void cli_html_table_row(FILE *out, const char *columns, const char *const *cells);
void cli_html_table_end(FILE *out);
/* A table of names and values; nothing where the object has none. */
void cli_html_values(FILE *out, const char *title, json_t *values);

/* ---- Pictures ---- */

/* An image within the page; type: "image/png", ... */
void cli_html_image(FILE *out, const char *type, const void *bytes, size_t size,
                    const char *caption);
/* A drawing of gnuplot within the page. */
void cli_html_drawing(FILE *out, const char *svg, const char *caption);
/* Bytes in base 64. */
void cli_html_base64(FILE *out, const void *bytes, size_t size);

#endif
