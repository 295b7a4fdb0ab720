/* Puts together NumPy files from the descriptions of the two formats, without the library's writer,
 * and keeps the files of a test in a folder of their own. */
#ifndef NPZ_HELPERS_H
#define NPZ_HELPERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bilevel/npz.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define ZLIB_CONST /* input of zlib may be const */
#include <zlib.h>

/* ---- Files ---- */

static char folder[64];

static inline int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/blv-npz-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

/* How many files there are; their names are removed too if asked. */
static inline size_t folder_entries(int remove_them) {
    size_t n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        n++;
        if (remove_them) {
            char path[512];
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
            unlink(path);
        }
    }
    closedir(dir);
    return n;
}

static inline int remove_folder(void **state) {
    (void)state;
    folder_entries(1);
    return rmdir(folder);
}

/* A path in the folder, valid until the next call. */
static inline const char *in_folder(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Overwrites in place: thousands of files that are emptied and filled again are slow on disk. */
static inline const char *put_file(const char *name, const void *bytes, size_t n) {
    const char *path = in_folder(name);
    int fd = open(path, O_WRONLY | O_CREAT, 0666);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    assert_int_equal(ftruncate(fd, (off_t)n), 0);
    assert_int_equal(close(fd), 0);
    return path;
}

static inline size_t get_file(const char *path, unsigned char *bytes, size_t capacity) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, capacity, f);
    fclose(f);
    return n;
}

/* ---- Archives ---- */

typedef struct bytes {
    unsigned char data[16384];
    size_t size;
} bytes;

static inline void append(bytes *b, const void *data, size_t n) {
    assert_true(b->size + n <= sizeof b->data);
    if (n > 0)
        memcpy(b->data + b->size, data, n);
    b->size += n;
}

/* A little-endian number of `width` bytes. */
static inline void number(bytes *b, uint64_t value, int width) {
    for (int i = 0; i < width; i++) {
        unsigned char byte = (unsigned char)(value >> 8 * i & 0xff);
        append(b, &byte, 1);
    }
}

/* An array file: the dictionary as given, a newline, and the elements. */
static inline void make_npy(bytes *b, int version, const char *dictionary, const void *elements,
                            size_t n) {
    b->size = 0;
    append(b, "\x93NUMPY", 6);
    number(b, (uint64_t)version, 2);
    number(b, strlen(dictionary) + 1, version == 1 ? 2 : 4);
    append(b, dictionary, strlen(dictionary));
    append(b, "\n", 1);
    append(b, elements, n);
}

typedef struct entry {
    const char *name;
    unsigned method, flags;
    const void *packed;
    uint64_t packed_size, size; /* as the headers say */
    uint32_t crc;
    size_t really; /* bytes of packed that are put into the file */
} entry;

/* An entry that stores the content as it is; tests change what they want to be wrong. */
static inline entry stored(const char *name, const bytes *content) {
    return (entry){.name = name,
                   .packed = content->data,
                   .packed_size = content->size,
                   .size = content->size,
                   .crc = (uint32_t)crc32_z(0, content->data, content->size),
                   .really = content->size};
}

static inline entry deflated(const char *name, const bytes *content, bytes *packed) {
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = content->data;
    z.avail_in = (uInt)content->size;
    z.next_out = packed->data;
    z.avail_out = sizeof packed->data;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    packed->size = z.total_out;
    deflateEnd(&z);
    entry e = stored(name, content);
    e.method = 8;
    e.packed = packed->data;
    e.packed_size = e.really = packed->size;
    return e;
}

static inline void entry_fields(bytes *b, const entry *e) {
    number(b, e->flags, 2);
    number(b, e->method, 2);
    number(b, 0, 4); /* time and date */
    number(b, e->crc, 4);
    number(b, e->packed_size, 4);
    number(b, e->size, 4);
    number(b, strlen(e->name), 2);
}

static inline void make_archive(bytes *b, const entry *entries, size_t count) {
    size_t at[16];
    assert_true(count <= 16);
    b->size = 0;
    for (size_t i = 0; i < count; i++) {
        at[i] = b->size;
        append(b, "PK\3\4", 4);
        number(b, 20, 2);
        entry_fields(b, &entries[i]);
        number(b, 0, 2); /* extra field */
        append(b, entries[i].name, strlen(entries[i].name));
        append(b, entries[i].packed, entries[i].really);
    }
    size_t directory = b->size;
    for (size_t i = 0; i < count; i++) {
        append(b, "PK\1\2", 4);
        number(b, 20, 2);
        number(b, 20, 2);
        entry_fields(b, &entries[i]);
        number(b, 0, 2 + 2 + 2 + 2); /* extra field, comment, disk, internal attributes */
        number(b, 0, 4);             /* external attributes */
        number(b, at[i], 4);
        append(b, entries[i].name, strlen(entries[i].name));
    }
    size_t directory_size = b->size - directory;
    append(b, "PK\5\6", 4);
    number(b, 0, 4);
    number(b, count, 2);
    number(b, count, 2);
    number(b, directory_size, 4);
    number(b, directory, 4);
    number(b, 0, 2);
}

/* ---- Reading ---- */

/* Opens the file and reads every array; frees everything. The first error, or BLV_OK. */
static inline blv_error read_all(const char *path, blv_message *why) {
    blv_npz *npz;
    blv_error error = blv_npz_open(&npz, path, why);
    if (error) {
        assert_null(npz);
        return error;
    }
    for (size_t i = 0; i < blv_npz_count(npz); i++) {
        double *data;
        blv_array info;
        blv_error one = blv_npz_info(npz, blv_npz_name(npz, i), &info, error ? NULL : why);
        if (!error)
            error = one;
        one = blv_npz_read_f64(npz, blv_npz_name(npz, i), &data, &info, error ? NULL : why);
        if (!error)
            error = one;
        assert_true((data != NULL) == (one == BLV_OK));
        free(data);
    }
    blv_npz_close(npz);
    return error;
}

#endif
