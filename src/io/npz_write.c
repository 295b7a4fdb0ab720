/* Writes .npz files: a zip archive of uncompressed .npy arrays.
 *
 * Sizes and checksums are known before anything is written, so the file is written front to back
 * without seeking. An alignment field in each local header puts the array on a multiple of 64
 * bytes, and the padding of the array's own header keeps its elements there. */
#include "base/arena.h"
#include "base/atomic_file.h"
#include "io/npz_private.h"
#include "io/text_out.h"

#include <stdlib.h>
#include <string.h>

enum {
    VERSION_PLAIN = 20,
    VERSION_ZIP64 = 45,
    MADE_ON_UNIX = 3 << 8,
    DATE_1980_01_01 = 0x21, /* fixed, so that equal content gives equal bytes */
    NAME_MAX_BYTES = 65535
};
#define REGULAR_FILE_0644 (0100644u << 16)

typedef struct written_entry {
    const char *name; /* with ".npy" */
    uint64_t at;
    uint64_t size;
    uint32_t crc;
} written_entry;

struct blv_npz_writer {
    blv_atomic_file file; /* has only a path, for messages, where bytes go to the caller */
    blv_write_fn write;
    void *context;
    uint64_t at;
    uint64_t zip64_limit;
    bool broken;     /* a write failed: the file can only be discarded */
    blv_arena arena; /* of the entries and their names */
    written_entry *entries;
    size_t count;
};

void blv_npz_set_zip64_limit(blv_npz_writer *writer, uint64_t limit) {
    writer->zip64_limit = limit;
}

/* ---- Little-endian records ---- */

typedef struct record {
    unsigned char bytes[160];
    size_t size;
} record;

/* One number after the other; widths has a digit for each, its size in bytes. */
static void put(record *r, const char *widths, const uint64_t *numbers) {
    for (; *widths; widths++, numbers++)
        for (int byte = 0; byte < *widths - '0'; byte++)
            r->bytes[r->size++] = (unsigned char)(*numbers >> 8 * byte & 0xff);
}
#define PUT(r, widths, ...) put(r, widths, (const uint64_t[]){__VA_ARGS__})

/* ---- Life ---- */

static void free_writer(blv_npz_writer *w) {
    blv_arena_free(&w->arena);
    free(w);
}

static blv_npz_writer *new_writer(blv_write_fn write, void *context) {
    blv_npz_writer *w = calloc(1, sizeof *w);
    if (w) {
        w->zip64_limit = UINT32_MAX;
        w->write = write;
        w->context = context ? context : &w->file;
    }
    return w;
}

blv_error blv_npz_create(blv_npz_writer **writer, const char *path, blv_message *why) {
    if (!writer)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_npz_create: writer is NULL");
    *writer = NULL;
    if (!path || !*path || strlen(path) > INT32_MAX)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_npz_create: no path");
    blv_npz_writer *w = new_writer(blv_atomic_file_write, NULL);
    blv_error error = w ? blv_atomic_file_open(&w->file, path, why) : blv_explain_memory(why);
    if (error)
        free(w);
    else
        *writer = w;
    return error;
}

blv_error blv_npz_create_to(blv_npz_writer **writer, const char *name, blv_write_fn write,
                            void *context, blv_message *why) {
    BLV_CHECK(blv_need_arguments(writer && name && write, __func__, why));
    *writer = NULL;
    blv_npz_writer *w = new_writer(write, context);
    if (w)
        w->file.path = strdup(name);
    if (!w || !w->file.path) {
        free(w);
        return blv_explain_memory(why);
    }
    *writer = w;
    return BLV_OK;
}

void blv_npz_discard(blv_npz_writer *writer) {
    if (!writer)
        return;
    blv_atomic_file_discard(&writer->file);
    free_writer(writer);
}

/* ---- Arrays ---- */

static blv_error write_bytes(blv_npz_writer *w, const void *bytes, size_t n, blv_message *why) {
    blv_error error = blv_write_bytes(w->write, w->context, bytes, n, w->file.path, why);
    w->broken = error != BLV_OK;
    w->at += n;
    return error;
}

static bool is_ascii(const char *text) {
    for (; *text; text++)
        if ((unsigned char)*text >= 0x80)
            return false;
    return true;
}

/* From the flags to the checksum, both headers of an entry are alike. */
static void put_common(record *r, const written_entry *e) {
    PUT(r, "22224", is_ascii(e->name) ? 0 : ZIP_FLAG_UTF8, ZIP_STORED, 0, DATE_1980_01_01, e->crc);
}

