#include "cli/solver_markdown.h"
#include "cli/solver_groups.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *cli_oracles_needed(const blv_solver *solver) {
    static const char *const words[] = {"f, g", "f, g, Hv", "f, g, Jv", "f, g, Hv, Jv"};
    return words[(solver->uses & BLV_USES_HVP ? 1 : 0) + (solver->uses & BLV_USES_CROSS ? 2 : 0)];
}

const char *cli_yes_or_no(unsigned flag) {
    return flag ? "yes" : "no";
}

/* Text in a cell of a table. Between backquotes only bars have a meaning. */
static void print_text(const char *text) {
    bool quoted = false;
    for (; *text; text++) {
        quoted ^= *text == '`';
        bool tag = *text == '<' && (isalpha((unsigned char)text[1]) || text[1] == '/');
        if (*text == '|' || (!quoted && (tag || *text == '*' || *text == '\\')))
            putchar('\\');
        putchar(*text);
    }
}

static void print_cells(const char *const *cells, size_t count) {
    for (size_t i = 0; i < count; i++) {
        fputs("| ", stdout);
        print_text(cells[i] ? cells[i] : "");
        putchar(' ');
    }
    puts("|");
}

static void print_rule(size_t columns) {
    while (columns-- > 0)
        fputs("| --- ", stdout);
    puts("|");
}

static void print_params(const blv_param *params) {
    const char *title[] = {"parameter", "default", "allowed", "meaning"};
    enum { COLUMNS = sizeof title / sizeof title[0] };
    print_cells(title, COLUMNS);
    print_rule(COLUMNS);
    for (const blv_param *p = params; p->key; p++) {
        char key[80], value[BLV_TEXT_SIZE + 2], range[256] = "";
        snprintf(key, sizeof key, "`%.70s`", p->key);
        snprintf(value, sizeof value, "`%.1000s`", p->value);
        blv_params_range(p, range, sizeof range);
        const char *cells[COLUMNS] = {key, value, range, p->help};
        print_cells(cells, COLUMNS);
    }
}

void cli_markdown_solver(const blv_solver *solver) {
    const char *rows[][2] = {
        {"", ""},
        {"what it does", solver->summary},
        {"source", solver->citation},
        {"group", solver->group},
        {"oracles", cli_oracles_needed(solver)},
        {"stochastic", cli_yes_or_no(solver->uses & BLV_IS_STOCHASTIC)},
        {"needs an invertible d2g/dy2", cli_yes_or_no(solver->uses & BLV_USES_INVERSE)},
        {"when it diverges", solver->hint},
    };
    puts("## In short\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        print_cells(rows[i], 2);
        if (i == 0)
            print_rule(2);
    }
    puts("\n## Parameters\n");
    if (solver->params && solver->params->key)
        print_params(solver->params);
    else
        puts("It has none.");
}

static void print_group_title(const char *group, bool first) {
    const char *summary = cli_group_summary(group);
    const char *title[] = {"name", "oracles", "stochastic", "what it does"};
    enum { COLUMNS = sizeof title / sizeof title[0] };
    printf("%s## %s\n\n", first ? "" : "\n", group);
    if (summary)
        printf("These %s.\n\n", summary);
    print_cells(title, COLUMNS);
    print_rule(COLUMNS);
}

void cli_markdown_solvers(void) {
    const blv_solver **solvers = cli_solvers_by_group();
    const char *group = "";
    for (size_t i = 0; solvers[i]; i++) {
        const blv_solver *s = solvers[i];
        if (strcmp(group, s->group) != 0)
            print_group_title(s->group, i == 0);
        group = s->group;
        char link[160];
        snprintf(link, sizeof link, "[`%.60s`](%.60s.md)", s->name, s->name);
        const char *cells[] = {link, cli_oracles_needed(s),
                               cli_yes_or_no(s->uses & BLV_IS_STOCHASTIC), s->summary};
        print_cells(cells, sizeof cells / sizeof cells[0]);
    }
    free(solvers);
}
