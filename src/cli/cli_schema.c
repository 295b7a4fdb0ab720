#include "cli_schema.h"
#include "cli_common.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHERE_SIZE = 256 };

/* ---- Complaints ---- */

static bool refuse(const char *path, const char *where, const char *expected) {
    cli_complain("%s: %s: expected %s", path, where, expected);
    return false;
}

static bool refuse_key(const char *path, const char *where, const cli_field *fields) {
    const char *name = strrchr(where, '.');
    cli_nearest nearest = {.word = name ? name + 1 : where};
    for (const cli_field *f = fields; f->key; f++)
        cli_nearest_try(&nearest, f->key);
    if (nearest.best)
        cli_complain("%s: there is no key '%s'; did you mean '%s'?", path, where, nearest.best);
    else
        cli_complain("%s: there is no key '%s'; expected one such as '%s'", path, where,
                     fields[0].key);
    return false;
}

static bool refuse_word(const char *path, const char *where, const char *word,
                        const char *const *words) {
    char list[WHERE_SIZE] = "";
    size_t used = 0;
    for (size_t i = 0; words[i] && used < sizeof list; i++) {
        int n = snprintf(list + used, sizeof list - used, "%s%s",
                         i == 0         ? ""
                         : words[i + 1] ? ", "
                                        : " or ",
                         words[i]);
        used += n > 0 ? (size_t)n : 0;
    }
    cli_complain("%s: %s is '%s': expected %s", path, where, word, list);
    return false;
}

static void join(char place[WHERE_SIZE], const char *where, const char *key) {
    snprintf(place, WHERE_SIZE, "%.120s%s%.120s", where, *where ? "." : "", key);
}

/* ---- Values ---- */

static bool is_value(const json_t *value) {
    return json_is_string(value) || json_is_number(value);
}

static bool is_settings(const char *path, const char *where, json_t *value) {
    const char *key;
    json_t *item;
    if (!json_is_object(value))
        return refuse(path, where, "an object of settings, {\"KEY\": VALUE, ...}");
    json_object_foreach(value, key, item) {
        char place[WHERE_SIZE];
        join(place, where, key);
        if (!is_value(item))
            return refuse(path, place, "a text or a number");
    }
    return true;
}

static bool is_array_of(const char *path, const char *where, const json_t *value, bool texts,
                        bool may_be_empty) {
    size_t i;
    json_t *item;
    const char *expected = texts ? "an array of texts" : "an array of texts and numbers";
    if (!json_is_array(value) || (json_array_size(value) == 0 && !may_be_empty))
        return refuse(path, where, expected);
    json_array_foreach(value, i, item) {
        if (texts ? !json_is_string(item) : !is_value(item))
            return refuse(path, where, expected);
    }
    return true;
}

bool cli_schema_is_grid(const char *path, const char *where, json_t *value) {
    const char *key;
    json_t *item;
    if (!json_is_object(value) || json_object_size(value) == 0)
        return refuse(path, where, "an object of arrays, {\"KEY\": [VALUE, ...], ...}");
    json_object_foreach(value, key, item) {
        char place[WHERE_SIZE];
        join(place, where, key);
        if (!is_array_of(path, place, item, false, false))
            return false;
    }
    return true;
}

static bool is_text(const char *path, const char *where, const json_t *value,
                    const char *const *words) {
    const char *text = json_string_value(value);
    if (!text)
        return refuse(path, where, "a text");
    for (size_t i = 0; words && words[i]; i++)
        if (strcmp(words[i], text) == 0)
            return true;
    return words ? refuse_word(path, where, text, words) : true;
}

static bool is_object(const char *path, const char *where, json_t *value, const cli_field *fields) {
    return json_is_object(value) ? cli_schema_holds(path, where, value, fields)
                                 : refuse(path, where, "an object");
}

static bool are_objects(const char *path, const char *where, json_t *value,
                        const cli_field *fields) {
    size_t i;
    json_t *item;
    if (!json_is_array(value))
        return refuse(path, where, "an array of objects");
    json_array_foreach(value, i, item) {
        char place[WHERE_SIZE];
        snprintf(place, sizeof place, "%.200s[%zu]", where, i);
        if (!is_object(path, place, item, fields))
            return false;
    }
    return true;
}

static bool fits(const char *path, const char *where, json_t *value, const cli_field *field) {
    switch (field->type) {
    case CLI_FIELD_TEXT:
    case CLI_FIELD_NEEDED_TEXT:
        return is_text(path, where, value, field->words);
    case CLI_FIELD_TEXTS:
    case CLI_FIELD_NEEDED_TEXTS:
        return is_array_of(path, where, value, true, field->type == CLI_FIELD_TEXTS);
    case CLI_FIELD_BOOLEAN:
        return json_is_boolean(value) || refuse(path, where, "true or false");
    case CLI_FIELD_COUNT:
        return (json_is_integer(value) && json_integer_value(value) >= 1) ||
               refuse(path, where, "a whole number from 1 on");
    case CLI_FIELD_POSITIVE:
        return (json_is_number(value) && json_number_value(value) > 0.0) ||
               refuse(path, where, "a number above 0");
    case CLI_FIELD_SETTINGS:
        return is_settings(path, where, value);
    case CLI_FIELD_NEEDED_VALUES:
        return is_array_of(path, where, value, false, false);
    case CLI_FIELD_GRID:
        return cli_schema_is_grid(path, where, value);
    case CLI_FIELD_OBJECT:
    case CLI_FIELD_NEEDED_OBJECT:
        return is_object(path, where, value, field->fields);
    case CLI_FIELD_OBJECTS:
        return are_objects(path, where, value, field->fields);
    }
    return false;
}

static const cli_field *find_field(const cli_field *fields, const char *key) {
    for (const cli_field *f = fields; f->key; f++)
        if (strcmp(f->key, key) == 0)
            return f;
    return NULL;
}

static bool is_needed(const cli_field *field) {
    return field->type == CLI_FIELD_NEEDED_TEXT || field->type == CLI_FIELD_NEEDED_TEXTS ||
           field->type == CLI_FIELD_NEEDED_VALUES || field->type == CLI_FIELD_NEEDED_OBJECT;
}

bool cli_schema_holds(const char *path, const char *where, json_t *object,
                      const cli_field *fields) {
    const char *key;
    json_t *value;
    char place[WHERE_SIZE];
    json_object_foreach(object, key, value) {
        const cli_field *field = find_field(fields, key);
        join(place, where, key);
        if (!field)
            return refuse_key(path, place, fields);
        if (!fits(path, place, value, field))
            return false;
    }
    for (const cli_field *f = fields; f->key; f++) {
        if (!is_needed(f) || json_object_get(object, f->key))
            continue;
        join(place, where, f->key);
        cli_complain("%s: '%s' is missing", path, place);
        return false;
    }
    return true;
}

json_t *cli_schema_load(const char *path) {
    json_error_t error;
    FILE *file = fopen(path, "r");
    if (!file) {
        cli_complain("%s: cannot be read: %s", path, strerror(errno));
        return NULL;
    }
    json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    int failed = ferror(file) ? errno : 0;
    fclose(file);
    if (failed)
        cli_complain("%s: cannot be read: %s", path, strerror(failed));
    else if (!root)
        cli_complain("%s: line %d, column %d: %s", path, error.line, error.column, error.text);
    else if (!json_is_object(root))
        refuse(path, "the file", "an object, { ... }");
    if (!failed && json_is_object(root))
        return root;
    json_decref(root);
    return NULL;
}
