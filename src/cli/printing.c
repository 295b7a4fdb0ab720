#include "cli/printing.h"
#include "cli/common.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Tables ---- */

enum { INDENT = 2, LINE_WIDTH = 90 };

void cli_table_print(report_table *table, int indent, FILE *out) {
    cli_expect(report_table_print(table, REPORT_AS_TEXT, indent, out));
}

void cli_table_markdown(report_table *table) {
    cli_expect(report_table_print(table, REPORT_AS_MARKDOWN, 0, stdout));
}

void cli_print_params(const blv_param *params, const void *fields, const char *option) {
    report_table table = {.align = "llll"};
    const char *quote = option ? "" : "`";
    if (!params || !params->key) {
        puts(option ? "\nIt has no parameters." : "It has none.");
        return;
    }
    if (option) {
        printf("\nParameters (%s KEY=VALUE)\n", option);
        report_table_add(&table, "KEY\t%s\tALLOWED\tMEANING", fields ? "VALUE" : "DEFAULT");
    } else
        report_table_add(&table, "parameter\tdefault\tallowed\tmeaning");
    for (const blv_param *p = params; p->key; p++) {
        char value[128] = "", range[256] = "";
        if (fields)
            blv_params_format(p, fields, value, sizeof value);
        blv_params_range(p, range, sizeof range);
        report_table_add(&table, "%s%s%s\t%s%s%s\t%s\t%s", quote, p->key, quote, quote,
                         fields ? value : p->value, quote, range, p->help);
    }
    if (option)
        cli_table_print(&table, INDENT, stdout);
    else
        cli_table_markdown(&table);
}

int cli_print_word(int column, const char *word) {
    if (column > 0 && column + 2 + (int)strlen(word) > LINE_WIDTH) {
        putchar('\n');
        column = 0;
    }
    return column + printf("%s%s", column > 0 ? ", " : "  ", word);
}

/* ---- JSON ---- */

static void *memory_or_end(size_t size) {
    return cli_alloc(size, 1);
}

void cli_json_begin(void) {
    json_set_alloc_funcs(memory_or_end, free);
}

json_t *cli_json_whole(uint64_t value) {
    return json_integer((json_int_t)value);
}

void cli_json_set(json_t *object, const char *key, json_t *value) {
    cli_expect(json_object_set_new(object, key, value) == 0 ? BLV_OK : BLV_E_MEMORY);
}

json_t *cli_json_put(json_t *object, ...) {
    va_list pairs;
    va_start(pairs, object);
    for (const char *key; (key = va_arg(pairs, const char *));)
        cli_json_set(object, key, va_arg(pairs, json_t *));
    va_end(pairs);
    return object;
}

void cli_json_append(json_t *array, json_t *value) {
    cli_expect(json_array_append_new(array, value) == 0 ? BLV_OK : BLV_E_MEMORY);
}

void cli_json_add(json_t *object, const blv_field *table, const void *record) {
    cli_expect(blv_record_add(table, record, object) ? BLV_OK : BLV_E_MEMORY);
}

json_t *cli_json_values(const blv_param *params, const void *fields) {
    blv_values values;
    cli_expect(blv_values_of_params(&values, params, fields));
    json_t *object = blv_values_json(&values);
    blv_values_free(&values);
    return object;
}

json_t *cli_json_params(const blv_param *params) {
    static const char *const type_word[] = {
        [BLV_REAL] = "real", [BLV_INT] = "int", [BLV_CHOICE] = "choice", [BLV_TEXT] = "text"};
    json_t *array = json_array();
    for (const blv_param *p = params; p && p->key; p++) {
        char range[256] = "";
        blv_params_range(p, range, sizeof range);
        cli_json_append(array,
                        json_pack("{ss ss ss ss ss}", "key", p->key, "type", type_word[p->type],
                                  "default", p->value, "allowed", range, "help", p->help));
    }
    return array;
}

void cli_json_print(json_t *value) {
    if (json_dumpf(value, stdout, JSON_REAL_PRECISION(17)) != 0 && !ferror(stdout))
        cli_expect(BLV_E_MEMORY); /* what stdout has lost is told at the end */
    putchar('\n');
    json_decref(value);
}
