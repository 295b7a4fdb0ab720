#include "blocks/nested.h"
#include "core/run_private.h"

#include <stdlib.h>
#include <string.h>

static void prefix(const blv_nested *nested, char *name) {
    char whole[2 * NAME_SIZE];
    snprintf(whole, sizeof whole, "%.10s: %s", nested->solver->name, name);
    snprintf(name, NAME_SIZE, "%.31s", whole);
}

/* Solvers ask the run which one it has: some of their parts depend on it. */
static blv_error open_as(blv_run *run, const blv_nested *nested) {
    const blv_solver *outer = run->solver;
    run->solver = nested->solver;
    run->rough_constants = nested->rough;
    blv_error error = nested->solver->open(run, nested->state);
    run->solver = outer;
    run->rough_constants = false;
    return error;
}

blv_error blv_nested_open(blv_run *run, const blv_solver *solver, bool rough, blv_nested *nested) {
    *nested = (blv_nested){solver, calloc(1, solver->state_size), rough};
    if (!nested->state)
        return blv_run_fail(run, BLV_E_MEMORY, "solver %s: out of memory", solver->name);
    BLV_CHECK(blv_run_own(run, nested->state, free, solver->state_size));
    BLV_CHECK(blv_params_default(solver->params, nested->state, &run->message));
    size_t vectors = run->entry_count, numbers = run->numbers_count;
    BLV_CHECK(open_as(run, nested));
    for (size_t i = vectors; i < run->entry_count; i++)
        if (strcmp(run->entries[i].name, "v") != 0)
            prefix(nested, run->entries[i].name);
    for (size_t i = numbers; i < run->numbers_count; i++) {
        prefix(nested, run->numbers[i].name);
        run->numbers[i].is_column = false;
    }
    return BLV_OK;
}

static blv_flow call_as(blv_run *run, const blv_nested *nested,
                        blv_flow (*call)(blv_run *, void *)) {
    const blv_solver *outer = run->solver;
    run->solver = nested->solver;
    blv_flow flow = call(run, nested->state);
    run->solver = outer;
    return flow;
}

blv_flow blv_nested_prepare(blv_run *run, blv_nested *nested) {
    return nested->solver->prepare ? call_as(run, nested, nested->solver->prepare) : BLV_GO;
}

blv_flow blv_nested_step(blv_run *run, blv_nested *nested) {
    return call_as(run, nested, nested->solver->step);
}

double *blv_nested_scalar(const blv_run *run, const blv_nested *nested, const char *name) {
    char whole[NAME_SIZE];
    snprintf(whole, sizeof whole, "%s", name);
    prefix(nested, whole);
    size_t i = 0;
    while (strcmp(run->numbers[i].name, whole) != 0)
        i++;
    return run->numbers[i].values;
}

blv_vec *blv_nested_v(const blv_run *run) {
    return blv_state_find(run, "v")->vec;
}

size_t blv_nested_batch(const blv_run *run, size_t samples) {
    enum { USUAL = 64, AUTOMATIC = -1 };
    int64_t asked = run->options.batch;
    size_t batch = asked == AUTOMATIC ? USUAL : asked > 0 ? (size_t)asked : 0;
    return batch < samples ? batch : 0;
}

double blv_nested_work(const blv_run *run) {
    return (double)blv_counts_total(&run->result.counts);
}

double blv_nested_tol(const blv_run *run) {
    return run->options.tol;
}
