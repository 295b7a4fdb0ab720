/* Penalties learned from some rows: one for all by a search, many by the solver, and models with
 * them. The problem is l2reg with cross-validation, or with validation rows, as its upper level. */
#include "learn/row_sets.h"
#include "learn/tune_work.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FOLDS = 5,
    WORSE_IN_A_ROW = 3,
    MOST_TRIED = 60,
    QUIET_ITERATIONS = 10,
    EXACT_ITERATIONS = 50,
    ITERATIONS = 5000
};

/* In logarithms, relative to the unit of penalties. */
static const double half_decade = 1.151292546497023, top = 2.302585092994046,
                    highest = 13.815510557964274, lowest = -20.72326583694641;
static const double bound = 7.0;         /* of departures from one penalty */
static const double contradicting = 0.5; /* of a row, in the search for one penalty */
static const double clearly_worse = 1.1;
static const double search_tolerance = 1e-5; /* relative to |gy| without a model */
/* Of the intercept, whose curvature is at most 1: so that the model is unique, and nothing else. */
static const double intercept_penalty = 1e-6;

/* ---- Rows ---- */

static blv_error deal_folds(blv_learner *l, uint64_t seed) {
    const size_t rows = blv_rows_in(l->train);
    l->fold = blv_arena_alloc(&l->arena, rows * l->repeats, sizeof *l->fold);
    if (!l->fold)
        return blv_explain_memory(l->tuning->why);
    for (size_t r = 0; r < l->repeats; r++)
        BLV_CHECK(blv_deal_rows(l->train, l->folds, seed + r, l->fold + r * rows, l->tuning->why));
    return BLV_OK;
}

/* What fills and scales the rows of a fold is learned from the rows outside of it. */
static blv_error refill_folds(blv_learner *l, const blv_dataset *raw) {
    const blv_tuning *t = l->tuning;
    const blv_dataset_view *v = blv_dataset_view_of(l->train);
    const size_t entries = v->dense ? v->rows * v->columns : v->row_start[v->rows];
    bool *keep = blv_arena_alloc(&l->arena, v->rows, sizeof *keep);
    l->fold_rows = blv_arena_alloc(&l->arena, l->blocks, sizeof(blv_dataset *));
    if (l->arena.failed)
        return blv_explain_memory(t->why);
    BLV_CHECK(blv_dataset_expect_memory(raw, (uint64_t)entries * l->blocks, sizeof(double),
                                        t->sets->train_name,
                                        "a copy for each fold, whose missing "
                                        "values are filled by the others",
                                        t->why));
    for (size_t b = 0; b < l->blocks; b++) {
        const uint32_t *fold = l->fold + b / l->folds * v->rows;
        for (size_t i = 0; i < v->rows; i++)
            keep[i] = fold[i] != b % l->folds;
        BLV_CHECK(blv_tune_refill(t, raw, keep, NULL, NULL, &l->fold_rows[b]));
    }
    return BLV_OK;
}

blv_error blv_learner_open(blv_learner *l, blv_tuning *t, blv_dataset *train,
                           const blv_dataset *raw, blv_dataset *val, size_t repeats,
                           uint64_t seed) {
    *l = (blv_learner){.tuning = t,
                       .train = blv_dataset_retain(train),
                       .val = val ? blv_dataset_retain(val) : NULL,
                       .folds = val ? 0 : FOLDS,
                       .repeats = val ? 1 : repeats,
                       .blocks = val ? 1 : FOLDS * repeats};
    const size_t dim_y = l->blocks * t->model_dim;
    l->x = blv_arena_alloc(&l->arena, t->penalty_count, sizeof *l->x);
    l->y = blv_arena_alloc(&l->arena, dim_y, sizeof *l->y);
    l->last_y = blv_arena_alloc(&l->arena, dim_y, sizeof *l->last_y);
    if (l->arena.failed)
        return blv_explain_memory(t->why);
    if (val)
        return BLV_OK;
    BLV_CHECK(deal_folds(l, seed));
    return raw ? refill_folds(l, raw) : BLV_OK;
}

