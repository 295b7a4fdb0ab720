#include "cli/text.h"
#include "cli/common.h"

#include <stdarg.h>
#include <stdlib.h>

FILE *cli_text_begin(cli_text *text) {
    FILE *out = blv_text_open(text);
    if (!out)
        exit(cli_reject(BLV_E_MEMORY, NULL));
    return out;
}

char *cli_text_end(cli_text *text) {
    char *whole = blv_text_close(text);
    if (!whole)
        exit(cli_reject(BLV_E_MEMORY, NULL));
    return whole;
}

char *cli_print(const char *format, ...) {
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        exit(cli_reject(BLV_E_MEMORY, NULL));
    return text;
}
