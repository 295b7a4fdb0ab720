/* What a finished run is reported from, as text on stdout or as JSON. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "bilevel/certificate.h"
#include "cli_instance.h"
#include "cli_json.h"
#include "cli_state.h"

typedef struct cli_report {
    const cli_instance *instance;
    blv_run *run;
    bool began;        /* there is something to report */
    blv_error error;   /* of what could not be done */
    char message[512]; /* how the run ended, or why it did not begin */

    int64_t stored_as; /* number in the run store; 0: none */

    bool certified;
    blv_certificate certificate;
    char no_certificate[512]; /* why there is none */

    cli_vectors start, end;
    bool solution_known;
    double distance_x, distance_y; /* to the known solution */
    size_t measure_count;          /* of the problem's measures, at the end */
    double measures[BLV_MEASURES_MAX];
} cli_report;

/* How the run ended, in one line that begins with the outcome's word. */
enum { CLI_ENDING_SIZE = 768 };
void cli_report_ending(const cli_report *report, char text[CLI_ENDING_SIZE]);

void cli_report_text(const cli_report *report);
/* A new reference. */
json_t *cli_report_object(const cli_report *report);
json_t *cli_certificate_object(const blv_certificate *certificate);

#endif
