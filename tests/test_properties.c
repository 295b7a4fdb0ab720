/* Properties that hold for every problem and every solver, tried on random instances. An instance
 * is a seed and four sizes. When a property fails, the sizes are halved as long as it still does,
 * and the smallest failing instance is printed with its seed. */
#include "run_testing.h"

#include "core/random.h"
#include "space/projection.h"

#include <float.h>

/* Of each family, and of each solver; fewer under sanitizers, where all takes ten times as long. */
#ifdef __SANITIZE_ADDRESS__
enum { INSTANCES = 3, RUNS = 1 };
#else
enum { INSTANCES = 12, RUNS = 2 };
#endif

typedef enum family_kind {
    QUADRATIC,
    PL_SHIFT,
    SYNTHETIC,
    L2REG,
    HYPERCLEAN,
    CORESET,
    HYPERCLEAN_NN,
    DECAY_NN,
    FAMILIES
} family_kind;

static const char *const family_names[FAMILIES] = {
    "quadratic",  "pl-shift", "synthetic-logistic", "l2reg",
    "hyperclean", "coreset",  "hyperclean-nn",      "decay-nn"};

/* What the sizes mean: quadratic dx, dy, terms; data rows, columns, classes, hidden units. */
enum { SIZES = 4 };
static const size_t least[FAMILIES][SIZES] = {{1, 1, 1, 1}, {1, 1, 1, 1}, {4, 1, 1, 1},
                                              {4, 1, 2, 1}, {4, 1, 2, 1}, {4, 1, 2, 1},
                                              {4, 1, 2, 1}, {4, 1, 2, 1}};
static const size_t most[FAMILIES][SIZES] = {{24, 24, 9, 1}, {40, 1, 1, 1},  {60, 12, 1, 1},
                                             {50, 12, 4, 1}, {50, 12, 4, 1}, {30, 6, 3, 4},
                                             {30, 6, 3, 4},  {30, 6, 3, 4}};

typedef struct instance {
    family_kind family;
    uint64_t seed;
    size_t size[SIZES];
    blv_precision precision;
    bool sparse;
    int variant; /* kind of penalty, bounds or none */
} instance;

/* Where a property fails it says why. */
typedef struct finding {
    char text[200];
} finding;

typedef bool (*property)(const instance *of, finding *why);

static bool refute(finding *why, const char *what, double error, double allowed) {
    if (error <= allowed) /* not for NaN */
        return true;
    snprintf(why->text, sizeof why->text, "%s: off by %.3g, allowed %.3g", what, error, allowed);
    return false;
}

/* ---- Random numbers of an instance ---- */

typedef struct draws {
    blv_stream stream;
    uint64_t used;
} draws;

static draws draws_of(const instance *of, const char *purpose) {
    return (draws){.stream = blv_stream_make(of->seed, purpose)};
}

static double draw_normal(draws *d) {
    return blv_random_normal(&d->stream, d->used++);
}

static size_t draw_below(draws *d, size_t bound) {
    return (size_t)blv_random_below(&d->stream, d->used++, bound);
}

static void fill_normal(draws *d, blv_vec *v, double scale) {
    double *host = malloc(blv_vec_dim(v) * sizeof *host);
    assert_non_null(host);
    for (size_t i = 0; i < blv_vec_dim(v); i++)
        host[i] = scale * draw_normal(d);
    blv_vec_write(v, host);
    free(host);
}

static instance draw_instance(family_kind family, uint64_t seed) {
    instance of = {.family = family, .seed = seed};
    draws d = draws_of(&of, "instance");
    for (size_t i = 0; i < SIZES; i++)
        of.size[i] = least[family][i] + draw_below(&d, most[family][i] - least[family][i] + 1);
    of.precision = draw_below(&d, 3) == 0 ? BLV_F32 : BLV_F64;
    of.sparse = draw_below(&d, 2) == 0;
    of.variant = (int)draw_below(&d, 6);
    return of;
}

/* ---- Making problems ---- */

static char train_path[64], val_path[64];

static void remove_files(void) {
    remove(train_path);
    remove(val_path);
}

static blv_dataset *draw_set(const instance *of, const char *purpose, size_t rows) {
    draws d = draws_of(of, purpose);
    size_t columns = of->size[1], classes = of->size[2];
    double *values = malloc(rows * columns * sizeof *values);
    int32_t *label = malloc(rows * sizeof *label);
    assert_true(values && label);
    for (size_t i = 0; i < rows; i++) {
        label[i] = (int32_t)(i < classes ? i : draw_below(&d, classes));
        for (size_t j = 0; j < columns; j++)
            values[i * columns + j] = draw_below(&d, 3) == 0 ? 0.0 : draw_normal(&d);
    }
    const blv_dataset_view view = {.rows = rows,
                                   .columns = columns,
                                   .dense = values,
                                   .stride = columns,
                                   .classes = classes,
                                   .label = label};
    blv_dataset *set;
    assert_int_equal(blv_dataset_create(&set, &view, NULL, NULL), BLV_OK);
    free(values);
    free(label);
    return set;
}

static void write_set(blv_dataset *set, char path[64], const char *name) {
    snprintf(path, 64, "properties_%ld_%s.npz", (long)getpid(), name);
    assert_int_equal(blv_dataset_write(set, path, "npz", NULL), BLV_OK);
    blv_dataset_destroy(set);
}

static blv_dataset *training_rows(const instance *of) {
    size_t rows = of->size[0] > of->size[2] ? of->size[0] : of->size[2];
    return draw_set(of, "train", rows);
}

