/* CSV and TSV files, and ARFF files as tables: a row on each line, one column of which may be the
 * label.
 *
 * Fields are taken for numbers. Where a column turns out to hold texts, or numbers a decimal comma,
 * the file is read once more with that known; plain numbers are read once. Numbers are not kept
 * from there on where the first such field is found. */
#include "base/aligned_memory.h"
#include "base/rank_exchange.h"
#include "bilevel/ranks.h"
#include "data/arff.h"
#include "data/csv_file.h"

#include <stdlib.h>
#include <string.h>

enum { PASSES = 6 };

/* ---- One pass over the file ---- */

/* The fields of the current record in one block, each with a zero byte behind it. */
static blv_csv_field *copy_record(blv_arena *arena, const blv_csv *csv) {
    blv_csv_field *copy = blv_arena_alloc(arena, csv->count, sizeof *copy);
    for (size_t i = 0; copy && i < csv->count; i++) {
        size_t length = csv->fields[i].length;
        copy[i] = (blv_csv_field){.text = blv_arena_alloc(arena, length + 1, 1), .length = length};
        if (!copy[i].text)
            return NULL;
        memcpy(copy[i].text, csv->fields[i].text, length);
    }
    return copy;
}

static blv_error make_columns(blv_csv_file *f, size_t width) {
    blv_table *t = &f->t;
    t->count = width;
    /* where the header has one field fewer, the first column is an index without a name */
    const size_t index = width == f->first_count + 1;
    t->named = f->header && width == f->first_count + index;
    t->column = blv_arena_alloc(&t->arena, width, sizeof *t->column);
    f->how = blv_arena_alloc(&t->arena, width, 1);
    BLV_CHECK(blv_need_memory(t->column && f->how, f->r->why));
    for (size_t i = 0; i < width; i++)
        t->column[i].name = t->named && i >= index ? f->first[i - index].text : "";
    BLV_CHECK(blv_table_find_labels(t));
    if (f->r->options.recipe)
        return blv_table_apply_recipe(t);
    return f->r->options.kinds ? blv_table_set_kinds(t, f->r->options.kinds) : BLV_OK;
}

/* How to read each column, before any row is. */
static void plan_columns(blv_csv_file *f) {
    blv_table *t = &f->t;
    t->number_columns = t->code_columns = 0;
    for (size_t i = 0; i < t->count; i++) {
        blv_column *c = &t->column[i];
        bool used = c->kind != BLV_KIND_LABEL && c->kind != BLV_KIND_DROP;
        f->how[i] = !used ? NOT_AT_ALL : c->texts ? AS_TEXT : AS_NUMBER;
        c->coded = f->how[i] == AS_TEXT;
        if (used)
            c->place = c->coded ? t->code_columns++ : t->number_columns++;
    }
    /* at once rather than by and by, which takes twice as much */
    (void)blv_list_room(&t->numbers, f->rows_known * t->number_columns, sizeof(double));
    (void)blv_list_room(&t->codes, f->rows_known * t->code_columns, sizeof(int32_t));
}

/* Takes the first two records to see whether the first is a header. */
static blv_error take_start(blv_csv_file *f) {
    blv_csv *csv = &f->csv;
    const uint64_t place = blv_input_place(csv->input, csv->start);
    const size_t length = (size_t)(csv->cursor - csv->start);
    f->first_count = csv->count;
    f->first_line = csv->line;
    f->first = copy_record(&f->t.arena, csv);
    BLV_CHECK(blv_need_memory(f->first, f->r->why));
    BLV_CHECK(blv_csv_find_names(f));
    BLV_CHECK(blv_csv_next(csv));
    const bool before = f->header;
    f->header = blv_csv_is_header(f);
    if (f->t.column && f->header != before) { /* other names */
        blv_table_free_columns(&f->t);
        f->t.used_count = 0;
    }
    if (!f->t.column)
        BLV_CHECK(make_columns(f, f->header && csv->count > 0 ? csv->count : f->first_count));
    plan_columns(f);
    if (f->header)
        return BLV_OK;
    BLV_CHECK(blv_csv_take_row(f, f->first, f->first_count, f->first_line));
    return blv_add_place(f->r, place, length);
}

