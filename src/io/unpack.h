/* Compressed bytes, gzip or zstd, unpacked front to back. */
#pragma once

#include "base/memory_limit.h"
#include "io/read_ahead.h"

#include <stdint.h>

typedef enum blv_packing { BLV_PACKING_NONE, BLV_PACKING_GZIP, BLV_PACKING_ZSTD } blv_packing;

enum { BLV_PACKING_BYTES = 4 };
/* By the first bytes of a file, at most BLV_PACKING_BYTES of them. */
blv_packing blv_packing_of(const unsigned char *bytes, size_t count);
/* Bytes that one byte of such a file can become at most. */
uint64_t blv_packing_most(blv_packing packing);

typedef struct blv_unpack blv_unpack;

/* read, context: give the packed bytes. path: for messages; it must stay. NULL when memory is
 * short. */
blv_unpack *blv_unpack_open(blv_packing packing, blv_make_fn *read, void *context,
                            const char *path);
void blv_unpack_close(blv_unpack *unpack); /* NULL is allowed */
/* What may become of the file, whose size is in the limit. Before anything is made. */
void blv_unpack_limit(blv_unpack *unpack, const blv_memory_limit *limit); /* NULL is allowed */
/* A blv_make_fn. */
blv_error blv_unpack_make(void *unpack, void *out, size_t n, size_t *got, blv_message *why);
/* All of a packed file in memory; *content is from malloc. */
blv_error blv_unpack_all(const unsigned char *bytes, size_t size, const char *path,
                         unsigned char **content, size_t *count, blv_message *why);
