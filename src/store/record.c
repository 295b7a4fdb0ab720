/* Records to JSON and text, and freeing them. */
#include "store/record.h"

#include "base/number_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Pointers, sizes and whole numbers have 8 bytes on the machines that we know. */
_Static_assert(sizeof(size_t) == sizeof(uint64_t) && sizeof(char *) == sizeof(uint64_t), "");

#define AT(record, offset_, type)                                                                  \
    (*(type const *)(const void *)((const char *)(record) + (offset_)))

/* ---- Values ---- */

json_t *blv_json_real(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *blv_json_string(const char *text) {
    json_t *value = text ? json_string(text) : json_null();
    char *plain = value ? NULL : strdup(text);
    for (char *c = plain; c && *c; c++)
        if ((unsigned char)*c >= 128)
            *c = '?';
    if (plain)
        value = json_string(plain);
    free(plain);
    return value;
}

/* The same, but a text that is not UTF-8 is {"bytes": "63e9"}, which reading a TEXT or PATH takes.
 */
static json_t *bytes_json(const char *text) {
    json_t *value = text ? json_string(text) : json_null();
    if (value)
        return value;
    char *digits = malloc(2 * strlen(text) + 1);
    for (size_t i = 0; digits && text[i]; i++)
        sprintf(digits + 2 * i, "%02x", (unsigned)(unsigned char)text[i]);
    value = digits ? json_pack("{s:s}", "bytes", digits) : NULL;
    free(digits);
    return value;
}

static json_t *value_json(const blv_value *value) {
    return value->kind == BLV_VALUE_REAL   ? blv_json_real(value->real)
           : value->kind == BLV_VALUE_INT  ? json_integer(value->whole)
           : value->kind == BLV_VALUE_BOOL ? json_boolean(value->whole)
           : value->kind == BLV_VALUE_TEXT ? blv_json_string(value->text)
                                           : json_null();
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

static size_t size_of(const blv_field *f) {
    return f->kind == BLV_KIND_CHARS || f->kind == BLV_KIND_RECORD ? f->size
           : f->kind == BLV_KIND_VALUES                            ? sizeof(blv_values)
           : f->kind == BLV_KIND_INT || f->kind == BLV_KIND_WORD   ? sizeof(int)
           : f->kind == BLV_KIND_BOOL                              ? sizeof(bool)
                                                                   : sizeof(uint64_t);
}

blv_field blv_field_element(const blv_field *f) {
    blv_field element = {.name = f->name, .fields = f->fields, .size = f->size};
    element.kind = f->kind & ~(unsigned)BLV_KIND_ARRAY;
    element.size = size_of(&element);
    return element;
}

static json_t *array_json(const blv_field *f, const char *array, size_t count) {
    const blv_field element = blv_field_element(f);
    if (!array && (f->flags & BLV_OPTIONAL))
        return json_null();
    json_t *list = json_array();
    for (size_t i = 0; list && i < count; i++)
        if (json_array_append_new(list, blv_field_json(&element, array + i * element.size)) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

/* ---- Fields ---- */

static json_t *whole_or_null(const blv_field *f, uint64_t value) {
    return value == 0 && (f->flags & BLV_ZERO_IS_NULL) ? json_null()
                                                       : json_integer((json_int_t)value);
}

static json_t *text_or_null(const blv_field *f, const char *text) {
    if (f->flags & BLV_ANY_BYTES)
        return bytes_json(text);
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
        return bytes_json(path);
    char *whole = blv_path_absolute(path);
    json_t *value = whole ? bytes_json(whole) : NULL;
    free(whole);
    return value;
}

json_t *blv_field_json(const blv_field *f, const void *record) {
    if (f->when && !AT(record, f->when - 1, bool))
        return json_null();
    if (f->kind & BLV_KIND_ARRAY)
        return array_json(f, AT(record, f->offset, char *), AT(record, f->count, size_t));
    switch (f->kind) {
    case BLV_KIND_REAL:
        return blv_json_real(AT(record, f->offset, double));
    case BLV_KIND_WHOLE:
        return whole_or_null(f, AT(record, f->offset, uint64_t));
    case BLV_KIND_INT:
        return whole_or_null(f, (uint64_t)AT(record, f->offset, int));
    case BLV_KIND_BOOL:
        return json_boolean(AT(record, f->offset, bool));
    case BLV_KIND_HEX:
        return AT(record, f->offset, uint64_t) || !(f->flags & BLV_ZERO_IS_NULL)
                   ? json_sprintf("%016" PRIx64, AT(record, f->offset, uint64_t))
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
    default: /* RECORD */
        return blv_record_json(f->fields, (const char *)record + f->offset);
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

char *blv_json_text(json_t *value, size_t flags) {
    char *text = value ? json_dumps(value, flags) : NULL;
    json_decref(value);
    return text;
}

char *blv_record_text(const blv_field *table, const void *record) {
    return blv_json_text(blv_record_json(table, record), JSON_REAL_PRECISION(17));
}

const blv_field *blv_field_find(const blv_field *table, const char *name) {
    for (; table->name; table++)
        if (strcmp(table->name, name) == 0)
            return table;
    return NULL;
}

/* ---- Clearing ---- */

#define IN(record, offset_, type) (*(type *)(void *)((char *)(record) + (offset_)))

void blv_record_clear(const blv_field *table, void *record) {
    for (const blv_field *f = table; f->name; f++) {
        if (f->kind == BLV_KIND_RECORD)
            blv_record_clear(f->fields, (char *)record + f->offset);
        else
            memset((char *)record + f->offset, 0, size_of(f));
        if (f->kind == BLV_KIND_REAL)
            IN(record, f->offset, double) = NAN;
        if (f->kind & BLV_KIND_ARRAY)
            IN(record, f->count, size_t) = 0;
        if (f->when)
            IN(record, f->when - 1, bool) = false;
    }
}

static void free_field(const blv_field *f, void *record) {
    if (f->kind == BLV_KIND_VALUES)
        blv_values_free(&IN(record, f->offset, blv_values));
    else if (f->kind == BLV_KIND_RECORD)
        blv_record_free(f->fields, (char *)record + f->offset);
    else if (f->kind == BLV_KIND_TEXT || f->kind == BLV_KIND_PATH || f->kind == BLV_KIND_JSON)
        free(AT(record, f->offset, char *));
    else if (f->kind & BLV_KIND_ARRAY) {
        const blv_field element = blv_field_element(f);
        char *array = AT(record, f->offset, char *);
        for (size_t i = 0; i < AT(record, f->count, size_t); i++)
            free_field(&element, array + i * element.size);
        free(array);
    }
}

void blv_record_free(const blv_field *table, void *record) {
    for (const blv_field *f = table; f->name; f++)
        free_field(f, record);
    blv_record_clear(table, record);
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
    json_t *json = blv_field_json(field, record);
    const blv_value value = blv_value_of_json(json);
    blv_value_show(&value, text);
    json_decref(json);
}
