#include "bilevel/certificate.h"
#include "cli_report.h"

#include <math.h>

enum { LONGEST_VECTOR = 1000 };

json_t *cli_certificate_object(const blv_certificate *certificate) {
    json_t *object = cli_json_object();
    cli_json_set(object, "phi", cli_json_real(certificate->phi));
    cli_json_set(object, "grad_norm", cli_json_real(certificate->grad_norm));
    cli_json_set(object, "inner_residual", cli_json_real(certificate->inner_residual));
    cli_json_set(object, "solve_residual", cli_json_real(certificate->solve_residual));
    cli_json_set(object, "linear_residual", cli_json_real(certificate->linear_residual));
    cli_json_set(object, "estimate_error", cli_json_real(certificate->estimate_error));
    cli_json_set(object, "projected", json_boolean(certificate->projected));
    cli_json_set(object, "singular", json_boolean(certificate->singular));
    cli_json_set(object, "tight", json_boolean(certificate->tight));
    return object;
}

static void set_certificate(json_t *object, const cli_report *report) {
    const blv_certificate none = {
        .phi = NAN, .grad_norm = NAN, .inner_residual = NAN, .estimate_error = NAN};
    const blv_certificate *shown = report->certified ? &report->certificate : &none;
    cli_json_set(object, "phi", cli_json_real(shown->phi));
    cli_json_set(object, "grad_norm", cli_json_real(shown->grad_norm));
    cli_json_set(object, "inner_residual", cli_json_real(shown->inner_residual));
    cli_json_set(object, "estimate_error", cli_json_real(shown->estimate_error));
    cli_json_set(object, "certificate",
                 report->certified ? cli_certificate_object(shown) : json_null());
}

static json_t *notes_array(const blv_run *run) {
    json_t *notes = cli_json_array();
    const char *note;
    for (size_t i = 0; (note = blv_run_notes(run, i)); i++)
        cli_json_append(notes, cli_json_text(note));
    return notes;
}

static json_t *measures_object(const cli_report *report) {
    const char *const *names = blv_problem_definition(report->instance->problem)->measures;
    json_t *object = cli_json_object();
    for (size_t i = 0; i < report->measure_count; i++)
        cli_json_set(object, names[i], cli_json_real(report->measures[i]));
    return object;
}

static json_t *distances_object(const cli_report *report) {
    json_t *object = cli_json_object();
    cli_json_set(object, "x", cli_json_real(report->distance_x));
    cli_json_set(object, "y", cli_json_real(report->distance_y));
    return object;
}

json_t *cli_report_object(const cli_report *report) {
    const blv_result *result = blv_run_result(report->run);
    const cli_instance *instance = report->instance;
    const blv_solver *solver = blv_run_solver(report->run);
    json_t *object = cli_json_object();
    cli_json_set(object, "run",
                 report->stored_as ? cli_json_whole((uint64_t)report->stored_as) : json_null());
    cli_json_set(object, "problem", cli_json_text(instance->family->name));
    cli_json_set(object, "dim_x", cli_json_whole(report->end.dim[CLI_X]));
    cli_json_set(object, "dim_y", cli_json_whole(report->end.dim[CLI_Y]));
    cli_json_set(object, "solver", cli_json_text(solver->name));
    cli_json_set(object, "precision",
                 cli_json_text(cli_precision_word(instance->options.precision)));
    cli_json_set(object, "gradients_only", json_boolean(instance->gradients_only));
    cli_json_set(object, "status", cli_json_text(blv_outcome_word(result->outcome)));
    cli_json_set(object, "message", cli_json_text(report->message));
    cli_json_set(object, "iterations", cli_json_whole(result->iterations));
    cli_json_set(object, "seconds", cli_json_real(result->seconds));
    cli_json_set(object, "memory_bytes", cli_json_whole(blv_run_memory(report->run)));
    cli_json_set(object, "counts", cli_json_counts(&result->counts));
    cli_json_set(object, "setup_counts", cli_json_counts(&result->setup_counts));
    cli_json_set(object, "check_counts", cli_json_counts(&result->check_counts));
    set_certificate(object, report);
    cli_json_set(object, "distance_to_solution",
                 report->solution_known ? distances_object(report) : json_null());
    cli_json_set(object, "measures", measures_object(report));
    cli_json_set(object, "parameters",
                 cli_json_values(solver->params, blv_run_solver_fields(report->run)));
    cli_json_set(object, "options",
                 cli_json_values(blv_run_options(), blv_run_option_fields(report->run)));
    cli_json_set(object, "problem_parameters",
                 cli_json_values(instance->family->params, instance->params));
    cli_json_set(object, "notes", notes_array(report->run));
    for (int i = 0; i < CLI_VECTORS; i++)
        if (report->end.values[i] && report->end.dim[i] <= LONGEST_VECTOR)
            cli_json_set(object, cli_vector_names[i],
                         cli_json_vector(report->end.values[i], report->end.dim[i]));
    return object;
}
