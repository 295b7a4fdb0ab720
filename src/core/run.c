/* The run: create, set, open, step, solve, result. It owns all memory of the solver and keeps time;
 * run_loop.c has the loop. */
#include "bilevel/certificate.h"
#include "bilevel/registry.h"
#include "core/checkpoint_format.h"
#include "core/run_private.h"
#include "space/step_checks.h"

#include <math.h>
#include <stdlib.h>

/* ---- Life ---- */

static blv_error check_fit(const blv_problem *problem, const blv_solver *solver, blv_message *why) {
    if (solver->size < sizeof *solver)
        return blv_explain(why, BLV_E_ARGUMENT,
                           "solver: the descriptor must begin with BLV_SIZED(blv_solver)");
    if (!solver->name || !solver->open || !solver->step)
        return blv_explain(why, BLV_E_ARGUMENT, "solver: name, open and step must be set");
    blv_message remark;
    if (blv_solver_fit(solver, problem, &remark) != BLV_FIT_REJECTED)
        return BLV_OK;
    return blv_explain(why, BLV_E_UNSUPPORTED, "problem %.60s does not suit solver %.60s: %.300s",
                       blv_problem_definition(problem)->name, solver->name, remark.text);
}

static blv_error start_run(blv_run *run) {
    const blv_problem_def *def = run->def;
    if (!def->start)
        return BLV_OK;
    if (def->start(def->user, run->x, run->y) != 0 ||
        blv_eval_project(&run->observe, run->x) != BLV_GO)
        return blv_run_fail(run, BLV_E_ORACLE, "the start of problem %.60s failed", def->name);
    if (!isfinite(blv_vec_norm(run->x)) || !isfinite(blv_vec_norm(run->y)))
        return blv_run_fail(run, BLV_E_ORACLE, "the start of problem %.60s is not finite",
                            def->name);
    return BLV_OK;
}

static blv_error fill_run(blv_run *run, blv_message *why) {
    BLV_CHECK(blv_params_default(blv_option_table, &run->options, why));
    BLV_CHECK(blv_params_default(run->solver->params, run->state, why));
    BLV_CHECK(blv_state_iterate(run, "x", BLV_LEVEL_X, &run->x));
    BLV_CHECK(blv_state_iterate(run, "y", BLV_LEVEL_Y, &run->y));
    if (run->def->project_x)
        BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, &run->x_displacement));
    BLV_CHECK(blv_checkpoint_register(run));
    BLV_CHECK(blv_watch_register(run));
    BLV_CHECK(blv_eval_open(&run->eval, run->problem, &run->result.counts));
    BLV_CHECK(blv_eval_open(&run->observe, run->problem, &run->result.check_counts));
    return start_run(run);
}

blv_error blv_run_create(blv_run **run, const blv_problem *problem, const blv_solver *solver,
                         blv_message *why) {
    if (run)
        *run = NULL;
    if (!run || !problem || !solver)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_run_create: a NULL argument");
    BLV_CHECK(check_fit(problem, solver, why));
    blv_run *r = calloc(1, sizeof *r);
    void *state = calloc(1, solver->state_size ? solver->state_size : 1);
    if (!r || !state) {
        free(r);
        free(state);
        return blv_explain(why, BLV_E_MEMORY, "run: out of memory");
    }
    r->problem = problem;
    r->def = blv_problem_definition(problem);
    r->solver = solver;
    r->state = state;
    r->result.metrics = r->metrics_whole = blv_no_metrics;
    r->mapping_norm = NAN;
    atomic_init(&r->stop_requested, false);
    r->failure_x = blv_space_failure(r->def->space_x);
    r->failure_y = blv_space_failure(r->def->space_y);
    r->agrees = blv_space_agrees(r->def->space_y);
    blv_error error = fill_run(r, &r->message);
    if (error != BLV_OK) {
        blv_explain(why, error, "%s", r->message.text[0] ? r->message.text : blv_error_text(error));
        blv_run_destroy(r);
        return error;
    }
    r->eval.interrupt = blv_run_interrupt;
    r->eval.interrupt_context = r;
    blv_explain(&r->message, BLV_OK, "not started");
    *run = r;
    return BLV_OK;
}

