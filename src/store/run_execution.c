#include "store/run_execution.h"

#include "bilevel/checkpoint.h"
#include "bilevel/npz.h"
#include "store/run_info.h"
#include "store/store_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The error with the run's message. */
static blv_error explain(const blv_run *run, blv_error error, blv_message *why) {
    return error == BLV_OK ? BLV_OK : blv_explain(why, error, "%s", blv_run_message(run));
}

/* ---- Vectors ---- */

static const char *const vector_names[BLV_VECTORS] = {"x", "y", "v"};

static void free_vectors(blv_vectors *vectors) {
    for (int i = 0; i < BLV_VECTORS; i++)
        free(vectors->values[i]);
    *vectors = (blv_vectors){0};
}

/* Those that the run has. */
static blv_error read_vectors(blv_vectors *vectors, const blv_run *run) {
    *vectors = (blv_vectors){0};
    for (int i = 0; i < BLV_VECTORS; i++) {
        size_t dim = blv_run_dim(run, vector_names[i]);
        double *values = dim > 0 ? malloc(dim * sizeof *values) : NULL;
        if (dim > 0 && !values) {
            free_vectors(vectors);
            return BLV_E_MEMORY;
        }
        if (values && blv_run_read(run, vector_names[i], values) == BLV_OK) {
            vectors->dim[i] = dim;
            vectors->values[i] = values;
        } else
            free(values);
    }
    return BLV_OK;
}

/* ---- Where it starts ---- */

static blv_error expect_size(const char *path, const char *name, size_t expected, size_t found,
                             blv_message *why) {
    return found == expected
               ? BLV_OK
               : blv_explain(why, BLV_E_VALUE, "%s: array %s: expected %zu entries, found %zu",
                             blv_shown_path(path), name, expected, found);
}

/* An array that the file does not have is passed over. v has its size from the solver. */
static blv_error load_vector(blv_vectors *loaded, int which, blv_npz *file, const char *path,
                             const blv_problem_def *def, blv_message *why) {
    const char *name = vector_names[which];
    const bool single = def->precision == BLV_F32;
    blv_array about;
    blv_error error = blv_npz_info(file, name, &about, why);
    if (error != BLV_OK)
        return error == BLV_E_NAME ? BLV_OK : error;
    if (which != BLV_VECTOR_V)
        BLV_CHECK(expect_size(path, name, which == BLV_VECTOR_X ? def->dim_x : def->dim_y,
                              about.count, why));
    BLV_CHECK(blv_npz_read_f64(file, name, &loaded->values[which], NULL, why));
    loaded->dim[which] = about.count;
    for (size_t i = 0; i < about.count; i++) {
        double value = loaded->values[which][i];
        if (!isfinite(single ? (double)(float)value : value))
            return blv_explain(
                why, BLV_E_VALUE,
                "%s: array %s: entry %zu is %g, expected a finite number of precision %s",
                blv_shown_path(path), name, i, value, single ? "f32" : "f64");
    }
    return BLV_OK;
}

blv_error blv_start_load(blv_vectors *loaded, const char *start, const blv_problem *problem,
                         blv_message *why) {
    *loaded = (blv_vectors){0};
    if (strcmp(start, "zero") == 0 || strcmp(start, "random") == 0)
        return BLV_OK;
    blv_npz *file = NULL;
    BLV_CHECK(blv_npz_open(&file, start, why));
    blv_error error = BLV_OK;
    bool found = false;
    for (int i = 0; i < BLV_VECTORS && error == BLV_OK; i++) {
        error = load_vector(loaded, i, file, start, blv_problem_definition(problem), why);
        found = found || loaded->values[i];
    }
    if (error == BLV_OK && !found)
        error = blv_explain(why, BLV_E_VALUE, "%s: expected an array x, y or v, found none of them",
                            blv_shown_path(start));
    blv_npz_close(file);
    if (error != BLV_OK)
        free_vectors(loaded);
    return error;
}

