/* The problems with a network: every oracle by blv_problem_check and against sums over single rows
 * that the engine gives, on batches and in both precisions; starts, sets, measures; that they
 * train.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "alloc_testing.h"
#include "base/random.h"
#include "bilevel/certificate.h"
#include "bilevel/registry.h"
#include "blv_testing.h"
#include "nn/nn.h"
#include "problems/top_sum.h"

#include <stdio.h>
#include <unistd.h>

enum { ROWS = 60, COLUMNS = 12, CLASSES = 3 };

static char train_path[64], val_path[64], test_path[64];

/* Three clouds of points in 12 dimensions (images of 3 x 2 x 2), a little apart. */
static void write_rows(char *path, size_t size, const char *name, size_t rows, uint64_t seed) {
    blv_stream stream = blv_stream_make(seed, "rows");
    snprintf(path, size, "nn_problems_%ld_%s.csv", (long)getpid(), name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < COLUMNS; j++)
            fprintf(file, "%.9g,",
                    0.7 * blv_random_normal(&stream, i * COLUMNS + j) +
                        (j % CLASSES == i % CLASSES ? 1.6 : 0.0));
        fprintf(file, "c%zu\n", i % CLASSES);
    }
    assert_int_equal(fclose(file), 0);
}

static int make_files(void **state) {
    (void)state;
    write_rows(train_path, sizeof train_path, "train", ROWS, 1);
    write_rows(val_path, sizeof val_path, "val", 45, 2);
    write_rows(test_path, sizeof test_path, "test", 90, 3);
    return 0;
}

static int remove_files(void **state) {
    (void)state;
    remove(train_path);
    remove(val_path);
    remove(test_path);
    return 0;
}

/* Settings that all have in common, then more. */
#define WITH(...)                                                                                  \
    SETTINGS("train", train_path, "val", val_path, "test", test_path, "order", "file", "header",   \
             "no", __VA_ARGS__)

static void assert_checked(const blv_problem *problem, double scale, const char *what) {
    blv_check_report report;
    blv_message why = {0};
    if (blv_problem_check(problem, 3, scale, &report, &why) != BLV_OK)
        fail_msg("%s: %s", what, why.text);
    for (size_t i = 0; i < report.count; i++)
        if (!report.item[i].ok)
            fail_msg("%s: %s: off by %.3g, allowed %.3g", what, report.item[i].what,
                     report.item[i].error, report.item[i].allowed);
}

/* Smooth activations: differences across a kink say nothing. The number of threads does not show in
 * the bits (test_threads), so each precision has one. */
static void check_family(const char *name, const char *const *settings) {
    char what[300];
    for (blv_precision precision = BLV_F64; precision <= BLV_F32; precision++) {
        blv_problem *p = make_problem_as(name, settings, precision, precision == BLV_F64 ? 1 : 2);
        snprintf(what, sizeof what, "%s, %s, %s", name, settings[11],
                 precision == BLV_F64 ? "f64" : "f32");
        assert_checked(p, 0.3, what);
        blv_problem_destroy(p);
    }
}

static void test_hyperclean_nn(void **state) {
    (void)state;
    check_family("hyperclean-nn", WITH("net", "mlp:in-9-out,act=softplus", "C", "0.01"));
    check_family("hyperclean-nn", WITH("net", "mlp:12-20-8-3,act=gelu,dropout=0.3"));
    check_family("hyperclean-nn", WITH("net", "resnet18:2,act=softplus", "slice", "7"));
    check_family("hyperclean-nn", WITH("net", "mlp:in-out"));
}

static void test_decay_nn(void **state) {
    (void)state;
    check_family("decay-nn", WITH("net", "mlp:in-9-out,act=softplus"));
    check_family("decay-nn", WITH("net", "mlp:in-9-out,act=gelu,dropout=0.2", "per", "parameter"));
    check_family("decay-nn", WITH("net", "resnet18:2,act=gelu", "lo", "-20", "hi", "1"));
}

static void test_coreset(void **state) {
    (void)state;
    check_family("coreset", WITH("net", "mlp:in-out", "K", "7", "delta", "0.01"));
    check_family("coreset", WITH("net", "mlp:in-out", "over", "val"));
    check_family("coreset", WITH("net", "mlp:in-9-out,act=softplus", "C", "2", "draws", "30"));
}

/* ---- Against the engine, row by row ---- */

