/* Reads arrays from NumPy files: the header, numbers with their conversion to doubles, texts. */
#include "base/memory_limit.h"
#include "io/npz_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The header ---- */

static blv_error reject_array(const blv_npz_stream *s, blv_message *why, const char *problem) {
    return blv_explain(why, BLV_E_FORMAT,
                       "%s: array " BLV_SHOWN_NAME " (begins at byte %" PRIu64 "): %s",
                       blv_shown_path(s->npz->path), s->entry->name, s->data_at, problem);
}

/* Magic, version and the length of the text that follows. */
static blv_error read_preamble(blv_npz_stream *s, size_t *text_size, blv_message *why) {
    unsigned char start[NPY_MAGIC_SIZE + 2], length[4] = {0};
    BLV_CHECK(blv_npz_stream_read(s, start, sizeof start, why));
    if (memcmp(start, blv_npy_magic, NPY_MAGIC_SIZE) != 0)
        return reject_array(s, why, "not a NumPy array: expected \\x93NUMPY");
    unsigned major = start[NPY_MAGIC_SIZE], minor = start[NPY_MAGIC_SIZE + 1];
    char problem[120];
    if (major < 1 || major > 3 || minor != 0) {
        snprintf(problem, sizeof problem, "format version %u.%u; expected 1.0, 2.0 or 3.0", major,
                 minor);
        return reject_array(s, why, problem);
    }
    BLV_CHECK(blv_npz_stream_read(s, length, major == 1 ? 2 : 4, why));
    uint32_t size = zip_get32(length);
    if (size > NPY_TEXT_MAX || size > s->entry->size - s->produced) {
        snprintf(problem, sizeof problem,
                 "a header of %" PRIu32 " bytes; expected at most %d, and no more than the entry",
                 size, NPY_TEXT_MAX);
        return reject_array(s, why, problem);
    }
    *text_size = size;
    return BLV_OK;
}

static blv_error read_header(blv_npz_stream *s, bool texts, blv_npy_header *header,
                             blv_message *why) {
    size_t size = 0;
    BLV_CHECK(read_preamble(s, &size, why));
    char *text = calloc(size + 1, 1);
    BLV_CHECK(blv_need_memory(text, why));
    blv_message problem;
    blv_error error = blv_npz_stream_read(s, text, size, why);
    if (!error && blv_npy_parse(text, size, texts, header, &problem) != BLV_OK)
        error = reject_array(s, why, problem.text);
    free(text);
    uint64_t left = s->entry->size - s->produced;
    if (error || header->bytes == left)
        return error;
    snprintf(problem.text, sizeof problem.text,
             "the shape needs %" PRIu64 " bytes of elements, there are %" PRIu64, header->bytes,
             left);
    return reject_array(s, why, problem.text);
}

static blv_error fail_unknown(const blv_npz *npz, const char *name, blv_message *why) {
    char names[300] = "";
    for (size_t i = 0; i < npz->count; i++)
        blv_list_name(names, sizeof names, npz->entries[i].name);
    return blv_explain(why, BLV_E_NAME, "%s: no array " BLV_SHOWN_NAME "; there is %s",
                       blv_shown_path(npz->path), name, npz->count ? names : "none");
}

/* Opens an array, of texts or of numbers, and reads its header. After BLV_OK the stream stands at
 * the elements and has to be closed. */
static blv_error open_array(blv_npz_stream *s, const blv_npz *npz, const char *name, bool texts,
                            blv_npy_header *header, blv_message *why) {
    const blv_npz_entry *entry = blv_npz_find(npz, name);
    if (!entry)
        return fail_unknown(npz, name, why);
    memset(s, 0, offsetof(blv_npz_stream, input));
    *header = (blv_npy_header){0};
    s->npz = npz;
    s->entry = entry;
    BLV_CHECK(blv_npz_stream_open(s, why));
    blv_error error = read_header(s, texts, header, why);
    if (error)
        blv_npz_stream_close(s);
    return error;
}

/* ---- Conversion ---- */

static void swap_items(unsigned char *bytes, size_t count, size_t item_size) {
    for (size_t i = 0; i < count; i++, bytes += item_size)
        for (size_t a = 0, b = item_size - 1; a < b; a++, b--) {
            unsigned char kept = bytes[a];
            bytes[a] = bytes[b];
            bytes[b] = kept;
        }
}

/* The elements lie packed at the end of `out`, from `raw` on, and are widened in place, front to
 * back: element i ends up before the place of any element that is yet to be read. */
