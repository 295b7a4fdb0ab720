/* The bytes of a file or stream, plain or compressed with gzip or zstd, front to back. */
#pragma once

#include "base/memory_limit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct blv_input blv_input;

/* Regular files, pipes and terminals. On success *input is the caller's; on error it is NULL. */
blv_error blv_input_open(blv_input **input, const char *path, blv_message *why);
/* Back to the beginning, whatever was read. */
blv_error blv_input_rewind(blv_input *input, blv_message *why);
void blv_input_close(blv_input *input); /* NULL is allowed */

const char *blv_input_path(const blv_input *input);
bool blv_input_is_packed(const blv_input *input);
/* Whether the content is the file itself: not packed, and no stream. */
bool blv_input_is_file(const blv_input *input);
/* Bytes of the file itself. */
uint64_t blv_input_size(const blv_input *input);
/* What is packed may not unpack to more than this; without it half of the memory that is free, and
 * 1000 times the file. Before anything is taken. */
void blv_input_limit(blv_input *input, const blv_memory_limit *limit);
const blv_memory_limit *blv_input_limited(const blv_input *input);
/* Bytes of the content that no file of this size can exceed; exact for a plain file. */
uint64_t blv_input_most(const blv_input *input);
/* Bytes of the content that are nothing unusual for a file of this size; exact for a plain file. */
uint64_t blv_input_likely(const blv_input *input);
/* Bytes of the content that blv_input_read has given so far. */
uint64_t blv_input_position(const blv_input *input);

enum { BLV_INPUT_PEEK = 1 << 16 };
/* The first bytes of the content, at most BLV_INPUT_PEEK and fewer only when it is shorter. They
 * stay unread. Before any reading only. */
blv_error blv_input_peek(blv_input *input, const unsigned char **bytes, size_t *count,
                         blv_message *why);

/* Reads n bytes; *got is less only at the end of the content. */
blv_error blv_input_read(blv_input *input, void *out, size_t n, size_t *got, blv_message *why);
/* All that is left, from malloc. */
blv_error blv_input_read_all(blv_input *input, unsigned char **bytes, size_t *count,
                             blv_message *why);

/* Text: whole lines from *begin to *end. The last byte before *end is a newline, put there when the
 * file lacks it. Valid until the next call, and may be written to.
 * `unused`: where in the last text the caller stopped; these bytes come again, with more behind
 * them. NULL in the first call, which also drops a byte order mark. *begin == *end when nothing is
 * left; *last says that nothing follows this text. */
blv_error blv_input_lines(blv_input *input, const char *unused, char **begin, char **end,
                          bool *last, blv_message *why);

/* From here on the content is that of the whole lines that begin in a part of a plain file: of
 * `parts` equal ones the number `part`. Whatever was read before is forgotten. */
blv_error blv_input_take_part(blv_input *input, size_t part, size_t parts, blv_message *why);

/* The same with the bytes first .. end - 1. */
blv_error blv_input_take_bytes(blv_input *input, uint64_t first, uint64_t end, blv_message *why);

/* The bytes of a stream, as they came, mapped into memory; NULL where it is a file. false where
 * that is not possible. */
bool blv_input_map_stream(const blv_input *input, void **map, size_t *bytes);
/* As blv_file_stamp. */
uint64_t blv_input_stamp(const blv_input *input);
/* Where in the content a byte of the last text is. */
uint64_t blv_input_place(const blv_input *input, const char *text);

/* ---- The file itself: stream_copy.c ---- */

/* Opens the file at path for reading: its descriptor and size; -1 with the error. *copied: it is a
 * stream (a pipe, a terminal), which was read to its end: the descriptor is that of a copy in
 * memory. */
blv_error blv_open_input(const char *path, int *fd, uint64_t *size, bool *copied, blv_message *why);
/* A number that changes when the file of the descriptor does: from its place, size and time. */
uint64_t blv_file_stamp(int fd);
