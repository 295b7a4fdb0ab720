/* The unpacked bytes of one entry, stored or deflated, with the checks that a hostile file needs:
 * the entry lies inside the file, it unpacks to what it promised, and its checksum is right. */
#include "io/npz_private.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* A deflate stream makes at most 258 bytes from two bits. */
#define DEFLATE_MOST_PER_BYTE 1032

static blv_error reject(const blv_npz_stream *s, blv_message *why, uint64_t at,
                        const char *problem) {
    return blv_explain(why, BLV_E_FORMAT, "%s: array " BLV_SHOWN_NAME " (byte %" PRIu64 "): %s",
                       blv_shown_path(s->npz->path), s->entry->name, at, problem);
}

/* Where in the file the next packed byte is. */
static uint64_t position(const blv_npz_stream *s) {
    return s->data_at + s->consumed;
}

/* The name is in both headers; where they differ, readers would disagree on what the entry is. */
static blv_error check_local_name(const blv_npz_stream *s, uint64_t at, size_t n,
                                  blv_message *why) {
    const char *name = s->entry->name;
    size_t stem = strlen(name);
    bool same = n == stem + 4;
    for (size_t done = 0; same && done < n;) {
        unsigned char chunk[256];
        size_t part = n - done < sizeof chunk ? n - done : sizeof chunk;
        BLV_CHECK(blv_npz_pread(s->npz, at + done, chunk, part, why));
        for (size_t i = 0; i < part; i++, done++)
            same =
                same && chunk[i] == (unsigned char)(done < stem ? name[done] : ".npy"[done - stem]);
    }
    return same ? BLV_OK : reject(s, why, at, "the local header has another name");
}

/* Sets data_at from the local header. */
static blv_error enter(blv_npz_stream *s, blv_message *why) {
    const blv_npz_entry *e = s->entry;
    uint64_t end = s->npz->directory_at;
    unsigned char local[ZIP_LOCAL_SIZE];
    if (end < sizeof local || e->at > end - sizeof local)
        return reject(s, why, e->at, "the entry is said to begin here, outside of the entries");
    BLV_CHECK(blv_npz_pread(s->npz, e->at, local, sizeof local, why));
    if (zip_get32(local) != ZIP_LOCAL)
        return reject(s, why, e->at, "expected a local header");
    if (((e->flags | zip_get16(local + 6)) &
         (ZIP_FLAG_ENCRYPTED | ZIP_FLAG_STRONG_ENCRYPTION | ZIP_FLAG_MASKED)) != 0)
        return reject(s, why, e->at, "the entry is encrypted");
    if (zip_get16(local + 8) != e->method)
        return reject(s, why, e->at, "the two headers name different compression methods");

    size_t name = zip_get16(local + 26), extra = zip_get16(local + 28);
    uint64_t left = end - e->at - sizeof local;
    if (name + extra > left || e->packed > left - name - extra)
        return reject(s, why, e->at, "the entry runs into the directory");
    s->data_at = e->at + sizeof local + name + extra;
    return check_local_name(s, e->at + sizeof local, name, why);
}

/* The entry's size can be trusted for an allocation after this. */
static blv_error check_method(const blv_npz_stream *s, blv_message *why) {
    const blv_npz_entry *e = s->entry;
    char problem[160];
    if (e->method == ZIP_STORED && e->packed != e->size)
        snprintf(problem, sizeof problem,
                 "stored in %" PRIu64 " bytes, but said to be %" PRIu64 " bytes", e->packed,
                 e->size);
    else if (e->method == ZIP_DEFLATED && e->size / DEFLATE_MOST_PER_BYTE > e->packed)
        snprintf(problem, sizeof problem,
                 "%" PRIu64 " deflated bytes cannot become the %" PRIu64 " promised", e->packed,
                 e->size);
    else if (e->method != ZIP_STORED && e->method != ZIP_DEFLATED)
        snprintf(problem, sizeof problem,
                 "compression method %u; expected 0 (stored) or 8 (deflated)", e->method);
    else
        return BLV_OK;
    return reject(s, why, s->data_at, problem);
}

