/* Calling a problem's oracles: counting, differences in place of missing ones, failure codes. */
#pragma once

#include "bilevel/run.h"

typedef enum blv_oracle_kind {
    BLV_ORACLE_UPPER,
    BLV_ORACLE_LOWER,
    BLV_ORACLE_HVP,
    BLV_ORACLE_CROSS,
    BLV_ORACLE_ALL,
    BLV_ORACLE_PROJECT,
    BLV_ORACLE_HESSIAN,
    BLV_ORACLE_CROSS_MATRIX,
    BLV_ORACLE_KINDS
} blv_oracle_kind;

typedef struct blv_eval {
    const blv_problem_def *def;
    blv_counts *counts; /* where calls are counted now */

    /* Asked before every call; anything but BLV_GO is passed on. NULL: never. */
    blv_flow (*interrupt)(void *context);
    void *interrupt_context;

    /* Which moves came after the last success of each oracle: what to halve when it rejects a
     * point. */
    uint64_t moves;
    uint64_t moves_at_success[BLV_ORACLE_KINDS];
    blv_oracle_kind failed; /* the last that did, and what it returned; 0: none */
    int failed_code;

    /* For differences; NULL when the problem has Hv and Jv. */
    blv_vec *y_shifted, *gy_shifted, *gx_shifted;
    double unit_y; /* a length in y, found when the first difference is taken; 0: not yet */
} blv_eval;

/* Scratch vectors are allocated only when differences will be needed. */
blv_error blv_eval_open(blv_eval *eval, const blv_problem *problem, blv_counts *counts);
void blv_eval_close(blv_eval *eval);
size_t blv_eval_bytes(const blv_eval *eval);
const char *blv_oracle_kind_name(blv_oracle_kind kind);

blv_flow blv_eval_upper(blv_eval *eval, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                        double *f, blv_vec *fx, blv_vec *fy);
blv_flow blv_eval_lower(blv_eval *eval, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                        double *g, blv_vec *gx, blv_vec *gy);
blv_flow blv_eval_hvp(blv_eval *eval, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                      const blv_vec *v, blv_vec *hv);
blv_flow blv_eval_cross(blv_eval *eval, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                        const blv_vec *v, blv_vec *jv);
blv_flow blv_eval_all(blv_eval *eval, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                      const blv_vec *v, blv_vec *gy, blv_vec *hv, blv_vec *jv);
/* A dense matrix, BLV_ORACLE_HESSIAN or BLV_ORACLE_CROSS_MATRIX, of a problem that hands it out; it
 * counts as dim_y products. */
blv_flow blv_eval_matrix(blv_eval *eval, blv_oracle_kind kind, const blv_batch *batch,
                         const blv_vec *x, const blv_vec *y, double *matrix);
blv_flow blv_eval_project(blv_eval *eval, blv_vec *x);

/* Half width h of a central difference along v at y: |h v| = eps^(1/3) (unit + |y|), which balances
 * the error of the formula against that of rounding. The unit is the shorter of |f|/|fy| and
 * |g|/|gy| where the first difference is taken. room: of the size of y. */
blv_flow blv_difference_width(blv_eval *eval, const blv_vec *x, const blv_vec *y, double v_norm,
                              blv_vec *room, double *width);
