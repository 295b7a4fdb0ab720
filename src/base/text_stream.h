/* Text that is put together in memory through a stream. open_memstream loses what it has no memory
 * for without a word, and neither ferror nor fclose report it; this stream does. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct blv_text_stream {
    char *bytes;
    size_t size, room;
    bool lost;
    FILE *out;
} blv_text_stream;

/* A stream into the text, which must not move until it is closed. NULL: memory is short. */
FILE *blv_text_open(blv_text_stream *text);
/* Closes the stream. Everything that was written, with a zero behind it, to be freed; its length is
 * in text->size. NULL: memory was short, or the stream was never opened. */
char *blv_text_close(blv_text_stream *text);
