#include "bench/suite_check.h"

#include "base/message.h"
#include "bilevel/solver.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PLACE_SIZE = 256 };

/* What is checked: the file, and where to say what is wrong with it. */
typedef struct context {
    const char *path;
    blv_message *why;
} context;

/* ---- Messages ---- */

static blv_error expect(const context *c, bool fits, const char *where, const char *what) {
    return fits ? BLV_OK
                : blv_explain(c->why, BLV_E_FORMAT, "%s: %s: expected %s", c->path, where, what);
}

static blv_error reject_key(const context *c, const char *where, const blv_field *fields) {
    const char *name = strrchr(where, '.');
    blv_nearest nearest = {.name = name ? name + 1 : where};
    for (const blv_field *f = fields; f->name; f++)
        blv_nearest_try(&nearest, f->name);
    const char *guess = blv_nearest_guess(&nearest);
    return blv_explain(c->why, BLV_E_FORMAT, "%s: there is no key '%s'; %s '%s'%s", c->path, where,
                       guess ? "did you mean" : "expected one such as",
                       guess ? guess : fields[0].name, guess ? "?" : "");
}

static void join(char place[PLACE_SIZE], const char *where, const char *key) {
    snprintf(place, PLACE_SIZE, "%.120s%s%.120s", where, *where ? "." : "", key);
}

/* ---- Values ---- */

static blv_error check_object(const context *c, const char *where, json_t *object,
                              const blv_field *fields);

static bool is_value(const json_t *value) {
    return json_is_string(value) || json_is_number(value);
}

static blv_error check_array(const context *c, const char *where, const json_t *value, bool texts,
                             bool may_be_empty) {
    size_t i;
    json_t *item;
    bool fits = json_is_array(value) && (json_array_size(value) > 0 || may_be_empty);
    json_array_foreach(value, i, item) {
        fits = fits && (texts ? json_is_string(item) : is_value(item));
    }
    return expect(c, fits, where, texts ? "an array of texts" : "an array of texts and numbers");
}

/* {"KEY": VALUE, ...}, or {"KEY": [VALUE, ...], ...} with at least one key. */
static blv_error check_settings(const context *c, const char *where, json_t *value, bool grid) {
    const char *key;
    json_t *item;
    BLV_CHECK(expect(c, json_is_object(value) && (json_object_size(value) > 0 || !grid), where,
                     grid ? "an object of arrays, {\"KEY\": [VALUE, ...], ...}"
                          : "an object of settings, {\"KEY\": VALUE, ...}"));
    json_object_foreach(value, key, item) {
        char place[PLACE_SIZE];
        join(place, where, key);
        BLV_CHECK(grid ? check_array(c, place, item, false, false)
                       : expect(c, is_value(item), place, "a text or a number"));
    }
    return BLV_OK;
}

static blv_error check_word(const context *c, const char *where, const json_t *value,
                            const char *const *words) {
    const char *text = json_string_value(value);
    char list[PLACE_SIZE] = "";
    BLV_CHECK(expect(c, text, where, "a text"));
    for (size_t i = 0; words[i]; i++) {
        size_t used = strlen(list);
        const char *joint = i == 0 ? "" : words[i + 1] ? ", " : " or ";
        snprintf(list + used, sizeof list - used, "%s%s", joint, words[i]);
        if (strcmp(words[i], text) == 0)
            return BLV_OK;
    }
    return blv_explain(c->why, BLV_E_FORMAT, "%s: %s is '%s': expected %s", c->path, where, text,
                       list);
}

static blv_error check_objects(const context *c, const char *where, const json_t *value,
                               const blv_field *fields) {
    size_t i;
    json_t *item;
    BLV_CHECK(expect(c, json_is_array(value), where, "an array of objects"));
    json_array_foreach(value, i, item) {
        char place[PLACE_SIZE];
        snprintf(place, sizeof place, "%.200s[%zu]", where, i);
        BLV_CHECK(check_object(c, place, item, fields));
    }
    return BLV_OK;
}

static blv_error check_value(const context *c, const char *where, json_t *value,
                             const blv_field *f) {
    switch (f->kind) {
    case BLV_KIND_TEXT:
        return expect(c, json_is_string(value), where, "a text");
    case BLV_KIND_WORD:
        return check_word(c, where, value, f->words);
    case BLV_KIND_TEXTS:
        return check_array(c, where, value, true, !(f->flags & BLV_REQUIRED));
    case BLV_KIND_BOOL:
        return expect(c, json_is_boolean(value), where, "true or false");
    case BLV_KIND_WHOLE:
        return expect(c, json_is_integer(value) && json_integer_value(value) >= 1, where,
                      "a whole number from 1 on");
    case BLV_KIND_REAL:
        return expect(c, json_is_number(value) && json_number_value(value) > 0.0, where,
                      "a number above 0");
    case BLV_KIND_VALUES:
        return check_settings(c, where, value, false);
    case BLV_KIND_RECORDS:
        return check_objects(c, where, value, f->fields);
    default: /* RECORD and JSON */
        if (f->fields)
            return check_object(c, where, value, f->fields);
        return strcmp(f->name, "grid") == 0 ? check_settings(c, where, value, true)
                                            : check_array(c, where, value, false, false);
    }
}

static blv_error check_object(const context *c, const char *where, json_t *object,
                              const blv_field *fields) {
    const char *key;
    json_t *value;
    char place[PLACE_SIZE];
    BLV_CHECK(expect(c, json_is_object(object), where, "an object"));
    json_object_foreach(object, key, value) {
        const blv_field *field = blv_field_find(fields, key);
        join(place, where, key);
        BLV_CHECK(field ? check_value(c, place, value, field) : reject_key(c, place, fields));
    }
    for (const blv_field *f = fields; f->name; f++) {
        join(place, where, f->name);
        if ((f->flags & BLV_REQUIRED) && !json_object_get(object, f->name))
            return blv_explain(c->why, BLV_E_FORMAT, "%s: '%s' is missing", c->path, place);
    }
    return BLV_OK;
}

blv_error bench_check_object(const char *path, const char *where, json_t *object,
                             const blv_field *fields, blv_message *why) {
    return check_object(&(context){path, why}, where, object, fields);
}

blv_error bench_check_grid(const char *path, const char *where, json_t *value, blv_message *why) {
    return check_settings(&(context){path, why}, where, value, true);
}

/* ---- Files ---- */

blv_error bench_json_load(const char *path, json_t **object, blv_message *why) {
    json_error_t at;
    FILE *file = fopen(path, "r");
    *object = NULL;
    if (!file)
        return blv_explain(why, BLV_E_FILE, "%s: cannot be read: %s", path, strerror(errno));
    json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, &at);
    int failed = ferror(file) ? errno : 0;
    fclose(file);
    if (!failed && json_is_object(root)) {
        *object = root;
        return BLV_OK;
    }
    bool parsed = root != NULL;
    json_decref(root);
    if (failed)
        return blv_explain(why, BLV_E_FILE, "%s: cannot be read: %s", path, strerror(failed));
    if (parsed)
        return blv_explain(why, BLV_E_FORMAT, "%s: the file: expected an object, { ... }", path);
    if (json_error_code(&at) == json_error_out_of_memory)
        return BLV_E_MEMORY;
    return blv_explain(why, BLV_E_FORMAT, "%s: line %d, column %d: %s", path, at.line, at.column,
                       at.text);
}
