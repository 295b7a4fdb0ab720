/* What `bilevel coreset` is asked, and what it finds. */
#ifndef CLI_CORESET_H
#define CLI_CORESET_H

#include "cli_choosing.h"
#include "cli_json.h"

typedef struct cli_coreset {
    cli_choosing choosing;
    double size_asked; /* a number of rows, or a share below 1 */
    const blv_selection_method *method;
    const char *out, *subset;
    bool compare;

    size_t rows, size;
    size_t *index;  /* the rows, the heaviest first */
    double *weight; /* of each; their sum is 1 */
    size_t classes, *of_class, *chosen_of_class;
    const char *const *class_names;
    double seconds;                                         /* of choosing */
    double chosen_accuracy, uniform_accuracy, all_accuracy; /* with compare */
} cli_coreset;

/* Whether the files could be written, and writing them. Return an exit code, after a message. */
int cli_coreset_expect_writable(const cli_coreset *result, const blv_dataset *rows);
int cli_coreset_write(const cli_coreset *result, const blv_dataset *rows);

void cli_coreset_text(const cli_coreset *result);
json_t *cli_coreset_object(const cli_coreset *result);

#endif
