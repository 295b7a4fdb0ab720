/* Which column of a table is the label. */
#include "data/data_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* So many different values may be classes, however few rows there are. */
enum { LABELS_CERTAIN = 20 };

static blv_error reject_column(const blv_table *t, const char *kind, const char *wanted) {
    char names[240] = "";
    if (!t->named)
        return blv_explain(t->r->why, BLV_E_NAME,
                           "%s: no %s column '%.60s'; there is no header: expected a number from 0 "
                           "to %zu",
                           t->r->shown, kind, wanted, t->count - 1);
    for (size_t i = 0; i < t->count; i++)
        blv_list_name(names, sizeof names, t->column[i].name);
    return blv_explain(t->r->why, BLV_E_NAME, "%s: no %s column '%.60s'; the header has %s",
                       t->r->shown, kind, wanted, names);
}

/* The first column of that name. */
static int64_t named_column(const blv_table *t, const char *name) {
    for (size_t i = 0; t->named && i < t->count; i++)
        if (strcmp(t->column[i].name, name) == 0)
            return (int64_t)i;
    return BLV_NO_COLUMN;
}

/* The column of that name or number. */
static blv_error find_column(const blv_table *t, const char *kind, const char *wanted,
                             int64_t *column) {
    size_t same = 0;
    *column = named_column(t, wanted);
    for (size_t i = 0; *column != BLV_NO_COLUMN && i < t->count; i++)
        same += strcmp(t->column[i].name, wanted) == 0;
    if (same > 1)
        return blv_explain(t->r->why, BLV_E_NAME,
                           "%s: %zu columns have the name '%.60s'; expected a number from 0 to %zu",
                           t->r->shown, same, wanted, t->count - 1);
    if (*column != BLV_NO_COLUMN || strcmp(wanted, "none") == 0)
        return BLV_OK;
    size_t digits = strspn(wanted, "0123456789");
    if (digits == 0 || digits > 10 || wanted[digits] != '\0' ||
        strtoull(wanted, NULL, 10) >= t->count)
        return reject_column(t, kind, wanted);
    *column = (int64_t)strtoull(wanted, NULL, 10);
    return BLV_OK;
}

/* In the order in which they are looked for; y may be a coordinate. */
static const char *const usual[] = {"label", "class", "target", "y"};

bool blv_names_a_label(const char *name) {
    return strcasecmp(name, usual[0]) == 0 || strcasecmp(name, usual[1]) == 0 ||
           strcasecmp(name, usual[2]) == 0;
}

blv_error blv_table_note_labels(const blv_table *t) {
    char names[240] = "";
    if (t->r->options.label || t->r->options.recipe || t->label == BLV_NO_COLUMN)
        return BLV_OK;
    for (size_t i = 0; t->named && i < t->count; i++)
        if ((int64_t)i != t->label && (int64_t)i != t->truth && (int64_t)i != t->weight &&
            t->column[i].kind != BLV_KIND_DROP && blv_names_a_label(t->column[i].name))
            blv_list_name(names, sizeof names, t->column[i].name);
    return blv_need_memory(!*names ||
                               blv_dataset_note(t->r->dataset,
                                                "the label is column %zu, '%.60s'; others may be "
                                                "it as well: %s",
                                                (size_t)t->label, t->column[t->label].name, names),
                           t->r->why);
}

/* A column that is named as labels are, else the last one that is not that of the true labels. */
static int64_t guess_label(blv_table *t) {
    int64_t last = (int64_t)t->count - 1;
    while (last > 0 && (t->truth == last || t->weight == last))
        last--;
    for (size_t w = 0; t->named && w < sizeof usual / sizeof *usual; w++) {
        if (strcasecmp(t->column[last].name, usual[w]) == 0)
            return last;
        for (size_t i = 0; i < t->count; i++)
            if (strcasecmp(t->column[i].name, usual[w]) == 0 && (int64_t)i != t->truth &&
                (int64_t)i != t->weight)
                return (int64_t)i;
    }
    t->label_guessed = true;
    return last;
}

/* Where rows that the recipe was learned from have it; rows to be answered may have none. */
static int64_t recipe_label(const blv_table *t) {
    const size_t columns = t->recipe_count;
    size_t place = 0;
    while (place < columns && t->recipe[place].kind != BLV_KIND_LABEL)
        place++;
    const char *name = place < columns ? t->recipe[place].name : NULL;
    if (name && *name && t->named) /* another column may have its name */
        return place < t->count && strcmp(t->column[place].name, name) == 0 ? (int64_t)place
                                                                            : named_column(t, name);
    return name && t->count >= columns ? (int64_t)place : BLV_NO_COLUMN;
}

