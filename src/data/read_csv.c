/* CSV and TSV files: one row of numbers on each line, one column of which may be the label. */
#include "base/number_text.h"
#include "data/csv.h"
#include "data/reading.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_COLUMN = -1 };

typedef struct csv_file {
    blv_reading *r;
    blv_csv csv;
    size_t width;         /* fields of a record */
    int64_t label;        /* the label's column or NO_COLUMN */
    int64_t truth;        /* that of the true labels, likewise */
    blv_csv_field *first; /* a copy of the first record */
    bool named;           /* it is a header with the names of the columns */
    size_t rows;
    blv_list values; /* of the features, row by row */
} csv_file;

/* ---- Fields ---- */

static bool field_number(const blv_csv_field *field, double *value) {
    if (field->length == 0)
        return false;
    const char *end = blv_decimal(field->text, value);
    return end == field->text + field->length && isfinite(*value);
}

static blv_error reject_field(const csv_file *f, size_t line, size_t column,
                              const blv_csv_field *field) {
    char name[64] = "";
    if (f->named)
        snprintf(name, sizeof name, " (%.50s)", f->first[column].text);
    return blv_explain(f->r->why, BLV_E_FORMAT,
                       "%s: line %zu, column %zu of %zu%s: expected a finite number, found %s",
                       f->r->shown, line, column + 1, f->width, name,
                       blv_show(field->text, field->length).text);
}

/* ---- The header and the label's column ---- */

/* The fields of the current record in one block from malloc, each with a zero byte behind it. */
static blv_csv_field *copy_record(const blv_csv *csv) {
    size_t bytes = csv->count * sizeof(blv_csv_field);
    for (size_t i = 0; i < csv->count; i++)
        bytes += csv->fields[i].length + 1;
    blv_csv_field *copy = calloc(bytes, 1);
    char *text = copy ? (char *)(copy + csv->count) : NULL;
    for (size_t i = 0; copy && i < csv->count; i++) {
        size_t length = csv->fields[i].length;
        copy[i] = (blv_csv_field){.text = memcpy(text, csv->fields[i].text, length), length, false};
        text += length + 1;
    }
    return copy;
}

/* Whether the first record names the columns of the current record. */
static bool is_header(const csv_file *f, size_t first_count) {
    if (f->r->options.header)
        return strcmp(f->r->options.header, "yes") == 0;
    double value;
    for (size_t i = 0; i < f->csv.count && i < first_count; i++)
        if (f->first[i].length > 0 && !field_number(&f->first[i], &value) &&
            field_number(&f->csv.fields[i], &value))
            return true;
    return false;
}

static blv_error reject_column(const csv_file *f, const char *kind, const char *wanted) {
    char names[240] = "";
    size_t used = 0;
    for (size_t i = 0; f->named && i < f->width; i++) {
        int n =
            snprintf(names + used, sizeof names - used, "%s'%s'", i ? ", " : "", f->first[i].text);
        if (n < 0 || (size_t)n >= sizeof names - used) {
            memcpy(names + sizeof names - 4, "...", 4);
            break;
        }
        used += (size_t)n;
    }
    if (f->named)
        return blv_explain(f->r->why, BLV_E_NAME, "%s: no %s column '%.60s'; the header has %s",
                           f->r->shown, kind, wanted, names);
    return blv_explain(f->r->why, BLV_E_NAME,
                       "%s: no %s column '%.60s'; there is no header: expected a number from 0 "
                       "to %zu",
                       f->r->shown, kind, wanted, f->width - 1);
}

/* The column of that name or number. */
static blv_error find_column(const csv_file *f, const char *kind, const char *wanted,
                             int64_t *column) {
    for (size_t i = 0; f->named && i < f->width; i++) {
        if (strcmp(f->first[i].text, wanted) == 0) {
            *column = (int64_t)i;
            return BLV_OK;
        }
    }
    if (strcmp(wanted, "none") == 0) {
        *column = NO_COLUMN;
        return BLV_OK;
    }
    size_t digits = strspn(wanted, "0123456789");
    if (digits == 0 || digits > 10 || wanted[digits] != '\0' ||
        strtoull(wanted, NULL, 10) >= f->width)
        return reject_column(f, kind, wanted);
    *column = (int64_t)strtoull(wanted, NULL, 10);
    return BLV_OK;
}

/* The last column that is not that of the true labels. */
static int64_t last_column(const csv_file *f) {
    int64_t last = (int64_t)f->width - 1;
    return f->truth == last && last > 0 ? last - 1 : last;
}

static blv_error find_labels(csv_file *f) {
    const blv_read_options *o = &f->r->options;
    f->truth = NO_COLUMN;
    blv_error error = o->truth ? find_column(f, "truth", o->truth, &f->truth) : BLV_OK;
    f->label = last_column(f);
    if (!error && o->label)
        error = find_column(f, "label", o->label, &f->label);
    if (error || f->truth == NO_COLUMN)
        return error;
    if (f->truth == f->label || f->label == NO_COLUMN || o->real_targets)
        return blv_explain(f->r->why, BLV_E_VALUE,
                           "%s: true labels need another column with the labels of classes",
                           f->r->shown);
    return BLV_OK;
}

/* ---- Rows ---- */

static size_t features(const csv_file *f) {
    return f->width - (f->label != NO_COLUMN) - (f->truth != NO_COLUMN);
}

