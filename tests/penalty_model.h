/* For test_replay_penalty.c: gradients of f and g at any point, from their formulas, in plain dense
 * arrays, and the algorithms of the penalty family made of them. Include after cmocka.h. */
#ifndef BLV_TESTS_PENALTY_MODEL_H
#define BLV_TESTS_PENALTY_MODEL_H

#include "replay_model.h"

enum { ROOM = 64 };

/* r is the record, with the problem of the batch at hand; of its vectors only x and y are used. */
typedef struct model {
    replay r;
    double z[ROOM], w[ROOM], x_before[ROOM], wbar[ROOM], v[ROOM];
    double Gu[ROOM], Gw[ROOM], Gx[ROOM];   /* sums of directions */
    double mean[3][ROOM], square[3][ROOM]; /* Adam's, of u, w and x */
    double fx[ROOM], fy[ROOM], gx[ROOM], gy[ROOM];
    double d[ROOM], e[ROOM]; /* directions in x and in y */
    double k, S, restarts, count[3];
} model;

/* ---- Gradients ---- */

static inline void gradient_f(model *m, const double *x, const double *y) {
    const replay *r = &m->r;
    if (r->kind == SCALAR_PENALTY) { /* f = (y-0.1)^2/2 */
        m->fx[0] = 0.0;
        m->fy[0] = y[0] - 0.1;
    } else if (r->kind == PL_SINE) { /* f = cos(4y+2)/(1+e) + ln(w^2+1)/2 */
        double e = exp(2.0 - 4.0 * x[0]), w = 4.0 * x[0] - 2.0;
        m->fx[0] =
            cos(4.0 * y[0] + 2.0) * 4.0 * e / ((1.0 + e) * (1.0 + e)) + 4.0 * w / (w * w + 1.0);
        m->fy[0] = -4.0 * sin(4.0 * y[0] + 2.0) / (1.0 + e);
    } else {
        for (size_t j = 0; j < r->dx; j++)
            m->fx[j] = r->ridge * x[j];
        for (size_t i = 0; i < r->dy; i++)
            m->fy[i] = y[i] - r->b[i];
    }
}

static inline void gradient_g(model *m, const double *x, const double *y) {
    const replay *r = &m->r;
    if (r->kind == SCALAR_PENALTY) { /* g = 0.05 (y-1)^2 + x y^2 */
        m->gx[0] = y[0] * y[0];
        m->gy[0] = 0.1 * (y[0] - 1.0) + 2.0 * x[0] * y[0];
    } else if (r->kind == PL_SINE) { /* g = t^2 + x sin^2 t, t = x + y */
        double t = x[0] + y[0], s = sin(t), c = cos(t);
        m->gx[0] = 2.0 * t + s * s + 2.0 * x[0] * s * c;
        m->gy[0] = 2.0 * t + 2.0 * x[0] * s * c;
    } else { /* g = y'Ay/2 + y'Cx + y'c */
        dense_transposed_times(r->dy, r->dx, r->C, y, m->gx);
        dense_times(r->dy, r->dx, r->C, x, m->gy);
        for (size_t i = 0; i < r->dy; i++)
            m->gy[i] += r->c[i] + dense_inner(r->dy, r->A + i * r->dy, y);
    }
}

/* The next recorded call, and the gradient on its batch. */
static inline void next_f(model *m, const double *x, const double *y) {
    take(&m->r, 'u');
    gradient_f(m, x, y);
}

static inline void next_g(model *m, const double *x, const double *y) {
    take(&m->r, 'l');
    gradient_g(m, x, y);
}

static inline void project(const model *m, double *x) {
    for (size_t j = 0; j < m->r.dx; j++)
        x[j] = fmin(fmax(x[j], m->r.lo), m->r.hi);
}

/* e = fy + lambda gy at y */
static inline void next_both(model *m, double lambda, const double *x, const double *y) {
    next_f(m, x, y);
    next_g(m, x, y);
    for (size_t i = 0; i < m->r.dy; i++)
        m->e[i] = m->fy[i] + lambda * m->gy[i];
}

/* d = fx(x,y) + lambda (gx(x,y) - gx(x,z)), e = fy(x,y) + lambda gy(x,y), gy that at z. */
static inline void next_direction(model *m, double lambda, const double *x, const double *y,
                                  const double *z) {
    double at_y[ROOM];
    next_both(m, lambda, x, y);
    memcpy(at_y, m->gx, m->r.dx * sizeof *at_y);
    next_g(m, x, z);
    for (size_t j = 0; j < m->r.dx; j++)
        m->d[j] = m->fx[j] + lambda * (at_y[j] - m->gx[j]);
}

