#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct blv_arena_block {
    struct blv_arena_block *before;
    max_align_t bytes[];
} blv_arena_block;

void *blv_arena_alloc(blv_arena *arena, size_t count, size_t size) {
    bool fits = size == 0 || count <= (SIZE_MAX - sizeof(blv_arena_block)) / size;
    blv_arena_block *block = fits ? calloc(1, sizeof *block + count * size) : NULL;
    arena->failed = arena->failed || !block;
    if (!block)
        return NULL;
    block->before = arena->last;
    arena->last = block;
    return block->bytes;
}

/* An array has space for the next power of two: it moves when its count is one. Without items it
 * was lost before, as memory was short. */
void *blv_arena_grow(blv_arena *arena, void *items, size_t count, size_t size) {
    if (count > 0 && (!items || (count & (count - 1)) != 0))
        return items;
    void *larger = blv_arena_alloc(arena, count > 0 ? 2 * count : 1, size);
    if (larger && count > 0)
        memcpy(larger, items, count * size);
    return larger;
}

char *blv_arena_copy(blv_arena *arena, const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = blv_arena_alloc(arena, size, 1);
    return copy ? memcpy(copy, text, size) : NULL;
}

char *blv_arena_vprint(blv_arena *arena, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = length < 0 ? NULL : blv_arena_alloc(arena, (size_t)length + 1, 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

char *blv_arena_print(blv_arena *arena, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = blv_arena_vprint(arena, format, arguments);
    va_end(arguments);
    return text;
}

void blv_arena_free(blv_arena *arena) {
    while (arena->last) {
        blv_arena_block *block = arena->last;
        arena->last = block->before;
        free(block);
    }
}

void *blv_array_add(void *array, size_t *count, size_t size) {
    char *items;
    memcpy(&items, array, sizeof items);
    items = realloc(items, (*count + 1) * size);
    if (!items)
        return NULL;
    memcpy(array, &items, sizeof items);
    return memset(items + (*count)++ * size, 0, size);
}
