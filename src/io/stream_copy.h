/* Streams (pipes, terminals) as files: what they hold is copied into memory, and read from there as
 * any file is. */
#pragma once

#include "bilevel/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Opens the file at path for reading: its descriptor and size; -1 with the error. *copied: it is a
 * stream, which was read to its end: the descriptor is that of the copy. */
blv_error blv_open_input(const char *path, int *fd, uint64_t *size, bool *copied, blv_message *why);
/* A number that changes when the file of the descriptor does: from its place, size and time. */
uint64_t blv_file_stamp(int fd);
