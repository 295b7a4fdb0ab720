#include "store/run_report.h"

#include "store/run_info.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_VECTOR = 1000 };

static const blv_field distance_fields[] = {
    BLV_FIELD(blv_distances, x, REAL), BLV_FIELD(blv_distances, y, REAL), {0}};

#define FIELD(member, kind_) BLV_FIELD(blv_run_report, member, kind_)
#define CERTIFIED(member) BLV_FIELD_AS(#member, blv_run_report, certificate.member, REAL, 0)
#define RECORD(name_, member, fields_, condition)                                                  \
    {                                                                                              \
        .name = (name_), .kind = BLV_KIND_RECORD, .offset = offsetof(blv_run_report, member),      \
        .fields = (fields_), .when = 1 + offsetof(blv_run_report, condition)                       \
    }
#define VECTOR(member, dim)                                                                        \
    {                                                                                              \
        .name = #member, .kind = BLV_KIND_REALS, .flags = BLV_OPTIONAL,                            \
        .offset = offsetof(blv_run_report, member), .count = offsetof(blv_run_report, dim)         \
    }

const blv_field blv_run_report_fields[] = {
    BLV_FIELD_AS("run", blv_run_report, run, INT64, BLV_ZERO_IS_NULL),
    FIELD(problem, TEXT),
    FIELD(dim_x, SIZE),
    FIELD(dim_y, SIZE),
    FIELD(solver, TEXT),
    FIELD(precision, TEXT),
    FIELD(gradients_only, BOOL),
    FIELD(status, TEXT),
    FIELD(message, TEXT),
    FIELD(iterations, WHOLE),
    FIELD(seconds, REAL),
    FIELD(memory_bytes, SIZE),
    BLV_FIELD_RECORD("counts", blv_run_report, counts, blv_counts_fields),
    BLV_FIELD_RECORD("setup_counts", blv_run_report, setup_counts, blv_counts_fields),
    BLV_FIELD_RECORD("check_counts", blv_run_report, check_counts, blv_counts_fields),
    CERTIFIED(phi),
    CERTIFIED(grad_norm),
    CERTIFIED(inner_residual),
    CERTIFIED(estimate_error),
    RECORD("certificate", certificate, blv_certificate_fields, certified),
    RECORD("distance_to_solution", distance, distance_fields, solution_known),
    FIELD(measures, VALUES),
    FIELD(parameters, VALUES),
    FIELD(options, VALUES),
    FIELD(problem_parameters, VALUES),
    BLV_FIELD_ARRAY(blv_run_report, notes, note_count, TEXTS),
    VECTOR(x, dim_x),
    VECTOR(y, dim_y),
    VECTOR(v, dim_v),
    {0}};

/* ---- From a run ---- */

static blv_error copy_notes(blv_run_report *report, const blv_run *run) {
    size_t count = 0;
    while (blv_run_notes(run, count))
        count++;
    report->notes = calloc(count + 1, sizeof *report->notes);
    for (size_t i = 0; report->notes && i < count; i++) {
        report->notes[i] = strdup(blv_run_notes(run, i));
        if (!report->notes[i])
            return BLV_E_MEMORY;
        report->note_count++;
    }
    return report->notes ? BLV_OK : BLV_E_MEMORY;
}

/* What the problem itself can tell about the end: accuracies and the like. */
static blv_error measure(blv_run_report *report, blv_run *run) {
    const blv_problem_def *def = blv_problem_definition(blv_run_problem(run));
    double values[BLV_MEASURES_MAX];
    if (!def->measure || def->measure(def->user, blv_run_x(run), blv_run_y(run), values) != 0)
        return BLV_OK;
    for (size_t i = 0; i < BLV_MEASURES_MAX && def->measures[i]; i++)
        BLV_CHECK(blv_values_add_real(&report->measures, def->measures[i], values[i]));
    return BLV_OK;
}

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

static blv_error compare_with_known(blv_run_report *report, const blv_problem_def *def,
                                    const blv_vectors *end) {
    const double *const *values = (const double *const *)end->values;
    blv_vec *x = NULL, *y = NULL;
    blv_error error = BLV_OK;
    report->solution_known = def->known_solution && values[BLV_VECTOR_X] && values[BLV_VECTOR_Y] &&
                             blv_vec_create(&x, def->space_x) == BLV_OK &&
                             blv_vec_create(&y, def->space_y) == BLV_OK &&
                             def->known_solution(def->user, x, y) == 0;
    if (report->solution_known)
        error = distance(x, values[BLV_VECTOR_X], def->dim_x, &report->distance.x);
    if (report->solution_known && error == BLV_OK)
        error = distance(y, values[BLV_VECTOR_Y], def->dim_y, &report->distance.y);
    blv_vec_destroy(x);
    blv_vec_destroy(y);
    return error;
}

static double *shown(const blv_vectors *end, int which) {
    return end->dim[which] <= LONGEST_VECTOR ? end->values[which] : NULL;
}

static blv_error fill(blv_run_report *report, blv_run *run, const blv_vectors *end) {
    const blv_solver *solver = blv_run_solver(run);
    BLV_CHECK(
        blv_values_of_params(&report->parameters, solver->params, blv_run_solver_fields(run)));
    BLV_CHECK(
        blv_values_of_params(&report->options, blv_run_options(), blv_run_option_fields(run)));
    BLV_CHECK(copy_notes(report, run));
    BLV_CHECK(measure(report, run));
    return compare_with_known(report, blv_problem_definition(blv_run_problem(run)), end);
}

blv_error blv_run_report_make(blv_run_report *report, blv_run *run, const blv_solution *solution,
                              const blv_vectors *end) {
    const blv_problem_def *def = blv_problem_definition(blv_run_problem(run));
    *report = (blv_run_report){.run = report->run,
                               .problem = report->problem,
                               .message = report->message,
                               .gradients_only = report->gradients_only,
                               .problem_parameters = report->problem_parameters,
                               .dim_x = end->dim[BLV_VECTOR_X],
                               .dim_y = end->dim[BLV_VECTOR_Y],
                               .dim_v = end->dim[BLV_VECTOR_V],
                               .solver = blv_run_solver(run)->name,
                               .precision = blv_precision_words[def->precision],
                               .status = blv_outcome_word(solution->outcome),
                               .iterations = solution->iterations,
                               .seconds = solution->seconds,
                               .memory_bytes = blv_run_memory(run),
                               .counts = solution->counts,
                               .setup_counts = solution->setup_counts,
                               .check_counts = solution->check_counts,
                               .certified = solution->certified,
                               .certificate = solution->certificate,
                               .x = shown(end, BLV_VECTOR_X),
                               .y = shown(end, BLV_VECTOR_Y),
                               .v = shown(end, BLV_VECTOR_V)};
    blv_error error = fill(report, run, end);
    if (error != BLV_OK)
        blv_run_report_free(report);
    return error;
}

void blv_run_report_free(blv_run_report *report) {
    blv_values_free(&report->measures);
    blv_values_free(&report->parameters);
    blv_values_free(&report->options);
    for (size_t i = 0; i < report->note_count; i++)
        free(report->notes[i]);
    free(report->notes);
    *report = (blv_run_report){0};
}