void blv_learner_close(blv_learner *l) {
    for (size_t b = 0; l->fold_rows && b < l->blocks; b++)
        blv_dataset_release(l->fold_rows[b]);
    blv_dataset_release(l->train);
    blv_dataset_release(l->val);
    blv_arena_free(&l->arena);
}

static blv_error make_problem(const blv_learner *l, blv_dataset *train, blv_dataset *val,
                              blv_l2reg_setting *setting, blv_problem **problem) {
    const blv_tuning *t = l->tuning;
    const blv_sets sets = {.size = sizeof sets, .train = train, .val = val};
    const blv_problem_options options = {.size = sizeof options,
                                         .precision = blv_dataset_view_of(train)->precision,
                                         .threads = t->options.threads,
                                         .memory = t->options.memory};
    setting->size = sizeof *setting;
    setting->group = t->group;
    setting->last_penalty = intercept_penalty;
    return blv_l2reg_create(&sets, setting, &options, problem, t->why);
}

blv_error blv_learner_problem(const blv_learner *l, blv_penalty_kind kind, double shrinkage,
                              blv_problem **problem) {
    const bool one = kind == BLV_PENALTY_ONE;
    blv_l2reg_setting setting = {.penalty = kind,
                                 .scale = one ? 1.0 : exp(l->single),
                                 .lo = one ? -INFINITY : -bound,
                                 .hi = one ? INFINITY : bound,
                                 .shrinkage = shrinkage * l->single_loss,
                                 .folds = l->folds,
                                 .repeats = l->repeats,
                                 .fold = l->fold,
                                 .fold_rows = l->fold_rows};
    return make_problem(l, l->train, l->val, &setting, problem);
}

/* ---- Rows and their losses ---- */

void blv_tune_weights(const blv_tuning *t, const double *y, double *weights) {
    blv_fit_weights(t->train, y, t->scores, weights);
}

static double without(const double *p, size_t classes, size_t label) {
    double sum = 0.0;
    for (size_t k = 0; k < classes; k++)
        sum += k == label ? 0.0 : p[k];
    return sum / (double)(classes - 1);
}

blv_error blv_tune_judge_rows(const blv_tuning *t, const blv_dataset *set, const double *weights,
                              const blv_judged *judged) {
    const blv_dataset_view *v = blv_dataset_view_of(set);
    const bool real = t->result.real;
    const size_t answers = real ? 1 : v->classes;
    double *p = calloc(v->rows * answers + 1, sizeof *p);
    if (!p)
        return blv_explain_memory(t->why);
    blv_linear_model model = {.size = sizeof model,
                              .scores = t->scores,
                              .columns = v->columns,
                              .weights = weights,
                              .real = real};
    blv_error error = blv_linear_answer(&model, set, p, t->why);
    double mean_weight = 0.0;
    for (size_t i = 0; v->weight && i < v->rows; i++)
        mean_weight += v->weight[i] / (double)v->rows;
    for (size_t i = 0; error == BLV_OK && i < v->rows; i++) {
        const double *row = p + i * answers;
        const size_t label = real ? 0 : (size_t)v->label[i];
        const double miss = real ? row[0] - v->target[i] : 0.0;
        judged->loss[i] = real ? 0.5 * miss * miss : -log(fmax(row[label], DBL_MIN));
        judged->doubt[i] = real ? 0.0 : -log(fmax(without(row, answers, label), DBL_MIN));
        judged->right[i] = !real && blv_likeliest(row, answers) == label;
        const double weight = v->weight ? v->weight[i] / mean_weight : 1.0;
        judged->loss[i] *= weight;
        judged->doubt[i] *= weight;
        judged->right[i] *= weight;
    }
    free(p);
    return error;
}

