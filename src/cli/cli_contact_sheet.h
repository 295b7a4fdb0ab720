/* Rows of pixel values as small pictures with captions, in a page. */
#ifndef CLI_CONTACT_SHEET_H
#define CLI_CONTACT_SHEET_H

#include "cli_child.h"

#include <stdio.h>

typedef struct cli_picture {
    size_t width, height;
    size_t channels;      /* 1: gray, 3: RGB */
    bool planar;          /* all red values first, then green, then blue; else pixel by pixel */
    const double *values; /* width * height * channels of them, line after line */
    double low, high;     /* become black and white; what lies outside is cut off */
    const char *caption;
} cli_picture;

/* Writes a grid of pictures; as many beside each other as the screen has room for. */
void cli_contact_sheet(FILE *out, const cli_picture *pictures, size_t count);

/* A picture as a PNG file, to be freed. */
cli_bytes cli_picture_png(const cli_picture *picture);

#endif