/* ---- F2BA, RAGD-GS ---- */

/* z+ = zt - step h'(zt); zt = z+ + momentum (z+ - z). lambda 0: h = g; else f + lambda g. */
static inline void agd(model *m, double *z, const double *x, double lambda, size_t steps,
                       double step, double momentum) {
    double point[ROOM], before[ROOM];
    size_t n = m->r.dy;
    memcpy(point, z, n * sizeof *point);
    for (size_t t = 0; t < steps; t++) {
        if (lambda > 0.0)
            next_both(m, lambda, x, point);
        else
            next_g(m, x, point);
        memcpy(before, z, n * sizeof *before);
        for (size_t i = 0; i < n; i++) {
            z[i] = point[i] - step * (lambda > 0.0 ? m->e[i] : m->gy[i]);
            point[i] = z[i] + momentum * (z[i] - before[i]);
        }
    }
}

static inline double momentum_of(double L, double mu) {
    return (sqrt(L) - sqrt(mu)) / (sqrt(L) + sqrt(mu));
}

static inline void solve_both(model *m, const double *x, bool accelerated) {
    const replay *r = &m->r;
    double lambda = setting(r, "lambda", 300.0), Lg = setting(r, "Lg", NAN),
           mu = setting(r, "mu", NAN);
    size_t T = count_setting(r, "inner", 0), T_y = count_setting(r, "inner_y", T);
    agd(m, m->z, x, 0.0, T, 1.0 / Lg, accelerated ? momentum_of(Lg, mu) : 0.0);
    agd(m, m->r.y, x, lambda, T_y, 1.0 / (2.0 * lambda * Lg),
        accelerated ? momentum_of(4.0 * Lg, mu) : 0.0);
    next_direction(m, lambda, x, m->r.y, m->z);
}

static inline void step_f2ba(model *m) {
    solve_both(m, m->r.x, false);
    move_x(&m->r, setting(&m->r, "step_x", NAN), m->d);
}

/* x+ = P(w - step d), w = P(x+ + theta (x+ - x)), k and S. */
static inline void accelerated_move(model *m, double step, double theta) {
    size_t n = m->r.dx;
    memcpy(m->x_before, m->r.x, n * sizeof(double));
    for (size_t j = 0; j < n; j++)
        m->r.x[j] = m->w[j] - step * m->d[j];
    project(m, m->r.x);
    for (size_t j = 0; j < n; j++) {
        double way = m->r.x[j] - m->x_before[j];
        m->w[j] = m->r.x[j] + theta * way;
        m->S += way * way;
    }
    project(m, m->w);
    m->k += 1.0;
}

static inline void restart(model *m) {
    m->k = m->S = 0.0;
    m->restarts += 1.0;
}

static inline void step_ragd_gs(model *m) {
    const replay *r = &m->r;
    double L = setting(r, "L", NAN), Hc = setting(r, "Hc", NAN), nu = setting(r, "nu", 1.0);
    double before[ROOM];
    if (m->k == 0.0) {
        memcpy(m->w, r->x, r->dx * sizeof(double));
        if (setting_is(r, "warm", "off")) {
            memset(r->y, 0, r->dy * sizeof(double));
            memset(m->z, 0, r->dy * sizeof(double));
        }
    }
    memcpy(before, m->w, r->dx * sizeof(double));
    solve_both(m, m->w, true);
    accelerated_move(m, 1.0 / L, (m->k + 1.0) / (m->k + 2.0));
    double k = m->k;
    for (size_t j = 0; j < r->dx; j++)
        m->wbar[j] = (k - 1.0) / (k + 1.0) * m->wbar[j] + 2.0 / (k + 1.0) * before[j];
    if (pow(k + 1.0, 4.0 + nu) * Hc * Hc * pow(m->S, nu) > L * L)
        restart(m);
}

/* ---- MinimaxOPT ---- */

