/* Records of CSV files: fields split where they lie.
 *
 * A field in quotes may hold delimiters, newlines and doubled quotes. When a record is not complete
 * in the text read so far, more is asked for and the record is split again from its start; the text
 * is changed (doubled quotes) only once a record is complete. */
#include "data/csv.h"
#include "base/number_text.h"
#include "data/arff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_blank(char c, char delimiter) {
    return (unsigned char)c <= ' ' && (c == ' ' || c == '\t' || c == '\r') && c != delimiter;
}

/* ---- The delimiter ---- */

/* Counts a character outside of quotes in the line at p; returns where the line ends. */
static const char *count_in_line(const char *p, const char *end, char wanted, size_t *count) {
    bool quoted = false;
    *count = 0;
    for (; p < end && (quoted || *p != '\n'); p++) {
        if (*p == '"')
            quoted = !quoted;
        *count += !quoted && *p == wanted;
    }
    return p;
}

/* Whether the first lines have the character in equal number, which is *count of the first. */
static bool is_equal(const char *text, const char *end, char wanted, size_t *first) {
    enum { LINES = 10 };
    size_t lines = 0;
    bool equal = true;
    *first = 0;
    for (const char *p = text; p < end && lines < LINES;) {
        size_t count;
        const char *line = p;
        const char *stop = count_in_line(p, end, wanted, &count);
        p = stop < end ? stop + 1 : end;
        if (stop == line || (stop == end && lines > 0))
            continue; /* empty, or perhaps cut off */
        if (lines++ == 0)
            *first = count;
        equal = equal && count == *first;
    }
    return equal && *first > 0;
}

/* Whether a field of the first line, between delimiters, is a number with a decimal comma. */
static bool has_decimal_comma(const char *p, const char *end, char delimiter) {
    const char *const stop = memchr(p, '\n', (size_t)(end - p));
    end = stop ? stop : end;
    while (p < end) {
        const char *next = memchr(p, delimiter, (size_t)(end - p));
        const char *const field_end = next ? next : end;
        char text[64];
        double value;
        size_t n = 0;
        for (; p < field_end && n < sizeof text - 1; p++)
            if (!strchr("\" \r", *p))
                text[n++] = *p;
        if (memchr(text, ',', n) && blv_comma_number(text, n, &value))
            return true;
        p = field_end + 1;
    }
    return false;
}

/* The first of tab, semicolon and comma that the first lines have in equal number; 0: none. Commas
 * that are more than the others, and not those of numbers, are no part of the fields. */
static char equal_delimiter(const char *text, const char *end) {
    size_t commas, first;
    const bool equal_commas = is_equal(text, end, ',', &commas);
    for (const char *c = "\t;,"; *c; c++)
        if (is_equal(text, end, *c, &first) &&
            !(equal_commas && commas > first && !has_decimal_comma(text, end, *c)))
            return *c;
    return '\0';
}

/* Failing all lines those below the first, which may be a title; failing that, what the first line
 * has most of, or blanks where it has some. */
static char find_delimiter(const char *text, const char *end) {
    const char *second = memchr(text, '\n', (size_t)(end - text));
    const char *third = second ? memchr(second + 1, '\n', (size_t)(end - second - 1)) : NULL;
    char found = equal_delimiter(text, end);
    if (!found && third && third + 1 < end)
        found = equal_delimiter(second + 1, end);
    if (found)
        return found;
    size_t most = 0, count;
    count_in_line(text, end, ' ', &count);
    found = count > 0 ? ' ' : ',';
    for (const char *c = "\t;,"; *c; c++) {
        count_in_line(text, end, *c, &count);
        if (count > most) {
            most = count;
            found = *c;
        }
    }
    return found;
}

/* Whether all lines but the first end in a delimiter, and it does as well or has one fewer: no
 * field is behind it. Where it has as many, its last column has a name and no values. */
