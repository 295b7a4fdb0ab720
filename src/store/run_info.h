/* The tables of a run's record. */
#pragma once

#include "bilevel/store.h"
#include "store/record.h"

extern const blv_field blv_run_info_fields[]; /* all, as `runs show --json` has them */
extern const blv_field blv_run_list_fields[]; /* as `runs list --json` has them */
extern const blv_field blv_counts_fields[];
extern const blv_field blv_certificate_fields[];
extern const char *const blv_precision_words[];

/* The rows of a trace as they are in the file: an array of objects; a new reference. */
blv_error blv_store_rows_json(blv_store *store, int64_t id, json_t **rows);
