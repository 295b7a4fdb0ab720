/* Rows of pixel values as small pictures with captions, in a page. */
#pragma once

#include "bilevel/status.h"
#include "report/html.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct report_picture {
    size_t width, height;
    size_t channels;      /* 1: gray, 3: RGB */
    bool planar;          /* all red values first, then green, then blue; else pixel by pixel */
    const double *values; /* width * height * channels of them, line after line */
    double low, high;     /* become black and white; what lies outside is cut off */
    const char *caption;
} report_picture;

/* Writes a grid of pictures; as many beside each other as the screen has space for. */
blv_error report_contact_sheet(FILE *out, const report_picture *pictures, size_t count);

/* A picture as a PNG file; its bytes are to be freed. */
blv_error report_picture_png(const report_picture *picture, report_bytes *file);
