/* Both formats are sequences of pieces (gzip members, zstd frames) that follow one another; of
 * gzip, zero bytes behind a member are padding. */
#include "io/unpack.h"

#include "base/message.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { PACKED_SIZE = 1 << 18, MADE_AT_ONCE = 1 << 24, LIKELY_PER_BYTE = 16 };

struct blv_unpack {
    blv_packing packing;
    blv_make_fn *read;
    void *context;
    const char *path;
    uint64_t taken; /* packed bytes that were read */
    uint64_t made;  /* from them */
    uint64_t checked;
    blv_memory_limit limit;
    z_stream z;
    bool between; /* no member is open */
    bool done;    /* nor will one be */
    ZSTD_DStream *zstd;
    ZSTD_inBuffer rest;
    unsigned char packed[PACKED_SIZE];
};

blv_packing blv_packing_of(const unsigned char *bytes, size_t count) {
    if (count >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b)
        return BLV_PACKING_GZIP;
    if (count < 4)
        return BLV_PACKING_NONE;
    const uint32_t magic = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
                           (uint32_t)bytes[3] << 24;
    bool skippable = (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
    return magic == ZSTD_MAGICNUMBER || skippable ? BLV_PACKING_ZSTD : BLV_PACKING_NONE;
}

uint64_t blv_packing_most(blv_packing packing) {
    switch (packing) {
    case BLV_PACKING_GZIP:
        return 1032;
    case BLV_PACKING_ZSTD:
        return 1 << 15; /* a block of one byte that repeats: 4 bytes for 128 KiB */
    default:
        return 1;
    }
}

blv_unpack *blv_unpack_open(blv_packing packing, blv_make_fn *read, void *context,
                            const char *path) {
    enum { GZIP_ONLY = 16 };
    blv_unpack *u = calloc(1, sizeof *u);
    if (!u)
        return NULL;
    u->read = read;
    u->context = context;
    u->path = path;
    if (packing == BLV_PACKING_GZIP && inflateInit2(&u->z, MAX_WBITS + GZIP_ONLY) == Z_OK)
        u->packing = packing;
    if (packing == BLV_PACKING_ZSTD && (u->zstd = ZSTD_createDStream()))
        u->packing = packing;
    if (u->packing)
        return u;
    free(u);
    return NULL;
}

void blv_unpack_close(blv_unpack *unpack) {
    if (!unpack)
        return;
    if (unpack->packing == BLV_PACKING_GZIP)
        inflateEnd(&unpack->z);
    ZSTD_freeDStream(unpack->zstd);
    free(unpack);
}

void blv_unpack_limit(blv_unpack *unpack, const blv_memory_limit *limit) {
    if (unpack)
        unpack->limit = *limit;
}

/* Packed bytes that were used. */
static uint64_t used(const blv_unpack *u) {
    return u->taken - (u->packing == BLV_PACKING_GZIP ? u->z.avail_in : u->rest.size - u->rest.pos);
}

static blv_error reject(const blv_unpack *u, blv_message *why, const char *problem,
                        const char *reason) {
    return blv_explain(why, BLV_E_FORMAT, "%s: byte %" PRIu64 ": %s%.60s", blv_shown_path(u->path),
                       used(u), problem, reason);
}

/* Now and then, as it grows. Once a file has become more than files do, the part that was used
 * counts, so that one that is all alike is not unpacked to its end first. */
static blv_error expect_allowed(blv_unpack *u, blv_message *why) {
    blv_memory_limit limit = u->limit;
    if (u->made <= u->checked)
        return BLV_OK;
    u->checked = u->made + (u->made >> 3);
    if (u->made / LIKELY_PER_BYTE > limit.file_bytes)
        limit = (blv_memory_limit){.most = limit.most, .file_bytes = used(u), .so_far = true};
    return blv_expect_memory(&limit, u->made, 1, blv_shown_path(u->path), "what is packed in it",
                             why);
}

static blv_error refill(blv_unpack *u, size_t *got, blv_message *why) {
    blv_error error = u->read(u->context, u->packed, PACKED_SIZE, got, why);
    u->taken += *got;
    return error;
}

/* ---- gzip ---- */

static blv_error refill_gzip(blv_unpack *u, blv_message *why) {
    size_t got = 0;
    blv_error error = refill(u, &got, why);
    u->z.next_in = u->packed;
    u->z.avail_in = (uInt)got;
    return error;
}

/* Between two members: zero bytes are padding; anything else must be the next member. */
static blv_error next_member(blv_unpack *u, blv_message *why) {
    do {
        while (u->z.avail_in > 0 && *u->z.next_in == 0) {
            u->z.next_in++;
            u->z.avail_in--;
        }
        if (u->z.avail_in == 0)
            BLV_CHECK(refill_gzip(u, why));
        u->done = u->z.avail_in == 0;
    } while (!u->done && *u->z.next_in == 0);
    if (u->done)
        return BLV_OK;
    if (*u->z.next_in != 0x1f)
        return reject(u, why, "expected another gzip member or the end of the file", "");
    inflateReset(&u->z);
    u->between = false;
    return BLV_OK;
}

static blv_error make_gzip(blv_unpack *u, void *out, size_t n, size_t *got, blv_message *why) {
    while (*got < n && !u->done) {
        if (u->between)
            BLV_CHECK(next_member(u, why));
        else if (u->z.avail_in == 0)
            BLV_CHECK(refill_gzip(u, why));
        if (u->done)
            break;
        size_t room = n - *got < INT_MAX ? n - *got : INT_MAX;
        bool starved = u->z.avail_in == 0;
        u->z.next_out = (unsigned char *)out + *got;
        u->z.avail_out = (uInt)room;
        int status = inflate(&u->z, Z_NO_FLUSH);
        size_t made = room - u->z.avail_out;
        *got += made;
        if (status == Z_STREAM_END)
            u->between = true;
        else if (status == Z_MEM_ERROR)
            return blv_explain_memory(why);
        else if (status == Z_BUF_ERROR || (status == Z_OK && starved && made == 0))
            return reject(u, why, "the gzip data is cut off", "");
        else if (status != Z_OK)
            return reject(u, why, "the gzip data is damaged before this byte: ",
                          u->z.msg ? u->z.msg : "zlib gives no reason");
    }
    return BLV_OK;
}

/* ---- zstd ---- */

static blv_error make_zstd(blv_unpack *u, void *out, size_t n, size_t *got, blv_message *why) {
    ZSTD_outBuffer to = {out, n, 0};
    blv_error error = BLV_OK;
    while (!error && to.pos < to.size && !u->done) {
        if (u->rest.pos == u->rest.size) {
            size_t read = 0;
            error = refill(u, &read, why);
            u->rest = (ZSTD_inBuffer){u->packed, read, 0};
        }
        const bool starved = u->rest.size == 0;
        u->done = starved && u->between;
        if (error || u->done)
            break;
        const size_t before = to.pos;
        const size_t status = ZSTD_decompressStream(u->zstd, &to, &u->rest);
        u->between = status == 0; /* a frame has ended */
        if (ZSTD_isError(status))
            error = reject(
                u, why, "the zstd data is damaged before this byte: ", ZSTD_getErrorName(status));
        else if (starved && to.pos == before && !u->between)
            error = reject(u, why, "the zstd data is cut off", "");
    }
    *got = to.pos;
    return error;
}

blv_error blv_unpack_make(void *unpack, void *out, size_t n, size_t *got, blv_message *why) {
    blv_unpack *u = unpack;
    blv_error error = BLV_OK;
    *got = 0;
    while (!error && *got < n && !u->done) {
        const size_t room = n - *got < MADE_AT_ONCE ? n - *got : MADE_AT_ONCE;
        size_t made = 0;
        unsigned char *to = (unsigned char *)out + *got;
        error = u->packing == BLV_PACKING_GZIP ? make_gzip(u, to, room, &made, why)
                                               : make_zstd(u, to, room, &made, why);
        *got += made;
        u->made += made;
        if (!error)
            error = expect_allowed(u, why);
    }
    return error;
}

/* ---- In memory ---- */

typedef struct memory_bytes {
    const unsigned char *bytes;
    size_t left;
} memory_bytes;

static blv_error read_memory(void *context, void *out, size_t n, size_t *got, blv_message *why) {
    memory_bytes *m = context;
    (void)why;
    *got = n < m->left ? n : m->left;
    memcpy(out, m->bytes, *got);
    m->bytes += *got;
    m->left -= *got;
    return BLV_OK;
}

blv_error blv_unpack_all(const unsigned char *bytes, size_t size, const char *path,
                         unsigned char **content, size_t *count, blv_message *why) {
    memory_bytes packed = {bytes, size};
    size_t capacity = 0;
    *content = NULL;
    *count = 0;
    blv_unpack *u = blv_unpack_open(blv_packing_of(bytes, size), read_memory, &packed, path);
    blv_error error = u ? BLV_OK : blv_explain_memory(why);
    blv_unpack_limit(u, &(blv_memory_limit){.file_bytes = size});
    while (!error && *count == capacity) {
        capacity = capacity ? 2 * capacity : PACKED_SIZE;
        unsigned char *more = realloc(*content, capacity);
        size_t got = 0;
        *content = more ? more : *content;
        error = more ? blv_unpack_make(u, more + *count, capacity - *count, &got, why)
                     : blv_explain_memory(why);
        *count += got;
    }
    blv_unpack_close(u);
    return error;
}
