/* Fold k: the problem hyperclean on the rows that are not in part k.
 *
 *   with validation rows   trained on the other training rows, validated on the other validation
 *                          rows; both parts k get their probabilities from the model
 *   without                of the other training rows a share is validated on instead; it wanders
 *                          from fold to fold, so that every row is trained on in some of them */
#include "learn/clean_work.h"
#include "learn/row_sets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SLICES = 100 };

/* Iterations. Fewer without clean rows: what is validated on is wrong in part, and not to be
 * fitted. */
enum { EXACT_WITH_VAL = 5, EXACT_ALONE = 1, OTHERS_WITH_VAL = 1000, OTHERS_ALONE = 100 };

/* The ridge goes down by a factor as long as that takes a third off the loss. */
static const double first_ridge = 1e-3, last_ridge = 1e-8, ridge_factor = 0.1,
                    worthwhile = 2.0 / 3.0;

typedef struct fold {
    blv_cleaning *cleaning;
    size_t number, slices;
    uint32_t *part, *slice, *val_part; /* of each row; slice or val_part */
    bool *trains, *held, *val_used, *val_held;
    size_t *trained; /* how often each row was trained on so far */
    blv_sets rows;   /* of the problem: one copy for all ridges that are tried */
} fold;

typedef struct fold_result {
    blv_run_end end;
    double *weights; /* of the model */
    double loss;     /* on the rows that were held out, whose labels are known to be right */
} fold_result;

/* ---- Who does what ---- */

static bool in_window(const fold *f, size_t row) {
    size_t width = (size_t)lround(f->cleaning->options.val_share * (double)f->slices);
    width = width > 0 ? width : 1;
    size_t from = f->number * width % f->slices;
    return (f->slice[row] + f->slices - from) % f->slices < width;
}

static void choose_rows(fold *f) {
    const blv_task_sets *sets = f->cleaning->sets;
    for (size_t i = 0; i < blv_rows_in(sets->train); i++) {
        f->held[i] = f->part[i] == f->number;
        f->val_used[i] = !sets->val && !f->held[i] && in_window(f, i);
        f->trains[i] = !f->held[i] && !f->val_used[i];
    }
    for (size_t i = 0; i < blv_rows_in(sets->val); i++) {
        f->val_held[i] = f->val_part[i] == f->number;
        f->val_used[i] = !f->val_held[i];
    }
}

/* ---- One run ---- */

static blv_error make_problem(const fold *f, double ridge, blv_problem **problem) {
    const blv_cleaning *c = f->cleaning;
    blv_problem_options options = {.size = sizeof options,
                                   .precision = blv_dataset_view_of(f->rows.train)->precision,
                                   .threads = c->options.threads};
    return blv_hyperclean_create(&f->rows, ridge, &options, problem, c->why);
}

/* The store knows of the work from the first problem on. */
static blv_error start_work(blv_cleaning *c, const blv_problem *problem) {
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_task_start start = {.task = "clean",
                            .problem = "hyperclean",
                            .dim_x = def->dim_x,
                            .dim_y = def->dim_y,
                            .precision = def->precision,
                            .fingerprint = blv_task_sets_fingerprint(c->sets)};
    return c->task.runs == 0 ? blv_task_start_work(&c->task, &start, problem) : BLV_OK;
}

static uint64_t iterations(const blv_cleaning *c) {
    if (blv_task_is_exact(&c->task))
        return c->sets->val ? EXACT_WITH_VAL : EXACT_ALONE;
    return c->sets->val ? OTHERS_WITH_VAL : OTHERS_ALONE;
}

static blv_error solve_fold(const fold *f, const blv_problem *problem, double ridge,
                            blv_run_end *end) {
    blv_cleaning *c = f->cleaning;
    char label[64];
    const blv_task_mark marks[] = {{"fold", (double)(f->number + 1)}, {"ridge", ridge}};
    snprintf(label, sizeof label, "fold %zu/%zu", f->number + 1, c->options.folds);
    blv_task_plan plan = {.problem = problem,
                          .which = {.label = label,
                                    .piece = f->number,
                                    .pieces = c->options.folds,
                                    .marks = marks,
                                    .mark_count = 2},
                          .iterations = iterations(c),
                          .products = blv_task_is_exact(&c->task) ? "30" : NULL};
    BLV_CHECK(blv_task_solve(&c->task, &plan, end));
    return c->task.stopped ? blv_explain(c->why, BLV_E_STOPPED,
                                         "stopped before all folds were done: nothing is written")
                           : BLV_OK;
}

