/* CSV and TSV files: one row of numbers on each line, one column of which may be the label. */
#include "base/decimal.h"
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
    size_t width;  /* fields of a record */
    int64_t label; /* the label's column or NO_COLUMN */
    int64_t truth; /* that of the true labels, likewise */
    char **names;  /* width strings when there is a header */
    size_t rows, capacity, target_capacity;
    double *dense;
    double *target;
    blv_label_texts *texts;
    char **truths; /* the true labels, row by row */
    size_t truth_count, truth_capacity;
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
    if (f->names)
        snprintf(name, sizeof name, " (%.50s)", f->names[column]);
    return blv_explain(f->r->why, BLV_E_FORMAT,
                       "%s: line %zu, column %zu of %zu%s: expected a finite number, found %s",
                       f->r->shown, line, column + 1, f->width, name,
                       blv_show(field->text, field->length).text);
}

/* ---- The header and the label's column ---- */

static void free_names(char **names, size_t count) {
    for (size_t i = 0; names && i < count; i++)
        free(names[i]);
    free(names);
}

/* The fields of the current record as strings. */
static char **copy_fields(const blv_csv *csv) {
    char **names = calloc(csv->count, sizeof *names);
    for (size_t i = 0; names && i < csv->count; i++) {
        names[i] = strndup(csv->fields[i].text, csv->fields[i].length);
        if (!names[i]) {
            free_names(names, csv->count);
            return NULL;
        }
    }
    return names;
}

/* Whether the first record names the columns of the current record. */
static bool is_header(const csv_file *f, char *const *first, size_t first_count) {
    if (f->r->options.header)
        return strcmp(f->r->options.header, "yes") == 0;
    for (size_t i = 0; i < f->csv.count && i < first_count; i++) {
        blv_csv_field name = {.text = first[i], .length = strlen(first[i])};
        double value;
        if (name.length > 0 && !field_number(&name, &value) &&
            field_number(&f->csv.fields[i], &value))
            return true;
    }
    return false;
}

