#include "cli/csv_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cli_csv_text(FILE *file, const char *text) {
    if (*text && !strpbrk(text, ",\"\r\n")) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

void cli_csv_number(FILE *file, double value) {
    char text[40] = "";
    for (int digits = 6; !isnan(value) && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fputs(text, file);
}
