#include "cli/text_table.h"
#include "cli_common.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 2, LINE_WIDTH = 90 };

static char *copy_of(const char *text) {
    size_t size = strlen(text) + 1;
    return memcpy(cli_alloc(size, 1), text, size);
}

static char **new_row(cli_table *table) {
    size_t columns = strlen(table->align), first = table->rows * columns;
    table->cells = cli_grow(table->cells, first + columns, sizeof table->cells[0]);
    table->rows++;
    return table->cells + first;
}

void cli_table_row(cli_table *table, const char *const *cells) {
    char **row = new_row(table);
    for (size_t i = 0; table->align[i]; i++)
        row[i] = copy_of(cells[i] ? cells[i] : "-");
}

void cli_table_add(cli_table *table, const char *format, ...) {
    static const char between[] = "\x1f"; /* a text in a cell may have tabs */
    char *cells = copy_of(format), *rest = NULL;
    for (char *tab = cells; (tab = strchr(tab, '\t'));)
        *tab = between[0];
    va_list values;
    va_start(values, format);
    /* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): it is the format with other tabs */
    int length = vasprintf(&rest, cells, values);
    va_end(values);
    free(cells);
    if (length < 0)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
    char **row = new_row(table), *all = rest;
    for (size_t i = 0; table->align[i]; i++)
        row[i] = copy_of(table->align[i + 1] ? strsep(&rest, between) : rest);
    free(all);
}

/* A heading has a first cell and no others. */
void cli_table_heading(cli_table *table, const char *text) {
    char **row = new_row(table);
    row[0] = copy_of(text);
    for (size_t i = 1; table->align[i]; i++)
        row[i] = NULL;
}

static bool is_heading(char *const *cells, size_t columns) {
    return columns > 1 && !cells[1];
}

static int column_width(const cli_table *table, size_t columns, size_t column) {
    size_t width = 0;
    for (size_t row = 0; row < table->rows; row++) {
        char *const *cells = table->cells + row * columns;
        size_t length = is_heading(cells, columns) ? 0 : strlen(cells[column]);
        width = length > width ? length : width;
    }
    return (int)width;
}

static void print_row(char *const *cells, const char *align, const int *width, FILE *out) {
    for (size_t i = 0; align[i]; i++) {
        bool last = !align[i + 1];
        if (align[i] == 'r')
            fprintf(out, "%*s%s", width[i], cells[i], last ? "" : "  ");
        else if (last)
            fputs(cells[i], out);
        else
            fprintf(out, "%-*s  ", width[i], cells[i]);
    }
    fputc('\n', out);
}

/* Between backquotes only bars have a meaning. */
static void print_markdown_text(const char *text, FILE *out) {
    bool quoted = false;
    for (; *text; text++) {
        quoted ^= *text == '`';
        bool tag = *text == '<' && (isalpha((unsigned char)text[1]) || text[1] == '/');
        if (*text == '|' || (!quoted && (tag || *text == '*' || *text == '\\')))
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void print_markdown_row(char *const *cells, size_t columns, bool title, FILE *out) {
    for (size_t i = 0; i < columns; i++) {
        fputs("| ", out);
        print_markdown_text(cells[i], out);
        fputc(' ', out);
    }
    fputs("|\n", out);
    for (size_t i = 0; title && i < columns; i++)
        fputs(i + 1 < columns ? "| --- " : "| --- |\n", out);
}

void cli_table_print(cli_table *table, int indent, FILE *out) {
    size_t columns = strlen(table->align);
    int *width = cli_alloc(columns, sizeof *width);
    for (size_t i = 0; i < columns; i++)
        width[i] = column_width(table, columns, i);
    for (size_t row = 0; row < table->rows; row++) {
        char **cells = table->cells + row * columns;
        fprintf(out, "%*s", indent, "");
        if (table->markdown)
            print_markdown_row(cells, columns, row == 0, out);
        else if (is_heading(cells, columns))
            fprintf(out, "%s\n", cells[0]);
        else
            print_row(cells, table->align, width, out);
    }
    free(width);
    cli_table_free(table);
}

void cli_table_free(cli_table *table) {
    size_t cells = table->rows * strlen(table->align);
    for (size_t i = 0; i < cells; i++)
        free(table->cells[i]);
    free(table->cells);
    *table = (cli_table){.align = table->align, .markdown = table->markdown};
}

void cli_print_params(const blv_param *params, const void *fields, bool markdown) {
    cli_table table = {.align = "llll", .markdown = markdown};
    const char *quote = markdown ? "`" : "";
    if (markdown)
        cli_table_add(&table, "parameter\tdefault\tallowed\tmeaning");
    else
        cli_table_add(&table, "KEY\t%s\tALLOWED\tMEANING", fields ? "VALUE" : "DEFAULT");
    for (const blv_param *p = params; p && p->key; p++) {
        char value[128] = "", range[256] = "";
        if (fields)
            blv_params_format(p, fields, value, sizeof value);
        blv_params_range(p, range, sizeof range);
        cli_table_add(&table, "%s%s%s\t%s%s%s\t%s\t%s", quote, p->key, quote, quote,
                      fields ? value : p->value, quote, range, p->help);
    }
    cli_table_print(&table, markdown ? 0 : INDENT, stdout);
}

int cli_print_word(int column, const char *word) {
    if (column > 0 && column + 2 + (int)strlen(word) > LINE_WIDTH) {
        putchar('\n');
        column = 0;
    }
    return column + printf("%s%s", column > 0 ? ", " : "  ", word);
}