typedef struct point {
    const blv_problem_def *def;
    blv_vec *x, *y, *v, *gx, *gy, *hv, *jv;
    double *hx, *hy, *hv_in, *rx, *ry, *rh; /* host copies, and room for what is read */
} point;

static blv_vec *vector_in(const blv_space *space) {
    blv_vec *v;
    assert_int_equal(blv_vec_create(&v, space), BLV_OK);
    return v;
}

static point open_point(const blv_problem *problem, double scale_x) {
    const blv_problem_def *def = blv_problem_definition(problem);
    point p = {.def = def};
    blv_vec **of_x[] = {&p.x, &p.gx, &p.jv}, **of_y[] = {&p.y, &p.v, &p.gy, &p.hv};
    for (size_t i = 0; i < 3; i++)
        *of_x[i] = vector_in(def->space_x);
    for (size_t i = 0; i < 4; i++)
        *of_y[i] = vector_in(def->space_y);
    p.hx = make_numbers(def->dim_x);
    p.rx = make_numbers(def->dim_x);
    double **numbers[] = {&p.hy, &p.hv_in, &p.ry, &p.rh};
    for (size_t i = 0; i < 4; i++)
        *numbers[i] = make_numbers(def->dim_y);
    blv_stream stream = blv_stream_make(8, "point");
    assert_int_equal(def->start(def->user, p.x, p.y), 0);
    blv_vec_read(p.x, p.hx);
    blv_vec_read(p.y, p.hy);
    for (size_t i = 0; i < def->dim_x; i++)
        p.hx[i] += scale_x * blv_random_normal(&stream, i);
    for (size_t i = 0; i < def->dim_y; i++)
        p.hv_in[i] = blv_random_normal(&stream, 10000 + i);
    blv_vec_write(p.x, p.hx);
    if (def->project_x)
        assert_int_equal(def->project_x(def->user, p.x), 0);
    blv_vec_read(p.x, p.hx);
    blv_vec_write(p.v, p.hv_in);
    return p;
}

static void close_point(point *p) {
    blv_vec *vectors[] = {p->x, p->y, p->v, p->gx, p->gy, p->hv, p->jv};
    double *numbers[] = {p->hx, p->hy, p->hv_in, p->rx, p->ry, p->rh};
    for (size_t i = 0; i < 7; i++)
        blv_vec_destroy(vectors[i]);
    for (size_t i = 0; i < 6; i++)
        free(numbers[i]);
}

/* Loss, gradient and Hv of one row of the training file, through the engine. */
typedef struct rows_of_file {
    blv_dataset *set;
    blv_nn *net;
    blv_nn_work *work;
} rows_of_file;

static rows_of_file open_rows(const char *text) {
    rows_of_file r;
    blv_message why = {0};
    if (blv_dataset_read(&r.set, train_path,
                         &(blv_read_options){.size = sizeof(blv_read_options), .header = "no"},
                         &why) != BLV_OK ||
        blv_nn_from_text(&r.net, text, COLUMNS, CLASSES, &why) != BLV_OK)
        fail_msg("%s", why.text);
    r.work = blv_nn_work_create(r.net, BLV_F64, ROWS, 0, 1);
    assert_non_null(r.work);
    return r;
}

static void close_rows(rows_of_file *r) {
    blv_nn_work_destroy(r->work);
    blv_nn_destroy(r->net);
    blv_dataset_release(r->set);
}

static double one_row(const rows_of_file *r, size_t row, const double *y, const double *v,
                      double weight, bool drop, double *gradient, double *hessian, double *cross) {
    const blv_dataset_view *view = blv_dataset_view_of(r->set);
    blv_rows rows = {.rows = ROWS,
                     .columns = COLUMNS,
                     .dense = view->dense,
                     .stride = view->stride,
                     .label = view->label,
                     .first = row,
                     .count = 1};
    double loss, crosses[ROWS];
    blv_nn_pass pass = {.params = y,
                        .v = v,
                        .scale = weight,
                        .drop = drop,
                        .drop_seed = 4,
                        .loss = &loss,
                        .gradient = gradient,
                        .hessian = hessian,
                        .row_cross = crosses};
    blv_nn_run(r->work, &rows, &pass);
    *cross = crosses[row];
    return loss / weight;
}

