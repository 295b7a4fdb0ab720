/* Memory that is released all at once: for records that are made of many small parts. */
#pragma once

#include "bilevel/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct blv_arena {
    struct blv_arena_block *last; /* NULL: empty */
    bool failed;                  /* an allocation has failed: one test for several of them */
} blv_arena;

/* These return NULL where memory is short. What they return lives as long as the arena. */

/* Zero-filled. */
void *blv_arena_alloc(blv_arena *arena, size_t count, size_t size);
/* Space for one more item behind `count` items: the array itself, or a larger copy of it. NULL when
 * memory is short, or was: items are NULL, and the count is not 0. */
void *blv_arena_grow(blv_arena *arena, void *items, size_t count, size_t size);
char *blv_arena_copy(blv_arena *arena, const char *text);
char *blv_arena_print(blv_arena *arena, const char *format, ...) BLV_PRINTF(2, 3);
char *blv_arena_vprint(blv_arena *arena, const char *format, va_list arguments) BLV_PRINTF(2, 0);

void blv_arena_free(blv_arena *arena);

/* ---- Arrays from malloc ---- */

/* Adds a zero-filled item to an array and returns it; NULL where memory is short. array: the
 * address of the pointer to its first item. */
void *blv_array_add(void *array, size_t *count, size_t size);
