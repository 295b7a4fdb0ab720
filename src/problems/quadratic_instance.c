/* Making an instance of the quadratic family, and its closed form.
 *
 *   y*(x) = -A^-1 (C x + c),   v(x) = A^-1 (y*(x) - b),   grad Phi(x) = ridge x - C'v(x)
 *   x* solves  (ridge I + C'A^-2 C) x = -C'A^-1 (A^-1 c + b)
 *
 * A is built from its eigenvectors and eigenvalues, so A^-1 is exact to rounding. */
#include "base/random.h"
#include "linsolve/dense_symmetric.h"
#include "problems/quadratic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The closed form is computed on the host, in double. */
static const blv_kernels *host(void) {
    return blv_kernels_for(BLV_MEMORY_HOST, BLV_F64);
}

static double dot(size_t n, const double *a, const double *b) {
    return host()->dot(n, a, b);
}

/* Rows of m become orthonormal: Gram-Schmidt, each row twice. */
static void orthonormalize(size_t n, double *m) {
    for (size_t i = 0; i < n; i++) {
        double *row = m + i * n;
        for (int pass = 0; pass < 2; pass++)
            for (size_t j = 0; j < i; j++)
                host()->axpy(n, -dot(n, row, m + j * n), m + j * n, row);
        double norm = sqrt(dot(n, row, row));
        for (size_t k = 0; k < n; k++)
            row[k] /= norm;
    }
}

static void fill_normals(uint64_t seed, const char *purpose, size_t count, double scale,
                         double *out) {
    blv_stream stream = blv_stream_make(seed, purpose);
    blv_random_normals(&stream, 0, count, out);
    for (size_t i = 0; i < count; i++)
        out[i] *= scale;
}

/* Subtracts from each column of a terms x n matrix its mean. */
static void center_columns(size_t terms, size_t n, double *m) {
    for (size_t k = 0; k < n; k++) {
        double mean = 0.0;
        for (size_t i = 0; i < terms; i++)
            mean += m[i * n + k];
        mean /= (double)terms;
        for (size_t i = 0; i < terms; i++)
            m[i * n + k] -= mean;
    }
}

static void fill_means(quadratic *q, const quadratic_params *p) {
    const size_t dx = q->dx, dy = q->dy;
    const uint64_t seed = (uint64_t)p->seed;
    fill_normals(seed, "quadratic Q", dy * dy, 1.0, q->eigenvectors);
    orthonormalize(dy, q->eigenvectors);
    for (size_t k = 0; k < dy; k++) {
        double place = dy > 1 ? (double)k / (double)(dy - 1) : 0.0;
        const double *row = q->eigenvectors + k * dy;
        q->lambda[k] = p->eigen_min * pow(p->kappa, place);
        for (size_t i = 0; i < dy; i++)
            host()->axpy(dy, q->lambda[k] * row[i], row, q->A + i * dy);
    }
    for (size_t i = 0; i < dy; i++) /* the two triangles to the last bit */
        for (size_t j = 0; j < i; j++)
            q->A[i * dy + j] = q->A[j * dy + i];
    fill_normals(seed, "quadratic C", dy * dx, p->scale / sqrt((double)dx), q->C);
    fill_normals(seed, "quadratic c", dy, p->scale, q->c);
    fill_normals(seed, "quadratic b", dy, p->scale, q->b);
}

/* A copy in the memory of the kernels. */
static bool put(quadratic *q, quadratic_array which, size_t count, const double *in) {
    q->array[which] = q->kernels->allocate(count * q->kernels->real_size);
    if (q->array[which])
        q->kernels->write(count, in, q->array[which]);
    return q->array[which] != NULL;
}

/* A dy x dx matrix and its transposed; work: room for the latter. */
static bool put_both(quadratic *q, quadratic_array which, const double *in, double *work) {
    for (size_t i = 0; i < q->dy; i++)
        for (size_t j = 0; j < q->dx; j++)
            work[j * q->dy + i] = in[i * q->dx + j];
    return put(q, which, q->dy * q->dx, in) && put(q, which + 1, q->dy * q->dx, work);
}

