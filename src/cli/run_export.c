/* A run of the store as files: the trace as CSV, everything as JSON, the checkpoint as NPZ. */
#include "base/number_text.h"
#include "cli/json.h"
#include "cli/outputs.h"
#include "cli/run_text.h"
#include "cli/store_options.h"
#include "cli/text.h"
#include "store/run_info.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* What is no number stays empty. */
static bool put_csv(FILE *out, const void *context) {
    const blv_trace *trace = context;
    for (size_t c = 0; c < trace->columns; c++)
        fprintf(out, "%s%s", c ? "," : "", trace->names[c]);
    fputc('\n', out);
    for (size_t i = 0; i < trace->rows * trace->columns; i++) {
        char text[32] = "";
        if (!isnan(trace->values[i]))
            blv_number_format(trace->values[i], text, sizeof text);
        bool last = (i + 1) % trace->columns == 0;
        fprintf(out, "%s%c", text, last ? '\n' : ',');
    }
    return true;
}

static bool put_json(FILE *out, const void *run) {
    return json_dumpf(run, out, JSON_INDENT(1)) == 0 && fputc('\n', out) != EOF;
}

static int write_json(cli_outputs *outputs, const char *path, blv_store *store,
                      const blv_run_info *run) {
    json_t *rows = NULL;
    blv_error error = blv_store_rows_json(store, run->id, &rows);
    if (error != BLV_OK)
        return cli_store_reject(store, error);
    json_t *object = cli_json_record(blv_run_info_fields, run);
    cli_json_set(object, "trace", rows);
    int code = cli_outputs_print(outputs, path, put_json, object);
    json_decref(object);
    return code;
}

static int write_csv(cli_outputs *outputs, const char *path, blv_store *store, int64_t id) {
    blv_trace trace;
    blv_error error = blv_store_trace(store, id, &trace);
    if (error != BLV_OK)
        return cli_store_reject(store, error);
    int code = cli_outputs_print(outputs, path, put_csv, &trace);
    blv_trace_free(&trace);
    return code;
}

static int write_checkpoint(cli_outputs *outputs, const char *path, blv_store *store, int64_t id) {
    void *bytes = NULL;
    size_t size = 0;
    blv_error error = blv_store_read(store, id, "checkpoint", &bytes, &size);
    if (error != BLV_OK)
        return cli_store_reject(store, error);
    if (!bytes) {
        cli_complain("run %" PRId64 " has no checkpoint", id);
        return CLI_REJECTED;
    }
    int code = cli_outputs_bytes(outputs, path, bytes, size);
    free(bytes);
    return code;
}

int cli_export_run(blv_store *store, const blv_run_info *run, const char *name,
                   const char *checkpoint) {
    cli_outputs outputs = {0};
    char *stem = name ? cli_print("%s", name) : cli_print("run-%" PRId64, run->id);
    char *csv = cli_print("%s.csv", stem), *json = cli_print("%s.json", stem);
    int code = write_csv(&outputs, csv, store, run->id);
    if (code == CLI_DONE)
        code = write_json(&outputs, json, store, run);
    if (code == CLI_DONE && checkpoint)
        code = write_checkpoint(&outputs, checkpoint, store, run->id);
    code = cli_outputs_finish(&outputs, code);
    free(stem);
    free(csv);
    free(json);
    return code;
}
