/* JSON values from the library's types, beside those of store/record.h and jansson. Every function
 * returns a new reference, and the command ends where memory is short. */
#pragma once

#include "store/record.h"

#include <jansson.h>

/* Before anything else: from here on the command ends where memory is short, as with cli_alloc.
 * Jansson itself may crash then, or leave things out. */
void cli_json_begin(void);

json_t *cli_json_whole(uint64_t value);
/* {key: value in effect, ...}: numbers as numbers, words as strings */
json_t *cli_json_values(const blv_param *params, const void *fields);
/* [{key, type, default, allowed, help}, ...] */
json_t *cli_json_params(const blv_param *params);

/* Adds keys and values, which were just made, up to a NULL; returns the object. */
json_t *cli_json_put(json_t *object, ...) __attribute__((sentinel));
void cli_json_set(json_t *object, const char *key, json_t *value);
void cli_json_append(json_t *array, json_t *value);
/* Adds the fields of a struct, as its table says. */
void cli_json_add(json_t *object, const blv_field *table, const void *record);
/* Prints the value on one line of stdout and releases it. */
void cli_json_print(json_t *value);