static bool put_noise(quadratic *q, quadratic_array which, const quadratic_params *p,
                      const char *purpose, double *work) {
    fill_normals((uint64_t)p->seed, purpose, q->terms * q->dy, 0.5 * p->scale, work);
    center_columns(q->terms, q->dy, work);
    return put(q, which, q->terms * q->dy, work);
}

/* work: room for terms x (dx + dy) numbers and twice a dy x dx matrix. */
static bool fill_noise(quadratic *q, const quadratic_params *params, double *work) {
    const size_t dx = q->dx, dy = q->dy, n = q->terms;
    const uint64_t seed = (uint64_t)params->seed;
    double *p = work, *r = p + n * dy, *rest = r + n * dx;
    const blv_stream stream = blv_stream_make(seed, "quadratic delta");
    for (size_t i = 0; i < n * dy; i++)
        q->delta[i] = 0.8 * (blv_random_uniform(&stream, i) - 0.5);
    center_columns(n, dy, q->delta);
    if (!put_noise(q, Q_C_NOISE, params, "quadratic c noise", work) ||
        !put_noise(q, Q_B_NOISE, params, "quadratic b noise", work))
        return false;
    fill_normals(seed, "quadratic q", n * dx, 0.5 * params->scale / sqrt((double)dx), r);
    fill_normals(seed, "quadratic p", n * dy, 1.0, p);
    if (!put(q, Q_Q, n * dx, r) || !put(q, Q_P, n * dy, p))
        return false;
    q->kernels->read(n * dy, q->array[Q_P], p); /* as they were rounded */
    q->kernels->read(n * dx, q->array[Q_Q], r);
    memcpy(rest, q->C, dy * dx * sizeof *rest);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < dy; k++)
            for (size_t j = 0; j < dx; j++)
                rest[k * dx + j] -= p[i * dy + k] * r[i * dx + j] / (double)n;
    return put_both(q, Q_C_LESS_MEAN, rest, rest + dy * dx) &&
           put(q, Q_EIGENVECTORS, dy * dy, q->eigenvectors);
}

/* All numbers on the host are one block. */
static bool lay_out(quadratic *q) {
    const size_t dx = q->dx, dy = q->dy, noise = q->terms > 1 ? q->terms * dy : 0;
    double *at = calloc(2 * dy * dy + dy * dx + 3 * dy + noise, sizeof *at);
    if (!at)
        return false;
    q->eigenvectors = at;
    q->lambda = q->eigenvectors + dy * dy;
    q->A = q->lambda + dy;
    q->C = q->A + dy * dy;
    q->c = q->C + dy * dx;
    q->b = q->c + dy;
    q->delta = q->b + dy;
    const blv_named_array named[] = {{"A", 2, {dy, dy}, q->A},        {"C", 2, {dy, dx}, q->C},
                                     {"c", 1, {dy, 0}, q->c},         {"b", 1, {dy, 0}, q->b},
                                     {"ridge", 0, {0, 0}, &q->ridge}, {NULL, 0, {0, 0}, NULL}};
    memcpy(q->named, named, sizeof named);
    return true;
}

quadratic *quadratic_create(const quadratic_params *p, const blv_kernels *kernels) {
    const size_t dx = (size_t)p->dx, dy = (size_t)p->dy, n = (size_t)p->terms;
    double *work = malloc(((n > 1 ? n * (dx + dy) : 0) + 2 * dy * dx) * sizeof *work);
    quadratic *q = calloc(1, sizeof *q);
    if (q)
        *q = (quadratic){.dx = dx, .dy = dy, .terms = n, .ridge = p->ridge, .kernels = kernels};
    bool ok = work && q && lay_out(q);
    if (ok) {
        fill_means(q, p);
        ok = put(q, Q_A, dy * dy, q->A) && put_both(q, Q_C, q->C, work) && put(q, Q_c, dy, q->c) &&
             put(q, Q_b, dy, q->b) && (n == 1 || fill_noise(q, p, work));
    }
    free(work);
    if (ok)
        return q;
    quadratic_destroy(q);
    return NULL;
}

