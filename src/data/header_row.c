/* Whether the first row of a table is one of names, by what all rows hold. */
#include "base/number_text.h"
#include "data/data_table.h"

#include <math.h>
#include <string.h>

enum { ENOUGH_ROWS = 10 };

/* ---- Columns ---- */

/* The first of the texts, which no other row has, is one that the others are not like. */
static bool stands_out(const blv_texts *texts) {
    const char *first = blv_texts_at(texts, 0);
    size_t booleans = 0, dates = 0, others = texts->items.count - 1;
    double value;
    for (size_t n = 1; n <= others; n++) {
        booleans += blv_boolean_value(blv_texts_at(texts, n), &value);
        dates += blv_date_value(blv_texts_at(texts, n), &value);
    }
    return (booleans == others && !blv_boolean_value(first, &value)) ||
           (dates == others && !blv_date_value(first, &value));
}

/* The texts of a column, and their numbers: that of row i is code[i * stride]. */
typedef struct text_column {
    const blv_texts *texts; /* NULL: it holds numbers, or nothing */
    const int32_t *code;
    size_t stride;
} text_column;

static text_column texts_of(const blv_table *t, size_t j) {
    const blv_column *c = &t->column[j];
    if ((int64_t)j == t->label && t->r->label.count == t->rows)
        return (text_column){&t->r->classes, t->r->label.items, 1};
    if ((int64_t)j == t->label || !c->coded)
        return (text_column){0};
    return (text_column){&c->levels, (const int32_t *)t->codes.items + c->place, t->code_columns};
}

static bool is_number_column(const blv_table *t, size_t j) {
    const blv_column *c = &t->column[j];
    return (int64_t)j != t->label && c->kind != BLV_KIND_DROP && !c->texts;
}

static double number_of(const blv_table *t, size_t j, size_t i) {
    return ((const double *)t->numbers.items)[i * t->number_columns + t->column[j].place];
}

/* Whether no other row has the text of the first. */
static bool is_single(const blv_table *t, const text_column *c) {
    size_t i = 1;
    while (i < t->rows && c->code[i * c->stride] != 0)
        i++;
    return c->code[0] == 0 && i == t->rows && c->texts->items.count > 1;
}

/* Nothing, and 0, 1, 2 ... below it: the index of pandas. */
static bool is_above_index(const blv_table *t) {
    enum { FEWEST = 3 };
    if (t->rows < FEWEST || !is_number_column(t, 0) || !isnan(number_of(t, 0, 0)))
        return false;
    size_t i = 1;
    while (i < t->rows && number_of(t, 0, i) == (double)(i - 1))
        i++;
    return i == t->rows;
}

/* ---- Numbers ---- */

/* Whether the number is whole, and outside of the others or none of them is whole. */
static bool is_unlike(double first, const double *others, size_t rows, size_t stride) {
    double low = INFINITY, high = -INFINITY;
    bool whole = false;
    for (size_t i = 1; i < rows; i++) {
        const double x = others[i * stride];
        low = x < low ? x : low;
        high = x > high ? x : high;
        whole = whole || x == floor(x);
    }
    return first == floor(first) && (first < low || first > high || !whole);
}

static bool is_number_text(const blv_texts *texts, size_t n) {
    double value;
    return blv_number_parse(blv_texts_at(texts, n), &value) == 0;
}

/* Of the label, where it is a number; a word that no other row has is a name as well. */
static bool label_ascends(const blv_table *t, double last) {
    const double *target = t->r->target.items;
    double first = last;
    if (t->label == BLV_NO_COLUMN)
        return true;
    if (t->r->target.count == t->rows)
        return target[0] > last && is_unlike(target[0], target, t->rows, 1);
    const text_column c = texts_of(t, (size_t)t->label);
    return c.texts && is_single(t, &c) &&
           (blv_number_parse(blv_texts_at(c.texts, 0), &first) != 0 || first > last);
}

/* 1990, 1991, 1992 ... above other numbers. Returns how many there are; *even: all with the same
 * distance. */
