/* JSON files that people write: which keys an object may have and what is behind them. What does
 * not fit is complained of with the file, the key and what is expected. */
#ifndef CLI_SCHEMA_H
#define CLI_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>

typedef enum cli_field_type {
    CLI_FIELD_TEXT,
    CLI_FIELD_NEEDED_TEXT,
    CLI_FIELD_TEXTS, /* an array */
    CLI_FIELD_NEEDED_TEXTS,
    CLI_FIELD_BOOLEAN,
    CLI_FIELD_COUNT,         /* a whole number from 1 on */
    CLI_FIELD_POSITIVE,      /* a number above 0 */
    CLI_FIELD_SETTINGS,      /* an object of texts and numbers */
    CLI_FIELD_NEEDED_VALUES, /* an array of texts and numbers, not empty */
    CLI_FIELD_GRID,          /* an object of such arrays */
    CLI_FIELD_OBJECT,        /* with fields of its own */
    CLI_FIELD_NEEDED_OBJECT,
    CLI_FIELD_OBJECTS /* an array of them */
} cli_field_type;

typedef struct cli_field {
    const char *key; /* NULL: behind the last */
    cli_field_type type;
    const struct cli_field *fields; /* of objects */
    const char *const *words;       /* what a text may be; NULL: anything */
} cli_field;

/* Reads a file whose content is an object; NULL after a message. A key that is there twice is
 * refused. */
json_t *cli_schema_load(const char *path);
/* where: the keys that lead to the object, "" for the whole file. */
bool cli_schema_holds(const char *path, const char *where, json_t *object, const cli_field *fields);
bool cli_schema_is_grid(const char *path, const char *where, json_t *value);

#endif