static blv_problem *problem_on_rows(const instance *of, blv_dataset *train) {
    static const char *const penalties[] = {"per-feature", "per-class", "one"};
    write_set(train, train_path, "train");
    write_set(draw_set(of, "val", of->size[2] + 3), val_path, "val");
    const char *name = family_names[of->family];
    const char *layout = of->sparse ? "sparse" : "dense";
    char net[32];
    snprintf(net, sizeof net, "mlp:in-%zu-out,act=softplus", of->size[3]);
    const char *const *settings =
        of->family == L2REG
            ? SETTINGS("train", train_path, "val", val_path, "order", "file", "layout", layout,
                       "penalty", penalties[of->variant % 3], "lo", of->variant < 3 ? "none" : "-1",
                       "hi", of->variant < 3 ? "none" : "0.5")
        : of->family == HYPERCLEAN ? SETTINGS("train", train_path, "val", val_path, "order", "file",
                                              "layout", layout, "C", "0.1")
                                   : SETTINGS("train", train_path, "val", val_path, "order", "file",
                                              "layout", "dense", "net", net);
    return make_problem_in(name, settings, of->precision);
}

static blv_problem *problem_of(const instance *of) {
    char text[3][32];
    for (size_t i = 0; i < 3; i++)
        snprintf(text[i], sizeof text[i], "%zu", of->size[i]);
    char seed[32];
    snprintf(seed, sizeof seed, "%u", (unsigned)(of->seed & 0xffff));
    const char *name = family_names[of->family];
    if (of->family == QUADRATIC)
        return make_problem_in(name,
                               SETTINGS("dx", text[0], "dy", text[1], "terms", text[2], "kappa",
                                        of->variant < 3 ? "5" : "300", "seed", seed),
                               of->precision);
    if (of->family == PL_SHIFT)
        return make_problem_in(name, SETTINGS("dim", text[0], "seed", seed), of->precision);
    if (of->family == SYNTHETIC)
        return make_problem_in(name, SETTINGS("rows", text[0], "columns", text[1], "seed", seed),
                               of->precision);
    return problem_on_rows(of, training_rows(of));
}

/* ---- Trying and shrinking ---- */

static instance shrink(instance of, property holds, finding *why) {
    bool smaller = true;
    while (smaller) {
        smaller = false;
        for (size_t i = 0; i < SIZES; i++) {
            instance half = of;
            finding reason;
            half.size[i] = of.size[i] / 2;
            if (half.size[i] < least[of.family][i] || half.size[i] == of.size[i])
                continue;
            if (!holds(&half, &reason)) {
                of = half;
                *why = reason;
                smaller = true;
            }
        }
    }
    return of;
}

static long tried; /* instances, of all properties */

static void try_instance(const instance *of, property holds, const char *what) {
    finding why = {""};
    tried++;
    if (holds(of, &why))
        return;
    instance s = shrink(*of, holds, &why);
    fail_msg("%s fails for %s, seed %llu, sizes %zu %zu %zu %zu, %s, %s, variant %d: %s", what,
             family_names[s.family], (unsigned long long)s.seed, s.size[0], s.size[1], s.size[2],
             s.size[3], s.precision == BLV_F32 ? "f32" : "f64", s.sparse ? "sparse" : "dense",
             s.variant, why.text);
}

static void try_families(property holds, const char *what, uint64_t count) {
    for (int family = 0; family < FAMILIES; family++)
        for (uint64_t seed = 1; seed <= count; seed++) {
            instance of = draw_instance((family_kind)family, seed);
            try_instance(&of, holds, what);
        }
}

/* ---- A point with room for what oracles say ---- */

enum { IN_X = 6, IN_Y = 8 };

typedef struct point {
    blv_problem *problem;
    const blv_problem_def *def;
    blv_vec *x, *y, *u, *v;
    blv_vec *ax[IN_X], *ay[IN_Y];
    draws draws;
} point;

static blv_vec *vec_of(const blv_space *space) {
    blv_vec *v;
    assert_int_equal(blv_vec_create(&v, space), BLV_OK);
    return v;
}

static point open_point(const instance *of) {
    point p = {.problem = problem_of(of), .draws = draws_of(of, "point")};
    p.def = blv_problem_definition(p.problem);
    p.x = vec_of(p.def->space_x);
    p.y = vec_of(p.def->space_y);
    p.u = vec_of(p.def->space_y);
    p.v = vec_of(p.def->space_y);
    for (size_t i = 0; i < IN_X; i++)
        p.ax[i] = vec_of(p.def->space_x);
    for (size_t i = 0; i < IN_Y; i++)
        p.ay[i] = vec_of(p.def->space_y);
    if (p.def->start)
        assert_int_equal(p.def->start(p.def->user, p.x, p.y), 0);
    fill_normal(&p.draws, p.ax[0], 0.5);
    fill_normal(&p.draws, p.ay[0], 0.5);
    blv_vec_axpy(p.x, 1.0, p.ax[0]);
    blv_vec_axpy(p.y, 1.0, p.ay[0]);
    if (p.def->project_x)
        assert_int_equal(p.def->project_x(p.def->user, p.x), 0);
    fill_normal(&p.draws, p.u, 1.0);
    fill_normal(&p.draws, p.v, 1.0);
    return p;
}

static bool close_point(point *p, bool result) {
    blv_vec *const plain[] = {p->x, p->y, p->u, p->v};
    for (size_t i = 0; i < LENGTH(plain); i++)
        blv_vec_destroy(plain[i]);
    for (size_t i = 0; i < IN_X; i++)
        blv_vec_destroy(p->ax[i]);
    for (size_t i = 0; i < IN_Y; i++)
        blv_vec_destroy(p->ay[i]);
    blv_problem_destroy(p->problem);
    return result;
}

/* Relative; sums of some hundred terms, each rounded. */
static double rounding(const point *p) {
    return p->def->precision == BLV_F32 ? 1e-4 : 1e-11;
}

static void hv(const point *p, const blv_batch *batch, const blv_vec *v, blv_vec *out) {
    assert_int_equal(p->def->lower_hvp(p->def->user, batch, p->x, p->y, v, out), 0);
}

