#include "store/run_execution.h"

#include "base/message.h"
#include "bilevel/checkpoint.h"
#include "store/run_info.h"

#include <math.h>
#include <stdlib.h>

/* ---- The report ---- */

enum { LONGEST_VECTOR = 1000 };

static const blv_field distance_fields[] = {
    BLV_FIELD(blv_distances, x, REAL), BLV_FIELD(blv_distances, y, REAL), {0}};

#define FIELD(member, kind_) BLV_FIELD(blv_run_report, member, kind_)
#define OF_SOLUTION(member, kind_) BLV_FIELD_AS(#member, blv_run_report, solution.member, kind_, 0)
#define COUNTS(member) BLV_FIELD_RECORD(#member, blv_run_report, solution.member, blv_counts_fields)
#define CERTIFIED(member)                                                                          \
    BLV_FIELD_AS(#member, blv_run_report, solution.certificate.member, REAL, 0)
#define VECTOR(member, dim)                                                                        \
    BLV_FIELD_WITH(#member, blv_run_report, member, REALS, .flags = BLV_OPTIONAL,                  \
                   .count = offsetof(blv_run_report, dim))

const blv_field blv_run_report_fields[] = {
    BLV_FIELD_AS("run", blv_run_report, run, INT64, BLV_ZERO_IS_NULL),
    FIELD(problem, TEXT),
    OF_SOLUTION(dim_x, SIZE),
    OF_SOLUTION(dim_y, SIZE),
    FIELD(solver, TEXT),
    FIELD(precision, TEXT),
    FIELD(gradients_only, BOOL),
    FIELD(status, TEXT),
    BLV_FIELD_CHARS("message", blv_run_report, solution.message.text, 0),
    OF_SOLUTION(iterations, WHOLE),
    OF_SOLUTION(seconds, REAL),
    FIELD(memory_bytes, SIZE),
    COUNTS(counts),
    COUNTS(setup_counts),
    COUNTS(check_counts),
    CERTIFIED(phi),
    CERTIFIED(grad_norm),
    CERTIFIED(inner_residual),
    CERTIFIED(estimate_error),
    BLV_FIELD_WITH("certificate", blv_run_report, solution.certificate, RECORD,
                   BLV_WHEN(blv_run_report, solution.certified), .fields = blv_certificate_fields),
    BLV_FIELD_WITH("distance_to_solution", blv_run_report, distance, RECORD,
                   BLV_WHEN(blv_run_report, solution_known), .fields = distance_fields),
    FIELD(measures, VALUES),
    FIELD(parameters, VALUES),
    FIELD(options, VALUES),
    FIELD(problem_parameters, VALUES),
    BLV_FIELD_WITH("notes", blv_run_report, solution.notes, TEXTS,
                   .count = offsetof(blv_run_report, note_count)),
    VECTOR(x, solution.dim_x),
    VECTOR(y, solution.dim_y),
    VECTOR(v, dim_v),
    {0}};

static blv_error distance(const blv_vec *solution, const double *values, size_t dim, double *away) {
    double *known = malloc((dim + 1) * sizeof *known), sum = 0.0;
    if (!known)
        return BLV_E_MEMORY;
    blv_vec_read(solution, known);
    for (size_t i = 0; i < dim; i++)
        sum += (values[i] - known[i]) * (values[i] - known[i]);
    free(known);
    *away = sqrt(sum);
    return BLV_OK;
}

static blv_error compare_with_known(blv_run_report *report, const blv_problem_def *def) {
    const blv_solution *s = &report->solution;
    blv_vec *x = NULL, *y = NULL;
    blv_error error = BLV_OK;
    report->solution_known = def->known_solution && blv_vec_create(&x, def->space_x) == BLV_OK &&
                             blv_vec_create(&y, def->space_y) == BLV_OK &&
                             def->known_solution(def->user, x, y) == 0;
    if (report->solution_known)
        error = distance(x, s->x, s->dim_x, &report->distance.x);
    if (report->solution_known && error == BLV_OK)
        error = distance(y, s->y, s->dim_y, &report->distance.y);
    blv_vec_destroy(x);
    blv_vec_destroy(y);
    return error;
}

static double *shown(const blv_vectors *end, int which) {
    return end->dim[which] <= LONGEST_VECTOR ? end->values[which] : NULL;
}

static blv_error make_report(blv_execution *e, blv_run *run, const blv_solution *solution) {
    const blv_problem_def *def = blv_problem_definition(blv_run_problem(run));
    blv_run_report *r = &e->report;
    BLV_CHECK(blv_vectors_read(&e->end_vectors, run));
    *r = (blv_run_report){.run = e->recorder->id,
                          .problem = e->facts.problem,
                          .solver = solution->solver->name,
                          .precision = blv_precision_words[def->precision],
                          .gradients_only = e->gradients_only,
                          .status = blv_outcome_word(solution->outcome),
                          .solution = *solution,
                          .memory_bytes = blv_run_memory(run),
                          .problem_parameters = e->facts.problem_parameters,
                          .x = shown(&e->end_vectors, BLV_VECTOR_X),
                          .y = shown(&e->end_vectors, BLV_VECTOR_Y),
                          .v = shown(&e->end_vectors, BLV_VECTOR_V),
                          .dim_v = e->end_vectors.dim[BLV_VECTOR_V]};
    while (solution->notes[r->note_count])
        r->note_count++;
    for (size_t i = 0; i < solution->measure_count; i++)
        BLV_CHECK(blv_values_add_real(&r->measures, def->measures[i], solution->measures[i]));
    BLV_CHECK(blv_run_settings(run, &r->parameters, &r->options));
    return compare_with_known(r, def);
}

/* ---- The run ---- */

static blv_error explain(const blv_run *run, blv_error error, blv_message *why) {
    return error == BLV_OK ? BLV_OK : blv_explain(why, error, "%s", blv_run_message(run));
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
    if (blv_vectors_read(&e->start_vectors, run) != BLV_OK)
        return blv_explain_memory(why);
    if (e->checkpoint)
        BLV_CHECK(explain(run, blv_run_load_from(run, e->checkpoint, e->checkpoint_size), why));
    return e->resumed ? blv_recorder_resume(e->recorder, e->resumed, e->resumed_iteration, why)
                      : blv_recorder_begin(e->recorder, &e->facts, run, why);
}

void blv_execution_end(blv_execution *e, blv_run *run, const blv_solution *solution,
                       blv_error error, const char *why) {
    blv_outcome outcome = blv_run_result(run)->outcome;
    blv_explain(&e->message, error, "%s", solution ? solution->message.text : why);
    if (solution) {
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
    const blv_solution *s = &e->report.solution;
    char *result = e->ran ? blv_record_text(blv_run_report_fields, &e->report) : NULL;
    const blv_run_info end = {.size = sizeof end,
                              .status = failed ? BLV_STATUS_FAILED : e->status,
                              .outcome = e->ran ? e->report.status : NULL,
                              .message = e->message.text,
                              .iterations = s->iterations,
                              .seconds = s->seconds,
                              .phi = s->certified ? s->phi : (double)NAN,
                              .grad_norm = s->certified ? s->grad_norm : (double)NAN,
                              .result = result};
    blv_recorder_finish(e->recorder, &end);
    free(result);
}

void blv_execution_free(blv_execution *e) {
    blv_vectors_free(&e->start_vectors);
    blv_vectors_free(&e->end_vectors);
    blv_values_free(&e->report.measures);
    blv_values_free(&e->report.parameters);
    blv_values_free(&e->report.options);
}