static void free_result(fold_result *result) {
    blv_run_end_free(&result->end);
    free(result->weights);
    *result = (fold_result){0};
}

/* ---- What the model says of the rows that it has not seen ---- */

/* Puts the answers for the chosen rows of a set into its rows of probability. */
static blv_error answer_held(const blv_dataset *dataset, const bool *held, const double *weights,
                             double *probability, blv_message *why) {
    blv_dataset *part = NULL;
    BLV_CHECK(blv_keep_rows(dataset, held, &part, why));
    const blv_dataset_view *view = blv_dataset_view_of(part);
    double *p = calloc(view->rows * view->classes + 1, sizeof *p);
    blv_error error =
        p ? blv_fit_answer(part, weights, view->classes, p, why) : blv_explain_memory(why);
    for (size_t i = 0, next = 0; error == BLV_OK && i < blv_rows_in(dataset); i++)
        if (held[i])
            memcpy(probability + i * view->classes, p + next++ * view->classes,
                   view->classes * sizeof *p);
    free(p);
    blv_dataset_release(part);
    return error;
}

static double held_loss(const blv_dataset *dataset, const bool *held, const double *probability) {
    const blv_dataset_view *v = blv_dataset_view_of(dataset);
    double sum = 0.0, count = 0.0;
    for (size_t i = 0; i < v->rows; i++) {
        if (!held[i])
            continue;
        sum -= log(fmax(probability[i * v->classes + (size_t)v->label[i]], 1e-300));
        count += 1.0;
    }
    return sum / count;
}

static blv_error answer_all_held(const fold *f, fold_result *result) {
    blv_cleaning *c = f->cleaning;
    const blv_dataset *train = c->sets->train, *val = c->sets->val;
    BLV_CHECK(answer_held(train, f->held, result->weights, c->result.probability, c->why));
    result->loss = held_loss(train, f->held, c->result.probability);
    if (!val)
        return BLV_OK;
    BLV_CHECK(answer_held(val, f->val_held, result->weights, c->result.val_probability, c->why));
    result->loss = held_loss(val, f->val_held, c->result.val_probability);
    return BLV_OK;
}

/* Adds the fold's weights and its answers to the test rows. */
static blv_error add_result(const fold *f, const fold_result *result) {
    blv_cleaning *c = f->cleaning;
    const blv_dataset *test = c->sets->test;
    size_t classes = c->result.classes, numbers = blv_rows_in(test) * classes;
    c->result.certificates[f->number] = result->end.certificate;
    for (size_t i = 0, next = 0; i < c->result.rows; i++) {
        if (!f->trains[i])
            continue;
        c->result.weight[i] += 1.0 / (1.0 + exp(-result->end.x[next++]));
        f->trained[i]++;
    }
    if (!test)
        return BLV_OK;
    double *p = calloc(numbers + 1, sizeof *p);
    blv_error error =
        p ? blv_fit_answer(test, result->weights, classes, p, c->why) : blv_explain_memory(c->why);
    for (size_t i = 0; error == BLV_OK && i < numbers; i++)
        c->result.test_probability[i] += p[i] / (double)c->options.folds;
    free(p);
    return error;
}

/* ---- All folds ---- */

static void add_counts(blv_counts *sum, const blv_counts *counts) {
    sum->f_grad += counts->f_grad;
    sum->g_grad += counts->g_grad;
    sum->hvp += counts->hvp;
    sum->cross += counts->cross;
    sum->values += counts->values;
}

static void add_end(blv_clean_result *r, const blv_run_end *end) {
    r->iterations += end->iterations;
    r->seconds += end->seconds;
    add_counts(&r->counts, &end->counts);
    add_counts(&r->setup_counts, &end->setup_counts);
}

