/* Prints the options of a run as a table in Markdown, for scripts/option-table. */
#include <bilevel/run.h>

#include <stdio.h>

int main(void) {
    printf("| option | default | values | meaning |\n| --- | --- | --- | --- |\n");
    for (const blv_param *p = blv_run_options(); p->key; p++) {
        char range[200];
        blv_params_range(p, range, sizeof range);
        printf("| `%s` | `%s` | %s | ", p->key, p->value, range);
        for (const char *c = p->help; *c; c++)
            printf(*c == '|' ? "\\%c" : "%c", *c);
        printf(" |\n");
    }
    return 0;
}
