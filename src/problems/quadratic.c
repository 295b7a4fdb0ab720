/* The quadratic family: oracles. See quadratic.h for the formulas.
 *
 * On the whole sum the means serve; on a batch the noise of its terms is added to them. Nothing is
 * allocated and nothing shared is written, so runs in several threads can use one instance. */
#include "problems/quadratic.h"
#include "base/message.h"
#include "problems/builtin_problems.h"
#include "problems/lower_oracles.h"
#include "problems/problem_memory.h"
#include "problems/raw.h"

#include <float.h>

static size_t sample_at(const blv_batch *batch, size_t i) {
    return batch->index ? batch->index[i] : batch->first + i;
}

static const void *row_of(const quadratic *q, const void *matrix, size_t columns, size_t row) {
    return (const char *)matrix + row * columns * q->kernels->real_size;
}

/* With one term there is no noise, and a batch of it is the whole. */
static const blv_batch *noisy_batch(const quadratic *q, const blv_batch *batch) {
    return q->terms > 1 ? batch : NULL;
}

/* out += a mean_batch(noise), for a terms x dy matrix of noise */
static void add_mean(const quadratic *q, const blv_batch *batch, double a, const void *noise,
                     void *out) {
    for (size_t i = 0; i < batch->count; i++)
        q->kernels->axpy(q->dy, a / (double)batch->count,
                         row_of(q, noise, q->dy, sample_at(batch, i)), out);
}

static double mean_dot(const quadratic *q, const blv_batch *batch, const void *noise,
                       const void *y) {
    double sum = 0.0;
    for (size_t i = 0; i < batch->count; i++)
        sum += q->kernels->dot(q->dy, row_of(q, noise, q->dy, sample_at(batch, i)), y);
    return sum / (double)batch->count;
}

/* out = A_batch v. On a batch: A v + sum_k lambda_k mean(delta_k) q_k (q_k'v). */
static void apply_A(const quadratic *q, const blv_batch *batch, const void *v, void *out) {
    q->kernels->gemv(q->dy, q->dy, 1.0, q->A_real, v, 0.0, NULL, out);
    if (!batch)
        return;
    for (size_t k = 0; k < q->dy; k++) {
        double mean = 0.0;
        for (size_t i = 0; i < batch->count; i++)
            mean += q->delta[sample_at(batch, i) * q->dy + k];
        mean /= (double)batch->count;
        const void *row = row_of(q, q->q_transposed_real, q->dy, k);
        q->kernels->axpy(q->dy, q->lambda[k] * mean * q->kernels->dot(q->dy, row, v), row, out);
    }
}

/* out = C_batch v + beta out, or C_batch' v + beta out. */
static void apply_C(const quadratic *q, const blv_batch *batch, bool transposed, const void *v,
                    double beta, void *out) {
    const blv_kernels *k = q->kernels;
    const size_t rows = transposed ? q->dx : q->dy, columns = transposed ? q->dy : q->dx;
    const void *left = transposed ? q->q_real : q->p_real,
               *right = transposed ? q->p_real : q->q_real;
    const void *whole = transposed ? q->C_transposed_real : q->C_real;
    const void *rest = transposed ? q->C_less_mean_transposed_real : q->C_less_mean_real;
    k->gemv(rows, columns, 1.0, batch ? rest : whole, v, beta, beta != 0.0 ? out : NULL, out);
    for (size_t i = 0; batch && i < batch->count; i++) {
        size_t s = sample_at(batch, i);
        double a = k->dot(columns, row_of(q, right, columns, s), v);
        k->axpy(rows, a / (double)batch->count, row_of(q, left, rows, s), out);
    }
}

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    const quadratic *q = user;
    const blv_kernels *k = q->kernels;
    const void *xr = raw(x), *yr = raw(y);
    if (!is_on_host(batch))
        return -1;
    batch = noisy_batch(q, batch);
    if (f) {
        double yy = k->dot(q->dy, yr, yr), yb = k->dot(q->dy, yr, q->b_real);
        double bb = k->dot(q->dy, q->b_real, q->b_real), xx = k->dot(q->dx, xr, xr);
        *f = 0.5 * (yy - 2.0 * yb + bb) + 0.5 * q->ridge * xx;
        if (batch)
            *f -= mean_dot(q, batch, q->b_noise_real, yr);
    }
    if (fx)
        k->combine(q->dx, q->ridge, xr, 0.0, xr, raw_mut(fx));
    if (fy) {
        k->combine(q->dy, 1.0, yr, -1.0, q->b_real, raw_mut(fy));
        if (batch)
            add_mean(q, batch, -1.0, q->b_noise_real, raw_mut(fy));
    }
    return 0;
}

/* gy = A y + C x + c */
static void lower_gradient_y(const quadratic *q, const blv_batch *batch, const void *x,
                             const void *y, void *gy) {
    apply_A(q, batch, y, gy);
    apply_C(q, batch, false, x, 1.0, gy);
    q->kernels->axpy(q->dy, 1.0, q->c_real, gy);
    if (batch)
        add_mean(q, batch, 1.0, q->c_noise_real, gy);
}

