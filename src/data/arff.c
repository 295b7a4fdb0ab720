/* Lines are parsed where they lie:
 *
 *     % comment
 *     @relation 'name'
 *     @attribute 'petal length' numeric          numeric, real, integer, string, date "format"
 *     @attribute class {setosa, 'other kind'}
 *     @data
 *     5.1, ?, setosa                             values between commas or tabs; ? is missing
 *     {0 5.1, 2 'other kind'}                    sparse: places from 0, ascending
 *
 * Names and values may be in quotes of either sort, with \ before characters that would end them.
 */
#include "data/arff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static blv_error reject(const blv_csv *csv, const char *expected, const char *found,
                        size_t length) {
    return blv_explain(csv->why, BLV_E_FORMAT, "%s: line %zu: expected %s, found %s",
                       blv_shown_path(blv_input_path(csv->input)), csv->line, expected,
                       blv_show(found, length).text);
}

static size_t rest_of(const char *p) {
    return strcspn(p, "\r\n");
}

static char *skip_blanks(char *p) {
    return p + strspn(p, " \t\r");
}

/* The next line that is neither empty nor a comment; NULL: none. Lines end in a newline. */
static blv_error next_line(blv_csv *csv, char **line) {
    for (*line = NULL; !*line;) {
        if (csv->cursor == csv->end) {
            BLV_CHECK(blv_input_lines(csv->input, csv->cursor, &csv->cursor, &csv->end, &csv->last,
                                      csv->why));
            if (csv->cursor == csv->end)
                return BLV_OK;
        }
        csv->line = csv->next_line++;
        char *newline = memchr(csv->cursor, '\n', (size_t)(csv->end - csv->cursor));
        if (memchr(csv->cursor, 0, (size_t)(newline - csv->cursor)))
            return reject(csv, "text", "a zero byte", 11);
        const char *alone = memchr(csv->cursor, '\r', (size_t)(newline - csv->cursor));
        if (alone && alone + strspn(alone, "\r ") != newline)
            return reject(csv, "text", "a carriage return", 17);
        char *p = skip_blanks(csv->cursor);
        if (*p != '\n' && *p != '%')
            *line = p;
        csv->cursor = newline + 1;
    }
    return BLV_OK;
}

/* The word at *p, in quotes or up to one of the characters in `ends` or a newline; *p is moved
 * behind it. Quotes and backslashes are taken away in place. */
static blv_error take_word(const blv_csv *csv, char **p, const char *ends, blv_csv_field *word) {
    char *from = *p, *to = from, quote = *from;
    *word = (blv_csv_field){.text = from};
    if (quote != '\'' && quote != '"') {
        word->length = strcspn(from, ends);
        *p = from + word->length;
        while (word->length > 0 && strchr(" \t\r", from[word->length - 1]))
            word->length--;
        return BLV_OK;
    }
    for (from++; *from != quote; from++) {
        if (*from == '\\' && from[1] != '\n')
            from++;
        if (*from == '\n')
            return reject(csv, "a closing quote", *p, rest_of(*p));
        *to++ = *from;
    }
    word->length = (size_t)(to - word->text);
    *p = from + 1;
    word->quoted = true;
    *to = '\n'; /* behind the text is what cannot belong to a number */
    return BLV_OK;
}

/* ---- The header ---- */

static blv_error take_levels(const blv_csv *csv, blv_attribute *a, char *p) {
    do {
        blv_csv_field word;
        p = skip_blanks(p + 1);
        BLV_CHECK(take_word(csv, &p, ",}\n", &word));
        if (word.length == 0 && !word.quoted)
            return reject(csv, "a value of the attribute", p, rest_of(p));
        if (blv_texts_number(&a->levels, word.text, word.length) < 0)
            return blv_explain_memory(csv->why);
        p = skip_blanks(p);
    } while (*p == ',');
    return *p == '}' ? BLV_OK : reject(csv, "} after the values", p, rest_of(p));
}

/* The form of dates, which are read as year, month and day whatever a file says. */
static blv_error expect_date_form(const blv_csv *csv, char *p) {
    blv_csv_field form;
    BLV_CHECK(take_word(csv, &p, "\n", &form));
    if (form.length == 0)
        return BLV_OK;
    bool known = form.length >= 10 && (strncmp(form.text, "yyyy-MM-dd", 10) == 0 ||
                                       strncmp(form.text, "yyyy/MM/dd", 10) == 0);
    if (known && form.length > 10) {
        const char *time = form.text + 10;
        known = strncmp(time + (strncmp(time, "'T'", 3) == 0 ? 3 : 1), "HH:mm", 5) == 0;
    }
    return known ? BLV_OK
                 : reject(csv, "dates of the form yyyy-MM-dd or yyyy-MM-dd HH:mm:ss", form.text,
                          form.length);
}

