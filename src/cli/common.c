#include "cli/common.h"
#include "base/number_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *complaint_topic;

void cli_complain_about(const char *topic) {
    complaint_topic = topic;
}

void cli_complain(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", program_invocation_name);
    if (complaint_topic)
        fprintf(stderr, "%s: ", complaint_topic);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): va_start is three lines above */
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

int cli_reject(blv_error error, const char *text) {
    cli_complain("%s", text && *text ? text : blv_error_text(error));
    bool failed = error == BLV_E_MEMORY || error == BLV_E_ORACLE || error == BLV_E_STOPPED ||
                  error == BLV_E_FAILED;
    return failed ? CLI_FAILED : CLI_REJECTED;
}

int cli_exit_code(blv_error error, const blv_message *why) {
    return error == BLV_OK ? CLI_DONE : cli_reject(error, why->text);
}

void *cli_alloc(size_t count, size_t size) {
    void *block = calloc(count > 0 ? count : 1, size > 0 ? size : 1);
    if (!block)
        exit(cli_reject(BLV_E_MEMORY, NULL));
    return block;
}

void *cli_grow(void *block, size_t count, size_t size) {
    void *larger = reallocarray(block, count, size);
    if (!larger)
        exit(cli_reject(BLV_E_MEMORY, NULL));
    return larger;
}

void cli_settings_add(cli_settings *settings, const char *key, const char *value) {
    settings->items = cli_grow(settings->items, settings->count + 1, sizeof settings->items[0]);
    settings->items[settings->count++] = (cli_setting){key, value};
}

bool cli_settings_has(const cli_settings *settings, const char *key) {
    for (size_t i = 0; i < settings->count; i++)
        if (strcmp(settings->items[i].key, key) == 0)
            return true;
    return false;
}

void cli_settings_free(cli_settings *settings) {
    free(settings->items);
    *settings = (cli_settings){0};
}

bool cli_parse_whole(const char *text, uint64_t most, uint64_t *value) {
    if (*text == '\0' || text[strspn(text, "0123456789")] != '\0')
        return false;
    errno = 0;
    unsigned long long parsed = strtoull(text, NULL, 10);
    if (errno != 0 || parsed > most)
        return false;
    *value = parsed;
    return true;
}

bool cli_parse_real(const char *text, double *value) {
    return blv_number_parse(text, value) == 0;
}

const char *cli_precision_word(blv_precision precision) {
    return precision == BLV_F32 ? "f32" : "f64";
}