static blv_error try_ridge(fold *f, double ridge, fold_result *result) {
    blv_cleaning *c = f->cleaning;
    const blv_dataset *train = c->sets->train;
    blv_problem *problem = NULL;
    blv_error error = make_problem(f, ridge, &problem);
    if (error == BLV_OK)
        error = start_work(c, problem);
    if (error == BLV_OK)
        error = solve_fold(f, problem, ridge, &result->end);
    blv_problem_destroy(problem);
    add_end(&c->result, &result->end);
    if (error != BLV_OK)
        return error;
    size_t numbers = c->result.classes * blv_dataset_view_of(train)->columns;
    result->weights = malloc(numbers * sizeof *result->weights);
    if (!result->weights)
        return blv_explain_memory(c->why);
    blv_fit_weights(train, result->end.y, c->result.classes, result->weights);
    return answer_all_held(f, result);
}

/* Runs the first fold with smaller and smaller ridges. The answers that stay are those of the last
 * one, so the best one is asked again. */
static blv_error find_ridge(fold *f, fold_result *best) {
    double ridge = first_ridge;
    blv_error error = try_ridge(f, ridge, best);
    while (error == BLV_OK && ridge * ridge_factor >= last_ridge) {
        fold_result next = {0};
        error = try_ridge(f, ridge * ridge_factor, &next);
        bool better = error == BLV_OK && next.loss < worthwhile * best->loss;
        free_result(better ? best : &next);
        if (!better)
            break;
        *best = next;
        ridge *= ridge_factor;
    }
    f->cleaning->result.ridge = ridge;
    return error == BLV_OK ? answer_all_held(f, best) : error;
}

static blv_error learn_fold(fold *f) {
    double *ridge = &f->cleaning->result.ridge;
    fold_result result = {0};
    const blv_task_sets *from = f->cleaning->sets;
    blv_message *why = f->cleaning->why;
    choose_rows(f);
    f->rows = (blv_sets){.size = sizeof f->rows};
    blv_error error = blv_keep_rows(from->train, f->trains, &f->rows.train, why);
    if (error == BLV_OK)
        error = blv_keep_rows(from->val ? from->val : from->train, f->val_used, &f->rows.val, why);
    if (error == BLV_OK)
        error = *ridge > 0.0 ? try_ridge(f, *ridge, &result) : find_ridge(f, &result);
    if (error == BLV_OK)
        error = add_result(f, &result);
    blv_dataset_release(f->rows.train);
    blv_dataset_release(f->rows.val);
    free_result(&result);
    return error;
}

static blv_error deal(fold *f) {
    const blv_cleaning *c = f->cleaning;
    const blv_task_sets *sets = c->sets;
    uint64_t seed = c->options.seed;
    BLV_CHECK(blv_deal_rows(sets->train, c->options.folds, seed, f->part, c->why));
    if (!sets->val)
        return blv_deal_rows(sets->train, f->slices, seed + 1, f->slice, c->why);
    return blv_deal_rows(sets->val, c->options.folds, seed + 1, f->val_part, c->why);
}

static void make_space(fold *f, blv_arena *arena, size_t rows, size_t val_rows) {
    size_t most = rows > val_rows ? rows : val_rows;
    f->part = blv_arena_alloc(arena, rows, sizeof *f->part);
    f->slice = blv_arena_alloc(arena, rows, sizeof *f->slice);
    f->val_part = blv_arena_alloc(arena, val_rows, sizeof *f->val_part);
    f->trained = blv_arena_alloc(arena, rows, sizeof *f->trained);
    f->trains = blv_arena_alloc(arena, rows, sizeof *f->trains);
    f->held = blv_arena_alloc(arena, rows, sizeof *f->held);
    f->val_used = blv_arena_alloc(arena, most, sizeof *f->val_used);
    f->val_held = blv_arena_alloc(arena, val_rows, sizeof *f->val_held);
}

blv_error blv_clean_learn(blv_cleaning *c) {
    blv_arena arena = {0};
    size_t rows = c->result.rows;
    fold f = {.cleaning = c, .slices = rows < MOST_SLICES ? rows : MOST_SLICES};
    make_space(&f, &arena, rows, blv_rows_in(c->sets->val));
    blv_error error = arena.failed ? blv_explain_memory(c->why) : deal(&f);
    for (; error == BLV_OK && f.number < c->options.folds; f.number++)
        error = learn_fold(&f);
    for (size_t i = 0; error == BLV_OK && i < rows; i++)
        c->result.weight[i] =
            f.trained[i] > 0 ? c->result.weight[i] / (double)f.trained[i] : (double)NAN;
    blv_arena_free(&arena);
    return error;
}
