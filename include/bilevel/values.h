/* Named values: parameters and settings as data, without the struct that they came from. */
#ifndef BILEVEL_VALUES_H
#define BILEVEL_VALUES_H

#include "bilevel/param.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum blv_value_kind {
    BLV_VALUE_NONE, /* nothing, or a number that is not finite */
    BLV_VALUE_REAL,
    BLV_VALUE_INT,
    BLV_VALUE_BOOL, /* in `whole` */
    BLV_VALUE_TEXT
} blv_value_kind;

typedef struct blv_value {
    char *name;
    blv_value_kind kind;
    double real;
    int64_t whole;
    char *text;
} blv_value;

/* In the order in which they were added. All of it is from malloc. Start from {0}. */
typedef struct blv_values {
    size_t count;
    blv_value *items;
} blv_values;

#ifdef __cplusplus
}
#endif
#endif
