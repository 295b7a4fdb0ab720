#include "base/message.h"
#include "base/visible_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Names of files and arrays come from outside: what a terminal would act on becomes '?'. */
static void mask_hidden(char *text) {
    size_t length = strlen(text), taken;
    for (; length > 0; text += taken, length -= taken) {
        char shown[BLV_VISIBLE_SIZE];
        if (blv_visible_next(text, length, "", shown, &taken) != taken)
            memset(text, '?', taken);
    }
}

blv_error blv_explain(blv_message *why, blv_error error, const char *format, ...) {
    if (!why)
        return error;
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    mask_hidden(why->text);
    return error;
}

blv_error blv_explain_memory(blv_message *why) {
    return blv_explain(why, BLV_E_MEMORY, "out of memory");
}

blv_error blv_explain_errno(blv_message *why, const char *path, const char *action) {
    char reason[128];
    int code = errno;
    if (strerror_r(code, reason, sizeof reason) != 0)
        snprintf(reason, sizeof reason, "error %d", code);
    return blv_explain(why, BLV_E_FILE, "%s: cannot %s: %s", blv_shown_path(path), action, reason);
}

enum { SHOWN_PATH_MAX = 200 };

const char *blv_shown_path(const char *path) {
    size_t n = strlen(path);
    return n > SHOWN_PATH_MAX ? path + (n - SHOWN_PATH_MAX) : path;
}

void blv_list_name(char *list, size_t size, const char *name) {
    size_t used = strlen(list);
    int n = snprintf(list + used, size - used, "%s'%s'", used ? ", " : "", name);
    if (n < 0 || (size_t)n >= size - used)
        memcpy(list + size - 4, "...", 4);
}

enum { NAME_MAX_LENGTH = 63 };

/* Edit distance with insertions, deletions, substitutions and swaps of neighbours. */
static size_t edit_distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    if (n > NAME_MAX_LENGTH || m > NAME_MAX_LENGTH)
        return SIZE_MAX;
    size_t row[3][NAME_MAX_LENGTH + 1];
    for (size_t j = 0; j <= m; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t cost = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < cost)
                cost = last[j] + 1;
            if (now[j - 1] + 1 < cost)
                cost = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < cost)
                cost = before[j - 2] + 1;
            now[j] = cost;
        }
    }
    return row[n % 3][m];
}

void blv_nearest_try(blv_nearest *nearest, const char *candidate) {
    size_t distance = edit_distance(nearest->name, candidate);
    if (!nearest->best || distance < nearest->distance) {
        nearest->best = candidate;
        nearest->distance = distance;
    }
}

const char *blv_nearest_guess(const blv_nearest *nearest) {
    if (!nearest->best || nearest->distance > 1 + strlen(nearest->best) / 2)
        return NULL;
    return nearest->best;
}

blv_error blv_explain_name(blv_message *why, const char *lacking, const blv_nearest *nearest) {
    const char *guess = blv_nearest_guess(nearest);
    return blv_explain(why, BLV_E_NAME, "%s '%.60s'%s%s%s", lacking, nearest->name,
                       guess ? "; did you mean '" : "", guess ? guess : "", guess ? "'?" : "");
}

blv_error blv_caller_struct(void *own, size_t own_size, const void *given, const char *name,
                            blv_message *why) {
    size_t size = 0;
    memset(own, 0, own_size);
    if (given)
        memcpy(&size, given, sizeof size);
    if (given && (size < sizeof size || size > own_size))
        return blv_explain(why, BLV_E_ARGUMENT,
                           "%s: its size is %zu; expected size = sizeof(%s), at most %zu here",
                           name, size, name, own_size);
    if (given)
        memcpy(own, given, size);
    memcpy(own, &own_size, sizeof own_size);
    return BLV_OK;
}
