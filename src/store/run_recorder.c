#include "store/run_recorder.h"

#include "base/message.h"
#include "base/number_text.h"
#include "base/text_stream.h"
#include "bilevel/ranks.h"
#include "store/record.h"
#include "store/run_info.h"

#include <stdio.h>
#include <stdlib.h>

/* Reported once: a disk that is full stays full. */
void blv_recorder_expect(blv_recorder *r, blv_error error, const char *otherwise) {
    bool first = !r->failed;
    if (error == BLV_OK)
        return;
    r->failed = true;
    if (!first || !r->warn)
        return;
    char text[768];
    snprintf(text, sizeof text, "%s: %s; the run continues without it", otherwise,
             blv_store_message(r->store));
    r->warn(r->context, text);
}

/* ---- While it runs ---- */

void blv_recorder_row(blv_recorder *r, uint64_t iteration, double seconds, const char *text) {
    if (r->store && r->id)
        blv_recorder_expect(r, blv_store_row(r->store, r->id, iteration, seconds, text),
                            "a row of the trace was not stored");
}

/* {"fold":1, ...} in front of the rest; to be freed. */
static char *marked(const blv_task_run *part, const char *row) {
    blv_text_stream text;
    FILE *out = blv_text_open(&text);
    for (size_t i = 0; out && i < part->mark_count; i++) {
        char value[40];
        blv_number_format(part->marks[i].value, value, sizeof value);
        fprintf(out, "%c\"%.60s\":%s", i ? ',' : '{', part->marks[i].name, value);
    }
    if (out)
        fprintf(out, ",%s", row + 1);
    return blv_text_close(&text);
}

static void take_row(void *context, const blv_progress *progress, const char *text) {
    blv_recorder *r = context;
    uint64_t place = r->rows_before + progress->iteration;
    if (!r->part || r->part->mark_count == 0) {
        blv_recorder_row(r, place, progress->seconds, text);
        return;
    }
    char *whole = marked(r->part, text);
    if (whole)
        blv_recorder_row(r, place, progress->seconds, whole);
    else
        r->failed = true;
    free(whole);
}

static void save_checkpoint(void *context, blv_run *run) {
    blv_recorder *r = context;
    const void *carried = r->part ? r->part->carried : NULL;
    size_t size = carried ? r->part->carried_count * sizeof(double) : 0;
    if (r->id)
        blv_recorder_expect(r, blv_store_checkpoint(r->store, r->id, run, carried, size),
                            "no checkpoint was stored, the one before is kept");
}

void blv_recorder_follow(blv_recorder *r, blv_run *run, bool all_rows) {
    if (!r->store)
        return;
    blv_run_trace_callback(run, take_row, r, all_rows);
    if (r->checkpoint_seconds > 0.0)
        blv_run_every(run, save_checkpoint, r, r->checkpoint_seconds);
}

/* ---- Start and end ---- */

blv_error blv_run_settings(const blv_run *run, blv_values *parameters, blv_values *options) {
    BLV_CHECK(
        blv_values_of_params(parameters, blv_run_solver(run)->params, blv_run_solver_fields(run)));
    blv_error error = blv_values_of_params(options, blv_run_options(), blv_run_option_fields(run));
    if (error != BLV_OK)
        blv_values_free(parameters);
    return error;
}

blv_error blv_recorder_begin(blv_recorder *r, const blv_run_info *facts, const blv_run *run,
                             blv_message *why) {
    const blv_problem_def *def = blv_problem_definition(blv_run_problem(run));
    if (!r->store)
        return BLV_OK;
    blv_run_info info = *facts;
    info.size = sizeof info;
    info.solver = blv_run_solver(run)->name;
    info.precision = blv_precision_words[def->precision];
    info.dim_x = facts->dim_x ? facts->dim_x : def->dim_x;
    info.dim_y = facts->dim_y ? facts->dim_y : def->dim_y;
    if (blv_run_settings(run, &info.parameters, &info.options) != BLV_OK)
        return blv_explain_memory(why);
    blv_recorder_expect(r, blv_store_begin(r->store, &info, &r->id), "the run is not stored");
    bool stored = r->id != 0; /* on ranks: checkpoints are made by all or by none */
    const blv_ranks *ranks = blv_space_ranks(def->space_y);
    if (ranks && (!ranks->broadcast(ranks->context, 0, &stored, sizeof stored) || !stored))
        r->id = 0;
    blv_values_free(&info.parameters);
    blv_values_free(&info.options);
    return BLV_OK;
}

blv_error blv_recorder_resume(blv_recorder *r, int64_t id, uint64_t iteration, blv_message *why) {
    if (!r->store)
        return BLV_OK;
    blv_error error = blv_store_resume(r->store, id, iteration);
    if (error != BLV_OK)
        return blv_explain(why, error, "%s", blv_store_message(r->store));
    r->id = id;
    return BLV_OK;
}

void blv_recorder_settle(blv_recorder *r, blv_run *run) {
    blv_outcome outcome = blv_run_result(run)->outcome;
    bool at_limit = outcome <= BLV_LIMIT_ITERATIONS && outcome >= BLV_LIMIT_BUDGET;
    if (!r->store || !r->id)
        return;
    if (at_limit && r->checkpoint_seconds > 0.0)
        save_checkpoint(r, run);
    else if (outcome != BLV_STOPPED_REQUEST)
        blv_recorder_expect(r, blv_store_detach(r->store, r->id, "checkpoint"),
                            "the checkpoint was not removed");
}

void blv_recorder_attach(blv_recorder *r, const char *name, const void *bytes, size_t size,
                         const char *otherwise) {
    if (r->store && r->id)
        blv_recorder_expect(r, blv_store_attach(r->store, r->id, name, bytes, size), otherwise);
}

void blv_recorder_finish(blv_recorder *r, const blv_run_info *end) {
    if (r->store && r->id)
        blv_recorder_expect(r, blv_store_finish(r->store, r->id, end),
                            "the end of the run was not stored");
}
