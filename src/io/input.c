/* The bytes of a file, plain or gzip.
 *
 * Bytes are made in big pieces: read for a plain file, inflated for gzip, straight to where they
 * are wanted. One buffer holds what was made and not yet taken; text is handed out inside it.
 * Memory grows with the bytes that were made, never with what a file promises. */
#include "io/input.h"

#include "io/npz_private.h"
#include "io/read_ahead.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PACKED_SIZE = 1 << 18, TEXT_SIZE = 1 << 20 };
enum { DEFLATE_LIKELY_PER_BYTE = 16, DEFLATE_MOST_PER_BYTE = 1032 };

struct blv_input {
    int fd;
    char *path;
    uint64_t size;  /* of the file */
    uint64_t taken; /* of the file */
    uint64_t given; /* of the content, by blv_input_read */

    bool ended; /* no more content */

    bool gzip;
    blv_ahead *ahead; /* inflates; the next four, taken and fd are then its own */
    bool ahead_tried;
    z_stream z;
    bool between;      /* no member is open */
    bool members_done; /* nor will one be */
    unsigned char *packed;

    unsigned char *buffer; /* the content from `begin` to `end` is unread */
    size_t capacity, begin, end;
};

const char *blv_input_path(const blv_input *input) {
    return input->path;
}

bool blv_input_is_gzip(const blv_input *input) {
    return input->gzip;
}

uint64_t blv_input_position(const blv_input *input) {
    return input->given;
}

static uint64_t inflated(const blv_input *input, uint64_t per_byte) {
    if (!input->gzip)
        return input->size;
    return input->size > UINT64_MAX / per_byte ? UINT64_MAX : input->size * per_byte;
}

uint64_t blv_input_most(const blv_input *input) {
    return inflated(input, DEFLATE_MOST_PER_BYTE);
}

uint64_t blv_input_likely(const blv_input *input) {
    return inflated(input, DEFLATE_LIKELY_PER_BYTE);
}

/* ---- Making bytes ---- */

static blv_error reject_cut(const blv_input *input, blv_message *why) {
    return blv_explain(why, BLV_E_FORMAT,
                       "%s: byte %" PRIu64 ": the file ends here, and had %" PRIu64
                       " bytes when it was opened; it was changed while it was read",
                       blv_shown_path(input->path), input->taken, input->size);
}

