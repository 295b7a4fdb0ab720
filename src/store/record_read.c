/* Records from JSON: loosely what programs have written, strictly what people write. */
#include "store/record.h"

#include "base/message.h"
#include "base/visible_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT(record, offset_, type) (*(type *)(void *)((char *)(record) + (offset_)))

/* ---- Where a value is, and what is wrong with it ---- */

enum { PLACE_SIZE = 256 };

/* The keys that lead to a value, the last one first. */
typedef struct place {
    const struct place *of; /* NULL: the whole */
    const char *key;        /* NULL: an element of an array, */
    size_t index;           /* this one */
} place;

typedef struct reading {
    const char *path; /* of a file, which is read strictly; NULL: loosely */
    blv_message *why;
} reading;

static size_t show_place(const place *p, char text[PLACE_SIZE], size_t used) {
    if (!p)
        return used;
    used = show_place(p->of, text, used);
    size_t left = PLACE_SIZE - used;
    int added = p->key ? snprintf(text + used, left, "%s%s", used ? "." : "", p->key)
                       : snprintf(text + used, left, "[%zu]", p->index);
    return (size_t)added < left ? used + (size_t)added : PLACE_SIZE - 1;
}

/* format: with the place, and then `what`. */
static blv_error reject(const reading *r, const place *p, const char *before, const char *after,
                        const char *what) {
    char where[PLACE_SIZE] = "";
    show_place(p, where, 0);
    return blv_explain(r->why, BLV_E_FORMAT, "%s%s%s%s%s%s", r->path ? r->path : "",
                       r->path ? ": " : "", before, where, after, what);
}

static blv_error wrong(const reading *r, const place *p, const char *expected) {
    return reject(r, p, "", p ? ": expected " : "expected ", expected);
}

static blv_error reject_key(const reading *r, const place *p, const blv_field *fields) {
    blv_nearest nearest = {.name = p->key};
    for (const blv_field *f = fields; f->name; f++)
        blv_nearest_try(&nearest, f->name);
    const char *guess = blv_nearest_guess(&nearest);
    char rest[PLACE_SIZE];
    snprintf(rest, sizeof rest, "%s '%s'%s", guess ? "did you mean" : "expected one such as",
             guess ? guess : fields[0].name, guess ? "?" : "");
    return reject(r, p, "there is no key '", "'; ", rest);
}

static blv_error reject_word(const reading *r, const place *p, const char *word,
                             const char *const *words) {
    char rest[PLACE_SIZE];
    size_t used = (size_t)snprintf(rest, sizeof rest, "'%.60s': expected ", word);
    for (size_t i = 0; words[i] && used < sizeof rest; i++)
        used += (size_t)snprintf(rest + used, sizeof rest - used, "%s%s",
                                 i == 0         ? ""
                                 : words[i + 1] ? ", "
                                                : " or ",
                                 words[i]);
    return reject(r, p, "", " is ", rest);
}

/* ---- Values ---- */

/* What is expected where the value is something else; NULL: it fits. */
static const char *misfit(const blv_field *f, const json_t *value, bool strict) {
    if (f->kind & BLV_KIND_ARRAY) {
        const bool texts = strict && f->kind == BLV_KIND_TEXTS;
        bool fits = json_is_array(value) &&
                    !(strict && (f->flags & BLV_REQUIRED) && json_array_size(value) == 0);
        for (size_t i = 0; texts && i < json_array_size(value); i++)
            fits = fits && json_is_string(json_array_get(value, i));
        return fits      ? NULL
               : !strict ? "an array"
               : texts   ? "an array of texts"
                         : "an array of objects";
    }
    switch (f->kind) { /* of what is no number, jansson says that it is 0 */
    case BLV_KIND_REAL:
        if (strict)
            return json_number_value(value) > 0.0 ? NULL : "a number above 0";
        return json_is_number(value) || json_is_null(value) ? NULL : "a number";
    case BLV_KIND_WHOLE:
    case BLV_KIND_INT:
        if (strict)
            return json_integer_value(value) >= 1 ? NULL : "a whole number from 1 on";
        return json_is_integer(value) ? NULL : "a whole number";
    case BLV_KIND_BOOL:
        return json_is_boolean(value) ? NULL : "true or false";
    case BLV_KIND_VALUES:
        return json_is_object(value) ? NULL
               : strict              ? "an object of settings, {\"KEY\": VALUE, ...}"
                                     : "an object";
    case BLV_KIND_JSON:
    case BLV_KIND_RECORD:
        return NULL;
    default:
        if (!strict && (f->kind == BLV_KIND_TEXT || f->kind == BLV_KIND_PATH) &&
            json_is_string(json_object_get(value, "bytes")))
            return NULL;
        if (strict && json_is_string(value) && !blv_is_visible(json_string_value(value)))
            return "a text without control characters";
        return json_is_string(value) ? NULL : "a text";
    }
}

