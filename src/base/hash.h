/* Hashes of bytes, and fingerprints built from numbers and texts one after the other. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- 64-bit FNV-1a: for short texts, and where bytes come in pieces ---- */

#define BLV_HASH_EMPTY UINT64_C(0xCBF29CE484222325)
#define BLV_HASH_FACTOR UINT64_C(0x100000001B3)

static inline uint64_t blv_hash_bytes(uint64_t hash, const void *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * BLV_HASH_FACTOR;
    return hash;
}

/* ---- Word by word: for large data. Begin with any number but 0 ---- */

static inline uint64_t blv_hash_word(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 32;
}

static inline uint64_t blv_hash_real(uint64_t hash, double value) {
    uint64_t bits;
    value += 0.0; /* -0 counts as 0 */
    memcpy(&bits, &value, sizeof bits);
    return blv_hash_word(hash, bits);
}

static inline uint64_t blv_hash_text(uint64_t hash, const char *text) {
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        hash = blv_hash_word(hash, (unsigned char)text[i]);
    return blv_hash_word(hash, length + 256);
}
