/* The quadratic family: oracles. See quadratic.h for the formulas.
 *
 * On the whole sum the means serve; on a batch the noise of its terms is added to them. Nothing is
 * allocated and nothing shared is written, so runs in several threads can use one instance.
 *
 * All outputs are linear in the terms. With several ranks, rank r takes the terms r, r + count, ...
 * of a batch, rank 0 the means, and one sum over the ranks adds up all outputs of a call. */
#include "problems/quadratic.h"
#include "base/message.h"
#include "base/rank_exchange.h"

#include <float.h>
#include <stdlib.h>

/* Whether the sample of a batch is one of this rank's. */
static bool is_mine(const quadratic *q, size_t sample) {
    return !q->ranks || sample % (size_t)q->ranks->count == (size_t)q->ranks->rank;
}

/* The factor of the means: ranks share out those of a batch, and each has those of the whole sum.
 */
static double of_means(const quadratic *q, const blv_batch *batch) {
    return batch && q->ranks && q->ranks->rank != 0 ? 0.0 : 1.0;
}

static size_t sample_at(const blv_batch *batch, size_t i) {
    return batch->index ? batch->index[i] : batch->first + i;
}

static const void *row_of(const quadratic *q, const void *matrix, size_t columns, size_t row) {
    return (const char *)matrix + row * columns * q->kernels->real_size;
}

/* Whether the samples of a batch can be read here. With one term there is no noise, and a batch of
 * it is the whole. */
static bool take_batch(const quadratic *q, const blv_batch **batch) {
    if (*batch && (*batch)->index && (*batch)->memory != BLV_MEMORY_HOST)
        return false;
    if (q->terms == 1)
        *batch = NULL;
    return true;
}

/* out += a mean_batch(noise), for a terms x dy matrix of noise */
static void add_mean(const quadratic *q, const blv_batch *batch, double a, const void *noise,
                     void *out) {
    for (size_t i = 0; i < batch->count; i++)
        if (is_mine(q, sample_at(batch, i)))
            q->kernels->axpy(q->dy, a / (double)batch->count,
                             row_of(q, noise, q->dy, sample_at(batch, i)), out);
}

static double mean_dot(const quadratic *q, const blv_batch *batch, const void *noise,
                       const void *y) {
    double sum = 0.0;
    for (size_t i = 0; i < batch->count; i++)
        if (is_mine(q, sample_at(batch, i)))
            sum += q->kernels->dot(q->dy, row_of(q, noise, q->dy, sample_at(batch, i)), y);
    return sum / (double)batch->count;
}

/* How much noise a batch adds to eigenvalue k. */
static double lambda_noise(const quadratic *q, const blv_batch *batch, size_t k) {
    double mean = 0.0;
    for (size_t i = 0; i < batch->count; i++)
        if (is_mine(q, sample_at(batch, i)))
            mean += q->delta[sample_at(batch, i) * q->dy + k];
    return q->lambda[k] * (mean / (double)batch->count);
}

/* out = A_batch v. On a batch: A v + sum_k lambda_k mean(delta_k) q_k (q_k'v). */
static void apply_A(const quadratic *q, const blv_batch *batch, const void *v, void *out) {
    const blv_kernels *kernels = q->kernels;
    kernels->gemv(q->dy, q->dy, of_means(q, batch), q->array[Q_A], v, 0.0, NULL, out);
    for (size_t k = 0; batch && k < q->dy; k++) {
        const void *row = row_of(q, q->array[Q_EIGENVECTORS], q->dy, k);
        kernels->axpy(q->dy, lambda_noise(q, batch, k) * kernels->dot(q->dy, row, v), row, out);
    }
}

