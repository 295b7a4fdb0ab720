/* JSON values from the library's types. Every function returns a new reference, and the command
 * ends where memory is short. */
#pragma once

#include "bilevel/run.h"
#include "store/record.h"

#include <jansson.h>

/* null where the number is not finite */
json_t *cli_json_real(double value);
json_t *cli_json_whole(uint64_t value);
/* null for NULL; bytes that are not UTF-8 become '?' */
json_t *cli_json_text(const char *text);
/* {key: value in effect, ...}: numbers as numbers, words as strings */
json_t *cli_json_values(const blv_param *params, const void *fields);
/* [{key, type, default, allowed, help}, ...] */
json_t *cli_json_params(const blv_param *params);

/* Before anything else: from here on the command ends where memory is short, as with cli_alloc.
 * Jansson itself may crash then, or leave things out. */
void cli_json_begin(void);

/* Adds keys and values, which were just made, up to a NULL; returns the object:
 *
 *     cli_json_put(cli_json_object(), "rows", cli_json_whole(rows), "low", cli_json_real(low),
 * NULL)
 */
json_t *cli_json_put(json_t *object, ...) __attribute__((sentinel));
void cli_json_set(json_t *object, const char *key, json_t *value);
void cli_json_append(json_t *array, json_t *value);
/* Adds the fields of a struct, as its table says. */
void cli_json_add(json_t *object, const blv_field *table, const void *record);
/* An object with them. */
json_t *cli_json_record(const blv_field *table, const void *record);
json_t *cli_json_object(void);
json_t *cli_json_array(void);
/* Prints the value on one line of stdout and releases it. */
void cli_json_print(json_t *value);
