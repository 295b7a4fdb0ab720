/* The bytes of a file, plain, gzip or zstd.
 *
 * Bytes are made in big pieces: read for a plain file, unpacked otherwise, straight to where they
 * are wanted. One buffer holds what was made and not yet taken; text is handed out inside it.
 * Memory grows with the bytes that were made, never with what a file promises. */
#include "io/input.h"

#include "base/message.h"
#include "io/read_ahead.h"
#include "io/unpack.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LARGE_PACKED = 1 << 18, TEXT_SIZE = 1 << 16, LIKELY_PER_BYTE = 16 };

struct blv_input {
    int fd;
    char *path;
    uint64_t size;  /* of the file */
    uint64_t taken; /* of the file */
    uint64_t given; /* of the content, by blv_input_read */

    bool ended; /* no more content */

    bool copied; /* from a stream: it cannot be opened by its path */
    blv_packing packing;
    blv_unpack *unpack; /* NULL: plain */
    blv_ahead *ahead;   /* unpacks; unpack, taken and fd are then its own */
    bool ahead_tried;

    unsigned char *buffer; /* the content from `begin` to `end` is unread */
    size_t capacity, begin, end;
    uint64_t before; /* bytes of the content before the buffer */

    blv_memory_limit limit;
};

uint64_t blv_input_size(const blv_input *input) {
    return input->size;
}

void blv_input_limit(blv_input *input, const blv_memory_limit *limit) {
    input->limit = *limit;
    blv_unpack_limit(input->unpack, limit);
}

const blv_memory_limit *blv_input_limited(const blv_input *input) {
    return &input->limit;
}

const char *blv_input_path(const blv_input *input) {
    return input->path;
}

bool blv_input_is_packed(const blv_input *input) {
    return input->packing != BLV_PACKING_NONE;
}

bool blv_input_is_file(const blv_input *input) {
    return !input->packing && !input->copied;
}

uint64_t blv_input_stamp(const blv_input *input) {
    return blv_file_stamp(input->fd);
}

bool blv_input_map_stream(const blv_input *input, void **map, size_t *bytes) {
    *map = NULL;
    *bytes = (size_t)input->size;
    if (!input->copied || input->size == 0)
        return true;
    void *mapped = mmap(NULL, *bytes, PROT_READ, MAP_PRIVATE, input->fd, 0);
    *map = mapped == MAP_FAILED ? NULL : mapped;
    return *map != NULL;
}

uint64_t blv_input_position(const blv_input *input) {
    return input->given;
}

static uint64_t unpacked(const blv_input *input, uint64_t per_byte) {
    if (!input->packing)
        return input->size;
    return input->size > UINT64_MAX / per_byte ? UINT64_MAX : input->size * per_byte;
}

uint64_t blv_input_most(const blv_input *input) {
    return unpacked(input, blv_packing_most(input->packing));
}

uint64_t blv_input_likely(const blv_input *input) {
    return unpacked(input, LIKELY_PER_BYTE);
}

/* ---- Making bytes ---- */

static blv_error reject_cut(const blv_input *input, blv_message *why) {
    return blv_explain(why, BLV_E_FORMAT,
                       "%s: byte %" PRIu64 ": the file ends here, and had %" PRIu64
                       " bytes when it was opened; it was changed while it was read",
                       blv_shown_path(input->path), input->taken, input->size);
}

/* A blv_make_fn; context: the blv_input. The file as long as it was when it was opened; what is
 * added later is not looked at. */
static blv_error read_file(void *context, void *out, size_t n, size_t *got, blv_message *why) {
    blv_input *input = context;
    const size_t most = (size_t)1 << 30; /* the system may reject to read more at a time */
    *got = 0;
    while (*got < n && input->taken < input->size) {
        size_t part = n - *got < most ? n - *got : most;
        if (part > input->size - input->taken)
            part = (size_t)(input->size - input->taken);
        ssize_t r = read(input->fd, (unsigned char *)out + *got, part);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return blv_explain_errno(why, input->path, "read");
        if (r == 0)
            return reject_cut(input, why);
        *got += (size_t)r;
        input->taken += (uint64_t)r;
    }
    return BLV_OK;
}

/* Large files are unpacked by a thread, so that loading takes no longer than unpacking. */
static blv_error unpack(blv_input *input, void *out, size_t n, size_t *got, blv_message *why) {
    if (!input->ahead_tried && input->size > LARGE_PACKED)
        input->ahead = blv_ahead_start(blv_unpack_make, input->unpack);
    input->ahead_tried = true;
    return input->ahead ? blv_ahead_take(input->ahead, out, n, got, why)
                        : blv_unpack_make(input->unpack, out, n, got, why);
}

