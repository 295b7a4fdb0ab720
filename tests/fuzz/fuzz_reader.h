/* What the fuzz targets share: the bytes become a file in memory, and a reader gets its path. The
 * last byte chooses the options. */
#ifndef FUZZ_READER_H
#define FUZZ_READER_H

#include "data/reading.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Messages of the command go nowhere; those of the fuzzer are written past the stream. */
static inline void fuzz_silence(void) {
    static FILE *nowhere;
    if (!nowhere)
        nowhere = fopen("/dev/null", "w");
    if (nowhere)
        stderr = nowhere;
}

/* A file in memory, filled anew for each input. */
typedef struct memory_file {
    int fd;
    char path[64];
} memory_file;

static inline void put_memory_file(memory_file *file, const uint8_t *data, size_t size) {
    if (!file->path[0]) {
        file->fd = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(file->path, sizeof file->path, "/proc/self/fd/%d", file->fd);
    }
    if (file->fd < 0 || ftruncate(file->fd, 0) != 0 ||
        pwrite(file->fd, data, size, 0) != (ssize_t)size)
        abort();
}

static inline void hear(void *unused, const char *line) {
    (void)unused;
    if (strchr(line, '\n'))
        abort();
}

static inline int swallow(void *unused, const void *bytes, size_t count) {
    (void)unused, (void)bytes, (void)count;
    return 0;
}

/* What else is done with a set that was read: kinds, warnings, its rows as they are in the file,
 * fills and levels learned again from the first half of the rows, and tables made dense. */
static inline void use(const blv_dataset *set) {
    const char *const name = "fuzz";
    char kinds[60];
    const size_t rows = (blv_dataset_view_of(set)->rows + 1) / 2;
    size_t *index = calloc(rows, sizeof *index);
    blv_dataset *half = NULL, *copy = NULL;
    for (size_t i = 0; index && i < rows; i++)
        index[i] = i;
    blv_dataset_kinds(set, kinds, sizeof kinds, NULL);
    blv_dataset_warn(&set, &name, 1, hear, NULL, NULL);
    if (blv_dataset_view_of(set)->has_texts)
        blv_dataset_write_to(set, name, "source", swallow, NULL, NULL);
    if (index && blv_dataset_select(set, index, rows, &half, NULL) == BLV_OK &&
        blv_dataset_copy(set, &copy, NULL) == BLV_OK) {
        blv_dataset *both[] = {half, copy};
        bool mixed;
        if (blv_dataset_relearn(both, 2, NULL) == BLV_OK &&
            blv_dataset_learn_fills(half, NULL) == BLV_OK &&
            blv_dataset_centre_table(both, 2, false, &mixed, NULL) == BLV_OK &&
            blv_dataset_finish(copy, name, NULL) != BLV_OK)
            abort();
    }
    blv_dataset_release(half);
    blv_dataset_release(copy);
    free(index);
}

/* Reads the file; what comes out is a sound set or an error with a message. */
static inline void read_and_check(const memory_file *file, blv_format format,
                                  const blv_read_options *options) {
    blv_dataset *set;
    blv_message why = {""};
    blv_error error = blv_dataset_read_as(&set, format, file->path, options, &why);
    if ((error == BLV_OK) != (set != NULL) || (error != BLV_OK) != (why.text[0] != '\0'))
        abort();
    if (set && blv_dataset_finish(set, file->path, &why) != BLV_OK)
        abort();
    blv_dataset_fingerprint(set);
    if (set)
        use(set);
    blv_dataset_release(set);
}

static inline blv_read_options options_from(uint8_t choice) {
    return (blv_read_options){
        .size = sizeof(blv_read_options),
        .precision = choice & 1 ? BLV_F32 : BLV_F64,
        .layout = choice & 2 ? BLV_LAYOUT_SPARSE : BLV_LAYOUT_AUTO,
        .real_targets = (choice & 4) != 0,
        .max_classes = choice & 8 ? 3 : 0,
    };
}

#endif
