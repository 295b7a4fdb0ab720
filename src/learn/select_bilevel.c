/* Choosing by the problem coreset: a run of a solver on it, or trying rows out.
 *
 * Rows to choose from are a random part of all where there are many (candidates), and f is about a
 * random part of all as well. A linear classifier is trained, on the features of the model
 * where there is one. After a run the rows with the largest weights are taken, and keep them. */
#include "base/random.h"
#include "bilevel/registry.h"
#include "learn/choose.h"
#include "learn/selecting.h"
#include "learn/weighted_retraining.h"

#include <stdio.h>
#include <string.h>

enum {
    CANDIDATES_MIN = 2000,
    CANDIDATES_EACH = 10,
    JUDGED_MAX = 10000,
    ITERATIONS = 300,
    SINGLE_STEPS = 3, /* of a single loop, for one of a double loop */
    GREEDY_ROUNDS = 100,
    LOTTERY_ROUNDS = 200
};
static const double default_ridge = 1e-3, embedded_ridge = 3e-2, default_C = 0.3, noise = 1e-3;
static const double default_first = 5.0; /* of bcsr */

/* ---- Rows ---- */

blv_error blv_select_some(const blv_selecting *s, size_t count, const char *purpose, size_t *row) {
    const size_t all = s->view->rows;
    const blv_stream stream = blv_stream_make(s->how->seed, purpose);
    size_t *order = blv_arena_alloc(s->arena, all, sizeof *order);
    bool *in = blv_arena_alloc(s->arena, all, sizeof *in);
    if (!order || !in)
        return blv_select_memory(s->why);
    blv_random_permutation(&stream, 0, all, order);
    for (size_t i = 0; i < count; i++)
        in[order[i]] = true;
    for (size_t i = 0, next = 0; i < all; i++)
        if (in[i])
            row[next++] = i;
    return BLV_OK;
}

size_t blv_select_candidates(const blv_selecting *s) {
    const size_t each = CANDIDATES_EACH * s->how->count;
    size_t count = s->how->candidates > 0  ? s->how->candidates
                   : each > CANDIDATES_MIN ? each
                                           : CANDIDATES_MIN;
    count = count < s->how->count ? s->how->count : count;
    return count < s->view->rows ? count : s->view->rows;
}

/* ---- The problem ---- */

/* On these rows, judged by a random part of all. C 0: no reward for large weights. */
static blv_error make_problem(const blv_selecting *s, const size_t *row, size_t count, double C,
                              blv_problem **problem) {
    const blv_problem_options options = {.size = sizeof(blv_problem_options),
                                         .precision = s->view->precision,
                                         .threads = s->how->threads};
    const double usual_ridge = s->how->model ? embedded_ridge : default_ridge;
    const blv_coreset_setting setting = {.size = sizeof setting,
                                         .K = s->how->count,
                                         .C = C,
                                         .delta = noise / (double)s->how->count,
                                         .ridge = s->how->ridge > 0.0 ? s->how->ridge : usual_ridge,
                                         .seed = s->how->seed,
                                         .over_val = true};
    const size_t judged = s->view->rows < JUDGED_MAX ? s->view->rows : JUDGED_MAX;
    size_t *of_f = blv_arena_alloc(s->arena, judged, sizeof *of_f);
    blv_sets sets = {.size = sizeof sets};
    if (!of_f)
        return blv_select_memory(s->why);
    BLV_CHECK(blv_select_some(s, judged, "judged rows", of_f));
    blv_error error = blv_dataset_select(s->rows, row, count, &sets.train, s->why);
    if (error == BLV_OK)
        error = blv_dataset_select(s->rows, of_f, judged, &sets.val, s->why);
    if (error == BLV_OK)
        error = blv_coreset_create(&sets, &setting, &options, problem, s->why);
    blv_dataset_release(sets.train);
    blv_dataset_release(sets.val);
    return error;
}

/* ---- Runs ---- */

static blv_error set_number(blv_run *run, const char *key, double value) {
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    return blv_run_set(run, key, text);
}

/* The counts of inner steps are those of the paper on coresets. A derivative in a weight does not
 * depend on the number of rows, while a weight is about 1/rows: so is the x-step of bcsr. */
static blv_error set_up(blv_run *run, const blv_selection *how, uint64_t iterations) {
    const double rows = (double)blv_problem_definition(blv_run_problem(run))->dim_x;
    BLV_CHECK(set_number(run, "iters", (double)iterations));
    BLV_CHECK(blv_run_set(run, "batch", "full"));
    if (strcmp(how->method->name, "d-tfbo") == 0) {
        BLV_CHECK(blv_run_set(run, "inner", "fixed"));
        BLV_CHECK(blv_run_set(run, "n_y", "5"));
        BLV_CHECK(blv_run_set(run, "n_v", "3"));
    }
    if (strcmp(how->method->name, "bcsr") == 0)
        return set_number(run, "step_x", (how->first > 0.0 ? how->first : default_first) / rows);
    if (how->first <= 0.0)
        return BLV_OK;
    BLV_CHECK(set_number(run, "alpha0", how->first));
    BLV_CHECK(set_number(run, "beta0", how->first));
    return set_number(run, "gamma0", how->first);
}

/* weight: of every row of the problem */
static blv_error solve(const blv_selecting *s, const blv_problem *problem, uint64_t iterations,
                       double *weight) {
    blv_run *run = NULL;
    const blv_solver *solver = blv_solver_find(NULL, s->how->method->name, s->why);
    if (!solver)
        return BLV_E_NAME;
    BLV_CHECK(blv_run_create(&run, problem, solver, s->why));
    blv_error error = set_up(run, s->how, iterations);
    if (error == BLV_OK)
        error = blv_run_solve(run);
    if (error == BLV_OK)
        error = blv_run_read(run, "x", weight);
    if (error == BLV_OK && blv_run_result(run)->outcome == BLV_ORACLE_FAILED)
        error = BLV_E_ORACLE;
    if (error != BLV_OK)
        error = blv_select_reject(s, error, blv_run_message(run));
    blv_run_destroy(run);
    return error;
}

