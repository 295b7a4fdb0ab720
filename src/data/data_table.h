/* Tables: rows of fields, each column of a kind, as they are in text files.
 *
 * Columns become features: a number is one feature, a boolean (0 or 1) and a date (days since 1970)
 * as well, a category has one feature for each of its levels, which is 1 where the row has that
 * level, and one more for all levels that were not seen when the columns were learned. Missing
 * values are filled with the median, or the most frequent level, and marked in a feature of their
 * own, the indicator. What was learned from the rows is the recipe of the table: other rows are
 * encoded by it alike. */
#pragma once

#include "base/arena.h"
#include "data/reading.h"

typedef enum blv_kind {
    BLV_KIND_AUTO, /* not known yet */
    BLV_KIND_NUMBER,
    BLV_KIND_CATEGORY,
    BLV_KIND_BOOLEAN,
    BLV_KIND_DATE,
    BLV_KIND_DROP, /* an identifier, or not wanted */
    BLV_KIND_LABEL /* of the rows: no feature */
} blv_kind;
extern const char *const blv_kind_words[];

enum { BLV_CODE_MISSING = -1, BLV_NO_COLUMN = -1 };

typedef struct blv_column {
    const char *name; /* "" where the file has none */
    blv_kind kind;
    bool given; /* the kind was asked for, or is from a recipe */
    bool texts; /* fields are kept as texts: levels and codes; else as numbers */

    /* fields of each sort, as the rows are read; words are neither numbers nor missing */
    size_t numbers, words, missing;
    size_t word_row, word_line; /* of the first word */
    blv_shown_text word;
    bool padded; /* a number has a zero before it, as codes have: 01234 */

    size_t place;     /* among the numbers or codes of a row */
    bool coded;       /* the codes hold its texts */
    blv_texts levels; /* distinct texts */

    /* what is learned */
    bool learned;       /* by a recipe */
    size_t level_count; /* of a category */
    int32_t *rank;      /* of a text's number: its feature among the levels; -1: not seen before */
    double *value;      /* of a text's number: that of a boolean or date */
    double fill;        /* for a missing value; NaN: not learned; of a category: a level's rank */
    bool indicator;
    bool never_seen;       /* a category has a feature for levels that are new */
    size_t feature, width; /* its first feature, and how many there are without the indicator */
} blv_column;

/* A line of a recipe, and where its features are. */
typedef struct blv_recipe_column {
    const char *line, *fill_text, *after_fill; /* the line, and the fill in it */
    char *name;
    blv_kind kind;
    bool indicator, never_seen;
    const char *level_text;       /* where the levels are */
    size_t levels, feature, span; /* its features with the indicator, from `feature` on */
    double fill;                  /* NaN: not learned */
    size_t *rows;                 /* levels + 1 zeros */
} blv_recipe_column;

typedef struct blv_table {
    blv_reading *r;
    blv_column *column;
    size_t count, rows;
    bool named;         /* the file has a header */
    int64_t label;      /* the label's column or BLV_NO_COLUMN */
    int64_t truth;      /* that of the true labels, likewise */
    int64_t weight;     /* that of the weights of rows, likewise */
    bool label_guessed; /* it is the last column, which nobody named */
    size_t number_columns, code_columns;
    blv_list numbers;  /* of double: those of all number columns, row by row; NaN: missing */
    blv_list codes;    /* of int32_t: the levels of all columns of texts, row by row */
    blv_column **used; /* those that become features, in their order, which is that of a recipe */
    size_t used_count;
    blv_recipe_column *recipe; /* that of the options */
    size_t recipe_count;
    blv_arena arena; /* of what the columns point to */
} blv_table;

void blv_table_free(blv_table *table);
void blv_table_free_columns(blv_table *table);
/* The name of a column; x0, x1, ... where there is no header. NULL when memory is short. */
const char *blv_column_name(blv_table *table, const blv_column *column);

/* ---- Labels ---- */

