/* Several solvers on one problem: what became of each, in one table or one JSON object. */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include "cli_report.h"
#include "cli_selection.h"

typedef struct cli_row {
    const char *solver;
    const char *outcome;
    double phi, grad_norm; /* certified; NaN where there is no certificate */
    uint64_t iterations;
    double seconds;
    uint64_t calls; /* of the steps and the setup */
    json_t *object; /* all of it; NULL when the comparison is shown as text */
} cli_row;

typedef struct cli_comparison {
    const cli_instance *instance;
    bool json;
    size_t count;
    cli_row *rows;
} cli_comparison;

void cli_comparison_add(cli_comparison *comparison, const cli_report *report);
/* Prints the rows by certified Phi, and those of the selection that did not run with the reason.
 */
void cli_comparison_print(cli_comparison *comparison, const cli_selection *selection);
void cli_comparison_free(cli_comparison *comparison);

#endif
