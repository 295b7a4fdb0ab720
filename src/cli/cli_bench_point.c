#include "cli_bench_point.h"
#include "bilevel/certificate.h"

#include <math.h>
#include <stdlib.h>

uint64_t cli_point_calls(const blv_result *r) {
    const blv_counts *a = &r->counts, *b = &r->setup_counts;
    return a->f_grad + a->g_grad + a->hvp + a->cross + a->values + b->f_grad + b->g_grad + b->hvp +
           b->cross + b->values;
}

static void set_counts(json_t *point, const blv_result *r) {
    const blv_counts *a = &r->counts, *b = &r->setup_counts;
    cli_json_set(point, "f_grad", cli_json_whole(a->f_grad + b->f_grad));
    cli_json_set(point, "g_grad", cli_json_whole(a->g_grad + b->g_grad));
    cli_json_set(point, "hvp", cli_json_whole(a->hvp + b->hvp));
    cli_json_set(point, "jvp", cli_json_whole(a->cross + b->cross));
    cli_json_set(point, "values", cli_json_whole(a->values + b->values));
    cli_json_set(point, "calls", cli_json_whole(cli_point_calls(r)));
}

static void set_measures(json_t *point, blv_run *run, const blv_problem *problem) {
    const blv_problem_def *def = blv_problem_definition(problem);
    double f = NAN, values[BLV_MEASURES_MAX];
    if (def->upper(def->user, NULL, blv_run_x(run), blv_run_y(run), &f, NULL, NULL) != 0)
        f = NAN;
    cli_json_set(point, "f", cli_json_real(f));
    if (!def->measure || def->measure(def->user, blv_run_x(run), blv_run_y(run), values) != 0)
        return;
    for (size_t i = 0; i < BLV_MEASURES_MAX && def->measures[i]; i++)
        cli_json_set(point, def->measures[i], cli_json_real(values[i]));
}

/* A point without a certificate says that there is none at this x. Where memory is short, that is
 * not so: the bench ends, and makes the run again when it goes on. */
static void set_certificate(json_t *point, cli_report *report) {
    blv_error error = blv_run_certify(report->run, &report->certificate);
    if (error == BLV_E_MEMORY)
        exit(cli_refuse(error, blv_run_message(report->run)));
    report->certified = error == BLV_OK;
    const blv_certificate *c = &report->certificate;
    cli_json_set(point, "phi", cli_json_real(report->certified ? c->phi : NAN));
    cli_json_set(point, "grad_norm", cli_json_real(report->certified ? c->grad_norm : NAN));
}

json_t *cli_point_look(cli_report *report, bool certify) {
    const blv_result *result = blv_run_result(report->run);
    json_t *point = cli_json_object();
    cli_json_set(point, "iteration", cli_json_whole(result->iterations));
    cli_json_set(point, "seconds", cli_json_real(result->seconds));
    set_counts(point, result);
    set_measures(point, report->run, report->instance->problem);
    if (certify)
        set_certificate(point, report);
    return point;
}
