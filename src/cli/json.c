#include "cli/json.h"
#include "cli/common.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *memory_or_end(size_t size) {
    void *block = malloc(size > 0 ? size : 1);
    if (!block)
        exit(cli_reject(BLV_E_MEMORY, NULL));
    return block;
}

void cli_json_begin(void) {
    json_set_alloc_funcs(memory_or_end, free);
}

static json_t *checked(json_t *value) {
    if (!value)
        exit(cli_reject(BLV_E_MEMORY, NULL));
    return value;
}

json_t *cli_json_object(void) {
    return checked(json_object());
}

json_t *cli_json_array(void) {
    return checked(json_array());
}

json_t *cli_json_real(double value) {
    return checked(isfinite(value) ? json_real(value) : json_null());
}

json_t *cli_json_whole(uint64_t value) {
    return checked(json_integer((json_int_t)value));
}

json_t *cli_json_text(const char *text) {
    if (!text)
        return json_null();
    json_t *value = json_string(text);
    if (value)
        return value;
    size_t size = strlen(text) + 1;
    char *plain = memcpy(cli_alloc(size, 1), text, size);
    for (char *c = plain; *c; c++)
        if ((unsigned char)*c >= 128)
            *c = '?';
    value = checked(json_string(plain));
    free(plain);
    return value;
}

void cli_json_set(json_t *object, const char *key, json_t *value) {
    if (json_object_set_new(object, key, value) != 0)
        exit(cli_reject(BLV_E_MEMORY, NULL));
}

void cli_json_append(json_t *array, json_t *value) {
    if (json_array_append_new(array, value) != 0)
        exit(cli_reject(BLV_E_MEMORY, NULL));
}

void cli_json_add(json_t *object, const blv_field *table, const void *record) {
    if (!blv_record_add(table, record, object))
        exit(cli_reject(BLV_E_MEMORY, NULL));
}

json_t *cli_json_record(const blv_field *table, const void *record) {
    return checked(blv_record_json(table, record));
}

static json_t *value_in_effect(const blv_param *param, const void *fields) {
    const char *field = (const char *)fields + param->offset;
    double real = 0.0;
    int64_t whole = 0;
    if (param->type == BLV_REAL)
        memcpy(&real, field, sizeof real);
    else if (param->type == BLV_INT)
        memcpy(&whole, field, sizeof whole);
    if (param->type == BLV_REAL && !(param->words && isnan(real)))
        return cli_json_real(real);
    if (param->type == BLV_INT && !(param->words && whole < 0))
        return checked(json_integer(whole));
    char word[BLV_TEXT_SIZE] = "";
    blv_params_format(param, fields, word, sizeof word);
    return cli_json_text(word);
}

json_t *cli_json_values(const blv_param *params, const void *fields) {
    json_t *object = cli_json_object();
    for (const blv_param *p = params; p && p->key; p++)
        cli_json_set(object, p->key, value_in_effect(p, fields));
    return object;
}

json_t *cli_json_params(const blv_param *params) {
    static const char *const type_word[] = {
        [BLV_REAL] = "real", [BLV_INT] = "int", [BLV_CHOICE] = "choice", [BLV_TEXT] = "text"};
    json_t *array = cli_json_array();
    for (const blv_param *p = params; p && p->key; p++) {
        char range[256] = "";
        blv_params_range(p, range, sizeof range);
        json_t *entry = cli_json_object();
        cli_json_set(entry, "key", cli_json_text(p->key));
        cli_json_set(entry, "type", cli_json_text(type_word[p->type]));
        cli_json_set(entry, "default", cli_json_text(p->value));
        cli_json_set(entry, "allowed", cli_json_text(range));
        cli_json_set(entry, "help", cli_json_text(p->help));
        cli_json_append(array, entry);
    }
    return array;
}

void cli_json_print(json_t *value) {
    if (json_dumpf(value, stdout, JSON_REAL_PRECISION(17)) != 0 && !ferror(stdout))
        exit(cli_reject(BLV_E_MEMORY, NULL)); /* what stdout has lost is told at the end */
    putchar('\n');
    json_decref(value);
}