/* A file below the present folder is named from there. */
static void shorten_path(char *path) {
    char *folder = getcwd(NULL, 0);
    size_t length = folder ? strlen(folder) : 0;
    if (length > 1 && strncmp(path, folder, length) == 0 && path[length] == '/')
        memmove(path, path + length + 1, strlen(path + length + 1) + 1);
    free(folder);
}

/* What bytes_json in record.c has written, to be freed; NULL: memory is short. */
static char *read_text(const json_t *value) {
    const char *digits = json_string_value(json_object_get(value, "bytes"));
    if (!digits)
        return strdup(json_string_value(value));
    const size_t size = strlen(digits) / 2;
    char *text = calloc(size + 1, 1);
    unsigned byte;
    for (size_t i = 0; text && i < size && sscanf(digits + 2 * i, "%2x", &byte) == 1; i++)
        text[i] = (char)byte;
    return text;
}

static blv_error read_word(const reading *r, const place *p, const blv_field *f, int *to,
                           const char *word) {
    for (int i = 0; f->words[i]; i++)
        if (strcmp(f->words[i], word) == 0) {
            *to = i;
            return BLV_OK;
        }
    return reject_word(r, p, word, f->words);
}

static blv_error read_values(const reading *r, const place *p, blv_values *to,
                             const json_t *object) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(size_t)object, key, value) {
        if (r->path && !json_is_string(value) && !json_is_number(value))
            return wrong(r, &(place){.of = p, .key = key}, "a text or a number");
    }
    return blv_values_read(to, object);
}

static blv_error read_field(const reading *r, const place *p, const blv_field *f, void *record,
                            const json_t *value);

static blv_error read_array(const reading *r, const place *p, const blv_field *f, void *record,
                            const json_t *list) {
    const blv_field element = blv_field_element(f);
    const size_t length = json_array_size(list);
    char *array = length > 0 ? calloc(length, element.size) : NULL;
    if (length > 0 && !array)
        return BLV_E_MEMORY;
    AT(record, f->offset, char *) = array;
    for (size_t i = 0; i < length; i++) {
        const json_t *value = json_array_get(list, i);
        AT(record, f->count, size_t) = i + 1;
        if (!json_is_null(value) || element.kind != BLV_KIND_TEXT)
            BLV_CHECK(read_field(r, &(place){.of = p, .index = i}, &element,
                                 array + i * element.size, value));
    }
    return BLV_OK;
}

/* ---- Records ---- */

static blv_error read_fields(const reading *r, const place *p, const blv_field *table, void *record,
                             const json_t *object) {
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return wrong(r, p, p ? "an object" : "a JSON object");
    json_object_foreach((json_t *)(size_t)object, key, value) {
        if (r->path && !blv_field_find(table, key))
            return reject_key(r, &(place){.of = p, .key = key}, table);
    }
    for (const blv_field *f = table; f->name; f++) {
        const place at = {.of = p, .key = f->name};
        value = json_object_get(object, f->name);
        if (value && (r->path || !json_is_null(value)))
            BLV_CHECK(read_field(r, &at, f, record, value));
        else if (f->flags & BLV_REQUIRED)
            return reject(r, &at, "'", "' is missing", "");
    }
    return BLV_OK;
}

