/* Counter-based random numbers (Philox 4x32-10). A stream is a key made of a seed and a purpose;
 * the n-th number of a stream does not depend on who asks for it, when, or on which thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct blv_stream {
    uint32_t key[2];
    uint32_t salt[2]; /* the upper half of the counter: tells purposes apart */
} blv_stream;

blv_stream blv_stream_make(uint64_t seed, const char *purpose);

/* The block of four words at a counter. */
void blv_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

uint64_t blv_random_bits(const blv_stream *stream, uint64_t n);
double blv_random_uniform(const blv_stream *stream, uint64_t n); /* in [0, 1) */
double blv_random_normal(const blv_stream *stream, uint64_t n);
/* Uniform in 0 .. bound-1 without bias, bound >= 1. */
uint64_t blv_random_below(const blv_stream *stream, uint64_t n, uint64_t bound);

/* order[0 .. count-1] becomes a random permutation of 0 .. count-1; different for each round. */
void blv_random_permutation(const blv_stream *stream, uint64_t round, size_t count, size_t *order);
void blv_random_normals(const blv_stream *stream, uint64_t first, size_t count, double *out);
