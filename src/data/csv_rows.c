/* The rows of a table in text: fields as numbers or texts, labels and weights. */
#include "base/number_text.h"
#include "data/csv_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Fields ---- */

bool blv_comma_number(const char *text, size_t length, double *value) {
    char copy[64];
    if (length == 0 || length >= sizeof copy || memchr(text, '.', length))
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    char *comma = strchr(copy, ',');
    if (comma && !comma[1])
        return false;
    if (comma)
        *comma = '.';
    return strlen(copy) == length && blv_number_parse(copy, value) == 0;
}

static bool point_number(const blv_csv_field *field, double *value) {
    if (field->number) {
        *value = field->value;
        return true;
    }
    return field->length > 0 && blv_decimal(field->text, value) == field->text + field->length &&
           isfinite(*value);
}

static bool field_number(const blv_csv_file *f, const blv_csv_field *field, double *value) {
    return f->decimal_comma ? blv_comma_number(field->text, field->length, value)
                            : point_number(field, value);
}

/* A field that is a number with a decimal comma: all rows are read again with that known. */
static void note_comma(blv_csv_file *f, const blv_csv_field *field) {
    const char *text = field->text + (*field->text == '-');
    const size_t digits = strspn(text, "0123456789");
    if (f->commas++ == 0)
        f->comma = blv_show(field->text, field->length);
    f->grouped += *text != '0' && digits >= 1 && digits <= 3 &&
                  strspn(text + digits + 1, "0123456789") == 3 &&
                  text + digits + 4 == field->text + field->length;
}

/* 01234: codes have zeros before them. A byte behind the text can be read. */
static bool is_padded(const blv_csv_field *field) {
    return field->text[0] == '0' && (unsigned char)(field->text[1] - '0') <= 9;
}

static void note_padding(blv_csv_file *f, size_t i, const blv_csv_field *field) {
    blv_column *c = &f->t.column[i];
    if (c->padded || c->given)
        return;
    c->padded = true;
    if (f->padded++ == 0)
        f->padding = blv_show(field->text, field->length);
}

static blv_error reject_field(const blv_csv_file *f, size_t line, size_t column,
                              const blv_csv_field *field, const char *expected) {
    char name[64] = "";
    if (f->t.named)
        snprintf(name, sizeof name, " (%.50s)", f->t.column[column].name);
    return blv_explain(f->r->why, BLV_E_FORMAT,
                       "%s: line %zu, column %zu of %zu%s: expected %s, found %s", f->r->shown,
                       line, column + 1, f->t.count, name, expected,
                       blv_show(field->text, field->length).text);
}

bool blv_csv_is_missing(const blv_csv_field *field) {
    return !field->level && blv_is_missing(field->text, field->length);
}

bool blv_csv_looks_a_number(const blv_csv_file *f, const blv_csv_field *field) {
    double value;
    return field_number(f, field, &value) ||
           (f->csv.delimiter != ',' && blv_comma_number(field->text, field->length, &value));
}

/* ---- Rows ---- */

static blv_error take_label(blv_csv_file *f, const blv_csv_field *field, size_t line) {
    blv_reading *r = f->r;
    size_t column = (size_t)f->t.label;
    double target;
    if (r->options.missing == BLV_MISSING_DROP && blv_csv_is_missing(field)) {
        int32_t *label = blv_list_room(&r->label, 1, sizeof *label); /* the row will be left out */
        if (r->options.real_targets)
            return blv_add_target(r, NAN);
        BLV_CHECK(blv_need_memory(label, r->why));
        label[0] = BLV_CODE_MISSING;
        r->label.count++;
        return BLV_OK;
    }
    if (r->options.real_targets) {
        const bool number = field_number(f, field, &target);
        if (!number && !blv_csv_looks_a_number(f, field))
            return reject_field(f, line, column, field, "a finite number");
        if (!number)
            note_comma(f, field);
        return blv_add_target(r, number ? target : 0.0);
    }
    if (field->length == 0 ||
        (r->options.targets != BLV_TARGETS_CLASSES && blv_csv_is_missing(field)))
        return blv_explain(r->why, BLV_E_FORMAT,
                           "%s: line %zu, column %zu of %zu: expected a label, found %s; %srows "
                           "without one are left out where missing values are dropped",
                           r->shown, line, column + 1, f->t.count,
                           blv_show(field->text, field->length).text,
                           r->options.recipe    ? "label none reads the rows without labels; "
                           : f->t.label_guessed ? "name another column with label, or "
                                                : "");
    if (memchr(field->text, 0, field->length))
        return blv_explain(r->why, BLV_E_FORMAT,
                           "%s: line %zu, column %zu of %zu: the label has a zero byte", r->shown,
                           line, column + 1, f->t.count);
    return blv_add_label_text(f->r, &f->r->label, field->text, field->length, r->shown, line);
}

