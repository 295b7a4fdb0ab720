/* Where the rows of a set are in their file, for readers of text. */
#pragma once

#include "data/reading.h"

/* The next row begins at this byte of the content and has so many, with its line end. */
blv_error blv_add_place(blv_reading *r, uint64_t offset, size_t length);
/* Puts the places that were added, where each row has one. */
blv_error blv_put_places(blv_reading *r);
/* Writes the rows as their file has them; see blv_dataset_write. */
blv_error blv_dataset_write_source(const blv_dataset *dataset, const char *name, blv_write_fn write,
                                   void *context, blv_message *why);