/* Finds the columns of the labels and true labels: those that are asked for, that of a recipe, one
 * with a usual name, or the last. Their kinds are LABEL and DROP then. */
blv_error blv_table_find_labels(blv_table *table);
/* label, class or target, in letters of either case. */
bool blv_names_a_label(const char *name);
/* Notes other columns that have such a name, where the label is one that nobody asked for. */
blv_error blv_table_note_labels(const blv_table *table);
/* After all rows were read: a label whose values nearly all differ, and are no numbers, is
 * rejected; in a last column that nobody named as the label, also where they are not whole. */
blv_error blv_table_check_label(const blv_table *table);

/* ---- Kinds ---- */

/* Empty, NA, N/A, NaN, null, ? and the like. */
bool blv_is_missing(const char *text, size_t length);
bool blv_boolean_value(const char *text, double *value);
/* Days since 1970-01-01. */
bool blv_date_value(const char *text, double *value);
/* Sets the kinds that a text such as "age:number,zip:category,id:drop" gives, by name or number. */
blv_error blv_table_set_kinds(blv_table *table, const char *kinds);
/* After all rows were read: finds the kinds of the columns. *again: some that were read as numbers
 * are texts, and all rows have to be read once more. */
blv_error blv_table_find_kinds(blv_table *table, bool *again);

/* ---- Headers ---- */

/* After all rows were read, with texts as such: whether the first row is one of names. It has the
 * usual name of a label, or one above booleans or dates; all columns are texts that come again but
 * for the first; the names of the numbers are 0, 1, 2 ...; the rows below it are counted; or four
 * numbers or more ascend by equal steps, and are unlike those below. */
bool blv_table_first_names(const blv_table *table);
/* Whether all values of the column are numbers, those of labels and texts too; missing ones do not
 * count. */
bool blv_table_has_numbers(const blv_table *table, size_t column);
/* Whether it is a column of texts, or the label, and has that one. */
bool blv_table_has_text(const blv_table *table, size_t column, const char *text);
/* Likewise: whether it may be one, where that is not known. No other row has any of its texts, or
 * its numbers ascend and are unlike those below. */
bool blv_table_first_doubtful(const blv_table *table);

/* ---- Recipes ---- */

/* The columns as text, one a line, to be kept with a set or model: kind, name, fill, indicator and
 * the levels, with tabs between them. From malloc; NULL when memory is short. */
char *blv_table_write_recipe(const blv_table *table);
/* Reads the recipe of the options, if there is one, before anything else. */
blv_error blv_table_take_recipe(blv_table *table);
/* Gives the columns what it says: columns that have names are matched by them, others by their
 * places without that of the label. */
blv_error blv_table_apply_recipe(blv_table *table);
/* Whether its columns have names, and whether one has that name. */
bool blv_recipe_named(const blv_table *table);
bool blv_recipe_has(const blv_table *table, const char *name);

/* The fill as it is in a recipe: a number, or - where it was not learned. */
void blv_fill_format(double fill, char text[40]);
/* false: a line is damaged, or memory was short. *features: how many its columns become. */
bool blv_recipe_parse(blv_arena *arena, const char *recipe, blv_recipe_column **columns,
                      size_t *count, size_t *features);
/* Those of a set that learned its recipe itself; none where it is that of another set. */
blv_error blv_recipe_columns(blv_arena *arena, const blv_dataset *dataset,
                             blv_recipe_column **columns, size_t *count, blv_message *why);

/* ---- Encoding ---- */

void blv_sort_numbers(double *numbers, size_t count); /* ascending */

/* Leaves out the rows, and their labels, that have a missing value. */
blv_error blv_table_drop_rows(blv_table *table);
/* The median of numbers, whose order changes; 0 where there are none. Of a boolean the lower one
 * of the two in the middle. */
double blv_table_median(double *numbers, size_t count, bool boolean);
/* Learns fills, levels and indicators from the rows, where no recipe has given them. */
blv_error blv_table_learn(blv_table *table);
/* Makes the features of the set. */
blv_error blv_table_encode(blv_table *table);