static bool ends_in_delimiter(const char *text, const char *end, char delimiter) {
    size_t first = 0, lines = 0;
    bool first_ends = false;
    for (const char *p = text, *stop; p < end; p = stop + 1) {
        size_t count;
        stop = count_in_line(p, end, delimiter, &count);
        if (stop == end && lines > 1) /* perhaps cut off */
            break;
        const char *last = stop;
        while (last > p && last[-1] == '\r')
            last--;
        if (last == p)
            continue;
        const bool ends = last[-1] == delimiter;
        if (lines++ == 0) {
            first = count;
            first_ends = ends;
        } else if (!ends || count != first + !first_ends) {
            return false;
        }
    }
    return lines > 1 && first + !first_ends > 1;
}

/* ---- Opening and closing ---- */

blv_error blv_csv_open(blv_csv *csv, blv_input *input, blv_message *why) {
    const unsigned char *bytes = NULL;
    size_t count = 0;
    *csv = (blv_csv){.input = input, .why = why, .next_line = 1};
    blv_error error = blv_input_peek(input, &bytes, &count, why);
    if (!error && count > 0) {
        const char *text = (const char *)bytes, *text_end = text + count;
        csv->delimiter = find_delimiter(text, text_end);
        csv->trailing = csv->delimiter != ' ' && ends_in_delimiter(text, text_end, csv->delimiter);
        const unsigned char *end = memchr(bytes, '\r', count);
        if (end && end + 1 < bytes + count && !memchr(bytes, '\n', count))
            return blv_explain(why, BLV_E_FORMAT,
                               "%s: line 1: its end is a carriage return alone; expected a newline",
                               blv_shown_path(blv_input_path(input)));
    }
    return error;
}

void blv_csv_close(blv_csv *csv) {
    free(csv->room.items);
    blv_arff_close(csv->arff);
    *csv = (blv_csv){0};
}

/* ---- Records ---- */

static blv_error reject(const blv_csv *csv, size_t line, const char *problem) {
    return blv_explain(csv->why, BLV_E_FORMAT, "%s: line %zu: %s",
                       blv_shown_path(blv_input_path(csv->input)), line, problem);
}

blv_csv_field *blv_csv_add_field(blv_csv *csv) {
    csv->room.count = csv->count;
    if (csv->count == csv->room.capacity && !blv_list_room(&csv->room, 1, sizeof *csv->fields))
        return NULL;
    csv->fields = csv->room.items;
    csv->fields[csv->count] = (blv_csv_field){0};
    return &csv->fields[csv->count++];
}

/* The field in quotes at p. Returns where it ends: at a delimiter or newline; NULL when it is not
 * complete. */
static char *split_quoted(blv_csv *csv, char *p, blv_csv_field *field, size_t *line) {
    field->text = ++p;
    field->quoted = true;
    for (; p < csv->end; p++) {
        if (*p == '\n')
            ++*line;
        if (*p != '"')
            continue;
        if (p[1] != '"') /* the text ends with a newline, so there is a next byte */
            break;
        field->doubled = csv->doubled = true;
        p++;
    }
    if (p >= csv->end)
        return NULL;
    field->length = (size_t)(p - field->text);
    for (p++; is_blank(*p, csv->delimiter);)
        p++;
    return p;
}

/* Most fields are numbers, whose end is found as they are read. */
static bool split_number(char delimiter, char *p, blv_csv_field *field) {
    if ((unsigned char)(*p - '0') > 9 && *p != '-')
        return false;
    const char *stop = blv_decimal(p, &field->value);
    if (!stop || (*stop != delimiter && *stop != '\n') || !isfinite(field->value))
        return false;
    field->number = true;
    field->text = p;
    field->length = (size_t)(stop - p);
    return true;
}

static char *split_plain(char delimiter, char *p, blv_csv_field *field) {
    if (split_number(delimiter, p, field))
        return p + field->length;
    char *const text = p;
    while (*p != delimiter && *p != '\n')
        p++;
    char *stop = p;
    while (stop > text && is_blank(stop[-1], delimiter))
        stop--;
    field->text = text;
    field->length = (size_t)(stop - text);
    return p;
}