/* ---- The methods ---- */

/* row: which rows the candidates are; chosen: candidates */
typedef blv_error (*choose_fn)(const blv_selecting *s, const blv_problem *problem,
                               const size_t *row, size_t rows, size_t *chosen);

/* The candidates, the problem on them, and what is chosen among them. */
static blv_error choose_among(blv_selecting *s, double C, choose_fn choose) {
    const size_t count = blv_select_candidates(s);
    size_t *row = blv_arena_alloc(s->arena, count, sizeof *row);
    blv_problem *problem = NULL;
    if (!row)
        return blv_select_memory(s->why);
    BLV_CHECK(blv_select_some(s, count, "candidates", row));
    BLV_CHECK(make_problem(s, row, count, C, &problem));
    blv_error error = choose(s, problem, row, count, s->index);
    for (size_t k = 0; error == BLV_OK && k < s->how->count; k++)
        s->index[k] = row[s->index[k]];
    blv_problem_destroy(problem);
    return error;
}

static uint64_t iterations_of(const blv_selecting *s) {
    const uint64_t loops = strcmp(s->how->method->name, "s-tfbo") == 0 ? SINGLE_STEPS : 1;
    return s->how->iterations > 0 ? s->how->iterations : loops * ITERATIONS;
}

/* order: candidates, the best first; of them the first of each class, as many of each, are chosen.
 */
static blv_error take_by_class(const blv_selecting *s, const size_t *row, size_t rows,
                               const size_t *order, size_t *chosen) {
    size_t *of_class, *left;
    BLV_CHECK(blv_select_shares(s, s->view->classes, row, rows, &of_class, &left));
    for (size_t i = 0; i < rows; i++)
        if (left[s->view->label[row[order[i]]]] > 0) {
            left[s->view->label[row[order[i]]]]--;
            *chosen++ = order[i];
        }
    return BLV_OK;
}

static blv_error by_weight(const blv_selecting *s, const blv_problem *problem, const size_t *row,
                           size_t rows, size_t *chosen) {
    double *weight = blv_arena_alloc(s->arena, rows, sizeof *weight);
    size_t *order = blv_arena_alloc(s->arena, rows, sizeof *order);
    if (!weight || !order)
        return blv_select_memory(s->why);
    BLV_CHECK(solve(s, problem, iterations_of(s), weight));
    if (!blv_largest(rows, weight, rows, order))
        return blv_select_memory(s->why);
    if (s->how->by_class)
        BLV_CHECK(take_by_class(s, row, rows, order, chosen));
    else
        memcpy(chosen, order, s->how->count * sizeof *chosen);
    for (size_t k = 0; k < s->how->count; k++)
        s->weight[k] = weight[chosen[k]];
    return BLV_OK;
}

/* The rows as the model sees them, features from 0 to 1. */
static blv_error embed(const blv_selecting *s, blv_dataset **embedded) {
    const size_t rows = s->view->rows, width = blv_classifier_width(s->how->model);
    double *numbers = blv_arena_alloc(s->arena, rows * width, sizeof *numbers);
    float *single = blv_arena_alloc(s->arena, rows * width, sizeof *single);
    if (!numbers || !single)
        return blv_select_memory(s->why);
    BLV_CHECK(blv_classifier_features(s->how->model, s->rows, numbers, s->why));
    for (size_t i = 0; i < rows * width; i++)
        single[i] = (float)numbers[i];
    const bool f32 = s->view->precision == BLV_F32;
    const blv_dataset_view view = {.size = sizeof(blv_dataset_view),
                                   .rows = rows,
                                   .columns = width,
                                   .precision = s->view->precision,
                                   .dense = f32 ? (const void *)single : (const void *)numbers,
                                   .stride = width,
                                   .classes = s->view->classes,
                                   .label = s->view->label};
    BLV_CHECK(blv_dataset_create(embedded, &view, NULL, s->why));
    return blv_dataset_scale(embedded, 1, BLV_SCALE_UNIT, s->why);
}

blv_error blv_select_by_solver(blv_selecting *s) {
    const double C = s->how->C > 0.0 ? s->how->C : default_C;
    if (!s->how->model)
        return choose_among(s, C, by_weight);
    blv_dataset *embedded = NULL;
    blv_selecting seen = *s;
    blv_error error = embed(s, &embedded);
    if (error == BLV_OK) {
        seen.rows = embedded;
        seen.view = blv_dataset_view_of(embedded);
        error = choose_among(&seen, C, by_weight);
    }
    blv_dataset_release(embedded);
    return error;
}

static blv_error greedily(const blv_selecting *s, const blv_problem *problem, const size_t *row,
                          size_t rows, size_t *chosen) {
    (void)row;
    (void)rows;
    return blv_choose_greedy(problem, s->how->count, GREEDY_ROUNDS, s->how->seed, chosen, s->why);
}

blv_error blv_select_greedy(blv_selecting *s) {
    return choose_among(s, 0.0, greedily);
}

static blv_error by_lot(const blv_selecting *s, const blv_problem *problem, const size_t *row,
                        size_t rows, size_t *chosen) {
    (void)row;
    (void)rows;
    return blv_choose_probabilistic(problem, s->how->count, LOTTERY_ROUNDS, s->how->seed, chosen,
                                    s->why);
}

blv_error blv_select_probabilistic(blv_selecting *s) {
    return choose_among(s, 0.0, by_lot);
}
