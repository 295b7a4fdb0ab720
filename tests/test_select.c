/* Ways of choosing rows against their definitions on small data: herding and matching pursuit
 * against plain recomputations, k-means where the clusters are known, greedy choice against
 * differences of Phi, the capped simplex by its conditions; then all methods by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "bilevel/certificate.h"
#include "bilevel/registry.h"
#include "bilevel/select.h"
#include "blv_testing.h"
#include "learn/choose.h"
#include "learn/weighted_retraining.h"

static void expect_different(const size_t *index, size_t size, size_t count) {
    for (size_t k = 0; k < size; k++) {
        assert_true(index[k] < count);
        for (size_t j = 0; j < k; j++)
            assert_true(index[j] != index[k]);
    }
}

static float *random_floats(size_t count, uint64_t seed) {
    blv_stream stream = blv_stream_make(seed, "points");
    float *numbers = malloc(count * sizeof *numbers);
    assert_non_null(numbers);
    for (size_t i = 0; i < count; i++)
        numbers[i] = (float)blv_random_normal(&stream, i);
    return numbers;
}

/* ---- Uniform ---- */

static void test_uniform(void **state) {
    (void)state;
    enum { COUNT = 12, SIZE = 5, RUNS = 6000 };
    size_t index[SIZE], often[COUNT] = {0};
    for (uint64_t seed = 0; seed < RUNS; seed++) {
        assert_true(blv_choose_uniform(COUNT, SIZE, seed, index));
        expect_different(index, SIZE, COUNT);
        for (size_t k = 0; k < SIZE; k++)
            often[index[k]]++;
    }
    const double share = (double)SIZE / COUNT, mean = RUNS * share;
    for (size_t i = 0; i < COUNT; i++)
        assert_near((double)often[i], mean, 5.0 * sqrt(mean * (1.0 - share)));
}

/* ---- Points as outer products, and herding ---- */

enum { POINTS = 40, LEFT = 3, RIGHT = 5, DIM = LEFT * RIGHT, SIZE = 9 };

typedef struct sample {
    float *left, *right;
    double p[POINTS][DIM], target[DIM];
    blv_points points;
} sample;

static sample make_points(bool outer, uint64_t seed) {
    sample s = {.left = random_floats(POINTS * LEFT, seed),
                .right = random_floats(POINTS * DIM, seed + 1)};
    s.points = outer ? (blv_points){POINTS, LEFT, RIGHT, s.left, s.right, 2}
                     : (blv_points){POINTS, 1, DIM, NULL, s.right, 2};
    for (size_t i = 0; i < POINTS; i++)
        for (size_t j = 0; j < DIM; j++) {
            s.p[i][j] = outer ? (double)s.left[i * LEFT + j / RIGHT] *
                                    (double)s.right[i * RIGHT + j % RIGHT]
                              : (double)s.right[i * DIM + j];
            s.target[j] += s.p[i][j] / POINTS;
        }
    return s;
}

static void free_points(sample *s) {
    free(s->left);
    free(s->right);
}

/* |target - mean of the chosen| */
static double gap_of(const sample *s, const size_t *index, size_t size) {
    double square = 0.0;
    for (size_t j = 0; j < DIM; j++) {
        double mean = 0.0;
        for (size_t k = 0; k < size; k++)
            mean += s->p[index[k]][j] / (double)size;
        square += (s->target[j] - mean) * (s->target[j] - mean);
    }
    return sqrt(square);
}

static void check_herding(bool outer, const bool *allowed) {
    sample s = make_points(outer, 11);
    size_t index[SIZE], other[SIZE];
    double sum[DIM];
    blv_points_sum(&s.points, NULL, sum);
    for (size_t j = 0; j < DIM; j++)
        assert_near(sum[j], s.target[j], 1e-12);
    assert_true(blv_choose_herding(&s.points, allowed, s.target, SIZE, index));
    expect_different(index, SIZE, POINTS);
    for (size_t k = 0; k < SIZE; k++) {
        const double reached = gap_of(&s, index, k + 1);
        assert_true(!allowed || allowed[index[k]]);
        memcpy(other, index, k * sizeof *other);
        for (size_t i = 0; i < POINTS; i++) {
            bool taken = allowed && !allowed[i];
            for (size_t j = 0; j < k; j++)
                taken = taken || index[j] == i;
            other[k] = i;
            assert_true(taken || gap_of(&s, other, k + 1) >= reached - 1e-12);
        }
    }
    free_points(&s);
}

