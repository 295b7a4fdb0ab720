/* Instances of problems for the tests of properties: a seed and four sizes each. When a property
 * fails, the sizes are halved as long as it still does, and the smallest failing instance is
 * printed with its seed. */
#ifndef PROPERTIES_TESTING_H
#define PROPERTIES_TESTING_H

#include "run_testing.h"

#include "base/random.h"

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

static inline bool refute(finding *why, const char *what, double error, double allowed) {
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

static inline draws draws_of(const instance *of, const char *purpose) {
    return (draws){.stream = blv_stream_make(of->seed, purpose)};
}

static inline double draw_normal(draws *d) {
    return blv_random_normal(&d->stream, d->used++);
}

static inline size_t draw_below(draws *d, size_t bound) {
    return (size_t)blv_random_below(&d->stream, d->used++, bound);
}

static inline void fill_normal(draws *d, blv_vec *v, double scale) {
    double *host = malloc(blv_vec_dim(v) * sizeof *host);
    assert_non_null(host);
    for (size_t i = 0; i < blv_vec_dim(v); i++)
        host[i] = scale * draw_normal(d);
    blv_vec_write(v, host);
    free(host);
}

static inline instance draw_instance(family_kind family, uint64_t seed) {
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

static inline void remove_files(void) {
    remove(train_path);
    remove(val_path);
}

static inline blv_dataset *draw_set(const instance *of, const char *purpose, size_t rows) {
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
    const blv_dataset_view view = {.size = sizeof(blv_dataset_view),
                                   .rows = rows,
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

static inline void write_set(blv_dataset *set, char path[64], const char *name) {
    snprintf(path, 64, "properties_%ld_%s.npz", (long)getpid(), name);
    assert_int_equal(blv_dataset_write(set, path, "npz", NULL), BLV_OK);
    blv_dataset_release(set);
}

static inline blv_dataset *training_rows(const instance *of) {
    size_t rows = of->size[0] > of->size[2] ? of->size[0] : of->size[2];
    return draw_set(of, "train", rows);
}

static inline blv_problem *problem_on_rows(const instance *of, blv_dataset *train) {
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

static inline blv_problem *problem_of(const instance *of) {
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

static inline instance shrink(instance of, property holds, finding *why) {
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

static inline void try_instance(const instance *of, property holds, const char *what) {
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

static inline void try_families(property holds, const char *what, uint64_t count) {
    for (int family = 0; family < FAMILIES; family++)
        for (uint64_t seed = 1; seed <= count; seed++) {
            instance of = draw_instance((family_kind)family, seed);
            try_instance(&of, holds, what);
        }
}

/* f or g, and their gradients where asked for. */
typedef int (*value_fn)(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                        double *value, blv_vec *in_x, blv_vec *in_y);

/* ---- A point with room for what oracles say ---- */

enum { IN_X = 6, IN_Y = 8 };

typedef struct point {
    blv_problem *problem;
    const blv_problem_def *def;
    blv_vec *x, *y, *u, *v;
    blv_vec *ax[IN_X], *ay[IN_Y];
    draws draws;
} point;

static inline blv_vec *vec_of(const blv_space *space) {
    blv_vec *v;
    assert_int_equal(blv_vec_create(&v, space), BLV_OK);
    return v;
}

static inline point open_point(const instance *of) {
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

static inline bool close_point(point *p, bool result) {
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
static inline double rounding(const point *p) {
    return p->def->precision == BLV_F32 ? 1e-4 : 1e-11;
}

static inline void hv(const point *p, const blv_batch *batch, const blv_vec *v, blv_vec *out) {
    assert_int_equal(p->def->lower_hvp(p->def->user, batch, p->x, p->y, v, out), 0);
}

static inline void jv(const point *p, const blv_batch *batch, const blv_vec *v, blv_vec *out) {
    assert_int_equal(p->def->lower_cross(p->def->user, batch, p->x, p->y, v, out), 0);
}

/* |a - b| relative to the larger of them; work is written over. */
static inline double apart(const blv_vec *a, const blv_vec *b, blv_vec *work) {
    double size = fmax(blv_vec_norm(a), blv_vec_norm(b));
    blv_vec_combine(work, 1.0, a, -1.0, b);
    double distance = blv_vec_norm(work);
    return distance == 0.0 ? 0.0 : distance / size;
}

#endif
