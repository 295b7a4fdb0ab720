#include "cli/text_table.h"
#include "cli/common.h"

#include <string.h>

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
