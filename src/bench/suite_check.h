/* JSON files that people write: whether an object has the keys that a table of fields names, and
 * what is expected behind each. A message names the file, the key and what is expected. */
#ifndef BENCH_SUITE_CHECK_H
#define BENCH_SUITE_CHECK_H

#include "store/record.h"

/* Reads a file whose content is an object. A key that is there twice is an error. */
blv_error bench_json_load(const char *path, json_t **object, blv_message *why);
/* Stricter than reading a record: keys that the table does not name are errors, whole numbers are 1
 * or more, real numbers above 0, values of a VALUES field texts or numbers, required arrays not
 * empty. A JSON field with fields of its own is an object of these; the field `grid` is an object
 * of arrays, any other JSON field an array of texts and numbers. where: the keys that lead to the
 * object, "" for the whole file. */
blv_error bench_check_object(const char *path, const char *where, json_t *object,
                             const blv_field *fields, blv_message *why);
/* {"KEY": [VALUE, ...], ...} */
blv_error bench_check_grid(const char *path, const char *where, json_t *value, blv_message *why);

#endif