/* Columns as the header of an ARFF file declares them, unless the options do. */
static blv_error take_attributes(blv_csv_file *f) {
    const size_t count = f->csv.arff->attribute.count;
    if (!f->t.column) {
        f->header = true;
        f->first_count = count;
        f->first = blv_arena_alloc(&f->t.arena, count, sizeof *f->first);
        for (size_t j = 0; f->first && j < count; j++)
            f->first[j].text = blv_arena_copy(&f->t.arena, blv_attribute_at(&f->csv, j)->name);
        if (f->t.arena.failed)
            return blv_explain_memory(f->r->why);
        BLV_CHECK(make_columns(f, count));
        BLV_CHECK(blv_arff_note_label(f->r, &f->csv, f->t.label));
    }
    for (size_t j = 0; j < count; j++) {
        static const blv_kind kinds[] = {BLV_KIND_NUMBER, BLV_KIND_CATEGORY, BLV_KIND_AUTO,
                                         BLV_KIND_DATE};
        blv_column *c = &f->t.column[j];
        const blv_attribute_type type = blv_attribute_at(&f->csv, j)->type;
        if (c->kind != BLV_KIND_AUTO)
            continue;
        c->kind = kinds[type];
        c->texts = type != BLV_ATTRIBUTE_NUMBER;
        c->given = c->texts && type != BLV_ATTRIBUTE_STRING;
    }
    plan_columns(f);
    return BLV_OK;
}

/* Now and then, as they become more. */
static blv_error expect_cells(blv_csv_file *f) {
    const uint64_t cells = (uint64_t)f->t.rows * f->t.count;
    if (cells <= f->cells_checked)
        return BLV_OK;
    f->cells_checked = cells + (cells >> 3) + (1 << 16);
    return blv_reading_expect(f->r, cells, sizeof(double), "its table");
}

/* The current record as a row, and the next one after it. */
static blv_error take_record(blv_csv_file *f) {
    blv_csv *csv = &f->csv;
    BLV_CHECK(blv_csv_take_row(f, csv->fields, csv->count, csv->line));
    BLV_CHECK(blv_add_place(f->r, blv_input_place(csv->input, csv->start),
                            (size_t)(csv->cursor - csv->start)));
    return blv_csv_next(csv);
}

static blv_error take_records(blv_csv_file *f) {
    blv_csv *csv = &f->csv;
    const bool arff = f->r->format == BLV_FORMAT_ARFF;
    BLV_CHECK((arff ? blv_arff_open : blv_csv_open)(csv, f->r->input, f->r->why));
    if (arff)
        BLV_CHECK(take_attributes(f));
    f->r->comma_labels = !arff && csv->delimiter != ',';
    BLV_CHECK(blv_csv_next(csv));
    if (csv->count > 0 && !arff)
        BLV_CHECK(take_start(f));
    while (csv->count > 0) {
        BLV_CHECK(take_record(f));
        BLV_CHECK(expect_cells(f));
    }
    if (f->t.rows == 0 || blv_csv_header_alone(f))
        return blv_explain(f->r->why, BLV_E_FORMAT, "%s: there is no row of data", f->r->shown);
    return BLV_OK;
}

/* Whether something was found that all rows have to be read again for. */
static blv_error look_back(blv_csv_file *f, bool *again) {
    blv_table *t = &f->t;
    for (size_t i = 0; i < t->count; i++)
        t->column[i].numbers = t->rows - t->column[i].words - t->column[i].missing;
    *again = true;
    if (f->commas == f->grouped && f->points > 0)
        return blv_explain(f->r->why, BLV_E_FORMAT,
                           "%s: commas separate thousands (%s), as other numbers have a point; "
                           "expected numbers without them, or the kind category for the column",
                           f->r->shown, f->comma.text);
    if (f->commas > 0 && !f->decimal_comma)
        f->decimal_comma = true;
    else if (!blv_csv_correct_header(f))
        return blv_table_find_kinds(t, again);
    return BLV_OK;
}