static void assert_read(blv_vec *v, const double *expected, double *room, const char *what) {
    size_t n = blv_vec_dim(v);
    blv_vec_read(v, room);
    if (!(dense_gap(n, room, expected) <= 1e-11 * (1.0 + dense_size(n, expected))))
        fail_msg("%s: off by %.3g of %.3g", what, dense_gap(n, room, expected),
                 dense_size(n, expected));
}

typedef enum { CLEAN, DECAY, CORESET } family_kind;

static const char *const family_names[] = {"hyperclean-nn", "decay-nn", "coreset"};

/* What g, gx, gy, Hv and Jv are on these rows, written out. */
static double written_out(family_kind what, const rows_of_file *r, const point *p,
                          const size_t *list, size_t count, double *gx, double *gy, double *hv,
                          double *jv) {
    size_t dx = p->def->dim_x, dy = p->def->dim_y;
    double g = 0.0, norm2 = dense_inner(dy, p->hy, p->hy);
    for (size_t i = 0; i < dx; i++)
        gx[i] = jv[i] = 0.0;
    for (size_t j = 0; j < dy; j++) {
        size_t layer = 0;
        for (size_t k = 0; k < blv_nn_parts(r->net); k++) {
            const blv_nn_part *part = blv_nn_part_at(r->net, k);
            if (j >= part->offset && j < part->offset + part->count)
                layer = part->layer;
        }
        double ridge = what == CLEAN     ? 2.0 * 0.01
                       : what == CORESET ? 2.0 * 0.02
                                         : exp(p->hx[layer]);
        gy[j] = ridge * p->hy[j];
        hv[j] = ridge * p->hv_in[j];
        if (what == DECAY) {
            g += 0.5 * ridge * p->hy[j] * p->hy[j];
            gx[layer] += 0.5 * ridge * p->hy[j] * p->hy[j];
            jv[layer] += ridge * p->hy[j] * p->hv_in[j];
        }
    }
    g += what == CLEAN ? 0.01 * norm2 : what == CORESET ? 0.02 * norm2 : 0.0;
    for (size_t q = 0; q < count; q++) {
        size_t i = list[q];
        double w = what == CLEAN ? 1.0 / (1.0 + exp(-p->hx[i])) : what == CORESET ? p->hx[i] : 1.0;
        double share = (what == CORESET ? (double)ROWS : 1.0) / (double)count, cross;
        double scale = w * share > 0.0 ? w * share : 1e-300;
        double loss = one_row(r, i, p->hy, p->hv_in, scale, true, gy, hv, &cross);
        double slope = what == CLEAN ? w * (1.0 - w) : what == CORESET ? 1.0 : 0.0;
        g += w * share * loss;
        if (what != DECAY) {
            gx[i] += share * slope * loss;
            jv[i] += share * slope * cross;
        }
    }
    return g;
}

static void compare(family_kind what, const blv_problem *problem, const rows_of_file *r,
                    const blv_batch *batch) {
    point p = open_point(problem, what == CORESET ? 0.02 : 0.7);
    size_t list[ROWS], count = batch ? batch->count : ROWS, dx = p.def->dim_x, dy = p.def->dim_y;
    for (size_t q = 0; q < count; q++)
        list[q] = !batch ? q : batch->index ? batch->index[q] : batch->first + q;
    double *gx = make_numbers(dx), *jv = make_numbers(dx), *gy = make_numbers(dy), g;
    double *hv = make_numbers(dy);
    double expected = written_out(what, r, &p, list, count, gx, gy, hv, jv);
    const blv_problem_def *def = p.def;
    assert_int_equal(def->lower(def->user, batch, p.x, p.y, &g, p.gx, p.gy), 0);
    assert_near(g, expected, 1e-12 * (1.0 + fabs(expected)));
    assert_read(p.gx, gx, p.rx, "gx");
    assert_read(p.gy, gy, p.ry, "gy");
    assert_int_equal(def->lower_all(def->user, batch, p.x, p.y, p.v, p.gy, p.hv, p.jv), 0);
    assert_read(p.gy, gy, p.ry, "gy of all");
    assert_read(p.hv, hv, p.rh, "Hv of all");
    assert_read(p.jv, jv, p.rx, "Jv of all");
    assert_int_equal(def->lower_hvp(def->user, batch, p.x, p.y, p.v, p.hv), 0);
    assert_read(p.hv, hv, p.rh, "Hv");
    assert_int_equal(def->lower_cross(def->user, batch, p.x, p.y, p.v, p.jv), 0);
    assert_read(p.jv, jv, p.rx, "Jv");
    free(gx);
    free(jv);
    free(gy);
    free(hv);
    close_point(&p);
}

