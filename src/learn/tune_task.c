/* Penalties of a linear model: the request, the order of the work, and the result. What is learned
 * from some rows is in tune_learner.c, what decides whether many penalties are kept in
 * tune_outer.c. */
#include "base/message.h"
#include "base/precision.h"
#include "bilevel/ranks.h"
#include "learn/row_sets.h"
#include "learn/tune_work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST_ROWS = 8, MOST_REPEATS = 4 };

static const double none_penalty = 1e-6; /* in units of penalties */
static const double repeated_work = 4e5; /* as many repeats of the folds as stay below this */

/* ---- The request ---- */

static blv_error check_options(blv_tuning *t) {
    const blv_tune_options *o = &t->options;
    if (o->penalty < BLV_PENALTY_PER_FEATURE || o->penalty > BLV_PENALTY_GROUPS)
        return blv_explain(t->why, BLV_E_VALUE, "tune: there is no such kind of penalty");
    if (!(o->val_share >= 0.0 && o->val_share < 1.0))
        return blv_explain(t->why, BLV_E_VALUE, "tune: expected a share from 0 on, below 1");
    return BLV_OK;
}

/* ---- Rows ---- */

static void measure_targets(blv_tuning *t) {
    const blv_dataset_view *v = blv_dataset_view_of(t->sets->train);
    const double n = (double)v->rows;
    double square = 0.0;
    t->target_scale = 1.0;
    for (size_t i = 0; v->target && i < v->rows; i++)
        t->target_shift += v->target[i] / n;
    for (size_t i = 0; v->target && i < v->rows; i++)
        square += (v->target[i] - t->target_shift) * (v->target[i] - t->target_shift) / n;
    if (square > 0.0)
        t->target_scale = sqrt(square);
}

/* The set with targets in units of their standard deviation. */
static blv_error scale_targets(const blv_tuning *t, const blv_dataset *set, blv_dataset **scaled) {
    blv_dataset_view view = *blv_dataset_view_of(set);
    double *target = malloc((view.rows + 1) * sizeof *target);
    if (!target)
        return blv_explain_memory(t->why);
    for (size_t i = 0; i < view.rows; i++)
        target[i] = (view.target[i] - t->target_shift) / t->target_scale;
    view.target = target;
    blv_error error = blv_dataset_create(scaled, &view, "targets scaled", t->why);
    free(target);
    return error;
}

static blv_error widen(const blv_tuning *t, const blv_dataset *set, blv_dataset **wide) {
    BLV_CHECK(blv_dataset_copy(set, wide, t->why));
    blv_dataset_view as = *blv_dataset_view_of(*wide);
    as.precision = BLV_F64;
    return blv_dataset_align_to(*wide, NULL, &as, NULL, t->why);
}

/* A set as it is used here; NULL stays NULL. */
static blv_error take_set(const blv_tuning *t, blv_dataset *set, blv_dataset **taken) {
    blv_dataset *scaled = NULL;
    if (!set)
        return BLV_OK;
    blv_error error = t->result.real ? scale_targets(t, set, &scaled) : BLV_OK;
    blv_dataset *now = scaled ? scaled : set;
    if (error == BLV_OK && t->result.continued_in_f64)
        error = widen(t, now, taken);
    else if (error == BLV_OK)
        *taken = blv_dataset_retain(now);
    blv_dataset_release(scaled);
    return error;
}

blv_error blv_tune_refill(const blv_tuning *t, const blv_dataset *raw, const bool *keep,
                          blv_dataset **own, const bool *others, blv_dataset **all) {
    blv_dataset *rows[2] = {NULL, NULL};
    blv_error error = blv_keep_rows(raw, keep, &rows[0], t->why);
    if (error == BLV_OK)
        error = others ? blv_keep_rows(raw, others, &rows[1], t->why)
                       : blv_dataset_copy(raw, &rows[1], t->why);
    if (error == BLV_OK)
        error = blv_task_refill(t->sets, rows, 2, t->why);
    if (error == BLV_OK && own)
        error = take_set(t, rows[0], own);
    if (error == BLV_OK)
        error = take_set(t, rows[1], all);
    blv_dataset_release(rows[0]);
    blv_dataset_release(rows[1]);
    return error;
}

static blv_error split_train(blv_tuning *t) {
    const double sizes[] = {1.0 - t->options.val_share, t->options.val_share};
    blv_dataset *parts[2] = {NULL, NULL};
    BLV_CHECK(
        blv_dataset_split(t->train, sizes, 2, !t->result.real, t->options.seed, parts, t->why));
    blv_dataset_release(t->train);
    t->train = parts[0];
    t->val = parts[1];
    return BLV_OK;
}