double blv_tune_cautious(const blv_judged *judged, size_t i, size_t rows, double share) {
    return judged->loss[i] + share * judged->doubt[i] / (double)rows;
}

double blv_tune_mean_gain(size_t rows, const double *from, const double *to, double *error) {
    double mean = 0.0, square = 0.0, n = 0.0;
    for (size_t i = 0; i < rows; i++)
        if (!isnan(from[i] - to[i])) {
            mean += from[i] - to[i];
            n += 1.0;
        }
    mean /= n;
    for (size_t i = 0; i < rows; i++)
        if (!isnan(from[i] - to[i]))
            square += (from[i] - to[i] - mean) * (from[i] - to[i] - mean);
    *error = n > 1.0 ? sqrt(square / (n - 1.0) / n) : INFINITY;
    return mean;
}

/* The mean loss of the rows that are held out, by the models in y. */
static blv_error held_out_loss(const blv_learner *l, const double *y, double *mean) {
    const blv_tuning *t = l->tuning;
    const size_t rows = blv_rows_in(l->val ? l->val : l->train);
    blv_arena own = {0};
    double *room = blv_arena_alloc(&own, 3 * rows + t->model_dim + 1, sizeof *room);
    double *loss = blv_arena_alloc(&own, rows + 1, sizeof *loss); /* mean over the repeats */
    blv_error error = own.failed ? blv_explain_memory(t->why) : BLV_OK;
    for (size_t b = 0; error == BLV_OK && b < l->blocks; b++) {
        const uint32_t *fold = l->val ? NULL : l->fold + b / l->folds * rows;
        const blv_dataset *seen = l->val ? l->val : l->fold_rows ? l->fold_rows[b] : l->train;
        const blv_judged all = {room, room + rows, room + 2 * rows};
        double *weights = room + 3 * rows;
        blv_tune_weights(t, y + b * t->model_dim, weights);
        error = blv_tune_judge_rows(t, seen, weights, &all);
        for (size_t i = 0; error == BLV_OK && i < rows; i++)
            if (!fold || fold[i] == b % l->folds)
                loss[i] += blv_tune_cautious(&all, i, rows, contradicting) / (double)l->repeats;
    }
    *mean = 0.0;
    for (size_t i = 0; error == BLV_OK && i < rows; i++)
        *mean += loss[i] / (double)rows;
    blv_arena_free(&own);
    return error;
}

/* ---- One penalty for all ---- */

typedef struct search {
    blv_learner *learner;
    blv_problem *problem; /* x: the logarithm of the penalty */
    size_t count, since;  /* penalties tried, and since the best */
    double best, best_loss;
} search;

static blv_error try_penalty(search *s, double logarithm) {
    blv_learner *l = s->learner;
    blv_task *task = &l->tuning->task;
    double mean;
    blv_task_say(task, "one penalty for all: %.2g", exp(logarithm));
    BLV_CHECK(
        blv_fit(task, s->problem, &logarithm, search_tolerance * l->gradient_unit, l->last_y));
    BLV_CHECK(held_out_loss(l, l->last_y, &mean));
    s->since += s->count > 0 && mean > clearly_worse * s->best_loss ? WORSE_IN_A_ROW : 1;
    if (s->count++ == 0 || mean < s->best_loss) {
        s->best = logarithm;
        s->best_loss = mean;
        s->since = 0;
        memcpy(l->y, l->last_y, l->blocks * l->tuning->model_dim * sizeof *l->y);
    }
    return BLV_OK;
}

/* Until the loss has been worse than the best a few times in a row, or clearly worse: smaller
 * penalties take the longest. */
static blv_error walk(search *s, double from, double to, double step) {
    const size_t steps = (size_t)(fabs(to - from) / fabs(step) + 0.5);
    s->since = 0;
    for (size_t i = 0; i <= steps && s->since < WORSE_IN_A_ROW; i++) {
        if (s->count > 0 && s->learner->tuning->task.stopped)
            break;
        BLV_CHECK(try_penalty(s, from + (double)i * step));
    }
    return BLV_OK;
}