static blv_error start_again(blv_csv_file *f) {
    blv_table *t = &f->t;
    blv_reading *r = f->r;
    blv_csv_close(&f->csv);
    BLV_CHECK(blv_input_rewind(r->input, r->why));
    for (size_t i = 0; i < t->count; i++) {
        t->column[i].words = t->column[i].missing = 0;
        t->column[i].padded = false;
    }
    free(t->numbers.items); /* texts are no numbers any more: less memory will do */
    t->numbers = (blv_list){0};
    t->codes.count = 0;
    f->words_found = false;
    f->padded = 0;
    f->rows_known = t->rows;
    t->rows = r->place.count = r->weight.count = 0;
    r->label.count = r->truth.count = r->target.count = 0;
    blv_texts_free(&r->classes);
    return BLV_OK;
}

/* From rows to features, and what was learned for that. */
static blv_error learn_table(blv_csv_file *f) {
    BLV_CHECK(blv_table_learn(&f->t));
    BLV_CHECK(blv_table_encode(&f->t));
    return blv_need_memory(
        blv_dataset_put(f->r->dataset, BLV_PART_RECIPE, blv_table_write_recipe(&f->t)), f->r->why);
}

/* ---- A part of the file, for each rank ---- */

static bool is_plain(const blv_csv_file *f) {
    bool plain = f->commas == 0;
    for (size_t i = 0; plain && i < f->t.count; i++) {
        const blv_column *c = &f->t.column[i];
        plain = f->how[i] != AS_TEXT && c->words == 0 && c->missing == 0;
    }
    return plain;
}

/* Columns by the first lines of the file, rows of this rank's part: numbers without quotes. */
static blv_error take_part(blv_csv_file *f) {
    blv_csv *csv = &f->csv;
    blv_reading *r = f->r;
    bool quoted = false;
    BLV_CHECK(blv_csv_open(csv, r->input, r->why));
    BLV_CHECK(blv_csv_next(csv));
    if (csv->count > 0)
        BLV_CHECK(take_start(f));
    const char delimiter = csv->delimiter;
    const bool trailing = csv->trailing;
    BLV_CHECK(start_again(f));
    BLV_CHECK(
        blv_input_take_part(r->input, (size_t)r->share->rank, (size_t)r->share->count, r->why));
    *csv = (blv_csv){.input = r->input,
                     .why = r->why,
                     .next_line = 1,
                     .delimiter = delimiter,
                     .trailing = trailing};
    BLV_CHECK(blv_csv_next(csv));
    if (f->header && r->share->rank == 0 && csv->count > 0)
        BLV_CHECK(blv_csv_next(csv));
    while (csv->count > 0 && !quoted) {
        for (size_t i = 0; i < csv->count; i++)
            quoted = quoted || csv->fields[i].quoted;
        BLV_CHECK(take_record(f));
    }
    return quoted || !is_plain(f) ? BLV_NOT_SHARED : BLV_OK;
}

/* All kinds that all rows are needed for are found by one process. */
static blv_error read_part(blv_csv_file *f) {
    blv_table *t = &f->t;
    blv_reading *r = f->r;
    bool again = false;
    blv_error error = take_part(f);
    for (size_t i = 0; !error && i < t->count; i++)
        t->column[i].numbers = 1; /* there are some on one of the ranks, or the file is rejected */
    if (!error)
        error = blv_table_find_kinds(t, &again);
    for (size_t i = 0; !error && i < t->count; i++)
        if (t->column[i].kind == BLV_KIND_DROP && !t->column[i].given)
            error = BLV_NOT_SHARED; /* it seems to identify rows */
    if (!blv_ranks_all(r->share, error == BLV_OK && !again))
        return BLV_NOT_SHARED;
    const size_t local = t->rows;
    size_t rows;
    BLV_CHECK(blv_share_labels(r, local, &rows));
    if (rows == 0)
        return BLV_NOT_SHARED;
    t->rows = rows;
    BLV_CHECK(blv_table_check_label(t));
    t->rows = local;
    r->delimiter = f->csv.delimiter;
    r->label_column = t->label;
    BLV_CHECK(learn_table(f));
    return blv_share_held(r, local, rows);
}

