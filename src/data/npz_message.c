/* Messages of the NumPy reader and writer. File and array names come from outside, so they are
 * shortened, and control characters do not reach a terminal. */
#include "data/npz_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_PATH_MAX = 200 };

const char *blv_npz_shown(const char *path) {
    size_t n = strlen(path);
    return n > SHOWN_PATH_MAX ? path + (n - SHOWN_PATH_MAX) : path;
}

void blv_npz_explain(blv_message *why, const char *format, va_list arguments) {
    if (!why)
        return;
    vsnprintf(why->text, sizeof why->text, format, arguments);
    for (char *c = why->text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
}

blv_error blv_npz_fail(blv_message *why, blv_error error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    blv_npz_explain(why, format, arguments);
    va_end(arguments);
    return error;
}

blv_error blv_npz_fail_errno(blv_message *why, const char *path, const char *action) {
    char reason[128];
    int code = errno;
    if (strerror_r(code, reason, sizeof reason) != 0)
        snprintf(reason, sizeof reason, "error %d", code);
    return blv_npz_fail(why, BLV_E_FILE, "%s: cannot %s: %s", blv_npz_shown(path), action, reason);
}