static void test_against_single_rows(void **state) {
    (void)state;
    const char *text = "mlp:in-10-out,dropout=0.2";
    rows_of_file r = open_rows(text);
    for (family_kind what = CLEAN; what <= CORESET; what++) {
        const char *const *settings =
            what == CLEAN     ? WITH("net", text, "net_seed", "4", "C", "0.01")
            : what == CORESET ? WITH("net", text, "net_seed", "4", "ridge", "0.02", "K", "5")
                              : WITH("net", text, "net_seed", "4", "first", "0.05");
        blv_problem *p = make_problem_as(family_names[what], settings, BLV_F64, 2);
        static const size_t some[] = {59, 4, 4, 31};
        compare(what, p, &r, NULL);
        compare(what, p, &r, &(blv_batch){.first = 13, .count = 29});
        compare(what, p, &r, &(blv_batch){.count = 4, .index = some});
        blv_problem_destroy(p);
    }
    close_rows(&r);
}

/* ---- The smoothed sum of the largest ---- */

static int descending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static void test_top_sum(void **state) {
    (void)state;
    static const size_t counts[] = {1, 2, 9, 200}, draws[] = {1, 5};
    for (size_t c = 0; c < 4; c++)
        for (size_t top = 1; top <= counts[c]; top = 2 * top + 1)
            for (size_t d = 0; d < 2; d++) {
                size_t n = counts[c];
                top_sum t;
                assert_true(top_sum_open(&t, n, top, draws[d], 0.3, 7));
                blv_stream stream = blv_stream_make(top, "numbers");
                double *x = make_numbers(n), *room = make_numbers(2 * n), *share = make_numbers(n);
                double expected = 0.0, total = 0.0, *sorted = make_numbers(n);
                for (size_t i = 0; i < n; i++) /* rounded, so that some are alike */
                    x[i] = floor(4.0 * blv_random_normal(&stream, i)) / 4.0;
                for (size_t k = 0; k < draws[d]; k++) {
                    for (size_t i = 0; i < n; i++)
                        sorted[i] = x[i] + 0.3 * t.noise[k * n + i];
                    qsort(sorted, n, sizeof *sorted, descending);
                    for (size_t i = 0; i < top; i++)
                        expected += sorted[i] / (double)draws[d];
                }
                assert_near(top_sum_of(&t, x, room, share), expected, 1e-12 * (double)n);
                assert_true(top_sum_of(&t, x, room, NULL) == top_sum_of(&t, x, room, share));
                for (size_t i = 0; i < n; i++) {
                    total += share[i];
                    assert_true(share[i] >= 0.0 && share[i] <= 1.0 + 1e-12);
                }
                assert_near(total, (double)top, 1e-9);
                for (size_t i = 0; i < n; i++)
                    sorted[i] = x[i] + 1e-9 * blv_random_normal(&stream, 1000 + i);
                double moved = top_sum_of(&t, sorted, room, NULL);
                for (size_t i = 0; i < n; i++)
                    moved -= share[i] * (sorted[i] - x[i]);
                assert_near(moved, expected, 1e-12 * (double)n);
                t.delta = 0.0; /* ties: still exactly `top` entries */
                top_sum_of(&t, x, room, share);
                total = 0.0;
                for (size_t i = 0; i < n; i++)
                    total += share[i];
                assert_near(total, (double)top, 1e-9);
                free(x);
                free(room);
                free(share);
                free(sorted);
                top_sum_close(&t);
            }
}

/* ---- Starts, measures, training ---- */

static void test_starts(void **state) {
    (void)state;
    for (family_kind what = CLEAN; what <= CORESET; what++) {
        const char *const *settings = WITH("net", "mlp:in-10-out", "net_seed", "6");
        blv_problem *p = make_problem(family_names[what], settings);
        size_t dx = blv_problem_definition(p)->dim_x, dy = blv_problem_definition(p)->dim_y;
        double *x = make_numbers(dx), *y = make_numbers(dy), *expected = make_numbers(dy);
        rows_of_file r = open_rows("mlp:in-10-out");
        blv_nn_start(r.net, BLV_F64, 6, expected);
        blv_run *run = make_run(p, "s-tfbo", NULL);
        read_state(run, "x", x);
        read_state(run, "y", y);
        assert_memory_equal(y, expected, dy * sizeof *y);
        for (size_t i = 0; i < dx; i++)
            assert_near(x[i],
                        what == CLEAN     ? 0.0
                        : what == CORESET ? 1.0 / ROWS
                                          : log(1e-4),
                        1e-15);
        memset(y, 0, dy * sizeof *y); /* what is written before the first step counts */
        write_state(run, "y", y);
        assert_int_equal(blv_run_open(run), BLV_OK);
        read_state(run, "y", expected);
        assert_memory_equal(y, expected, dy * sizeof *y);
        blv_run_destroy(run);
        close_rows(&r);
        free(x);
        free(y);
        free(expected);
        blv_problem_destroy(p);
    }
}