/* ---- Facility location ---- */

static double cost_of(const sample *s, const size_t *index, size_t size) {
    double sum = 0.0;
    for (size_t i = 0; i < POINTS; i++) {
        double least = INFINITY;
        for (size_t k = 0; k < size; k++) {
            double square = 0.0;
            for (size_t j = 0; j < DIM; j++)
                square += (s->p[i][j] - s->p[index[k]][j]) * (s->p[i][j] - s->p[index[k]][j]);
            least = fmin(least, square);
        }
        sum += least;
    }
    return sum;
}

/* No other point would have lowered the cost more, at any time. */
static void test_facility(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        sample s = make_points(false, seed);
        size_t index[POINTS], other[POINTS];
        double weight[POINTS], sum = 0.0;
        assert_true(blv_choose_facility(&s.points, SIZE, index, weight));
        expect_different(index, SIZE, POINTS);
        for (size_t k = 0; k < SIZE; k++) {
            const double reached = cost_of(&s, index, k + 1);
            memcpy(other, index, k * sizeof *other);
            for (other[k] = 0; other[k] < POINTS; other[k]++)
                assert_true(cost_of(&s, other, k + 1) >= reached - 1e-4);
            assert_true(weight[k] >= 1.0);
            sum += weight[k];
        }
        assert_near(sum, (double)POINTS, 0.0);
        assert_true(blv_choose_facility(&s.points, POINTS, index, weight));
        expect_different(index, POINTS, POINTS);
        free_points(&s);
    }
}

static void test_herding(void **state) {
    (void)state;
    bool odd[POINTS];
    for (size_t i = 0; i < POINTS; i++)
        odd[i] = i % 2 == 1;
    check_herding(false, NULL);
    check_herding(true, NULL);
    check_herding(true, odd);
}

/* ---- Matching pursuit ---- */

static void residual(const sample *s, const size_t *index, const double *weight, size_t size,
                     double *r) {
    for (size_t j = 0; j < DIM; j++) {
        r[j] = s->target[j];
        for (size_t k = 0; k < size; k++)
            r[j] -= weight[k] * s->p[index[k]][j];
    }
}

/* After k points: the weights meet the conditions of the least squares over w >= 0, and the next
 * point has the largest product with the residual. */
static void check_matching(bool outer, double ridge) {
    sample s = make_points(outer, 21);
    size_t all[SIZE], index[SIZE];
    double weight[SIZE], r[DIM];
    assert_true(blv_choose_matching(&s.points, s.target, ridge, SIZE, all, weight));
    expect_different(all, SIZE, POINTS);
    for (size_t size = 1; size <= SIZE; size++) {
        assert_true(blv_choose_matching(&s.points, s.target, ridge, size, index, weight));
        assert_memory_equal(index, all, size * sizeof *index);
        residual(&s, index, weight, size, r);
        for (size_t k = 0; k < size; k++) {
            const double slope = ridge * weight[k] - dense_inner(DIM, s.p[index[k]], r);
            assert_true(weight[k] >= 0.0);
            assert_true(weight[k] > 0.0 ? fabs(slope) < 1e-6 : slope > -1e-6);
        }
        if (size == SIZE)
            break;
        const double best = dense_inner(DIM, s.p[all[size]], r);
        for (size_t i = 0; i < POINTS; i++) {
            bool taken = false;
            for (size_t k = 0; k < size; k++)
                taken = taken || index[k] == i;
            assert_true(taken || dense_inner(DIM, s.p[i], r) <= best + 1e-9);
        }
    }
    free_points(&s);
}

static void test_matching(void **state) {
    (void)state;
    check_matching(false, 0.1);
    check_matching(true, 0.1);
    check_matching(true, 1e-3);
}

/* ---- k-means ---- */

