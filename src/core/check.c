/* Checking a problem's oracles against central differences and against each other.
 *
 * Derivatives are checked coordinate by coordinate up to a size, so that the report can name the
 * worst one, and along random directions beyond it. Errors are relative to the size of what is
 * compared. The differences use f and g alone for gradients, gradients alone for Hv and Jv. */
#include "base/message.h"
#include "base/precision.h"
#include "base/random.h"
#include "core/eval.h"
#include "space/distance.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COORDINATES_MAX = 64, DIRECTIONS = 8 };

typedef struct checker {
    blv_eval eval;
    blv_counts counts;
    const blv_problem_def *def;
    blv_stream stream;
    uint64_t drawn;
    double eps;
    blv_check_report *report;
    blv_vec *x, *y, *v, *u;               /* a point and two directions of y */
    blv_vec *fx, *fy, *gx, *gy, *hv, *jv; /* what the oracles say */
    blv_vec *x1, *y1, *y2, *ax, *ay, *bx, *by;
    double *host;
    bool no_memory;
} checker;

static blv_flow add_item(checker *c, const char *what, double error, double allowed, size_t worst) {
    if (c->report->count == BLV_CHECK_MAX)
        return BLV_GO;
    bool ok = error <= allowed; /* false for NaN */
    c->report->item[c->report->count++] = (blv_check_item){
        .what = what, .error = error, .allowed = allowed, .worst = worst, .ok = ok};
    c->report->ok = c->report->ok && ok;
    return BLV_GO;
}

static void random_vec(checker *c, blv_vec *v, double scale) {
    size_t dim = blv_vec_dim(v);
    blv_random_normals(&c->stream, c->drawn, dim, c->host);
    c->drawn += dim;
    for (size_t i = 0; i < dim; i++)
        c->host[i] *= scale;
    blv_vec_write(v, c->host);
}

/* A direction: coordinate i where those are few, else a random unit vector. */
static void direction(checker *c, blv_vec *v, size_t i) {
    size_t dim = blv_vec_dim(v);
    if (dim > COORDINATES_MAX) {
        random_vec(c, v, 1.0);
        blv_vec_scale(v, 1.0 / blv_vec_norm(v));
        return;
    }
    memset(c->host, 0, dim * sizeof *c->host);
    c->host[i] = 1.0;
    blv_vec_write(v, c->host);
}

/* The larger error; one that is not a number is worse than any. */
static double worse(double a, double b) {
    return isnan(a) || b <= a ? a : b;
}

static double relative(double difference, double size) {
    return difference == 0.0 ? 0.0 : fabs(difference) / fmax(size, DBL_MIN);
}

static double difference(blv_vec *out, const blv_vec *reference) {
    return relative(blv_distance(out, out, reference), blv_vec_norm(reference));
}

/* What is asked of the oracles: a value and vectors of x and of y, each NULL where it is not
 * needed. Products: Jv and Hv. Fused: the same from lower_all, with gy as the number u'gy. */
typedef enum request { OF_F, OF_G, OF_PRODUCTS, OF_FUSED } request;

static blv_flow ask(checker *c, request of, const blv_batch *batch, const blv_vec *x,
                    const blv_vec *y, double *value, blv_vec *of_x, blv_vec *of_y) {
    if (of == OF_F)
        return blv_eval_upper(&c->eval, batch, x, y, value, of_x, of_y);
    if (of == OF_G)
        return blv_eval_lower(&c->eval, batch, x, y, value, of_x, of_y);
    if (of == OF_FUSED) {
        BLV_TRY(blv_eval_all(&c->eval, batch, x, y, c->v, value ? c->y1 : NULL, of_y, of_x));
    } else {
        BLV_TRY(blv_eval_cross(&c->eval, batch, x, y, c->v, of_x));
        BLV_TRY(blv_eval_hvp(&c->eval, batch, x, y, c->v, of_y));
    }
    if (value)
        *value = of == OF_FUSED ? blv_vec_dot(c->y1, c->u) : 0.0;
    return BLV_GO;
}

