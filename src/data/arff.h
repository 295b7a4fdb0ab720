/* ARFF files (Weka): a header that declares the attributes, then a record on each line, dense or
 * sparse. */
#pragma once

#include "base/arena.h"
#include "data/csv.h"

typedef enum blv_attribute_type {
    BLV_ATTRIBUTE_NUMBER,
    BLV_ATTRIBUTE_NOMINAL,
    BLV_ATTRIBUTE_STRING,
    BLV_ATTRIBUTE_DATE
} blv_attribute_type;

typedef struct blv_attribute {
    char *name;
    blv_attribute_type type;
    blv_texts levels; /* of a nominal one, as declared */
} blv_attribute;

typedef struct blv_arff {
    blv_arena arena;    /* of names */
    char *zero;         /* "0" */
    blv_list attribute; /* of blv_attribute */
    bool sparse;        /* the last record is */
    bool keep_sparse;   /* then `index` is all there is of it, beside as many fields */
    blv_list index;     /* of size_t: the attributes of the fields, ascending */
} blv_arff;

/* Reads the header. As blv_csv_open, whose other functions work on the records then. */
blv_error blv_arff_open(blv_csv *csv, blv_input *input, blv_message *why);
void blv_arff_close(blv_arff *arff); /* NULL is allowed */
/* The next record; attributes that a sparse one leaves out are 0, or the first level. */
blv_error blv_arff_next(blv_csv *csv);

static inline blv_attribute *blv_attribute_at(const blv_csv *csv, size_t j) {
    return (blv_attribute *)csv->arff->attribute.items + j;
}

/* Behind the value that ends at p: the next one, past a comma or tab; NULL: there is none. */
const char *blv_arff_next_value(const char *p);
/* Keeps which attribute is the label, and what it is in a sparse record without it. */
blv_error blv_arff_note_label(blv_reading *r, const blv_csv *csv, int64_t label);
