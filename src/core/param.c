/* Parameter tables: reading, checking and printing values. Independent of the locale. */
#include "bilevel/param.h"
#include "base/message.h"
#include "base/number_text.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Position of text among "a|b|c", or -1. */
static int word_position(const char *words, const char *text) {
    size_t length = strlen(text);
    int position = 0;
    while (words && *words) {
        size_t n = strcspn(words, "|");
        if (n == length && memcmp(words, text, n) == 0)
            return position;
        words += n + (words[n] == '|');
        position++;
    }
    return -1;
}

static void word_at(const char *words, int position, char *text, size_t size) {
    while (position-- > 0)
        words += strcspn(words, "|") + 1;
    snprintf(text, size, "%.*s", (int)strcspn(words, "|"), words);
}

/* Whole, and not beyond what a double can count. */
static bool is_whole(double value) {
    return value == floor(value) && fabs(value) <= 9e15;
}

static int parse_int(const char *text, int64_t *value) {
    double real;
    const char *digits = text + (*text == '-' || *text == '+');
    size_t length = strspn(digits, "0123456789");
    if (length > 0 && digits[length] == '\0' && length <= 18) {
        *value = strtoll(text, NULL, 10);
        return 0;
    }
    /* 1e6 is what people type for a million */
    if (blv_number_parse(text, &real) != 0 || !is_whole(real))
        return -1;
    *value = (int64_t)real;
    return 0;
}

/* "a", "a or b", "a, b or c": what is in text already, if anything, and the words "b|c". */
static void append_words(const char *words, char *text, size_t size) {
    for (const char *w = words; w && *w;) {
        size_t n = strcspn(w, "|"), used = strlen(text);
        const char *joint = used == 0 ? "" : w[n] == '\0' ? " or " : ", ";
        snprintf(text + used, size - used, "%s%.*s", joint, (int)n, w);
        w += n + (w[n] == '|');
    }
}

static void describe_numbers(const blv_param *param, char *text, size_t size) {
    const char *noun = param->type == BLV_INT ? "a whole number" : "a number";
    bool lower = param->lo > -DBL_MAX, upper = param->hi < DBL_MAX;
    if (param->type == BLV_REAL && param->lo == DBL_MIN) /* the smallest above 0 */
        snprintf(text, size, upper ? "%s > 0 and <= %g" : "%s > 0", noun, param->hi);
    else if (lower && upper)
        snprintf(text, size, "%s from %g to %g", noun, param->lo, param->hi);
    else if (lower || upper)
        snprintf(text, size, "%s %s %g", noun, lower ? ">=" : "<=", lower ? param->lo : param->hi);
    else
        snprintf(text, size, "%s", noun);
}

void blv_params_range(const blv_param *param, char *text, size_t size) {
    if (!text || size == 0)
        return;
    text[0] = '\0';
    if (!param)
        return;
    if (param->type == BLV_TEXT)
        snprintf(text, size, "a text of fewer than %d characters", BLV_TEXT_SIZE);
    else if (param->type != BLV_CHOICE)
        describe_numbers(param, text, size);
    append_words(param->words, text, size);
}

const blv_param *blv_params_find(const blv_param *table, const char *key) {
    for (const blv_param *p = table; key && p && p->key; p++)
        if (strcmp(p->key, key) == 0)
            return p;
    return NULL;
}

static bool is_allowed(const blv_param *param, double value) {
    return value >= param->lo && value <= param->hi; /* not a NaN */
}

static bool put_int(const blv_param *param, void *field, int64_t value) {
    if (!is_allowed(param, (double)value))
        return false;
    memcpy(field, &value, sizeof value);
    return true;
}

static bool put_real(const blv_param *param, void *field, double value) {
    if (!is_allowed(param, value))
        return false;
    memcpy(field, &value, sizeof value);
    return true;
}

static bool put_word(const blv_param *param, void *field, int word) {
    const double real = BLV_WORD_REAL;
    const int64_t whole = -1 - word;
    if (param->type == BLV_CHOICE)
        memcpy(field, &word, sizeof word);
    else if (param->type == BLV_REAL)
        memcpy(field, &real, sizeof real);
    else
        memcpy(field, &whole, sizeof whole);
    return true;
}

static bool put_text(const blv_param *param, void *field, const char *text) {
    if (param->type == BLV_TEXT) {
        bool fits = strlen(text) < BLV_TEXT_SIZE;
        return fits && strcpy(field, text);
    }
    int word = word_position(param->words, text);
    if (word >= 0)
        return put_word(param, field, word);
    double real = 0.0;
    int64_t whole = 0;
    if (param->type == BLV_REAL)
        return blv_number_parse(text, &real) == 0 && put_real(param, field, real);
    return param->type == BLV_INT && parse_int(text, &whole) == 0 && put_int(param, field, whole);
}