static blv_error search_penalty(search *s, double near) {
    blv_learner *l = s->learner;
    const blv_tuning *t = l->tuning;
    const double unit = log(t->unit);
    if (!isnan(near)) {
        BLV_CHECK(walk(s, near + 2.0 * half_decade, near - 2.0 * half_decade, -half_decade));
    } else {
        BLV_CHECK(walk(s, unit + top, unit + lowest, -half_decade));
        if (s->best == unit + top)
            BLV_CHECK(walk(s, unit + top + half_decade, unit + highest, half_decade));
    }
    l->single = s->best;
    l->single_loss = s->best_loss;
    memset(l->x, 0, t->penalty_count * sizeof *l->x);
    return BLV_OK;
}

blv_error blv_learner_find_single(blv_learner *l, double near) {
    search s = {.learner = l};
    BLV_CHECK(blv_learner_problem(l, BLV_PENALTY_ONE, 0.0, &s.problem));
    blv_error error = blv_fit_gradient(&l->tuning->task, s.problem, NULL, &l->gradient_unit);
    if (error == BLV_OK)
        error = search_penalty(&s, near);
    blv_problem_destroy(s.problem);
    return error;
}

/* ---- Many penalties ---- */

blv_error blv_learner_find_many(blv_learner *l, double shrinkage, blv_run_end *end) {
    blv_tuning *t = l->tuning;
    blv_problem *problem = NULL;
    blv_run_end quiet = {0}, *made = end ? end : &quiet;
    BLV_CHECK(blv_learner_problem(l, t->options.penalty, shrinkage, &problem));
    blv_task_plan plan = {.problem = problem,
                          .which = {.label = "penalties"},
                          .quiet = !end,
                          .iterations = QUIET_ITERATIONS,
                          .start_x = l->x,
                          .start_y = l->y,
                          .products = "200",
                          .solve_tol = "1e-5",
                          .accuracy = end ? "1e-3" : "0.02"};
    if (end)
        plan.iterations = blv_task_is_exact(&t->task) ? EXACT_ITERATIONS : ITERATIONS;
    blv_error error = blv_task_solve(&t->task, &plan, made);
    if (error == BLV_OK) {
        memcpy(l->x, made->x, t->penalty_count * sizeof *l->x);
        memcpy(l->y, made->y, l->blocks * t->model_dim * sizeof *l->y);
    }
    blv_run_end_free(&quiet);
    blv_problem_destroy(problem);
    return error;
}

bool blv_learner_gained(const blv_learner *l) {
    double mean;
    return held_out_loss(l, l->y, &mean) == BLV_OK && mean < l->single_loss;
}

/* ---- Models ---- */

double blv_learner_share(const blv_learner *l, const blv_dataset *rows) {
    const double trained = (double)blv_rows_in(l->train) * (l->val ? 1.0 : 1.0 - 1.0 / FOLDS);
    return trained / (double)blv_rows_in(rows);
}

blv_error blv_learner_refit(const blv_learner *l, blv_dataset *rows, const double *x, double single,
                            double *y) {
    blv_tuning *t = l->tuning;
    const double same = 0.0;
    blv_l2reg_setting setting = {.penalty = x ? t->options.penalty : BLV_PENALTY_ONE,
                                 .scale = single * blv_learner_share(l, rows),
                                 .lo = -INFINITY,
                                 .hi = INFINITY};
    blv_problem *problem = NULL;
    BLV_CHECK(make_problem(l, rows, rows, &setting, &problem));
    blv_error error =
        blv_fit(&t->task, problem, x ? x : &same, BLV_FIT_TOLERANCE * l->gradient_unit, y);
    blv_problem_destroy(problem);
    return error;
}