/* out = C_batch v + beta out, or C_batch' v + beta out. */
static void apply_C(const quadratic *q, const blv_batch *batch, bool transposed, const void *v,
                    double beta, void *out) {
    const blv_kernels *k = q->kernels;
    const size_t rows = transposed ? q->dx : q->dy, columns = transposed ? q->dy : q->dx;
    const void *left = transposed ? q->array[Q_Q] : q->array[Q_P],
               *right = transposed ? q->array[Q_P] : q->array[Q_Q];
    const void *whole = transposed ? q->array[Q_C_TRANSPOSED] : q->array[Q_C];
    const void *rest = transposed ? q->array[Q_C_LESS_MEAN_TRANSPOSED] : q->array[Q_C_LESS_MEAN];
    k->gemv(rows, columns, of_means(q, batch), batch ? rest : whole, v, beta,
            beta != 0.0 ? out : NULL, out);
    for (size_t i = 0; batch && i < batch->count; i++) {
        size_t s = sample_at(batch, i);
        if (!is_mine(q, s))
            continue;
        double a = k->dot(columns, row_of(q, right, columns, s), v);
        k->axpy(rows, a / (double)batch->count, row_of(q, left, rows, s), out);
    }
}

/* The sum over the ranks of the outputs of a call on a batch: those by x, and those by y. */
static int add_up(const quadratic *q, const blv_batch *batch, double *value,
                  blv_vec *const parts[4]) {
    if (!batch || !blv_ranks_several(q->ranks))
        return 0;
    void *const arrays[] = {raw_or_null(parts[0]), raw_or_null(parts[1]), raw_or_null(parts[2]),
                            raw_or_null(parts[3])};
    const size_t sizes[] = {q->dx, q->dx, q->dy, q->dy};
    return problem_sum(q->ranks, q->kernels, 1, value, 4, arrays, sizes, q->shared) ? 0 : -1;
}

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    const quadratic *q = user;
    const blv_kernels *k = q->kernels;
    const void *xr = raw(x), *yr = raw(y);
    if (!take_batch(q, &batch))
        return -1;
    if (f) {
        double yy = k->dot(q->dy, yr, yr), yb = k->dot(q->dy, yr, q->array[Q_b]);
        double bb = k->dot(q->dy, q->array[Q_b], q->array[Q_b]), xx = k->dot(q->dx, xr, xr);
        *f = of_means(q, batch) * (0.5 * (yy - 2.0 * yb + bb) + 0.5 * q->ridge * xx);
        if (batch)
            *f -= mean_dot(q, batch, q->array[Q_B_NOISE], yr);
    }
    if (fx)
        k->combine(q->dx, of_means(q, batch) * q->ridge, xr, 0.0, xr, raw_mut(fx));
    if (fy) {
        k->combine(q->dy, of_means(q, batch), yr, -of_means(q, batch), q->array[Q_b], raw_mut(fy));
        if (batch)
            add_mean(q, batch, -1.0, q->array[Q_B_NOISE], raw_mut(fy));
    }
    return add_up(q, batch, f, (blv_vec *const[]){fx, NULL, fy, NULL});
}

/* gy = A y + C x + c */
static void lower_gradient_y(const quadratic *q, const blv_batch *batch, const void *x,
                             const void *y, void *gy) {
    apply_A(q, batch, y, gy);
    apply_C(q, batch, false, x, 1.0, gy);
    q->kernels->axpy(q->dy, of_means(q, batch), q->array[Q_c], gy);
    if (batch)
        add_mean(q, batch, 1.0, q->array[Q_C_NOISE], gy);
}