/* Clusters far apart, of 3, 4, 5, ... points: one of each is taken, the one nearest to the mean. */
static void test_kmeans(void **state) {
    (void)state;
    enum { CLUSTERS = 8, WIDTH = 6, LEAST = 3, ALL = 52 }; /* 3 + 4 + ... + 10 */
    float *p = random_floats(ALL * WIDTH, 4);
    size_t of[ALL], n = 0, index[CLUSTERS], again[CLUSTERS];
    double weight[CLUSTERS], other[CLUSTERS];
    for (size_t k = 0; k < CLUSTERS; k++)
        for (size_t m = 0; m < LEAST + k; m++, n++) {
            of[n] = k;
            p[n * WIDTH + k % WIDTH] += k < WIDTH ? 100.0f : -100.0f;
        }
    assert_int_equal(n, ALL);
    const blv_points points = {ALL, 1, WIDTH, NULL, p, 1}, threaded = {ALL, 1, WIDTH, NULL, p, 5};
    for (uint64_t seed = 0; seed < 5; seed++) {
        bool found[CLUSTERS] = {false};
        assert_true(blv_choose_kmeans(&points, CLUSTERS, 50, seed, index, weight));
        assert_true(blv_choose_kmeans(&threaded, CLUSTERS, 50, seed, again, other));
        assert_memory_equal(index, again, sizeof index);
        assert_memory_equal(weight, other, sizeof weight);
        for (size_t k = 0; k < CLUSTERS; k++) {
            const size_t cluster = of[index[k]];
            double mean[WIDTH] = {0.0}, least = INFINITY;
            size_t nearest = ALL;
            found[cluster] = true;
            assert_near(weight[k], (double)(LEAST + cluster), 0.0);
            for (size_t i = 0; i < ALL; i++)
                for (size_t j = 0; of[i] == cluster && j < WIDTH; j++)
                    mean[j] += (double)p[i * WIDTH + j] / weight[k];
            for (size_t i = 0; i < ALL; i++) {
                double d = 0.0;
                for (size_t j = 0; j < WIDTH; j++)
                    d += pow((double)p[i * WIDTH + j] - mean[j], 2.0);
                nearest = d < least ? i : nearest;
                least = fmin(d, least);
            }
            assert_int_equal(index[k], nearest);
        }
        for (size_t k = 0; k < CLUSTERS; k++)
            assert_true(found[k]);
    }
    free(p);
}

/* As many centers as points, some of which lie on each other: all are taken. */
static void test_kmeans_takes_all(void **state) {
    (void)state;
    float p[12] = {0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 4, 5};
    const blv_points points = {12, 1, 1, NULL, p, 1};
    size_t index[12];
    double weight[12];
    assert_true(blv_choose_kmeans(&points, 12, 10, 1, index, weight));
    expect_different(index, 12, 12);
}

/* ---- The capped simplex ---- */

static void test_capped(void **state) {
    (void)state;
    enum { N = 30 };
    for (uint64_t seed = 0; seed < 40; seed++) {
        blv_stream stream = blv_stream_make(seed, "capped");
        double s[N], p[N], total = 0.5 + 29.0 * blv_random_uniform(&stream, 900), sum = 0.0;
        for (size_t i = 0; i < N; i++)
            p[i] = s[i] = 2.0 * blv_random_normal(&stream, i);
        blv_project_capped(N, total, p);
        for (size_t i = 0; i < N; i++) {
            assert_true(p[i] >= 0.0 && p[i] <= 1.0);
            sum += p[i];
        }
        assert_near(sum, total, 1e-10);
        /* one multiplier t: p = s - t inside, s - t <= 0 at 0, s - t >= 1 at 1 */
        double low = -INFINITY, high = INFINITY;
        for (size_t i = 0; i < N; i++) {
            if (p[i] < 1.0)
                low = fmax(low, s[i] - p[i]);
            if (p[i] > 0.0)
                high = fmin(high, s[i] - p[i]);
        }
        assert_true(low <= high + 1e-12);
    }
}

/* ---- Greedy choice ---- */

enum { ROWS = 36, COLUMNS = 4, CLASSES = 3 };

/* Blobs around unit vectors. wrong: every second row has the label of another class. */
static blv_dataset *make_rows(size_t rows, bool wrong, double noise, blv_precision precision) {
    double *a = make_numbers(rows * COLUMNS);
    float *single = malloc(rows * COLUMNS * sizeof *single);
    int32_t *label = calloc(rows, sizeof *label);
    blv_stream stream = blv_stream_make(17, "rows");
    assert_non_null(single);
    assert_non_null(label);
    for (size_t i = 0; i < rows; i++) {
        label[i] = (int32_t)(i % CLASSES);
        for (size_t j = 0; j < COLUMNS; j++) {
            a[i * COLUMNS + j] =
                noise * blv_random_normal(&stream, i * COLUMNS + j) + (j == i % CLASSES);
            single[i * COLUMNS + j] = (float)a[i * COLUMNS + j];
        }
        if (wrong && i / CLASSES % 2 == 1)
            label[i] = (label[i] + 1) % CLASSES;
    }
    blv_dataset *set;
    const blv_dataset_view view = {.size = sizeof(blv_dataset_view),
                                   .rows = rows,
                                   .columns = COLUMNS,
                                   .precision = precision,
                                   .dense = precision == BLV_F32 ? (void *)single : (void *)a,
                                   .stride = COLUMNS,
                                   .classes = CLASSES,
                                   .label = label};
    assert_int_equal(blv_dataset_create(&set, &view, NULL, NULL), BLV_OK);
    free(a);
    free(single);
    free(label);
    return set;
}

