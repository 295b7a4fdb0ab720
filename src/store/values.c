/* Named values. */
#include "store/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static blv_value *add(blv_values *values, const char *name) {
    blv_value *items = realloc(values->items, (values->count + 1) * sizeof *items);
    if (!items)
        return NULL;
    values->items = items;
    items[values->count] = (blv_value){.name = strdup(name)};
    return items[values->count].name ? &items[values->count++] : NULL;
}

static blv_error set_text(blv_value *value, const char *text) {
    value->kind = BLV_VALUE_TEXT;
    value->text = strdup(text);
    return value->text ? BLV_OK : BLV_E_MEMORY;
}

blv_error blv_values_add_text(blv_values *values, const char *name, const char *text) {
    blv_value *value = add(values, name);
    return value ? set_text(value, text) : BLV_E_MEMORY;
}

static void set_real(blv_value *value, double real) {
    value->kind = isfinite(real) ? BLV_VALUE_REAL : BLV_VALUE_NONE;
    value->real = real;
}

blv_error blv_values_add_real(blv_values *values, const char *name, double real) {
    blv_value *value = add(values, name);
    if (value)
        set_real(value, real);
    return value ? BLV_OK : BLV_E_MEMORY;
}

blv_error blv_values_add_int(blv_values *values, const char *name, int64_t whole) {
    blv_value *value = add(values, name);
    if (!value)
        return BLV_E_MEMORY;
    value->kind = BLV_VALUE_INT;
    value->whole = whole;
    return BLV_OK;
}

static blv_error add_param(blv_values *values, const blv_param *param, const void *fields) {
    const char *field = (const char *)fields + param->offset;
    blv_value *value = add(values, param->key);
    if (!value)
        return BLV_E_MEMORY;
    if (param->type == BLV_REAL)
        memcpy(&value->real, field, sizeof value->real);
    else if (param->type == BLV_INT)
        memcpy(&value->whole, field, sizeof value->whole);
    if (param->type == BLV_REAL && !(param->words && isnan(value->real))) {
        set_real(value, value->real);
        return BLV_OK;
    }
    if (param->type == BLV_INT && !(param->words && value->whole < 0)) {
        value->kind = BLV_VALUE_INT;
        return BLV_OK;
    }
    char word[BLV_TEXT_SIZE] = "";
    blv_params_format(param, fields, word, sizeof word);
    return set_text(value, word);
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

static blv_error add_json(blv_values *values, const char *name, const json_t *from) {
    blv_value *value = add(values, name);
    if (!value)
        return BLV_E_MEMORY;
    if (json_is_real(from))
        *value = (blv_value){value->name, BLV_VALUE_REAL, json_real_value(from), 0, NULL};
    else if (json_is_integer(from))
        *value = (blv_value){value->name, BLV_VALUE_INT, 0.0, json_integer_value(from), NULL};
    else if (json_is_boolean(from))
        *value = (blv_value){value->name, BLV_VALUE_BOOL, 0.0, json_is_true(from), NULL};
    else if (json_is_string(from))
        return set_text(value, json_string_value(from));
    return BLV_OK;
}

blv_error blv_values_read(blv_values *values, const json_t *object) {
    const char *name;
    json_t *value;
    blv_error error = BLV_OK;
    *values = (blv_values){0};
    json_object_foreach((json_t *)(size_t)object, name, value) {
        if (error == BLV_OK)
            error = add_json(values, name, value);
    }
    if (error != BLV_OK)
        blv_values_free(values);
    return error;
}

blv_error blv_values_set(blv_values *values, const char *name, const blv_value *from) {
    size_t i = 0;
    while (i < values->count && strcmp(values->items[i].name, name) != 0)
        i++;
    char *text = from->text ? strdup(from->text) : NULL;
    blv_value *value = i < values->count ? &values->items[i] : add(values, name);
    if (!value || (from->text && !text)) {
        free(text);
        return BLV_E_MEMORY;
    }
    free(value->text);
    *value = (blv_value){value->name, from->kind, from->real, from->whole, text};
    return BLV_OK;
}

blv_error blv_values_update(blv_values *values, const blv_values *from) {
    blv_error error = BLV_OK;
    for (size_t i = 0; i < from->count && error == BLV_OK; i++)
        error = blv_values_set(values, from->items[i].name, &from->items[i]);
    return error;
}

blv_error blv_values_copy(blv_values *to, const blv_values *from) {
    *to = (blv_values){0};
    blv_error error = blv_values_update(to, from);
    if (error != BLV_OK)
        blv_values_free(to);
    return error;
}

const blv_value *blv_values_find(const blv_values *values, const char *name) {
    for (size_t i = 0; i < values->count; i++)
        if (strcmp(values->items[i].name, name) == 0)
            return &values->items[i];
    return NULL;
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
