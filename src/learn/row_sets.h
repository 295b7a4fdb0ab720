/* Parts of data sets: dealing rows out, and keeping some. */
#pragma once

#include "bilevel/task.h"

size_t blv_rows_in(const blv_dataset *dataset); /* NULL: 0 */
/* How many of its rows have their features here; of several ranks each has its own. */
size_t blv_rows_here(const blv_dataset *dataset);
/* Stored numbers of all rows, on all ranks. */
double blv_entries_in(const blv_dataset *dataset);
/* part[i], from 0 to parts - 1: the rows dealt out at random, each class alike. */
blv_error blv_deal_rows(const blv_dataset *dataset, size_t parts, uint64_t seed, uint32_t *part,
                        blv_message *why);
/* The rows for which keep[i] is true, in their order. */
blv_error blv_keep_rows(const blv_dataset *dataset, const bool *keep, blv_dataset **kept,
                        blv_message *why);
/* Every class of train must be in val. */
blv_error blv_expect_all_classes(const blv_task_sets *sets, blv_message *why);
/* A comparison of doubles for qsort, the least first. */
int blv_by_size(const void *left, const void *right);
