/* Files that are written aside and renamed when they are complete: what is at the path is either
 * as it was or the whole new file. What a killed process has left beside it is removed when the
 * same path is written again; several processes may do so at once, and the last one wins. */
#ifndef BLV_BASE_ATOMIC_FILE_H
#define BLV_BASE_ATOMIC_FILE_H

#include "bilevel/status.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct blv_atomic_file {
    FILE *file;
    char *path;
    char *temporary; /* beside path */
    bool locked;
    int lock; /* of the temporary file */
} blv_atomic_file;

/* Something at the path that is not a regular file is refused; a symbolic link is replaced. On
 * error aside is all zero. */
blv_error blv_atomic_file_open(blv_atomic_file *aside, const char *path, blv_message *why);
/* Brings everything to the disk and renames it over path. Frees what aside holds in any case; on
 * error the temporary file is removed and path is as it was. */
blv_error blv_atomic_file_commit(blv_atomic_file *aside, blv_message *why);
/* A whole file at once. */
blv_error blv_atomic_write(const char *path, const void *bytes, size_t size, blv_message *why);
/* Removes the temporary file and frees what aside holds. */
void blv_atomic_file_discard(blv_atomic_file *aside);

#endif
