/* Reads arrays from NumPy files: the header, the elements, and their conversion to doubles. */
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

static blv_error read_header(blv_npz_stream *s, blv_npy_header *header, blv_message *why) {
    size_t size = 0;
    BLV_CHECK(read_preamble(s, &size, why));
    char *text = malloc(size + 1);
    if (!text)
        return blv_explain_memory(why);
    blv_message problem;
    blv_error error = blv_npz_stream_read(s, text, size, why);
    if (!error) {
        error = blv_npy_parse(text, size, header, &problem);
        if (error)
            error = reject_array(s, why, problem.text);
    }
    free(text);
    if (error)
        return error;
    uint64_t left = s->entry->size - s->produced;
    if (header->bytes != left) {
        snprintf(problem.text, sizeof problem.text,
                 "the shape needs %" PRIu64 " bytes of elements, there are %" PRIu64, header->bytes,
                 left);
        return reject_array(s, why, problem.text);
    }
    return BLV_OK;
}

static void describe(const blv_npz_entry *entry, const blv_npy_header *h, blv_array *info) {
    *info = (blv_array){.name = entry->name,
                        .kind = h->kind,
                        .item_size = h->item_size,
                        .ndim = h->ndim,
                        .count = h->count};
    memcpy(info->shape, h->shape, sizeof h->shape);
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
#define WIDEN(type)                                                                                \
    static void widen_##type(double *out, const unsigned char *raw, size_t count) {                \
        for (size_t i = 0; i < count; i++) {                                                       \
            type value;                                                                            \
            memcpy(&value, raw + i * sizeof value, sizeof value);                                  \
            out[i] = (double)value;                                                                \
        }                                                                                          \
    }
WIDEN(float)
WIDEN(int8_t)
WIDEN(int16_t)
WIDEN(int32_t)
WIDEN(int64_t)
WIDEN(uint8_t)
WIDEN(uint16_t)
WIDEN(uint32_t)
WIDEN(uint64_t)
#undef WIDEN

static void widen_bool(double *out, const unsigned char *raw, size_t count) {
    for (size_t i = 0; i < count; i++)
        out[i] = raw[i] != 0;
}

static void keep_double(double *out, const unsigned char *raw, size_t count) {
    (void)out;
    (void)raw;
    (void)count;
}

typedef void widen_fn(double *out, const unsigned char *raw, size_t count);

static widen_fn *find_widen(char kind, size_t item_size) {
    static const struct {
        char kind;
        size_t item_size;
        widen_fn *widen;
    } table[] = {
        {'f', 4, widen_float},    {'f', 8, keep_double},    {'b', 1, widen_bool},
        {'i', 1, widen_int8_t},   {'i', 2, widen_int16_t},  {'i', 4, widen_int32_t},
        {'i', 8, widen_int64_t},  {'u', 1, widen_uint8_t},  {'u', 2, widen_uint16_t},
        {'u', 4, widen_uint32_t}, {'u', 8, widen_uint64_t},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].kind == kind && table[i].item_size == item_size)
            return table[i].widen;
    return NULL;
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

/* ---- Reading ---- */

/* On success *data is the caller's. */
static blv_error read_elements(blv_npz_stream *s, const blv_npy_header *h, double **data,
                               blv_message *why) {
    widen_fn *widen = find_widen(h->kind, h->item_size);
    if (!widen)
        return reject_array(s, why, "the dtype cannot be read");
    double *values = malloc((h->count ? h->count : 1) * sizeof *values);
    if (!values)
        return blv_explain(why, BLV_E_MEMORY, "out of memory for %zu elements", h->count);
    unsigned char *raw = (unsigned char *)values + h->count * (sizeof *values - h->item_size);
    blv_error error = blv_npz_stream_read(s, raw, (size_t)h->bytes, why);
    if (!error)
        error = blv_npz_stream_finish(s, why);
    if (error) {
        free(values);
        return error;
    }
    if (h->big_endian != blv_host_is_big_endian())
        swap_items(raw, h->count, h->item_size);
    widen(values, raw, h->count);

    if (h->fortran_order && h->ndim > 1 && h->count > 0) {
        double *ordered = malloc(h->count * sizeof *ordered);
        if (ordered)
            fortran_to_c(h, values, ordered);
        else
            error = blv_explain(why, BLV_E_MEMORY, "out of memory for %zu elements", h->count);
        free(values);
        values = ordered;
    }
    *data = values;
    return error;
}

