/* What `bilevel coreset` and `bilevel continual` share: the file, how it is read and scaled, the
 * network that judges, and how rows are chosen. */
#pragma once

#include "bilevel/select.h"
#include "cli/arguments.h"
#include "cli/printing.h"

typedef struct cli_selection_options {
    const char *data, *test; /* files; test may be NULL */
    blv_read_options reading;
    int unscaled;
    blv_select_options select; /* without count */
    bool json, quiet;
    json_t *about; /* after loading, with json: the kinds of the columns, and warnings */
} cli_selection_options;

/* DATA and all of the above. */
extern const cli_argument cli_selection_table[];
#define CLI_SELECTION_DEFAULTS                                                                     \
    {                                                                                              \
        .reading = {.size = sizeof(blv_read_options), .precision = BLV_F32}, .select = {           \
            .size = sizeof(blv_select_options),                                                    \
            .selection.size = sizeof(blv_selection)                                                \
        }                                                                                          \
    }
/* To be called where the whole request is checked. */
blv_error cli_selection_check(cli_selection_options *asked, blv_message *why);

/* DATA, dense and with at least two classes, and test where it is given, in the columns and classes
 * of DATA; else test_share of DATA, above 0, is tested on, and not trained on. Scaled to [0, 1] by
 * the rows to train on unless that is not wanted. */
blv_error cli_selection_load(cli_selection_options *asked, double test_share, blv_dataset **rows,
                             blv_dataset **test, blv_message *why);
