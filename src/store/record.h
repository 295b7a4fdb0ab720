/* One table describes a struct: its JSON form, the way back, and its values as text.
 *
 *     typedef struct point { char *name; double x; size_t count; double *y; } point;
 *     static const blv_field point_fields[] = {BLV_FIELD(point, name, TEXT),
 *                                              BLV_FIELD(point, x, REAL),
 *                                              BLV_FIELD_ARRAY(point, y, count, REALS),
 *                                              {0}};
 *     json_t *object = blv_record_json(point_fields, &p);
 *     error = blv_record_parse(point_fields, &q, text, &why);
 *     blv_record_free(point_fields, &q);
 *
 * Objects keep the order of the table. A table ends with {0}. */
#pragma once

#include "bilevel/values.h"

#include <jansson.h>
#include <stddef.h>

typedef enum blv_kind {
    BLV_KIND_REAL,                   /* double; null in JSON where it is not finite, NaN for null */
    BLV_KIND_WHOLE,                  /* uint64_t, */
    BLV_KIND_SIZE = BLV_KIND_WHOLE,  /* size_t and */
    BLV_KIND_INT64 = BLV_KIND_WHOLE, /* int64_t, which all have 8 bytes */
    BLV_KIND_INT,                    /* int */
    BLV_KIND_BOOL,                   /* bool */
    BLV_KIND_HEX,                    /* uint64_t, as a string of 16 digits */
    BLV_KIND_TEXT,                   /* char * or const char *; NULL is null */
    BLV_KIND_PATH,                   /* the same of a file: in JSON from the root folder on */
    BLV_KIND_CHARS,                  /* char[size] */
    BLV_KIND_WORD,                   /* an enum, as words[value] */
    BLV_KIND_JSON,                   /* char *: JSON text that is inserted as a value */
    BLV_KIND_VALUES,                 /* blv_values, as an object */
    BLV_KIND_RECORD,                 /* a struct within the struct */
    BLV_KIND_ARRAY = 32,             /* a pointer to elements, with a count: */
    BLV_KIND_REALS = BLV_KIND_ARRAY | BLV_KIND_REAL,
    BLV_KIND_SIZES = BLV_KIND_ARRAY | BLV_KIND_SIZE,
    BLV_KIND_TEXTS = BLV_KIND_ARRAY | BLV_KIND_TEXT,
    BLV_KIND_VALUES_LIST = BLV_KIND_ARRAY | BLV_KIND_VALUES,
    BLV_KIND_RECORDS = BLV_KIND_ARRAY | BLV_KIND_RECORD
} blv_kind;

enum {
    BLV_ZERO_IS_NULL = 1, /* a number that is 0, a text that is "" is null */
    BLV_OPTIONAL = 2,     /* left out of the JSON object where it is null */
    BLV_REQUIRED = 4,     /* an error when it is missing or null while reading */
    BLV_IF_FILE = 8,      /* PATH: a text that names no file stays as it is */
    BLV_OUTPUT = 16,      /* PATH: a file that is written */
    BLV_ANY_BYTES = 32    /* TEXT: one that is not UTF-8 comes back too, as a PATH does */
};

typedef struct blv_field {
    const char *name;
    blv_kind kind;
    unsigned flags;
    size_t offset;
    size_t count;                   /* arrays: offset of the size_t that counts the elements */
    size_t when;                    /* 1 + offset of a bool: null where that is false; 0: none */
    size_t size;                    /* of the struct (RECORD, RECORDS), of the array (CHARS) */
    const struct blv_field *fields; /* RECORD, RECORDS: the table of that struct */
    const char *const *words;       /* WORD: ends with NULL */
} blv_field;