static void widen(double *out, unsigned char *raw, const blv_npy_header *h) {
    if (h->big_endian != blv_host_is_big_endian())
        swap_items(raw, h->count, h->item_size);
#define WIDEN(letter, type)                                                                        \
    if (h->kind == (letter) && h->item_size == sizeof(type))                                       \
        for (size_t i = 0; i < h->count; i++) {                                                    \
            type value;                                                                            \
            memcpy(&value, raw + i * sizeof value, sizeof value);                                  \
            out[i] = (double)value;                                                                \
        }
    WIDEN('f', float)
    WIDEN('i', int8_t)
    WIDEN('i', int16_t)
    WIDEN('i', int32_t)
    WIDEN('i', int64_t)
    WIDEN('u', uint8_t)
    WIDEN('u', uint16_t)
    WIDEN('u', uint32_t)
    WIDEN('u', uint64_t)
#undef WIDEN
    for (size_t i = 0; h->kind == 'b' && i < h->count; i++)
        out[i] = raw[i] != 0;
}

static unsigned char *packed_in(double *values, const blv_npy_header *h) {
    return (unsigned char *)values + h->count * (sizeof *values - h->item_size);
}

/* Walks the C order of dst; `from` is where that element is in the Fortran order of src. */
static void fortran_to_c(const blv_npy_header *h, const double *src, double *dst) {
    size_t index[BLV_ARRAY_MAX_DIMS] = {0}, stride[BLV_ARRAY_MAX_DIMS];
    size_t from = 0, step = 1;
    for (size_t d = 0; d < h->ndim; d++) {
        stride[d] = step;
        step *= h->shape[d];
    }
    for (size_t i = 0; i < h->count; i++) {
        dst[i] = src[from];
        for (size_t d = h->ndim; d-- > 0;) {
            from += stride[d];
            if (++index[d] < h->shape[d])
                break;
            from -= stride[d] * h->shape[d];
            index[d] = 0;
        }
    }
}

/* An archive of a few bytes may hold arrays of any size. */
static blv_error expect_memory(const blv_npz_stream *s, uint64_t count, uint64_t size,
                               blv_message *why) {
    return blv_expect_memory(&s->npz->limit, count, size, blv_shown_path(s->npz->path),
                             s->entry->name, why);
}

/* ---- Numbers ---- */

static blv_error allocate(size_t count, double **values, blv_message *why) {
    *values = malloc((count > 0 ? count : 1) * sizeof **values);
    return *values ? BLV_OK
                   : blv_explain(why, BLV_E_MEMORY, "out of memory for %zu elements", count);
}

/* On success *data is the caller's. */
static blv_error read_elements(blv_npz_stream *s, const blv_npy_header *h, double **data,
                               blv_message *why) {
    BLV_CHECK(expect_memory(s, h->count, sizeof(double), why));
    double *values;
    BLV_CHECK(allocate(h->count, &values, why));
    unsigned char *raw = packed_in(values, h);
    blv_error error = blv_npz_stream_read_last(s, raw, (size_t)h->bytes, why);
    if (error) {
        free(values);
        return error;
    }
    widen(values, raw, h);

    if (h->fortran_order && h->ndim > 1 && h->count > 0) {
        double *ordered;
        error = allocate(h->count, &ordered, why);
        if (!error)
            fortran_to_c(h, values, ordered);
        free(values);
        values = ordered;
    }
    *data = values;
    return error;
}

/* data NULL: the description only. */
static blv_error read_array(const blv_npz *npz, const char *name, double **data, blv_array *info,
                            blv_message *why) {
    blv_npz_stream stream;
    blv_npy_header h = {0};
    BLV_CHECK(open_array(&stream, npz, name, false, &h, why));
    blv_error error = data ? read_elements(&stream, &h, data, why) : BLV_OK;
    blv_npz_stream_close(&stream);
    if (!error && info) {
        *info = (blv_array){.name = stream.entry->name,
                            .kind = h.kind,
                            .item_size = h.item_size,
                            .ndim = h.ndim,
                            .count = h.count};
        memcpy(info->shape, h.shape, sizeof h.shape);
    }
    return error;
}

blv_error blv_npz_info(blv_npz *npz, const char *name, blv_array *info, blv_message *why) {
    BLV_CHECK(blv_need_arguments(npz && name && info, __func__, why));
    return read_array(npz, name, NULL, info, why);
}