void quadratic_destroy(void *instance) {
    quadratic *q = instance;
    for (size_t i = 0; q && i < Q_ARRAYS; i++)
        q->kernels->release(q->array[i]);
    if (q) {
        free(q->eigenvectors);
        free(q->shared);
        blv_space_destroy(q->space_x);
        blv_space_destroy(q->space_y);
    }
    free(q);
}

/* out = A^-power in, out may be in. work: dy numbers. */
static void solve(const quadratic *q, int power, const double *in, double *out, double *work) {
    for (size_t k = 0; k < q->dy; k++)
        work[k] = dot(q->dy, q->eigenvectors + k * q->dy, in) / pow(q->lambda[k], power);
    memset(out, 0, q->dy * sizeof *out);
    for (size_t k = 0; k < q->dy; k++)
        host()->axpy(q->dy, work[k], q->eigenvectors + k * q->dy, out);
}

/* out (dx numbers) += a C'v */
static void add_transposed_product(const quadratic *q, double a, const double *v, double *out) {
    for (size_t i = 0; i < q->dy; i++)
        host()->axpy(q->dx, a * v[i], q->C + i * q->dx, out);
}

/* y = -A^-1 (C x + c) */
static void best_response(const quadratic *q, const double *x, double *y, double *work) {
    host()->gemv(q->dy, q->dx, -1.0, q->C, x, -1.0, q->c, y);
    solve(q, 1, y, y, work);
}

int quadratic_known_phi(void *user, const blv_vec *x_vec, double *phi, blv_vec *gradient) {
    const quadratic *q = user;
    double *x = malloc((2 * q->dx + 3 * q->dy) * sizeof *x);
    if (!x)
        return -1;
    double *grad = x + q->dx, *y = grad + q->dx, *v = y + q->dy, *work = v + q->dy;
    blv_vec_read(x_vec, x);
    best_response(q, x, y, work);
    host()->combine(q->dy, 1.0, y, -1.0, q->b, v);
    if (phi)
        *phi = 0.5 * dot(q->dy, v, v) + 0.5 * q->ridge * dot(q->dx, x, x);
    if (gradient) {
        solve(q, 1, v, v, work);
        host()->combine(q->dx, q->ridge, x, 0.0, x, grad);
        add_transposed_product(q, -1.0, v, grad);
        blv_vec_write(gradient, grad);
    }
    free(x);
    return 0;
}

/* m x = x for the dx x dx matrix m, which is overwritten. */
static int solve_dense(size_t dx, double *m, double *x) {
    double *work = malloc(2 * dx * sizeof *work);
    size_t *order = malloc(dx * sizeof *order);
    bool ok = work && order && blv_dense_factor(dx, m, order, work);
    if (ok)
        blv_dense_solve(dx, m, order, x, x, work);
    free(work);
    free(order);
    return ok ? 0 : -1;
}

int quadratic_known_solution(void *user, blv_vec *x_vec, blv_vec *y_vec) {
    const quadratic *q = user;
    size_t dx = q->dx, dy = q->dy;
    double *m = calloc(dx * dx + dx + 4 * dy, sizeof *m);
    if (!m)
        return -1;
    double *x = m + dx * dx, *column = x + dx, *y = column + dy, *work = y + dy, *rhs = work + dy;
    for (size_t j = 0; j < dx; j++) { /* column j of ridge I + C'A^-2 C */
        for (size_t i = 0; i < dy; i++)
            column[i] = q->C[i * dx + j];
        solve(q, 2, column, column, work);
        add_transposed_product(q, 1.0, column, m + j * dx);
        m[j * dx + j] += q->ridge;
    }
    solve(q, 1, q->c, rhs, work);
    host()->axpy(dy, 1.0, q->b, rhs);
    solve(q, 1, rhs, rhs, work);
    add_transposed_product(q, -1.0, rhs, x);
    int code = solve_dense(dx, m, x);
    if (code == 0 && x_vec)
        blv_vec_write(x_vec, x);
    if (code == 0 && y_vec) {
        best_response(q, x, y, work);
        blv_vec_write(y_vec, y);
    }
    free(m);
    return code;
}
