/* Text that goes to a file written aside, compressed where the path ends in ".gz". Errors are kept:
 * after the first one nothing more is written, and blv_text_commit returns it. */
#ifndef BLV_IO_TEXT_OUT_H
#define BLV_IO_TEXT_OUT_H

#include "base/atomic_file.h"
#include "bilevel/space.h"

#include <stdbool.h>
#include <zlib.h>

typedef struct blv_text_out {
    blv_atomic_file aside;
    bool compressed;
    z_stream z;
    size_t used;
    blv_error error;
    blv_message *why;
    unsigned char buffer[1 << 16], packed[1 << 16];
} blv_text_out;

/* NULL on error. */
blv_text_out *blv_text_create(const char *path, blv_error *error, blv_message *why);
void blv_text_put(blv_text_out *out, const char *text, size_t length);
void blv_text_string(blv_text_out *out, const char *text);
/* The shortest decimal number that reads back as the same number in that precision. */
void blv_text_number(blv_text_out *out, double value, blv_precision precision);
/* Completes the file and frees out; on error the path is as it was. */
blv_error blv_text_commit(blv_text_out *out);

#endif
