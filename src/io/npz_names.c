/* Names in NumPy files: arrays of bytes (dtype S), each padded with zero bytes to the longest. */
#include "io/npz_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES_MAX = 1 << 16 };

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
    blv_error error = blv_npz_add_texts(writer, name, 1, &count, longest, texts, why);
    free(texts);
    return error;
}

static blv_error reject(const blv_npz *npz, const char *name, blv_message *why) {
    return blv_explain(why, BLV_E_FORMAT,
                       "%s: array " BLV_SHOWN_NAME ": expected names as bytes (dtype S) in one "
                       "dimension",
                       blv_shown_path(npz->path), name);
}

/* The header of format 1.0, as NumPy and blv_npz_add_names write it for such an array. */
static blv_error read_shape(blv_npz_stream *s, const char *name, size_t *item, size_t *count,
                            blv_message *why) {
    unsigned char start[NPY_MAGIC_SIZE + 4];
    char text[NPY_WRITTEN_MAX] = "";
    BLV_CHECK(blv_npz_stream_read(s, start, sizeof start, why));
    size_t size = zip_get16(start + NPY_MAGIC_SIZE + 2);
    if (memcmp(start, blv_npy_magic, NPY_MAGIC_SIZE) != 0 || start[NPY_MAGIC_SIZE] != 1 ||
        size >= sizeof text)
        return reject(s->npz, name, why);
    BLV_CHECK(blv_npz_stream_read(s, text, size, why));
    const char *descr = strstr(text, "'descr': "), *shape = strstr(text, "'shape': (");
    int used = 0;
    bool known = descr && shape && !strstr(text, "True") &&
                 sscanf(descr, "'descr': '%*[<>|=]S%6zu'", item) == 1 &&
                 sscanf(shape, "'shape': (%18zu,)%n", count, &used) == 1 && used > 0;
    uint64_t left = s->entry->size - s->produced;
    if (!known || *item == 0 || *item > NAME_BYTES_MAX || left / *item != *count ||
        left % *item != 0)
        return reject(s->npz, name, why);
    return BLV_OK;
}

/* Pointers first, then the strings, each with its zero byte. */
static blv_error read_strings(blv_npz_stream *s, size_t item, size_t count, char ***names,
                              blv_message *why) {
    size_t each = sizeof(char *) + item + 1;
    char **block = count < SIZE_MAX / each ? calloc(count > 0 ? count : 1, each) : NULL;
    if (!block)
        return blv_explain(why, BLV_E_MEMORY, "out of memory for %zu names", count);
    blv_error error = BLV_OK;
    for (size_t i = 0; !error && i < count; i++) {
        block[i] = (char *)(block + count) + i * (item + 1);
        error = blv_npz_stream_read(s, block[i], item, why);
    }
    if (!error)
        error = blv_npz_stream_finish(s, why);
    if (error)
        free(block);
    else
        *names = block;
    return error;
}

blv_error blv_npz_read_names(blv_npz *npz, const char *name, char ***names, size_t *count,
                             blv_message *why) {
    if (!npz || !name || !names || !count)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_npz_read_names: an argument is NULL");
    *names = NULL;
    const blv_npz_entry *entry = blv_npz_find(npz, name);
    if (!entry)
        return blv_explain(why, BLV_E_NAME, "%s: no array " BLV_SHOWN_NAME,
                           blv_shown_path(npz->path), name);
    blv_npz_stream stream;
    size_t item = 0;
    BLV_CHECK(blv_npz_stream_open(&stream, npz, entry, why));
    blv_error error = read_shape(&stream, name, &item, count, why);
    if (!error)
        error = read_strings(&stream, item, *count, names, why);
    blv_npz_stream_close(&stream);
    return error;
}
