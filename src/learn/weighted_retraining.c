#include "learn/weighted_retraining.h"
#include "base/message.h"
#include "bilevel/certificate.h"

static const double training_tolerance = 1e-4, linear_tolerance = 1e-3;
enum { PRODUCTS_MAX = 200 };

static blv_error reject(blv_message *why, blv_error error, const char *text) {
    return blv_explain(why, error, "selection: %s", text);
}

blv_error blv_weighted_retraining_open(blv_weighted_retraining *w, const blv_problem *problem,
                                       blv_message *why) {
    const blv_problem_def *def = blv_problem_definition(problem);
    *w = (blv_weighted_retraining){.problem = problem, .def = def, .rows = def->dim_x};
    blv_vec **of_x[] = {&w->x, &w->fx, &w->jv}, **of_y[] = {&w->y, &w->start, &w->v, &w->fy};
    blv_error error = BLV_OK;
    for (size_t i = 0; error == BLV_OK && i < sizeof of_x / sizeof *of_x; i++)
        error = blv_vec_create(of_x[i], def->space_x);
    for (size_t i = 0; error == BLV_OK && i < sizeof of_y / sizeof *of_y; i++)
        error = blv_vec_create(of_y[i], def->space_y);
    if (error == BLV_OK)
        error = blv_linear_work_create(&w->cg, def->space_y, BLV_CG_VECTORS);
    if (error != BLV_OK) {
        blv_weighted_retraining_close(w);
        return reject(why, error, blv_error_text(error));
    }
    if (def->start && def->start(def->user, w->x, w->start) != 0) {
        blv_weighted_retraining_close(w);
        return reject(why, BLV_E_ORACLE, "the problem has no start");
    }
    blv_vec_copy(w->y, w->start);
    return BLV_OK;
}

void blv_weighted_retraining_close(blv_weighted_retraining *w) {
    blv_vec *all[] = {w->x, w->y, w->start, w->v, w->fy, w->fx, w->jv};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        blv_vec_destroy(all[i]);
    blv_linear_work_destroy(w->cg);
    blv_arena_free(&w->arena);
    *w = (blv_weighted_retraining){0};
}

blv_error blv_weighted_retraining_train(blv_weighted_retraining *w, const double *weight,
                                        bool from_start, double *f, blv_message *why) {
    double reached;
    blv_vec_write(w->x, weight);
    if (from_start)
        blv_vec_copy(w->y, w->start);
    blv_error error =
        blv_solve_lower(w->problem, w->x, w->y, training_tolerance, NULL, NULL, &reached, why);
    if (error == BLV_OK && f && w->def->upper(w->def->user, NULL, w->x, w->y, f, NULL, NULL) != 0)
        error = reject(why, BLV_E_ORACLE, "an oracle failed");
    return error;
}

static int hessian_times(void *context, const blv_vec *in, blv_vec *out) {
    const blv_weighted_retraining *w = context;
    return w->def->lower_hvp(w->def->user, NULL, w->x, w->y, in, out);
}

blv_error blv_weighted_retraining_slope(blv_weighted_retraining *w, double *slope,
                                        blv_message *why) {
    const blv_problem_def *def = w->def;
    if (def->upper(def->user, NULL, w->x, w->y, NULL, w->fx, w->fy) != 0)
        return reject(why, BLV_E_ORACLE, "an oracle failed");
    const double tolerance = linear_tolerance * blv_vec_norm(w->fy);
    const blv_linear_result end =
        blv_cg_solve(w->cg, hessian_times, w, w->fy, w->v, false, tolerance, PRODUCTS_MAX);
    if (end.end == BLV_LINEAR_OPERATOR || end.end == BLV_LINEAR_NONFINITE ||
        def->lower_cross(def->user, NULL, w->x, w->y, w->v, w->jv) != 0)
        return reject(why, BLV_E_ORACLE, "an oracle failed");
    blv_vec_combine(w->fx, 1.0, w->fx, -1.0, w->jv);
    blv_vec_read(w->fx, slope);
    return BLV_OK;
}
