/* Records from JSON. */
#include "store/record.h"

#include "base/message.h"
#include "bilevel/solver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Pointers, sizes and whole numbers have 8 bytes on the machines that we know. */
_Static_assert(sizeof(size_t) == sizeof(uint64_t) && sizeof(char *) == sizeof(uint64_t), "");

#define AT(record, offset_, type) (*(type *)(void *)((char *)(record) + (offset_)))

static blv_error wrong(const blv_field *f, const char *expected, blv_message *why) {
    return blv_explain(why, BLV_E_FORMAT, "%s: expected %s", f->name, expected);
}

static blv_error read_text(char **to, const json_t *value) {
    *to = strdup(json_string_value(value));
    return *to ? BLV_OK : BLV_E_MEMORY;
}

/* A file below the present folder is named from there. */
static blv_error read_path(char **to, const json_t *value) {
    BLV_CHECK(read_text(to, value));
    char *folder = getcwd(NULL, 0);
    size_t length = folder ? strlen(folder) : 0;
    if (length > 1 && strncmp(*to, folder, length) == 0 && (*to)[length] == '/')
        memmove(*to, *to + length + 1, strlen(*to + length + 1) + 1);
    free(folder);
    return BLV_OK;
}

/* A number that is written as 1 may be one of 1.0. */
static blv_error read_real(const blv_field *f, double *to, const json_t *value, blv_message *why) {
    if (!json_is_number(value) && !json_is_null(value))
        return wrong(f, "a number", why);
    *to = json_is_number(value) ? json_number_value(value) : (double)NAN;
    return BLV_OK;
}

static blv_error read_whole(const blv_field *f, uint64_t *to, const json_t *value,
                            blv_message *why) {
    if (!json_is_integer(value))
        return wrong(f, "a whole number", why);
    *to = (uint64_t)json_integer_value(value);
    return BLV_OK;
}

static blv_error read_number(const blv_field *f, void *record, const json_t *value,
                             blv_message *why) {
    uint64_t whole = 0;
    blv_error error = read_whole(f, &whole, value, why);
    if (error != BLV_OK)
        return error;
    if (f->kind == BLV_KIND_INT)
        AT(record, f->offset, int) = (int)(int64_t)whole;
    else if (f->kind == BLV_KIND_SIZE)
        AT(record, f->offset, size_t) = (size_t)whole;
    else
        AT(record, f->offset, uint64_t) = whole;
    return BLV_OK;
}

static blv_error read_string(const blv_field *f, void *record, const json_t *value,
                             blv_message *why) {
    if (!json_is_string(value))
        return wrong(f, "a text", why);
    const char *text = json_string_value(value);
    if (f->kind == BLV_KIND_TEXT)
        return read_text(&AT(record, f->offset, char *), value);
    if (f->kind == BLV_KIND_PATH)
        return read_path(&AT(record, f->offset, char *), value);
    if (f->kind == BLV_KIND_CHARS)
        snprintf((char *)record + f->offset, f->size, "%s", text);
    else if (f->kind == BLV_KIND_HEX)
        AT(record, f->offset, uint64_t) = strtoull(text, NULL, 16);
    else {
        int i = 0;
        while (f->words[i] && strcmp(f->words[i], text) != 0)
            i++;
        if (!f->words[i])
            return blv_explain(why, BLV_E_FORMAT, "%s: unknown word '%.60s'", f->name, text);
        AT(record, f->offset, int) = i;
    }
    return BLV_OK;
}

static blv_error read_array(const blv_field *f, const blv_field *element, void *record,
                            const json_t *list, blv_message *why) {
    size_t length = json_array_size(list);
    if (!json_is_array(list))
        return wrong(f, "an array", why);
    if (length == 0)
        return BLV_OK;
    char *array = calloc(length, element->size);
    if (!array)
        return BLV_E_MEMORY;
    AT(record, f->offset, char *) = array;
    blv_error error = BLV_OK;
    for (size_t i = 0; i < length && error == BLV_OK; i++) {
        const json_t *value = json_array_get(list, i);
        AT(record, f->count, size_t) = i + 1;
        if (!json_is_null(value) || element->kind != BLV_KIND_TEXT)
            error = blv_field_read(element, array + i * element->size, value, why);
    }
    return error;
}

/* ---- Fields ---- */

