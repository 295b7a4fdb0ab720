/* Whether the first record of a CSV file holds names: by the second one, and by all rows. */
#include "data/csv_file.h"

#include <stdio.h>
#include <string.h>

/* ---- By the first two ---- */

/* 0,1,2,3 ... as pandas names columns that have no names, with an index before them or many. */
static bool counts_columns(const blv_csv_file *f) {
    enum { CERTAIN = 4, WITH_INDEX = 2 };
    const bool index = f->first[0].length == 0;
    size_t count = 0;
    for (size_t i = index; i < f->first_count; i++, count++) {
        char expected[24];
        const int length = snprintf(expected, sizeof expected, "%zu", count);
        if (f->first[i].length != (size_t)length ||
            memcmp(f->first[i].text, expected, f->first[i].length) != 0)
            return false;
    }
    return count >= (index ? WITH_INDEX : CERTAIN);
}

/* A column of numbers and texts may begin with a text as well, so all rows are looked at later; the
 * names of a recipe have been looked for. */
bool blv_csv_is_header(blv_csv_file *f) {
    const blv_read_options *o = &f->r->options;
    bool above = false, numbers = false;
    f->header_guessed = false;
    if (o->header)
        return strcmp(o->header, "yes") == 0;
    if (f->known != HEADER_OPEN)
        return f->known == HEADER_NAMES;
    if (counts_columns(f))
        return true;
    for (size_t i = 0; i < f->first_count; i++) {
        const blv_csv_field *field = &f->first[i];
        const bool below = i < f->csv.count && blv_csv_looks_a_number(f, &f->csv.fields[i]);
        const bool number = blv_csv_looks_a_number(f, field);
        numbers = numbers || (number && below);
        if (number || blv_csv_is_missing(field))
            continue;
        if ((o->label && strcmp(o->label, field->text) == 0) || blv_recipe_has(&f->t, field->text))
            return true;
        above = above || below;
    }
    f->header_numbers = numbers;
    f->header_guessed = above;
    return above && !(numbers && blv_recipe_named(&f->t));
}

blv_error blv_csv_find_names(blv_csv_file *f) {
    const blv_table *t = &f->t;
    blv_texts texts = {0};
    bool all = false, well = true;
    if (f->r->options.header || !blv_recipe_named(t))
        return BLV_OK;
    for (size_t i = 0; i < f->first_count && well; i++)
        well = blv_texts_number(&texts, f->first[i].text, f->first[i].length) >= 0;
    const size_t known = texts.items.count;
    for (size_t j = 0; j < t->recipe_count && well && texts.items.count == known; j++) {
        const char *name = t->recipe[j].name;
        if (t->recipe[j].kind == BLV_KIND_LABEL || t->recipe[j].kind == BLV_KIND_DROP)
            continue;
        well = blv_texts_number(&texts, name, strlen(name)) >= 0;
        all = texts.items.count == known;
    }
    f->known = all ? HEADER_NAMES : f->known;
    blv_texts_free(&texts);
    return blv_need_memory(well, f->r->why);
}

/* ---- By all rows ---- */

/* Whether the header is a row, as no name is above nothing but numbers, and there are numbers above
 * others, or a name is also a text of its column. */
static bool is_row(const blv_csv_file *f) {
    const size_t index = f->t.count == f->first_count + 1;
    bool row = f->header_numbers;
    if (f->t.count != f->first_count + index) /* there are no names */
        return false;
    for (size_t i = 0; i < f->first_count; i++) {
        if (blv_csv_looks_a_number(f, &f->first[i]) || blv_csv_is_missing(&f->first[i]))
            continue;
        if (blv_table_has_numbers(&f->t, i + index))
            return false;
        row = row || blv_table_has_text(&f->t, i + index, f->first[i].text);
    }
    return row;
}

/* A column of numbers whose first field is a word has that for its name; columns of texts tell
 * once they have been read as such. */
static bool first_is_header(const blv_csv_file *f) {
    bool settled = true;
    for (size_t i = 0; i < f->t.count; i++) {
        const blv_column *c = &f->t.column[i];
        if (f->how[i] == AS_NUMBER && c->words == 1 && c->word_row == 0 && c->numbers > 0)
            return true;
        settled = settled && (f->how[i] != AS_NUMBER || c->words == 0);
    }
    return settled && f->r->format == BLV_FORMAT_CSV && blv_table_first_names(&f->t);
}

bool blv_csv_correct_header(blv_csv_file *f) {
    if (!f->header && !f->r->options.header && first_is_header(f))
        f->known = HEADER_NAMES;
    else if (f->header && f->header_guessed && is_row(f))
        f->known = HEADER_ROW;
    else
        return false;
    return true;
}

bool blv_csv_header_alone(const blv_csv_file *f) {
    const blv_read_options *o = &f->r->options;
    bool words = f->t.rows == 1 && !f->header && !o->header && !o->recipe && f->first_count > 1;
    for (size_t i = 0; words && i < f->first_count; i++)
        words = !blv_csv_looks_a_number(f, &f->first[i]) && !blv_csv_is_missing(&f->first[i]);
    return words;
}