static blv_error take_type(const blv_csv *csv, blv_attribute *a, char *p) {
    static const struct {
        const char *word;
        blv_attribute_type type;
    } types[] = {{"numeric", BLV_ATTRIBUTE_NUMBER},
                 {"real", BLV_ATTRIBUTE_NUMBER},
                 {"integer", BLV_ATTRIBUTE_NUMBER},
                 {"string", BLV_ATTRIBUTE_STRING},
                 {"date", BLV_ATTRIBUTE_DATE}};
    if (*p == '{') {
        a->type = BLV_ATTRIBUTE_NOMINAL;
        return take_levels(csv, a, p);
    }
    const size_t length = strcspn(p, " \t\r\n");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].word) == length && strncasecmp(p, types[i].word, length) == 0) {
            a->type = types[i].type;
            return a->type == BLV_ATTRIBUTE_DATE ? expect_date_form(csv, skip_blanks(p + length))
                                                 : BLV_OK;
        }
    return reject(csv, "numeric, real, integer, string, date or {values}", p, length);
}

static blv_error take_attribute(const blv_csv *csv, char *p) {
    blv_csv_field name;
    blv_attribute *a = blv_list_room(&csv->arff->attribute, 1, sizeof *a);
    BLV_CHECK(blv_need_memory(a, csv->why));
    *a = (blv_attribute){0};
    csv->arff->attribute.count++;
    p = skip_blanks(p);
    BLV_CHECK(take_word(csv, &p, " \t\r\n", &name));
    if (name.length == 0)
        return reject(csv, "the name of an attribute", p, rest_of(p));
    a->name = blv_arena_alloc(&csv->arff->arena, name.length + 1, 1);
    BLV_CHECK(blv_need_memory(a->name, csv->why));
    memcpy(a->name, name.text, name.length);
    return take_type(csv, a, skip_blanks(p));
}

static bool is_word(const char *p, const char *word) {
    const size_t n = strlen(word);
    return strncasecmp(p, word, n) == 0 && strchr(" \t\r\n", p[n]);
}

blv_error blv_arff_open(blv_csv *csv, blv_input *input, blv_message *why) {
    char *line;
    *csv = (blv_csv){.input = input, .why = why, .next_line = 1};
    csv->arff = calloc(1, sizeof *csv->arff);
    if (!csv->arff || !(csv->arff->zero = blv_arena_copy(&csv->arff->arena, "0")))
        return blv_explain_memory(why);
    for (;;) {
        BLV_CHECK(next_line(csv, &line));
        if (!line)
            return blv_explain(why, BLV_E_FORMAT, "%s: expected @data, found the end of the file",
                               blv_shown_path(blv_input_path(input)));
        if (is_word(line, "@data"))
            break;
        if (is_word(line, "@attribute"))
            BLV_CHECK(take_attribute(csv, line + strlen("@attribute")));
        else if (!is_word(line, "@relation"))
            return reject(csv, "@relation, @attribute or @data", line, rest_of(line));
    }
    return csv->arff->attribute.count > 0
               ? BLV_OK
               : reject(csv, "@attribute before @data", line, rest_of(line));
}

void blv_arff_close(blv_arff *arff) {
    if (!arff)
        return;
    blv_attribute *a = arff->attribute.items;
    for (size_t j = 0; j < arff->attribute.count; j++)
        blv_texts_free(&a[j].levels);
    free(a);
    free(arff->index.items);
    blv_arena_free(&arff->arena);
    free(arff);
}

/* ---- Records ---- */

/* A quoted ? is a text; a bare one, a missing value. */
static blv_error check_level(const blv_csv *csv, size_t j, blv_csv_field *field) {
    blv_attribute *a = blv_attribute_at(csv, j);
    const size_t declared = a->levels.items.count;
    const bool missing = !field->quoted && field->length == 1 && *field->text == '?';
    if (a->type != BLV_ATTRIBUTE_NOMINAL || missing)
        return BLV_OK;
    int32_t number = blv_texts_number(&a->levels, field->text, field->length);
    BLV_CHECK(blv_need_memory(number >= 0, csv->why));
    field->level = (size_t)number < declared;
    if (field->level)
        return BLV_OK;
    char expected[128];
    snprintf(expected, sizeof expected, "a declared value of '%.60s'", a->name);
    return reject(csv, expected, field->text, field->length);
}

