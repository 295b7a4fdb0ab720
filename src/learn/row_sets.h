/* Parts of data sets: dealing rows out, keeping some, putting sets together. */
#ifndef BLV_LEARN_ROW_SETS_H
#define BLV_LEARN_ROW_SETS_H

#include "bilevel/dataset.h"

size_t blv_rows_in(const blv_dataset *dataset); /* NULL: 0 */
/* part[i], from 0 to parts - 1: the rows dealt out at random, each class alike. */
blv_error blv_deal_rows(const blv_dataset *dataset, size_t parts, uint64_t seed, uint32_t *part,
                        blv_message *why);
/* The rows for which keep[i] is true, in their order. */
blv_error blv_keep_rows(const blv_dataset *dataset, const bool *keep, blv_dataset **kept,
                        blv_message *why);
/* The rows of both, one after the other. */
blv_error blv_join_rows(const blv_dataset *first, const blv_dataset *second, blv_dataset **joined,
                        blv_message *why);
/* The set with other labels, of the same classes, and no true ones. history: a line, or NULL. */
blv_error blv_relabel_rows(const blv_dataset *dataset, const int32_t *label, const char *history,
                           blv_dataset **relabelled, blv_message *why);

#endif