static inline void adam(model *m, int which, size_t n, double *d) {
    double b1 = setting(&m->r, "momentum", 0.9), b2 = setting(&m->r, "beta2", 0.999);
    double t = ++m->count[which];
    for (size_t i = 0; i < n; i++) {
        double *mean = &m->mean[which][i], *square = &m->square[which][i];
        *mean = b1 * *mean + (1.0 - b1) * d[i];
        *square = b2 * *square + (1.0 - b2) * d[i] * d[i];
        d[i] = *mean / (1.0 - pow(b1, t)) /
               (sqrt(*square / (1.0 - pow(b2, t))) + setting(&m->r, "eps", 1e-8));
    }
}

static inline void minimax_move(model *m, int which, size_t n, double *iterate, double *sum,
                                double *d, double eta) {
    if (setting_is(&m->r, "optimizer", "adam")) {
        adam(m, which, n, d);
        move(n, iterate, eta, d);
        return;
    }
    for (size_t i = 0; i < n; i++)
        sum[i] = setting(&m->r, "momentum", 0.0) * sum[i] + d[i];
    move(n, iterate, eta, sum);
}

/* m->gy: gy(x,u); m->e: fy + a gy at w */
static inline void minimax_u_and_w(model *m, double a, double eta) {
    size_t n = m->r.dy;
    for (size_t i = 0; i < n; i++)
        m->gy[i] *= a;
    minimax_move(m, 0, n, m->z, m->Gu, m->gy, eta * setting(&m->r, "factor_u", 1.0));
    minimax_move(m, 1, n, m->r.y, m->Gw, m->e, eta * setting(&m->r, "factor_w", 1.0));
}

/* u is m->z, w is y. */
static inline void step_minimaxopt(model *m) {
    const replay *r = &m->r;
    size_t K = count_setting(r, "steps", 100), N = count_setting(r, "stages", 20);
    size_t stage = r->t / K < N ? r->t / K : N - 1, T = count_setting(r, "inner", 1);
    double tau = setting(r, "tau", 1.5), a = setting(r, "alpha0", 1.0) * pow(tau, (double)stage);
    double eta = setting(r, "eta0", NAN) / pow(tau, (double)stage);
    bool together = setting_is(r, "order", "simultaneous");
    if (setting_is(r, "schedule", "cosine"))
        eta *= 0.5 * (cos(acos(-1.0) * (double)(r->t + 1) / (double)(K * N)) + 1.0);
    for (size_t t = together ? 1 : 0; t < T; t++) {
        double gu[ROOM];
        next_g(m, r->x, m->z);
        memcpy(gu, m->gy, sizeof gu);
        next_both(m, a, r->x, r->y);
        memcpy(m->gy, gu, sizeof gu);
        minimax_u_and_w(m, a, eta);
    }
    next_direction(m, a, r->x, r->y, m->z);
    if (together)
        minimax_u_and_w(m, a, eta);
    minimax_move(m, 2, r->dx, r->x, m->Gx, m->d, eta * setting(r, "factor_x", 1.0));
    project(m, r->x);
}

/* ---- AccF2BA, RAHGD ---- */

static inline void begin_epoch(model *m) {
    if (m->k == 0.0)
        memcpy(m->w, m->r.x, m->r.dx * sizeof(double));
}

static inline void end_step(model *m) {
    const replay *r = &m->r;
    double B = setting(r, "B", NAN);
    accelerated_move(m, 1.0 / setting(r, "L", NAN), 1.0 - setting(r, "theta", 0.1));
    if (m->k * m->S >= B * B)
        restart(m);
}

static inline void step_accf2ba(model *m) {
    begin_epoch(m);
    solve_both(m, m->w, true);
    end_step(m);
}

/* Products with H and J at w and y, of the batch of the last call. */
static inline void model_hessian(const model *m, const double *in, double *out) {
    const replay *r = &m->r;
    double x = m->w[0], t = x + r->y[0];
    if (r->kind == SCALAR_PENALTY)
        out[0] = (0.1 + 2.0 * x) * in[0];
    else if (r->kind == PL_SINE)
        out[0] = (2.0 + 2.0 * x * (cos(t) * cos(t) - sin(t) * sin(t))) * in[0];
    else
        dense_times(r->dy, r->dy, r->A, in, out);
}

static inline void model_cross(const model *m, const double *in, double *out) {
    const replay *r = &m->r;
    double x = m->w[0], t = x + r->y[0];
    if (r->kind == SCALAR_PENALTY)
        out[0] = 2.0 * r->y[0] * in[0];
    else if (r->kind == PL_SINE)
        out[0] =
            (2.0 + 2.0 * sin(t) * cos(t) + 2.0 * x * (cos(t) * cos(t) - sin(t) * sin(t))) * in[0];
    else
        dense_transposed_times(r->dy, r->dx, r->C, in, out);
}

