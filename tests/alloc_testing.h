/* Calls of the library's own objects for memory, counted and made to fail: the linker's --wrap puts
 * these before the real ones. Shared libraries keep the real ones. */
#ifndef ALLOC_TESTING_H
#define ALLOC_TESTING_H

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_long memory_calls;           /* calls of any kind */
static atomic_long memory_live;            /* bytes held */
static atomic_long memory_countdown = -1;  /* fails the request that finds 0; below 0 never fails */
static atomic_bool memory_failed;          /* one did */
static _Thread_local bool requests_spared; /* those of this thread never fail */

static bool request_fails(void) {
    memory_calls++;
    if (requests_spared || memory_countdown < 0 || memory_countdown-- != 0)
        return false;
    memory_failed = true;
    return true;
}

static void *taken(void *p) {
    if (p)
        memory_live += (long)malloc_usable_size(p);
    return p;
}

static void given_back(void *p) {
    if (p)
        memory_live -= (long)malloc_usable_size(p);
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker makes these names */
void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n) {
    return request_fails() ? NULL : taken(__real_malloc(n));
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size) {
    return request_fails() ? NULL : taken(__real_calloc(n, size));
}

void *__real_aligned_alloc(size_t alignment, size_t n);
void *__wrap_aligned_alloc(size_t alignment, size_t n);
void *__wrap_aligned_alloc(size_t alignment, size_t n) {
    return request_fails() ? NULL : taken(__real_aligned_alloc(alignment, n));
}

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text) {
    return request_fails() ? NULL : taken(__real_strdup(text));
}

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n) {
    if (request_fails())
        return NULL;
    given_back(p);
    return taken(__real_realloc(p, n));
}

void __real_free(void *p);
void __wrap_free(void *p);
void __wrap_free(void *p) {
    memory_calls++;
    given_back(p);
    __real_free(p);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* Lets the request fail that comes after n others. */
static inline void fail_request(long n) {
    memory_failed = false;
    memory_countdown = n;
}

/* Ends that; tells whether a request failed. */
static inline bool a_request_failed(void) {
    memory_countdown = -1;
    return memory_failed;
}

#endif