static blv_error read_value(const blv_field *f, void *record, const json_t *value,
                            blv_message *why) {
    blv_field element;
    switch (f->kind) {
    case BLV_KIND_REAL:
        return read_real(f, &AT(record, f->offset, double), value, why);
    case BLV_KIND_WHOLE:
    case BLV_KIND_SIZE:
    case BLV_KIND_INT64:
    case BLV_KIND_INT:
        return read_number(f, record, value, why);
    case BLV_KIND_BOOL:
        if (!json_is_boolean(value))
            return wrong(f, "true or false", why);
        AT(record, f->offset, bool) = json_is_true(value);
        return BLV_OK;
    case BLV_KIND_HEX:
    case BLV_KIND_TEXT:
    case BLV_KIND_PATH:
    case BLV_KIND_CHARS:
    case BLV_KIND_WORD:
        return read_string(f, record, value, why);
    case BLV_KIND_JSON:
        AT(record, f->offset, char *) =
            json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
        return AT(record, f->offset, char *) ? BLV_OK : BLV_E_MEMORY;
    case BLV_KIND_VALUES:
        return json_is_object(value) ? blv_values_read(&AT(record, f->offset, blv_values), value)
                                     : wrong(f, "an object", why);
    case BLV_KIND_RECORD:
        return blv_record_read(f->fields, (char *)record + f->offset, value, why);
    default:
        blv_field_element(f, &element);
        return read_array(f, &element, record, value, why);
    }
}

blv_error blv_field_read(const blv_field *field, void *record, const json_t *value,
                         blv_message *why) {
    blv_error error = read_value(field, record, value, why);
    if (error == BLV_OK && field->when)
        AT(record, field->when - 1, bool) = true;
    return error;
}

static void free_field(const blv_field *f, void *record) {
    blv_field element;
    char **block = &AT(record, f->offset, char *);
    if (f->kind == BLV_KIND_VALUES)
        blv_values_free(&AT(record, f->offset, blv_values));
    else if (f->kind == BLV_KIND_RECORD)
        blv_record_free(f->fields, (char *)record + f->offset);
    else if (f->kind == BLV_KIND_TEXT || f->kind == BLV_KIND_PATH || f->kind == BLV_KIND_JSON)
        free(*block);
    else if (blv_field_element(f, &element)) {
        for (size_t i = 0; i < AT(record, f->count, size_t); i++)
            free_field(&element, *block + i * element.size);
        free(*block);
    }
}

/* ---- Records ---- */

void blv_record_clear(const blv_field *table, void *record) {
    for (const blv_field *f = table; f->name; f++) {
        char *at = (char *)record + f->offset;
        if (f->kind == BLV_KIND_REAL)
            AT(record, f->offset, double) = NAN;
        else if (f->kind == BLV_KIND_RECORD)
            blv_record_clear(f->fields, at);
        else if (f->kind == BLV_KIND_BOOL)
            AT(record, f->offset, bool) = false;
        else
            memset(at, 0,
                   f->kind == BLV_KIND_CHARS                             ? f->size
                   : f->kind == BLV_KIND_VALUES                          ? sizeof(blv_values)
                   : f->kind == BLV_KIND_INT || f->kind == BLV_KIND_WORD ? sizeof(int)
                                                                         : sizeof(uint64_t));
        if (f->kind >= BLV_KIND_REALS)
            AT(record, f->count, size_t) = 0;
        if (f->when)
            AT(record, f->when - 1, bool) = false;
    }
}

static blv_error read_fields(const blv_field *table, void *record, const json_t *object,
                             blv_message *why) {
    for (const blv_field *f = table; f->name; f++) {
        const json_t *value = json_object_get(object, f->name);
        if (!value || json_is_null(value)) {
            if (f->flags & BLV_REQUIRED)
                return blv_explain(why, BLV_E_FORMAT, "%s is missing", f->name);
            continue;
        }
        blv_error error = blv_field_read(f, record, value, why);
        if (error != BLV_OK)
            return error;
    }
    return BLV_OK;
}

blv_error blv_record_read(const blv_field *table, void *record, const json_t *object,
                          blv_message *why) {
    blv_record_clear(table, record);
    if (!json_is_object(object))
        return blv_explain(why, BLV_E_FORMAT, "expected a JSON object");
    blv_error error = read_fields(table, record, object, why);
    if (error == BLV_OK)
        return BLV_OK;
    blv_record_free(table, record);
    return error == BLV_E_MEMORY ? blv_explain(why, error, "%s", blv_error_text(error)) : error;
}

blv_error blv_record_parse(const blv_field *table, void *record, const char *text,
                           blv_message *why) {
    json_error_t where;
    json_t *object = json_loads(text, 0, &where);
    if (!object && json_error_code(&where) == json_error_out_of_memory)
        return blv_explain(why, BLV_E_MEMORY, "%s", blv_error_text(BLV_E_MEMORY));
    blv_error error = blv_record_read(table, record, object, why);
    json_decref(object);
    return error;
}

void blv_record_free(const blv_field *table, void *record) {
    for (const blv_field *f = table; f->name; f++)
        free_field(f, record);
    blv_record_clear(table, record);
}
