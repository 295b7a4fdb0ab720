/* Named values. */
#include "store/record.h"

#include "base/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const blv_value *blv_values_find(const blv_values *values, const char *name) {
    for (size_t i = 0; i < values->count; i++)
        if (strcmp(values->items[i].name, name) == 0)
            return &values->items[i];
    return NULL;
}

double blv_values_number(const blv_values *values, const char *name) {
    const blv_value *value = values ? blv_values_find(values, name) : NULL;
    if (!value || (value->kind != BLV_VALUE_REAL && value->kind != BLV_VALUE_INT))
        return NAN;
    return value->kind == BLV_VALUE_REAL ? value->real : (double)value->whole;
}

static blv_value *add(blv_values *values, const char *name) {
    char *copy = strdup(name);
    blv_value *value = copy ? blv_array_add(&values->items, &values->count, sizeof *value) : NULL;
    if (value)
        value->name = copy;
    else
        free(copy);
    return value;
}

blv_error blv_values_set(blv_values *values, const char *name, const blv_value *from) {
    const blv_value *known = blv_values_find(values, name);
    char *text = from->text ? strdup(from->text) : NULL;
    blv_value *value = known ? &values->items[known - values->items] : add(values, name);
    if (!value || (from->text && !text)) {
        free(text);
        return BLV_E_MEMORY;
    }
    free(value->text);
    *value = (blv_value){value->name, from->kind, from->real, from->whole, text};
    return BLV_OK;
}

static blv_value real_value(double real) {
    return (blv_value){.kind = isfinite(real) ? BLV_VALUE_REAL : BLV_VALUE_NONE, .real = real};
}

blv_error blv_values_add_text(blv_values *values, const char *name, const char *text) {
    const blv_value value = {.kind = BLV_VALUE_TEXT, .text = (char *)(size_t)text};
    return blv_values_set(values, name, &value);
}

blv_error blv_values_add_real(blv_values *values, const char *name, double real) {
    const blv_value value = real_value(real);
    return blv_values_set(values, name, &value);
}

blv_error blv_values_add_int(blv_values *values, const char *name, int64_t whole) {
    return blv_values_set(values, name, &(blv_value){.kind = BLV_VALUE_INT, .whole = whole});
}

/* ---- From parameters, from JSON ---- */

static blv_error add_param(blv_values *values, const blv_param *param, const void *fields) {
    const char *field = (const char *)fields + param->offset;
    char word[BLV_TEXT_SIZE] = "";
    double real = 0.0;
    int64_t whole = 0;
    if (param->type == BLV_REAL)
        memcpy(&real, field, sizeof real);
    else if (param->type == BLV_INT)
        memcpy(&whole, field, sizeof whole);
    if (param->type == BLV_REAL && !(param->words && isnan(real)))
        return blv_values_add_real(values, param->key, real);
    if (param->type == BLV_INT && !(param->words && whole < 0))
        return blv_values_add_int(values, param->key, whole);
    blv_params_format(param, fields, word, sizeof word);
    return blv_values_add_text(values, param->key, word);
}

blv_error blv_values_of_params(blv_values *values, const blv_param *params, const void *fields) {
    *values = (blv_values){0};
    blv_error error = BLV_OK;
    for (const blv_param *p = params; p && p->key && error == BLV_OK; p++)
        error = add_param(values, p, fields);
    if (error != BLV_OK)
        blv_values_free(values);
    return error;
}

blv_value blv_value_of_json(const json_t *from) {
    if (json_is_real(from))
        return real_value(json_real_value(from));
    if (json_is_integer(from))
        return (blv_value){.kind = BLV_VALUE_INT, .whole = json_integer_value(from)};
    if (json_is_boolean(from))
        return (blv_value){.kind = BLV_VALUE_BOOL, .whole = json_is_true(from)};
    if (json_is_string(from))
        return (blv_value){.kind = BLV_VALUE_TEXT, .text = (char *)(size_t)json_string_value(from)};
    return (blv_value){0};
}

blv_error blv_values_read(blv_values *values, const json_t *object) {
    const char *name;
    json_t *from;
    *values = (blv_values){0};
    json_object_foreach((json_t *)(size_t)object, name, from) {
        const blv_value value = blv_value_of_json(from);
        blv_error error = blv_values_set(values, name, &value);
        if (error != BLV_OK) {
            blv_values_free(values);
            return error;
        }
    }
    return BLV_OK;
}

/* ---- All of them ---- */

blv_error blv_values_update(blv_values *values, const blv_values *from) {
    for (size_t i = 0; i < from->count; i++)
        BLV_CHECK(blv_values_set(values, from->items[i].name, &from->items[i]));
    return BLV_OK;
}

blv_error blv_values_complete(blv_values *values, const blv_values *from) {
    for (size_t i = 0; i < from->count; i++)
        if (!blv_values_find(values, from->items[i].name))
            BLV_CHECK(blv_values_set(values, from->items[i].name, &from->items[i]));
    return BLV_OK;
}

blv_error blv_values_copy(blv_values *to, const blv_values *from) {
    *to = (blv_values){0};
    blv_error error = blv_values_update(to, from);
    if (error != BLV_OK)
        blv_values_free(to);
    return error;
}

bool blv_value_equal(const blv_value *a, const blv_value *b) {
    if (!a || !b)
        return !a && !b;
    if (a->kind != b->kind || a->whole != b->whole)
        return false;
    if (a->kind == BLV_VALUE_REAL)
        return a->real == b->real;
    return a->kind != BLV_VALUE_TEXT || strcmp(a->text, b->text) == 0;
}

bool blv_values_equal(const blv_values *a, const blv_values *b) {
    bool equal = a->count == b->count;
    for (size_t i = 0; equal && i < a->count; i++)
        equal = blv_value_equal(&a->items[i], blv_values_find(b, a->items[i].name));
    return equal;
}

void blv_values_free(blv_values *values) {
    for (size_t i = 0; i < values->count; i++) {
        free(values->items[i].name);
        free(values->items[i].text);
    }
    free(values->items);
    *values = (blv_values){0};
}