static void jv(const point *p, const blv_batch *batch, const blv_vec *v, blv_vec *out) {
    assert_int_equal(p->def->lower_jvp(p->def->user, batch, p->x, p->y, v, out), 0);
}

/* |a - b| relative to the larger of them; work is written over. */
static double apart(const blv_vec *a, const blv_vec *b, blv_vec *work) {
    double size = fmax(blv_vec_norm(a), blv_vec_norm(b));
    double distance = blv_vec_combine(work, 1.0, a, -1.0, b);
    return distance == 0.0 ? 0.0 : distance / size;
}

/* ---- Oracles ---- */

static bool hessian_is_symmetric(const instance *of, finding *why) {
    point p = open_point(of);
    hv(&p, NULL, p.v, p.ay[0]);
    hv(&p, NULL, p.u, p.ay[1]);
    double size =
        blv_vec_norm(p.u) * blv_vec_norm(p.ay[0]) + blv_vec_norm(p.v) * blv_vec_norm(p.ay[1]);
    double error = fabs(blv_vec_dot(p.u, p.ay[0]) - blv_vec_dot(p.v, p.ay[1]));
    return close_point(&p, refute(why, "u'Hv - v'Hu", error, rounding(&p) * size));
}

/* With coefficients a, b: P(a u + b v) = a P u + b P v. */
static bool products_are_linear(const instance *of, finding *why) {
    point p = open_point(of);
    double a = draw_normal(&p.draws), b = draw_normal(&p.draws);
    blv_vec_combine(p.ay[7], a, p.u, b, p.v);
    hv(&p, NULL, p.u, p.ay[0]);
    hv(&p, NULL, p.v, p.ay[1]);
    hv(&p, NULL, p.ay[7], p.ay[2]);
    double size = fabs(a) * blv_vec_norm(p.ay[0]) + fabs(b) * blv_vec_norm(p.ay[1]);
    blv_vec_combine(p.ay[3], a, p.ay[0], b, p.ay[1]);
    double error = blv_vec_combine(p.ay[3], 1.0, p.ay[3], -1.0, p.ay[2]);
    bool ok = refute(why, "H(au + bv)", error, rounding(&p) * size);
    jv(&p, NULL, p.u, p.ax[0]);
    jv(&p, NULL, p.v, p.ax[1]);
    jv(&p, NULL, p.ay[7], p.ax[2]);
    size = fabs(a) * blv_vec_norm(p.ax[0]) + fabs(b) * blv_vec_norm(p.ax[1]);
    blv_vec_combine(p.ax[3], a, p.ax[0], b, p.ax[1]);
    error = blv_vec_combine(p.ax[3], 1.0, p.ax[3], -1.0, p.ax[2]);
    return close_point(&p, ok && refute(why, "J(au + bv)", error, rounding(&p) * size));
}

static bool fused_equals_separate(const instance *of, finding *why) {
    point p = open_point(of);
    const blv_problem_def *d = p.def;
    size_t half = (d->lower_samples + 1) / 2;
    const blv_batch part = {.first = d->lower_samples - half, .count = half};
    bool ok = true;
    for (int i = 0; i < 2 && ok; i++) {
        const blv_batch *batch = i == 0 ? NULL : &part;
        assert_int_equal(d->lower_all(d->user, batch, p.x, p.y, p.v, p.ay[0], p.ay[1], p.ax[0]), 0);
        assert_int_equal(d->lower(d->user, batch, p.x, p.y, NULL, p.ax[1], p.ay[2]), 0);
        hv(&p, batch, p.v, p.ay[3]);
        jv(&p, batch, p.v, p.ax[2]);
        ok = refute(why, "gy", apart(p.ay[0], p.ay[2], p.ay[4]), rounding(&p)) &&
             refute(why, "Hv", apart(p.ay[1], p.ay[3], p.ay[4]), rounding(&p)) &&
             refute(why, "Jv", apart(p.ax[0], p.ax[2], p.ax[3]), rounding(&p));
    }
    return close_point(&p, ok);
}

/* Adds up the parts of a mean over samples: ranges one after another, or lists of a permutation. */
typedef struct parts_of {
    size_t samples;
    size_t *order; /* NULL: ranges */
} parts_of;

static blv_batch part_at(const parts_of *s, size_t first, size_t count) {
    if (s->order)
        return (blv_batch){.count = count, .index = s->order + first};
    return (blv_batch){.first = first, .count = count};
}

static double add_lower(const point *p, const parts_of *s, size_t first, size_t count) {
    blv_batch batch = part_at(s, first, count);
    double share = (double)count / (double)s->samples, g;
    assert_int_equal(p->def->lower(p->def->user, &batch, p->x, p->y, &g, p->ax[4], p->ay[4]), 0);
    blv_vec_axpy(p->ax[0], share, p->ax[4]);
    blv_vec_axpy(p->ay[0], share, p->ay[4]);
    hv(p, &batch, p->v, p->ay[4]);
    jv(p, &batch, p->v, p->ax[4]);
    blv_vec_axpy(p->ay[1], share, p->ay[4]);
    blv_vec_axpy(p->ax[1], share, p->ax[4]);
    return share * g;
}

static double add_upper(const point *p, const parts_of *s, size_t first, size_t count) {
    blv_batch batch = part_at(s, first, count);
    double share = (double)count / (double)s->samples, f;
    assert_int_equal(p->def->upper(p->def->user, &batch, p->x, p->y, &f, p->ax[4], p->ay[4]), 0);
    blv_vec_axpy(p->ax[0], share, p->ax[4]);
    blv_vec_axpy(p->ay[0], share, p->ay[4]);
    return share * f;
}

