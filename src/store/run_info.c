/* A run's record, described once: the fields are named as the columns of the store and the keys of
 * JSON. */
#include "store/run_info.h"

#include "bilevel/certificate.h"

#include <stdlib.h>
#include <string.h>

static const char *const status_words[] = {"running", "finished", "interrupted", "failed", NULL};
const char *const blv_precision_words[] = {[BLV_F64] = "f64", [BLV_F32] = "f32", NULL};

#define WHEN(member, condition)                                                                    \
    BLV_FIELD_WITH(#member, blv_run_info, member, WHOLE, BLV_WHEN(blv_run_info, condition))
#define INFO(member, kind_) BLV_FIELD(blv_run_info, member, kind_)
#define ID INFO(id, INT64)
#define BEGINNING                                                                                  \
    INFO(kind, TEXT), BLV_FIELD_WORD("status", blv_run_info, status, status_words),                \
        INFO(started, TEXT), INFO(ended, TEXT)
#define DIMENSIONS INFO(dim_x, SIZE), INFO(dim_y, SIZE), INFO(precision, TEXT)
#define ENDING                                                                                     \
    INFO(outcome, TEXT), INFO(message, TEXT), WHEN(iterations, has_iterations),                    \
        INFO(seconds, REAL), INFO(phi, REAL), INFO(grad_norm, REAL)
#define CHECKPOINT WHEN(checkpoint_iteration, has_checkpoint)

const blv_field blv_run_info_fields[] = {
    ID,
    BEGINNING,
    INFO(version, TEXT),
    BLV_FIELD_ARRAY(blv_run_info, command, command_count, TEXTS),
    BLV_FIELD_AS("task", blv_run_info, request, JSON, 0),
    INFO(problem, TEXT),
    INFO(problem_parameters, VALUES),
    DIMENSIONS,
    BLV_FIELD_AS("fingerprint", blv_run_info, fingerprint, HEX, BLV_ZERO_IS_NULL),
    INFO(solver, TEXT),
    INFO(parameters, VALUES),
    INFO(options, VALUES),
    ENDING,
    INFO(rows, WHOLE),
    CHECKPOINT,
    INFO(checkpoint_saved, TEXT),
    INFO(result, JSON),
    INFO(host, TEXT),
    INFO(pid, INT64),
    {0}};

const blv_field blv_run_list_fields[] = {
    ID,     BEGINNING,  INFO(problem, TEXT), DIMENSIONS,       INFO(solver, TEXT),
    ENDING, CHECKPOINT, INFO(version, TEXT), INFO(host, TEXT), INFO(pid, INT64),
    {0}};

const blv_field blv_counts_fields[] = {
    BLV_FIELD(blv_counts, f_grad, WHOLE), BLV_FIELD(blv_counts, g_grad, WHOLE),
    BLV_FIELD(blv_counts, hvp, WHOLE),    BLV_FIELD_AS("jvp", blv_counts, cross, WHOLE, 0),
    BLV_FIELD(blv_counts, values, WHOLE), {0}};

static const char *const answer_words[] = {"unknown", "yes", "no", NULL};

const blv_field blv_certificate_fields[] = {
    BLV_FIELD(blv_certificate, phi, REAL),
    BLV_FIELD(blv_certificate, grad_norm, REAL),
    BLV_FIELD(blv_certificate, inner_residual, REAL),
    BLV_FIELD(blv_certificate, solve_residual, REAL),
    BLV_FIELD(blv_certificate, linear_residual, REAL),
    BLV_FIELD(blv_certificate, estimate_error, REAL),
    BLV_FIELD(blv_certificate, projected, BOOL),
    BLV_FIELD(blv_certificate, singular, BOOL),
    BLV_FIELD(blv_certificate, tight, BOOL),
    BLV_FIELD_WORD("minimum", blv_certificate, minimum, answer_words),
    BLV_FIELD(blv_certificate, start_phi, REAL),
    BLV_FIELD(blv_certificate, above_start, BOOL),
    {0}};

const char *blv_run_status_word(blv_run_status status) {
    return status_words[status];
}

bool blv_run_status_parse(const char *word, blv_run_status *status) {
    for (int i = 0; word && status && status_words[i]; i++)
        if (strcmp(status_words[i], word) == 0) {
            *status = (blv_run_status)i;
            return true;
        }
    return false;
}

void blv_run_info_free(blv_run_info *run) {
    if (run)
        blv_record_free(blv_run_info_fields, run);
    free(run);
}

void blv_run_list_free(blv_run_info **runs, size_t count) {
    for (size_t i = 0; i < count; i++)
        blv_run_info_free(runs[i]);
    free(runs);
}