static blv_problem *make_coreset(bool wrong, size_t rows) {
    const blv_sets sets = {sizeof sets, make_rows(rows, wrong, 0.4, BLV_F64),
                           make_rows(60, false, 0.4, BLV_F64), NULL};
    const blv_coreset_setting setting = {
        .size = sizeof(blv_coreset_setting), .K = 4, .ridge = 0.01, .over_val = true};
    blv_problem *p;
    blv_message why = {""};
    if (blv_coreset_create(&sets, &setting, NULL, &p, &why) != BLV_OK)
        fail_msg("%s", why.text);
    blv_dataset_release(sets.train);
    blv_dataset_release(sets.val);
    return p;
}

/* f(x, y*(x)) from the oracles, tightly solved. */
static double phi_at(const blv_problem *problem, const double *weight) {
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_vec *x, *y;
    double f, reached;
    assert_int_equal(blv_vec_create(&x, def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&y, def->space_y), BLV_OK);
    blv_vec_write(x, weight);
    assert_int_equal(blv_solve_lower(problem, x, y, 1e-12, NULL, NULL, &reached, NULL), BLV_OK);
    assert_int_equal(def->upper(def->user, NULL, x, y, &f, NULL, NULL), 0);
    blv_vec_destroy(x);
    blv_vec_destroy(y);
    return f;
}

static double difference(const blv_problem *problem, double *weight, size_t i) {
    const double h = 1e-5, kept = weight[i];
    weight[i] = kept + h;
    const double above = phi_at(problem, weight);
    weight[i] = kept - h;
    const double below = phi_at(problem, weight);
    weight[i] = kept;
    return (above - below) / (2.0 * h);
}

static void test_greedy(void **state) {
    (void)state;
    enum { TAKEN = 5 };
    blv_problem *p = make_coreset(false, ROWS);
    size_t index[TAKEN];
    assert_int_equal(blv_choose_greedy(p, TAKEN, TAKEN, 3, index, NULL), BLV_OK);
    expect_different(index, TAKEN, ROWS);
    for (size_t k = 1; k < TAKEN; k++) {
        double weight[ROWS] = {0.0}, least = INFINITY, slope[ROWS];
        for (size_t j = 0; j < k; j++)
            weight[index[j]] = 1.0 / (double)k;
        for (size_t i = 0; i < ROWS; i++) {
            slope[i] = difference(p, weight, i);
            if (weight[i] == 0.0)
                least = fmin(least, slope[i]);
        }
        assert_at_most(slope[index[k]], least + 0.02 * fabs(least));
    }
    blv_problem_destroy(p);
}

/* The slopes of the weighing themselves. */
static void test_slopes(void **state) {
    (void)state;
    blv_problem *p = make_coreset(false, ROWS);
    blv_weighted_retraining w;
    double weight[ROWS], slope[ROWS], f;
    for (size_t i = 0; i < ROWS; i++)
        weight[i] = (double)(1 + i % 5) / 108.0;
    assert_int_equal(blv_weighted_retraining_open(&w, p, NULL), BLV_OK);
    assert_int_equal(blv_weighted_retraining_train(&w, weight, true, &f, NULL), BLV_OK);
    assert_near(f, phi_at(p, weight), 1e-4);
    assert_int_equal(blv_weighted_retraining_slope(&w, slope, NULL), BLV_OK);
    for (size_t i = 0; i < ROWS; i += 5)
        assert_near(slope[i], difference(p, weight, i), 5e-3);
    blv_weighted_retraining_close(&w);
    blv_problem_destroy(p);
}

