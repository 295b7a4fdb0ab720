#include "cli_record.h"
#include "cli_text.h"
#include "cli_watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Said once: a disk that is full stays full. */
void cli_record_expect(cli_record *record, bool well, const char *what) {
    if (well || record->failed) {
        record->failed = record->failed || !well;
        return;
    }
    record->failed = true;
    cli_watch_clear();
    cli_complain("%s: %s; the run goes on without it", what, blv_store_message(record->store));
}

void cli_record_row(cli_record *record, uint64_t iteration, double seconds, const char *text) {
    cli_record_expect(record,
                      blv_store_row(record->store, record->id, iteration, seconds, text) == BLV_OK,
                      "a row of the trace was not stored");
}

static void store_row(cli_record *record, const blv_progress *progress, const char *text) {
    cli_record_row(record, record->rows_before + progress->iteration, progress->seconds, text);
}

static void take_row(void *context, const blv_progress *progress, const char *text) {
    cli_record *record = context;
    if (!record->id)
        return;
    if (!record->row_head) {
        store_row(record, progress, text);
        return;
    }
    char *whole = cli_print("{%s%s", record->row_head, text + 1);
    store_row(record, progress, whole);
    free(whole);
}

static void save_checkpoint(void *context, blv_run *run) {
    cli_record *record = context;
    if (record->id)
        cli_record_expect(record,
                          blv_store_checkpoint(record->store, record->id, run, record->carried,
                                               record->carried_count * sizeof *record->carried) ==
                              BLV_OK,
                          "no checkpoint was stored, the one before is as it was");
}

void cli_record_listen(cli_record *record, blv_run *run, bool all_rows) {
    if (!record->store)
        return;
    blv_run_trace_callback(run, take_row, record, all_rows);
    if (record->checkpoint_seconds > 0.0)
        blv_run_every(run, save_checkpoint, record, record->checkpoint_seconds);
}

int cli_record_begin(cli_record *record, const cli_run_facts *facts, int64_t id,
                     uint64_t iteration) {
    if (!record->store)
        return CLI_DONE;
    if (id && blv_store_resume(record->store, id, iteration) != BLV_OK) {
        cli_complain("%s", blv_store_message(record->store));
        return CLI_REFUSED;
    }
    record->id = id;
    if (!id)
        cli_record_expect(record, cli_store_begin(record->store, facts, &record->id) == BLV_OK,
                          "the run is not stored");
    return CLI_DONE;
}

static const char *status_of(const cli_report *report) {
    blv_outcome outcome = blv_run_result(report->run)->outcome;
    if (!report->began || report->error != BLV_OK || outcome <= BLV_DIVERGED)
        return "failed";
    return outcome == BLV_STOPPED_REQUEST ? "interrupted" : "finished";
}

/* Where a limit ended it, it may go on under a later one; an interrupted run goes on from the
 * checkpoint that it has; what has converged or failed needs none. */
static void settle_checkpoint(cli_record *record, const cli_report *report) {
    blv_outcome outcome = blv_run_result(report->run)->outcome;
    bool at_limit = outcome <= BLV_LIMIT_ITERATIONS && outcome >= BLV_LIMIT_BUDGET;
    if (at_limit && record->checkpoint_seconds > 0.0)
        save_checkpoint(record, report->run);
    else if (outcome != BLV_STOPPED_REQUEST)
        cli_record_expect(record,
                          blv_store_detach(record->store, record->id, "checkpoint") == BLV_OK,
                          "the checkpoint was not removed");
}

void cli_record_end(cli_record *record, const cli_report *report) {
    if (!record->store || !record->id)
        return;
    const blv_result *result = blv_run_result(report->run);
    settle_checkpoint(record, report);
    json_t *object = report->began ? cli_report_object(report) : NULL;
    cli_run_end end = {.status = status_of(report),
                       .outcome = report->began ? blv_outcome_word(result->outcome) : NULL,
                       .message = report->message,
                       .iterations = result->iterations,
                       .seconds = result->seconds,
                       .phi = report->certified ? report->certificate.phi : NAN,
                       .grad_norm = report->certified ? report->certificate.grad_norm : NAN,
                       .result = object};
    cli_record_finish(record, &end);
    json_decref(object);
}

void cli_record_finish(cli_record *record, const cli_run_end *end) {
    if (record->store && record->id)
        cli_record_expect(record, cli_store_finish(record->store, record->id, end) == BLV_OK,
                          "the end of the run was not stored");
}

int cli_record_code(const cli_record *record) {
    bool matters = record->store && record->failed && record->store_is_named;
    return matters ? CLI_REFUSED : CLI_DONE;
}

json_t *cli_record_command(int argc, char **argv) {
    json_t *command = cli_json_array();
    for (int i = 0; i < argc; i++)
        cli_json_append(command, cli_json_text(argv[i]));
    return command;
}