/* A length for differences: that of the point, or that over which a function changes by its size.
 */
static double length_at(double point_norm, double by_value) {
    if (point_norm > 0.0)
        return point_norm;
    return by_value > 0.0 && isfinite(by_value) ? by_value : 1.0;
}

/* A gradient in x or y against central differences of the value. */
static blv_flow check_gradient(checker *c, request of, bool in_x, const blv_vec *gradient,
                               const char *what) {
    const blv_vec *point = in_x ? c->x : c->y;
    blv_vec *moved = in_x ? c->x1 : c->y1, *along = in_x ? c->ax : c->ay;
    double norm = blv_vec_norm(gradient), base;
    BLV_TRY(ask(c, of, NULL, c->x, c->y, &base, NULL, NULL));
    double h = cbrt(c->eps) * length_at(blv_vec_norm(point), fabs(base) / norm);
    double worst_error = isfinite(base) ? 0.0 : (double)NAN;
    double noise = c->eps * fabs(base) / h; /* what rounding of the value does to the difference */
    bool by_coordinate = blv_vec_dim(point) <= COORDINATES_MAX;
    size_t worst = 0, count = by_coordinate ? blv_vec_dim(point) : DIRECTIONS;
    for (size_t i = 0; i < count; i++) {
        double above, below;
        direction(c, along, i);
        blv_vec_combine(moved, 1.0, point, h, along);
        BLV_TRY(ask(c, of, NULL, in_x ? moved : c->x, in_x ? c->y : moved, &above, NULL, NULL));
        blv_vec_combine(moved, 1.0, point, -h, along);
        BLV_TRY(ask(c, of, NULL, in_x ? moved : c->x, in_x ? c->y : moved, &below, NULL, NULL));
        double difference = (above - below) / (2.0 * h);
        double error =
            relative(difference - blv_vec_dot(gradient, along), norm + 1e3 * noise + h * h);
        if (!isnan(worst_error) && !(error <= worst_error)) { /* NaN stays */
            worst_error = error;
            worst = i;
        }
    }
    return add_item(c, what, worst_error, 1e2 * pow(c->eps, 0.5), by_coordinate ? worst : SIZE_MAX);
}

/* Hv and Jv along v against central differences of gy and gx. */
static blv_flow check_products(checker *c) {
    if (!c->def->lower_hvp && !c->def->lower_cross && !c->def->lower_all)
        return BLV_GO;
    double h = cbrt(c->eps) * length_at(blv_vec_norm(c->y), 0.0) / blv_vec_norm(c->v);
    blv_vec_combine(c->y1, 1.0, c->y, h, c->v);
    blv_vec_combine(c->y2, 1.0, c->y, -h, c->v);
    BLV_TRY(blv_eval_lower(&c->eval, NULL, c->x, c->y1, NULL, c->ax, c->ay));
    BLV_TRY(blv_eval_lower(&c->eval, NULL, c->x, c->y2, NULL, c->bx, c->by));
    blv_vec_combine(c->ay, 0.5 / h, c->ay, -0.5 / h, c->by);
    double size_y = blv_vec_norm(c->ay);
    blv_vec_combine(c->ax, 0.5 / h, c->ax, -0.5 / h, c->bx);
    double size_x = blv_vec_norm(c->ax);
    double allowed = 1e2 * pow(c->eps, 0.5);
    double floor_y = 1e3 * c->eps * blv_vec_norm(c->gy) / h;
    double floor_x = 1e3 * c->eps * blv_vec_norm(c->gx) / h;
    if (c->def->lower_hvp || c->def->lower_all) {
        double off = blv_distance(c->ay, c->ay, c->hv);
        add_item(c, "Hv against differences of gy", relative(off, size_y + floor_y), allowed,
                 SIZE_MAX);
    }
    if (c->def->lower_cross || c->def->lower_all) {
        double off = blv_distance(c->ax, c->ax, c->jv);
        add_item(c, "Jv against differences of gx", relative(off, size_x + floor_x), allowed,
                 SIZE_MAX);
    }
    return BLV_GO;
}