blv_error blv_npz_stream_open(blv_npz_stream *s, blv_message *why) {
    if (s->npz->is_npy)
        return BLV_OK;
    BLV_CHECK(enter(s, why));
    BLV_CHECK(check_method(s, why));
    if (s->entry->method == ZIP_STORED)
        return BLV_OK;
    s->deflated = true;
    /* negative: no zlib wrapper around the deflate stream */
    int status = inflateInit2(&s->z, -MAX_WBITS);
    if (status == Z_MEM_ERROR)
        return blv_explain_memory(why);
    return status == Z_OK ? BLV_OK : reject(s, why, s->data_at, "zlib cannot be used");
}

void blv_npz_stream_close(blv_npz_stream *s) {
    if (s->deflated)
        inflateEnd(&s->z);
}

/* Unpacks until out is full or the stream ends; says how much it made. */
static blv_error inflate_some(blv_npz_stream *s, unsigned char *out, size_t n, size_t *made,
                              blv_message *why) {
    *made = 0;
    while (*made < n && !s->ended) {
        if (s->z.avail_in == 0) {
            uint64_t left = s->entry->packed - s->consumed;
            size_t part = left < sizeof s->input ? (size_t)left : sizeof s->input;
            BLV_CHECK(blv_npz_pread(s->npz, position(s), s->input, part, why));
            s->consumed += part;
            s->z.next_in = s->input;
            s->z.avail_in = (uInt)part;
        }
        size_t room = n - *made < INT_MAX ? n - *made : INT_MAX;
        s->z.next_out = out + *made;
        s->z.avail_out = (uInt)room;
        int status = inflate(&s->z, Z_NO_FLUSH);
        *made += room - s->z.avail_out;
        if (status == Z_STREAM_END)
            s->ended = true;
        else if (status == Z_MEM_ERROR)
            return blv_explain_memory(why);
        else if (status == Z_BUF_ERROR)
            return reject(s, why, position(s), "the deflate stream is cut off");
        else if (status != Z_OK)
            return reject(s, why, position(s), "the deflate stream is damaged before this byte");
    }
    return BLV_OK;
}

blv_error blv_npz_stream_read(blv_npz_stream *s, void *out, size_t n, blv_message *why) {
    if (n > s->entry->size - s->produced)
        return reject(s, why, position(s), "ends inside the array's header");
    size_t made = n;
    if (s->deflated) {
        BLV_CHECK(inflate_some(s, out, n, &made, why));
    } else {
        BLV_CHECK(blv_npz_pread(s->npz, position(s), out, n, why));
        s->consumed += n;
    }
    if (made < n)
        return reject(s, why, position(s), "unpacks to less than it promised");
    s->produced += n;
    if (!s->npz->is_npy)
        s->crc = crc32_z(s->crc, out, n);
    return BLV_OK;
}

blv_error blv_npz_stream_read_last(blv_npz_stream *s, void *out, size_t n, blv_message *why) {
    BLV_CHECK(blv_npz_stream_read(s, out, n, why));
    if (s->deflated && !s->ended) {
        unsigned char more;
        size_t made;
        BLV_CHECK(inflate_some(s, &more, 1, &made, why));
        if (made > 0)
            return reject(s, why, position(s), "unpacks to more than it promised");
    }
    if (s->deflated && (s->z.avail_in > 0 || s->consumed < s->entry->packed))
        return reject(s, why, position(s) - s->z.avail_in,
                      "the deflate stream ends before its entry does");
    if (s->npz->is_npy || s->crc == s->entry->crc)
        return BLV_OK;
    char problem[120];
    snprintf(problem, sizeof problem, "damaged: the checksum is %08lx, expected %08lx",
             (unsigned long)s->crc, (unsigned long)s->entry->crc);
    return reject(s, why, s->data_at, problem);
}
