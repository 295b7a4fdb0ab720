/* blv_solve: one run from options to solution. */
#include "base/message.h"
#include "registry/solve_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double usual_progress_seconds = 0.5;

blv_error blv_solve_options_take(blv_solve_options *own, const blv_solve_options *given,
                                 blv_message *why) {
    BLV_CHECK(blv_caller_struct(own, sizeof *own, given, "blv_solve_options", why));
    if (!(own->progress_seconds > 0.0))
        own->progress_seconds = usual_progress_seconds;
    return BLV_OK;
}

/* ---- Settings "KEY" and "SOLVER.KEY" for one solver or several ---- */

static bool has_key(const blv_solver *solver, const char *key) {
    return blv_params_find(solver->params, key) || blv_params_find(blv_run_options(), key);
}

/* The key after "SOLVER."; NULL when the setting is not for this solver alone. */
static const char *own_key(const char *key, const blv_solver *solver) {
    size_t length = strlen(solver->name);
    return strncmp(key, solver->name, length) == 0 && key[length] == '.' ? key + length + 1 : NULL;
}

static blv_error reject_solver(const char *key, const blv_solver *const *solvers, size_t count,
                               blv_message *why) {
    char name[64], lacking[160];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(key, "."), key);
    snprintf(lacking, sizeof lacking, "%.80s: among the solvers that run is no", key);
    blv_nearest nearest = {.name = name};
    for (size_t i = 0; i < count; i++)
        blv_nearest_try(&nearest, solvers[i]->name);
    return blv_explain_name(why, lacking, &nearest);
}

static blv_error reject_key(const char *key, const blv_solver *const *solvers, size_t count,
                            blv_message *why) {
    blv_nearest nearest = {.name = key};
    for (size_t i = 0; i < count; i++)
        for (const blv_param *p = solvers[i]->params; p && p->key; p++)
            blv_nearest_try(&nearest, p->key);
    for (const blv_param *p = blv_run_options(); p->key; p++)
        blv_nearest_try(&nearest, p->key);
    return blv_explain_name(why, "none of the solvers that run has a parameter", &nearest);
}

static blv_error check_setting(const char *key, const blv_solver *const *solvers, size_t count,
                               blv_message *why) {
    bool of_one = strchr(key, '.') != NULL;
    for (size_t i = 0; i < count; i++)
        if (of_one ? own_key(key, solvers[i]) != NULL : has_key(solvers[i], key))
            return BLV_OK;
    if (of_one)
        return reject_solver(key, solvers, count, why);
    return count > 1 ? reject_key(key, solvers, count, why) : BLV_OK; /* the run explains better */
}

blv_error blv_settings_check(const char *const *settings, const blv_solver *const *solvers,
                             size_t count, blv_message *why) {
    for (size_t i = 0; settings && settings[i]; i += 2) {
        if (!settings[i + 1])
            return blv_explain(why, BLV_E_ARGUMENT, "setting '%.60s' has no value", settings[i]);
        BLV_CHECK(check_setting(settings[i], solvers, count, why));
    }
    return BLV_OK;
}

static blv_error apply_settings(blv_run *run, const char *const *settings, bool alone) {
    const blv_solver *solver = blv_run_solver(run);
    for (size_t i = 0; settings && settings[i]; i += 2)
        if (!strchr(settings[i], '.') && (alone || has_key(solver, settings[i])))
            BLV_CHECK(blv_run_set(run, settings[i], settings[i + 1]));
    for (size_t i = 0; settings && settings[i]; i += 2) {
        const char *key = own_key(settings[i], solver);
        if (key)
            BLV_CHECK(blv_run_set(run, key, settings[i + 1]));
    }
    return BLV_OK;
}

/* 0 is the default, whatever the option's own default is. */
static blv_error set_real(blv_run *run, const char *key, double value) {
    return value == 0.0 ? BLV_OK : blv_run_set_real(run, key, value);
}

static blv_error set_int(blv_run *run, const char *key, int64_t value) {
    return value == 0 ? BLV_OK : blv_run_set_int(run, key, value);
}

blv_error blv_solve_configure(blv_run *run, const blv_solve_options *options, bool alone) {
    BLV_CHECK(set_real(run, "tol", options->tol));
    BLV_CHECK(set_real(run, "seconds", options->seconds));
    BLV_CHECK(set_int(run, "iters", options->iters));
    BLV_CHECK(set_int(run, "budget", options->budget));
    BLV_CHECK(set_int(run, "seed", options->seed));
    if (options->no_certificate)
        BLV_CHECK(blv_run_set(run, "certify", "never"));
    BLV_CHECK(apply_settings(run, options->settings, alone));
    if (options->x)
        BLV_CHECK(blv_run_write(run, "x", options->x));
    return options->y ? blv_run_write(run, "y", options->y) : BLV_OK;
}

/* ---- The solution ---- */

/* The notes are one block: the pointers, then the texts. */
void blv_solution_destroy(blv_solution *solution) {
    if (!solution)
        return;
    free(solution->x);
    free(solution->y);
    free((void *)solution->notes);
    free(solution);
}

static const char *const *copy_notes(const blv_run *run) {
    size_t count = 0, bytes = 0;
    for (const char *note; (note = blv_run_notes(run, count)); count++)
        bytes += strlen(note) + 1;
    const char **notes = malloc((count + 1) * sizeof *notes + bytes);
    if (!notes)
        return NULL;
    char *text = (char *)(notes + count + 1);
    for (size_t i = 0; i < count; i++) {
        notes[i] = strcpy(text, blv_run_notes(run, i));
        text += strlen(text) + 1;
    }
    notes[count] = NULL;
    return notes;
}