static blv_flow check_symmetry(checker *c) {
    if (!c->def->lower_hvp && !c->def->lower_all)
        return BLV_GO;
    BLV_TRY(blv_eval_hvp(&c->eval, NULL, c->x, c->y, c->u, c->ay));
    double uhv = blv_vec_dot(c->u, c->hv), vhu = blv_vec_dot(c->v, c->ay);
    double size =
        blv_vec_norm(c->u) * blv_vec_norm(c->hv) + blv_vec_norm(c->v) * blv_vec_norm(c->ay);
    return add_item(c, "Hv symmetric: u'Hv = v'Hu", relative(uhv - vhu, size), 1e3 * c->eps,
                    SIZE_MAX);
}

static blv_flow check_fused(checker *c) {
    if (!c->def->lower_all)
        return BLV_GO;
    BLV_TRY(blv_eval_all(&c->eval, NULL, c->x, c->y, c->v, c->ay, c->by, c->ax));
    double gy = difference(c->ay, c->gy), hv = difference(c->by, c->hv),
           jv = difference(c->ax, c->jv);
    bool exact = c->def->lower_hvp && c->def->lower_cross;
    return add_item(c, "lower_all against gy, Hv and Jv", worse(gy, worse(hv, jv)),
                    exact ? 1e3 * c->eps : 1e2 * pow(c->eps, 0.5), SIZE_MAX);
}

/* Three parts of unequal size, the last by index, the others as ranges. */
static size_t make_parts(size_t n, size_t *last_index, blv_batch parts[3]) {
    size_t count = 0, begin[4] = {0, n / 3, n - 1, n};
    *last_index = n - 1;
    for (int i = 0; i < 3; i++)
        if (begin[i + 1] > begin[i]) {
            parts[count] = (blv_batch){.first = begin[i],
                                       .count = begin[i + 1] - begin[i],
                                       .index = i == 2 ? last_index : NULL};
            count++;
        }
    return count;
}

/* The mean over batches, weighted by their sizes, is the whole. */
static blv_flow check_batches(checker *c, size_t n, request of, double allowed, const char *what) {
    blv_batch parts[3];
    size_t last_index, count = n < 2 ? 0 : make_parts(n, &last_index, parts);
    double whole, mean = 0.0;
    if (count == 0)
        return BLV_GO;
    BLV_TRY(ask(c, of, NULL, c->x, c->y, &whole, c->bx, c->by));
    double size_x = blv_vec_norm(c->bx), size_y = blv_vec_norm(c->by);
    for (size_t i = 0; i < count; i++) {
        double part, weight = (double)parts[i].count / (double)n;
        BLV_TRY(ask(c, of, &parts[i], c->x, c->y, &part, c->ax, c->ay));
        mean += weight * part;
        blv_vec_axpy(c->bx, -weight, c->ax);
        blv_vec_axpy(c->by, -weight, c->ay);
    }
    double value = relative(mean - whole, fabs(whole) + size_y);
    double of_x = relative(blv_vec_norm(c->bx), size_x + c->eps * size_y);
    double of_y = relative(blv_vec_norm(c->by), size_y);
    return add_item(c, what, worse(value, worse(of_x, of_y)), allowed, SIZE_MAX);
}

static blv_flow check_all_batches(checker *c) {
    const blv_problem_def *def = c->def;
    bool exact = (def->lower_hvp && def->lower_cross) || def->lower_all;
    double close = 1e4 * c->eps, rough = 1e3 * pow(c->eps, 0.5);
    BLV_TRY(check_batches(c, def->upper_samples, OF_F, close, "f, fx, fy: batches"));
    BLV_TRY(check_batches(c, def->lower_samples, OF_G, close, "g, gx, gy: batches"));
    BLV_TRY(check_batches(c, def->lower_samples, OF_PRODUCTS, exact ? close : rough,
                          "Hv, Jv: batches"));
    if (!def->lower_all)
        return BLV_GO;
    return check_batches(c, def->lower_samples, OF_FUSED, close, "lower_all: batches");
}

