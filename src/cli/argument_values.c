/* The kinds of arguments: what a text must be, and how it gets into the request. */
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
static void put_words(FILE *out, const char *words) {
    for (const char *joint = "";; joint = strchr(words, '|') ? ", " : " or ") {
        size_t word = strcspn(words, "|");
        fprintf(out, "%s%.*s", joint, (int)word, words);
        if (!words[word])
            return;
        words += word + 1;
    }
}

void cli_value_expected(FILE *out, const cli_argument *a) {
    if (a->expected)
        fputs(a->expected, out);
    else if (a->kind == CLI_ARG_WHOLE && a->to > 0.0)
        fprintf(out, "a whole number from %.0f to %.0f", a->from, a->to);
    else if (a->kind == CLI_ARG_WHOLE)
        fprintf(out, "a whole number >= %.0f", a->from);
    else if (a->kind == CLI_ARG_REAL)
        fprintf(out, "a number from %g to %g", a->from, a->to);
    else if (a->kind == CLI_ARG_SHARE)
        fputs("a share above 0 and below 1", out);
    else if (a->kind == CLI_ARG_POSITIVE)
        fputs("a number above 0", out);
    else if (a->kind == CLI_ARG_RUN || a->kind == CLI_ARG_RUNS)
        fputs("the number of a run; 'bilevel runs' lists them", out);
    else if (a->kind == CLI_ARG_SETTING)
        fputs("KEY=VALUE", out);
    else
        put_words(out, a->value);
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
    if (!cli_parse_real(text, &value))
        return false;
    if (a->kind == CLI_ARG_REAL ? value < a->from || value > a->to : !(value > 0.0))
        return false;
    if (a->kind == CLI_ARG_SHARE && !(value < 1.0))
        return false;
    memcpy(to->field, &value, sizeof value);
    return true;
}

static bool take_word(const cli_placed_argument *to, const char *text) {
    const cli_argument *a = to->argument;
    const int number = word_number(a->kind == CLI_ARG_PRECISION ? "f64|f32" : a->value, text);
    assert(a->size == (a->kind == CLI_ARG_WORD ? sizeof text : sizeof number));
    memcpy(to->field, a->kind == CLI_ARG_WORD ? (const void *)&text : &number, a->size);
    return number >= 0;
}

static bool take_run(const cli_placed_argument *to, const char *text) {
    uint64_t number;
    if (!cli_parse_whole(text, INT64_MAX, &number) || number == 0)
        return false;
    int64_t run = (int64_t)number;
    if (to->argument->kind == CLI_ARG_RUN) {
        memcpy(to->field, &run, sizeof run);
        return true;
    }
    cli_run_numbers *runs = (cli_run_numbers *)(void *)to->field;
    runs->items = cli_grow(runs->items, runs->count + 1, sizeof runs->items[0]);
    runs->items[runs->count++] = run;
    return true;
}

static bool take_setting(const cli_placed_argument *to, const char *text) {
    const int key = (int)strcspn(text, "=");
    if (key == 0 || !text[key])
        return false;
    cli_settings_add((cli_settings *)(void *)to->field, cli_print("%.*s", key, text),
                     text + key + 1);
    return true;
}

static bool take_text(const cli_placed_argument *to, const char *text) {
    if (to->argument->kind == CLI_ARG_TEXT) {
        assert(to->argument->size == sizeof text);
        memcpy(to->field, &text, sizeof text);
        return true;
    }
    cli_texts *texts = (cli_texts *)(void *)to->field;
    texts->items = cli_grow(texts->items, texts->count + 1, sizeof texts->items[0]);
    texts->items[texts->count++] = text;
    return true;
}

bool cli_value_take(const cli_placed_argument *to, const char *text) {
    const bool yes = true;
    switch (to->argument->kind) {
    case CLI_ARG_FLAG:
        assert(to->argument->size == sizeof yes);
        memcpy(to->field, &yes, sizeof yes);
        return true;
    case CLI_ARG_TEXT:
    case CLI_ARG_TEXTS:
        return take_text(to, text);
    case CLI_ARG_WHOLE:
        return take_whole(to, text);
    case CLI_ARG_REAL:
    case CLI_ARG_SHARE:
    case CLI_ARG_POSITIVE:
        return take_real(to, text);
    case CLI_ARG_CHOICE:
    case CLI_ARG_WORD:
    case CLI_ARG_PRECISION:
        return take_word(to, text);
    case CLI_ARG_SETTING:
        return take_setting(to, text);
    case CLI_ARG_RUN_OPTION:
        cli_settings_add((cli_settings *)(void *)to->field, to->argument->name, text);
        return true;
    case CLI_ARG_RUN:
    case CLI_ARG_RUNS:
        return take_run(to, text);
    default:
        return false;
    }
}