/* A value as the caller has it: text where there is one, else one of the numbers. */
typedef struct given_value {
    const char *text;
    bool is_int;
    int64_t whole;
    double real;
} given_value;

static bool put_value(const blv_param *param, void *field, const given_value *value) {
    if (value->text)
        return put_text(param, field, value->text);
    if (param->type == BLV_INT && value->is_int)
        return put_int(param, field, value->whole);
    if (param->type == BLV_INT)
        return is_whole(value->real) && put_int(param, field, (int64_t)value->real);
    bool exact = !value->is_int || is_whole(value->real);
    return param->type == BLV_REAL && exact && put_real(param, field, value->real);
}

static blv_error set_field(const blv_param *param, void *fields, const char *owner,
                           const given_value *value, blv_message *why) {
    if (put_value(param, (char *)fields + param->offset, value))
        return BLV_OK;
    char number[32], range[160];
    if (value->is_int)
        snprintf(number, sizeof number, "%" PRId64, value->whole);
    else
        blv_number_format(value->real, number, sizeof number);
    blv_params_range(param, range, sizeof range);
    return blv_explain(why, BLV_E_VALUE, "%s: %s = '%.60s' is not allowed: expected %s", owner,
                       param->key, value->text ? value->text : number, range);
}

blv_error blv_params_default(const blv_param *table, void *fields, blv_message *why) {
    if (table && table->key && !fields)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_params_default: fields is NULL");
    for (const blv_param *p = table; p && p->key; p++) {
        const given_value value = {.text = p->value ? p->value : ""};
        BLV_CHECK(set_field(p, fields, "default", &value, why));
    }
    return BLV_OK;
}

static blv_error set_value(const blv_param *table, void *fields, const char *owner, const char *key,
                           const given_value *value, blv_message *why) {
    owner = owner ? owner : "parameters";
    if (!key || !fields)
        return blv_explain(why, BLV_E_ARGUMENT, "%s: a parameter needs fields, a key and a value",
                           owner);
    const blv_param *param = blv_params_find(table, key);
    if (param)
        return set_field(param, fields, owner, value, why);
    if (!table || !table->key)
        return blv_explain(why, BLV_E_NAME, "%s has no parameters, so '%.60s' cannot be set", owner,
                           key);
    blv_nearest nearest = {.name = key};
    for (const blv_param *p = table; p->key; p++)
        blv_nearest_try(&nearest, p->key);
    char lacking[100];
    snprintf(lacking, sizeof lacking, "%.80s has no parameter", owner);
    return blv_explain_name(why, lacking, &nearest);
}

blv_error blv_params_set(const blv_param *table, void *fields, const char *owner, const char *key,
                         const char *value, blv_message *why) {
    const given_value given = {.text = value};
    return set_value(table, fields, owner, value ? key : NULL, &given, why);
}

blv_error blv_params_set_real(const blv_param *table, void *fields, const char *owner,
                              const char *key, double value, blv_message *why) {
    const given_value given = {.real = value};
    return set_value(table, fields, owner, key, &given, why);
}

blv_error blv_params_set_int(const blv_param *table, void *fields, const char *owner,
                             const char *key, int64_t value, blv_message *why) {
    const given_value given = {.is_int = true, .whole = value, .real = (double)value};
    return set_value(table, fields, owner, key, &given, why);
}

void blv_params_format(const blv_param *param, const void *fields, char *text, size_t size) {
    if (text && size > 0)
        text[0] = '\0';
    if (!param || !fields || !text)
        return;
    const char *field = (const char *)fields + param->offset;
    if (param->type == BLV_REAL) {
        double real;
        memcpy(&real, field, sizeof real);
        if (isnan(real) && param->words)
            word_at(param->words, 0, text, size);
        else
            blv_number_format(real, text, size);
    } else if (param->type == BLV_INT) {
        int64_t whole;
        memcpy(&whole, field, sizeof whole);
        if (whole < 0 && param->words)
            word_at(param->words, (int)(-1 - whole), text, size);
        else
            snprintf(text, size, "%" PRId64, whole);
    } else if (param->type == BLV_TEXT) {
        snprintf(text, size, "%s", field);
    } else {
        int word;
        memcpy(&word, field, sizeof word);
        word_at(param->words, word, text, size);
    }
}