static blv_error take_label(csv_file *f, const blv_csv_field *field, size_t line) {
    const blv_reading *r = f->r;
    size_t column = (size_t)f->label;
    double target;
    if (r->options.real_targets)
        return field_number(field, &target) ? blv_add_target(f->r, target)
                                            : reject_field(f, line, column, field);
    if (field->length == 0)
        return blv_explain(r->why, BLV_E_FORMAT,
                           "%s: line %zu, column %zu of %zu: expected a label, found nothing",
                           r->shown, line, column + 1, f->width);
    if (memchr(field->text, 0, field->length))
        return blv_explain(r->why, BLV_E_FORMAT,
                           "%s: line %zu, column %zu of %zu: the label has a zero byte", r->shown,
                           line, column + 1, f->width);
    return blv_add_label_text(f->r, &f->r->label, field->text, field->length, r->shown, line);
}

static blv_error take_truth(csv_file *f, const blv_csv_field *field, size_t line) {
    if (field->length == 0 || memchr(field->text, 0, field->length))
        return blv_explain(f->r->why, BLV_E_FORMAT,
                           "%s: line %zu, column %zu of %zu: expected a label, found %s",
                           f->r->shown, line, (size_t)f->truth + 1, f->width,
                           blv_show(field->text, field->length).text);
    return blv_add_label_text(f->r, &f->r->truth, field->text, field->length, f->r->shown, line);
}

static blv_error take_row(csv_file *f, const blv_csv_field *fields, size_t count, size_t line) {
    if (count != f->width)
        return blv_explain(f->r->why, BLV_E_FORMAT,
                           "%s: line %zu: %zu fields; expected %zu as in the first row",
                           f->r->shown, line, count, f->width);
    double *value = blv_list_room(&f->values, features(f), sizeof *value);
    if (!value)
        return blv_explain_memory(f->r->why);
    for (size_t i = 0; i < count; i++)
        if ((int64_t)i != f->label && (int64_t)i != f->truth && !field_number(&fields[i], value++))
            return reject_field(f, line, i, &fields[i]);
    f->values.count += features(f);
    f->rows++;
    if (f->label != NO_COLUMN)
        BLV_CHECK(take_label(f, &fields[f->label], line));
    return f->truth == NO_COLUMN ? BLV_OK : take_truth(f, &fields[f->truth], line);
}

/* ---- The file ---- */

/* Takes the first two records to see whether the first is a header. */
static blv_error take_start(csv_file *f) {
    blv_csv *csv = &f->csv;
    size_t count = csv->count, line = csv->line;
    f->first = copy_record(csv);
    if (!f->first)
        return blv_explain_memory(f->r->why);
    BLV_CHECK(blv_csv_next(csv));
    bool header = is_header(f, count);
    f->width = header && csv->count > 0 ? csv->count : count;
    f->named = header && f->width == count;
    if (header && !f->named)
        BLV_CHECK(blv_need_memory(
            blv_dataset_note(f->r->dataset,
                             "line %zu left out: a header of %zu fields, the rows have %zu", line,
                             count, f->width),
            f->r->why));
    BLV_CHECK(find_labels(f));
    if (features(f) == 0)
        return blv_explain(f->r->why, BLV_E_FORMAT,
                           "%s: one column; expected a label and features, separated by comma, "
                           "tab or semicolon",
                           f->r->shown);
    return header ? BLV_OK : take_row(f, f->first, count, line);
}

static blv_error take_records(csv_file *f) {
    blv_csv *csv = &f->csv;
    BLV_CHECK(blv_csv_open(csv, f->r->input, f->r->why));
    BLV_CHECK(blv_csv_next(csv));
    if (csv->count > 0)
        BLV_CHECK(take_start(f));
    while (csv->count > 0) {
        BLV_CHECK(take_row(f, csv->fields, csv->count, csv->line));
        BLV_CHECK(blv_csv_next(csv));
    }
    if (f->rows == 0)
        return blv_explain(f->r->why, BLV_E_FORMAT, "%s: there is no row of data", f->r->shown);
    return BLV_OK;
}

/* The names of the features, without those of the labels. */
static bool put_names(csv_file *f) {
    size_t n = 0;
    const char **names = calloc(f->width, sizeof *names);
    for (size_t i = 0; names && i < f->width; i++)
        if ((int64_t)i != f->label && (int64_t)i != f->truth)
            names[n++] = f->first[i].text;
    bool put =
        names && blv_dataset_put(f->r->dataset, BLV_PART_FEATURE_NAMES, blv_strings_copy(names, n));
    free(names);
    return put;
}

blv_error blv_read_csv(blv_reading *r) {
    csv_file f = {.r = r};
    const char *header = r->options.header;
    if (header && strcmp(header, "yes") != 0 && strcmp(header, "no") != 0)
        return blv_explain(r->why, BLV_E_VALUE, "header is '%.60s'; expected yes or no", header);
    blv_error error = take_records(&f);
    if (!error) {
        blv_dataset *d = r->dataset;
        d->view.rows = f.rows;
        d->view.columns = features(&f);
        d->view.precision = BLV_F64;
        bool put = blv_dataset_put(d, BLV_PART_DENSE, blv_list_take(&f.values, sizeof(double)));
        error = blv_need_memory(put && (!f.named || put_names(&f)), r->why);
    }
    blv_csv_close(&f.csv);
    free(f.first);
    free(f.values.items);
    return error;
}