void blv_run_destroy(blv_run *run) {
    if (!run)
        return;
    if (run->busy) { /* what called this stands on the run */
        blv_run_stop(run);
        return;
    }
    if (run->solver->close && run->phase != PHASE_CREATED)
        run->solver->close(run, run->state);
    blv_trace_close(run);
    blv_rows_close(run);
    blv_certifier_destroy(run->certifier);
    blv_eval_close(&run->eval);
    blv_eval_close(&run->observe);
    blv_ahead_close(run);
    blv_state_free(run);
    blv_key_values_free(&run->parameters);
    free(run->trace_path);
    free(run->trace_values);
    free(run->state);
    free(run);
}

/* The table that has a key: the run's options or the solver's parameters. */
typedef struct key_table {
    const blv_param *table;
    void *fields;
    char owner[80];
} key_table;

static blv_error find_table(blv_run *run, const char *key, key_table *found) {
    if (!run)
        return BLV_E_ARGUMENT;
    if (run->phase != PHASE_CREATED)
        return blv_run_fail(run, BLV_E_ORDER, "parameters must be set before the run is opened");
    if (!key)
        return blv_run_fail(run, BLV_E_ARGUMENT, "a parameter needs a key and a value");
    if (blv_params_find(blv_option_table, key)) {
        *found = (key_table){blv_option_table, &run->options, "run"};
        return BLV_OK;
    }
    *found = (key_table){run->solver->params, run->state, ""};
    snprintf(found->owner, sizeof found->owner, "solver %.60s", run->solver->name);
    if (blv_params_find(run->solver->params, key))
        return BLV_OK;
    blv_nearest nearest = {.name = key};
    for (const blv_param *p = run->solver->params; p && p->key; p++)
        blv_nearest_try(&nearest, p->key);
    for (const blv_param *p = blv_option_table; p->key; p++)
        blv_nearest_try(&nearest, p->key);
    char lacking[100];
    snprintf(lacking, sizeof lacking, "%s has no parameter", found->owner);
    return blv_explain_name(&run->message, lacking, &nearest);
}

blv_error blv_run_set(blv_run *run, const char *key, const char *value) {
    key_table at;
    BLV_CHECK(find_table(run, key, &at));
    return blv_params_set(at.table, at.fields, at.owner, key, value, &run->message);
}

blv_error blv_run_set_real(blv_run *run, const char *key, double value) {
    key_table at;
    BLV_CHECK(find_table(run, key, &at));
    return blv_params_set_real(at.table, at.fields, at.owner, key, value, &run->message);
}

blv_error blv_run_set_int(blv_run *run, const char *key, int64_t value) {
    key_table at;
    BLV_CHECK(find_table(run, key, &at));
    return blv_params_set_int(at.table, at.fields, at.owner, key, value, &run->message);
}

/* ---- Opening ---- */

static size_t largest_dim(const blv_run *run) {
    return run->def->dim_x > run->def->dim_y ? run->def->dim_x : run->def->dim_y;
}

static blv_error open_parts(blv_run *run) {
    if (run->eval.y_shifted)
        BLV_CHECK(blv_state_hidden(run, "unit of y", &run->eval.unit_y));
    BLV_CHECK(run->solver->open(run, run->state));
    BLV_CHECK(blv_checkpoint_note_parameters(run));
    if (run->options.certify == CERTIFY_ROWS || !isnan(run->options.target)) {
        blv_error error =
            blv_certifier_create(&run->certifier, run->problem, &run->result.check_counts);
        if (error != BLV_OK)
            return blv_run_fail(run, error, "certifier: %s", blv_certifier_refusal(error));
    }
    BLV_CHECK(blv_ahead_open(run));
    if ((run->trace_path || run->row) && run->options.iterates) {
        run->trace_values = malloc(largest_dim(run) * sizeof *run->trace_values);
        if (!run->trace_values)
            return blv_run_fail(run, BLV_E_MEMORY, "trace: out of memory");
    }
    return BLV_OK;
}

blv_error blv_run_open(blv_run *run) {
    if (!run)
        return BLV_E_ARGUMENT;
    if (run->phase != PHASE_CREATED) {
        if (run->open_error != BLV_OK)
            run->message = run->ending;
        return run->open_error;
    }
    run->phase = PHASE_OPEN;
    run->busy = true;
    run->message.text[0] = '\0';
    run->open_error = blv_run_agree_error(run, open_parts(run), &run->message);
    run->busy = false;
    if (run->open_error != BLV_OK) {
        run->phase = PHASE_ENDED;
        if (!run->message.text[0])
            blv_run_fail(run, run->open_error, "solver %.60s: %s", run->solver->name,
                         blv_error_text(run->open_error));
        run->ending = run->message;
        return run->open_error;
    }
    if ((run->solver->uses & BLV_USES_HVP) && run->eval.gy_shifted)
        blv_run_note(run, "Hv by central differences of gy: the problem has no lower_hvp");
    if ((run->solver->uses & BLV_USES_CROSS) && run->eval.gx_shifted)
        blv_run_note(run, "Jv by central differences of gx: the problem has no lower_cross");
    if (run->solver->bias)
        blv_run_note(run, "biased: %s", run->solver->bias);
    return blv_run_fail(run, BLV_OK, "not started");
}