blv_error blv_table_find_labels(blv_table *t) {
    const blv_read_options *o = &t->r->options;
    t->truth = t->weight = BLV_NO_COLUMN;
    t->label_guessed = false;
    if (o->truth)
        BLV_CHECK(find_column(t, "truth", o->truth, &t->truth));
    if (o->weight)
        BLV_CHECK(find_column(t, "weight", o->weight, &t->weight));
    if (t->weight != BLV_NO_COLUMN)
        t->column[t->weight].kind = BLV_KIND_DROP;
    if (o->label)
        BLV_CHECK(find_column(t, "label", o->label, &t->label));
    else
        t->label = o->recipe ? recipe_label(t) : guess_label(t);
    const int64_t unread =
        o->label && o->recipe && t->label == BLV_NO_COLUMN ? recipe_label(t) : BLV_NO_COLUMN;
    if (unread != BLV_NO_COLUMN && t->column[unread].kind == BLV_KIND_AUTO)
        t->column[unread].kind = BLV_KIND_DROP;
    if (t->truth != BLV_NO_COLUMN &&
        (t->truth == t->label || t->label == BLV_NO_COLUMN || o->real_targets))
        return blv_explain(t->r->why, BLV_E_VALUE,
                           "%s: true labels need another column with the labels of classes",
                           t->r->shown);
    if (t->weight != BLV_NO_COLUMN && (t->weight == t->label || t->weight == t->truth))
        return blv_explain(t->r->why, BLV_E_VALUE, "%s: the weights need a column of their own",
                           t->r->shown);
    if (t->truth != BLV_NO_COLUMN)
        t->column[t->truth].kind = BLV_KIND_DROP;
    if (t->label != BLV_NO_COLUMN)
        t->column[t->label].kind = BLV_KIND_LABEL;
    if ((size_t)(t->label != BLV_NO_COLUMN) + (t->truth != BLV_NO_COLUMN) +
            (t->weight != BLV_NO_COLUMN) ==
        t->count)
        return blv_explain(t->r->why, BLV_E_FORMAT,
                           "%s: one column; expected a label and features, separated by comma, "
                           "tab, semicolon or space",
                           t->r->shown);
    return BLV_OK;
}

/* ---- Whether it is one ---- */

/* Whether the column has a few values only: texts, or whole numbers. */
static bool has_few_values(const blv_table *t, const blv_column *c) {
    const double *numbers = t->numbers.items;
    double seen[LABELS_CERTAIN];
    size_t count = 0;
    if (c->kind == BLV_KIND_LABEL || c->kind == BLV_KIND_DROP)
        return false;
    if (c->texts)
        return c->levels.items.count <= LABELS_CERTAIN;
    for (size_t i = 0; i < t->rows; i++) {
        const double x = numbers[i * t->number_columns + c->place];
        size_t k = 0;
        while (k < count && seen[k] != x)
            k++;
        if (k == LABELS_CERTAIN || x != floor(x))
            return false;
        seen[k] = x;
        count += k == count;
    }
    return true;
}

static blv_error reject_label(const blv_table *t, size_t different) {
    char names[200] = "";
    for (size_t j = 0; t->label_guessed && t->named && j < t->count; j++)
        if (has_few_values(t, &t->column[j]))
            blv_list_name(names, sizeof names, t->column[j].name);
    return blv_explain(t->r->why, BLV_E_FORMAT,
                       "%s: the %s column%s%.60s%s has %zu different values in %zu rows, which "
                       "are no classes; %s%s%s",
                       t->r->shown, t->label_guessed ? "last" : "label", t->named ? " '" : "",
                       t->column[t->label].name, t->named ? "'" : "", different, t->rows,
                       t->label_guessed ? "name the column of the labels"
                                        : "targets classes takes them for some",
                       *names ? "; it may be " : "", names);
}

/* How many targets differ; *whole: all are whole numbers. */
static blv_error count_targets(const blv_table *t, size_t *different, bool *whole) {
    double *value = blv_data_alloc(t->rows, sizeof *value);
    *different = 0;
    *whole = true;
    BLV_CHECK(blv_need_memory(value, t->r->why));
    memcpy(value, t->r->target.items, t->rows * sizeof *value);
    blv_sort_numbers(value, t->rows);
    for (size_t i = 0; i < t->rows; i++) {
        *different += i == 0 || value[i] != value[i - 1];
        *whole = *whole && value[i] == floor(value[i]);
    }
    free(value);
    return BLV_OK;
}

blv_error blv_table_check_label(const blv_table *table) {
    const blv_reading *r = table->r;
    size_t different = r->classes.items.count;
    bool whole = true;
    double value;
    if (r->many_labels && table->label_guessed) {
        BLV_CHECK(count_targets(table, &different, &whole));
        return !whole && 2 * different > table->rows ? reject_label(table, different) : BLV_OK;
    }
    if (table->label == BLV_NO_COLUMN || r->options.recipe || r->options.real_targets ||
        r->options.targets == BLV_TARGETS_CLASSES || different <= LABELS_CERTAIN ||
        2 * different <= table->rows)
        return BLV_OK;
    for (size_t n = 0; n < different; n++)
        if (!blv_label_number(r, blv_texts_at(&r->classes, n), &value) ||
            (table->label_guessed && value != floor(value)))
            return reject_label(table, different);
    return BLV_OK;
}
