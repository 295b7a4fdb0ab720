#include "cli/common.h"
#include "base/arena.h"
#include "base/visible_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

cli_words cli_typed;
blv_message cli_why;
static blv_arena texts; /* that live until the program ends */
static const char *complaint_topic;
static char last_complaint[4 * sizeof(blv_message)];

/* ---- Messages and the end ---- */

void cli_complain_about(const char *topic) {
    complaint_topic = topic;
}

static BLV_PRINTF(1, 0) void complain(const char *format, va_list arguments) {
    char *text = last_complaint; /* no memory is needed to say that there is none */
    vsnprintf(text, sizeof last_complaint, format, arguments);
    fprintf(stderr, "%s: ", program_invocation_name);
    if (complaint_topic)
        fprintf(stderr, "%s: ", complaint_topic);
    for (const char *c = text; *c;) {
        char shown[BLV_VISIBLE_SIZE];
        size_t taken, n = blv_visible_next(c, strlen(c), "", shown, &taken);
        fwrite(shown, 1, n, stderr);
        c += taken;
    }
    fputc('\n', stderr);
}

void cli_complain(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    complain(format, arguments);
    va_end(arguments);
}

const char *cli_last_complaint(void) {
    return last_complaint;
}

noreturn void cli_die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    complain(format, arguments);
    va_end(arguments);
    exit(CLI_REJECTED);
}

int cli_reject(blv_error error, const char *text) {
    cli_complain("%s", text && *text ? text : blv_error_text(error));
    bool failed = error == BLV_E_MEMORY || error == BLV_E_ORACLE || error == BLV_E_STOPPED ||
                  error == BLV_E_FAILED;
    return failed ? CLI_FAILED : CLI_REJECTED;
}

int cli_exit_code(blv_error error) {
    int code = error == BLV_OK ? CLI_DONE : cli_reject(error, cli_why.text);
    cli_why.text[0] = '\0';
    return code;
}

void cli_expect(blv_error error) {
    int code = cli_exit_code(error);
    if (code != CLI_DONE)
        exit(code);
}

/* ---- Memory and text ---- */

/* What was said before stays where there is memory: JSON is made between an error and its message.
 */
static void *checked(void *block) {
    if (!block)
        cli_expect(BLV_E_MEMORY);
    return block;
}

void *cli_alloc(size_t count, size_t size) {
    return checked(calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}

void *cli_grow(void *block, size_t count, size_t size) {
    return checked(reallocarray(block, count, size));
}

FILE *cli_text_begin(cli_text *text) {
    return checked(blv_text_open(text));
}

char *cli_text_end(cli_text *text) {
    return checked(blv_text_close(text));
}

char *cli_print(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = blv_arena_vprint(&texts, format, arguments);
    va_end(arguments);
    return checked(text);
}

const char **cli_split(const char *list) {
    char *rest = cli_print("%s", list);
    const char **words = checked(blv_arena_alloc(&texts, strlen(list) + 2, sizeof *words));
    for (const char **next = words; rest; next++)
        *next = strsep(&rest, ",");
    return words;
}

/* ---- Standard output and standard error ---- */

enum { LONGEST_CHARACTER = 4, BLOCK = 1 << 12 };

typedef struct terminal_stream {
    int file;
    char begun[LONGEST_CHARACTER]; /* a character whose last bytes are still to come */
    size_t begun_size;
} terminal_stream;

static bool write_all(int file, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t n = write(file, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

/* Bytes at the end that begin a character and do not end it. */
static size_t cut_off(const char *bytes, size_t size) {
    for (size_t back = 1; back < LONGEST_CHARACTER && back <= size; back++) {
        const unsigned char c = (unsigned char)bytes[size - back];
        const size_t needs = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 0;
        if (needs > 0)
            return needs > back ? back : 0;
        if (c < 0x80)
            return 0;
    }
    return 0;
}

static bool write_visible(const terminal_stream *to, const char *bytes, size_t size) {
    char text[BLOCK + BLV_VISIBLE_SIZE];
    size_t used = 0, taken;
    for (; size > 0; bytes += taken, size -= taken) {
        used += blv_visible_next(bytes, size, "\n\t", text + used, &taken);
        if (used >= BLOCK || size == taken) {
            if (!write_all(to->file, text, used))
                return false;
            used = 0;
        }
    }
    return true;
}

/* All or nothing, as far as the stream is told. */
static ssize_t take_bytes(void *cookie, const char *bytes, size_t size) {
    terminal_stream *to = cookie;
    char block[BLOCK];
    for (size_t done = 0; done < size;) {
        size_t more = BLOCK - to->begun_size < size - done ? BLOCK - to->begun_size : size - done;
        memcpy(block, to->begun, to->begun_size);
        memcpy(block + to->begun_size, bytes + done, more);
        const size_t all = to->begun_size + more, left = cut_off(block, all);
        if (!write_visible(to, block, all - left))
            return 0;
        memcpy(to->begun, block + all - left, left);
        to->begun_size = left;
        done += more;
    }
    return (ssize_t)size;
}

static FILE *open_stream(terminal_stream *to, int buffering) {
    FILE *stream = fopencookie(to, "w", (cookie_io_functions_t){.write = take_bytes});
    cli_expect(stream ? BLV_OK : BLV_E_MEMORY);
    setvbuf(stream, NULL, buffering, BUFSIZ);
    return stream;
}

void cli_terminal_begin(void) {
    static terminal_stream out = {.file = STDOUT_FILENO}, err = {.file = STDERR_FILENO};
    stdout = open_stream(&out, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
    stderr = open_stream(&err, _IONBF);
}

const char *cli_shown(const char *text) {
    if (!text || blv_is_visible(text))
        return text ? text : "";
    char *visible = blv_visible_copy(text);
    cli_expect(visible ? BLV_OK : BLV_E_MEMORY);
    const char *kept = cli_print("%s", visible);
    free(visible);
    return kept;
}

void cli_say(void *context, const char *line) {
    (void)context;
    fprintf(stderr, "%s\n", cli_shown(line));
}

/* ---- The command line ---- */

void cli_settings_add(cli_settings *settings, const char *key, const char *value) {
    settings->items = cli_grow(settings->items, settings->count + 1, sizeof settings->items[0]);
    settings->items[settings->count++] = (blv_setting){key, value};
}

const char *const *cli_settings_list(cli_settings *settings) {
    _Static_assert(sizeof(blv_setting) == 2 * sizeof(char *), "a setting is two texts, no more");
    cli_settings_add(settings, NULL, NULL);
    settings->count--;
    return (const char *const *)(const void *)settings->items;
}

bool cli_settings_has(const cli_settings *settings, const char *key) {
    for (size_t i = 0; i < settings->count; i++)
        if (strcmp(settings->items[i].key, key) == 0)
            return true;
    return false;
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
