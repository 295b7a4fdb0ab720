/* A custom problem: ridge regression whose penalty is chosen on validation data.
 *
 *   upper   f = |A' y - b'|^2 / 2m                         on validation rows
 *   lower   g = |A y - b|^2 / 2n + exp(x) |y|^2 / 2        on training rows
 *
 * x is the logarithm of the penalty, y holds the weights. The problem is solved twice: with Hv and
 * Jv, and with the gradients alone, where the library falls back to central differences. */
#include <bilevel/bilevel.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>

enum { ROWS = 24, WEIGHTS = 8 };

typedef struct rows {
    double a[ROWS][WEIGHTS];
    double b[ROWS];
} rows;

typedef struct data {
    rows train, validate;
} data;

/* ---- Data: b = A w + noise, where half of the weights w are 0 ---- */

static double uniform(uint64_t *state) { /* in [-1, 1), the same on every machine */
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-52 - 1.0;
}

static void draw(rows *r, uint64_t *state) {
    for (size_t i = 0; i < ROWS; i++) {
        r->b[i] = uniform(state);
        for (size_t k = 0; k < WEIGHTS; k++) {
            r->a[i][k] = uniform(state);
            r->b[i] += k % 2 == 0 ? 0.5 * r->a[i][k] : 0.0;
        }
    }
}

/* ---- Oracles ---- */

static double dot(const double *a, const double *b) {
    double sum = 0.0;
    for (size_t k = 0; k < WEIGHTS; k++)
        sum += a[k] * b[k];
    return sum;
}

/* out = A' (A y - b) / rows, or A' A y / rows without b. Returns |A y - b|^2 / (2 rows). */
static double least_squares(const rows *r, const double *y, const double *b, double *out) {
    double value = 0.0;
    for (size_t k = 0; out && k < WEIGHTS; k++)
        out[k] = 0.0;
    for (size_t i = 0; i < ROWS; i++) {
        double residual = dot(r->a[i], y) - (b ? b[i] : 0.0);
        value += residual * residual / (2.0 * ROWS);
        for (size_t k = 0; out && k < WEIGHTS; k++)
            out[k] += residual * r->a[i][k] / ROWS;
    }
    return value;
}

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    const data *d = user;
    (void)batch, (void)x; /* no samples are declared, so the batch is always NULL */
    double value =
        least_squares(&d->validate, blv_vec_f64(y), d->validate.b, fy ? blv_vec_f64_mut(fy) : NULL);
    if (f)
        *f = value;
    if (fx)
        blv_vec_fill(fx, 0.0);
    return 0;
}

static int lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *g,
                 blv_vec *gx, blv_vec *gy) {
    const data *d = user;
    const double *w = blv_vec_f64(y);
    double penalty = exp(*blv_vec_f64(x)), half_square = 0.5 * dot(w, w);
    (void)batch;
    if (!isfinite(penalty))
        return 1; /* too far out: the run halves its step and tries again */
    double value = least_squares(&d->train, w, d->train.b, gy ? blv_vec_f64_mut(gy) : NULL);
    if (g)
        *g = value + penalty * half_square;
    if (gx)
        *blv_vec_f64_mut(gx) = penalty * half_square;
    if (gy)
        blv_vec_axpy(gy, penalty, y);
    return 0;
}

static int lower_hvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     const blv_vec *v, blv_vec *hv) {
    const data *d = user;
    (void)batch, (void)y;
    least_squares(&d->train, blv_vec_f64(v), NULL, blv_vec_f64_mut(hv));
    blv_vec_axpy(hv, exp(*blv_vec_f64(x)), v);
    return 0;
}

static int lower_cross(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                       const blv_vec *v, blv_vec *jv) {
    (void)user, (void)batch;
    *blv_vec_f64_mut(jv) = exp(*blv_vec_f64(x)) * blv_vec_dot(y, v);
    return 0;
}

/* ---- Solving it ---- */

/* Phi at other penalties: the certificate solves the lower level for any x. */
static blv_error scan(blv_run *run) {
    blv_certificate c;
    for (int i = 0; i < 6; i++) {
        double x = 2.0 * i - 8.0;
        BLV_CHECK(blv_run_write(run, "x", &x));
        BLV_CHECK(blv_run_certify(run, &c));
        printf("  penalty %8.4f: validation error %.5f\n", exp(x), c.phi);
    }
    return BLV_OK;
}

static blv_error solve(blv_run *run) {
    blv_certificate c;
    double x;
    BLV_CHECK(blv_run_set(run, "tol", "1e-7"));
    BLV_CHECK(blv_run_solve(run));
    BLV_CHECK(blv_run_certify(run, &c));
    BLV_CHECK(blv_run_read(run, "x", &x));
    printf("  %s: penalty %.4f, validation error %.5f, |grad Phi| = %.5f\n",
           blv_outcome_word(blv_run_result(run)->outcome), exp(x), c.phi, c.grad_norm);
    for (size_t i = 0; blv_run_notes(run, i); i++)
        printf("  note: %s\n", blv_run_notes(run, i));
    return BLV_OK;
}

static blv_error create_and_solve(const blv_problem_def *def, bool with_scan) {
    blv_problem *problem = NULL;
    blv_run *run = NULL;
    blv_check_report report;
    blv_message why = {""};
    const blv_solver *solver = blv_solver_find(NULL, "s-tfbo", &why);
    blv_error error = solver ? blv_problem_create(&problem, def, &why) : BLV_E_NAME;
    if (error == BLV_OK)
        error = blv_problem_check(problem, 0, 1.0, &report, &why);
    if (error == BLV_OK) {
        printf("  %zu checks of the oracles: %s\n", report.count, report.ok ? "all well" : "WRONG");
        error = blv_run_create(&run, problem, solver, &why);
    }
    if (error == BLV_OK)
        error = solve(run);
    if (error == BLV_OK && with_scan)
        error = scan(run);
    if (error != BLV_OK)
        fprintf(stderr, "%s\n", run ? blv_run_message(run) : why.text);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
    return error;
}

int main(void) {
    static data d;
    uint64_t state = 1;
    draw(&d.train, &state);
    draw(&d.validate, &state);

    blv_problem_def def = {BLV_SIZED(blv_problem_def),
                           .name = "ridge",
                           .dim_x = 1,
                           .dim_y = WEIGHTS,
                           .user = &d,
                           .upper = upper,
                           .lower = lower,
                           .lower_hvp = lower_hvp,
                           .lower_cross = lower_cross};
    printf("with Hv and Jv\n");
    if (create_and_solve(&def, false) != BLV_OK)
        return 1;

    def.lower_hvp = NULL;
    def.lower_cross = NULL;
    printf("with gradients only\n");
    return create_and_solve(&def, true) == BLV_OK ? 0 : 1;
}