static blv_error take_truth(blv_csv_file *f, const blv_csv_field *field, size_t line) {
    if (field->length == 0 || memchr(field->text, 0, field->length))
        return blv_explain(f->r->why, BLV_E_FORMAT,
                           "%s: line %zu, column %zu of %zu: expected a label, found %s",
                           f->r->shown, line, (size_t)f->t.truth + 1, f->t.count,
                           blv_show(field->text, field->length).text);
    return blv_add_label_text(f->r, &f->r->truth, field->text, field->length, f->r->shown, line);
}

static blv_error take_weight(blv_csv_file *f, const blv_csv_field *field, size_t line) {
    double *weight = blv_list_room(&f->r->weight, 1, sizeof *weight);
    BLV_CHECK(blv_need_memory(weight, f->r->why));
    if (!field_number(f, field, weight) && blv_csv_looks_a_number(f, field)) {
        note_comma(f, field);
        *weight = 0.0;
    } else if (!field_number(f, field, weight) || *weight < 0.0) {
        return reject_field(f, line, (size_t)f->t.weight, field, "a weight from 0 on");
    }
    f->r->weight.count++;
    return BLV_OK;
}

/* Whether the field is missing, which may not be allowed. */
static blv_error find_missing(blv_csv_file *f, size_t i, const blv_csv_field *field, size_t line,
                              bool *missing) {
    *missing = blv_csv_is_missing(field);
    f->t.column[i].missing += *missing;
    return *missing && f->r->options.missing == BLV_MISSING_ERROR
               ? reject_field(f, line, i, field, "a value")
               : BLV_OK;
}

/* A field that is not a number where one was looked for. */
static blv_error take_word(blv_csv_file *f, size_t i, const blv_csv_field *field, size_t line,
                           double *value) {
    blv_column *c = &f->t.column[i];
    bool missing;
    BLV_CHECK(find_missing(f, i, field, line, &missing));
    if (blv_csv_looks_a_number(f, field))
        note_comma(f, field);
    f->points += f->decimal_comma && point_number(field, value);
    f->words_found = f->words_found || (!missing && f->t.rows > 0);
    if (!missing && c->words++ == 0) {
        c->word_row = f->t.rows;
        c->word_line = line;
        c->word = blv_show(field->text, field->length);
    }
    *value = NAN;
    return BLV_OK;
}

static blv_error take_text(blv_csv_file *f, size_t i, const blv_csv_field *field, size_t line,
                           int32_t *code) {
    bool missing;
    BLV_CHECK(find_missing(f, i, field, line, &missing));
    *code = missing ? BLV_CODE_MISSING
                    : blv_texts_number(&f->t.column[i].levels, field->text, field->length);
    return missing || *code >= 0 ? BLV_OK : blv_explain_memory(f->r->why);
}

/* Fields that are plain numbers, from number i on. Returns the first that is not. */
static size_t take_plain(const blv_csv_file *f, const blv_csv_field *fields, size_t i, size_t count,
                         double **value) {
    const unsigned char *how = f->how;
    double *to = *value;
    if (f->decimal_comma)
        return i;
    for (; i < count && how[i] == AS_NUMBER && fields[i].number && !is_padded(&fields[i]); i++)
        *to++ = fields[i].value;
    *value = to;
    return i;
}

blv_error blv_csv_take_row(blv_csv_file *f, const blv_csv_field *fields, size_t count,
                           size_t line) {
    blv_table *t = &f->t;
    if (count != t->count)
        return blv_explain(f->r->why, BLV_E_FORMAT,
                           "%s: line %zu: %zu fields; expected %zu as in the first row",
                           f->r->shown, line, count, t->count);
    double *value = blv_list_room(&t->numbers, t->number_columns, sizeof *value);
    int32_t *code = blv_list_room(&t->codes, t->code_columns, sizeof *code);
    BLV_CHECK(blv_need_memory(value && code, f->r->why));
    for (size_t i = take_plain(f, fields, 0, count, &value); i < count;
         i = take_plain(f, fields, i + 1, count, &value)) {
        if (f->how[i] == AS_TEXT) {
            BLV_CHECK(take_text(f, i, &fields[i], line, code++));
        } else if (f->how[i] == AS_NUMBER) {
            if (!field_number(f, &fields[i], value))
                BLV_CHECK(take_word(f, i, &fields[i], line, value));
            else if (is_padded(&fields[i]))
                note_padding(f, i, &fields[i]);
            value++;
        }
    }
    t->numbers.count += f->words_found ? 0 : t->number_columns;
    t->codes.count += t->code_columns;
    t->rows++;
    if (f->t.weight != BLV_NO_COLUMN)
        BLV_CHECK(take_weight(f, &fields[f->t.weight], line));
    if (f->t.label != BLV_NO_COLUMN)
        BLV_CHECK(take_label(f, &fields[f->t.label], line));
    return f->t.truth == BLV_NO_COLUMN ? BLV_OK : take_truth(f, &fields[f->t.truth], line);
}
