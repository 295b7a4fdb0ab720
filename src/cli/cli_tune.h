/* What `bilevel tune` is asked, and how it reports. */
#ifndef CLI_TUNE_H
#define CLI_TUNE_H

#include "cli_json.h"
#include "cli_tuning.h"
#include "cli_work.h"

typedef struct cli_tune_request {
    cli_learning learning;
    const char *out, *penalties, *trace;
    blv_penalty_kind kind;
    const char *groups; /* file; NULL: none */
    double stop_share, range;
    uint64_t patience;
    bool refit;
} cli_tune_request;

/* What each penalty is of, in the order of the problem. */
typedef struct cli_penalty_names {
    size_t count;
    char **names;    /* each to be freed */
    uint32_t *group; /* of each column, for groups */
} cli_penalty_names;

/* Names from the sets, or groups from their file. Returns an exit code, after a message. */
int cli_penalty_names_find(const cli_tune_request *request, const cli_sets *sets,
                           cli_penalty_names *names);
void cli_penalty_names_free(cli_penalty_names *names);

typedef struct cli_tune_result {
    const cli_tune_request *request;
    const cli_tuning *tuning;
    const cli_penalty_names *names;
} cli_tune_result;

/* The penalty with this number in the result. */
double cli_tune_penalty(const cli_tune_result *result, size_t number);

int cli_tune_expect_writable(const cli_tune_request *request);
int cli_tune_write(const cli_tune_result *result);
/* What came out, in a line. To be freed. */
char *cli_tune_message(const cli_tune_result *result);
void cli_tune_text(const cli_tune_result *result);
json_t *cli_tune_object(const cli_tune_result *result);

#endif
