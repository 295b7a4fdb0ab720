#include "cli_drive.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cli_drive_is_exact(const cli_learning *learning) {
    return strcmp(learning->solver->name, "exact") == 0;
}

static bool is_set(const cli_settings *settings, const char *key) {
    for (size_t i = 0; i < settings->count; i++)
        if (strcmp(settings->items[i].key, key) == 0)
            return true;
    return false;
}

/* Sets a parameter of the solver, where it has one of that name that takes the value and that is
 * not given on the command line. */
static blv_error suggest(const cli_learning *learning, blv_run *run, const char *key,
                         const char *value) {
    const blv_param *param = blv_params_find(learning->solver->params, key);
    bool word = param && param->words && strstr(param->words, value);
    bool number = param && !param->words;
    return (word || number) && !is_set(&learning->settings, key) ? blv_run_set(run, key, value)
                                                                 : BLV_OK;
}

/* A limit where none is given; steps that suit sums over many rows (s-tfbo); solves that need not
 * be tight (exact). */
static blv_error set_defaults(const cli_learning *learning, const cli_drive_plan *plan,
                              blv_run *run) {
    const cli_settings *given = &learning->settings;
    bool limited = is_set(given, "iters") || is_set(given, "seconds") || is_set(given, "budget");
    char number[32];
    snprintf(number, sizeof number, "%" PRIu64, plan->iterations);
    if (!limited)
        BLV_CHECK(blv_run_set(run, "iters", number));
    BLV_CHECK(suggest(learning, run, "scale", "auto"));
    return suggest(learning, run, "solve_tol", "1e-4");
}

static blv_error set_up(const cli_learning *learning, const cli_drive_plan *plan, blv_run *run) {
    BLV_CHECK(set_defaults(learning, plan, run));
    for (size_t i = 0; i < learning->settings.count; i++)
        BLV_CHECK(
            blv_run_set(run, learning->settings.items[i].key, learning->settings.items[i].value));
    if (plan->trace)
        BLV_CHECK(blv_run_trace(run, plan->trace));
    BLV_CHECK(blv_run_open(run));
    return plan->start_y ? blv_run_write(run, "y", plan->start_y) : BLV_OK;
}

static blv_error run_to_end(const cli_drive_plan *plan, blv_run *run) {
    BLV_CHECK(cli_watch_run_with(run, plan->label, plan->look, plan->context, plan->every));
    blv_error error = blv_run_solve(run);
    cli_watch_leave();
    return error;
}

static blv_error read_end(const blv_run *run, cli_driven *end) {
    const blv_result *result = blv_run_result(run);
    *end = (cli_driven){.dim_x = blv_run_dim(run, "x"),
                        .dim_y = blv_run_dim(run, "y"),
                        .outcome = result->outcome,
                        .iterations = result->iterations,
                        .seconds = result->seconds};
    end->x = cli_alloc(end->dim_x, sizeof *end->x);
    end->y = cli_alloc(end->dim_y, sizeof *end->y);
    BLV_CHECK(blv_run_read(run, "x", end->x));
    return blv_run_read(run, "y", end->y);
}

/* The exit code that the end deserves. */
static int judge(const blv_run *run, blv_error error) {
    if (error != BLV_OK)
        return cli_refuse(error, blv_run_message(run));
    if (blv_run_result(run)->outcome > BLV_DIVERGED)
        return CLI_DONE;
    cli_complain("solver %s: %s", blv_run_solver(run)->name, blv_run_message(run));
    return CLI_FAILED;
}

int cli_drive(const cli_learning *learning, const cli_drive_plan *plan, cli_driven *end) {
    blv_message why = {0};
    blv_run *run = NULL;
    blv_error error = blv_run_create(&run, plan->problem, learning->solver, &why);
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    error = set_up(learning, plan, run);
    if (error == BLV_OK)
        error = run_to_end(plan, run);
    int code = judge(run, error);
    if (code == CLI_DONE) {
        error = read_end(run, end);
        code = error == BLV_OK ? CLI_DONE : cli_refuse(error, NULL);
    }
    blv_run_destroy(run);
    return code;
}

void cli_driven_free(cli_driven *end) {
    free(end->x);
    free(end->y);
    *end = (cli_driven){0};
}
