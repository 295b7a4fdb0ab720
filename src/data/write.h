/* What the writers share. */
#ifndef BLV_DATA_WRITE_H
#define BLV_DATA_WRITE_H

#include "data/dataset_ops.h"

/* Whether the names of all classes are numbers. */
bool blv_names_are_numbers(const blv_dataset_view *view);
blv_error blv_dataset_write_npz(const blv_dataset_view *view, const char *path, blv_message *why);

#endif