/* Half of the rows have wrong labels: the lottery comes to prefer the others. */
static void test_probabilistic(void **state) {
    (void)state;
    enum { TAKEN = 30, ALL = 90 };
    blv_problem *p = make_coreset(true, ALL);
    size_t index[TAKEN], right = 0;
    for (uint64_t seed = 0; seed < 3; seed++) {
        assert_int_equal(blv_choose_probabilistic(p, TAKEN, 300, seed, index, NULL), BLV_OK);
        expect_different(index, TAKEN, ALL);
        for (size_t k = 0; k < TAKEN; k++)
            right += index[k] / CLASSES % 2 == 0;
    }
    print_message("probabilistic: %zu of %d right\n", right, 3 * TAKEN);
    assert_true(right >= 60); /* 45 by chance, with a deviation of 4 */
    blv_problem_destroy(p);
}

/* ---- By name ---- */

static void check_method(const blv_dataset *rows, const blv_selection_method *method) {
    enum { TAKEN = 12 };
    size_t index[3][TAKEN];
    double weight[3][TAKEN], sum = 0.0;
    for (int run = 0; run < 3; run++) {
        const blv_selection how = {.size = sizeof(blv_selection),
                                   .method = method,
                                   .count = TAKEN,
                                   .seed = run == 2 ? 8 : 7,
                                   .threads = run == 1 ? 4 : 1,
                                   .iterations = 40};
        blv_message why = {""};
        if (blv_select(rows, &how, index[run], weight[run], &why) != BLV_OK)
            fail_msg("%s: %s", method->name, why.text);
    }
    expect_different(index[0], TAKEN, blv_dataset_view_of(rows)->rows);
    for (size_t k = 0; k < TAKEN; k++) {
        assert_true(weight[0][k] >= 0.0);
        sum += weight[0][k];
    }
    assert_near(sum, 1.0, 1e-12);
    assert_memory_equal(index[0], index[1], sizeof index[0]);
    assert_memory_equal(weight[0], weight[1], sizeof weight[0]);
    const bool drawn = strcmp(method->name, "uniform") == 0 || strcmp(method->name, "kmeans") == 0;
    if (drawn && memcmp(index[0], index[2], sizeof index[0]) == 0)
        fail_msg("%s: another seed gave the same rows", method->name);
}

/* As many rows of each class, whose weights are those of the class where the method has any. */
static void check_by_class(const char *name, bool weighted) {
    blv_dataset *rows = make_rows(150, false, 0.0, BLV_F32);
    const blv_dataset_view *v = blv_dataset_view_of(rows);
    size_t index[30], taken[8] = {0}, all[8] = {0};
    double weight[30], of_class[8] = {0};
    const blv_selection how = {.size = sizeof how,
                               .method = blv_selection_method_find(name, NULL),
                               .count = 10 * v->classes,
                               .iterations = 40,
                               .by_class = true};
    assert_true(v->classes <= 3);
    assert_int_equal(blv_select(rows, &how, index, weight, NULL), BLV_OK);
    for (size_t i = 0; i < v->rows; i++)
        all[v->label[i]]++;
    for (size_t k = 0; k < how.count; k++) {
        taken[v->label[index[k]]]++;
        of_class[v->label[index[k]]] += weight[k];
    }
    for (size_t c = 0; c < v->classes; c++) {
        assert_int_equal(taken[c], 10);
        if (weighted)
            assert_true(fabs(of_class[c] - (double)all[c] / (double)v->rows) < 1e-12);
    }
    blv_dataset_release(rows);
}

static void test_by_class(void **state) {
    (void)state;
    check_by_class("kmeans-by-class", true);
    check_by_class("facility-by-class", true);
    check_by_class("d-tfbo", false);
    check_by_class("bcsr", false);
}

static void test_methods(void **state) {
    (void)state;
    blv_dataset *single = make_rows(150, false, 0.3, BLV_F32);
    blv_dataset *twofold = make_rows(150, false, 0.3, BLV_F64);
    const blv_selection_method *method;
    size_t count = 0;
    for (; (method = blv_selection_method_at(count)); count++) {
        check_method(count % 2 == 0 ? single : twofold, method);
        assert_ptr_equal(blv_selection_method_find(method->name, NULL), method);
        assert_true(!method->is_bilevel || blv_solver_find(NULL, method->name, NULL));
    }
    assert_int_equal(count, 14);
    blv_dataset_release(single);
    blv_dataset_release(twofold);
}

/* Half of the labels are wrong; f is about all rows with their labels, so the best few rows are
 * better than random ones: by the loss of a classifier trained on them, on all rows. */
