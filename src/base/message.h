/* Writing messages, finding the nearest of a set of names, and structs that a caller fills. */
#pragma once

#include "bilevel/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes the message where there is one and returns the error, for `return blv_explain(...)`. */
blv_error blv_explain(blv_message *why, blv_error error, const char *format, ...) BLV_PRINTF(3, 4);

/* BLV_E_MEMORY with "out of memory". */
blv_error blv_explain_memory(blv_message *why);
/* The same unless ok. */
static inline blv_error blv_need_memory(bool ok, blv_message *why) {
    if (ok)
        return BLV_OK;
    blv_explain_memory(why);
    return BLV_E_MEMORY; /* in sight of those that analyze the callers */
}
/* BLV_E_ARGUMENT with "<function>: an argument is NULL" unless they are given. */
static inline blv_error blv_need_arguments(bool given, const char *function, blv_message *why) {
    if (given)
        return BLV_OK;
    blv_explain(why, BLV_E_ARGUMENT, "%s: an argument is NULL", function);
    return BLV_E_ARGUMENT;
}
/* BLV_E_FILE with "path: cannot <action>: <what errno says>". */
blv_error blv_explain_errno(blv_message *why, const char *path, const char *action);
/* The path, or its end where it is too long for a message. */
const char *blv_shown_path(const char *path);

/* Adds a name in quotes to a list for a message: 'a', 'b', ... */
void blv_list_name(char *list, size_t size, const char *name);

/* Keeps track of the candidate nearest to a name. Start from {.name = name}. */
typedef struct blv_nearest {
    const char *name;
    const char *best;
    size_t distance;
} blv_nearest;
void blv_nearest_try(blv_nearest *nearest, const char *candidate);
/* The best candidate if it is near enough to be meant, else NULL. */
const char *blv_nearest_guess(const blv_nearest *nearest);
/* BLV_E_NAME with "<lacking> 'name'; did you mean 'best'?". lacking: "there is no solver". */
blv_error blv_explain_name(blv_message *why, const char *lacking, const blv_nearest *nearest);

/* ---- Structs that a caller fills ---- */

/* Their first field is their size, so that a later version of the library can add fields at the end
 * and still take the structs of programs compiled before. Copies the struct at given to own, of
 * own_size bytes; fields that the caller's version does not have become 0, and all of them where
 * given is NULL. BLV_E_ARGUMENT when the size is not set, or that of a later version, whose further
 * fields are not known here. name: of the type, for the message. */
blv_error blv_caller_struct(void *own, size_t own_size, const void *given, const char *name,
                            blv_message *why);
