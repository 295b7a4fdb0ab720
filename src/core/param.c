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

static int parse_int(const char *text, int64_t *value) {
    double real;
    const char *digits = text + (*text == '-' || *text == '+');
    size_t length = strspn(digits, "0123456789");
    if (length > 0 && digits[length] == '\0' && length <= 18) {
        *value = strtoll(text, NULL, 10);
        return 0;
    }
    /* 1e6 is what people type for a million */
    if (blv_number_parse(text, &real) != 0 || real != floor(real) || fabs(real) > 9e15)
        return -1;
    *value = (int64_t)real;
    return 0;
}

void blv_params_range(const blv_param *param, char *text, size_t size) {
    if (text && size > 0)
        text[0] = '\0';
    if (!param || !text)
        return;
    if (param->type == BLV_TEXT) {
        snprintf(text, size, "a text of fewer than %d characters", BLV_TEXT_SIZE);
        return;
    }
    if (param->type == BLV_CHOICE) {
        size_t used = 0;
        for (const char *w = param->words; *w && used < size; w += strcspn(w, "|")) {
            w += *w == '|';
            size_t n = strcspn(w, "|");
            const char *joint = used == 0 ? "" : w[n] == '\0' ? " or " : ", ";
            used += (size_t)snprintf(text + used, size - used, "%s%.*s", joint, (int)n, w);
        }
        return;
    }
    const char *noun = param->type == BLV_INT ? "a whole number" : "a number";
    char range[96] = "";
    bool lower = param->lo > -DBL_MAX, upper = param->hi < DBL_MAX;
    const char *above = param->type == BLV_REAL && param->lo == DBL_MIN ? "> 0" : NULL;
    if (above && upper)
        snprintf(range, sizeof range, " %s and <= %g", above, param->hi);
    else if (above)
        snprintf(range, sizeof range, " %s", above);
    else if (lower && upper)
        snprintf(range, sizeof range, " from %g to %g", param->lo, param->hi);
    else if (lower)
        snprintf(range, sizeof range, " >= %g", param->lo);
    else if (upper)
        snprintf(range, sizeof range, " <= %g", param->hi);
    char words[112] = "";
    if (param->words) {
        char first[48], second[48];
        const char *bar = strchr(param->words, '|');
        word_at(param->words, 0, first, sizeof first);
        word_at(param->words, bar ? 1 : 0, second, sizeof second);
        if (bar)
            snprintf(words, sizeof words, ", %s or %s", first, second);
        else
            snprintf(words, sizeof words, " or %s", first);
    }
    snprintf(text, size, "%s%s%s", noun, range, words);
}

const blv_param *blv_params_find(const blv_param *table, const char *key) {
    for (const blv_param *p = table; key && p && p->key; p++)
        if (strcmp(p->key, key) == 0)
            return p;
    return NULL;
}

static blv_error bad_value(const blv_param *param, const char *owner, const char *value,
                           blv_message *why) {
    char range[160];
    blv_params_range(param, range, sizeof range);
    return blv_explain(why, BLV_E_VALUE, "%s: %s = '%.60s' is not allowed: expected %s", owner,
                       param->key, value, range);
}

static blv_error set_field(const blv_param *param, void *fields, const char *owner,
                           const char *value, blv_message *why) {
    char *field = (char *)fields + param->offset;
    int word = word_position(param->words, value);
    double real = 0.0;
    int64_t whole = 0;
    switch (param->type) {
    case BLV_CHOICE:
        if (word < 0)
            return bad_value(param, owner, value, why);
        memcpy(field, &word, sizeof word);
        return BLV_OK;
    case BLV_REAL:
        if (word >= 0)
            real = BLV_WORD_REAL;
        else if (blv_number_parse(value, &real) != 0 || real < param->lo || real > param->hi)
            return bad_value(param, owner, value, why);
        memcpy(field, &real, sizeof real);
        return BLV_OK;
    case BLV_INT:
        if (word >= 0)
            whole = -1 - word;
        else if (parse_int(value, &whole) != 0 || (double)whole < param->lo ||
                 (double)whole > param->hi)
            return bad_value(param, owner, value, why);
        memcpy(field, &whole, sizeof whole);
        return BLV_OK;
    case BLV_TEXT:
        if (strlen(value) >= BLV_TEXT_SIZE)
            return bad_value(param, owner, value, why);
        strcpy(field, value);
        return BLV_OK;
    }
    return BLV_E_ARGUMENT;
}

blv_error blv_params_default(const blv_param *table, void *fields, blv_message *why) {
    if (table && table->key && !fields)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_params_default: fields is NULL");
    for (const blv_param *p = table; p && p->key; p++) {
        blv_error error = set_field(p, fields, "default", p->value, why);
        if (error != BLV_OK)
            return error;
    }
    return BLV_OK;
}

blv_error blv_params_set(const blv_param *table, void *fields, const char *owner, const char *key,
                         const char *value, blv_message *why) {
    owner = owner ? owner : "parameters";
    if (!key || !value || !fields)
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
    const char *guess = blv_nearest_guess(&nearest);
    return blv_explain(why, BLV_E_NAME, "%s has no parameter '%.60s'%s%s%s", owner, key,
                       guess ? "; did you mean '" : "", guess ? guess : "", guess ? "'?" : "");
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
