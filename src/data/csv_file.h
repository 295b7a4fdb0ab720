/* A file of CSV, TSV or ARFF while it is read as a table. */
#pragma once

#include "data/csv.h"
#include "data/data_table.h"

typedef enum blv_csv_how { AS_NUMBER, AS_TEXT, NOT_AT_ALL } blv_csv_how;

typedef enum blv_csv_header { HEADER_OPEN, HEADER_NAMES, HEADER_ROW } blv_csv_header;

typedef struct blv_csv_file {
    blv_reading *r;
    blv_csv csv;
    blv_table t;
    unsigned char *how; /* to read each column: blv_csv_how */

    blv_csv_field *first; /* a copy of the first record */
    size_t first_count, first_line;
    bool header;            /* it holds names */
    bool header_guessed;    /* as it has a word above a number */
    bool header_numbers;    /* and a number above another */
    blv_csv_header known;   /* found from all rows */
    bool decimal_comma;     /* 1,5 rather than 1.5 */
    size_t commas;          /* fields that would be numbers with it */
    size_t grouped;         /* of these, 1,234 and the like: it may separate thousands */
    blv_shown_text comma;   /* the first of them */
    size_t points;          /* fields that are numbers without it only */
    uint64_t cells_checked; /* of the table: they may take their memory */
    size_t rows_known;      /* from an earlier pass; 0: this is the first */
    size_t padded;          /* columns of numbers such as 01234 */
    blv_shown_text padding; /* the first of these numbers */
    bool words_found;       /* below the first row: the numbers of this pass will not be needed */
} blv_csv_file;

/* Empty, NA and the like; a declared level is a value whatever it looks like. */
bool blv_csv_is_missing(const blv_csv_field *field);
/* With a point, or with a decimal comma where commas do not separate fields. */
bool blv_csv_looks_a_number(const blv_csv_file *file, const blv_csv_field *field);
/* A row of the table, its label, true label and weight. */
blv_error blv_csv_take_row(blv_csv_file *file, const blv_csv_field *fields, size_t count,
                           size_t line);

/* ---- The header ---- */

/* Whether the first record names the columns that a recipe has, also where names are numbers. */
blv_error blv_csv_find_names(blv_csv_file *file);
/* Whether it names the columns of the current record. */
bool blv_csv_is_header(blv_csv_file *file);
/* After all rows were read: whether it is what it was not taken for, which is known then. */
bool blv_csv_correct_header(blv_csv_file *file);
/* One line of words, whose columns are not known from other rows. */
bool blv_csv_header_alone(const blv_csv_file *file);