/* Outputs asked for alone, as solvers do, are what they are together. */
static blv_flow check_alone(checker *c) {
    const struct {
        request of;
        const blv_vec *x, *y;
    } together[] = {{OF_F, c->fx, c->fy}, {OF_G, c->gx, c->gy}, {OF_FUSED, c->jv, c->hv}};
    double worst = 0.0;
    for (size_t i = 0; i < (c->def->lower_all ? 3 : 2); i++) {
        BLV_TRY(ask(c, together[i].of, NULL, c->x, c->y, NULL, c->ax, NULL));
        worst = worse(worst, difference(c->ax, together[i].x));
        BLV_TRY(ask(c, together[i].of, NULL, c->x, c->y, NULL, NULL, c->ay));
        worst = worse(worst, difference(c->ay, together[i].y));
    }
    if (c->def->lower_all) {
        BLV_TRY(blv_eval_all(&c->eval, NULL, c->x, c->y, c->v, c->ay, NULL, NULL));
        worst = worse(worst, difference(c->ay, c->gy));
    }
    return add_item(c, "outputs asked for alone", worst, 1e4 * c->eps, SIZE_MAX);
}

static blv_flow check_projection(checker *c) {
    if (!c->def->project_x)
        return BLV_GO;
    random_vec(c, c->x1, 10.0);
    BLV_TRY(blv_eval_project(&c->eval, c->x1));
    blv_vec_copy(c->ax, c->x1);
    BLV_TRY(blv_eval_project(&c->eval, c->ax));
    double off = blv_distance(c->ax, c->ax, c->x1);
    return add_item(c, "projection: twice is once", relative(off, blv_vec_norm(c->x1)),
                    1e2 * c->eps, SIZE_MAX);
}

/* A dense matrix times v against the product oracle. rows: dim of the result. */
static blv_flow check_matrix(checker *c, blv_matrix_fn matrix, bool hessian) {
    size_t rows = hessian ? c->def->dim_y : c->def->dim_x, columns = c->def->dim_y;
    if (!matrix || rows > 1000 || columns > 1000)
        return BLV_GO;
    double *m = malloc(rows * columns * sizeof *m), *v = malloc((rows + columns) * sizeof *v);
    int code = m && v ? matrix(c->def->user, NULL, c->x, c->y, m) : 0;
    c->no_memory = !m || !v;
    if (c->no_memory || code != 0) {
        c->eval.failed = hessian ? BLV_ORACLE_HESSIAN : BLV_ORACLE_CROSS_MATRIX;
        c->eval.failed_code = code;
        free(m);
        free(v);
        return code > 0 ? BLV_RETRY : BLV_FATAL;
    }
    const blv_vec *product = hessian ? c->hv : c->jv;
    double *expected = v + columns, off = 0.0;
    blv_vec_read(c->v, v);
    blv_vec_read(product, expected);
    for (size_t i = 0; i < rows; i++) {
        double sum = 0.0;
        for (size_t j = 0; j < columns; j++)
            sum += m[i * columns + j] * v[j];
        off += (sum - expected[i]) * (sum - expected[i]);
    }
    free(m);
    free(v);
    return add_item(c,
                    hessian ? "lower_hessian_matrix against Hv" : "lower_cross_matrix against Jv",
                    relative(sqrt(off), blv_vec_norm(product)), 1e2 * pow(c->eps, 0.5), SIZE_MAX);
}

