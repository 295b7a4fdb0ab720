/* Oracle calls. Counts are per sample: a call on a batch of b counts b, on the whole sum its number
 * of terms. A call that returns several things counts one of each. What a problem lacks is made
 * from central differences of gy (Hv) and gx (Jv), and counted as the gradients that were really
 * asked. */
#include "core/eval.h"
#include "base/precision.h"
#include "core/problem_private.h"

#include <math.h>

blv_error blv_eval_open(blv_eval *eval, const blv_problem *problem, blv_counts *counts) {
    *eval = (blv_eval){.def = blv_problem_definition(problem), .counts = counts};
    const blv_problem_def *def = eval->def;
    blv_error error = BLV_OK;
    bool hv_missing = blv_lacks_hvp(def), jv_missing = blv_lacks_cross(def);
    if (hv_missing || jv_missing)
        error = blv_vec_create(&eval->y_shifted, def->space_y);
    if (error == BLV_OK && hv_missing)
        error = blv_vec_create(&eval->gy_shifted, def->space_y);
    if (error == BLV_OK && jv_missing)
        error = blv_vec_create(&eval->gx_shifted, def->space_x);
    if (error != BLV_OK)
        blv_eval_close(eval);
    return error;
}

void blv_eval_close(blv_eval *eval) {
    blv_vec_destroy(eval->y_shifted);
    blv_vec_destroy(eval->gy_shifted);
    blv_vec_destroy(eval->gx_shifted);
    eval->y_shifted = eval->gy_shifted = eval->gx_shifted = NULL;
}

size_t blv_eval_bytes(const blv_eval *eval) {
    size_t y = blv_space_vec_bytes(eval->def->space_y), x = blv_space_vec_bytes(eval->def->space_x);
    return (eval->y_shifted ? y : 0) + (eval->gy_shifted ? y : 0) + (eval->gx_shifted ? x : 0);
}

const char *blv_oracle_kind_name(blv_oracle_kind kind) {
    static const char *const names[BLV_ORACLE_KINDS] = {"upper",
                                                        "lower",
                                                        "lower_hvp",
                                                        "lower_cross",
                                                        "lower_all",
                                                        "project_x",
                                                        "lower_hessian_matrix",
                                                        "lower_cross_matrix"};
    return names[kind];
}

uint64_t blv_counts_total(const blv_counts *c) {
    return c ? c->f_grad + c->g_grad + c->hvp + c->cross + c->values : 0;
}

static blv_flow ask(blv_eval *eval) {
    return eval->interrupt ? eval->interrupt(eval->interrupt_context) : BLV_GO;
}

static blv_flow answer(blv_eval *eval, blv_oracle_kind kind, int code) {
    if (code == 0) {
        eval->moves_at_success[kind] = eval->moves;
        return BLV_GO;
    }
    eval->failed = kind;
    eval->failed_code = code;
    return code > 0 ? BLV_RETRY : BLV_FATAL;
}

static uint64_t size_of(const blv_batch *batch, size_t samples) {
    return batch ? batch->count : samples;
}

blv_flow blv_eval_upper(blv_eval *eval, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                        double *f, blv_vec *fx, blv_vec *fy) {
    BLV_TRY(ask(eval));
    uint64_t b = size_of(batch, eval->def->upper_samples);
    eval->counts->f_grad += fx || fy ? b : 0;
    eval->counts->values += f ? b : 0;
    return answer(eval, BLV_ORACLE_UPPER,
                  eval->def->upper(eval->def->user, batch, x, y, f, fx, fy));
}

blv_flow blv_eval_lower(blv_eval *eval, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                        double *g, blv_vec *gx, blv_vec *gy) {
    BLV_TRY(ask(eval));
    uint64_t b = size_of(batch, eval->def->lower_samples);
    eval->counts->g_grad += gx || gy ? b : 0;
    eval->counts->values += g ? b : 0;
    return answer(eval, BLV_ORACLE_LOWER,
                  eval->def->lower(eval->def->user, batch, x, y, g, gx, gy));
}

static blv_flow find_unit(blv_eval *eval, const blv_vec *x, const blv_vec *y, blv_vec *room) {
    double f, g;
    BLV_TRY(blv_eval_upper(eval, NULL, x, y, &f, NULL, room));
    double fy_norm = blv_vec_norm(room), by_f = fabs(f) / fy_norm;
    BLV_TRY(blv_eval_lower(eval, NULL, x, y, &g, NULL, room));
    double gy_norm = blv_vec_norm(room), by_g = fabs(g) / gy_norm;
    if (!isfinite(f + fy_norm) || !isfinite(g + gy_norm))
        return BLV_NONFINITE;
    bool f_tells = by_f > 0.0 && isfinite(by_f), g_tells = by_g > 0.0 && isfinite(by_g);
    eval->unit_y = f_tells && g_tells ? fmin(by_f, by_g) : f_tells ? by_f : g_tells ? by_g : 1.0;
    return BLV_GO;
}

