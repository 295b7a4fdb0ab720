/* What `bilevel continual` is asked, and what it tells. */
#ifndef CLI_CONTINUAL_REPORT_H
#define CLI_CONTINUAL_REPORT_H

#include "cli_continual.h"
#include "cli_json.h"

typedef struct cli_continual_request {
    cli_choosing choosing;
    size_t tasks, memory, seeds;
    size_t method_count;
    const blv_selection_method **methods;
    bool imbalanced, task_known, sensitivity;
    const char *out; /* folder, or NULL */
} cli_continual_request;

typedef struct cli_continual_result {
    const blv_selection_method *method;
    double first; /* initial value, 0: the default */
    uint64_t seed;
    cli_stream_end end;
} cli_continual_result;

typedef struct cli_continual_results {
    size_t count;
    cli_continual_result *items;
} cli_continual_results;

void cli_continual_line(const cli_continual_result *result); /* one that is done, on stderr */
void cli_continual_text(const cli_continual_request *asked, const cli_continual_results *results);
json_t *cli_continual_object(const cli_continual_request *asked,
                             const cli_continual_results *results);
/* Returns an exit code, after a message. */
int cli_continual_write(const cli_continual_request *asked, const cli_continual_results *results);

#endif