static blv_error write_local_header(blv_npz_writer *w, const written_entry *e, blv_message *why) {
    bool zip64 = e->size >= w->zip64_limit;
    size_t name = strlen(e->name);
    size_t zip64_field = zip64 ? 20 : 0;
    size_t end = (size_t)(w->at % NPY_ALIGNMENT) + ZIP_LOCAL_SIZE + name + zip64_field + 6;
    size_t padding = (NPY_ALIGNMENT - end % NPY_ALIGNMENT) % NPY_ALIGNMENT;

    record r = {.size = 0};
    uint64_t size = zip64 ? UINT32_MAX : e->size;
    PUT(&r, "42", ZIP_LOCAL, zip64 ? VERSION_ZIP64 : VERSION_PLAIN);
    put_common(&r, e);
    PUT(&r, "4422", size, size, name, zip64_field + 6 + padding);
    BLV_CHECK(write_bytes(w, r.bytes, r.size, why));
    BLV_CHECK(write_bytes(w, e->name, name, why));

    record extra = {.size = 0};
    if (zip64)
        PUT(&extra, "2288", ZIP_EXTRA_ZIP64, 16, e->size, e->size);
    PUT(&extra, "222", ZIP_EXTRA_ALIGNMENT, 2 + padding, NPY_ALIGNMENT);
    memset(extra.bytes + extra.size, 0, padding);
    return write_bytes(w, extra.bytes, extra.size + padding, why);
}

static blv_error check_name(const blv_npz_writer *w, const char *name, blv_message *why) {
    size_t n = strlen(name);
    if (n == 0 || n + 4 > NAME_MAX_BYTES)
        return blv_explain(why, BLV_E_VALUE, "%s: an array's name has 1 to %d bytes, not %zu",
                           blv_shown_path(w->file.path), NAME_MAX_BYTES - 4, n);
    for (size_t i = 0; i < w->count; i++)
        if (strncmp(w->entries[i].name, name, n) == 0 &&
            strcmp(w->entries[i].name + n, ".npy") == 0)
            return blv_explain(why, BLV_E_VALUE, "%s: there is an array " BLV_SHOWN_NAME " already",
                               blv_shown_path(w->file.path), name);
    return BLV_OK;
}

static blv_error add_array(blv_npz_writer *w, const char *name, char kind, size_t item_size,
                           size_t ndim, const size_t *shape, const void *data, blv_message *why) {
    BLV_CHECK(blv_need_arguments(w && name && (ndim == 0 || shape), "blv_npz_add", why));
    if (w->broken)
        return blv_explain(why, BLV_E_FILE, "%s: an earlier write failed",
                           blv_shown_path(w->file.path));
    BLV_CHECK(check_name(w, name, why));
    size_t count;
    uint64_t bytes;
    if (ndim > BLV_ARRAY_MAX_DIMS || !blv_npy_measure(ndim, shape, item_size, &count, &bytes))
        return blv_explain(why, BLV_E_VALUE,
                           "%s: array " BLV_SHOWN_NAME
                           " has more than %d dimensions or too large a shape",
                           blv_shown_path(w->file.path), name, BLV_ARRAY_MAX_DIMS);
    if (count > 0 && !data)
        return blv_explain(why, BLV_E_ARGUMENT, "%s: array " BLV_SHOWN_NAME " has no data",
                           blv_shown_path(w->file.path), name);
    written_entry *entries = blv_arena_grow(&w->arena, w->entries, w->count, sizeof *entries);
    const char *file_name = entries ? blv_arena_print(&w->arena, "%s.npy", name) : NULL;
    BLV_CHECK(blv_need_memory(file_name, why));
    w->entries = entries;

    unsigned char header[NPY_WRITTEN_MAX];
    size_t header_size = blv_npy_format(header, kind, item_size, ndim, shape);
    uLong crc = crc32_z(0, header, header_size);
    if (bytes > 0)
        crc = crc32_z(crc, data, (size_t)bytes);
    entries[w->count] = (written_entry){file_name, w->at, header_size + bytes, (uint32_t)crc};
    BLV_CHECK(write_local_header(w, &entries[w->count++], why));
    BLV_CHECK(write_bytes(w, header, header_size, why));
    return write_bytes(w, data, (size_t)bytes, why);
}

blv_error blv_npz_add_f64(blv_npz_writer *writer, const char *name, size_t ndim,
                          const size_t *shape, const double *data, blv_message *why) {
    return add_array(writer, name, 'f', sizeof *data, ndim, shape, data, why);
}

blv_error blv_npz_add_f32(blv_npz_writer *writer, const char *name, size_t ndim,
                          const size_t *shape, const float *data, blv_message *why) {
    return add_array(writer, name, 'f', sizeof *data, ndim, shape, data, why);
}

