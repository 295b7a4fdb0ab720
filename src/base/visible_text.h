/* Text from elsewhere (files, stores, class names) on its way to a terminal: what a terminal would
 * act on is shown in place of being done. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Takes one character from the text and writes it to out, as it is or, where a terminal would act
 * on it, as \n, \t, \u001b or \xff: control characters (C0, DEL, C1), separators of lines,
 * characters without width and marks that change the direction of writing, and bytes that are no
 * UTF-8. passed: control characters that stay as they are. Returns the bytes in out; *taken: in the
 * text, which must not be empty. */
enum { BLV_VISIBLE_SIZE = 16 };
size_t blv_visible_next(const char *text, size_t length, const char *passed,
                        char out[BLV_VISIBLE_SIZE], size_t *taken);
/* Whether a text is shown as it is. */
bool blv_is_visible(const char *text);
/* The text as it is shown, to be freed; NULL: memory is short. */
char *blv_visible_copy(const char *text);