static blv_error take_rows(blv_tuning *t) {
    const blv_task_sets *s = t->sets;
    measure_targets(t);
    BLV_CHECK(take_set(t, s->train, &t->train));
    BLV_CHECK(take_set(t, s->val, &t->val));
    BLV_CHECK(take_set(t, s->test, &t->test));
    if (!t->val && t->options.val_share > 0.0)
        BLV_CHECK(split_train(t));
    if (!t->val && blv_task_raw(s) && !blv_dataset_view_of(t->train)->ranks)
        BLV_CHECK(blv_dataset_copy(blv_task_raw(s), &t->raw, t->why));
    const size_t rows = blv_rows_in(t->val ? t->val : t->train);
    return rows >= FEWEST_ROWS ? BLV_OK
                               : blv_explain(t->why, BLV_E_VALUE,
                                             "%s: %zu %srows are too few; expected at least %d",
                                             s->val ? s->val_name : s->train_name, rows,
                                             t->val ? "validation " : "", FEWEST_ROWS);
}

/* Sizes, and the mean square of the features. */
static void measure_rows(blv_tuning *t) {
    const blv_dataset_view *v = blv_dataset_view_of(t->train);
    const size_t features = t->sets->features;
    const size_t rows = v->ranks ? v->held : v->rows;
    const size_t entries = v->dense ? rows * v->columns : v->row_start[rows];
    double square = 0.0;
    for (size_t e = 0; e < entries; e++) {
        const size_t column = v->dense ? e % v->columns : v->column[e];
        const size_t at = v->dense ? e / v->columns * v->stride + column : e;
        const double value = blv_value_get(v->dense ? v->dense : v->value, v->precision, at);
        square += column < features ? value * value : 0.0;
    }
    double sums[] = {square, (double)entries};
    if (v->ranks)
        v->ranks->sum(v->ranks->context, 2, sums); /* what fails here fails in the next oracle */
    square = sums[0] / ((double)v->rows * (double)(features ? features : 1));
    t->unit = square > 0.0 ? square : 1.0;
    t->scores = v->classes > 2 ? v->classes : 1;
    t->model_dim = t->scores * v->columns;
    t->work = sums[1] * (double)t->scores;
}

/* ---- How good models are ---- */

static double weight_of(const blv_dataset_view *v, size_t i) {
    return v->weight ? v->weight[i] : 1.0;
}

/* In the units of the targets; loss and right of each row, NaN where it does not count. */
static blv_quality quality_of(const blv_tuning *t, const blv_dataset *set, const double *loss,
                              const double *right) {
    const blv_dataset_view *v = blv_dataset_view_of(set);
    double n = 0.0, sum = 0.0, correct = 0.0, mean = 0.0, variance = 0.0, weights = 0.0;
    for (size_t i = 0; i < v->rows; i++)
        if (!isnan(loss[i])) {
            n += 1.0;
            sum += loss[i];
            correct += right[i];
            mean += t->result.real ? weight_of(v, i) * v->target[i] : 0.0;
            weights += weight_of(v, i);
        }
    if (n == 0.0)
        return blv_quality_unknown;
    if (!t->result.real)
        return (blv_quality){sum / n, correct / n};
    mean /= weights;
    for (size_t i = 0; i < v->rows; i++)
        if (!isnan(loss[i]))
            variance += weight_of(v, i) * (v->target[i] - mean) * (v->target[i] - mean);
    return (blv_quality){2.0 * sum / n * t->target_scale * t->target_scale,
                         variance > 0.0 ? 1.0 - 2.0 * sum / variance * (weights / n) : (double)NAN};
}

static blv_error judge_test(const blv_tuning *t, blv_tuned *model) {
    const size_t rows = blv_rows_in(t->test);
    model->test = blv_quality_unknown;
    if (!t->test)
        return BLV_OK;
    double *room = calloc(3 * rows + 1, sizeof *room);
    if (!room)
        return blv_explain_memory(t->why);
    const blv_judged all = {room, room + rows, room + 2 * rows};
    blv_error error = blv_tune_judge_rows(t, t->test, model->weights, &all);
    if (error == BLV_OK)
        model->test = quality_of(t, t->test, all.loss, all.right);
    free(room);
    return error;
}