static double measure_named(const blv_problem *problem, blv_run *run, const char *name) {
    const blv_problem_def *def = blv_problem_definition(problem);
    double values[BLV_MEASURES_MAX];
    assert_int_equal(def->measure(def->user, blv_run_x(run), blv_run_y(run), values), 0);
    for (size_t i = 0; def->measures[i]; i++)
        if (strcmp(def->measures[i], name) == 0)
            return values[i];
    fail_msg("no measure %s", name);
    return NAN;
}

/* A solver without anything to set gets somewhere on each, with dropout, norms and batches. */
static void test_training(void **state) {
    (void)state;
    static const struct {
        family_kind family;
        const char *net, *norm, *iters;
        double shrinks, right; /* the validation loss to this share, and the test accuracy */
    } cases[] = {{CLEAN, "mlp:in-20-out,dropout=0.2", "frozen", "600", 0.5, 0.6},
                 {DECAY, "mlp:in-20-out,act=gelu", "frozen", "600", 0.5, 0.8},
                 {DECAY, "resnet18:4", "batch", "200", 0.7, 0.5},
                 {DECAY, "resnet18:4", "frozen", "200", 0.7, 0.5},
                 {CORESET, "mlp:in-out", "frozen", "600", 0.5, 0.8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        blv_problem *p =
            cases[i].family == CLEAN
                ? make_problem_as("hyperclean-nn", WITH("net", cases[i].net, "corrupt", "0.3"),
                                  BLV_F32, 2)
                : make_problem_as(family_names[cases[i].family],
                                  WITH("net", cases[i].net, "norm", cases[i].norm), BLV_F32, 2);
        blv_run *run = make_run(p, "s-tfbo", SETTINGS("iters", cases[i].iters, "batch", "20"));
        double before = measure_named(p, run, "val_loss");
        solve_run(run);
        double after = measure_named(p, run, "val_loss");
        double right = measure_named(p, run, "test_accuracy");
        if (!(after < cases[i].shrinks * before) || !(right > cases[i].right))
            fail_msg("%s, %s, %s: val_loss from %.3g to %.3g, test_accuracy %.3g",
                     family_names[cases[i].family], cases[i].net, cases[i].norm, before, after,
                     right);
        if (cases[i].family == CLEAN)
            assert_true(measure_named(p, run, "auroc_weight") > 0.8);
        if (cases[i].family == CORESET)
            assert_true(measure_named(p, run, "top_weight") > 0.1);
        blv_run_destroy(run);
        blv_problem_destroy(p);
    }
}

/* trained_on = val is the problem whose file of training rows is that of the validation rows. */
static void test_trained_on(void **state) {
    (void)state;
    double x[2][45], y[2][12 * 9 + 9 + 9 * 3 + 3];
    for (int twice = 0; twice < 2; twice++) {
        blv_problem *p = make_problem_as("hyperclean-nn",
                                         SETTINGS("train", twice ? val_path : train_path, "val",
                                                  val_path, "test", test_path, "order", "file",
                                                  "header", "no", "net", "mlp:in-9-out,dropout=0.2",
                                                  "trained_on", twice ? "train" : "val"),
                                         BLV_F64, 1);
        blv_run *run = make_run(p, "s-tfbo", SETTINGS("iters", "20", "batch", "7"));
        solve_run(run);
        assert_int_equal(blv_problem_definition(p)->dim_x, 45);
        assert_int_equal(blv_run_read(run, "x", x[twice]), BLV_OK);
        assert_int_equal(blv_run_read(run, "y", y[twice]), BLV_OK);
        blv_run_destroy(run);
        blv_problem_destroy(p);
    }
    assert_memory_equal(x[0], x[1], sizeof x[0]);
    assert_memory_equal(y[0], y[1], sizeof y[0]);
}

/* Steps on batches and on all rows take no memory. */
static void test_no_allocation(void **state) {
    (void)state;
    for (family_kind what = CLEAN; what <= CORESET; what++)
        for (int all = 0; all < 2; all++) {
            const char *const *settings =
                what == DECAY ? WITH("net", "resnet18:2", "norm", all ? "batch" : "frozen")
                              : WITH("net", "mlp:in-20-7-out,dropout=0.1");
            blv_problem *p = make_problem_as(family_names[what], settings, BLV_F32, 2);
            blv_run *run =
                make_run(p, "s-tfbo", SETTINGS("iters", "20", "batch", all ? "full" : "7"));
            assert_int_equal(blv_run_open(run), BLV_OK);
            long before = memory_calls;
            assert_int_equal(blv_run_step(run), BLV_OK);
            assert_int_equal(blv_run_solve(run), BLV_OK);
            assert_int_equal(memory_calls - before, 0);
            blv_run_destroy(run);
            blv_problem_destroy(p);
        }
}

/* Same seed, other number of threads: same bits after many steps. */
static void test_threads(void **state) {
    (void)state;
    double *first = NULL;
    for (int threads = 1; threads <= 3; threads++) {
        blv_problem *p = make_problem_as(
            "hyperclean-nn", WITH("net", "mlp:in-300-out,dropout=0.2", "corrupt", "0.3"), BLV_F32,
            threads);
        size_t dy = blv_problem_definition(p)->dim_y;
        double *y = make_numbers(dy);
        blv_run *run = make_run(p, "s-tfbo", SETTINGS("iters", "20"));
        solve_run(run);
        read_state(run, "y", y);
        if (first)
            assert_memory_equal(y, first, dy * sizeof *y);
        blv_run_destroy(run);
        blv_problem_destroy(p);
        if (first)
            free(y);
        else
            first = y;
    }
    free(first);
}

static void refuse(const char *name, const char *const *settings, const char *says) {
    blv_message why = {0};
    blv_problem *problem = NULL;
    const blv_problem_family *family = blv_family_find(NULL, name, &why);
    assert_non_null(family);
    assert_int_not_equal(blv_problem_from_family(family, settings, NULL, &problem, &why), BLV_OK);
    assert_null(problem);
    if (!strstr(why.text, says))
        fail_msg("'%s' should have said '%s'", why.text, says);
}

static void test_refused(void **state) {
    (void)state;
    refuse("hyperclean-nn", WITH("net", "mlp:in-9x-out"),
           "problem hyperclean-nn: network 'mlp:in-9x-out': at character 9:");
    refuse("decay-nn", WITH("net", "mlp:11-9-3"), "11 inputs, but a row of the data has 12");
    refuse("decay-nn", WITH("lo", "2", "hi", "1"), "lo is above hi");
    refuse("coreset", WITH("K", "61"), "K is above the number of training rows");
    refuse("coreset", WITH("layout", "sparse"), "a network needs dense rows");
}

/* A network has no certificate; one layer, which is convex, has. */
static void test_certificates(void **state) {
    (void)state;
    for (int layers = 1; layers <= 2; layers++) {
        blv_problem *p = make_problem(
            "hyperclean-nn", WITH("net", layers == 1 ? "mlp:in-out" : "mlp:in-5-out", "C", "0.1"));
        blv_run *run = make_run(p, "s-tfbo", SETTINGS("iters", "3"));
        blv_certificate certificate;
        solve_run(run);
        blv_error error = blv_run_certify(run, &certificate);
        assert_int_equal(error, layers == 1 ? BLV_OK : BLV_E_UNSUPPORTED);
        if (layers == 1)
            assert_true(certificate.tight);
        else
            assert_non_null(strstr(blv_run_message(run), "many minimizers"));
        blv_run_destroy(run);
        blv_problem_destroy(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hyperclean_nn), cmocka_unit_test(test_decay_nn),
        cmocka_unit_test(test_coreset),       cmocka_unit_test(test_against_single_rows),
        cmocka_unit_test(test_top_sum),       cmocka_unit_test(test_starts),
        cmocka_unit_test(test_training),      cmocka_unit_test(test_threads),
        cmocka_unit_test(test_trained_on),    cmocka_unit_test(test_no_allocation),
        cmocka_unit_test(test_refused),       cmocka_unit_test(test_certificates),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
