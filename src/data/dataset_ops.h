/* What the sources that derive, change and write data sets share. */
#ifndef BLV_DATA_DATASET_OPS_H
#define BLV_DATA_DATASET_OPS_H

#include "data/dataset_private.h"

/* ---- Elements in either precision ---- */

static inline size_t blv_value_size(blv_precision precision) {
    return precision == BLV_F32 ? sizeof(float) : sizeof(double);
}

static inline double blv_value_get(const void *values, blv_precision precision, size_t i) {
    return precision == BLV_F32 ? (double)((const float *)values)[i] : ((const double *)values)[i];
}

static inline void blv_value_set(void *values, blv_precision precision, size_t i, double value) {
    if (precision == BLV_F32)
        ((float *)values)[i] = (float)value;
    else
        ((double *)values)[i] = value;
}

/* ---- Memory: NULL when it is short or count * size does not fit; one byte at least ---- */

void *blv_data_alloc(size_t count, size_t size);
/* A copy of count elements. */
void *blv_data_copy(const void *source, size_t count, size_t size);
/* Copies of count strings; NULL for NULL. */
char **blv_strings_copy(const char *const *strings, size_t count);
void blv_strings_free(char **strings, size_t count);
/* Explains and returns BLV_E_MEMORY. */
static inline blv_error blv_data_no_memory(blv_message *why) {
    blv_explain(why, BLV_E_MEMORY, "out of memory");
    return BLV_E_MEMORY;
}

/* ---- Parts of a set ---- */

/* Stored values: all of a dense set, those that are written down of a sparse one. */
size_t blv_dataset_stored(const blv_dataset_view *view);
/* A new set with the names, the lines, the shape and the format of another, without its arrays. */
blv_dataset *blv_dataset_new_like(const blv_dataset *source);
/* Copies mapped features into memory of the set's own, so that they can be changed. */
blv_error blv_dataset_own_features(blv_dataset *dataset, blv_message *why);
void blv_dataset_drop_transposed(blv_dataset *dataset);
/* Takes the last line of the history back. */
void blv_dataset_unrecord(blv_dataset *dataset);

#endif