/* The scale of real targets goes into weights and intercept. */
static double *unscaled(blv_tuning *t, const double *weights) {
    double *w = blv_arena_alloc(&t->arena, t->model_dim, sizeof *w);
    for (size_t i = 0; w && i < t->model_dim; i++)
        w[i] = weights[i] * t->target_scale;
    if (w)
        w[t->model_dim - 1] += t->target_shift;
    return w;
}

/* Trains on all rows and judges: x NULL means one penalty. y: where to start, and the model. */
static blv_error finish_model(blv_tuning *t, const blv_learner *l, blv_dataset *rows,
                              const blv_outer *outer, size_t place, const double *x, double single,
                              double *y, blv_tuned *shown) {
    double *weights = blv_arena_alloc(&t->arena, t->model_dim, sizeof *weights);
    if (!weights)
        return blv_explain_memory(t->why);
    BLV_CHECK(blv_learner_refit(l, rows, x, single, y));
    blv_tune_weights(t, y, weights);
    shown->weights = weights;
    shown->held_out = outer->judged.loss ? quality_of(t, t->val ? t->val : t->train,
                                                      outer->judged.loss + place * outer->rows,
                                                      outer->judged.right + place * outer->rows)
                                         : blv_quality_unknown;
    BLV_CHECK(judge_test(t, shown));
    if (t->result.real)
        shown->weights = unscaled(t, weights);
    return shown->weights ? BLV_OK : blv_explain_memory(t->why);
}

/* ---- Many penalties ---- */

static void take_run(blv_tune_result *r, const blv_run_end *end) {
    r->iterations = end->iterations;
    r->seconds = end->seconds;
    r->certified = end->certified;
    r->certificate = end->certificate;
    r->counts = end->counts;
    r->setup_counts = end->setup_counts;
}

/* From all rows, with shrinkages down to the chosen one, the last in a run of its own. */
static blv_error find_many(blv_tuning *t, blv_learner *all, const blv_outer *outer) {
    double shrinkage, next;
    for (size_t s = 0; !isnan(shrinkage = blv_outer_shrinkage(s, outer)); s++) {
        blv_run_end end = {0};
        next = blv_outer_shrinkage(s + 1, outer);
        blv_task_say(&t->task, "all rows, shrinkage %g", shrinkage);
        BLV_CHECK(blv_learner_find_many(all, shrinkage, isnan(next) ? &end : NULL));
        if (isnan(next))
            take_run(&t->result, &end);
        blv_run_end_free(&end);
    }
    t->result.shrinkage = outer->shrinkage;
    t->result.gain = outer->gain;
    t->result.gain_error = outer->gain_error;
    return BLV_OK;
}

/* Judges, and learns many. Where a solver fails in f64, the single penalty is still an answer. */
static blv_error learn_many(blv_tuning *t, blv_learner *all, blv_outer *outer, bool *found) {
    blv_message *why = t->why, *task_why = t->task.why;
    t->why = t->task.why = &t->result.failure;
    blv_error error = blv_outer_judge(outer, all);
    if (error == BLV_OK && outer->chosen > 0)
        error = find_many(t, all, outer);
    t->why = why;
    t->task.why = task_why;
    *found = error == BLV_OK && outer->chosen > 0;
    if (error == BLV_OK)
        t->result.failure.text[0] = '\0';
    const bool failed = error == BLV_E_FAILED || error == BLV_E_ORACLE;
    if (!failed || blv_dataset_view_of(t->train)->precision == BLV_F32)
        return error == BLV_OK ? BLV_OK : blv_explain(why, error, "%s", t->result.failure.text);
    if (t->task.hooks.note)
        t->task.hooks.note(t->task.hooks.context, t->result.failure.text);
    return BLV_OK;
}

/* ---- The model ---- */

static double *copy_numbers(blv_tuning *t, const double *numbers, size_t count) {
    double *copy = blv_arena_alloc(&t->arena, count, sizeof *copy);
    return copy ? memcpy(copy, numbers, count * sizeof *copy) : NULL;
}

/* Of the rows as given: those here, where targets are scaled, are a set that was not read. */
static const char *copy_recipe(blv_tuning *t) {
    const char *recipe = blv_dataset_recipe(t->sets->train);
    return recipe ? blv_arena_copy(&t->arena, recipe) : NULL;
}