/* Content past what is in the buffer. *got < n: the end. */
static blv_error make(blv_input *input, void *out, size_t n, size_t *got, blv_message *why) {
    *got = 0;
    if (input->ended || n == 0)
        return BLV_OK;
    blv_error error =
        input->unpack ? unpack(input, out, n, got, why) : read_file(input, out, n, got, why);
    if (*got < n)
        input->ended = true;
    return error;
}

/* ---- Opening and closing ---- */

/* From the descriptor, at its beginning. */
static blv_error start(blv_input *input, blv_message *why) {
    unsigned char first[BLV_PACKING_BYTES] = {0};
    ssize_t n = pread(input->fd, first, sizeof first, 0);
    if (n < 0)
        return blv_explain_errno(why, input->path, "read");
    input->packing = blv_packing_of(first, (size_t)n);
    if (!input->packing)
        return BLV_OK;
    input->unpack = blv_unpack_open(input->packing, read_file, input, input->path);
    blv_unpack_limit(input->unpack, &input->limit);
    return input->unpack ? BLV_OK : blv_explain_memory(why);
}

blv_error blv_input_open(blv_input **input, const char *path, blv_message *why) {
    *input = NULL;
    blv_input *opened = calloc(1, sizeof *opened);
    BLV_CHECK(blv_need_memory(opened, why));
    opened->fd = -1;
    opened->path = strdup(path);
    blv_error error = opened->path ? BLV_OK : blv_explain_memory(why);
    if (!error)
        error = blv_open_input(path, &opened->fd, &opened->size, &opened->copied, why);
    opened->limit.file_bytes = opened->size;
    if (!error)
        error = start(opened, why);
    if (error)
        blv_input_close(opened);
    else
        *input = opened;
    return error;
}

static void stop(blv_input *input) {
    blv_ahead_stop(input->ahead);
    blv_unpack_close(input->unpack);
    free(input->buffer);
}

blv_error blv_input_rewind(blv_input *input, blv_message *why) {
    BLV_CHECK(blv_input_take_bytes(input, 0, input->size, why));
    return start(input, why);
}

/* Where the first line begins from `at` on: behind a newline at `at` - 1 or later. */
static blv_error find_line(const blv_input *input, uint64_t at, uint64_t *found, blv_message *why) {
    char bytes[4096];
    *found = at;
    while (at > 0 && at < input->size) {
        ssize_t n = pread(input->fd, bytes, sizeof bytes, (off_t)(at - 1));
        if (n <= 0)
            return blv_explain_errno(why, input->path, "read");
        const char *newline = memchr(bytes, '\n', (size_t)n);
        *found = newline ? at + (uint64_t)(newline - bytes) : at - 1 + (uint64_t)n;
        if (newline)
            break;
        at = *found + 1;
    }
    if (*found > input->size)
        *found = input->size;
    return BLV_OK;
}

blv_error blv_input_take_part(blv_input *input, size_t part, size_t parts, blv_message *why) {
    const uint64_t share = input->size / parts;
    uint64_t first, end;
    BLV_CHECK(find_line(input, share * part, &first, why));
    BLV_CHECK(find_line(input, part + 1 == parts ? input->size : share * (part + 1), &end, why));
    return blv_input_take_bytes(input, first, end, why);
}

blv_error blv_input_take_bytes(blv_input *input, uint64_t first, uint64_t end, blv_message *why) {
    stop(input);
    *input = (blv_input){.fd = input->fd,
                         .path = input->path,
                         .size = end,
                         .copied = input->copied,
                         .taken = first,
                         .before = first,
                         .limit = input->limit};
    return lseek(input->fd, (off_t)first, SEEK_SET) == (off_t)first
               ? BLV_OK
               : blv_explain_errno(why, input->path, "read");
}

void blv_input_close(blv_input *input) {
    if (!input)
        return;
    stop(input);
    if (input->fd >= 0)
        close(input->fd);
    free(input->path);
    free(input);
}

/* ---- Taking bytes ---- */

static blv_error grow_buffer(blv_input *input, size_t capacity, blv_message *why) {
    if (capacity <= input->capacity)
        return BLV_OK;
    unsigned char *buffer = realloc(input->buffer, capacity);
    BLV_CHECK(blv_need_memory(buffer, why));
    input->buffer = buffer;
    input->capacity = capacity;
    return BLV_OK;
}