/* g = y'A y/2 + y'C x + y'c */
static double lower_value(const quadratic *q, const blv_batch *batch, const void *x,
                          const void *y) {
    const blv_kernels *k = q->kernels;
    const void *matrix = batch ? q->C_less_mean_real : q->C_real;
    double sum = k->quadratic(q->dy, q->dx, q->A_real, matrix, q->c_real, x, y);
    if (!batch)
        return sum;
    for (size_t j = 0; j < q->dy; j++) {
        double mean = 0.0, qy = k->dot(q->dy, row_of(q, q->q_transposed_real, q->dy, j), y);
        for (size_t i = 0; i < batch->count; i++)
            mean += q->delta[sample_at(batch, i) * q->dy + j];
        sum += 0.5 * q->lambda[j] * (mean / (double)batch->count) * qy * qy;
    }
    double cross = 0.0;
    for (size_t i = 0; i < batch->count; i++) {
        size_t s = sample_at(batch, i);
        cross += k->dot(q->dx, row_of(q, q->q_real, q->dx, s), x) *
                 k->dot(q->dy, row_of(q, q->p_real, q->dy, s), y);
    }
    return sum + cross / (double)batch->count + mean_dot(q, batch, q->c_noise_real, y);
}

static int lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *g,
                 blv_vec *gx, blv_vec *gy) {
    const quadratic *q = user;
    const void *xr = raw(x), *yr = raw(y);
    if (!is_on_host(batch))
        return -1;
    batch = noisy_batch(q, batch);
    if (g)
        *g = lower_value(q, batch, xr, yr);
    if (gx)
        apply_C(q, batch, true, yr, 0.0, raw_mut(gx));
    if (gy)
        lower_gradient_y(q, batch, xr, yr, raw_mut(gy));
    return 0;
}

static int lower_all(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     const blv_vec *v, blv_vec *gy, blv_vec *hv, blv_vec *jv) {
    const quadratic *q = user;
    if (!is_on_host(batch))
        return -1;
    batch = noisy_batch(q, batch);
    if (gy)
        lower_gradient_y(q, batch, raw(x), raw(y), raw_mut(gy));
    if (hv)
        apply_A(q, batch, raw(v), raw_mut(hv));
    if (jv)
        apply_C(q, batch, true, raw(v), 0.0, raw_mut(jv));
    return 0;
}

LOWER_PRODUCTS_FROM_ALL

/* ---- The family ---- */

#define FIELD(name) offsetof(quadratic_params, name)

static const blv_param params[] = {
    {"dx", BLV_INT, FIELD(dx), "50", 1, 20000, NULL, "size of x"},
    {"dy", BLV_INT, FIELD(dy), "50", 1, 20000, NULL, "size of y"},
    {"kappa", BLV_REAL, FIELD(kappa), "100", 1, 1e12, NULL,
     "condition number of A: eigenvalues from eigen_min to eigen_min * kappa, log-spaced"},
    {"terms", BLV_INT, FIELD(terms), "1", 1, 1e8, NULL,
     "number of random terms whose mean f and g are"},
    {"scale", BLV_REAL, FIELD(scale), "0.2", 0, 1e6, NULL,
     "size of the entries of C (times sqrt(dx)), c and b"},
    {"ridge", BLV_REAL, FIELD(ridge), "1", 0, 1e12, NULL, "weight of |x|^2/2 in f"},
    {"eigen_min", BLV_REAL, FIELD(eigen_min), "1", DBL_MIN, 1e12, NULL, "smallest eigenvalue of A"},
    {"seed", BLV_INT, FIELD(seed), "0", 0, 9e15, NULL, "seed of the instance"},
    PARAMS_END,
};

static blv_error create(const void *fields, const blv_problem_options *options,
                        blv_problem **problem, blv_message *why) {
    const quadratic_params *p = fields;
    const blv_kernels *kernels;
    quadratic *q;
    blv_error error = problem_kernels(options, "quadratic", &kernels, why);
    if (error != BLV_OK)
        return error;
    error = quadratic_create(&q, p, kernels);
    if (error != BLV_OK)
        return blv_explain(why, error, "problem quadratic: %s", blv_error_text(error));
    blv_problem_def def = {BLV_SIZED(blv_problem_def),
                           .name = "quadratic",
                           .dim_x = q->dx,
                           .dim_y = q->dy,
                           .precision = options->precision,
                           .threads = options->threads,
                           .upper_samples = q->terms,
                           .lower_samples = q->terms,
                           .shuffled = true, /* the terms are independent */
                           .user = q,
                           .free_user = quadratic_destroy,
                           .upper = upper,
                           LOWER_ORACLES,
                           .known_phi = quadratic_known_phi,
                           .known_solution = p->ridge > 0.0 ? quadratic_known_solution : NULL,
                           .arrays = q->arrays};
    return blv_problem_create(problem, &def, why);
}

const blv_problem_family blv_problem_quadratic = {
    BLV_SIZED(blv_problem_family),
    .name = "quadratic",
    .summary = "quadratic in both levels, with chosen condition number and a closed-form answer",
    .formula = "f = |y-b|^2/2 + ridge |x|^2/2\ng = y'Ay/2 + y'(Cx+c)",
    .params_size = sizeof(quadratic_params),
    .params = params,
    .create = create,
};
