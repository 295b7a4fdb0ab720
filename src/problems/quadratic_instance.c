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

static void fill_means(quadratic *q, uint64_t seed) {
    size_t dx = q->dx, dy = q->dy;
    double scale = q->params.scale;
    fill_normals(seed, "quadratic Q", dy * dy, 1.0, q->q_transposed);
    orthonormalize(dy, q->q_transposed);
    for (size_t k = 0; k < dy; k++) {
        double place = dy > 1 ? (double)k / (double)(dy - 1) : 0.0;
        q->lambda[k] = q->params.eigen_min * pow(q->params.kappa, place);
    }
    for (size_t k = 0; k < dy; k++) {
        const double *row = q->q_transposed + k * dy;
        for (size_t i = 0; i < dy; i++)
            host()->axpy(dy, q->lambda[k] * row[i], row, q->A + i * dy);
    }
    for (size_t i = 0; i < dy; i++) /* the two triangles to the last bit */
        for (size_t j = 0; j < i; j++)
            q->A[i * dy + j] = q->A[j * dy + i];
    fill_normals(seed, "quadratic C", dy * dx, scale / sqrt((double)dx), q->C);
    fill_normals(seed, "quadratic c", dy, scale, q->c);
    fill_normals(seed, "quadratic b", dy, scale, q->b);
}

static void *to_real(const quadratic *q, size_t count, const double *in) {
    void *out = q->kernels->allocate(count * q->kernels->real_size);
    if (out)
        q->kernels->write(count, in, out);
    return out;
}

static void transpose(size_t rows, size_t columns, const double *in, double *out) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            out[j * rows + i] = in[i * columns + j];
}

/* Copies of the means in the memory of the kernels. work: room for a dy x dx matrix. */
static bool copy_means(quadratic *q, double *work) {
    size_t dx = q->dx, dy = q->dy;
    transpose(dy, dx, q->C, work);
    q->A_real = to_real(q, dy * dy, q->A);
    q->C_real = to_real(q, dy * dx, q->C);
    q->C_transposed_real = to_real(q, dy * dx, work);
    q->c_real = to_real(q, dy, q->c);
    q->b_real = to_real(q, dy, q->b);
    return q->A_real && q->C_real && q->C_transposed_real && q->c_real && q->b_real;
}

/* work: room for terms x max(dx, dy), and twice a dy x dx matrix. */
static bool fill_noise(quadratic *q, uint64_t seed, double *work) {
    size_t dx = q->dx, dy = q->dy, n = q->terms;
    double scale = 0.5 * q->params.scale;
    blv_stream stream = blv_stream_make(seed, "quadratic delta");
    q->delta = malloc(n * dy * sizeof *q->delta);
    if (!q->delta)
        return false;
    for (size_t i = 0; i < n * dy; i++)
        q->delta[i] = 0.8 * (blv_random_uniform(&stream, i) - 0.5);
    center_columns(n, dy, q->delta);

    double *rest = work + n * (dx > dy ? dx : dy), *rest_transposed = rest + dy * dx;
    fill_normals(seed, "quadratic c noise", n * dy, scale, work);
    center_columns(n, dy, work);
    q->c_noise_real = to_real(q, n * dy, work);
    fill_normals(seed, "quadratic b noise", n * dy, scale, work);
    center_columns(n, dy, work);
    q->b_noise_real = to_real(q, n * dy, work);
    double *p = malloc(n * dy * sizeof *p);
    fill_normals(seed, "quadratic q", n * dx, scale / sqrt((double)dx), work);
    q->q_real = to_real(q, n * dx, work);
    if (p) {
        fill_normals(seed, "quadratic p", n * dy, 1.0, p);
        q->p_real = to_real(q, n * dy, p);
    }
    if (!q->c_noise_real || !q->b_noise_real || !q->p_real || !q->q_real) {
        free(p);
        return false;
    }
    q->kernels->read(n * dy, q->p_real, p); /* as they were rounded */
    q->kernels->read(n * dx, q->q_real, work);
    memcpy(rest, q->C, dy * dx * sizeof *rest);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < dy; k++)
            for (size_t j = 0; j < dx; j++)
                rest[k * dx + j] -= p[i * dy + k] * work[i * dx + j] / (double)n;
    free(p);
    transpose(dy, dx, rest, rest_transposed);
    q->C_less_mean_real = to_real(q, dy * dx, rest);
    q->C_less_mean_transposed_real = to_real(q, dy * dx, rest_transposed);
    q->q_transposed_real = to_real(q, dy * dy, q->q_transposed);
    return q->C_less_mean_real && q->C_less_mean_transposed_real && q->q_transposed_real;
}