/* Names are those of the training rows, which stay as long as the result. */
static blv_error make_model(blv_tuning *t) {
    const blv_dataset_view *train = blv_dataset_view_of(t->train);
    const double *from = t->result.chosen->weights;
    const size_t features = t->sets->features, columns = features + 1;
    double *weights = blv_arena_alloc(&t->arena, t->scores * features, sizeof *weights);
    double *intercept = blv_arena_alloc(&t->arena, t->scores, sizeof *intercept);
    double *penalty = blv_arena_alloc(&t->arena, t->penalty_count, sizeof *penalty);
    t->model = (blv_model){.scores = t->scores,
                           .features = features,
                           .classes = train->classes,
                           .weights = weights,
                           .intercept = intercept,
                           .shift = copy_numbers(t, t->sets->shift, features),
                           .divisor = copy_numbers(t, t->sets->divisor, features),
                           .unit_rows = t->sets->unit_rows,
                           .class_names = train->class_names,
                           .feature_names = train->feature_names,
                           .penalties = t->penalty_count,
                           .penalty = penalty,
                           .penalty_names = t->penalty_names,
                           .name = "the model",
                           .recipe = copy_recipe(t)};
    if (t->arena.failed)
        return blv_explain_memory(t->why);
    for (size_t k = 0; k < t->scores; k++) {
        memcpy(weights + k * features, from + k * columns, features * sizeof *weights);
        intercept[k] = from[k * columns + features];
    }
    for (size_t k = 0; k < t->penalty_count; k++)
        penalty[k] = t->result.kept ? t->result.learned[k] : t->result.single;
    t->result.model = &t->model;
    return BLV_OK;
}

/* Penalties as the models on `rows` have them. */
static blv_error show_penalties(blv_tuning *t, const blv_learner *l, const blv_dataset *rows,
                                bool many) {
    const double factor = blv_learner_share(l, rows);
    double *learned = blv_arena_alloc(&t->arena, t->penalty_count, sizeof *learned);
    if (!learned)
        return blv_explain_memory(t->why);
    t->result.single = exp(l->single) * factor;
    for (size_t k = 0; k < t->penalty_count; k++)
        learned[k] = exp(l->single + l->x[k]) * factor;
    t->result.learned_count = many ? t->penalty_count : 0;
    t->result.learned = many ? learned : NULL;
    return BLV_OK;
}

static blv_error finish(blv_tuning *t, const blv_learner *all, const blv_outer *outer, bool many) {
    blv_tune_result *r = &t->result;
    blv_dataset *rows = NULL;
    double *y = blv_arena_alloc(&t->arena, t->model_dim, sizeof *y);
    if (!y)
        return blv_explain_memory(t->why);
    if (t->val && t->options.refit)
        BLV_CHECK(blv_dataset_join(t->train, t->val, &rows, t->why));
    else
        rows = blv_dataset_retain(t->train);
    blv_task_say(&t->task, "training");
    blv_error error = finish_model(t, all, rows, outer, BLV_OUTER_ONE, NULL, exp(all->single), y,
                                   &r->with_single);
    if (error == BLV_OK && many)
        error = finish_model(t, all, rows, outer, outer->chosen, all->x, exp(all->single), y,
                             &r->with_many);
    if (error == BLV_OK && !t->task.stopped)
        error = finish_model(t, all, rows, outer, BLV_OUTER_NONE, NULL, r->none, y, &r->with_none);
    if (error == BLV_OK)
        error = show_penalties(t, all, rows, many);
    blv_dataset_release(rows);
    if (error != BLV_OK)
        return error;
    r->kept = many && outer->clear && blv_learner_gained(all);
    r->chosen = r->kept ? &r->with_many : &r->with_single;
    for (size_t i = 0; outer->judged.loss && i < outer->rows; i++)
        if (!isnan(outer->judged.loss[BLV_OUTER_ONE * outer->rows + i]))
            r->held_out_rows++;
    return make_model(t);
}

/* ---- All of it ---- */

static blv_error start_work(blv_tuning *t, const blv_learner *all) {
    const blv_task_sets now = {.train = t->train, .val = t->val, .test = t->test};
    blv_problem *problem = NULL;
    if (t->result.continued_in_f64)
        return BLV_OK;
    BLV_CHECK(blv_learner_problem(all, t->options.penalty, 0.0, &problem));
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_task_start start = {.task = "tune",
                            .problem = "l2reg",
                            .dim_x = def->dim_x,
                            .dim_y = def->dim_y,
                            .precision = def->precision,
                            .fingerprint = blv_task_sets_fingerprint(&now)};
    blv_error error = blv_task_start_work(&t->task, &start, problem);
    blv_problem_destroy(problem);
    return error;
}