static double add_parts(point *p, const parts_of *s,
                        double (*add)(const point *, const parts_of *, size_t, size_t)) {
    double sum = 0.0;
    for (size_t i = 0; i < 2; i++) {
        blv_vec_fill(p->ax[i], 0.0);
        blv_vec_fill(p->ay[i], 0.0);
    }
    for (size_t first = 0; first < s->samples;) {
        size_t left = s->samples - first, count = 1 + draw_below(&p->draws, left);
        sum += add(p, s, first, count);
        first += count;
    }
    return sum;
}

static bool same_mean_lower(point *p, const parts_of *s, finding *why) {
    const blv_problem_def *d = p->def;
    double g, sum = add_parts(p, s, add_lower), eps = 10.0 * rounding(p);
    assert_int_equal(d->lower(d->user, NULL, p->x, p->y, &g, p->ax[2], p->ay[2]), 0);
    hv(p, NULL, p->v, p->ay[3]);
    jv(p, NULL, p->v, p->ax[3]);
    return refute(why, "mean of g", fabs(g - sum), eps * (1.0 + fabs(g))) &&
           refute(why, "mean of gx", apart(p->ax[0], p->ax[2], p->ax[4]), eps) &&
           refute(why, "mean of gy", apart(p->ay[0], p->ay[2], p->ay[4]), eps) &&
           refute(why, "mean of Hv", apart(p->ay[1], p->ay[3], p->ay[4]), eps) &&
           refute(why, "mean of Jv", apart(p->ax[1], p->ax[3], p->ax[4]), eps);
}

static bool same_mean_upper(point *p, const parts_of *s, finding *why) {
    const blv_problem_def *d = p->def;
    double f, sum = add_parts(p, s, add_upper), eps = 10.0 * rounding(p);
    assert_int_equal(d->upper(d->user, NULL, p->x, p->y, &f, p->ax[2], p->ay[2]), 0);
    return refute(why, "mean of f", fabs(f - sum), eps * (1.0 + fabs(f))) &&
           refute(why, "mean of fx", apart(p->ax[0], p->ax[2], p->ax[4]), eps) &&
           refute(why, "mean of fy", apart(p->ay[0], p->ay[2], p->ay[4]), eps);
}

static bool batches_make_the_mean(const instance *of, finding *why) {
    point p = open_point(of);
    bool ok = true;
    for (int listed = 0; listed < 2 && ok; listed++)
        for (int upper = 0; upper < 2 && ok; upper++) {
            parts_of s = {.samples = upper ? p.def->upper_samples : p.def->lower_samples};
            if (listed) {
                s.order = malloc(s.samples * sizeof *s.order);
                assert_non_null(s.order);
                blv_random_permutation(&p.draws.stream, 0, s.samples, s.order);
            }
            ok = upper ? same_mean_upper(&p, &s, why) : same_mean_lower(&p, &s, why);
            free(s.order);
        }
    return close_point(&p, ok);
}

/* f or g at (x, y) + t (a, b), and their gradients where asked for. */
typedef int (*value_fn)(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                        double *value, blv_vec *in_x, blv_vec *in_y);

static double value_at(const point *p, value_fn ask, double t) {
    double value;
    blv_vec_combine(p->ax[4], 1.0, p->x, t, p->ax[5]);
    blv_vec_combine(p->ay[4], 1.0, p->y, t, p->v);
    assert_int_equal(ask(p->def->user, NULL, p->ax[4], p->ay[4], &value, NULL, NULL), 0);
    return value;
}

/* Central differences of fourth order: the error is that of rounding, eps |f| / h. */
static bool slope_is_right(const point *p, value_fn ask, const char *what, finding *why) {
    const double h = 1e-3;
    double value;
    assert_int_equal(ask(p->def->user, NULL, p->x, p->y, &value, p->ax[0], p->ay[0]), 0);
    double slope = blv_vec_dot(p->ax[0], p->ax[5]) + blv_vec_dot(p->ay[0], p->v);
    double near = (value_at(p, ask, h) - value_at(p, ask, -h)) / (2 * h);
    double far = (value_at(p, ask, 2 * h) - value_at(p, ask, -2 * h)) / (4 * h);
    double size = 1.0 + fabs(value) + blv_vec_norm(p->ax[0]) * blv_vec_norm(p->ax[5]) +
                  blv_vec_norm(p->ay[0]) * blv_vec_norm(p->v);
    return refute(why, what, fabs((4 * near - far) / 3 - slope), 1e-7 * size);
}

static void gradients_at(const point *p, double t, blv_vec *gx, blv_vec *gy) {
    blv_vec_combine(p->ay[4], 1.0, p->y, t, p->v);
    assert_int_equal(p->def->lower(p->def->user, NULL, p->x, p->ay[4], NULL, gx, gy), 0);
}

/* Hv and Jv against differences of gy and gx along v, likewise of fourth order. */
static bool products_are_right(const point *p, finding *why) {
    const double h = 1e-3, coef[] = {2 / (3 * h), -2 / (3 * h), -1 / (12 * h), 1 / (12 * h)};
    const double at[] = {h, -h, 2 * h, -2 * h};
    for (size_t i = 0; i < 4; i++)
        gradients_at(p, at[i], p->ax[i], p->ay[i]);
    blv_vec_lincomb(p->ax[0], 4, coef, (const blv_vec *const *)p->ax);
    blv_vec_lincomb(p->ay[0], 4, coef, (const blv_vec *const *)p->ay);
    hv(p, NULL, p->v, p->ay[1]);
    jv(p, NULL, p->v, p->ax[1]);
    double size_y = 1.0 + blv_vec_norm(p->ay[1]), size_x = 1.0 + blv_vec_norm(p->ax[1]);
    double error_y = blv_vec_combine(p->ay[2], 1.0, p->ay[0], -1.0, p->ay[1]);
    double error_x = blv_vec_combine(p->ax[2], 1.0, p->ax[0], -1.0, p->ax[1]);
    return refute(why, "Hv against differences", error_y, 1e-7 * size_y) &&
           refute(why, "Jv against differences", error_x, 1e-7 * size_x);
}

