/* The kinds of arguments: what a text must be, and how it gets into the request. */
#include "base/number_text.h"
#include "cli/arguments.h"

#include <assert.h>
#include <string.h>

/* The word of "auto|unit|none" that the text is, or -1. */
static int word_number(const char *words, const char *text) {
    size_t length = strlen(text);
    for (int i = 0;; i++) {
        size_t word = strcspn(words, "|");
        if (word == length && strncmp(words, text, length) == 0)
            return i;
        if (!words[word])
            return -1;
        words += word + 1;
    }
}

/* "auto, unit or none" */
static const char *list_words(const char *words) {
    const char *text = "";
    for (const char *joint = "";; joint = strchr(words, '|') ? ", " : " or ") {
        size_t word = strcspn(words, "|");
        text = cli_print("%s%s%.*s", text, joint, (int)word, words);
        if (!words[word])
            return text;
        words += word + 1;
    }
}

/* ---- Taking: false where the text is not what is expected ---- */

static bool take_flag(const cli_placed_argument *to, const char *text) {
    (void)text;
    return memset(to->field, true, to->argument->size);
}

static bool take_text(const cli_placed_argument *to, const char *text) {
    return memcpy(to->field, &text, to->argument->size);
}

/* A dash names standard input. */
static bool take_input(const cli_placed_argument *to, const char *text) {
    return take_text(to, strcmp(text, "-") == 0 ? "/dev/stdin" : text);
}

static bool take_texts(const cli_placed_argument *to, const char *text) {
    cli_texts *texts = (cli_texts *)(void *)to->field;
    texts->items = cli_grow(texts->items, texts->count + 1, sizeof texts->items[0]);
    texts->items[texts->count++] = text;
    return true;
}

/* Not an empty name, which would be found out only once all is done. */
static bool take_output(const cli_placed_argument *to, const char *text) {
    return *text && take_text(to, text);
}

static bool take_outputs(const cli_placed_argument *to, const char *text) {
    return *text && take_texts(to, text);
}

static bool take_whole(const cli_placed_argument *to, const char *text) {
    const cli_argument *a = to->argument;
    uint64_t value, most = a->to > 0.0 ? (uint64_t)a->to : UINT64_MAX;
    if (!cli_parse_whole(text, most, &value) || value < (uint64_t)a->from)
        return false;
    const int small = (int)value;
    assert(a->size == sizeof value || (a->size == sizeof small && most <= INT32_MAX));
    memcpy(to->field, a->size == sizeof small ? (const void *)&small : &value, a->size);
    return true;
}

static bool take_real(const cli_placed_argument *to, const char *text) {
    const cli_argument *a = to->argument;
    double value;
    if (blv_number_parse(text, &value) != 0 ||
        (a->kind == CLI_ARG_REAL ? value < a->from || value > a->to : !(value > 0.0)) ||
        (a->kind == CLI_ARG_SHARE && !(value < 1.0)))
        return false;
    memcpy(to->field, &value, sizeof value);
    return true;
}

static bool take_choice(const cli_placed_argument *to, const char *text) {
    const cli_argument *a = to->argument;
    const int number = word_number(a->kind == CLI_ARG_PRECISION ? "f64|f32" : a->value, text);
    assert(a->size == sizeof number);
    memcpy(to->field, &number, sizeof number);
    return number >= 0;
}

static bool take_word(const cli_placed_argument *to, const char *text) {
    return word_number(to->argument->value, text) >= 0 && take_text(to, text);
}

static bool take_setting(const cli_placed_argument *to, const char *text) {
    const int key = (int)strcspn(text, "=");
    if (key == 0 || !text[key])
        return false;
    cli_settings_add((cli_settings *)(void *)to->field, cli_print("%.*s", key, text),
                     text + key + 1);
    return true;
}

static bool take_run_option(const cli_placed_argument *to, const char *text) {
    cli_settings_add((cli_settings *)(void *)to->field, to->argument->name, text);
    return true;
}

static bool take_run(const cli_placed_argument *to, const char *text) {
    cli_run_numbers *runs = (cli_run_numbers *)(void *)to->field;
    uint64_t number;
    if (!cli_parse_whole(text, INT64_MAX, &number) || number == 0)
        return false;
    runs->items = cli_grow(runs->items, runs->count + 1, sizeof runs->items[0]);
    runs->items[runs->count++] = (int64_t)number;
    return true;
}

/* ---- Kinds ---- */

static const struct {
    bool (*take)(const cli_placed_argument *to, const char *text);
    const char *expected; /* NULL: by the range, or the words of the value name */
} kinds[] = {
    [CLI_ARG_FLAG] = {take_flag, NULL},
    [CLI_ARG_TEXT] = {take_text, NULL},
    [CLI_ARG_TEXTS] = {take_texts, NULL},
    [CLI_ARG_READS] = {take_input, NULL},
    [CLI_ARG_WRITES] = {take_output, "the name of a file"},
    [CLI_ARG_WRITE_ALL] = {take_outputs, "the name of a file"},
    [CLI_ARG_WHOLE] = {take_whole, NULL},
    [CLI_ARG_REAL] = {take_real, NULL},
    [CLI_ARG_SHARE] = {take_real, "a share above 0 and below 1"},
    [CLI_ARG_POSITIVE] = {take_real, "a number above 0"},
    [CLI_ARG_CHOICE] = {take_choice, NULL},
    [CLI_ARG_WORD] = {take_word, NULL},
    [CLI_ARG_PRECISION] = {take_choice, NULL},
    [CLI_ARG_SETTING] = {take_setting, "KEY=VALUE"},
    [CLI_ARG_RUN_OPTION] = {take_run_option, NULL},
    [CLI_ARG_RUNS] = {take_run, "the number of a run; 'bilevel runs' lists them"},
};

static const char *expected_of(const cli_argument *a) {
    if (a->expected || kinds[a->kind].expected)
        return a->expected ? a->expected : kinds[a->kind].expected;
    if (a->kind == CLI_ARG_WHOLE && a->to > 0.0)
        return cli_print("a whole number from %.0f to %.0f", a->from, a->to);
    if (a->kind == CLI_ARG_WHOLE)
        return cli_print("a whole number >= %.0f", a->from);
    if (a->kind == CLI_ARG_REAL)
        return cli_print("a number from %g to %g", a->from, a->to);
    return list_words(a->value);
}

blv_error cli_value_take(const cli_placed_argument *to, const char *text, blv_message *why) {
    if (to->argument->kind == CLI_ARG_CUSTOM)
        return to->argument->take(to->field, text, why);
    if (kinds[to->argument->kind].take(to, text))
        return BLV_OK;
    return blv_explain(why, BLV_E_VALUE, "expected %s", expected_of(to->argument));
}
