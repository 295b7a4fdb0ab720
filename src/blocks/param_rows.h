/* Rows of solvers' parameter tables, for a struct that FIELD finds the fields of. */
#pragma once

#include "bilevel/param.h"

#include <float.h>
#include <stddef.h>

/* clang-format off */
/* Numbers above 0: given, or `auto`; counts from 1 on likewise; one of several words. */
#define BLV_POSITIVE(key, field, value, help) \
    {key, BLV_REAL, FIELD(field), value, DBL_MIN, DBL_MAX, NULL, help}
#define BLV_POSITIVE_AUTO(key, field, help) \
    {key, BLV_REAL, FIELD(field), "auto", DBL_MIN, DBL_MAX, "auto", help}
#define BLV_COUNT(key, field, value, help) \
    {key, BLV_INT, FIELD(field), value, 1, 9e15, NULL, help}
#define BLV_COUNT_AUTO(key, field, help) \
    {key, BLV_INT, FIELD(field), "auto", 1, 9e15, "auto", help}
#define BLV_WORD(key, field, value, words, help) \
    {key, BLV_CHOICE, FIELD(field), value, 0, 0, words, help}
#define BLV_LAST_PARAM \
    {NULL, BLV_REAL, 0, NULL, 0, 0, NULL, NULL}
/* clang-format on */
