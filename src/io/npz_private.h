/* What the sources that read and write NumPy files share.
 *
 * The zip records are those of PKWARE's APPNOTE 6.3; all their numbers are little endian.
 * The array header is that of NumPy's format description (numpy.lib.format), versions 1.0 to 3.0.
 */
#pragma once

#include "base/memory_limit.h"
#include "base/message.h"
#include "bilevel/npz.h"

#include <stdbool.h>
#include <sys/types.h>
#include <zlib.h>

_Static_assert(sizeof(off_t) >= 8, "files beyond 2 GiB need a 64-bit off_t");

/* How an entry's name goes into a message. */
#define BLV_SHOWN_NAME "'%.100s'"

/* ---- Zip records ---- */

#define ZIP_LOCAL 0x04034b50u
#define ZIP_CENTRAL 0x02014b50u
#define ZIP_END 0x06054b50u
#define ZIP64_END 0x06064b50u
#define ZIP64_LOCATOR 0x07064b50u

enum {
    ZIP_LOCAL_SIZE = 30,
    ZIP_CENTRAL_SIZE = 46,
    ZIP_END_SIZE = 22,
    ZIP64_END_SIZE = 56,
    ZIP64_LOCATOR_SIZE = 20,

    ZIP_STORED = 0,
    ZIP_DEFLATED = 8,

    ZIP_FLAG_ENCRYPTED = 1 << 0,
    ZIP_FLAG_STRONG_ENCRYPTION = 1 << 6,
    ZIP_FLAG_UTF8 = 1 << 11,
    ZIP_FLAG_MASKED = 1 << 13,

    ZIP_EXTRA_ZIP64 = 0x0001,
    ZIP_EXTRA_ALIGNMENT = 0xa11e
};

static inline uint16_t zip_get16(const unsigned char *p) {
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t zip_get32(const unsigned char *p) {
    return zip_get16(p) | (uint32_t)zip_get16(p + 2) << 16;
}

static inline uint64_t zip_get64(const unsigned char *p) {
    return zip_get32(p) | (uint64_t)zip_get32(p + 4) << 32;
}

/* ---- The header of an array ---- */

enum {
    NPY_MAGIC_SIZE = 6,
    NPY_ALIGNMENT = 64,
    /* no header that can be read here needs more */
    NPY_TEXT_MAX = 65535,
    /* room for the largest header that is written */
    NPY_WRITTEN_MAX = 320
};

extern const unsigned char blv_npy_magic[NPY_MAGIC_SIZE];

typedef struct blv_npy_header {
    char kind;
    bool big_endian;
    bool fortran_order;
    size_t item_size;
    size_t ndim;
    size_t shape[BLV_ARRAY_MAX_DIMS];
    size_t count;
    uint64_t bytes; /* count * item_size */
} blv_npy_header;

bool blv_host_is_big_endian(void);

/* Product of the shape and of item_size; false when it does not fit. */
bool blv_npy_measure(size_t ndim, const size_t *shape, size_t item_size, size_t *count,
                     uint64_t *bytes);

/* Writes a whole header, magic and padding included, for an array of this machine's byte order.
 * Returns its size, a multiple of NPY_ALIGNMENT. */
size_t blv_npy_format(unsigned char out[NPY_WRITTEN_MAX], char kind, size_t item_size, size_t ndim,
                      const size_t *shape);

/* Reads the dictionary of a header, `size` characters and a zero byte, of an array of texts or of
 * numbers. On error, problem says what is wrong and where in the text. */
blv_error blv_npy_parse(const char *text, size_t size, bool texts, blv_npy_header *header,
                        blv_message *problem);

/* ---- An open file ---- */

typedef struct blv_npz_entry {
    const char *name; /* without ".npy" */
    uint64_t at;      /* of the local header */
    uint64_t packed;  /* bytes in the file */
    uint64_t size;    /* bytes once unpacked */
    uint32_t crc;
    uint16_t method;
    uint16_t flags;
} blv_npz_entry;

struct blv_npz {
    int fd;
    const unsigned char *memory; /* the content, where it is not in a file; then fd is -1 */
    char *path;
    uint64_t size;
    blv_memory_limit limit;        /* of what an array may take */
    bool is_npy;                   /* one bare array, no archive around it */
    uint64_t directory_at;         /* entries end before it */
    unsigned char *directory;      /* holds the names */
    blv_npz_entry *entries;        /* in the order of the directory */
    const blv_npz_entry **by_name; /* sorted */
    size_t count;
};

/* Where an array lies, without reading its elements. */
typedef struct blv_npz_place {
    blv_npy_header header;
    uint64_t at; /* of the elements in the file; 0 when they are compressed */
} blv_npz_place;
blv_error blv_npz_locate(const blv_npz *npz, const char *name, blv_npz_place *place,
                         blv_message *why);

/* Rows first .. first + count - 1 of an array in C order that is not compressed, as
 * blv_npz_read_f64; *crc: the checksum of their bytes. */
blv_error blv_npz_read_rows(const blv_npz *npz, const blv_npz_place *place, size_t first,
                            size_t count, double **data, uLong *crc, blv_message *why);

/* Reads exactly n bytes. */
blv_error blv_npz_pread(const blv_npz *npz, uint64_t at, void *buffer, size_t n, blv_message *why);

/* NULL when there is no such array. */
const blv_npz_entry *blv_npz_find(const blv_npz *npz, const char *name);

/* ---- The unpacked bytes of an entry, front to back ---- */

typedef struct blv_npz_stream {
    const blv_npz *npz;
    const blv_npz_entry *entry;
    uint64_t data_at;  /* where the entry's bytes begin in the file */
    uint64_t consumed; /* of entry->packed */
    uint64_t produced; /* of entry->size */
    uLong crc;
    bool deflated;
    bool ended; /* the deflate stream said so */
    z_stream z;
    unsigned char input[16384];
} blv_npz_stream;

/* npz and entry are set, all else is 0. Needs blv_npz_stream_close after BLV_OK only. */
blv_error blv_npz_stream_open(blv_npz_stream *s, blv_message *why);
blv_error blv_npz_stream_read(blv_npz_stream *s, void *out, size_t n, blv_message *why);
/* Reads what is left, and checks that the entry ends there and has its checksum. */
blv_error blv_npz_stream_read_last(blv_npz_stream *s, void *out, size_t n, blv_message *why);
void blv_npz_stream_close(blv_npz_stream *s);

/* ---- For tests ---- */

/* Sizes and offsets from `limit` on go into zip64 records; by default those that need it. */
void blv_npz_set_zip64_limit(blv_npz_writer *writer, uint64_t limit);
