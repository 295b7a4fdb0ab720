#include "blocks/hessian_average.h"
#include "core/run_private.h"
#include "core/workspace.h"
#include "linsolve/dense_symmetric.h"

#include <math.h>
#include <string.h>

/* auto: dense up to this size. A dense H costs dim_y products, one with a window its number of
 * slots times the products of a solve. */
enum { AUTO_DIM_MAX = 200, AUTO_ENTRIES_MAX = 1000000 };

static size_t entries_H(const blv_run *run) {
    return run->def->dim_y * run->def->dim_y;
}

static size_t entries_G(const blv_run *run) {
    return run->def->dim_x * run->def->dim_y;
}

static blv_error open_explicit(blv_run *run, blv_hessian_average *c) {
    size_t H = entries_H(run), G = entries_G(run);
    BLV_CHECK(blv_matrices_fit(run, true));
    BLV_CHECK(blv_matrices_open(run, &c->matrices));
    BLV_CHECK(blv_dense_system_open(run, &c->system));
    BLV_CHECK(blv_state_block(run, "H estimate", H, &c->H));
    BLV_CHECK(blv_state_block(run, "J estimate", G, &c->G));
    BLV_CHECK(blv_scratch_block(run, H, &c->H_now));
    BLV_CHECK(blv_scratch_block(run, G, &c->G_now));
    BLV_CHECK(blv_scratch_block(run, H, &c->H_at));
    BLV_CHECK(blv_scratch_block(run, G, &c->G_at));
    return blv_scratch_block(run, run->def->dim_x + run->def->dim_y, &c->host);
}

blv_error blv_hessian_average_open(blv_run *run, blv_hessian_average *c, bool recursive, bool dense,
                                   const blv_sampler *batches) {
    bool small = run->def->dim_y <= AUTO_DIM_MAX && entries_G(run) <= AUTO_ENTRIES_MAX;
    if (c->form == BLV_CARRIED_AUTO)
        c->form = dense || small ? BLV_CARRIED_EXPLICIT : BLV_CARRIED_OPERATOR;
    c->recursive = recursive;
    BLV_CHECK(blv_state_hidden(run, "singular_in_a_row", &c->singular_in_a_row));
    if (c->form == BLV_CARRIED_EXPLICIT)
        return open_explicit(run, c);
    BLV_CHECK(blv_run_linear_work(run, BLV_MINRES_VECTORS, &c->minres));
    return blv_hessian_history_open(run, (size_t)c->slots, recursive, batches, &c->window);
}

/* ---- Putting in ---- */

/* out = a m + b n */
static void combine(size_t count, double a, const double *m, double b, const double *n,
                    double *out) {
    for (size_t i = 0; i < count; i++)
        out[i] = a * m[i] + b * n[i];
}

static blv_flow put_explicit(blv_run *run, blv_hessian_average *c, const blv_batch *batch,
                             const blv_point *at, const blv_point *old, double c_H, double c_J) {
    size_t H = entries_H(run), G = entries_G(run);
    double a_H = c->recursive ? 1.0 : c_H, a_J = c->recursive ? 1.0 : c_J;
    BLV_TRY(blv_matrices_fill(run, &c->matrices, batch, at->x, at->y, c->H_at, c->G_at));
    combine(H, a_H, c->H_at, 1.0 - c_H, c->H, c->H_now);
    combine(G, a_J, c->G_at, 1.0 - c_J, c->G, c->G_now);
    if (!c->recursive || !old)
        return BLV_GO;
    BLV_TRY(blv_matrices_fill(run, &c->matrices, batch, old->x, old->y, c->H_at, c->G_at));
    combine(H, 1.0, c->H_now, c_H - 1.0, c->H_at, c->H_now);
    combine(G, 1.0, c->G_now, c_J - 1.0, c->G_at, c->G_now);
    return BLV_GO;
}

