/* Opens NumPy files and reads the central directory of archives.
 *
 * A zip file is read from its end: the end record gives the directory, the directory gives the
 * entries. Nothing that these records say is used before it is checked against the file's size. */
#include "io/input.h"
#include "io/npz_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

blv_error blv_npz_pread(const blv_npz *npz, uint64_t at, void *buffer, size_t n, blv_message *why) {
    const size_t most = (size_t)1 << 30; /* the system may reject to read more at a time */
    unsigned char *out = buffer;
    if (npz->memory) {
        /* what is asked for was checked against the size */
        memcpy(out, npz->memory + at, n);
        return BLV_OK;
    }
    while (n > 0) {
        ssize_t got = pread(npz->fd, out, n < most ? n : most, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return blv_explain_errno(why, npz->path, "read");
        if (got == 0)
            return blv_explain(why, BLV_E_FILE,
                               "%s: cannot read: ends at byte %" PRIu64
                               "; it was longer when it was opened",
                               blv_shown_path(npz->path), at);
        out += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return BLV_OK;
}

/* ---- The end record ---- */

typedef struct directory_place {
    uint64_t at;
    uint64_t size;
    uint64_t count;
    uint64_t end; /* where the records after the directory begin */
} directory_place;

/* Finds the end record: it lies at the end of the file, before a comment of at most 65535 bytes. */
static blv_error find_end(const blv_npz *npz, uint64_t *at, unsigned char end[ZIP_END_SIZE],
                          blv_message *why) {
    const uint64_t most = ZIP_END_SIZE + 65535;
    size_t n = (size_t)(npz->size < most ? npz->size : most);
    unsigned char *tail = malloc(n + 1);
    BLV_CHECK(blv_need_memory(tail, why));
    blv_error error = blv_npz_pread(npz, npz->size - n, tail, n, why);
    bool found = false;
    for (size_t i = n; !error && !found && i >= ZIP_END_SIZE; i--) {
        const unsigned char *p = tail + (i - ZIP_END_SIZE);
        found = zip_get32(p) == ZIP_END && zip_get16(p + 20) == n - i;
        memcpy(end, p, ZIP_END_SIZE);
        *at = npz->size - n + (i - ZIP_END_SIZE);
    }
    free(tail);
    if (!error && !found)
        error = blv_explain(why, BLV_E_FORMAT,
                            "%s: the zip archive has no end record in its %" PRIu64
                            " bytes; it was probably cut off",
                            blv_shown_path(npz->path), npz->size);
    return error;
}

/* Takes place from the zip64 end record, if the locator before the end record leads to one. */
static blv_error find_zip64_end(const blv_npz *npz, uint64_t end_at, directory_place *place,
                                blv_message *why) {
    unsigned char locator[ZIP64_LOCATOR_SIZE];
    if (end_at < ZIP64_LOCATOR_SIZE)
        return BLV_OK;
    uint64_t locator_at = end_at - ZIP64_LOCATOR_SIZE;
    blv_error error = blv_npz_pread(npz, locator_at, locator, sizeof locator, why);
    if (error || zip_get32(locator) != ZIP64_LOCATOR)
        return error;
    uint64_t at = zip_get64(locator + 8);
    if (locator_at < ZIP64_END_SIZE || at > locator_at - ZIP64_END_SIZE)
        return blv_explain(why, BLV_E_FORMAT,
                           "%s: byte %" PRIu64
                           ": the zip64 end record is said to be at byte %" PRIu64
                           ", where it cannot be",
                           blv_shown_path(npz->path), locator_at, at);
    unsigned char end[ZIP64_END_SIZE];
    BLV_CHECK(blv_npz_pread(npz, at, end, sizeof end, why));
    if (zip_get32(end) != ZIP64_END || zip_get32(end + 16) != 0 || zip_get32(end + 20) != 0)
        return blv_explain(why, BLV_E_FORMAT,
                           "%s: byte %" PRIu64
                           ": expected the zip64 end record of an archive in one piece",
                           blv_shown_path(npz->path), at);
    *place = (directory_place){.at = zip_get64(end + 48),
                               .size = zip_get64(end + 40),
                               .count = zip_get64(end + 32),
                               .end = at};
    return BLV_OK;
}

static blv_error find_directory(const blv_npz *npz, directory_place *place, blv_message *why) {
    unsigned char end[ZIP_END_SIZE] = {0};
    uint64_t end_at = 0;
    BLV_CHECK(find_end(npz, &end_at, end, why));
    *place = (directory_place){.at = zip_get32(end + 16),
                               .size = zip_get32(end + 12),
                               .count = zip_get16(end + 10),
                               .end = end_at};
    uint16_t disk = zip_get16(end + 4), directory_disk = zip_get16(end + 6);
    if (place->at == UINT32_MAX || place->size == UINT32_MAX || place->count == UINT16_MAX ||
        disk == UINT16_MAX || directory_disk == UINT16_MAX) {
        BLV_CHECK(find_zip64_end(npz, end_at, place, why));
    } else if (disk != 0 || directory_disk != 0 || zip_get16(end + 8) != place->count) {
        return blv_explain(why, BLV_E_FORMAT,
                           "%s: byte %" PRIu64 ": the archive is one piece of several",
                           blv_shown_path(npz->path), end_at);
    }
    if (place->at > place->end || place->size > place->end - place->at)
        return blv_explain(why, BLV_E_FORMAT,
                           "%s: the directory (%" PRIu64 " bytes at byte %" PRIu64
                           ") does not fit before byte %" PRIu64,
                           blv_shown_path(npz->path), place->size, place->at, place->end);
    if (place->count > place->size / ZIP_CENTRAL_SIZE || place->size > SIZE_MAX / 4)
        return blv_explain(why, BLV_E_FORMAT,
                           "%s: %" PRIu64 " entries do not fit into a directory of %" PRIu64
                           " bytes",
                           blv_shown_path(npz->path), place->count, place->size);
    return BLV_OK;
}

/* ---- Entries ---- */

/* Replaces the values that are all ones by those of the zip64 extra field. */
static bool apply_zip64_field(const unsigned char *extra, size_t n, blv_npz_entry *e) {
    uint64_t *wanted[3];
    size_t count = 0;
    if (e->size == UINT32_MAX)
        wanted[count++] = &e->size;
    if (e->packed == UINT32_MAX)
        wanted[count++] = &e->packed;
    if (e->at == UINT32_MAX)
        wanted[count++] = &e->at;
    while (count > 0 && n >= 4) {
        size_t id = zip_get16(extra), length = zip_get16(extra + 2);
        if (length > n - 4)
            return false;
        if (id == ZIP_EXTRA_ZIP64) {
            if (length < 8 * count)
                return false;
            for (size_t i = 0; i < count; i++)
                *wanted[i] = zip_get64(extra + 4 + 8 * i);
            return true;
        }
        extra += 4 + length;
        n -= 4 + length;
    }
    return true; /* a value may be all ones without meaning zip64 */
}

/* Reads the record at *cursor of the directory and moves on. The name's ".npy" becomes its end; a
 * name without one leaves e->name NULL. Returns what is wrong, or NULL. */
static const char *parse_entry(unsigned char *directory, size_t size, size_t *cursor,
                               blv_npz_entry *e) {
    unsigned char *p = directory + *cursor;
    size_t left = size - *cursor;
    if (left < ZIP_CENTRAL_SIZE || zip_get32(p) != ZIP_CENTRAL)
        return "expected a directory record";
    size_t name = zip_get16(p + 28), extra = zip_get16(p + 30), comment = zip_get16(p + 32);
    size_t total = ZIP_CENTRAL_SIZE + name + extra + comment;
    if (left < total)
        return "the record runs past the end of the directory";
    *e = (blv_npz_entry){.at = zip_get32(p + 42),
                         .packed = zip_get32(p + 20),
                         .size = zip_get32(p + 24),
                         .crc = zip_get32(p + 16),
                         .method = zip_get16(p + 10),
                         .flags = zip_get16(p + 8)};
    unsigned char *text = p + ZIP_CENTRAL_SIZE;
    if (memchr(text, 0, name))
        return "the name contains a zero byte";
    if (!apply_zip64_field(text + name, extra, e))
        return "the zip64 field is malformed";
    if (name >= 4 && memcmp(text + name - 4, ".npy", 4) == 0) {
        text[name - 4] = 0;
        e->name = (const char *)text;
    }
    *cursor += total;
    return NULL;
}

static int compare_names(const void *a, const void *b) {
    const blv_npz_entry *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

static blv_error index_names(blv_npz *npz, blv_message *why) {
    const blv_npz_entry **by_name = malloc((npz->count + 1) * sizeof *by_name);
    BLV_CHECK(blv_need_memory(by_name, why));
    npz->by_name = by_name;
    for (size_t i = 0; i < npz->count; i++)
        by_name[i] = &npz->entries[i];
    qsort(by_name, npz->count, sizeof *by_name, compare_names);
    for (size_t i = 1; i < npz->count; i++)
        if (compare_names(&by_name[i - 1], &by_name[i]) == 0)
            return blv_explain(why, BLV_E_FORMAT,
                               "%s: there are two arrays with the name " BLV_SHOWN_NAME,
                               blv_shown_path(npz->path), by_name[i]->name);
    return BLV_OK;
}

const blv_npz_entry *blv_npz_find(const blv_npz *npz, const char *name) {
    const blv_npz_entry key = {.name = name}, *wanted = &key;
    const blv_npz_entry **found =
        bsearch(&wanted, npz->by_name, npz->count, sizeof *npz->by_name, compare_names);
    return found ? *found : NULL;
}

static blv_error load_archive(blv_npz *npz, blv_message *why) {
    directory_place place = {0};
    BLV_CHECK(find_directory(npz, &place, why));
    size_t size = (size_t)place.size, count = (size_t)place.count;
    npz->directory_at = place.at;
    npz->directory = malloc(size + 1);
    npz->entries = calloc(count + 1, sizeof *npz->entries);
    BLV_CHECK(blv_need_memory(npz->directory && npz->entries, why));
    BLV_CHECK(blv_npz_pread(npz, place.at, npz->directory, size, why));
    size_t cursor = 0;
    for (size_t i = 0; i < count; i++) {
        blv_npz_entry *e = &npz->entries[npz->count];
        const char *problem = parse_entry(npz->directory, size, &cursor, e);
        if (problem)
            return blv_explain(why, BLV_E_FORMAT, "%s: byte %" PRIu64 " (entry %zu of %zu): %s",
                               blv_shown_path(npz->path), place.at + cursor, i + 1, count, problem);
        if (e->name)
            npz->count++;
    }
    if (cursor != size)
        return blv_explain(why, BLV_E_FORMAT,
                           "%s: the directory has %zu bytes, its %zu entries take %zu",
                           blv_shown_path(npz->path), size, count, cursor);
    return index_names(npz, why);
}

/* ---- Opening and closing ---- */

/* A bare array is an archive of one stored entry that begins at byte 0 and has no checksum. */
static blv_error load_single(blv_npz *npz, blv_message *why) {
    npz->is_npy = true;
    npz->count = 1;
    npz->directory_at = npz->size;
    npz->entries = calloc(1, sizeof *npz->entries);
    BLV_CHECK(blv_need_memory(npz->entries, why));
    npz->entries[0] = (blv_npz_entry){.name = "", .packed = npz->size, .size = npz->size};
    return index_names(npz, why);
}

static blv_error load(blv_npz *npz, blv_message *why) {
    unsigned char start[NPY_MAGIC_SIZE] = {0};
    size_t n = npz->size < sizeof start ? (size_t)npz->size : sizeof start;
    BLV_CHECK(blv_npz_pread(npz, 0, start, n, why));
    if (memcmp(start, blv_npy_magic, sizeof start) == 0)
        return load_single(npz, why);
    /* An archive without entries begins with its end record. */
    uint32_t signature = zip_get32(start);
    if (signature == ZIP_LOCAL || signature == ZIP_END || signature == ZIP64_END)
        return load_archive(npz, why);
    return blv_explain(why, BLV_E_FORMAT,
                       "%s: not a NumPy file: expected \\x93NUMPY (.npy) or PK (.npz) at byte 0",
                       blv_shown_path(npz->path));
}

/* memory NULL: the file at path. */
static blv_error open_content(blv_npz **npz, const char *path, const unsigned char *memory,
                              size_t size, blv_message *why) {
    blv_npz *opened = calloc(1, sizeof *opened);
    BLV_CHECK(blv_need_memory(opened, why));
    *opened = (blv_npz){.fd = -1, .memory = memory, .size = size, .path = strdup(path)};
    blv_error error = opened->path ? BLV_OK : blv_explain_memory(why);
    bool copied;
    if (!error && !memory)
        error = blv_open_input(path, &opened->fd, &opened->size, &copied, why);
    opened->limit.file_bytes = opened->size;
    if (!error)
        error = load(opened, why);
    if (error)
        blv_npz_close(opened);
    else
        *npz = opened;
    return error;
}

blv_error blv_npz_open(blv_npz **npz, const char *path, blv_message *why) {
    if (!npz)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_npz_open: npz is NULL");
    *npz = NULL;
    if (!path)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_npz_open: path is NULL");
    return open_content(npz, path, NULL, 0, why);
}

blv_error blv_npz_open_memory(blv_npz **npz, const void *bytes, size_t size, const char *name,
                              blv_message *why) {
    BLV_CHECK(blv_need_arguments(npz && bytes && name, __func__, why));
    *npz = NULL;
    return open_content(npz, name, bytes, size, why);
}

void blv_npz_close(blv_npz *npz) {
    if (!npz)
        return;
    if (npz->fd >= 0)
        close(npz->fd);
    free(npz->by_name);
    free(npz->entries);
    free(npz->directory);
    free(npz->path);
    free(npz);
}

size_t blv_npz_count(const blv_npz *npz) {
    return npz ? npz->count : 0;
}

const char *blv_npz_name(const blv_npz *npz, size_t i) {
    return npz && i < npz->count ? npz->entries[i].name : NULL;
}
