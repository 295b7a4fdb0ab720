/* Parameter tables: one table drives defaults, setting, validation, help and documentation.
 *
 * A table describes the fields of a struct. Fields are double for BLV_REAL, int64_t for BLV_INT,
 * int (the position of the word) for BLV_CHOICE and char[BLV_TEXT_SIZE] for BLV_TEXT. A table ends
 * with an entry whose key is NULL. */
#ifndef BILEVEL_PARAM_H
#define BILEVEL_PARAM_H

#include "bilevel/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum blv_param_type { BLV_REAL, BLV_INT, BLV_CHOICE, BLV_TEXT } blv_param_type;

#define BLV_TEXT_SIZE 1024

typedef struct blv_param {
    const char *key;
    blv_param_type type;
    size_t offset;     /* of the field in the struct that the table describes */
    const char *value; /* the default, as a user would type it */
    double lo, hi;     /* BLV_REAL, BLV_INT: the range, ends included */
    const char
        *words;       /* BLV_CHOICE: "a|b|c". Numbers: words allowed instead of a number, or NULL */
    const char *help; /* one line */
} blv_param;

/* A number given as a word is stored as BLV_WORD_REAL (a NaN: test with isnan) in a BLV_REAL field,
 * which allows one word, and as -1 for the first word, -2 for the second in a BLV_INT field. */
#define BLV_WORD_REAL ((double)NAN)

/* Sets every field to its default. A default out of its own range is BLV_E_VALUE. */
BLV_API blv_error blv_params_default(const blv_param *table, void *fields, blv_message *why);

/* Sets one field from text. owner names the thing in messages ("solver s-tfbo"). An unknown key is
 * BLV_E_NAME with the nearest key named; a bad value is BLV_E_VALUE with what was expected. */
BLV_API blv_error blv_params_set(const blv_param *table, void *fields, const char *owner,
                                 const char *key, const char *value, blv_message *why);
/* Sets a BLV_REAL or BLV_INT field from a number: exactly, with the same checks and messages.
 * Whole numbers may be given as doubles up to 9e15. Words are set as text. */
BLV_API blv_error blv_params_set_real(const blv_param *table, void *fields, const char *owner,
                                      const char *key, double value, blv_message *why);
BLV_API blv_error blv_params_set_int(const blv_param *table, void *fields, const char *owner,
                                     const char *key, int64_t value, blv_message *why);

/* NULL when there is no such key. */
BLV_API const blv_param *blv_params_find(const blv_param *table, const char *key);

/* The current value as text, in the form that blv_params_set reads. */
BLV_API void blv_params_format(const blv_param *param, const void *fields, char *text, size_t size);

/* The allowed values as text: "a number > 0", "tol or fixed". */
BLV_API void blv_params_range(const blv_param *param, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