blv_flow blv_hessian_average_put(blv_run *run, blv_hessian_average *c, const blv_batch *batch,
                                 const blv_point *at, const blv_point *old, double c_H,
                                 double c_J) {
    if (c->form == BLV_CARRIED_EXPLICIT)
        return put_explicit(run, c, batch, at, old, c_H, c_J);
    blv_hessian_history_put(c->window, batch, at->x, at->y,
                            (const double[]){[BLV_WINDOW_H] = c_H, [BLV_WINDOW_J] = c_J});
    return BLV_GO;
}

size_t blv_hessian_average_clip_room(const blv_run *run) {
    size_t dx = run->def->dim_x, dy = run->def->dim_y, small = dx < dy ? dx : dy;
    size_t of_H = 2 * dy * dy, of_G = 2 * small * small + (dx > dy ? dx : dy);
    return of_H > of_G ? of_H : of_G;
}

void blv_hessian_average_clip(blv_run *run, blv_hessian_average *c, double mu, double L, double C,
                              double *room) {
    size_t dx = run->def->dim_x, dy = run->def->dim_y;
    blv_dense_clip_eigenvalues(dy, c->H_now, mu, L, room);
    blv_dense_clip_singular_values(dx, dy, c->G_now, C, room);
}

double blv_hessian_average_cross_norm(blv_run *run, const blv_hessian_average *c) {
    double square = 0.0;
    for (size_t i = 0; i < entries_G(run); i++)
        square += c->G_now[i] * c->G_now[i];
    return sqrt(square);
}

/* ---- Solving and multiplying ---- */

static int apply_window(void *context, const blv_vec *in, blv_vec *out) {
    return (int)blv_hessian_history_apply(context, BLV_WINDOW_H, in, out);
}

blv_flow blv_hessian_average_solve(blv_run *run, blv_hessian_average *c, const blv_batch *batch,
                                   const blv_vec *h, blv_vec *v, double *r_norm) {
    blv_adjoint_result r;
    if (c->form == BLV_CARRIED_EXPLICIT)
        BLV_TRY(blv_dense_system_factor(&c->system, c->H_now, h, v, &r));
    else
        BLV_TRY(blv_adjoint_minres_of(c->minres, apply_window, c->window, h, v, &c->limits, &r));
    *r_norm = r.r_norm;
    c->singular = r.singular;
    return blv_adjoint_singular(run, batch, r.singular, &c->singular_in_a_row);
}

blv_flow blv_hessian_average_solve_more(blv_hessian_average *c, const blv_vec *b, blv_vec *out) {
    double r_norm;
    if (!c->singular)
        return blv_dense_system_solve(&c->system, c->H_now, b, out, &r_norm);
    blv_vec_fill(out, 0.0);
    return BLV_GO;
}

blv_flow blv_hessian_average_cross(blv_run *run, blv_hessian_average *c, const blv_vec *v,
                                   blv_vec *out) {
    size_t dx = run->def->dim_x, dy = run->def->dim_y;
    double *in = c->host, *product = c->host + dy;
    if (c->form == BLV_CARRIED_OPERATOR)
        return blv_hessian_history_apply(c->window, BLV_WINDOW_J, v, out);
    blv_vec_read(v, in);
    for (size_t i = 0; i < dx; i++) {
        product[i] = 0.0;
        for (size_t j = 0; j < dy; j++)
            product[i] += c->G_now[i * dy + j] * in[j];
    }
    blv_vec_write(out, product);
    return BLV_GO;
}

void blv_hessian_average_cross_transposed(blv_run *run, const blv_hessian_average *c,
                                          const blv_vec *d, blv_vec *out) {
    size_t dx = run->def->dim_x, dy = run->def->dim_y;
    double *product = c->host, *in = c->host + dy;
    blv_vec_read(d, in);
    memset(product, 0, dy * sizeof *product);
    for (size_t i = 0; i < dx; i++)
        for (size_t j = 0; j < dy; j++)
            product[j] += c->G_now[i * dy + j] * in[i];
    blv_vec_write(out, product);
}

void blv_hessian_average_keep(blv_run *run, blv_hessian_average *c) {
    if (c->form == BLV_CARRIED_OPERATOR)
        return;
    memcpy(c->H, c->H_now, entries_H(run) * sizeof *c->H);
    memcpy(c->G, c->G_now, entries_G(run) * sizeof *c->G);
}