static void name_arrays(quadratic *q) {
    const blv_named_array arrays[] = {
        {"A", 2, {q->dy, q->dy}, q->A}, {"C", 2, {q->dy, q->dx}, q->C},  {"c", 1, {q->dy, 0}, q->c},
        {"b", 1, {q->dy, 0}, q->b},     {"ridge", 0, {0, 0}, &q->ridge}, {NULL, 0, {0, 0}, NULL}};
    memcpy(q->arrays, arrays, sizeof arrays);
}

blv_error quadratic_create(quadratic **instance, const quadratic_params *params,
                           const blv_kernels *kernels) {
    *instance = NULL;
    quadratic *q = calloc(1, sizeof *q);
    if (!q)
        return BLV_E_MEMORY;
    size_t dx = (size_t)params->dx, dy = (size_t)params->dy, n = (size_t)params->terms;
    size_t larger = dx > dy ? dx : dy;
    q->params = *params;
    q->dx = dx;
    q->dy = dy;
    q->terms = n;
    q->ridge = params->ridge;
    q->kernels = kernels;
    q->q_transposed = malloc(dy * dy * sizeof(double));
    q->lambda = malloc(dy * sizeof(double));
    q->A = calloc(dy * dy, sizeof(double));
    q->C = malloc(dy * dx * sizeof(double));
    q->c = malloc(dy * sizeof(double));
    q->b = malloc(dy * sizeof(double));
    double *work = malloc((n * larger + 2 * dy * dx) * sizeof *work);
    bool ok = q->q_transposed && q->lambda && q->A && q->C && q->c && q->b && work;
    if (ok) {
        fill_means(q, (uint64_t)params->seed);
        ok = copy_means(q, work) && (n == 1 || fill_noise(q, (uint64_t)params->seed, work));
    }
    free(work);
    if (!ok) {
        quadratic_destroy(q);
        return BLV_E_MEMORY;
    }
    name_arrays(q);
    *instance = q;
    return BLV_OK;
}

void quadratic_destroy(void *instance) {
    quadratic *q = instance;
    void *const on_host[] = {q->q_transposed, q->lambda, q->A, q->C, q->c, q->b, q->delta};
    void *const in_kernels[] = {q->A_real,
                                q->C_real,
                                q->C_transposed_real,
                                q->c_real,
                                q->b_real,
                                q->q_transposed_real,
                                q->C_less_mean_real,
                                q->C_less_mean_transposed_real,
                                q->p_real,
                                q->q_real,
                                q->c_noise_real,
                                q->b_noise_real};
    for (size_t i = 0; i < sizeof on_host / sizeof *on_host; i++)
        free(on_host[i]);
    for (size_t i = 0; i < sizeof in_kernels / sizeof *in_kernels; i++)
        q->kernels->release(in_kernels[i]);
    free(q);
}

/* out = A^-power in, out may be in. work: dy numbers. */
static void solve(const quadratic *q, int power, const double *in, double *out, double *work) {
    for (size_t k = 0; k < q->dy; k++)
        work[k] = dot(q->dy, q->q_transposed + k * q->dy, in) / pow(q->lambda[k], power);
    memset(out, 0, q->dy * sizeof *out);
    for (size_t k = 0; k < q->dy; k++)
        host()->axpy(q->dy, work[k], q->q_transposed + k * q->dy, out);
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