static bool derivatives_are_right(const instance *of, finding *why) {
    instance exact = *of;
    exact.precision = BLV_F64;
    point p = open_point(&exact);
    fill_normal(&p.draws, p.ax[5], 1.0);
    if (of->family == CORESET) /* f is smoothed over a narrow range in x: along y alone */
        blv_vec_fill(p.ax[5], 0.0);
    blv_vec_scale(p.v, 1.0 / blv_vec_norm(p.v));
    blv_vec_scale(p.ax[5], of->family == CORESET ? 0.0 : 1.0 / blv_vec_norm(p.ax[5]));
    return close_point(&p, slope_is_right(&p, p.def->upper, "slope of f", why) &&
                               slope_is_right(&p, p.def->lower, "slope of g", why) &&
                               products_are_right(&p, why));
}

static void test_oracles_agree(void **state) {
    (void)state;
    try_families(hessian_is_symmetric, "symmetry of H", INSTANCES);
    try_families(products_are_linear, "linearity of Hv and Jv", INSTANCES);
    try_families(fused_equals_separate, "fused oracle", INSTANCES);
    try_families(batches_make_the_mean, "mean of batches", INSTANCES);
    try_families(derivatives_are_right, "derivatives", INSTANCES);
}

/* ---- Projections ---- */

typedef enum set_kind { NONNEGATIVE, BALL, BOX, SIMPLEX, SETS } set_kind;

typedef struct set {
    set_kind kind;
    size_t dim;
    double size;
    double *lo, *hi, *room;
} set;

static set draw_set_of(draws *d, set_kind kind, size_t dim) {
    set s = {.kind = kind, .dim = dim, .size = exp(draw_normal(d))};
    s.lo = malloc(3 * dim * sizeof *s.lo);
    assert_non_null(s.lo);
    s.hi = s.lo + dim;
    s.room = s.hi + dim;
    for (size_t i = 0; i < dim; i++) {
        s.lo[i] = draw_normal(d);
        s.hi[i] = s.lo[i] + fabs(draw_normal(d));
    }
    return s;
}

static void project_on(const set *s, blv_vec *v) {
    if (s->kind == NONNEGATIVE)
        blv_project_nonnegative(v);
    else if (s->kind == BALL)
        blv_project_ball(v, s->size);
    else if (s->kind == BOX)
        blv_project_box(v, s->lo, s->hi);
    else
        blv_project_simplex(v, s->size, s->room);
}

/* Idempotent, nonexpansive, and the angle at the nearest point is obtuse: (a - Pa)'(Pb - Pa) <= 0.
 */
static bool projects(const instance *of, finding *why) {
    draws d = draws_of(of, "set");
    set s = draw_set_of(&d, (set_kind)(of->seed % SETS), of->size[0]);
    blv_space *space;
    assert_int_equal(blv_space_create_host(&space, s.dim, of->precision, 1), BLV_OK);
    blv_vec *v[5];
    for (size_t i = 0; i < 5; i++)
        v[i] = vec_of(space);
    double eps = 64.0 * (of->precision == BLV_F32 ? (double)FLT_EPSILON : DBL_EPSILON);
    fill_normal(&d, v[0], 2.0);
    fill_normal(&d, v[1], 2.0);
    double before = blv_vec_combine(v[4], 1.0, v[0], -1.0, v[1]);
    double size = 1.0 + blv_vec_norm(v[0]) + blv_vec_norm(v[1]) + s.size;
    blv_vec_copy(v[2], v[0]);
    blv_vec_copy(v[3], v[1]);
    project_on(&s, v[2]);
    project_on(&s, v[3]);
    double after = blv_vec_combine(v[4], 1.0, v[2], -1.0, v[3]);
    bool ok = refute(why, "nonexpansive", after - before, eps * size);
    blv_vec_combine(v[0], 1.0, v[0], -1.0, v[2]);
    blv_vec_combine(v[4], 1.0, v[3], -1.0, v[2]);
    ok = ok && refute(why, "nearest point", blv_vec_dot(v[0], v[4]), eps * size * size);
    blv_vec_copy(v[4], v[2]);
    project_on(&s, v[4]);
    double moved = blv_vec_combine(v[4], 1.0, v[4], -1.0, v[2]);
    bool exact = s.kind == NONNEGATIVE || s.kind == BOX;
    ok = ok && refute(why, "idempotent", moved, exact ? 0.0 : eps * size);
    for (size_t i = 0; i < 5; i++)
        blv_vec_destroy(v[i]);
    blv_space_destroy(space);
    free(s.lo);
    return ok;
}

/* The same of a problem's own set X. */
static bool problem_projects(const instance *of, finding *why) {
    point p = open_point(of);
    if (!p.def->project_x)
        return close_point(&p, true);
    fill_normal(&p.draws, p.ax[0], 2.0);
    fill_normal(&p.draws, p.ax[1], 2.0);
    double before = blv_vec_combine(p.ax[4], 1.0, p.ax[0], -1.0, p.ax[1]);
    double size = 1.0 + blv_vec_norm(p.ax[0]) + blv_vec_norm(p.ax[1]);
    assert_int_equal(p.def->project_x(p.def->user, p.ax[0]), 0);
    assert_int_equal(p.def->project_x(p.def->user, p.ax[1]), 0);
    double after = blv_vec_combine(p.ax[4], 1.0, p.ax[0], -1.0, p.ax[1]);
    blv_vec_copy(p.ax[2], p.ax[0]);
    assert_int_equal(p.def->project_x(p.def->user, p.ax[2]), 0);
    double moved = blv_vec_combine(p.ax[4], 1.0, p.ax[2], -1.0, p.ax[0]);
    double eps = 0.01 * rounding(&p) * size;
    return close_point(&p, refute(why, "nonexpansive", after - before, eps) &&
                               refute(why, "idempotent", moved, eps));
}