static size_t ascends(const blv_table *t, bool *even) {
    enum { FEWEST = 2 };
    double last = -1.0, step = 0.0;
    size_t numbers = 0, unlike = 0;
    *even = true;
    for (size_t j = 0; j < t->count; j++) {
        if (!is_number_column(t, j))
            continue;
        const double first = number_of(t, j, 0);
        if (isnan(first) && j == 0) /* an index */
            continue;
        if (!(first > last) || first != floor(first))
            return 0;
        step = numbers == 1 ? first - last : step;
        *even = *even && (numbers == 0 || first - last == step);
        last = first;
        numbers++;
    }
    if (t->rows <= FEWEST || numbers + (t->label != BLV_NO_COLUMN) < FEWEST ||
        !label_ascends(t, (size_t)t->label + 1 == t->count ? last : -1.0))
        return 0;
    for (size_t j = 0; j < t->count; j++)
        if (is_number_column(t, j))
            unlike +=
                is_unlike(number_of(t, j, 0), (const double *)t->numbers.items + t->column[j].place,
                          t->rows, t->number_columns);
    return 2 * unlike >= numbers ? numbers : 0;
}

static bool are_numbers(const blv_texts *texts) {
    size_t n = 0;
    while (n < texts->items.count && is_number_text(texts, n))
        n++;
    return n == texts->items.count;
}

bool blv_table_has_numbers(const blv_table *table, size_t column) {
    const blv_column *c = &table->column[column];
    const text_column texts = texts_of(table, column);
    if ((int64_t)column == table->label && table->r->target.count > 0)
        return true;
    if (texts.texts)
        return texts.texts->items.count > 0 && are_numbers(texts.texts);
    return is_number_column(table, column) && c->words == 0 && c->missing < table->rows;
}

bool blv_table_has_text(const blv_table *table, size_t column, const char *text) {
    const blv_texts *texts = texts_of(table, column).texts;
    size_t n = 0;
    while (texts && n < texts->items.count && strcmp(blv_texts_at(texts, n), text) != 0)
        n++;
    return texts && n < texts->items.count;
}

/* ---- Names ---- */

bool blv_table_first_names(const blv_table *t) {
    enum { ENOUGH_NUMBERS = 2, CERTAIN = 4 };
    bool unlike = false, unique = true, repeated = true, counted = true, usual = false;
    bool singles = true;
    size_t numbers = 0;
    for (size_t j = 0; j < t->count; j++) {
        const text_column c = texts_of(t, j);
        if (is_number_column(t, j)) {
            const double first = number_of(t, j, 0);
            counted = counted && (isnan(first) || first == (double)numbers);
            numbers += isnan(first) ? 0 : 1;
        } else if (c.texts && c.code[0] == 0) {
            double value;
            const bool number = blv_number_parse(blv_texts_at(c.texts, 0), &value) == 0;
            const bool single = is_single(t, &c), once = single && !number;
            singles = singles && single;
            if (single && number && (int64_t)j != t->label) { /* a number above texts */
                counted = counted && value == (double)numbers++;
                continue;
            }
            usual = usual || (once && blv_names_a_label(blv_texts_at(c.texts, 0)));
            unlike = unlike || (once && stands_out(c.texts));
            unique = unique && once;
            repeated = repeated && once && 2 * c.texts->items.count <= t->rows;
        }
    }
    const bool enough =
        unlike || (numbers == 0 ? repeated && t->rows > ENOUGH_ROWS : numbers >= ENOUGH_NUMBERS);
    bool even;
    return (unique && (usual || ((numbers == 0 || counted) && enough))) ||
           (singles && (is_above_index(t) || (ascends(t, &even) >= CERTAIN && even)));
}

/* ---- Doubt ---- */

bool blv_table_first_doubtful(const blv_table *t) {
    size_t columns = 0;
    bool repeated = t->rows <= ENOUGH_ROWS, even;
    for (size_t j = 0; j < t->count; j++) {
        const text_column c = texts_of(t, j);
        if (!c.texts || are_numbers(c.texts)) /* numbers, of classes */
            continue;
        if (!is_single(t, &c))
            return false;
        repeated = repeated || c.texts->items.count < t->rows;
        columns++;
    }
    return t->rows > 2 && ((columns > 0 && repeated) || ascends(t, &even) > 0);
}