/* The file as long as it was when it was opened; what is added later is not looked at. */
static blv_error read_file(blv_input *input, void *out, size_t n, size_t *got, blv_message *why) {
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

static blv_error reject_gzip(const blv_input *input, blv_message *why, const char *problem) {
    return blv_explain(why, BLV_E_FORMAT, "%s: byte %" PRIu64 ": %s", blv_shown_path(input->path),
                       input->taken - input->z.avail_in, problem);
}

static blv_error refill_packed(blv_input *input, blv_message *why) {
    size_t got = 0;
    blv_error error = read_file(input, input->packed, PACKED_SIZE, &got, why);
    input->z.next_in = input->packed;
    input->z.avail_in = (uInt)got;
    return error;
}

/* Between two members: zero bytes are padding; anything else must be the next member. */
static blv_error next_member(blv_input *input, blv_message *why) {
    do {
        while (input->z.avail_in > 0 && *input->z.next_in == 0) {
            input->z.next_in++;
            input->z.avail_in--;
        }
        if (input->z.avail_in == 0)
            BLV_CHECK(refill_packed(input, why));
        input->members_done = input->z.avail_in == 0;
    } while (!input->members_done && *input->z.next_in == 0);
    if (input->members_done)
        return BLV_OK;
    if (*input->z.next_in != 0x1f)
        return reject_gzip(input, why, "expected another gzip member or the end of the file");
    inflateReset(&input->z);
    input->between = false;
    return BLV_OK;
}

/* A blv_make_fn; context: the blv_input. */
static blv_error inflate_file(void *context, void *out, size_t n, size_t *got, blv_message *why) {
    blv_input *input = context;
    *got = 0;
    while (*got < n && !input->members_done) {
        if (input->between)
            BLV_CHECK(next_member(input, why));
        else if (input->z.avail_in == 0)
            BLV_CHECK(refill_packed(input, why));
        if (input->members_done)
            break;
        size_t room = n - *got < INT_MAX ? n - *got : INT_MAX;
        bool starved = input->z.avail_in == 0;
        input->z.next_out = (unsigned char *)out + *got;
        input->z.avail_out = (uInt)room;
        int status = inflate(&input->z, Z_NO_FLUSH);
        size_t made = room - input->z.avail_out;
        *got += made;
        if (status == Z_STREAM_END)
            input->between = true;
        else if (status == Z_MEM_ERROR)
            return blv_explain_memory(why);
        else if (status == Z_BUF_ERROR || (status == Z_OK && starved && made == 0))
            return reject_gzip(input, why, "the gzip data is cut off");
        else if (status != Z_OK) {
            char problem[120];
            snprintf(problem, sizeof problem, "the gzip data is damaged before this byte: %.60s",
                     input->z.msg ? input->z.msg : "zlib gives no reason");
            return reject_gzip(input, why, problem);
        }
    }
    return BLV_OK;
}

/* Large gzip files are inflated by a thread, so that loading takes no longer than inflating. */
static blv_error inflate_ahead(blv_input *input, void *out, size_t n, size_t *got,
                               blv_message *why) {
    if (!input->ahead_tried && input->size > PACKED_SIZE)
        input->ahead = blv_ahead_start(inflate_file, input);
    input->ahead_tried = true;
    return input->ahead ? blv_ahead_take(input->ahead, out, n, got, why)
                        : inflate_file(input, out, n, got, why);
}

/* Content past what is in the buffer. *got < n: the end. */
static blv_error make(blv_input *input, void *out, size_t n, size_t *got, blv_message *why) {
    *got = 0;
    if (input->ended || n == 0)
        return BLV_OK;
    blv_error error =
        input->gzip ? inflate_ahead(input, out, n, got, why) : read_file(input, out, n, got, why);
    if (*got < n)
        input->ended = true;
    return error;
}

/* ---- Opening and closing ---- */

static blv_error start_gzip(blv_input *input, blv_message *why) {
    enum { GZIP_ONLY = 16 };
    input->packed = malloc(PACKED_SIZE);
    if (!input->packed || inflateInit2(&input->z, MAX_WBITS + GZIP_ONLY) != Z_OK)
        return blv_explain_memory(why);
    input->gzip = true;
    return BLV_OK;
}

blv_error blv_open_regular(const char *path, int *fd, uint64_t *size, blv_message *why) {
    struct stat status;
    /* non-blocking: a named pipe is rejected below, not waited for */
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0 || fstat(*fd, &status) != 0)
        return blv_explain_errno(why, path, "open");
    if (!S_ISREG(status.st_mode))
        return blv_explain(why, BLV_E_FILE, "%s: cannot read: not a regular file",
                           blv_shown_path(path));
    *size = (uint64_t)status.st_size;
    return BLV_OK;
}

static blv_error start(blv_input *input, const char *path, blv_message *why) {
    input->path = strdup(path);
    if (!input->path)
        return blv_explain_memory(why);
    BLV_CHECK(blv_open_regular(path, &input->fd, &input->size, why));
    unsigned char magic[2] = {0};
    ssize_t n = pread(input->fd, magic, sizeof magic, 0);
    if (n < 0)
        return blv_explain_errno(why, path, "read");
    return n == 2 && magic[0] == 0x1f && magic[1] == 0x8b ? start_gzip(input, why) : BLV_OK;
}

blv_error blv_input_open(blv_input **input, const char *path, blv_message *why) {
    *input = NULL;
    blv_input *opened = calloc(1, sizeof *opened);
    if (!opened)
        return blv_explain_memory(why);
    opened->fd = -1;
    blv_error error = start(opened, path, why);
    if (error)
        blv_input_close(opened);
    else
        *input = opened;
    return error;
}

void blv_input_close(blv_input *input) {
    if (!input)
        return;
    blv_ahead_stop(input->ahead);
    if (input->gzip)
        inflateEnd(&input->z);
    if (input->fd >= 0)
        close(input->fd);
    free(input->packed);
    free(input->buffer);
    free(input->path);
    free(input);
}

/* ---- Taking bytes ---- */

static blv_error grow_buffer(blv_input *input, size_t capacity, blv_message *why) {
    if (capacity <= input->capacity)
        return BLV_OK;
    unsigned char *buffer = realloc(input->buffer, capacity);
    if (!buffer)
        return blv_explain_memory(why);
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
    input->begin = 0;
    input->end = kept;
    size_t usual = TEXT_SIZE;
    if (!input->gzip && input->taken + TEXT_SIZE > input->size) /* the rest, and see its end */
        usual = kept + 2 + (size_t)(input->size > input->taken ? input->size - input->taken : 0);
    return grow_buffer(input, usual > 2 * kept + 2 ? usual : 2 * kept + 2, why);
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
