#include "cli_drive.h"
#include "bilevel/certificate.h"
#include "cli_work.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
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
    bool number = param && param->type != BLV_CHOICE && isdigit((unsigned char)*value);
    return (word || number) && !is_set(&learning->settings, key) ? blv_run_set(run, key, value)
                                                                 : BLV_OK;
}

/* Steps that suit sums over many rows (s-tfbo); solves that need not be tight, and a row of the
 * trace for each of few iterations (exact). */
blv_error cli_drive_set(const cli_learning *learning, blv_run *run) {
    const cli_settings *given = &learning->settings;
    BLV_CHECK(suggest(learning, run, "scale", "auto"));
    BLV_CHECK(suggest(learning, run, "solve_tol", "1e-4"));
    if (cli_drive_is_exact(learning) && !is_set(given, "every"))
        BLV_CHECK(blv_run_set(run, "every", "1"));
    for (size_t i = 0; i < given->count; i++)
        BLV_CHECK(blv_run_set(run, given->items[i].key, given->items[i].value));
    return BLV_OK;
}

static blv_error limit(const cli_learning *learning, const cli_drive_plan *plan, blv_run *run) {
    const cli_settings *given = &learning->settings;
    if (is_set(given, "iters") || is_set(given, "seconds") || is_set(given, "budget"))
        return BLV_OK;
    char number[32];
    snprintf(number, sizeof number, "%" PRIu64, plan->iterations);
    return blv_run_set(run, "iters", number);
}

static blv_error set_up(const cli_learning *learning, const cli_drive_plan *plan, blv_run *run) {
    cli_work_listen(learning->work, learning, plan, run);
    BLV_CHECK(cli_drive_set(learning, run));
    BLV_CHECK(limit(learning, plan, run));
    if (plan->products)
        BLV_CHECK(suggest(learning, run, "products", plan->products));
    if (plan->trace)
        BLV_CHECK(blv_run_trace(run, plan->trace));
    BLV_CHECK(blv_run_open(run));
    return plan->start_y ? blv_run_write(run, "y", plan->start_y) : BLV_OK;
}

static blv_error run_to_end(const cli_drive_plan *plan, blv_run *run) {
    BLV_CHECK(cli_watch_run_with(run, plan->label, plan->look, plan->context, plan->every));
    return blv_run_solve(run);
}

/* Where there is no certificate, the numbers are NaN. Whoever has stopped the run does not want to
 * wait for one. */
static void certify(const cli_learning *learning, blv_run *run, cli_driven *end) {
    bool wanted = !learning->no_certificate && !cli_watch_signalled();
    if (wanted)
        cli_watch_say("certifying");
    blv_error error = wanted ? blv_run_certify(run, &end->certificate) : BLV_OK;
    end->certified = wanted && error == BLV_OK;
    if (error == BLV_E_MEMORY) {
        cli_watch_clear();
        cli_complain("there is no certificate: %s", blv_error_text(error));
    }
    if (!end->certified)
        end->certificate = (blv_certificate){NAN, NAN, NAN, NAN, NAN, NAN, false, false, false};
}

static blv_error read_end(const blv_run *run, cli_driven *end) {
    const blv_result *result = blv_run_result(run);
    *end = (cli_driven){.dim_x = blv_run_dim(run, "x"),
                        .dim_y = blv_run_dim(run, "y"),
                        .outcome = result->outcome,
                        .iterations = result->iterations,
                        .seconds = result->seconds,
                        .counts = result->counts,
                        .setup_counts = result->setup_counts};
    end->x = cli_alloc(end->dim_x, sizeof *end->x);
    end->y = cli_alloc(end->dim_y, sizeof *end->y);
    BLV_CHECK(blv_run_read(run, "x", end->x));
    return blv_run_read(run, "y", end->y);
}

/* The exit code that the end deserves. */
static int judge(cli_work *work, const blv_run *run, blv_error error) {
    if (error == BLV_OK && blv_run_result(run)->outcome > BLV_DIVERGED)
        return CLI_DONE;
    snprintf(work->message, sizeof work->message, "%s", blv_run_message(run));
    if (error != BLV_OK)
        return cli_refuse(error, blv_run_message(run));
    cli_complain("solver %s: %s", blv_run_solver(run)->name, blv_run_message(run));
    return CLI_FAILED;
}

static int finish(const cli_learning *learning, const cli_drive_plan *plan, blv_run *run,
                  cli_driven *end) {
    blv_error error = read_end(run, end);
    if (error != BLV_OK)
        return cli_refuse(error, NULL);
    certify(learning, run, end);
    cli_work_keep(learning->work, plan, end);
    return CLI_DONE;
}

int cli_drive(const cli_learning *learning, const cli_drive_plan *plan, cli_driven *end) {
    cli_work *work = learning->work;
    if (cli_work_recall(work, plan, end))
        return CLI_DONE;
    blv_message why = {0};
    blv_run *run = NULL;
    blv_error error = blv_run_create(&run, plan->problem, learning->solver, &why);
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    error = set_up(learning, plan, run);
    int code = error == BLV_OK ? cli_work_go_on(work, plan, run) : CLI_DONE;
    if (error == BLV_OK && code == CLI_DONE)
        error = run_to_end(plan, run);
    if (code == CLI_DONE)
        code = judge(work, run, error);
    if (code == CLI_DONE)
        code = finish(learning, plan, run, end);
    cli_watch_leave();
    blv_run_destroy(run);
    return code;
}

void cli_driven_free(cli_driven *end) {
    free(end->x);
    free(end->y);
    *end = (cli_driven){0};
}