static void test_projections(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        instance of = draw_instance(PL_SHIFT, seed);
        try_instance(&of, projects, "projection");
    }
    try_families(problem_projects, "projection onto X", INSTANCES);
}

/* ---- Solvers: the order of samples ---- */

enum { STEPS = 12 };

/* Solvers for which the whole sum is not the end of it: they take differences between batches of
 * sizes of their own, or visit samples one by one. */
static bool visits_samples(const char *solver) {
    static const char *const names[] = {"saba", "vrbo", "mrbo"};
    for (size_t i = 0; i < LENGTH(names); i++)
        if (strcmp(solver, names[i]) == 0)
            return true;
    return false;
}

static blv_run *steps_of(const blv_problem *problem, const blv_solver *solver) {
    blv_run *run = make_run(problem, solver->name, SETTINGS("batch", "full"));
    for (int i = 0; i < STEPS; i++)
        assert_int_equal(blv_run_step(run), BLV_OK);
    return run;
}

/* |a - b| / (1 + |b|) of a state vector; order: where the elements of a have gone, NULL: nowhere.
 */
static double distance(const blv_run *a, const blv_run *b, const char *name, const size_t *order) {
    size_t dim = blv_run_dim(a, name);
    double *u = malloc(2 * dim * sizeof *u), *v = u + dim, sum = 0.0, size = 0.0;
    assert_true(u && dim == blv_run_dim(b, name));
    assert_int_equal(blv_run_read(a, name, u), BLV_OK);
    assert_int_equal(blv_run_read(b, name, v), BLV_OK);
    for (size_t i = 0; i < dim; i++) {
        double difference = u[order ? order[i] : i] - v[i];
        sum += difference * difference;
        size += v[i] * v[i];
    }
    free(u);
    return sqrt(sum) / (1.0 + sqrt(size));
}

static const blv_solver *present_solver;

static bool order_does_not_matter(const instance *of, finding *why) {
    instance exact = *of;
    exact.precision = BLV_F64;
    blv_dataset *rows = training_rows(&exact), *mixed;
    size_t count = blv_dataset_view_of(rows)->rows;
    size_t *order = malloc(count * sizeof *order);
    assert_non_null(order);
    draws d = draws_of(of, "order");
    blv_random_permutation(&d.stream, 1, count, order);
    assert_int_equal(blv_dataset_select(rows, order, count, &mixed, NULL), BLV_OK);
    blv_problem *a = problem_on_rows(&exact, rows), *b = problem_on_rows(&exact, mixed);
    blv_run *first = steps_of(a, present_solver), *second = steps_of(b, present_solver);
    double allowed = 1e-8; /* rounding, grown over the steps */
    bool ok =
        refute(why, "x", distance(first, second, "x", of->family == HYPERCLEAN ? order : NULL),
               allowed) &&
        refute(why, "y", distance(first, second, "y", NULL), allowed);
    blv_run_destroy(first);
    blv_run_destroy(second);
    blv_problem_destroy(a);
    blv_problem_destroy(b);
    free(order);
    return ok;
}

static void test_order_of_samples(void **state) {
    (void)state;
    for (size_t i = 0; (present_solver = blv_solver_at(NULL, i)); i++)
        for (uint64_t seed = 1; seed <= RUNS && !visits_samples(present_solver->name); seed++)
            for (int family = L2REG; family <= HYPERCLEAN; family++) {
                instance of = draw_instance((family_kind)family, seed);
                char what[80];
                snprintf(what, sizeof what, "order of samples, %s,", present_solver->name);
                try_instance(&of, order_does_not_matter, what);
            }
}

/* ---- Solvers: units ---- */

/* The problem in other units: x' = s x, y' = s y, f' = s^2 f, g' = s^2 g, with s a power of two, so
 * that no oracle rounds anything anew. Gradients grow by s, Hessians stay. */
typedef struct units {
    blv_problem *base, *problem;
    const blv_problem_def *def;
    double s;
    blv_vec *x, *y, *v;
} units;

static void to_base(const units *u, const blv_vec *from, blv_vec *to) {
    size_t dim = blv_vec_dim(from);
    for (size_t i = 0; i < dim; i++)
        blv_vec_put(to, i, blv_vec_at(from, i) / u->s);
}

/* Outputs are of the new problem's spaces: their elements are written in place. */
static void from_base(const units *u, const blv_vec *base, blv_vec *out) {
    for (size_t i = 0; out && i < blv_vec_dim(out); i++)
        blv_vec_put(out, i, u->s * blv_vec_at(base, i));
}

static int in_units(const units *u, value_fn ask, const blv_batch *batch, const blv_vec *x,
                    const blv_vec *y, double *value, blv_vec *in_x, blv_vec *in_y) {
    blv_vec *bx = in_x ? vec_of(u->def->space_x) : NULL,
            *by = in_y ? vec_of(u->def->space_y) : NULL;
    to_base(u, x, u->x);
    to_base(u, y, u->y);
    int code = ask(u->def->user, batch, u->x, u->y, value, bx, by);
    if (value)
        *value *= u->s * u->s;
    from_base(u, bx, in_x);
    from_base(u, by, in_y);
    blv_vec_destroy(bx);
    blv_vec_destroy(by);
    return code;
}

static int units_upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                       double *f, blv_vec *fx, blv_vec *fy) {
    const units *u = user;
    return in_units(u, u->def->upper, batch, x, y, f, fx, fy);
}

static int units_lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                       double *g, blv_vec *gx, blv_vec *gy) {
    const units *u = user;
    return in_units(u, u->def->lower, batch, x, y, g, gx, gy);
}