/* Carriage returns are at the end of a line or in quotes. */
static blv_error check_returns(const blv_csv *csv) {
    const char *const end = csv->cursor - 1;
    for (const char *p = csv->start; (p = memchr(p, '\r', (size_t)(end - p))); p++) {
        if (p + strspn(p, "\r ") == end)
            return BLV_OK;
        size_t i = 0;
        while (i < csv->count && !(csv->fields[i].quoted && p >= csv->fields[i].text &&
                                   p < csv->fields[i].text + csv->fields[i].length))
            i++;
        if (i == csv->count)
            return reject(csv, csv->line,
                          "a carriage return alone inside of it; expected a newline behind it");
    }
    return BLV_OK;
}

/* No field is behind a delimiter that ends every line. */
static void drop_last(blv_csv *csv) {
    const blv_csv_field *last = &csv->fields[csv->count - 1];
    csv->count -= csv->count > 1 && last->length == 0 && !last->quoted;
}

/* Splits the record at csv->cursor. *incomplete: it continues after the text read so far. */
static blv_error split(blv_csv *csv, bool *incomplete) {
    const char delimiter = csv->delimiter;
    char *p = csv->cursor;
    size_t line = csv->next_line, count = 0;
    *incomplete = false;
    csv->doubled = false;
    csv->line = line;
    csv->start = p;
    for (;; p++) {
        csv->room.count = count;
        if (count == csv->room.capacity && !blv_list_room(&csv->room, 1, sizeof *csv->fields))
            return blv_explain_memory(csv->why);
        blv_csv_field *field = (blv_csv_field *)csv->room.items + count;
        field->doubled = field->quoted = field->number = field->level = false;
        while (is_blank(*p, delimiter) || (*p == ' ' && count == 0))
            p++;
        count++;
        size_t quote_line = line;
        p = *p == '"' ? split_quoted(csv, p, field, &line) : split_plain(delimiter, p, field);
        if (!p) {
            *incomplete = true;
            return csv->last ? reject(csv, quote_line, "the quote opened here is never closed")
                             : BLV_OK;
        }
        if (*p == ' ' && delimiter == ' ') { /* one or many of them are alike */
            p += strspn(p, " ");
            p += *p == '\r' && p[1] == '\n';
            p -= *p != '\n';
        }
        if (*p == '\n')
            break;
        if (*p != delimiter)
            return reject(csv, line,
                          "expected a delimiter or the line's end after a closing quote");
    }
    csv->fields = csv->room.items;
    csv->count = count;
    csv->cursor = p + 1;
    csv->next_line = line + 1;
    return BLV_OK;
}

blv_error blv_csv_split(blv_csv *csv, char *text, size_t length) {
    bool incomplete;
    csv->cursor = text;
    csv->end = text + length;
    BLV_CHECK(split(csv, &incomplete));
    return incomplete ? blv_explain(csv->why, BLV_E_FORMAT, "a quote is never closed") : BLV_OK;
}

static void make_quotes_single(blv_csv_field *field) {
    size_t n = 0;
    for (size_t i = 0; i < field->length; i++) {
        field->text[n++] = field->text[i];
        if (field->text[i] == '"')
            i++;
    }
    field->length = n;
    field->doubled = false;
}

blv_error blv_csv_next(blv_csv *csv) {
    if (csv->arff)
        return blv_arff_next(csv);
    do {
        bool incomplete = csv->cursor == csv->end;
        if (!incomplete)
            BLV_CHECK(split(csv, &incomplete));
        if (incomplete) {
            BLV_CHECK(blv_input_lines(csv->input, csv->cursor, &csv->cursor, &csv->end, &csv->last,
                                      csv->why));
            csv->count = 0;
            if (csv->cursor == csv->end)
                return BLV_OK;
            csv->returns = memchr(csv->cursor, '\r', (size_t)(csv->end - csv->cursor));
        }
    } while (csv->count == 0 || (csv->count == 1 && csv->fields[0].length == 0));
    if (csv->returns)
        BLV_CHECK(check_returns(csv));
    if (csv->trailing)
        drop_last(csv);
    for (size_t i = 0; csv->doubled && i < csv->count; i++)
        if (csv->fields[i].doubled)
            make_quotes_single(&csv->fields[i]);
    return BLV_OK;
}
