/* Rows of a trace as they are in the file. */
#ifndef BLV_STORE_TRACE_H
#define BLV_STORE_TRACE_H

#include "bilevel/store.h"

#include <jansson.h>

/* An array of objects; a new reference. */
blv_error blv_store_rows_json(blv_store *store, int64_t id, json_t **rows);

#endif
