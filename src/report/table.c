#include "report/table.h"

#include "base/number_text.h"
#include "base/visible_text.h"
#include "report/html.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static char **new_row(report_table *table) {
    size_t columns = strlen(table->align);
    for (size_t i = 0; i < columns && !table->arena.failed; i++) {
        char **larger = (char **)blv_arena_grow(&table->arena, table->cells,
                                                table->rows * columns + i, sizeof *larger);
        table->cells = larger ? larger : table->cells;
    }
    return table->arena.failed ? NULL : table->cells + table->rows++ * columns;
}

void report_table_row(report_table *table, const char *const *cells) {
    char **row = new_row(table);
    for (size_t i = 0; row && table->align[i]; i++)
        row[i] = blv_arena_copy(&table->arena, cells[i] ? cells[i] : "-");
}

void report_table_add(report_table *table, const char *format, ...) {
    static const char between = '\x1f'; /* a text in a cell may have tabs */
    char *form = blv_arena_copy(&table->arena, format), *text = NULL, *end;
    for (char *tab = form; tab && (tab = strchr(tab, '\t'));)
        *tab = between;
    va_list values;
    va_start(values, format);
    if (form)
        text = blv_arena_vprint(&table->arena, form, values);
    va_end(values);
    char **row = text ? new_row(table) : NULL;
    for (size_t i = 0; row && table->align[i]; i++) {
        row[i] = text;
        if (table->align[i + 1] && (end = strchr(text, between))) {
            *end = '\0';
            text = end + 1;
        }
    }
}

/* A heading has a first cell and no others. */
void report_table_heading(report_table *table, const char *text) {
    char **row = new_row(table);
    for (size_t i = 0; row && table->align[i]; i++)
        row[i] = NULL;
    if (row)
        row[0] = blv_arena_copy(&table->arena, text);
}

static bool is_heading(char *const *cells, size_t columns) {
    return columns > 1 && !cells[1];
}

const char *report_number(blv_arena *arena, const char *format, double value) {
    // NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): a literal of the caller
    return isnan(value) ? NULL : blv_arena_print(arena, format, value);
}

/* Cells hold text from elsewhere: what a terminal would act on is shown. */
static void make_visible(report_table *table, size_t columns) {
    for (size_t i = 0; i < table->rows * columns; i++) {
        if (!table->cells[i] || blv_is_visible(table->cells[i]))
            continue;
        char *visible = blv_visible_copy(table->cells[i]);
        if (visible)
            table->cells[i] = blv_arena_copy(&table->arena, visible);
        table->arena.failed = table->arena.failed || !visible;
        free(visible);
    }
}

/* ---- Text ---- */

static int column_width(const report_table *table, size_t columns, size_t column) {
    size_t width = 0;
    for (size_t row = 0; row < table->rows; row++) {
        char *const *cells = table->cells + row * columns;
        size_t length = is_heading(cells, columns) ? 0 : strlen(cells[column]);
        width = length > width ? length : width;
    }
    return (int)width;
}

static void print_line(char *const *cells, const char *align, const int *width, FILE *out) {
    for (size_t i = 0; align[i]; i++) {
        bool last = !align[i + 1];
        if (align[i] == 'r')
            fprintf(out, "%*s%s", width[i], cells[i], last ? "" : "  ");
        else if (last)
            fputs(cells[i], out);
        else
            fprintf(out, "%-*s  ", width[i], cells[i]);
    }
}

static void print_text(report_table *table, size_t columns, int indent, FILE *out) {
    int *width = blv_arena_alloc(&table->arena, columns, sizeof *width);
    for (size_t i = 0; width && i < columns; i++)
        width[i] = column_width(table, columns, i);
    for (size_t row = 0; width && row < table->rows; row++) {
        char *const *cells = table->cells + row * columns;
        fprintf(out, "%*s", indent, "");
        if (is_heading(cells, columns))
            fputs(cells[0], out);
        else
            print_line(cells, table->align, width, out);
        fputc('\n', out);
    }
}

/* ---- Markdown and HTML ---- */

void report_markdown_text(FILE *out, const char *text) {
    bool quoted = false;
    for (; *text; text++) {
        quoted ^= *text == '`';
        bool tag = *text == '<' && (isalpha((unsigned char)text[1]) || text[1] == '/');
        if (*text == '|' || (!quoted && (tag || *text == '*' || *text == '\\')))
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void print_markdown(const report_table *table, size_t columns, FILE *out) {
    for (size_t row = 0; row < table->rows; row++) {
        fputc('|', out);
        for (size_t i = 0; i < columns; i++) {
            fputc(' ', out);
            report_markdown_text(out, table->cells[row * columns + i]);
            fputs(" |", out);
        }
        fputc('\n', out);
        for (size_t i = 0; row == 0 && i < columns; i++)
            fprintf(out, "%s %s |%s", i ? "" : "|", table->align[i] == 'r' ? "---:" : "---",
                    i + 1 < columns ? "" : "\n");
    }
}

static void print_html(const report_table *table, size_t columns, FILE *out) {
    for (size_t row = 0; row < table->rows; row++) {
        const char *const *cells = (const char *const *)(table->cells + row * columns);
        if (row == 0)
            report_html_table_begin(out, table->align, cells);
        else
            report_html_table_row(out, table->align, cells);
    }
    report_html_table_end(out);
}

blv_error report_table_print(report_table *table, report_form form, int indent, FILE *out) {
    size_t columns = strlen(table->align);
    if (form != REPORT_AS_HTML)
        make_visible(table, columns);
    if (!table->arena.failed && form == REPORT_AS_TEXT)
        print_text(table, columns, indent, out);
    else if (!table->arena.failed && form == REPORT_AS_MARKDOWN)
        print_markdown(table, columns, out);
    else if (!table->arena.failed)
        print_html(table, columns, out);
    blv_error error = table->arena.failed ? BLV_E_MEMORY : BLV_OK;
    report_table_free(table);
    return error;
}

void report_table_free(report_table *table) {
    blv_arena_free(&table->arena);
    *table = (report_table){.align = table->align};
}

/* ---- CSV ---- */

void report_csv_text(FILE *out, const char *before, const char *text) {
    bool plain = *text && !strpbrk(text, ",\"\r\n");
    fprintf(out, "%s%s", before, plain ? "" : "\"");
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputs(plain ? "" : "\"", out);
}

void report_csv_number(FILE *out, const char *before, double value) {
    char text[32] = "";
    if (!isnan(value))
        blv_number_format(value, text, sizeof text);
    fprintf(out, "%s%s", before, text);
}
