/* What commands print: tables, and JSON from the library's types, beside that of store/record.h and
 * jansson. The command ends where memory is short. */
#pragma once

#include "report/table.h"
#include "store/record.h"

#include <jansson.h>

/* ---- Tables on standard output ---- */

/* Prints every row behind indent spaces, and empties the table. */
void cli_table_print(report_table *table, int indent, FILE *out);
void cli_table_markdown(report_table *table);

/* Prints the entries of a parameter table: key, value, allowed values, help. With fields the values
 * in effect are shown, else the defaults. option: what sets them, "--set"; NULL: as Markdown. */
void cli_print_params(const blv_param *params, const void *fields, const char *option);

/* Prints a word behind those before it, ", " between them, on a new line where this one is full;
 * every line is indented. column is 0 for the first word; the column that it ends in is returned.
 */
int cli_print_word(int column, const char *word);

/* ---- JSON: what returns a value returns a new reference ---- */

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
