/* Philox 4x32-10: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as
 * 1, 2, 3", SC 2011. A bijection of the counter under a key: ten rounds of two 32 x 32 -> 64 bit
 * products. Chosen because any number of a stream can be had at once, so results cannot depend on
 * the order in which threads ask. */
#include "base/random.h"
#include "base/hash.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 10 };

void blv_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

blv_stream blv_stream_make(uint64_t seed, const char *purpose) {
    uint64_t salt = blv_hash_bytes(BLV_HASH_EMPTY, purpose, strlen(purpose));
    return (blv_stream){.key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
                        .salt = {(uint32_t)salt, (uint32_t)(salt >> 32)}};
}

static void block_at(const blv_stream *stream, uint64_t n, uint32_t out[4]) {
    uint32_t counter[4] = {(uint32_t)n, (uint32_t)(n >> 32), stream->salt[0], stream->salt[1]};
    blv_philox(counter, stream->key, out);
}

uint64_t blv_random_bits(const blv_stream *stream, uint64_t n) {
    uint32_t out[4];
    block_at(stream, n, out);
    return ((uint64_t)out[1] << 32) | out[0];
}

double blv_random_uniform(const blv_stream *stream, uint64_t n) {
    return (double)(blv_random_bits(stream, n) >> 11) * 0x1p-53;
}

double blv_random_normal(const blv_stream *stream, uint64_t n) {
    uint32_t out[4];
    block_at(stream, n, out);
    double u = ((double)(((uint64_t)out[1] << 32 | out[0]) >> 11) + 1.0) * 0x1p-53; /* (0, 1] */
    double v = (double)(((uint64_t)out[3] << 32 | out[2]) >> 11) * 0x1p-53;
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

/* Lemire's multiplication; the second and third words of the block serve the rare rejections, and
 * after those the bias is below 2^-90. */
uint64_t blv_random_below(const blv_stream *stream, uint64_t n, uint64_t bound) {
    uint32_t out[4];
    block_at(stream, n, out);
    if (bound <= UINT32_MAX) {
        const uint32_t b = (uint32_t)bound;
        for (int i = 0; i < 3; i++) {
            const uint64_t product = (uint64_t)out[i] * b;
            /* the least that is not rejected is 2^32 mod b, below b: rarely needed */
            if ((uint32_t)product >= b || (uint32_t)product >= (uint32_t)(-b) % b)
                return product >> 32;
        }
        return ((uint64_t)out[3] * b) >> 32;
    }
    return (((uint64_t)out[1] << 32) | out[0]) % bound;
}

void blv_random_permutation(const blv_stream *stream, uint64_t round, size_t count, size_t *order) {
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)blv_random_below(stream, (round << 40) + i, i);
        size_t kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

void blv_random_normals(const blv_stream *stream, uint64_t first, size_t count, double *out) {
    for (size_t i = 0; i < count; i++)
        out[i] = blv_random_normal(stream, first + i);
}
