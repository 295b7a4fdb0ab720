#include "cli_page.h"
#include "cli_json.h"

#include <string.h>

/* The policy keeps a fragment that was attached from running scripts and from loading anything. */
static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
    "style-src 'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";

static const char style[] =
    "<style>\n"
    "body{font:16px/1.5 system-ui,sans-serif;color:#222;background:#fff;max-width:60rem;"
    "margin:0 auto;padding:1rem;overflow-wrap:anywhere}\n"
    "h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2rem;border-bottom:1px solid #ccc}"
    "h3{font-size:1.05rem}\n"
    "pre{background:#f5f5f5;padding:.6rem;overflow-x:auto}\n"
    "code{background:#f5f5f5}\n"
    ".wide{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-size:.9rem}\n"
    "th,td{padding:.2rem .6rem;text-align:left;border-bottom:1px solid #e5e5e5;"
    "vertical-align:top;overflow-wrap:normal}\n"
    ".r{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\n"
    "figure{margin:1rem 0}figcaption{font-size:.9rem;color:#555}\n"
    "figure svg,figure img{width:100%;height:auto;max-width:760px}\n"
    ".sheet{display:grid;grid-template-columns:repeat(auto-fill,minmax(5.5rem,1fr));gap:.6rem}\n"
    ".sheet figure{margin:0}.sheet img{width:100%;image-rendering:pixelated}\n"
    ".answer{border-left:4px solid #228833;padding-left:.8rem}\n"
    "details{margin:.5rem 0}summary{cursor:pointer}\n"
    "footer{margin-top:2rem;font-size:.85rem;color:#555}\n"
    "</style>\n";

void cli_html_text(FILE *out, const char *text) {
    for (; *text; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            fputc((unsigned char)*text < ' ' && *text != '\n' ? ' ' : *text, out);
        }
    }
}

void cli_html_element(FILE *out, const char *tag, const char *text) {
    fprintf(out, "<%s>", tag);
    cli_html_text(out, text);
    fprintf(out, "</%s>\n", tag);
}

void cli_html_heading(FILE *out, int level, const char *text) {
    char tag[] = {'h', (char)('0' + level), '\0'};
    cli_html_element(out, tag, text);
}

void cli_page_begin(FILE *out, const char *title) {
    fputs(head, out);
    cli_html_element(out, "title", title);
    fputs(style, out);
    fputs("</head>\n<body>\n", out);
}

void cli_page_end(FILE *out) {
    fputs("</body>\n</html>\n", out);
}

/* ---- Tables ---- */

static void put_row(FILE *out, const char *tag, const char *columns, const char *const *cells) {
    fputs("<tr>", out);
    for (size_t i = 0; columns[i]; i++) {
        fprintf(out, columns[i] == 'r' ? "<%s class=\"r\">" : "<%s>", tag);
        cli_html_text(out, cells[i] ? cells[i] : "-");
        fprintf(out, "</%s>", tag);
    }
    fputs("</tr>\n", out);
}

void cli_html_table_begin(FILE *out, const char *columns, const char *const *titles) {
    fputs("<div class=\"wide\"><table>\n", out);
    if (titles)
        put_row(out, "th", columns, titles);
}

void cli_html_table_row(FILE *out, const char *columns, const char *const *cells) {
    put_row(out, "td", columns, cells);
}

void cli_html_table_end(FILE *out) {
    fputs("</table></div>\n", out);
}

void cli_html_values(FILE *out, const char *title, json_t *values) {
    const char *name;
    json_t *value;
    if (json_object_size(values) == 0)
        return;
    cli_html_element(out, "h3", title);
    cli_html_table_begin(out, "ll", NULL);
    json_object_foreach(values, name, value) {
        char text[CLI_VALUE_SIZE];
        cli_value_text(value, text);
        cli_html_table_row(out, "ll", (const char *[]){name, text});
    }
    cli_html_table_end(out);
}

/* ---- Pictures ---- */

void cli_html_base64(FILE *out, const void *bytes, size_t size) {
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
        cli_html_element(out, "figcaption", caption);
}

void cli_html_image(FILE *out, const char *type, const void *bytes, size_t size,
                    const char *caption) {
    fputs("<figure><img alt=\"", out);
    cli_html_text(out, caption ? caption : "");
    fprintf(out, "\" src=\"data:%s;base64,", type);
    cli_html_base64(out, bytes, size);
    fputs("\">", out);
    put_caption(out, caption);
    fputs("</figure>\n", out);
}

/* In a page a drawing needs no name spaces, no size of its own, and none of the marks that gnuplot
 * defines for points: their names would be there once for each drawing. */
void cli_html_drawing(FILE *out, const char *svg, const char *caption) {
    static const char canvas[] = "<g id=\"gnuplot_canvas\">";
    const char *root = strstr(svg, "<svg"), *box = root ? strstr(root, "viewBox=\"") : NULL;
    const char *start = box ? strstr(box, canvas) : NULL;
    if (!start)
        return;
    const char *marks = strstr(start, "<defs>"), *after = strstr(start, "</defs>");
    int box_length = (int)strcspn(box + strlen("viewBox=\""), "\"");
    fprintf(out, "<figure><svg viewBox=\"%.*s\" role=\"img\" aria-label=\"", box_length,
            box + strlen("viewBox=\""));
    cli_html_text(out, caption ? caption : "");
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
