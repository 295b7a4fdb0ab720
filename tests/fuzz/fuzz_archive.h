/* Checksums of an archive put right, so that what is behind them gets tried as well. */
#ifndef FUZZ_ARCHIVE_H
#define FUZZ_ARCHIVE_H

#include <stdint.h>
#include <string.h>
#include <zlib.h>

static inline uint32_t little_endian(const uint8_t *p, int width) {
    uint32_t value = 0;
    for (int i = width; i-- > 0;)
        value = value << 8 | p[i];
    return value;
}

static inline void put_checksum(uint8_t *p, uint32_t crc) {
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(crc >> 8 * i);
}

/* The entry of the directory at `at`: its content, where it is stored as it is, gets its sum. */
static inline void repair_entry(uint8_t *bytes, size_t size, size_t at) {
    enum { LOCAL_HEADER = 30 };
    size_t content = little_endian(bytes + at + 20, 4), from = little_endian(bytes + at + 42, 4);
    if (little_endian(bytes + at + 10, 2) != 0 || from > size || size - from < LOCAL_HEADER ||
        memcmp(bytes + from, "PK\3\4", 4) != 0)
        return;
    size_t start = from + LOCAL_HEADER + little_endian(bytes + from + 26, 2) +
                   little_endian(bytes + from + 28, 2);
    if (start > size || content > size - start)
        return;
    uint32_t crc = (uint32_t)crc32_z(0, bytes + start, content);
    put_checksum(bytes + at + 16, crc);
    put_checksum(bytes + from + 14, crc);
}

static inline void repair_checksums(uint8_t *bytes, size_t size) {
    enum { DIRECTORY_ENTRY = 46 };
    for (size_t at = 0; at + DIRECTORY_ENTRY <= size; at++)
        if (memcmp(bytes + at, "PK\1\2", 4) == 0)
            repair_entry(bytes, size, at);
}

#endif
