/* Public structs that a caller fills begin with their size, so that fields can be added later. */
#ifndef BLV_BASE_STRUCT_SIZE_H
#define BLV_BASE_STRUCT_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Copies the fields that the caller knows over the defaults that are in `to`. False when the size
 * was not set, or is that of a later version, whose further fields are not known here. */
static inline bool blv_struct_take(void *to, size_t to_size, const void *from) {
    size_t size;
    memcpy(&size, from, sizeof size);
    if (size < sizeof size || size > to_size)
        return false;
    memcpy(to, from, size);
    memcpy(to, &to_size, sizeof to_size);
    return true;
}

#endif
