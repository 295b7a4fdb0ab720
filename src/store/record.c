/* Records to JSON and text. */
#include "store/record.h"

#include "base/number_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT(record, offset_, type)                                                                  \
    (*(type const *)(const void *)((const char *)(record) + (offset_)))

/* ---- Values ---- */

json_t *blv_json_real(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *whole(uint64_t value) {
    return json_integer((json_int_t)value);
}

json_t *blv_json_string(const char *text) {
    if (!text)
        return json_null();
    json_t *value = json_string(text);
    if (value)
        return value;
    size_t size = strlen(text) + 1;
    char *plain = malloc(size);
    if (!plain)
        return NULL;
    memcpy(plain, text, size);
    for (char *c = plain; *c; c++)
        if ((unsigned char)*c >= 128)
            *c = '?';
    value = json_string(plain);
    free(plain);
    return value;
}

static json_t *value_json(const blv_value *value) {
    switch (value->kind) {
    case BLV_VALUE_REAL:
        return blv_json_real(value->real);
    case BLV_VALUE_INT:
        return json_integer(value->whole);
    case BLV_VALUE_BOOL:
        return json_boolean(value->whole);
    case BLV_VALUE_TEXT:
        return blv_json_string(value->text);
    default:
        return json_null();
    }
}

json_t *blv_values_json(const blv_values *values) {
    json_t *object = json_object();
    for (size_t i = 0; object && i < values->count; i++)
        if (json_object_set_new(object, values->items[i].name, value_json(&values->items[i]))) {
            json_decref(object);
            object = NULL;
        }
    return object;
}

/* A text that is not JSON after all is shown as it is. */
static json_t *parsed(const char *text) {
    json_error_t where = {0};
    json_t *value = text ? json_loads(text, JSON_DECODE_ANY, &where) : NULL;
    if (value || (text && json_error_code(&where) <= json_error_stack_overflow))
        return value; /* else it is not JSON, rather than that memory was short */
    return blv_json_string(text);
}

/* ---- Arrays ---- */

bool blv_field_element(const blv_field *f, blv_field *element) {
    static const struct {
        blv_kind kind;
        size_t size;
    } elements[] = {[BLV_KIND_REALS] = {BLV_KIND_REAL, sizeof(double)},
                    [BLV_KIND_WHOLES] = {BLV_KIND_WHOLE, sizeof(uint64_t)},
                    [BLV_KIND_SIZES] = {BLV_KIND_SIZE, sizeof(size_t)},
                    [BLV_KIND_TEXTS] = {BLV_KIND_TEXT, sizeof(char *)},
                    [BLV_KIND_VALUES_LIST] = {BLV_KIND_VALUES, sizeof(blv_values)},
                    [BLV_KIND_RECORDS] = {BLV_KIND_RECORD, 0}};
    if (f->kind < BLV_KIND_REALS)
        return false;
    *element = (blv_field){.name = f->name, .kind = elements[f->kind].kind, .fields = f->fields};
    element->size = f->kind == BLV_KIND_RECORDS ? f->size : elements[f->kind].size;
    return true;
}

static json_t *array_json(const blv_field *f, const char *array, size_t count) {
    blv_field element;
    if (!blv_field_element(f, &element) || (!array && (f->flags & BLV_OPTIONAL)))
        return json_null();
    json_t *list = json_array();
    for (size_t i = 0; list && i < count; i++)
        if (json_array_append_new(list, blv_field_json(&element, array + i * element.size)) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

json_t *blv_records_json(const blv_field *table, const void *records, size_t count, size_t size) {
    const blv_field f = {.kind = BLV_KIND_RECORDS, .fields = table, .size = size};
    return array_json(&f, records, count);
}

/* ---- Fields ---- */

static json_t *whole_or_null(const blv_field *f, uint64_t value) {
    return value == 0 && (f->flags & BLV_ZERO_IS_NULL) ? json_null() : whole(value);
}

static json_t *text_or_null(const blv_field *f, const char *text) {
    return text && !*text && (f->flags & BLV_ZERO_IS_NULL) ? json_null() : blv_json_string(text);
}

char *blv_path_absolute(const char *path) {
    char *folder = path[0] == '/' ? NULL : getcwd(NULL, 0);
    size_t size = strlen(path) + (folder ? strlen(folder) : 0) + 2;
    char *whole = malloc(size);
    if (whole)
        snprintf(whole, size, "%s%s%s", folder ? folder : "", folder ? "/" : "", path);
    free(folder);
    return whole;
}

static json_t *path_json(const blv_field *f, const char *path) {
    if (!path || ((f->flags & BLV_IF_FILE) && access(path, F_OK) != 0))
        return blv_json_string(path);
    char *whole = blv_path_absolute(path);
    json_t *value = whole ? blv_json_string(whole) : NULL;
    free(whole);
    return value;
}

static json_t *hex(uint64_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%016" PRIx64, value);
    return json_string(digits);
}

json_t *blv_field_json(const blv_field *f, const void *record) {
    if (f->when && !AT(record, f->when - 1, bool))
        return json_null();
    switch (f->kind) {
    case BLV_KIND_REAL:
        return blv_json_real(AT(record, f->offset, double));
    case BLV_KIND_WHOLE:
        return whole_or_null(f, AT(record, f->offset, uint64_t));
    case BLV_KIND_SIZE:
        return whole_or_null(f, AT(record, f->offset, size_t));
    case BLV_KIND_INT64:
        return whole_or_null(f, (uint64_t)AT(record, f->offset, int64_t));
    case BLV_KIND_INT:
        return whole_or_null(f, (uint64_t)AT(record, f->offset, int));
    case BLV_KIND_BOOL:
        return json_boolean(AT(record, f->offset, bool));
    case BLV_KIND_HEX:
        return AT(record, f->offset, uint64_t) || !(f->flags & BLV_ZERO_IS_NULL)
                   ? hex(AT(record, f->offset, uint64_t))
                   : json_null();
    case BLV_KIND_TEXT:
        return text_or_null(f, AT(record, f->offset, char *));
    case BLV_KIND_PATH:
        return path_json(f, AT(record, f->offset, char *));
    case BLV_KIND_CHARS:
        return text_or_null(f, (const char *)record + f->offset);
    case BLV_KIND_WORD:
        return json_string(f->words[AT(record, f->offset, int)]);
    case BLV_KIND_JSON:
        return parsed(AT(record, f->offset, char *));
    case BLV_KIND_VALUES:
        return blv_values_json(&AT(record, f->offset, blv_values));
    case BLV_KIND_RECORD:
        return blv_record_json(f->fields, (const char *)record + f->offset);
    default:
        return array_json(f, AT(record, f->offset, char *), AT(record, f->count, size_t));
    }
}

bool blv_record_add(const blv_field *table, const void *record, json_t *object) {
    for (const blv_field *f = table; f->name; f++) {
        json_t *value = blv_field_json(f, record);
        if (json_is_null(value) && (f->flags & BLV_OPTIONAL))
            continue;
        if (json_object_set_new(object, f->name, value) != 0) /* also where value is NULL */
            return false;
    }
    return true;
}

json_t *blv_record_json(const blv_field *table, const void *record) {
    json_t *object = json_object();
    if (object && !blv_record_add(table, record, object)) {
        json_decref(object);
        return NULL;
    }
    return object;
}

char *blv_record_text(const blv_field *table, const void *record) {
    json_t *object = blv_record_json(table, record);
    char *text = object ? json_dumps(object, JSON_REAL_PRECISION(17)) : NULL;
    json_decref(object);
    return text;
}

const blv_field *blv_field_find(const blv_field *table, const char *name) {
    for (; table->name; table++)
        if (strcmp(table->name, name) == 0)
            return table;
    return NULL;
}

/* ---- As text ---- */

void blv_value_show(const blv_value *value, char *text) {
    if (value->kind == BLV_VALUE_REAL || (value->kind == BLV_VALUE_NONE && isinf(value->real)))
        blv_number_format(value->real, text, BLV_SHOWN_SIZE);
    else if (value->kind == BLV_VALUE_INT)
        snprintf(text, BLV_SHOWN_SIZE, "%" PRId64, value->whole);
    else if (value->kind == BLV_VALUE_BOOL)
        snprintf(text, BLV_SHOWN_SIZE, "%s", value->whole ? "yes" : "no");
    else
        snprintf(text, BLV_SHOWN_SIZE, "%s", value->kind == BLV_VALUE_TEXT ? value->text : "-");
}

void blv_field_show(const blv_field *field, const void *record, char *text) {
    json_t *value = blv_field_json(field, record);
    blv_value shown = {0};
    if (json_is_real(value))
        shown = (blv_value){.kind = BLV_VALUE_REAL, .real = json_real_value(value)};
    else if (json_is_integer(value))
        shown = (blv_value){.kind = BLV_VALUE_INT, .whole = json_integer_value(value)};
    else if (json_is_boolean(value))
        shown = (blv_value){.kind = BLV_VALUE_BOOL, .whole = json_is_true(value)};
    snprintf(text, BLV_SHOWN_SIZE, "%s", json_is_string(value) ? json_string_value(value) : "");
    if (!json_is_string(value))
        blv_value_show(&shown, text);
    json_decref(value);
}