static int units_all(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     const blv_vec *v, blv_vec *gy, blv_vec *hv_out, blv_vec *jv_out) {
    const units *u = user;
    blv_vec *const base[] = {vec_of(u->def->space_y), vec_of(u->def->space_y),
                             vec_of(u->def->space_x)};
    to_base(u, x, u->x);
    to_base(u, y, u->y);
    to_base(u, v, u->v);
    int code = u->def->lower_all(u->def->user, batch, u->x, u->y, u->v, gy ? base[0] : NULL,
                                 hv_out ? base[1] : NULL, jv_out ? base[2] : NULL);
    from_base(u, base[0], gy);
    from_base(u, base[1], hv_out);
    from_base(u, base[2], jv_out);
    for (size_t i = 0; i < LENGTH(base); i++)
        blv_vec_destroy(base[i]);
    return code;
}

static int units_hvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     const blv_vec *v, blv_vec *out) {
    return units_all(user, batch, x, y, v, NULL, out, NULL);
}

static int units_jvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     const blv_vec *v, blv_vec *out) {
    return units_all(user, batch, x, y, v, NULL, NULL, out);
}

static void open_units(units *u, const instance *of, double s) {
    *u = (units){.base = problem_of(of), .s = s};
    u->def = blv_problem_definition(u->base);
    u->x = vec_of(u->def->space_x);
    u->y = vec_of(u->def->space_y);
    u->v = vec_of(u->def->space_y);
    const blv_problem_def def = {.dim_x = u->def->dim_x,
                                 .dim_y = u->def->dim_y,
                                 .precision = u->def->precision,
                                 .threads = 1,
                                 .upper_samples = u->def->upper_samples,
                                 .lower_samples = u->def->lower_samples,
                                 .shuffled = u->def->shuffled,
                                 .user = u,
                                 .upper = units_upper,
                                 .lower = units_lower,
                                 .lower_hvp = units_hvp,
                                 .lower_jvp = units_jvp,
                                 .lower_all = units_all};
    assert_int_equal(blv_problem_create(&u->problem, &def, NULL), BLV_OK);
}

static void close_units(units *u) {
    blv_problem_destroy(u->problem);
    blv_vec_destroy(u->x);
    blv_vec_destroy(u->y);
    blv_vec_destroy(u->v);
    blv_problem_destroy(u->base);
}

/* Steps that are chosen automatically come from differences of a width that has a unit: so they are
 * given, together with the bounds of curvature L, Lg and mu, where a solver asks for those. */
static const char *given_value(const char *key) {
    return key[0] == 'L' ? "1024" : strcmp(key, "mu") == 0 ? "0.5" : "0.0000152587890625";
}

static void give_steps(blv_run *run) {
    for (const blv_param *p = present_solver->params; p && p->key; p++)
        if (p->type == BLV_REAL && p->words && strcmp(p->value, p->words) == 0 &&
            strcmp(p->key, "B") != 0) /* of rahgd: a length in x, which auto does without */
            assert_int_equal(blv_run_set(run, p->key, given_value(p->key)), BLV_OK);
}

static blv_run *steps_in(const units *u) {
    blv_run *run = make_run(u->problem, present_solver->name, NULL);
    give_steps(run);
    double start[DIM_MAX];
    for (size_t i = 0; i < DIM_MAX; i++)
        start[i] = u->s * ((double)(i % 7) - 3.0) / 8.0;
    assert_int_equal(blv_run_write(run, "x", start), BLV_OK);
    assert_int_equal(blv_run_write(run, "y", start), BLV_OK);
    for (int i = 0; i < STEPS; i++)
        assert_int_equal(blv_run_step(run), BLV_OK);
    return run;
}

static bool same_bits(const blv_run *plain, const blv_run *scaled, const char *name, double s,
                      finding *why) {
    double a[DIM_MAX], b[DIM_MAX];
    size_t dim = blv_run_dim(plain, name);
    assert_in_range(dim, 1, DIM_MAX);
    assert_int_equal(blv_run_read(plain, name, a), BLV_OK);
    assert_int_equal(blv_run_read(scaled, name, b), BLV_OK);
    for (size_t i = 0; i < dim; i++)
        if (a[i] * s != b[i]) {
            snprintf(why->text, sizeof why->text, "%s[%zu]: %a times %g is not %a", name, i, a[i],
                     s, b[i]);
            return false;
        }
    return true;
}

static bool units_do_not_matter(const instance *of, finding *why) {
    const double factors[] = {0x1p-10, 0x1p+7};
    units plain, scaled;
    bool ok = true;
    open_units(&plain, of, 1.0);
    blv_run *first = steps_in(&plain);
    for (size_t i = 0; i < LENGTH(factors) && ok; i++) {
        open_units(&scaled, of, factors[i]);
        blv_run *second = steps_in(&scaled);
        ok = blv_run_result(first)->iterations == blv_run_result(second)->iterations &&
             same_bits(first, second, "x", factors[i], why) &&
             same_bits(first, second, "y", factors[i], why);
        blv_run_destroy(second);
        close_units(&scaled);
    }
    blv_run_destroy(first);
    close_units(&plain);
    return ok;
}

/* The others agree to the bit. These have a unit by design: the tuning-free ones begin their sums
 * of squared gradients at a given number, and exact minimizes by a line search whose first step has
 * the length 1. */
static bool has_a_unit(const char *solver) {
    static const char *const names[] = {"s-tfbo", "d-tfbo", "exact"};
    for (size_t i = 0; i < LENGTH(names); i++)
        if (strcmp(solver, names[i]) == 0)
            return true;
    return false;
}

static void test_units(void **state) {
    (void)state;
    for (size_t i = 0; (present_solver = blv_solver_at(NULL, i)); i++)
        for (uint64_t seed = 1; seed <= RUNS && !has_a_unit(present_solver->name); seed++) {
            instance of = draw_instance(QUADRATIC, seed);
            char what[80];
            of.precision = BLV_F64;
            snprintf(what, sizeof what, "change of units, %s,", present_solver->name);
            try_instance(&of, units_do_not_matter, what);
        }
}