static blv_flow check_all(checker *c) {
    c->eval.unit_y = length_at(blv_vec_norm(c->y), 0.0);
    BLV_TRY(blv_eval_upper(&c->eval, NULL, c->x, c->y, NULL, c->fx, c->fy));
    BLV_TRY(blv_eval_lower(&c->eval, NULL, c->x, c->y, NULL, c->gx, c->gy));
    BLV_TRY(blv_eval_hvp(&c->eval, NULL, c->x, c->y, c->v, c->hv));
    BLV_TRY(blv_eval_cross(&c->eval, NULL, c->x, c->y, c->v, c->jv));
    if (!isfinite(blv_vec_norm(c->hv) + blv_vec_norm(c->jv)))
        add_item(c, "Hv and Jv are numbers", NAN, 0.0, SIZE_MAX);
    BLV_TRY(check_gradient(c, OF_F, true, c->fx, "fx against differences of f"));
    BLV_TRY(check_gradient(c, OF_F, false, c->fy, "fy against differences of f"));
    BLV_TRY(check_gradient(c, OF_G, true, c->gx, "gx against differences of g"));
    BLV_TRY(check_gradient(c, OF_G, false, c->gy, "gy against differences of g"));
    BLV_TRY(check_products(c));
    BLV_TRY(check_symmetry(c));
    BLV_TRY(check_fused(c));
    BLV_TRY(check_all_batches(c));
    BLV_TRY(check_alone(c));
    BLV_TRY(check_projection(c));
    BLV_TRY(check_matrix(c, c->def->lower_hessian_matrix, true));
    return check_matrix(c, c->def->lower_cross_matrix, false);
}

static blv_error open_checker(checker *c, const blv_problem *problem) {
    c->def = blv_problem_definition(problem);
    c->eps = blv_epsilon(c->def->precision);
    BLV_CHECK(blv_eval_open(&c->eval, problem, &c->counts));
    blv_vec **of_y[] = {&c->y,  &c->v,  &c->u,  &c->fy, &c->gy,
                        &c->hv, &c->y1, &c->y2, &c->ay, &c->by};
    blv_vec **of_x[] = {&c->x, &c->fx, &c->gx, &c->jv, &c->x1, &c->ax, &c->bx};
    for (size_t i = 0; i < sizeof of_y / sizeof *of_y; i++)
        BLV_CHECK(blv_vec_create(of_y[i], c->def->space_y));
    for (size_t i = 0; i < sizeof of_x / sizeof *of_x; i++)
        BLV_CHECK(blv_vec_create(of_x[i], c->def->space_x));
    size_t largest = c->def->dim_x > c->def->dim_y ? c->def->dim_x : c->def->dim_y;
    c->host = malloc(largest * sizeof *c->host);
    return c->host ? BLV_OK : BLV_E_MEMORY;
}

static void close_checker(checker *c) {
    blv_vec *all[] = {c->x,  c->y,  c->v,  c->u,  c->fx, c->fy, c->gx, c->gy, c->hv,
                      c->jv, c->x1, c->y1, c->y2, c->ax, c->ay, c->bx, c->by};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        blv_vec_destroy(all[i]);
    blv_eval_close(&c->eval);
    free(c->host);
}

blv_error blv_problem_check(const blv_problem *problem, uint64_t seed, double scale,
                            blv_check_report *report, blv_message *why) {
    if (!problem || !report || !isfinite(scale))
        return blv_explain(why, BLV_E_ARGUMENT, "blv_problem_check: a bad argument");
    *report = (blv_check_report){.ok = true};
    checker c = {.report = report, .stream = blv_stream_make(seed, "check")};
    blv_error error = open_checker(&c, problem);
    if (error != BLV_OK) {
        close_checker(&c);
        return blv_explain(why, error, "check: %s", blv_error_text(error));
    }
    random_vec(&c, c.x, scale);
    random_vec(&c, c.y, scale);
    random_vec(&c, c.v, 1.0);
    random_vec(&c, c.u, 1.0);
    blv_flow flow = blv_eval_project(&c.eval, c.x);
    if (flow == BLV_GO)
        flow = check_all(&c);
    blv_oracle_kind failed = c.eval.failed;
    int code = c.eval.failed_code;
    close_checker(&c);
    if (flow == BLV_GO)
        return BLV_OK;
    report->ok = false;
    if (c.no_memory)
        return blv_explain(why, BLV_E_MEMORY, "check: out of memory");
    return blv_explain(why, BLV_E_ORACLE, "check: oracle %s returned %d",
                       blv_oracle_kind_name(failed), code);
}
