#include "store/run_execution.h"

#include "base/message.h"
#include "bilevel/checkpoint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static blv_error explain(const blv_run *run, blv_error error, blv_message *why) {
    return error == BLV_OK ? BLV_OK : blv_explain(why, error, "%s", blv_run_message(run));
}

/* From here on the store knows of the run. */
static blv_error begin_record(blv_execution *e, const blv_run *run, blv_message *why) {
    if (!e->recorder->store)
        return BLV_OK;
    if (e->resumed)
        return blv_recorder_resume(e->recorder, e->resumed, e->resumed_iteration, why);
    blv_run_info info = e->facts;
    info.size = sizeof info;
    blv_error error = blv_run_values(&info, run);
    if (error != BLV_OK)
        return blv_explain(why, error, "%s", blv_error_text(error));
    blv_recorder_begin(e->recorder, &info);
    blv_run_values_free(&info);
    return BLV_OK;
}

blv_error blv_execution_begin(blv_execution *e, blv_run *run, blv_message *why) {
    static const blv_vectors none = {0};
    if (!e->own_rows)
        blv_recorder_follow(e->recorder, run, e->all_rows);
    if (e->trace)
        BLV_CHECK(explain(run, blv_run_trace(run, e->trace), why));
    BLV_CHECK(explain(run, blv_run_open(run), why));
    BLV_CHECK(blv_start_apply(run, e->start ? e->start : "zero", e->loaded ? e->loaded : &none,
                              e->is_one_of_several, why));
    blv_error error = blv_vectors_read(&e->start_vectors, run);
    if (error != BLV_OK)
        return blv_explain(why, error, "%s", blv_error_text(error));
    if (e->checkpoint)
        BLV_CHECK(explain(run, blv_run_load_from(run, e->checkpoint, e->checkpoint_size), why));
    return begin_record(e, run, why);
}

static blv_error make_report(blv_execution *e, blv_run *run, const blv_solution *solution) {
    e->report = (blv_run_report){.run = e->recorder->id,
                                 .problem = e->facts.problem,
                                 .problem_parameters = e->facts.problem_parameters,
                                 .message = e->message.text,
                                 .gradients_only = e->gradients_only};
    BLV_CHECK(blv_vectors_read(&e->end_vectors, run));
    return blv_run_report_make(&e->report, run, solution, &e->end_vectors);
}

void blv_execution_end(blv_execution *e, blv_run *run, const blv_solution *solution,
                       blv_error error, const char *why) {
    blv_outcome outcome = blv_run_result(run)->outcome;
    blv_explain(&e->message, error, "%s", solution ? solution->message.text : why);
    if (solution) {
        e->no_certificate = solution->no_certificate;
        e->ran = make_report(e, run, solution) == BLV_OK;
        blv_recorder_settle(e->recorder, run);
    }
    e->status = !e->ran || error != BLV_OK || outcome <= BLV_DIVERGED ? BLV_STATUS_FAILED
                : outcome == BLV_STOPPED_REQUEST                      ? BLV_STATUS_INTERRUPTED
                                                                      : BLV_STATUS_FINISHED;
    if (!e->ran && e->recorder->id) /* it has begun, and has nothing to show */
        blv_execution_finish(e, true);
}

void blv_execution_finish(blv_execution *e, bool failed) {
    char *result = e->ran ? blv_record_text(blv_run_report_fields, &e->report) : NULL;
    const blv_run_info end = {.size = sizeof end,
                              .status = failed ? BLV_STATUS_FAILED : e->status,
                              .outcome = e->ran ? e->report.status : NULL,
                              .message = e->message.text,
                              .iterations = e->report.iterations,
                              .seconds = e->report.seconds,
                              .phi = e->report.certified ? e->report.certificate.phi : (double)NAN,
                              .grad_norm = e->report.certified ? e->report.certificate.grad_norm
                                                               : (double)NAN,
                              .result = result};
    blv_recorder_finish(e->recorder, &end);
    free(result);
}

void blv_execution_free(blv_execution *e) {
    blv_vectors_free(&e->start_vectors);
    blv_vectors_free(&e->end_vectors);
    blv_run_report_free(&e->report);
}
