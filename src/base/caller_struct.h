/* Structs that a caller fills: their first field is their size, so that a later version of the
 * library can add fields at the end and still take the structs of programs compiled before. */
#pragma once

#include "bilevel/status.h"

#include <stddef.h>

/* Copies the struct at given to own, of own_size bytes; fields that the caller's version does not
 * have become 0, and all of them where given is NULL. BLV_E_ARGUMENT when the size is not set, or
 * that of a later version, whose further fields are not known here. name: of the type, for the
 * message. */
blv_error blv_caller_struct(void *own, size_t own_size, const void *given, const char *name,
                            blv_message *why);
