#include "report/html.h"

#include "store/record.h"

#include <stdarg.h>
#include <string.h>

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
