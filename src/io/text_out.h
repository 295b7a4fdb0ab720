/* Text that goes to a function, front to back, compressed where the name ends in ".gz". Errors are
 * kept: after the first one nothing more is written, and blv_text_out_close returns it. */
#pragma once

#include "bilevel/npz.h"
#include "bilevel/space.h"

#include <stdbool.h>
#include <zlib.h>

/* Hands bytes to a function. name: of where they go, for messages. */
blv_error blv_write_bytes(blv_write_fn write, void *context, const void *bytes, size_t count,
                          const char *name, blv_message *why);

typedef struct blv_text_out {
    const char *name; /* for messages */
    blv_write_fn write;
    void *context;
    bool compressed;
    z_stream z;
    size_t used;
    blv_error error;
    blv_message *why;
    unsigned char buffer[1 << 16], packed[1 << 16];
} blv_text_out;

/* NULL when memory is short. The name must outlive out. */
blv_text_out *blv_text_out_open(const char *name, blv_write_fn write, void *context,
                                blv_message *why);
void blv_text_out_put(blv_text_out *out, const char *text, size_t length);
void blv_text_out_string(blv_text_out *out, const char *text);
/* A field of a CSV file, in quotes where it needs them. */
void blv_text_out_field(blv_text_out *out, const char *text, char separator);
/* The shortest decimal number that reads back as the same number in that precision. */
void blv_text_out_number(blv_text_out *out, double value, blv_precision precision);
/* Writes what is left and frees out. */
blv_error blv_text_out_close(blv_text_out *out);