static blv_error extend(blv_input *input, size_t n, blv_message *why) {
    size_t got = 0;
    blv_error error = make(input, input->buffer + input->end, n, &got, why);
    input->end += got;
    return error;
}

blv_error blv_input_peek(blv_input *input, const unsigned char **bytes, size_t *count,
                         blv_message *why) {
    *count = 0;
    BLV_CHECK(grow_buffer(input, BLV_INPUT_PEEK, why));
    if (input->end < BLV_INPUT_PEEK)
        BLV_CHECK(extend(input, BLV_INPUT_PEEK - input->end, why));
    *bytes = input->buffer;
    *count = input->end;
    return BLV_OK;
}

blv_error blv_input_read(blv_input *input, void *out, size_t n, size_t *got, blv_message *why) {
    size_t kept = input->end - input->begin;
    size_t part = kept < n ? kept : n;
    if (part > 0)
        memcpy(out, input->buffer + input->begin, part);
    input->begin += part;
    blv_error error = make(input, (unsigned char *)out + part, n - part, got, why);
    *got += part;
    input->given += *got;
    return error;
}

blv_error blv_input_read_all(blv_input *input, unsigned char **bytes, size_t *count,
                             blv_message *why) {
    blv_error error = BLV_OK;
    size_t capacity = 0;
    *bytes = NULL;
    *count = 0;
    while (!error && *count == capacity) {
        capacity = capacity ? 2 * capacity : TEXT_SIZE;
        unsigned char *more = realloc(*bytes, capacity);
        size_t got = 0;
        *bytes = more ? more : *bytes;
        error = more ? blv_input_read(input, more + *count, capacity - *count, &got, why)
                     : blv_explain_memory(why);
        *count += got;
    }
    if (error) {
        free(*bytes);
        *bytes = NULL;
    }
    return error;
}

/* ---- Text ---- */

/* Behind the last newline from `from` on, or NULL. */
static unsigned char *behind_last_newline(blv_input *input, size_t from) {
    for (size_t i = input->end; i > from; i--)
        if (input->buffer[i - 1] == '\n')
            return input->buffer + i;
    return NULL;
}

static void drop_byte_order_mark(blv_input *input) {
    if (input->end - input->begin >= 3 &&
        memcmp(input->buffer + input->begin, "\xef\xbb\xbf", 3) == 0)
        input->begin += 3;
}

/* Moves what is kept to the front and makes sure that as much again fits, and a newline. */
static blv_error make_room(blv_input *input, blv_message *why) {
    size_t kept = input->end - input->begin;
    if (input->begin > 0 && kept > 0)
        memmove(input->buffer, input->buffer + input->begin, kept);
    input->before += input->begin;
    input->begin = 0;
    input->end = kept;
    size_t usual = TEXT_SIZE;
    if (!input->unpack && input->taken + TEXT_SIZE > input->size) /* the rest, and see its end */
        usual = kept + 2 + (size_t)(input->size > input->taken ? input->size - input->taken : 0);
    return grow_buffer(input, usual > 2 * kept + 2 ? usual : 2 * kept + 2, why);
}

uint64_t blv_input_place(const blv_input *input, const char *text) {
    return input->before + (uint64_t)((const unsigned char *)text - input->buffer);
}

blv_error blv_input_lines(blv_input *input, const char *unused, char **begin, char **end,
                          bool *last, blv_message *why) {
    if (unused)
        input->begin = (size_t)((const unsigned char *)unused - input->buffer);
    /* What was handed out before ends with its last newline, so a new one is among new bytes. */
    size_t searched = unused ? input->end - input->begin : 0;
    unsigned char *stop = NULL;
    while (!stop) {
        BLV_CHECK(make_room(input, why));
        BLV_CHECK(extend(input, input->capacity - 1 - input->end, why));
        assert(input->buffer);
        if (!unused)
            drop_byte_order_mark(input);
        if (input->ended) {
            if (input->end > input->begin && input->buffer[input->end - 1] != '\n')
                input->buffer[input->end++] = '\n';
            stop = input->buffer + input->end;
        } else {
            stop = behind_last_newline(input, input->begin + searched);
            searched = input->end - input->begin;
        }
    }
    *begin = (char *)input->buffer + input->begin;
    *end = (char *)stop;
    *last = input->ended;
    return BLV_OK;
}