/* The first product gives the residual at the warm start, each other one a step. */
static inline void model_cg(model *m, size_t products) {
    size_t n = m->r.dy;
    double residual[ROOM], p[ROOM], q[ROOM];
    take(&m->r, 'h');
    model_hessian(m, m->v, q);
    for (size_t i = 0; i < n; i++)
        residual[i] = p[i] = m->fy[i] - q[i];
    for (size_t k = 1; k < products; k++) {
        take(&m->r, 'h');
        model_hessian(m, p, q);
        double rho = dense_inner(n, residual, residual), step = rho / dense_inner(n, p, q);
        move(n, m->v, -step, p);
        move(n, residual, step, q);
        double ratio = dense_inner(n, residual, residual) / rho;
        for (size_t i = 0; i < n; i++)
            p[i] = residual[i] + ratio * p[i];
    }
}

static inline void step_rahgd(model *m) {
    const replay *r = &m->r;
    double Lg = setting(r, "Lg", NAN), jv[ROOM];
    begin_epoch(m);
    agd(m, m->r.y, m->w, 0.0, count_setting(r, "inner", 0), 1.0 / Lg,
        momentum_of(Lg, setting(r, "mu", NAN)));
    next_f(m, m->w, r->y);
    model_cg(m, count_setting(r, "linear", 0));
    take(&m->r, 'j');
    model_cross(m, m->v, jv);
    for (size_t j = 0; j < r->dx; j++)
        m->d[j] = m->fx[j] - jv[j];
    end_step(m);
}

/* ---- F2SA, V-PBGD, BOME ---- */

static inline void step_f2sa(model *m) {
    const replay *r = &m->r;
    double t = (double)r->t + 1.0, lambda = setting(r, "lambda0", 100.0) * pow(t, 1.0 / 7.0);
    for (size_t k = 0; k < count_setting(r, "inner", 10); k++) {
        double gz[ROOM];
        next_g(m, r->x, m->z);
        memcpy(gz, m->gy, sizeof gz);
        next_both(m, lambda, r->x, r->y);
        move(r->dy, m->z, setting(r, "step_z", NAN) * pow(t, -4.0 / 7.0), gz);
        move(r->dy, r->y, setting(r, "step_y", NAN) * pow(t, -5.0 / 7.0), m->e);
    }
    next_direction(m, lambda, r->x, r->y, m->z);
    move_x(r, setting(r, "step_x", NAN) * pow(t, -4.0 / 7.0), m->d);
}

static inline void step_pbgd(model *m) {
    const replay *r = &m->r;
    agd(m, m->z, r->x, 0.0, count_setting(r, "inner", 10), setting(r, "step_z", NAN), 0.0);
    next_direction(m, setting(r, "gamma", 30.0), r->x, r->y, m->z);
    move(r->dy, r->y, setting(r, "step_y", NAN), m->e);
    move_x(r, setting(r, "step_x", NAN), m->d);
}

static inline void step_bome(model *m) {
    const replay *r = &m->r;
    size_t dx = r->dx, dy = r->dy;
    double fx[ROOM], fy[ROOM], qx[ROOM], qy[ROOM], eta = setting(r, "eta", 0.5);
    next_f(m, r->x, r->y);
    memcpy(fx, m->fx, sizeof fx);
    memcpy(fy, m->fy, sizeof fy);
    next_g(m, r->x, r->y);
    memcpy(qx, m->gx, sizeof qx);
    memcpy(qy, m->gy, sizeof qy);
    memcpy(m->z, r->y, dy * sizeof(double));
    agd(m, m->z, r->x, 0.0, count_setting(r, "inner", 0), 1.0 / setting(r, "Lg", NAN), 0.0);
    next_g(m, r->x, m->z);
    move(dx, qx, 1.0, m->gx);
    double product = dense_inner(dx, fx, qx) + dense_inner(dy, fy, qy);
    double square = dense_inner(dx, qx, qx) + dense_inner(dy, qy, qy);
    double lambda = fmax(0.0, (eta * square - product) / square);
    move(dx, fx, -lambda, qx);
    move(dy, fy, -lambda, qy);
    move_x(r, setting(r, "step_x", NAN), fx);
    move(dy, r->y, setting(r, "step_y", NAN), fy);
}

#endif