blv_flow blv_difference_width(blv_eval *eval, const blv_vec *x, const blv_vec *y, double v_norm,
                              blv_vec *room, double *width) {
    if (eval->unit_y == 0.0)
        BLV_TRY(find_unit(eval, x, y, room));
    *width = cbrt(blv_epsilon_of(y)) * (eval->unit_y + blv_vec_norm(y)) / v_norm;
    return BLV_GO;
}

/* hv and jv from gradients at y + h v and y - h v; each may be NULL. */
static blv_flow differences(blv_eval *eval, const blv_batch *batch, const blv_vec *x,
                            const blv_vec *y, const blv_vec *v, blv_vec *hv, blv_vec *jv) {
    double v_norm = blv_vec_norm(v);
    if (v_norm == 0.0) {
        if (hv)
            blv_vec_fill(hv, 0.0);
        if (jv)
            blv_vec_fill(jv, 0.0);
        return BLV_GO;
    }
    if (!isfinite(v_norm))
        return BLV_NONFINITE;
    double h;
    BLV_TRY(blv_difference_width(eval, x, y, v_norm, eval->y_shifted, &h));
    blv_vec_combine(eval->y_shifted, 1.0, y, h, v);
    BLV_TRY(blv_eval_lower(eval, batch, x, eval->y_shifted, NULL, jv, hv));
    blv_vec_combine(eval->y_shifted, 1.0, y, -h, v);
    BLV_TRY(blv_eval_lower(eval, batch, x, eval->y_shifted, NULL, jv ? eval->gx_shifted : NULL,
                           hv ? eval->gy_shifted : NULL));
    if (hv)
        blv_vec_combine(hv, 0.5 / h, hv, -0.5 / h, eval->gy_shifted);
    if (jv)
        blv_vec_combine(jv, 0.5 / h, jv, -0.5 / h, eval->gx_shifted);
    return BLV_GO;
}

blv_flow blv_eval_hvp(blv_eval *eval, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                      const blv_vec *v, blv_vec *hv) {
    if (!eval->def->lower_hvp && eval->def->lower_all)
        return blv_eval_all(eval, batch, x, y, v, NULL, hv, NULL);
    if (!eval->def->lower_hvp)
        return differences(eval, batch, x, y, v, hv, NULL);
    BLV_TRY(ask(eval));
    eval->counts->hvp += size_of(batch, eval->def->lower_samples);
    return answer(eval, BLV_ORACLE_HVP, eval->def->lower_hvp(eval->def->user, batch, x, y, v, hv));
}

blv_flow blv_eval_cross(blv_eval *eval, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                        const blv_vec *v, blv_vec *jv) {
    if (!eval->def->lower_cross && eval->def->lower_all)
        return blv_eval_all(eval, batch, x, y, v, NULL, NULL, jv);
    if (!eval->def->lower_cross)
        return differences(eval, batch, x, y, v, NULL, jv);
    BLV_TRY(ask(eval));
    eval->counts->cross += size_of(batch, eval->def->lower_samples);
    return answer(eval, BLV_ORACLE_CROSS,
                  eval->def->lower_cross(eval->def->user, batch, x, y, v, jv));
}

blv_flow blv_eval_all(blv_eval *eval, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                      const blv_vec *v, blv_vec *gy, blv_vec *hv, blv_vec *jv) {
    const blv_problem_def *def = eval->def;
    if (def->lower_all) {
        BLV_TRY(ask(eval));
        uint64_t b = size_of(batch, def->lower_samples);
        eval->counts->g_grad += gy ? b : 0;
        eval->counts->hvp += hv ? b : 0;
        eval->counts->cross += jv ? b : 0;
        return answer(eval, BLV_ORACLE_ALL, def->lower_all(def->user, batch, x, y, v, gy, hv, jv));
    }
    if (gy)
        BLV_TRY(blv_eval_lower(eval, batch, x, y, NULL, NULL, gy));
    if (!def->lower_hvp && !def->lower_cross)
        return differences(eval, batch, x, y, v, hv, jv);
    if (hv)
        BLV_TRY(blv_eval_hvp(eval, batch, x, y, v, hv));
    if (jv)
        BLV_TRY(blv_eval_cross(eval, batch, x, y, v, jv));
    return BLV_GO;
}

blv_flow blv_eval_matrix(blv_eval *eval, blv_oracle_kind kind, const blv_batch *batch,
                         const blv_vec *x, const blv_vec *y, double *matrix) {
    const blv_problem_def *def = eval->def;
    const bool hessian = kind == BLV_ORACLE_HESSIAN;
    BLV_TRY(ask(eval));
    *(hessian ? &eval->counts->hvp : &eval->counts->cross) +=
        def->dim_y * size_of(batch, def->lower_samples);
    const blv_matrix_fn of_problem = hessian ? def->lower_hessian_matrix : def->lower_cross_matrix;
    return answer(eval, kind, of_problem(def->user, batch, x, y, matrix));
}

blv_flow blv_eval_project(blv_eval *eval, blv_vec *x) {
    if (!eval->def->project_x)
        return BLV_GO;
    return answer(eval, BLV_ORACLE_PROJECT, eval->def->project_x(eval->def->user, x));
}