const char *blv_arff_next_value(const char *p) {
    const char *behind = p + strspn(p, " \t\r");
    if (*behind == ',')
        return behind + 1 + strspn(behind + 1, " \t\r");
    return *behind != '\n' && memchr(p, '\t', (size_t)(behind - p)) ? behind : NULL;
}

static blv_error take_dense(blv_csv *csv, char *p) {
    const size_t count = csv->arff->attribute.count;
    for (const char *next = p; next;) {
        blv_csv_field *field = blv_csv_add_field(csv);
        BLV_CHECK(blv_need_memory(field, csv->why));
        p += next - p;
        BLV_CHECK(take_word(csv, &p, ",\t\n", field));
        if (csv->count <= count)
            BLV_CHECK(check_level(csv, csv->count - 1, field));
        next = blv_arff_next_value(p);
    }
    p = skip_blanks(p);
    return *p == '\n' ? BLV_OK : reject(csv, "a comma after a closing quote", p, rest_of(p));
}

/* The pairs of place and value between braces: as many fields as indices. */
static blv_error take_pairs(blv_csv *csv, char *p) {
    const size_t count = csv->arff->attribute.count;
    size_t next = 0;
    for (p = skip_blanks(p + 1); *p != '}'; next++) {
        size_t digits = strspn(p, "0123456789"), j = strtoul(p, NULL, 10);
        size_t *index = blv_list_room(&csv->arff->index, 1, sizeof *index);
        blv_csv_field *field = index ? blv_csv_add_field(csv) : NULL;
        BLV_CHECK(blv_need_memory(field, csv->why));
        if (digits == 0 || digits > 9 || j >= count || j < next || !strchr(" \t", p[digits]))
            return reject(csv, "the place of an attribute, ascending, and a value", p, rest_of(p));
        *index = next = j;
        csv->arff->index.count++;
        p = skip_blanks(p + digits);
        BLV_CHECK(take_word(csv, &p, ",}\n", field));
        if (field->length == 0 && !field->quoted)
            return reject(csv, "a value", p, rest_of(p));
        BLV_CHECK(check_level(csv, j, field));
        p = skip_blanks(p);
        if (*p == ',')
            p = skip_blanks(p + 1);
        else if (*p != '}')
            return reject(csv, "a comma or }", p, rest_of(p));
    }
    p = skip_blanks(p + 1);
    return *p == '\n' ? BLV_OK : reject(csv, "the line's end after }", p, rest_of(p));
}

/* The fields of a sparse record at their places, the others as they are where nothing is said. */
static blv_error expand(blv_csv *csv) {
    const size_t stored = csv->count, count = csv->arff->attribute.count;
    const size_t *index = csv->arff->index.items;
    while (csv->count < count)
        if (!blv_csv_add_field(csv))
            return blv_explain_memory(csv->why);
    size_t left = stored;
    for (size_t j = count; j-- > 0;) {
        const blv_attribute *a = blv_attribute_at(csv, j);
        if (left > 0 && index[left - 1] == j) {
            csv->fields[j] = csv->fields[--left];
            continue;
        }
        if (a->type == BLV_ATTRIBUTE_STRING || a->type == BLV_ATTRIBUTE_DATE)
            return reject(csv, "a value of every attribute that is a string or date", "{", 1);
        char *first = a->levels.items.count > 0 ? blv_texts_at(&a->levels, 0) : csv->arff->zero;
        csv->fields[j] = (blv_csv_field){.text = first, .length = strlen(first), .level = true};
    }
    return BLV_OK;
}

blv_error blv_arff_next(blv_csv *csv) {
    blv_arff *a = csv->arff;
    char *line;
    csv->count = a->index.count = 0;
    BLV_CHECK(next_line(csv, &line));
    csv->start = line;
    if (!line)
        return BLV_OK;
    a->sparse = *line == '{';
    if (!a->sparse)
        return take_dense(csv, line);
    BLV_CHECK(take_pairs(csv, line));
    return a->keep_sparse ? BLV_OK : expand(csv);
}

blv_error blv_arff_note_label(blv_reading *r, const blv_csv *csv, int64_t label) {
    const blv_texts *levels = label >= 0 ? &blv_attribute_at(csv, (size_t)label)->levels : NULL;
    free(r->zero_label);
    r->zero_label =
        strdup(levels && levels->items.count > 0 ? blv_texts_at(levels, 0) : csv->arff->zero);
    r->label_column = label;
    return blv_need_memory(r->zero_label, r->why);
}
