#include "cli_csv.h"

#include <errno.h>
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

int cli_csv_write(cli_outputs *outputs, const char *path, cli_csv_fn print, const void *context) {
    const char *temporary = cli_outputs_add(outputs, path);
    if (!temporary)
        return CLI_REFUSED;
    FILE *file = fopen(temporary, "w");
    bool written = file && print(file, context) && !ferror(file);
    if (file && fclose(file) != 0)
        written = false;
    if (!written)
        cli_complain("%s: cannot write: %s", path, strerror(errno));
    return written ? CLI_DONE : CLI_REFUSED;
}