static double loss_of(const blv_dataset *rows, const size_t *index, const double *weight,
                      size_t size) {
    blv_sets sets = {.size = sizeof sets};
    size_t all[300];
    const size_t count = blv_dataset_view_of(rows)->rows;
    for (size_t i = 0; i < count; i++)
        all[i] = i;
    assert_int_equal(blv_dataset_select(rows, index, size, &sets.train, NULL), BLV_OK);
    assert_int_equal(blv_dataset_select(rows, all, count, &sets.val, NULL), BLV_OK);
    const blv_coreset_setting setting = {
        .size = sizeof(blv_coreset_setting), .K = size, .ridge = 1e-3, .over_val = true};
    blv_problem *p;
    assert_int_equal(blv_coreset_create(&sets, &setting, NULL, &p, NULL), BLV_OK);
    blv_dataset_release(sets.train);
    blv_dataset_release(sets.val);
    const double loss = phi_at(p, weight);
    blv_problem_destroy(p);
    return loss;
}

static void test_bilevel_methods_are_good(void **state) {
    (void)state;
    enum { TAKEN = 12, SEEDS = 10 };
    blv_dataset *rows = make_rows(300, false, 0.5, BLV_F64);
    size_t index[TAKEN];
    double weight[TAKEN], uniform = 0.0;
    const blv_selection_method *method;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const blv_selection how = {.size = sizeof(blv_selection),
                                   .method = blv_selection_method_find("uniform", NULL),
                                   .count = TAKEN,
                                   .seed = seed};
        assert_int_equal(blv_select(rows, &how, index, weight, NULL), BLV_OK);
        uniform += loss_of(rows, index, weight, TAKEN) / SEEDS;
    }
    for (size_t i = 0; (method = blv_selection_method_at(i)); i++) {
        const blv_selection how = {
            .size = sizeof(blv_selection), .method = method, .count = TAKEN, .seed = 1};
        if (!method->is_bilevel && strcmp(method->name, "greedy") != 0)
            continue;
        assert_int_equal(blv_select(rows, &how, index, weight, NULL), BLV_OK);
        const double loss = loss_of(rows, index, weight, TAKEN);
        print_message("%s: loss %.4f, uniform %.4f\n", method->name, loss, uniform);
        assert_at_most(loss, 0.9 * uniform);
    }
    blv_dataset_release(rows);
}

static void test_refusals(void **state) {
    (void)state;
    blv_dataset *rows = make_rows(ROWS, false, 0.3, BLV_F64);
    size_t index[ROWS + 1];
    blv_message why = {""};
    blv_selection how = {.size = sizeof(blv_selection),
                         .method = blv_selection_method_find("uniform", NULL)};
    assert_int_equal(blv_select(rows, &how, index, NULL, &why), BLV_E_VALUE);
    how.count = ROWS + 1;
    assert_int_equal(blv_select(rows, &how, index, NULL, &why), BLV_E_VALUE);
    assert_non_null(strstr(why.text, "count"));
    how.count = ROWS;
    assert_int_equal(blv_select(rows, &how, index, NULL, &why), BLV_OK);
    expect_different(index, ROWS, ROWS);
    assert_int_equal(blv_select(NULL, &how, index, NULL, &why), BLV_E_ARGUMENT);
    assert_null(blv_selection_method_find("uniforn", &why));
    assert_non_null(strstr(why.text, "uniform"));
    assert_non_null(strstr(why.text, "probabilistic"));
    const blv_sets sets = {sizeof sets, rows, make_rows(9, false, 0.3, BLV_F32), NULL};
    const blv_coreset_setting setting = {.size = sizeof(blv_coreset_setting), .K = 3};
    blv_problem *p;
    assert_int_equal(blv_coreset_create(&sets, &setting, NULL, &p, &why), BLV_E_VALUE);
    blv_dataset_release(sets.train);
    blv_dataset_release(sets.val);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_facility),
        cmocka_unit_test(test_herding),
        cmocka_unit_test(test_matching),
        cmocka_unit_test(test_kmeans),
        cmocka_unit_test(test_kmeans_takes_all),
        cmocka_unit_test(test_capped),
        cmocka_unit_test(test_greedy),
        cmocka_unit_test(test_slopes),
        cmocka_unit_test(test_probabilistic),
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_by_class),
        cmocka_unit_test(test_bilevel_methods_are_good),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
