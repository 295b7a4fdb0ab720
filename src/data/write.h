/* What the writers share. */
#ifndef BLV_DATA_WRITE_H
#define BLV_DATA_WRITE_H

#include "data/dataset_ops.h"

blv_error blv_dataset_write_npz(const blv_dataset_view *view, const char *name, blv_write_fn write,
                                void *context, blv_message *why);

#endif
