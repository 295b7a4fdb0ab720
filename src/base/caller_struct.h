/* Structs that a caller fills: their first field is their size, so that a later version of the
 * library can add fields at the end and still take the structs of programs compiled before. */
#ifndef BLV_BASE_CALLER_STRUCT_H
#define BLV_BASE_CALLER_STRUCT_H

#include "bilevel/status.h"

#include <stddef.h>

/* Copies the struct at given to own, of own_size bytes; fields that the caller's version does not
 * have become 0. BLV_E_ARGUMENT when the size is 0, not that of such a struct, or of a newer one.
 * name: of the type, for the message. */
blv_error blv_caller_struct(void *own, size_t own_size, const void *given, const char *name,
                            blv_message *why);

#endif