blv_error blv_npz_read_f64(blv_npz *npz, const char *name, double **data, blv_array *info,
                           blv_message *why) {
    if (data)
        *data = NULL;
    BLV_CHECK(blv_need_arguments(npz && name && data, __func__, why));
    return read_array(npz, name, data, info, why);
}

blv_error blv_npz_locate(const blv_npz *npz, const char *name, blv_npz_place *place,
                         blv_message *why) {
    blv_npz_stream stream;
    BLV_CHECK(open_array(&stream, npz, name, false, &place->header, why));
    place->at = stream.deflated ? 0 : stream.data_at + stream.consumed;
    blv_npz_stream_close(&stream);
    return BLV_OK;
}

blv_error blv_npz_read_rows(const blv_npz *npz, const blv_npz_place *place, size_t first,
                            size_t count, double **data, uLong *crc, blv_message *why) {
    blv_npy_header part = place->header;
    const size_t columns = part.count / part.shape[0];
    part.count = count * columns;
    part.bytes = part.count * part.item_size;
    double *values;
    BLV_CHECK(allocate(part.count, &values, why));
    unsigned char *raw = packed_in(values, &part);
    blv_error error = blv_npz_pread(npz, place->at + (uint64_t)first * columns * part.item_size,
                                    raw, (size_t)part.bytes, why);
    if (error) {
        free(values);
        return error;
    }
    *crc = crc32_z(0, raw, (size_t)part.bytes);
    widen(values, raw, &part);
    *data = values;
    return BLV_OK;
}

/* ---- Texts ---- */

/* Pointers first, then the strings, each with its zero byte. */
static blv_error read_strings(blv_npz_stream *s, const blv_npy_header *h, char ***names,
                              blv_message *why) {
    const size_t item = h->item_size, each = sizeof(char *) + item + 1;
    if (h->kind != 'S' || h->ndim != 1 || h->fortran_order)
        return reject_array(s, why, "expected names as bytes (dtype S) in one dimension");
    BLV_CHECK(expect_memory(s, h->count, each, why));
    char **block = h->count < SIZE_MAX / each ? calloc(h->count ? h->count : 1, each) : NULL;
    if (!block)
        return blv_explain(why, BLV_E_MEMORY, "out of memory for %zu names", h->count);
    char *packed = (char *)(block + h->count) + h->count;
    blv_error error = blv_npz_stream_read_last(s, packed, (size_t)h->bytes, why);
    for (size_t i = 0; !error && i < h->count; i++) {
        block[i] = (char *)(block + h->count) + i * (item + 1);
        memmove(block[i], packed + i * item, item);
        block[i][item] = '\0';
    }
    if (error)
        free(block);
    else
        *names = block;
    return error;
}

blv_error blv_npz_read_names(blv_npz *npz, const char *name, char ***names, size_t *count,
                             blv_message *why) {
    BLV_CHECK(blv_need_arguments(npz && name && names && count, __func__, why));
    *names = NULL;
    blv_npz_stream stream;
    blv_npy_header header;
    BLV_CHECK(open_array(&stream, npz, name, true, &header, why));
    blv_error error = read_strings(&stream, &header, names, why);
    blv_npz_stream_close(&stream);
    *count = header.count;
    return error;
}

/* The bytes without the zero ones. On success *text is the caller's. */
static blv_error read_characters(blv_npz_stream *s, const blv_npy_header *h, char **text,
                                 blv_message *why) {
    if (h->bytes > BLV_NPZ_TEXT_MAX)
        return reject_array(s, why, "longer than a text may be");
    char *bytes = malloc((size_t)h->bytes + 1);
    BLV_CHECK(blv_need_memory(bytes, why));
    blv_error error = blv_npz_stream_read_last(s, bytes, (size_t)h->bytes, why);
    if (error) {
        free(bytes);
        return error;
    }
    size_t kept = 0;
    for (size_t i = 0; i < h->bytes; i++)
        if (bytes[i] != 0)
            bytes[kept++] = bytes[i];
    bytes[kept] = '\0';
    *text = bytes;
    return BLV_OK;
}

blv_error blv_npz_read_text(blv_npz *npz, const char *name, char **text, blv_message *why) {
    if (text)
        *text = NULL;
    BLV_CHECK(blv_need_arguments(npz && name && text, __func__, why));
    blv_npz_stream stream;
    blv_npy_header header;
    BLV_CHECK(open_array(&stream, npz, name, true, &header, why));
    blv_error error = read_characters(&stream, &header, text, why);
    blv_npz_stream_close(&stream);
    return error;
}