/* The last arguments are further members of blv_field. */
#define BLV_FIELD_WITH(name_, type, member, kind_, ...)                                            \
    { .name = (name_), .kind = BLV_KIND_##kind_, .offset = offsetof(type, member), __VA_ARGS__ }
#define BLV_FIELD_AS(name_, type, member, kind_, flags_)                                           \
    BLV_FIELD_WITH(name_, type, member, kind_, .flags = (flags_))
#define BLV_FIELD(type, member, kind_) BLV_FIELD_AS(#member, type, member, kind_, 0)
#define BLV_FIELD_WORD(name_, type, member, words_)                                                \
    BLV_FIELD_WITH(name_, type, member, WORD, .words = (words_))
#define BLV_FIELD_CHARS(name_, type, member, flags_)                                               \
    BLV_FIELD_WITH(name_, type, member, CHARS, .flags = (flags_),                                  \
                   .size = sizeof(((type *)0)->member))
#define BLV_FIELD_ARRAY(type, member, count_, kind_)                                               \
    BLV_FIELD_WITH(#member, type, member, kind_, .count = offsetof(type, count_))
#define BLV_FIELD_RECORD(name_, type, member, fields_)                                             \
    BLV_FIELD_WITH(name_, type, member, RECORD, .fields = (fields_))
#define BLV_FIELD_RECORDS(name_, type, member, count_, fields_)                                    \
    BLV_FIELD_WITH(name_, type, member, RECORDS, .count = offsetof(type, count_),                  \
                   .size = sizeof(*((type *)0)->member), .fields = (fields_))
/* An object whose fields are in the struct of its owner; null where the bool `seen` is false. */
#define BLV_FIELD_PART(name_, type, fields_, seen)                                                 \
    { .name = (name_), .kind = BLV_KIND_RECORD, .fields = (fields_), BLV_WHEN(type, seen) }
/* Among the last arguments: null where that bool is false, which reading sets. */
#define BLV_WHEN(type, condition) .when = 1 + offsetof(type, condition)

/* ---- To JSON: new references, NULL where memory is short ---- */

json_t *blv_record_json(const blv_field *table, const void *record);
/* Adds the fields to an object; false where memory is short. */
bool blv_record_add(const blv_field *table, const void *record, json_t *object);
json_t *blv_field_json(const blv_field *field, const void *record);
json_t *blv_values_json(const blv_values *values);
/* null for NULL; bytes that are not UTF-8 become '?' */
json_t *blv_json_string(const char *text);
/* null where the number is not finite */
json_t *blv_json_real(double value);
/* The path from the root folder on, to be freed; NULL: memory is short. */
char *blv_path_absolute(const char *path);
/* The text of a value, which is released, with the flags of json_dumps; to be freed. NULL where
 * memory is short, or where value is NULL. */
char *blv_json_text(json_t *value, size_t flags);
/* That of a record. */
char *blv_record_text(const blv_field *table, const void *record);

/* ---- From JSON ---- */

/* Fills the whole struct, which need not be initialized; what is missing is zero, NULL or NaN, and
 * keys that the table does not name are passed over. Texts and arrays are from malloc:
 * blv_record_free. A value of another type is BLV_E_FORMAT, with the field's name. On error nothing
 * is left to be freed. */
blv_error blv_record_read(const blv_field *table, void *record, const json_t *object,
                          blv_message *why);
blv_error blv_record_parse(const blv_field *table, void *record, const char *text,
                           blv_message *why);
/* From a file that people write, strictly: keys that the table does not name and null are errors,
 * whole numbers are 1 or more, real numbers above 0, values of a VALUES field texts or numbers,
 * required arrays not empty. A message names the file, the key and what is expected. where: the
 * keys that lead to the object, "" for the whole file. */
blv_error blv_record_read_file(const blv_field *table, void *record, const json_t *object,
                               const char *path, const char *where, blv_message *why);
/* One field from its value; the field must be clear. */
blv_error blv_field_read(const blv_field *field, void *record, const json_t *value,
                         blv_message *why);
/* Every field as if it were missing: zero, NULL or NaN. Nothing is freed. */
void blv_record_clear(const blv_field *table, void *record);
/* Frees what reading has allocated, and clears it. */
void blv_record_free(const blv_field *table, void *record);

/* ---- As text ---- */

/* A value that is a number, a word or a text, as text: numbers in their shortest form, "yes" and
 * "no", "-" for null. text has BLV_SHOWN_SIZE bytes. */
enum { BLV_SHOWN_SIZE = 160 };
void blv_field_show(const blv_field *field, const void *record, char *text);
void blv_value_show(const blv_value *value, char *text);
/* Of an array: what its elements are, each as a field at the start of `size` bytes. */
blv_field blv_field_element(const blv_field *array);
/* NULL when there is none of that name. */
const blv_field *blv_field_find(const blv_field *table, const char *name);

/* ---- Named values ---- */

/* The values in effect of a parameter table. */
blv_error blv_values_of_params(blv_values *values, const blv_param *params, const void *fields);
blv_error blv_values_read(blv_values *values, const json_t *object);
/* A number, a text or a truth value; its text is borrowed. */
blv_value blv_value_of_json(const json_t *from);
blv_error blv_values_add_text(blv_values *values, const char *name, const char *text);
blv_error blv_values_add_real(blv_values *values, const char *name, double value);
blv_error blv_values_add_int(blv_values *values, const char *name, int64_t value);
/* Sets a value, in place of the one of that name where there is one. */
blv_error blv_values_set(blv_values *values, const char *name, const blv_value *value);
/* Sets all of `from`. */
blv_error blv_values_update(blv_values *values, const blv_values *from);
/* Sets those of `from` that are not there. */
blv_error blv_values_complete(blv_values *values, const blv_values *from);
blv_error blv_values_copy(blv_values *to, const blv_values *from);
const blv_value *blv_values_find(const blv_values *values, const char *name);
/* NaN where there is no number of that name; values may be NULL. */
double blv_values_number(const blv_values *values, const char *name);
bool blv_value_equal(const blv_value *a, const blv_value *b);    /* NULL is allowed */
bool blv_values_equal(const blv_values *a, const blv_values *b); /* in any order */
void blv_values_free(blv_values *values);