static bool note_padded(blv_csv_file *f) {
    char names[300] = "";
    size_t count = 0;
    for (size_t i = 0; f->padded > 0 && i < f->t.count; i++) {
        const blv_column *c = &f->t.column[i];
        if (!c->padded || c->kind != BLV_KIND_NUMBER)
            continue;
        blv_list_name(names, sizeof names, blv_column_name(&f->t, c));
        count++;
    }
    return count == 0 || blv_dataset_note(f->r->dataset,
                                          "leading zeros (%s) are lost, as the kind is number, not "
                                          "category: column%s %s",
                                          f->padding.text, count > 1 ? "s" : "", names);
}

/* What is not certain about the first line, commas and codes. */
static blv_error note_doubts(blv_csv_file *f) {
    const blv_table *t = &f->t;
    const blv_read_options *o = &f->r->options;
    blv_dataset *d = f->r->dataset;
    bool told = true;
    if (f->header && !t->named)
        told = blv_dataset_note(d, "line %zu left out: a header of %zu fields, the rows have %zu",
                                f->first_line, f->first_count, t->count);
    else if (!f->header && !o->header && blv_recipe_named(t))
        told = blv_dataset_note(d, "there is no header: columns are in the order of the training");
    else if (!f->header && !o->header && !o->recipe && blv_table_first_doubtful(t))
        told = blv_dataset_note(d,
                                "line %zu may be a header, and is taken for a row of data: header "
                                "yes or no decides",
                                f->first_line);
    if (told && f->commas > 0 && f->commas == f->grouped)
        told = blv_dataset_note(
            d, "commas are taken for decimal ones, not for those of thousands: %s", f->comma.text);
    told = told && note_padded(f);
    if (told && f->csv.trailing)
        told = blv_dataset_note(d, "lines end in a separator, behind which there is no field");
    return blv_need_memory(told, f->r->why);
}

static blv_error read_table(blv_csv_file *f) {
    blv_table *t = &f->t;
    bool again = true;
    if (f->r->share)
        return read_part(f);
    BLV_CHECK(take_records(f));
    for (int pass = 1; again; pass++) {
        BLV_CHECK(look_back(f, &again));
        if (!again || pass == PASSES)
            break;
        BLV_CHECK(start_again(f));
        BLV_CHECK(take_records(f));
    }
    BLV_CHECK(blv_table_check_label(t));
    f->r->delimiter = f->csv.delimiter;
    f->r->label_column = t->label;
    BLV_CHECK(note_doubts(f));
    BLV_CHECK(blv_table_note_labels(t));
    if (f->r->options.missing == BLV_MISSING_DROP)
        BLV_CHECK(blv_table_drop_rows(t));
    BLV_CHECK(blv_input_rewind(f->r->input, f->r->why)); /* its text is not needed any more */
    blv_return_memory();
    return learn_table(f);
}

blv_error blv_read_csv(blv_reading *r) {
    blv_csv_file f = {.r = r, .t = {.r = r}};
    const char *header = r->options.header;
    if (header && strcmp(header, "yes") != 0 && strcmp(header, "no") != 0)
        return blv_explain(r->why, BLV_E_VALUE, "header is '%.60s'; expected yes or no", header);
    blv_error error = blv_table_take_recipe(&f.t);
    if (!error)
        error = read_table(&f);
    blv_csv_close(&f.csv);
    blv_table_free(&f.t);
    return error;
}