static blv_error fail_unknown(const blv_npz *npz, const char *name, blv_message *why) {
    char names[300] = "";
    size_t used = 0;
    for (size_t i = 0; i < npz->count; i++) {
        int n = snprintf(names + used, sizeof names - used, "%s'%s'", i ? ", " : "",
                         npz->entries[i].name);
        if (n < 0 || (size_t)n >= sizeof names - used) {
            memcpy(names + sizeof names - 4, "...", 4);
            break;
        }
        used += (size_t)n;
    }
    return blv_explain(why, BLV_E_NAME, "%s: no array " BLV_SHOWN_NAME "; there is %s",
                       blv_shown_path(npz->path), name, npz->count ? names : "none");
}

/* Both public calls: data NULL asks for the description only. */
static blv_error read_array(const blv_npz *npz, const char *name, double **data, blv_array *info,
                            blv_message *why) {
    const blv_npz_entry *entry = blv_npz_find(npz, name);
    if (!entry)
        return fail_unknown(npz, name, why);
    blv_npz_stream stream;
    blv_npy_header header = {0};
    BLV_CHECK(blv_npz_stream_open(&stream, npz, entry, why));
    blv_error error = read_header(&stream, &header, why);
    if (!error && data)
        error = read_elements(&stream, &header, data, why);
    blv_npz_stream_close(&stream);
    if (!error && info)
        describe(entry, &header, info);
    return error;
}

blv_error blv_npz_info(blv_npz *npz, const char *name, blv_array *info, blv_message *why) {
    if (!npz || !name || !info)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_npz_info: an argument is NULL");
    return read_array(npz, name, NULL, info, why);
}

blv_error blv_npz_read_f64(blv_npz *npz, const char *name, double **data, blv_array *info,
                           blv_message *why) {
    if (data)
        *data = NULL;
    if (!npz || !name || !data)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_npz_read_f64: a required argument is NULL");
    return read_array(npz, name, data, info, why);
}

blv_error blv_npz_locate(const blv_npz *npz, const char *name, blv_npz_place *place,
                         blv_message *why) {
    const blv_npz_entry *entry = blv_npz_find(npz, name);
    if (!entry)
        return fail_unknown(npz, name, why);
    blv_npz_stream stream;
    BLV_CHECK(blv_npz_stream_open(&stream, npz, entry, why));
    blv_error error = read_header(&stream, &place->header, why);
    place->at = stream.deflated ? 0 : stream.data_at + stream.consumed;
    blv_npz_stream_close(&stream);
    return error;
}

/* The bytes of a text array without the zero ones. On success *text is the caller's. */
static blv_error read_characters(blv_npz_stream *s, size_t most, char **text, blv_message *why) {
    size_t header_size = 0, kept = 0;
    BLV_CHECK(read_preamble(s, &header_size, why));
    uint64_t left = s->entry->size - s->produced;
    if (left - header_size > most)
        return reject_array(s, why, "longer than a text may be");
    char *bytes = malloc((size_t)left + 1);
    if (!bytes)
        return blv_explain_memory(why);
    blv_error error = blv_npz_stream_read(s, bytes, (size_t)left, why);
    if (!error)
        error = blv_npz_stream_finish(s, why);
    if (error) {
        free(bytes);
        return error;
    }
    for (size_t i = header_size; i < left; i++)
        if (bytes[i] != 0)
            bytes[kept++] = bytes[i];
    bytes[kept] = '\0';
    *text = bytes;
    return BLV_OK;
}

static blv_error read_text(const blv_npz *npz, const char *name, size_t most, char **text,
                           blv_message *why) {
    const blv_npz_entry *entry = blv_npz_find(npz, name);
    if (!entry)
        return fail_unknown(npz, name, why);
    blv_npz_stream stream;
    BLV_CHECK(blv_npz_stream_open(&stream, npz, entry, why));
    blv_error error = read_characters(&stream, most, text, why);
    blv_npz_stream_close(&stream);
    return error;
}

blv_error blv_npz_read_text(blv_npz *npz, const char *name, char **text, blv_message *why) {
    if (text)
        *text = NULL;
    if (!npz || !name || !text)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_npz_read_text: an argument is NULL");
    return read_text(npz, name, BLV_NPZ_TEXT_MAX, text, why);
}

blv_error blv_npz_read_word(const blv_npz *npz, const char *name, char word[BLV_NPZ_WORD],
                            blv_message *why) {
    char *text = NULL;
    blv_error error = read_text(npz, name, (size_t)4 * BLV_NPZ_WORD - 1, &text, why);
    if (!error)
        snprintf(word, BLV_NPZ_WORD, "%s", text);
    free(text);
    return error;
}