/* Nothing is left to be freed on error. */
static blv_error read_record(const reading *r, const place *p, const blv_field *table, void *record,
                             const json_t *object) {
    blv_record_clear(table, record);
    blv_error error = read_fields(r, p, table, record, object);
    if (error != BLV_OK)
        blv_record_free(table, record);
    return error == BLV_E_MEMORY ? blv_explain_memory(r->why) : error;
}

static blv_error read_value(const reading *r, const place *p, const blv_field *f, void *record,
                            const json_t *value) {
    const char *text = json_string_value(value), *expected = misfit(f, value, r->path != NULL);
    char *made;
    if (expected)
        return wrong(r, p, expected);
    if (f->kind & BLV_KIND_ARRAY)
        return read_array(r, p, f, record, value);
    switch (f->kind) {
    case BLV_KIND_REAL: /* a number that is written as 1 may be one of 1.0 */
        AT(record, f->offset, double) =
            json_is_null(value) ? (double)NAN : json_number_value(value);
        return BLV_OK;
    case BLV_KIND_WHOLE:
        AT(record, f->offset, uint64_t) = (uint64_t)json_integer_value(value);
        return BLV_OK;
    case BLV_KIND_INT:
        AT(record, f->offset, int) = (int)json_integer_value(value);
        return BLV_OK;
    case BLV_KIND_BOOL:
        AT(record, f->offset, bool) = json_is_true(value);
        return BLV_OK;
    case BLV_KIND_HEX:
        AT(record, f->offset, uint64_t) = strtoull(text, NULL, 16);
        return BLV_OK;
    case BLV_KIND_CHARS:
        snprintf((char *)record + f->offset, f->size, "%s", text);
        return BLV_OK;
    case BLV_KIND_WORD:
        return read_word(r, p, f, &AT(record, f->offset, int), text);
    case BLV_KIND_VALUES:
        return read_values(r, p, &AT(record, f->offset, blv_values), value);
    case BLV_KIND_RECORD:
        return read_record(r, p, f->fields, (char *)record + f->offset, value);
    default: /* TEXT, PATH and JSON */
        made = f->kind == BLV_KIND_JSON
                   ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17))
                   : read_text(value);
        if (made && f->kind == BLV_KIND_PATH)
            shorten_path(made);
        AT(record, f->offset, char *) = made;
        return made ? BLV_OK : BLV_E_MEMORY;
    }
}

static blv_error read_field(const reading *r, const place *p, const blv_field *f, void *record,
                            const json_t *value) {
    BLV_CHECK(read_value(r, p, f, record, value));
    if (f->when)
        AT(record, f->when - 1, bool) = true;
    return BLV_OK;
}

blv_error blv_field_read(const blv_field *field, void *record, const json_t *value,
                         blv_message *why) {
    return read_field(&(reading){.why = why}, &(place){.key = field->name}, field, record, value);
}

blv_error blv_record_read(const blv_field *table, void *record, const json_t *object,
                          blv_message *why) {
    return read_record(&(reading){.why = why}, NULL, table, record, object);
}

blv_error blv_record_read_file(const blv_field *table, void *record, const json_t *object,
                               const char *path, const char *where, blv_message *why) {
    const place p = {.key = where};
    return read_record(&(reading){path, why}, *where ? &p : NULL, table, record, object);
}

blv_error blv_record_parse(const blv_field *table, void *record, const char *text,
                           blv_message *why) {
    json_error_t where;
    json_t *object = json_loads(text, 0, &where);
    if (!object && json_error_code(&where) == json_error_out_of_memory)
        return blv_explain_memory(why);
    blv_error error = blv_record_read(table, record, object, why);
    json_decref(object);
    return error;
}