/* ---- Certificates ---- */

static const double *array_named(const blv_problem_def *def, const char *name, size_t *count) {
    const blv_named_array *a = def->arrays;
    while (a->name && strcmp(a->name, name) != 0)
        a++;
    assert_non_null(a->name);
    *count = 1;
    for (size_t d = 0; d < a->ndim; d++)
        *count *= a->shape[d];
    return a->data;
}

static double size_of_array(const blv_problem_def *def, const char *name) {
    size_t count;
    const double *data = array_named(def, name, &count);
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += data[i] * data[i];
    return sqrt(sum);
}

/* The quadratic's eigenvalues are at least 1, so |y - y*| <= |gy| and |v - v*| <= |r| + |y - y*|:
 * errors of Phi and its gradient follow from the residuals that the certificate states, besides
 * rounding. The estimate d(x, y, v) is computed here from its definition. */
static bool certificate_is_honest(const instance *of, finding *why) {
    point p = open_point(of);
    const blv_problem_def *d = p.def;
    blv_certificate c;
    double phi, eps = rounding(&p);
    assert_int_equal(blv_certify(p.problem, p.x, p.y, p.v, &c, NULL, NULL), BLV_OK);
    assert_int_equal(d->known_phi(d->user, p.x, &phi, p.ax[0]), 0);
    assert_int_equal(d->lower(d->user, NULL, p.x, p.y, NULL, NULL, p.ay[0]), 0);
    assert_int_equal(d->upper(d->user, NULL, p.x, p.y, NULL, p.ax[1], p.ay[1]), 0);
    jv(&p, NULL, p.v, p.ax[2]);
    blv_vec_combine(p.ax[1], 1.0, p.ax[1], -1.0, p.ax[2]);
    double truth = blv_vec_norm(p.ax[0]);
    double off = blv_vec_combine(p.ax[2], 1.0, p.ax[1], -1.0, p.ax[0]);
    double cross = size_of_array(d, "C"), slope = sqrt(2.0 * fabs(phi));
    double scale = 1.0 + fabs(phi) + truth + cross * (1.0 + slope);
    double in_y = c.solve_residual;
    double allowed_phi = slope * in_y + in_y * in_y + eps * scale;
    double allowed_grad = cross * (c.linear_residual + in_y) + 30.0 * eps * scale;
    double residual = blv_vec_norm(p.ay[0]);
    bool ok =
        refute(why, "Phi", fabs(c.phi - phi), allowed_phi) &&
        refute(why, "|grad Phi|", fabs(c.grad_norm - truth), allowed_grad) &&
        refute(why, "|gy|", fabs(c.inner_residual - residual), eps * (1.0 + residual)) &&
        refute(why, "error of d", fabs(c.estimate_error - off), allowed_grad + eps * (1.0 + off)) &&
        refute(why, "tight", c.tight ? 0.0 : 1.0, 0.0);
    return close_point(&p, ok);
}

/* What a run says of itself at the end is not better than the truth either: Phi of the closed form
 * at its x is that of the certificate, and never below the least Phi there is. */
static bool end_is_honest(const instance *of, finding *why) {
    instance exact = *of;
    exact.precision = BLV_F64;
    blv_problem *problem = problem_of(&exact);
    const blv_problem_def *d = blv_problem_definition(problem);
    blv_run *run = make_run(problem, "s-tfbo", SETTINGS("iters", "200", "batch", "full"));
    blv_certificate c;
    double phi, best;
    assert_int_equal(blv_run_solve(run), BLV_OK);
    assert_int_equal(blv_run_certify(run, &c), BLV_OK);
    blv_vec *x = vec_of(d->space_x), *gradient = vec_of(d->space_x);
    assert_int_equal(d->known_phi(d->user, blv_run_x(run), &phi, gradient), 0);
    assert_int_equal(d->known_solution(d->user, x, NULL), 0);
    assert_int_equal(d->known_phi(d->user, x, &best, NULL), 0);
    double eps = 1e-10 * (1.0 + fabs(phi));
    bool ok = refute(why, "Phi at the end", fabs(c.phi - phi), eps) &&
              refute(why, "Phi below the least", best - c.phi, eps) &&
              refute(why, "gradient at the end", fabs(c.grad_norm - blv_vec_norm(gradient)), eps);
    blv_vec_destroy(x);
    blv_vec_destroy(gradient);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
    return ok;
}

static void test_certificates(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        instance of = draw_instance(QUADRATIC, seed);
        try_instance(&of, certificate_is_honest, "certificate");
        try_instance(&of, end_is_honest, "certificate of a run");
    }
}

/* ---- The search itself ---- */

static bool no_more_than_five(const instance *of, finding *why) {
    return refute(why, "size", (double)of->size[0], 5.0);
}

/* From any start the smallest failing instance is what halving leads to. */
static void test_shrinking(void **state) {
    (void)state;
    finding why;
    instance of = {.family = QUADRATIC, .size = {24, 24, 9, 1}};
    instance s = shrink(of, no_more_than_five, &why);
    assert_int_equal(s.size[0], 6);
    assert_int_equal(s.size[1], 1);
    assert_int_equal(s.size[2], 1);
    expect_text(why.text, "size: off by 6, allowed 5");
    assert_false(refute(&why, "not a number", NAN, 1.0));
}

static void test_count(void **state) {
    (void)state;
    print_message("%ld instances tried\n", tried);
    assert_true(tried > 500);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shrinking),   cmocka_unit_test(test_oracles_agree),
        cmocka_unit_test(test_projections), cmocka_unit_test(test_order_of_samples),
        cmocka_unit_test(test_units),       cmocka_unit_test(test_certificates),
        cmocka_unit_test(test_count),
    };
    atexit(remove_files);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