static blv_error learn(blv_tuning *t, blv_learner *all) {
    blv_outer outer = {0};
    bool many = false;
    BLV_CHECK(start_work(t, all));
    BLV_CHECK(blv_learner_find_single(all, (double)NAN));
    if (!t->task.stopped)
        BLV_CHECK(learn_many(t, all, &outer, &many));
    return finish(t, all, &outer, many);
}

static blv_error tune(blv_tuning *t, const blv_task_hooks *hooks) {
    const blv_tune_options *o = &t->options;
    t->task = (blv_task){.solver = o->solver,
                         .settings = o->settings,
                         .setting_count = o->setting_count,
                         .seed = o->seed,
                         .no_certificate = o->no_certificate,
                         .runs = t->task.runs};
    BLV_CHECK(blv_task_open(&t->task, hooks, t->why));
    BLV_CHECK(check_options(t));
    t->result.real = blv_dataset_view_of(t->sets->train)->target != NULL;
    BLV_CHECK(take_rows(t));
    measure_rows(t);
    BLV_CHECK(blv_tune_name_penalties(t));
    blv_learner all;
    size_t repeats = MOST_REPEATS;
    while (repeats > 1 && t->work * (double)repeats > repeated_work)
        repeats /= 2;
    blv_error error = blv_learner_open(&all, t, t->train, t->raw, t->val, repeats, o->seed);
    t->result.train_rows = blv_rows_in(t->train);
    t->result.val_rows = blv_rows_in(t->val);
    t->result.folds = all.folds;
    t->result.none = none_penalty * t->unit;
    t->result.gain_error = (double)NAN;
    t->result.solver = t->task.solver->name;
    t->result.seed = o->seed;
    if (error == BLV_OK)
        error = learn(t, &all);
    blv_learner_close(&all);
    if (error == BLV_OK && t->task.stopped)
        error = blv_explain(t->why, BLV_E_STOPPED, "stopped on request");
    return error;
}

static blv_tuning *new_tuning(const blv_task_sets *sets, blv_message *why) {
    blv_tuning *t = calloc(1, sizeof *t);
    if (t) {
        t->sets = sets;
        t->why = why;
    }
    return t;
}

/* f32 has failed: once more in f64, with what hooks know of the runs so far. */
static blv_error tune_in_f64(blv_tuning **t, const blv_task_hooks *hooks, blv_message *why) {
    blv_tuning *wide = new_tuning((*t)->sets, why);
    if (!wide)
        return blv_explain_memory(why);
    wide->options = (*t)->options;
    wide->task.runs = (*t)->task.runs;
    wide->result.continued_in_f64 = true;
    if ((*t)->task.hooks.note) {
        char text[sizeof(blv_message) + 64];
        snprintf(text, sizeof text, "f32 does not do here: %s; continued in f64",
                 why ? why->text : "a failure");
        (*t)->task.hooks.note((*t)->task.hooks.context, text);
    }
    blv_tune_result_destroy(&(*t)->result);
    *t = wide;
    return tune(wide, hooks);
}

blv_error blv_tune(const blv_task_sets *sets, const blv_tune_options *options,
                   blv_tune_result **result, const blv_task_hooks *hooks, blv_message *why) {
    if (!sets || !sets->train || !result)
        return blv_explain(why, BLV_E_ARGUMENT, "tune: a NULL argument");
    *result = NULL;
    const double begin = blv_wall_clock();
    if (sets->val && blv_dataset_view_of(sets->train)->label)
        BLV_CHECK(blv_expect_all_classes(sets, why));
    blv_tuning *t = new_tuning(sets, why);
    if (!t)
        return blv_explain_memory(why);
    blv_error error =
        blv_caller_struct(&t->options, sizeof t->options, options, "blv_tune_options", why);
    if (error == BLV_OK)
        error = tune(t, hooks);
    if ((error == BLV_E_FAILED || error == BLV_E_ORACLE) &&
        blv_dataset_view_of(sets->train)->precision == BLV_F32)
        error = tune_in_f64(&t, hooks, why);
    t->result.seconds = sets->seconds + blv_wall_clock() - begin;
    if (error == BLV_OK || (error == BLV_E_STOPPED && t->result.model))
        *result = &t->result;
    else
        blv_tune_result_destroy(&t->result);
    return error;
}

void blv_tune_result_destroy(blv_tune_result *result) {
    if (!result)
        return;
    blv_tuning *t = (blv_tuning *)(void *)result; /* its first member */
    blv_dataset_release(t->train);
    blv_dataset_release(t->val);
    blv_dataset_release(t->test);
    blv_dataset_release(t->raw);
    blv_arena_free(&t->arena);
    free(t);
}