/* g = y'A y/2 + y'C x + y'c */
static double lower_value(const quadratic *q, const blv_batch *batch, const void *x,
                          const void *y) {
    const blv_kernels *k = q->kernels;
    const void *matrix = batch ? q->array[Q_C_LESS_MEAN] : q->array[Q_C];
    double sum =
        of_means(q, batch) * k->quadratic(q->dy, q->dx, q->array[Q_A], matrix, q->array[Q_c], x, y);
    if (!batch)
        return sum;
    for (size_t j = 0; j < q->dy; j++) {
        double qy = k->dot(q->dy, row_of(q, q->array[Q_EIGENVECTORS], q->dy, j), y);
        sum += 0.5 * lambda_noise(q, batch, j) * qy * qy;
    }
    double cross = 0.0;
    for (size_t i = 0; i < batch->count; i++) {
        size_t s = sample_at(batch, i);
        if (!is_mine(q, s))
            continue;
        cross += k->dot(q->dx, row_of(q, q->array[Q_Q], q->dx, s), x) *
                 k->dot(q->dy, row_of(q, q->array[Q_P], q->dy, s), y);
    }
    return sum + cross / (double)batch->count + mean_dot(q, batch, q->array[Q_C_NOISE], y);
}

static int lower_pass(void *user, const lower_call *c) {
    const quadratic *q = user;
    const blv_batch *batch = c->batch;
    if (!take_batch(q, &batch))
        return -1;
    if (c->g)
        *c->g = lower_value(q, batch, raw(c->x), raw(c->y));
    if (c->gx)
        apply_C(q, batch, true, raw(c->y), 0.0, raw_mut(c->gx));
    if (c->gy)
        lower_gradient_y(q, batch, raw(c->x), raw(c->y), raw_mut(c->gy));
    if (c->hv)
        apply_A(q, batch, raw(c->v), raw_mut(c->hv));
    if (c->jv)
        apply_C(q, batch, true, raw(c->v), 0.0, raw_mut(c->jv));
    return add_up(q, batch, c->g, (blv_vec *const[]){c->gx, c->jv, c->gy, c->hv});
}

LOWER_FROM_PASS

/* ---- The family ---- */

static blv_error open_ranks(quadratic *q, const blv_problem_options *options) {
    q->ranks = options->ranks;
    q->shared = calloc(2 * (q->dx + q->dy) + 1, sizeof *q->shared);
    if (!q->shared)
        return BLV_E_MEMORY;
    BLV_CHECK(blv_space_create_replicated(&q->space_x, q->ranks, q->dx, options->precision,
                                          options->threads));
    return blv_space_create_replicated(&q->space_y, q->ranks, q->dy, options->precision,
                                       options->threads);
}

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
    BLV_CHECK(problem_kernels(options, "quadratic", &kernels, why));
    quadratic *q = quadratic_create(p, kernels);
    blv_error error = q ? BLV_OK : BLV_E_MEMORY;
    if (q && options->ranks)
        error = kernels->memory == BLV_MEMORY_HOST ? open_ranks(q, options) : BLV_E_UNSUPPORTED;
    if (error != BLV_OK) {
        quadratic_destroy(q);
        return blv_explain(why, error, "problem quadratic: %s",
                           kernels->memory == BLV_MEMORY_HOST ? problem_ranks_error(error)
                                                              : blv_error_text(error));
    }
    blv_problem_def def = {BLV_SIZED(blv_problem_def),
                           .name = "quadratic",
                           .dim_x = q->dx,
                           .dim_y = q->dy,
                           .precision = options->precision,
                           .threads = options->threads,
                           .memory = options->memory,
                           .upper_samples = q->terms,
                           .lower_samples = q->terms,
                           .shuffled = true, /* the terms are independent */
                           .user = q,
                           .free_user = quadratic_destroy,
                           .upper = upper,
                           LOWER_ORACLES,
                           .known_phi = quadratic_known_phi,
                           .known_solution = p->ridge > 0.0 ? quadratic_known_solution : NULL,
                           .arrays = q->named,
                           .space_x = q->space_x,
                           .space_y = q->space_y};
    return blv_problem_create(problem, &def, why);
}

PROBLEM_FAMILY(quadratic, "quadratic", quadratic_params, params, create,
               "quadratic in both levels, with chosen condition number and a closed-form answer",
               "f = |y-b|^2/2 + ridge |x|^2/2\ng = y'Ay/2 + y'(Cx+c)");
