/* Text of lines "key TAB value", as it stands in the header of a checkpoint. Tabs, line ends and
 * backslashes inside are written as \t, \n and \\. */
#pragma once

#include "bilevel/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Start from {0}. */
typedef struct blv_key_values {
    char *text;
    size_t size, room;
    bool incomplete; /* memory was short */
} blv_key_values;

enum { BLV_LINE_KEY = 128, BLV_LINE_VALUE = 1100 };

void blv_key_values_put(blv_key_values *lines, const char *key, const char *format, ...)
    BLV_PRINTF(3, 4);
void blv_key_values_free(blv_key_values *lines);

/* The line that begins at *at, which moves on to the next one. False after the last line, and when
 * the line is not of this form or too long. */
bool blv_key_values_next(const char *text, size_t *at, char key[BLV_LINE_KEY],
                         char value[BLV_LINE_VALUE]);
/* The value of the first line with this key. False: there is none. */
bool blv_key_values_find(const char *text, const char *key, char value[BLV_LINE_VALUE]);