blv_error blv_npz_add_i64(blv_npz_writer *writer, const char *name, size_t ndim,
                          const size_t *shape, const int64_t *data, blv_message *why) {
    return add_array(writer, name, 'i', sizeof *data, ndim, shape, data, why);
}

blv_error blv_npz_add_text(blv_npz_writer *writer, const char *name, const char *text,
                           blv_message *why) {
    size_t size = text ? strlen(text) : 0;
    if (size == 0 || size > BLV_NPZ_TEXT_MAX)
        return blv_explain(why, BLV_E_VALUE, "a text has 1 to %zu bytes", BLV_NPZ_TEXT_MAX);
    return add_array(writer, name, 'S', size, 0, NULL, text, why);
}

/* Each is padded with zero bytes to the longest. */
blv_error blv_npz_add_names(blv_npz_writer *writer, const char *name, const char *const *names,
                            size_t count, blv_message *why) {
    size_t longest = 1;
    for (size_t i = 0; i < count; i++) {
        if (!names || !names[i])
            return blv_explain(why, BLV_E_ARGUMENT, "blv_npz_add_names: a name is NULL");
        size_t length = strlen(names[i]);
        longest = length > longest ? length : longest;
    }
    char *texts = calloc(count > 0 ? count : 1, longest);
    if (!texts)
        return blv_explain(why, BLV_E_MEMORY, "out of memory for %zu names", count);
    for (size_t i = 0; i < count; i++)
        memcpy(texts + i * longest, names[i], strlen(names[i]));
    blv_error error = add_array(writer, name, 'S', longest, 1, &count, texts, why);
    free(texts);
    return error;
}

/* ---- The end of the file ---- */

static blv_error write_central_header(blv_npz_writer *w, const written_entry *e, blv_message *why) {
    bool big_size = e->size >= w->zip64_limit;
    bool far_away = e->at >= w->zip64_limit;
    unsigned fields = (big_size ? 16u : 0u) + (far_away ? 8u : 0u);
    size_t name = strlen(e->name);
    unsigned version = fields ? VERSION_ZIP64 : VERSION_PLAIN;

    record r = {.size = 0};
    uint64_t size = big_size ? UINT32_MAX : e->size, at = far_away ? UINT32_MAX : e->at;
    PUT(&r, "422", ZIP_CENTRAL, MADE_ON_UNIX | version, version);
    put_common(&r, e);
    PUT(&r, "4422", size, size, name, fields ? 4 + fields : 0);
    PUT(&r, "22244", 0, 0, 0, REGULAR_FILE_0644, at); /* no comment, disk 0, no attributes */
    BLV_CHECK(write_bytes(w, r.bytes, r.size, why));
    BLV_CHECK(write_bytes(w, e->name, name, why));

    record extra = {.size = 0};
    if (fields)
        PUT(&extra, "22", ZIP_EXTRA_ZIP64, fields);
    if (big_size)
        PUT(&extra, "88", e->size, e->size);
    if (far_away)
        PUT(&extra, "8", e->at);
    return write_bytes(w, extra.bytes, extra.size, why);
}

static blv_error write_directory(blv_npz_writer *w, blv_message *why) {
    uint64_t start = w->at;
    for (size_t i = 0; i < w->count; i++)
        BLV_CHECK(write_central_header(w, &w->entries[i], why));
    uint64_t size = w->at - start;
    bool zip64 = w->count >= UINT16_MAX || size >= w->zip64_limit || start >= w->zip64_limit;

    record r = {.size = 0};
    if (zip64) {
        /* its size after this field, versions, disk 0 of 0, entries here and in all, the place */
        PUT(&r, "4822", ZIP64_END, ZIP64_END_SIZE - 12, MADE_ON_UNIX | VERSION_ZIP64,
            VERSION_ZIP64);
        PUT(&r, "448888", 0, 0, w->count, w->count, size, start);
        PUT(&r, "4484", ZIP64_LOCATOR, 0, start + size, 1); /* on one disk */
    }
    uint64_t count = zip64 ? UINT16_MAX : w->count;
    PUT(&r, "42222", ZIP_END, 0, 0, count, count);
    PUT(&r, "442", zip64 ? UINT32_MAX : size, zip64 ? UINT32_MAX : start, 0); /* no comment */
    return write_bytes(w, r.bytes, r.size, why);
}

blv_error blv_npz_commit(blv_npz_writer *w, blv_message *why) {
    if (!w)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_npz_commit: writer is NULL");
    blv_error error = w->broken ? blv_explain(why, BLV_E_FILE, "%s: an earlier write failed",
                                              blv_shown_path(w->file.path))
                                : write_directory(w, why);
    if (error || !w->file.file) {
        blv_npz_discard(w);
        return error;
    }
    error = blv_atomic_file_commit(&w->file, why);
    free_writer(w);
    return error;
}