size_t blv_run_memory(const blv_run *run) {
    if (!run)
        return 0;
    size_t bytes = sizeof *run + run->solver->state_size + blv_eval_bytes(&run->eval) +
                   blv_eval_bytes(&run->observe);
    for (size_t i = 0; i < run->entry_count; i++)
        bytes += blv_space_vec_bytes(blv_vec_space(run->entries[i].vec)) *
                 (run->entries[i].borrowed   ? 0
                  : run->entries[i].previous ? 2
                                             : 1);
    for (size_t i = 0; i < run->owned_count; i++)
        bytes += run->owned[i].bytes;
    for (size_t i = 0; i < run->ahead.vec_count; i++)
        bytes += run->ahead.vec[i] ? blv_space_vec_bytes(blv_vec_space(run->ahead.vec[i])) : 0;
    if (run->certifier)
        bytes += blv_certifier_bytes(run->certifier);
    bytes += run->parameters.room + run->entry_count * sizeof *run->entries +
             run->numbers_count * sizeof *run->numbers + run->owned_count * sizeof *run->owned;
    if (run->trace_values)
        bytes += largest_dim(run) * sizeof *run->trace_values;
    return bytes;
}

/* ---- Running ---- */

/* What a run cannot do without has failed: a space, then the trace. */
static blv_error status(blv_run *run) {
    BLV_CHECK(blv_space_error(run->def->space_x, NULL));
    BLV_CHECK(blv_space_error(run->def->space_y, NULL));
    if (run->error != BLV_OK)
        return blv_run_fail(run, run->error, "certificate: %s", blv_error_text(run->error));
    if (!run->trace_failed)
        return BLV_OK;
    return blv_run_fail(run, BLV_E_FILE, "trace %s: could not be written to the end",
                        run->trace_path);
}

static blv_error begin(blv_run *run) {
    if (!run)
        return BLV_E_ARGUMENT;
    if (run->busy)
        return blv_run_fail(run, BLV_E_ORDER, "a monitor may not step the run that calls it");
    BLV_CHECK(blv_run_open(run));
    bool starts = run->phase == PHASE_OPEN || run->just_loaded;
    return starts ? blv_trace_open(run) : BLV_OK;
}

static blv_error advance(blv_run *run, bool to_the_end) {
    BLV_CHECK(begin(run));
    if (run->phase != PHASE_ENDED) {
        run->busy = true;
        blv_clock_start(run);
        blv_run_advance(run, to_the_end);
        blv_clock_stop(run);
        run->result.seconds = blv_clock_seconds(run);
        run->busy = false;
    }
    return status(run);
}

blv_error blv_run_step(blv_run *run) {
    return advance(run, false);
}

blv_error blv_run_solve(blv_run *run) {
    return advance(run, true);
}

void blv_run_stop(blv_run *run) {
    if (run)
        atomic_store(&run->stop_requested, true);
}

/* ---- Looking ---- */

const blv_result *blv_run_result(const blv_run *run) {
    return run ? &run->result : NULL;
}

const char *blv_run_message(const blv_run *run) {
    return run ? run->message.text : "no run";
}

const char *blv_run_notes(const blv_run *run, size_t i) {
    return run && i < run->note_count ? run->notes[i].text : NULL;
}

const blv_solver *blv_run_solver(const blv_run *run) {
    return run ? run->solver : NULL;
}

const void *blv_run_solver_fields(const blv_run *run) {
    return run ? run->state : NULL;
}

blv_vec *blv_run_x(blv_run *run) {
    return run ? run->x : NULL;
}

blv_vec *blv_run_y(blv_run *run) {
    return run ? run->y : NULL;
}

const blv_problem *blv_run_problem(const blv_run *run) {
    return run ? run->problem : NULL;
}

uint64_t blv_run_iteration(const blv_run *run) {
    return run ? run->result.iterations : 0;
}

blv_metrics *blv_run_metrics(blv_run *run) {
    return run ? &run->result.metrics : NULL;
}