static blv_solution *allocate(const blv_run *run) {
    blv_solution *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->dim_x = blv_run_dim(run, "x");
    s->dim_y = blv_run_dim(run, "y");
    s->x = malloc(s->dim_x * sizeof *s->x);
    s->y = malloc(s->dim_y * sizeof *s->y);
    if (s->x && s->y)
        return s;
    blv_solution_destroy(s);
    return NULL;
}

/* None where the problem cannot tell. */
static void measure(blv_solution *s, blv_run *run) {
    const blv_problem_def *def = blv_problem_definition(blv_run_problem(run));
    if (!def->measure || def->measure(def->user, blv_run_x(run), blv_run_y(run), s->measures) != 0)
        return;
    while (s->measure_count < BLV_MEASURES_MAX && def->measures[s->measure_count])
        s->measure_count++;
}

static void copy_result(blv_solution *s, const blv_run *run) {
    const blv_result *result = blv_run_result(run);
    s->solver = blv_run_solver(run);
    s->outcome = result->outcome;
    s->converged = result->outcome > BLV_RUNNING;
    blv_explain(&s->message, BLV_OK, "%s", blv_run_message(run));
    s->iterations = result->iterations;
    s->seconds = result->seconds;
    s->counts = result->counts;
    s->setup_counts = result->setup_counts;
    s->metrics = result->metrics;
    blv_run_read(run, "x", s->x);
    blv_run_read(run, "y", s->y);
}

/* That there is no certificate is an error only where memory is short. */
static blv_error certify(blv_solution *s, blv_run *run, bool wanted) {
    blv_error error = wanted ? blv_run_certify(run, &s->certificate) : BLV_E_ORDER;
    s->certified = error == BLV_OK;
    if (!s->certified) {
        s->certificate = BLV_NO_CERTIFICATE;
        blv_explain(&s->no_certificate, error, "%s",
                    wanted ? blv_run_message(run) : "not asked for");
    }
    s->phi = s->certificate.phi;
    s->grad_norm = s->certificate.grad_norm;
    s->check_counts = blv_run_result(run)->check_counts;
    return error == BLV_E_MEMORY ? error : BLV_OK;
}

/* ---- The run ---- */

/* The error with the run's message. */
static blv_error explain(const blv_run *run, blv_error error, blv_message *why) {
    return error == BLV_OK ? BLV_OK : blv_explain(why, error, "%s", blv_run_message(run));
}

/* Steps to the end. A run that ended has a solution, whatever the error. */
static blv_error solve(blv_solution **solution, blv_run *run, const blv_solve_options *options,
                       blv_message *why) {
    BLV_CHECK(explain(run, blv_run_open(run), why));
    blv_solution *s = allocate(run);
    if (!s)
        return blv_explain(why, BLV_E_MEMORY, "solution: out of memory");
    blv_error error = explain(run, blv_run_solve(run), why);
    if (error != BLV_OK && blv_run_result(run)->outcome == BLV_RUNNING) {
        blv_solution_destroy(s);
        return error;
    }
    copy_result(s, run);
    blv_error certifying = certify(s, run, !options->no_certificate);
    if (blv_run_result(run)->outcome != s->outcome) /* the certificate says that it diverged */
        copy_result(s, run);
    measure(s, run);
    s->notes = copy_notes(run);
    if (!s->notes) {
        blv_solution_destroy(s);
        return blv_explain(why, BLV_E_MEMORY, "solution: out of memory");
    }
    *solution = s;
    return error != BLV_OK ? error : explain(run, certifying, why);
}

static blv_error begin_and_solve(blv_solution **solution, blv_run *run,
                                 const blv_solve_options *options, blv_message *why) {
    if (options->progress)
        BLV_CHECK(explain(
            run,
            blv_run_monitor(run, options->progress, options->context, 0, options->progress_seconds),
            why));
    blv_message said = {""};
    blv_error error = options->begin ? options->begin(options->context, run, &said) : BLV_OK;
    if (error == BLV_OK)
        error = solve(solution, run, options, &said);
    if (error != BLV_OK && !said.text[0])
        blv_explain(&said, error, "%s", blv_error_text(error));
    if (options->end)
        options->end(options->context, run, *solution, error, said.text);
    return error == BLV_OK ? BLV_OK : blv_explain(why, error, "%s", said.text);
}

blv_error blv_solve_with(blv_solution **solution, const blv_problem *problem,
                         const blv_solver *solver, const blv_solve_options *options, bool alone,
                         blv_message *why) {
    blv_run *run = NULL;
    BLV_CHECK(blv_run_create(&run, problem, solver, why));
    blv_error error = explain(run, blv_solve_configure(run, options, alone), why);
    if (error == BLV_OK)
        error = begin_and_solve(solution, run, options, why);
    blv_run_destroy(run);
    return error;
}

blv_error blv_solve(blv_solution **solution, const blv_problem *problem,
                    const blv_solve_options *options, blv_message *why) {
    if (solution)
        *solution = NULL;
    if (!solution || !problem)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_solve: a NULL argument");
    blv_solve_options own;
    BLV_CHECK(blv_solve_options_take(&own, options, why));
    const char *name = own.solver ? own.solver : BLV_DEFAULT_SOLVER;
    const blv_solver *solver = blv_solver_find(own.registry, name, why);
    if (!solver)
        return BLV_E_NAME;
    BLV_CHECK(blv_settings_check(own.settings, &solver, 1, why));
    return blv_solve_with(solution, problem, solver, &own, true, why);
}