static blv_error reject_column(const csv_file *f, const char *kind, const char *wanted) {
    char names[240] = "";
    size_t used = 0;
    for (size_t i = 0; f->names && i < f->width; i++) {
        int n = snprintf(names + used, sizeof names - used, "%s'%s'", i ? ", " : "", f->names[i]);
        if (n < 0 || (size_t)n >= sizeof names - used) {
            memcpy(names + sizeof names - 4, "...", 4);
            break;
        }
        used += (size_t)n;
    }
    if (f->names)
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
    for (size_t i = 0; f->names && i < f->width; i++) {
        if (strcmp(f->names[i], wanted) == 0) {
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

static blv_error make_room(csv_file *f) {
    size_t wide = features(f);
    if (wide > 0 && f->rows + 1 > PTRDIFF_MAX / sizeof(double) / wide)
        return blv_explain_memory(f->r->why);
    double *dense = blv_grown(f->dense, &f->capacity, (f->rows + 1) * wide, sizeof *dense);
    if (!dense)
        return blv_explain_memory(f->r->why);
    f->dense = dense;
    if (f->label != NO_COLUMN && f->r->options.real_targets) {
        double *target = blv_grown(f->target, &f->target_capacity, f->rows + 1, sizeof *target);
        if (!target)
            return blv_explain_memory(f->r->why);
        f->target = target;
    }
    return BLV_OK;
}

static blv_error take_label(csv_file *f, const blv_csv_field *field, size_t line) {
    size_t column = (size_t)f->label;
    if (f->target)
        return field_number(field, &f->target[f->rows]) ? BLV_OK
                                                        : reject_field(f, line, column, field);
    if (field->length == 0)
        return blv_explain(f->r->why, BLV_E_FORMAT,
                           "%s: line %zu, column %zu of %zu: expected a label, found nothing",
                           f->r->shown, line, column + 1, f->width);
    if (memchr(field->text, 0, field->length))
        return blv_explain(f->r->why, BLV_E_FORMAT,
                           "%s: line %zu, column %zu of %zu: the label has a zero byte",
                           f->r->shown, line, column + 1, f->width);
    return blv_add_label_text(f->r, f->texts, field->text, field->length, line);
}

/* Kept as texts until all classes are known. */
static blv_error take_truth(csv_file *f, const blv_csv_field *field, size_t line) {
    if (field->length == 0 || memchr(field->text, 0, field->length))
        return blv_explain(f->r->why, BLV_E_FORMAT,
                           "%s: line %zu, column %zu of %zu: expected a label, found %s",
                           f->r->shown, line, (size_t)f->truth + 1, f->width,
                           blv_show(field->text, field->length).text);
    char **truths = blv_grown(f->truths, &f->truth_capacity, f->truth_count + 1, sizeof *f->truths);
    if (!truths)
        return blv_explain_memory(f->r->why);
    f->truths = truths;
    truths[f->truth_count] = strndup(field->text, field->length);
    if (!truths[f->truth_count])
        return blv_explain_memory(f->r->why);
    f->truth_count++;
    return BLV_OK;
}

static blv_error take_row(csv_file *f, const blv_csv_field *fields, size_t count, size_t line) {
    if (count != f->width)
        return blv_explain(f->r->why, BLV_E_FORMAT,
                           "%s: line %zu: %zu fields; expected %zu as in the first row",
                           f->r->shown, line, count, f->width);
    blv_error error = make_room(f);
    if (error)
        return error;
    double *row = f->dense + f->rows * features(f);
    for (size_t i = 0; i < count; i++)
        if ((int64_t)i != f->label && (int64_t)i != f->truth && !field_number(&fields[i], row++))
            return reject_field(f, line, i, &fields[i]);
    if (f->label != NO_COLUMN)
        error = take_label(f, &fields[f->label], line);
    if (!error && f->truth != NO_COLUMN)
        error = take_truth(f, &fields[f->truth], line);
    f->rows++;
    return error;
}

/* The first record as a row of data. */
static blv_error take_first_row(csv_file *f, char *const *first, size_t count, size_t line) {
    blv_csv_field *fields = calloc(count, sizeof *fields);
    if (!fields)
        return blv_explain_memory(f->r->why);
    for (size_t i = 0; i < count; i++)
        fields[i] = (blv_csv_field){.text = first[i], .length = strlen(first[i])};
    blv_error error = take_row(f, fields, count, line);
    free(fields);
    return error;
}

/* ---- The file ---- */

static blv_error set_columns(csv_file *f, size_t width) {
    f->width = width;
    BLV_CHECK(find_labels(f));
    if (features(f) == 0)
        return blv_explain(f->r->why, BLV_E_FORMAT,
                           "%s: one column; expected a label and features, separated by comma, "
                           "tab or semicolon",
                           f->r->shown);
    if (f->label != NO_COLUMN && !f->r->options.real_targets) {
        f->texts = blv_label_texts_new(f->r->options.max_classes);
        if (!f->texts)
            return blv_explain_memory(f->r->why);
    }
    return BLV_OK;
}

/* Takes the first two records to see whether the first is a header, and then all rows. */
static blv_error take_start(csv_file *f, char **first, size_t first_count, size_t first_line) {
    blv_error error = blv_csv_next(&f->csv);
    if (error)
        return error;
    size_t width = f->csv.count > 0 ? f->csv.count : first_count;
    if (!is_header(f, first, first_count)) {
        error = set_columns(f, first_count);
        return error ? error : take_first_row(f, first, first_count, first_line);
    }
    if (first_count == width) {
        f->names = calloc(width, sizeof *f->names);
        if (!f->names)
            return blv_explain_memory(f->r->why);
        memcpy(f->names, first, width * sizeof *first);
        memset(first, 0, width * sizeof *first);
    } else if (!blv_dataset_note(f->r->dataset,
                                 "line %zu left out: a header of %zu fields, the rows have %zu",
                                 first_line, first_count, width)) {
        return blv_explain_memory(f->r->why);
    }
    return set_columns(f, width);
}

static blv_error take_records(csv_file *f) {
    blv_csv *csv = &f->csv;
    blv_error error = blv_csv_next(csv);
    if (error || csv->count == 0)
        return error;
    size_t count = csv->count;
    char **first = copy_fields(csv);
    if (!first)
        return blv_explain_memory(f->r->why);
    error = take_start(f, first, count, csv->line);
    free_names(first, count);
    while (!error && csv->count > 0) {
        error = take_row(f, csv->fields, csv->count, csv->line);
        if (!error)
            error = blv_csv_next(csv);
    }
    return error;
}

/* The names of the features, without those of the labels. */
static bool put_names(csv_file *f) {
    size_t n = 0;
    const char **names = calloc(f->width, sizeof *names);
    for (size_t i = 0; names && i < f->width; i++)
        if ((int64_t)i != f->label && (int64_t)i != f->truth)
            names[n++] = f->names[i];
    bool put =
        names && blv_dataset_put(f->r->dataset, BLV_PART_FEATURE_NAMES, blv_strings_copy(names, n));
    free(names);
    return put;
}

static blv_error hand_over(csv_file *f) {
    blv_reading *r = f->r;
    blv_dataset *d = r->dataset;
    if (f->rows == 0)
        return blv_explain(r->why, BLV_E_FORMAT, "%s: there is no row of data", r->shown);
    d->view.rows = f->rows;
    d->view.columns = features(f);
    d->view.precision = BLV_F64;
    bool ok = blv_dataset_put(d, BLV_PART_DENSE,
                              blv_trimmed(f->dense, f->rows * features(f), sizeof *f->dense));
    f->dense = NULL;
    ok = ok && (!f->names || put_names(f));
    /* the true labels follow the labels in the list of texts, so that both get the same classes */
    blv_error error = ok ? BLV_OK : blv_explain_memory(r->why);
    for (size_t i = 0; !error && i < f->truth_count; i++)
        error = blv_add_label_text(r, f->texts, f->truths[i], strlen(f->truths[i]), 0);
    if (!error && !blv_put_labels(r, f->texts, &f->target))
        error = blv_explain_memory(r->why);
    return error;
}

blv_error blv_read_csv(blv_reading *r) {
    csv_file f = {.r = r};
    const char *header = r->options.header;
    if (header && strcmp(header, "yes") != 0 && strcmp(header, "no") != 0)
        return blv_explain(r->why, BLV_E_VALUE, "header is '%.60s'; expected yes or no", header);
    blv_error error = blv_csv_open(&f.csv, r->input, r->why);
    if (!error)
        error = take_records(&f);
    if (!error)
        error = hand_over(&f);
    blv_csv_close(&f.csv);
    blv_label_texts_free(f.texts);
    free_names(f.names, f.width);
    free_names(f.truths, f.truth_count);
    free(f.dense);
    free(f.target);
    return error;
}
