/* The problem of a variant, and whether problems and solvers accept their settings. */
#include "bench/bench.h"

#include "base/number_text.h"
#include "bilevel/solver.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- The problem ---- */

void bench_problem_free(bench_problem *p) {
    blv_problem_destroy(p->problem);
    free(p->params);
    *p = (bench_problem){0};
}

blv_error bench_set_params(const blv_values *settings, const blv_param *params, void *fields,
                           const char *owner, blv_message *why) {
    for (size_t i = 0; i < settings->count; i++) {
        const blv_value *value = &settings->items[i];
        char text[BLV_SHOWN_SIZE];
        blv_value_show(value, text);
        BLV_CHECK(blv_params_set(params, fields, owner, value->name,
                                 value->text ? value->text : text, why));
    }
    return BLV_OK;
}

/* Finds the family and sets its parameters: settings, and the data files of the variant. */
static blv_error find_problem(bench_problem *p, const bench *b, size_t variant,
                              const blv_values *settings) {
    bench_problem_free(p);
    const blv_problem_family *family = p->family =
        blv_family_find(NULL, b->suite.problem, b->suite.why);
    if (!family)
        return BLV_E_NAME;
    p->params = calloc(1, family->params_size ? family->params_size : 1);
    if (!p->params)
        return BLV_E_MEMORY;
    BLV_CHECK(blv_params_default(family->params, p->params, b->suite.why));
    char owner[80];
    snprintf(owner, sizeof owner, "problem %s", family->name);
    BLV_CHECK(bench_set_params(settings, family->params, p->params, owner, b->suite.why));
    return bench_set_params(&b->suite.variants[variant].files, family->params, p->params, owner,
                            b->suite.why);
}

blv_error bench_problem_take(bench_problem *p, const bench *b, const bench_job *job) {
    if (p->problem && p->variant == job->variant &&
        blv_values_equal(p->settings, &job->problem_set))
        return BLV_OK;
    BLV_CHECK(find_problem(p, b, job->variant, &job->problem_set));
    const blv_problem_options options = {.precision = (blv_precision)b->suite.precision,
                                         .threads = b->request->threads};
    BLV_CHECK(p->family->create(p->params, &options, &p->problem, b->suite.why));
    p->variant = job->variant;
    p->settings = &job->problem_set;
    return BLV_OK;
}

/* ---- The run ---- */

blv_error bench_configure(blv_run *run, const bench_job *job) {
    char text[BLV_SHOWN_SIZE];
    snprintf(text, sizeof text, "%" PRIu64, job->seed);
    BLV_CHECK(blv_run_set(run, "seed", text));
    for (size_t i = 0; i < job->set.count; i++) {
        blv_value_show(&job->set.items[i], text);
        BLV_CHECK(blv_run_set(run, job->set.items[i].name, text));
    }
    if (job->limit.kind == BENCH_SECONDS)
        blv_number_format(job->limit.amount, text, sizeof text);
    else
        snprintf(text, sizeof text, "%.0f", fmax(1.0, floor(job->limit.amount)));
    return blv_run_set(run, bench_limit_options[job->limit.kind], text);
}

/* ---- Checks before anything runs ---- */

blv_error bench_check_problems(const bench *b) {
    bench_problem p = {0};
    blv_error error = BLV_OK;
    for (size_t v = 0; v < b->suite.variant_count && error == BLV_OK; v++)
        error = find_problem(&p, b, v, &b->suite.variants[v].problem_set);
    bench_problem_free(&p);
    return error;
}

/* Settings are tried on a small problem that suits every solver, before data are read. */
static blv_error check_solver(const bench *b, const blv_problem *small, const bench_job *job) {
    blv_run *run = NULL;
    blv_message text = {0};
    const blv_solver *solver = blv_solver_find(NULL, job->solver, &text);
    blv_error error = solver ? blv_run_create(&run, small, solver, &text) : BLV_E_NAME;
    const char *message = text.text;
    if (error == BLV_OK) {
        error = bench_configure(run, job);
        message = blv_run_message(run);
    }
    if (error != BLV_OK)
        blv_explain(b->suite.why, error, "%s: %s: %.300s", b->suite.path,
                    job->entry == SIZE_MAX ? "reference" : bench_job_entry(b, job),
                    message && *message ? message : blv_error_text(error));
    blv_run_destroy(run);
    return error;
}

/* A baseline and the seed set parameters of the problem that its variants do not. */
static blv_error check_job(const bench *b, const blv_problem *small, const bench_job *job,
                           bench_problem *p) {
    if (b->suite.has_command)
        return bench_check_choice(b, job);
    bool own = b->suite.seeded.count > 0 ||
               (job->entry != SIZE_MAX && b->suite.entries[job->entry].problem_set.count > 0);
    if (own)
        BLV_CHECK(find_problem(p, b, job->variant, &job->problem_set));
    return check_solver(b, small, job);
}

blv_error bench_check_jobs(const bench *b) {
    blv_problem *small = NULL;
    bench_problem p = {0};
    const blv_problem_family *family = blv_family_find(NULL, "parabola", b->suite.why);
    blv_error error =
        family ? blv_problem_from_family(family, NULL, NULL, &small, b->suite.why) : BLV_E_NAME;
    for (size_t i = 0; i < b->job_count && error == BLV_OK; i++)
        error = check_job(b, small, &b->jobs[i], &p);
    bench_problem_free(&p);
    blv_problem_destroy(small);
    return error;
}
