/* Records of CSV files. */
#pragma once

#include "data/reading.h"

/* The text of a field, without quotes and the blanks around it. Behind the text is a byte that
 * cannot belong to a number. */
typedef struct blv_csv_field {
    char *text;
    size_t length;
    bool doubled; /* inside only: quotes still to be made single */
    bool quoted;  /* it was in quotes */
    bool number;  /* it is `value`; false: it was not looked at, or is none */
    bool level;   /* declared in an ARFF file, so that no word of it is a missing value */
    double value;
} blv_csv_field;

typedef struct blv_csv {
    blv_input *input;
    blv_message *why;
    char delimiter;
    bool trailing;      /* rows end in a delimiter, behind which there is no field */
    char *cursor, *end; /* the text read so far */
    bool last;
    bool returns; /* it has carriage returns */
    size_t next_line;
    blv_list room; /* for the fields */

    /* the record that was taken last, valid until the next is */
    blv_csv_field *fields;
    size_t count;
    bool doubled; /* inside only: one of them is */
    size_t line;  /* where it begins, from 1 */
    char *start;  /* ... in the text, where it ends at the cursor; of ARFF, NULL: there is none */
    struct blv_arff *arff; /* the header of an ARFF file; NULL: CSV */
} blv_csv;

/* Sets up the file from its first lines: comma, tab or semicolon. Needs blv_csv_close after any
 * outcome. */
blv_error blv_csv_open(blv_csv *csv, blv_input *input, blv_message *why);
void blv_csv_close(blv_csv *csv);
/* Takes the next record that is not blank; csv->count is 0 when there is none. */
blv_error blv_csv_next(blv_csv *csv);
/* The fields of one record, which is the text and ends in a newline: as they lie there, doubled
 * quotes as well. */
blv_error blv_csv_split(blv_csv *csv, char *text, size_t length);
/* One more field of the record; NULL when memory is short. */
blv_csv_field *blv_csv_add_field(blv_csv *csv);
