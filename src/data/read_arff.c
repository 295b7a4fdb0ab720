/* ARFF files. Sparse records of numbers become a sparse set; all others are tables, as CSV files
 * are, whose columns have declared kinds. */
#include "base/number_text.h"
#include "data/arff.h"
#include "data/data_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct sparse_file {
    blv_reading *r;
    blv_csv csv;
    blv_table t; /* columns alone, to find the label */
    blv_list row_start, column, value;
    bool is_table; /* after all */
} sparse_file;

/* Whether the columns but for the label are numbers, as far as the header tells. */
static blv_error find_columns(sparse_file *f) {
    blv_table *t = &f->t;
    t->count = f->csv.arff->attribute.count;
    t->named = true;
    t->column = blv_arena_alloc(&t->arena, t->count, sizeof *t->column);
    BLV_CHECK(blv_need_memory(t->column, f->r->why));
    for (size_t j = 0; j < t->count; j++)
        t->column[j].name = blv_attribute_at(&f->csv, j)->name;
    BLV_CHECK(blv_table_find_labels(t));
    BLV_CHECK(blv_arff_note_label(f->r, &f->csv, t->label));
    for (size_t j = 0; j < t->count; j++)
        f->is_table |= blv_attribute_at(&f->csv, j)->type != BLV_ATTRIBUTE_NUMBER &&
                       t->column[j].kind != BLV_KIND_LABEL;
    return BLV_OK;
}

static blv_error take_label(sparse_file *f, const blv_csv_field *field) {
    blv_reading *r = f->r;
    double target;
    if (!r->options.real_targets)
        return blv_add_label_text(r, &r->label, field->text, field->length, r->shown, f->csv.line);
    if (blv_decimal(field->text, &target) == field->text + field->length && isfinite(target))
        return blv_add_target(r, target);
    return blv_explain(r->why, BLV_E_FORMAT, "%s: line %zu: expected a finite number, found %s",
                       r->shown, f->csv.line, blv_show(field->text, field->length).text);
}

static blv_error take_value(sparse_file *f, size_t j, const blv_csv_field *field) {
    uint32_t *column = blv_list_room(&f->column, 1, sizeof *column);
    double *value = blv_list_room(&f->value, 1, sizeof *value);
    BLV_CHECK(blv_need_memory(column && value, f->r->why));
    f->is_table |= blv_is_missing(field->text, field->length);
    if (!f->is_table &&
        (blv_decimal(field->text, value) != field->text + field->length || !isfinite(*value)))
        return blv_explain(f->r->why, BLV_E_FORMAT,
                           "%s: line %zu, attribute '%.60s': expected a finite number, found %s",
                           f->r->shown, f->csv.line, f->t.column[j].name,
                           blv_show(field->text, field->length).text);
    *column = (uint32_t)(j - (f->t.label != BLV_NO_COLUMN && (size_t)f->t.label < j));
    f->column.count = f->value.count += *value != 0.0;
    return BLV_OK;
}

static blv_error take_record(sparse_file *f) {
    const size_t *index = f->csv.arff->index.items;
    blv_csv_field label = {.text = f->r->zero_label, .length = strlen(f->r->zero_label)};
    size_t *start = blv_list_room(&f->row_start, 1, sizeof *start);
    BLV_CHECK(blv_need_memory(start, f->r->why));
    for (size_t k = 0; k < f->csv.count && !f->is_table; k++)
        if ((int64_t)index[k] == f->t.label)
            label = f->csv.fields[k];
        else
            BLV_CHECK(take_value(f, index[k], &f->csv.fields[k]));
    *start = f->column.count;
    f->row_start.count++;
    BLV_CHECK(blv_add_place(f->r, blv_input_place(f->csv.input, f->csv.start),
                            (size_t)(f->csv.cursor - f->csv.start)));
    if (f->t.label == BLV_NO_COLUMN)
        return BLV_OK;
    f->is_table |= blv_is_missing(label.text, label.length);
    return f->is_table ? BLV_OK : take_label(f, &label);
}

static blv_error take_records(sparse_file *f) {
    blv_csv *csv = &f->csv;
    size_t *start = blv_list_room(&f->row_start, 1, sizeof *start);
    BLV_CHECK(blv_arff_open(csv, f->r->input, f->r->why));
    BLV_CHECK(find_columns(f));
    BLV_CHECK(blv_need_memory(start, f->r->why));
    *start = 0;
    f->row_start.count = 1;
    csv->arff->keep_sparse = true;
    while (!f->is_table) {
        BLV_CHECK(blv_csv_next(csv));
        if (!csv->start)
            break;
        f->is_table |= !csv->arff->sparse;
        if (!f->is_table)
            BLV_CHECK(take_record(f));
    }
    f->is_table |= f->row_start.count == 1; /* which says that there are no rows */
    return BLV_OK;
}

static blv_error put_rows(sparse_file *f) {
    blv_reading *r = f->r;
    blv_dataset_view *v = &r->dataset->view;
    const bool labelled = f->t.label != BLV_NO_COLUMN;
    v->rows = f->row_start.count - 1;
    v->columns = f->t.count - labelled;
    v->precision = BLV_F64;
    const char **names = blv_arena_alloc(&f->t.arena, v->columns, sizeof *names);
    for (size_t j = 0, k = 0; names && j < f->t.count; j++)
        if (!labelled || j != (size_t)f->t.label)
            names[k++] = f->t.column[j].name;
    bool ok =
        names && blv_dataset_put_sparse(r->dataset, blv_list_take(&f->row_start, sizeof(size_t)),
                                        blv_list_take(&f->column, sizeof(uint32_t)),
                                        blv_list_take(&f->value, sizeof(double)));
    ok = ok &&
         blv_dataset_put(r->dataset, BLV_PART_FEATURE_NAMES, blv_strings_copy(names, v->columns));
    return blv_need_memory(ok, r->why);
}

blv_error blv_read_arff(blv_reading *r) {
    const blv_read_options *o = &r->options;
    sparse_file f = {
        .r = r, .t = {.r = r}, .is_table = o->recipe || o->kinds || o->truth || o->weight};
    blv_error error = f.is_table ? BLV_OK : take_records(&f);
    if (!error && !f.is_table)
        error = put_rows(&f);
    blv_csv_close(&f.csv);
    blv_table_free(&f.t);
    free(f.row_start.items);
    free(f.column.items);
    free(f.value.items);
    if (error || !f.is_table)
        return error;
    r->label.count = r->target.count = r->place.count = 0;
    blv_texts_free(&r->classes);
    BLV_CHECK(blv_input_rewind(r->input, r->why));
    return blv_read_csv(r);
}
