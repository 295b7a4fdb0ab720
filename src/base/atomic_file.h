/* Files that are written under a temporary name and renamed when they are complete: what is at the
 * path is either as it was or the whole new file. What a killed process has left there is removed
 * when the same path is written again; several processes may do so at once, and the last one wins.
 */
#pragma once

#include "bilevel/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct blv_atomic_file {
    FILE *file; /* NULL once it is closed */
    char *path;
    char *temporary; /* beside path */
    bool locked;
    int lock; /* of the temporary file */
} blv_atomic_file;

/* Something at the path that is not a regular file is rejected; a symbolic link is replaced. On
 * error file is all zero. */
blv_error blv_atomic_file_open(blv_atomic_file *file, const char *path, blv_message *why);
/* Writes count bytes. 0 on success, otherwise errno says why; a blv_write_fn whose context is a
 * blv_atomic_file. */
int blv_atomic_file_write(void *file, const void *bytes, size_t count);
/* Flushes the file to disk and renames it over path. Frees what file holds in any case; on error
 * the temporary file is removed and path is as it was. */
blv_error blv_atomic_file_commit(blv_atomic_file *file, blv_message *why);
/* The same for several files that appear together or not at all: where one of them cannot be
 * completed or renamed, what the others have replaced comes back. */
blv_error blv_atomic_file_commit_all(blv_atomic_file *const *files, size_t count, blv_message *why);
/* Removes the temporary file and frees what file holds. */
void blv_atomic_file_discard(blv_atomic_file *file);