static blv_error apply_vector(blv_run *run, int which, const char *path, const blv_vectors *loaded,
                              blv_message *why) {
    const char *name = vector_names[which];
    size_t dim = blv_run_dim(run, name);
    if (dim == 0)
        return blv_explain(why, BLV_E_VALUE, "%s: array %s: solver %s has no %s to start from",
                           blv_shown_path(path), name, blv_run_solver(run)->name, name);
    BLV_CHECK(expect_size(path, name, dim, loaded->dim[which], why));
    return explain(run, blv_run_write(run, name, loaded->values[which]), why);
}

/* Sets the start of an opened run. v_is_optional: for a solver without v that of the file is passed
 * over. */
static blv_error apply_start(blv_run *run, const char *start, const blv_vectors *loaded,
                             bool v_is_optional, blv_message *why) {
    const double scale = 1.0;
    if (strcmp(start, "random") == 0)
        BLV_CHECK(explain(run, blv_run_start_random(run, scale), why));
    for (int i = 0; i < BLV_VECTORS; i++) {
        bool passed_over =
            i == BLV_VECTOR_V && v_is_optional && blv_run_dim(run, vector_names[i]) == 0;
        if (loaded->values[i] && !passed_over)
            BLV_CHECK(apply_vector(run, i, start, loaded, why));
    }
    return BLV_OK;
}

/* ---- Vectors in files ---- */

blv_error blv_vectors_expect_writable(const char *path, blv_message *why) {
    blv_npz_writer *writer = NULL;
    BLV_CHECK(blv_npz_create(&writer, path, why));
    blv_npz_discard(writer);
    return BLV_OK;
}

static blv_error add_vectors(blv_npz_writer *writer, const blv_vectors *vectors, const char *suffix,
                             blv_message *why) {
    for (int i = 0; i < BLV_VECTORS; i++) {
        if (!vectors->values[i])
            continue;
        char name[8];
        snprintf(name, sizeof name, "%s%s", vector_names[i], suffix);
        BLV_CHECK(blv_npz_add_f64(writer, name, 1, &vectors->dim[i], vectors->values[i], why));
    }
    return BLV_OK;
}

blv_error blv_vectors_save(const char *path, const blv_vectors *end, const blv_vectors *start,
                           blv_message *why) {
    blv_npz_writer *writer = NULL;
    BLV_CHECK(blv_npz_create(&writer, path, why));
    blv_error error = add_vectors(writer, end, "", why);
    if (error == BLV_OK)
        error = add_vectors(writer, start, "0", why);
    if (error == BLV_OK)
        return blv_npz_commit(writer, why);
    blv_npz_discard(writer);
    return error;
}

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
    BLV_CHECK(read_vectors(&e->end_vectors, run));
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

static blv_error load(const blv_execution *e, blv_run *run, blv_message *why) {
    const blv_store *store = e->recorder->store;
    char *base = store ? blv_store_parts_base(store, e->resumed) : NULL;
    blv_error error = blv_run_load_parts(run, base, e->checkpoint, e->checkpoint_size);
    free(base);
    return explain(run, error, why);
}

blv_error blv_execution_begin(blv_execution *e, blv_run *run, blv_message *why) {
    static const blv_vectors none = {0};
    if (!e->own_rows)
        blv_recorder_follow(e->recorder, run, e->all_rows);
    if (e->trace)
        BLV_CHECK(explain(run, blv_run_trace(run, e->trace), why));
    BLV_CHECK(explain(run, blv_run_open(run), why));
    BLV_CHECK(apply_start(run, e->start ? e->start : "zero", e->loaded ? e->loaded : &none,
                          e->is_one_of_several, why));
    if (read_vectors(&e->start_vectors, run) != BLV_OK)
        return blv_explain_memory(why);
    if (e->checkpoint)
        BLV_CHECK(load(e, run, why));
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
    free_vectors(&e->start_vectors);
    free_vectors(&e->end_vectors);
    blv_values_free(&e->report.measures);
    blv_values_free(&e->report.parameters);
    blv_values_free(&e->report.options);
}
