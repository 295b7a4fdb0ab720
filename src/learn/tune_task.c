/* Penalties of a linear model.
 *
 *   one for all   tune_single.c
 *   many          the problem l2reg on the validation rows without the stopping rows. It starts at
 *                 the largest single penalty that is not clearly worse than the best one: where
 *                 penalties are too small to matter, their gradient says nothing. After every look
 *                 the loss on the stopping rows is compared with the lowest so far, and `patience`
 *                 looks without progress end the run. The penalties are kept where their gain on
 *                 the stopping rows is clear beside its standard error. */
#include "base/caller_struct.h"
#include "learn/row_sets.h"
#include "learn/tune_work.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLICES = 100, ITERATIONS = 5000, EXACT_ITERATIONS = 50, EVERY = 50, FEWEST_ROWS = 8 };

static const double range_of_many = 1.0;
static const double clear_gain = 1.5; /* in standard errors */
static const double usual_val_share = 0.2, usual_stop_share = 0.25, usual_range = 7.0;
static const uint64_t usual_patience = 2;

/* ---- Problems ---- */

blv_error blv_tune_problem(const blv_tuning *t, blv_dataset *train,
                           const blv_l2reg_setting *setting, blv_problem **problem) {
    blv_sets sets = {.size = sizeof sets, .train = train, .val = t->fit, .test = t->stop};
    blv_problem_options options = {.size = sizeof options,
                                   .precision = blv_dataset_view_of(train)->precision,
                                   .threads = t->options.threads};
    return blv_l2reg_create(&sets, setting, &options, problem, t->why);
}

blv_l2reg_setting blv_tune_one_for_all(void) {
    return (blv_l2reg_setting){.size = sizeof(blv_l2reg_setting),
                               .penalty = BLV_PENALTY_ONE,
                               .scale = 1.0,
                               .lo = -INFINITY,
                               .hi = INFINITY};
}

/* Far below the single penalty only where there are rows enough to tell that from overfitting. */
static blv_l2reg_setting many_penalties(const blv_tuning *t) {
    const double range = t->options.range, start = t->result.start;
    const bool few = t->penalty_count <= blv_rows_in(t->fit);
    const double below = few ? range : fmin(range_of_many, range);
    return (blv_l2reg_setting){.size = sizeof(blv_l2reg_setting),
                               .penalty = t->options.penalty,
                               .group = t->group,
                               .scale = start,
                               .lo = fmin(-below, log(t->result.single / start)),
                               .hi = range};
}

/* ---- Losses of rows ---- */

blv_error blv_tune_row_losses(const blv_tuning *t, const blv_dataset *set, const double *weights,
                              double *loss) {
    const blv_dataset_view *v = blv_dataset_view_of(set);
    double *p = calloc(v->rows * v->classes + 1, sizeof *p);
    if (!p)
        return blv_explain_memory(t->why);
    blv_error error = blv_fit_answer(set, weights, t->scores, p, t->why);
    for (size_t i = 0; error == BLV_OK && i < v->rows; i++)
        loss[i] = -log(fmax(p[i * v->classes + (size_t)v->label[i]], DBL_MIN));
    free(p);
    return error;
}

double blv_tune_mean_gain(size_t rows, const double *from, const double *to, double *error) {
    double mean = 0.0, square = 0.0, n = (double)rows;
    for (size_t i = 0; i < rows; i++)
        mean += (from[i] - to[i]) / n;
    for (size_t i = 0; i < rows; i++)
        square += (from[i] - to[i] - mean) * (from[i] - to[i] - mean);
    *error = rows > 1 ? sqrt(square / (n - 1.0) / n) : INFINITY;
    return mean;
}

/* ---- Many penalties ---- */

/* What is known from one look to the next, as numbers, so that it can be saved with the run. */
enum { BEST_LOSS, WITHOUT_PROGRESS, BEST_ITERATION, VECTORS };

typedef struct watcher {
    uint64_t patience;
    size_t dim_x, count;
    double *numbers; /* best loss on the stopping rows and so on, then the best x, the best y */
} watcher;

static double *best_x(const watcher *w) {
    return w->numbers + VECTORS;
}

static double *best_y(const watcher *w) {
    return w->numbers + VECTORS + w->dim_x;
}

/* measures: val_loss, val_accuracy, test_loss, test_accuracy; the stopping rows are its test rows.
 */
static int look(void *context, const blv_progress *p) {
    watcher *w = context;
    if (p->measure_count < 3 || isnan(p->measures[2]))
        return 0;
    if (p->measures[2] < w->numbers[BEST_LOSS]) {
        w->numbers[BEST_LOSS] = p->measures[2];
        w->numbers[WITHOUT_PROGRESS] = 0.0;
        w->numbers[BEST_ITERATION] = (double)p->iteration;
        blv_run_read(p->run, "x", best_x(w));
        blv_run_read(p->run, "y", best_y(w));
        return 0;
    }
    w->numbers[WITHOUT_PROGRESS] += 1.0;
    return w->numbers[WITHOUT_PROGRESS] >= (double)w->patience;
}

static blv_error run_solver(blv_tuning *t, const blv_problem *problem, watcher *w) {
    bool exact = blv_task_is_exact(&t->task);
    blv_tune_result *r = &t->result;
    blv_task_plan plan = {
        .problem = problem,
        .which = {.label = "penalties", .carried = w->numbers, .carried_count = w->count},
        .iterations = exact ? EXACT_ITERATIONS : ITERATIONS,
        .start_y = t->single.y,
        .look = look,
        .context = w,
        .every = exact ? 1 : EVERY,
        .products = exact ? "60" : NULL};
    blv_run_end end = {0};
    blv_error error = blv_task_solve(&t->task, &plan, &end);
    r->iterations = end.iterations;
    r->seconds = end.seconds;
    r->certified = end.certified;
    r->certificate = end.certificate;
    r->counts = end.counts;
    r->setup_counts = end.setup_counts;
    r->best_iteration = (uint64_t)w->numbers[BEST_ITERATION];
    blv_run_end_free(&end);
    return error;
}

static blv_error take_best(blv_tuning *t, const watcher *w) {
    double *learned = blv_arena_alloc(&t->arena, w->dim_x, sizeof *learned);
    double *y = blv_arena_alloc(&t->arena, t->dim_y, sizeof *y);
    if (!learned || !y)
        return blv_explain_memory(t->why);
    for (size_t k = 0; k < w->dim_x; k++)
        learned[k] = t->result.start * exp(best_x(w)[k]);
    memcpy(y, best_y(w), t->dim_y * sizeof *y);
    t->result.learned = learned;
    t->result.learned_count = w->dim_x;
    t->many.y = y;
    return BLV_OK;
}

static blv_error find_many(blv_tuning *t) {
    blv_l2reg_setting setting = many_penalties(t);
    blv_problem *problem = NULL;
    BLV_CHECK(blv_tune_problem(t, t->train, &setting, &problem));
    size_t dim_x = blv_problem_definition(problem)->dim_x;
    watcher w = {
        .patience = t->options.patience, .dim_x = dim_x, .count = VECTORS + dim_x + t->dim_y};
    w.numbers = calloc(w.count, sizeof *w.numbers);
    blv_error error = w.numbers ? BLV_OK : blv_explain_memory(t->why);
    if (error == BLV_OK) {
        w.numbers[BEST_LOSS] = INFINITY;
        memcpy(best_y(&w), t->single.y, t->dim_y * sizeof(double));
        error = run_solver(t, problem, &w);
    }
    if (error == BLV_OK) {
        blv_task_say(&t->task, "training");
        error = blv_fit(&t->task, problem, best_x(&w), BLV_FIT_TOLERANCE, best_y(&w));
    }
    if (error == BLV_OK)
        error = take_best(t, &w);
    free(w.numbers);
    blv_problem_destroy(problem);
    return error;
}

/* ---- How good they are ---- */

static blv_error judge(blv_tuning *t, blv_tuned_model *m, blv_tuned *shown) {
    if (!m->weights)
        m->weights = blv_arena_alloc(&t->arena, t->dim_y, sizeof *m->weights);
    if (!m->weights)
        return blv_explain_memory(t->why);
    blv_fit_weights(t->train, m->y, t->scores, m->weights);
    shown->weights = m->weights;
    BLV_CHECK(blv_fit_quality(t->fit, m->weights, t->scores, &shown->fit, t->why));
    BLV_CHECK(blv_fit_quality(t->stop, m->weights, t->scores, &shown->stop, t->why));
    return blv_fit_quality(t->sets->test, m->weights, t->scores, &shown->test, t->why);
}

/* The gain on the stopping rows, row by row, and its standard error. */
static blv_error weigh_gain(blv_tuning *t) {
    size_t rows = blv_rows_in(t->stop);
    blv_arena arena = {0};
    double *before = blv_arena_alloc(&arena, rows, sizeof *before);
    double *after = blv_arena_alloc(&arena, rows, sizeof *after);
    blv_error error = before && after ? BLV_OK : blv_explain_memory(t->why);
    if (error == BLV_OK)
        error = blv_tune_row_losses(t, t->stop, t->single.weights, before);
    if (error == BLV_OK)
        error = blv_tune_row_losses(t, t->stop, t->many.weights, after);
    if (error == BLV_OK) {
        t->result.gain = blv_tune_mean_gain(rows, before, after, &t->result.gain_error);
        t->result.kept = t->result.gain > clear_gain * t->result.gain_error;
    }
    blv_arena_free(&arena);
    return error;
}

/* ---- Once more, on all rows ---- */

static blv_error train_again(blv_tuning *t, blv_dataset *rows, const blv_l2reg_setting *setting,
                             const double *x, double *y) {
    blv_problem *problem = NULL;
    BLV_CHECK(blv_tune_problem(t, rows, setting, &problem));
    blv_error error = blv_fit(&t->task, problem, x, BLV_FIT_TOLERANCE, y);
    blv_problem_destroy(problem);
    return error;
}

static blv_error refit_on(blv_tuning *t, blv_dataset *both, double *x) {
    blv_tune_result *r = &t->result;
    const blv_l2reg_setting one = blv_tune_one_for_all(), many = many_penalties(t);
    const double none = log(r->none), single = log(r->single);
    for (size_t k = 0; k < r->learned_count; k++)
        x[k] = log(r->learned[k] / r->start);
    struct {
        blv_tuned_model *model;
        blv_tuned *shown;
        const blv_l2reg_setting *setting;
        const double *x;
    } all[] = {{&t->none, &r->with_none, &one, &none},
               {&t->single, &r->with_single, &one, &single},
               {&t->many, &r->with_many, &many, x}};
    for (size_t i = 0; i < 3; i++) {
        if (!all[i].model->y)
            continue;
        BLV_CHECK(train_again(t, both, all[i].setting, all[i].x, all[i].model->y));
        BLV_CHECK(judge(t, all[i].model, all[i].shown));
        all[i].shown->fit = all[i].shown->stop = blv_quality_unknown;
    }
    return BLV_OK;
}

static blv_error refit(blv_tuning *t) {
    blv_dataset *both = NULL;
    double *x = calloc(t->result.learned_count + 1, sizeof *x);
    blv_error error =
        x ? blv_dataset_join(t->train, t->val, &both, t->why) : blv_explain_memory(t->why);
    if (error == BLV_OK)
        error = refit_on(t, both, x);
    free(x);
    blv_dataset_release(both);
    return error;
}

/* ---- The request ---- */

static blv_error reject(const blv_tuning *t, const char *text) {
    return blv_explain(t->why, BLV_E_VALUE, "tune: %s", text);
}

static bool is_share(double value) {
    return value > 0.0 && value < 1.0;
}

static blv_error check_options(blv_tuning *t) {
    blv_tune_options *o = &t->options;
    o->val_share = o->val_share == 0.0 ? usual_val_share : o->val_share; /* keeps NaN */
    o->stop_share = o->stop_share == 0.0 ? usual_stop_share : o->stop_share;
    o->range = o->range == 0.0 ? usual_range : o->range;
    o->patience = o->patience > 0 ? o->patience : usual_patience;
    if (o->penalty < BLV_PENALTY_PER_FEATURE || o->penalty > BLV_PENALTY_GROUPS)
        return reject(t, "there is no such kind of penalty");
    if (!is_share(o->val_share) || !is_share(o->stop_share))
        return reject(t, "expected shares above 0 and below 1");
    if (!(o->range > 0.0 && isfinite(o->range)))
        return reject(t, "expected a range above 0");
    return BLV_OK;
}

/* ---- All of it ---- */

/* Without validation rows a share of train replaces them, each class alike. */
static blv_error take_rows(blv_tuning *t) {
    const blv_task_sets *s = t->sets;
    const double sizes[] = {1.0 - t->options.val_share, t->options.val_share};
    blv_dataset *parts[2] = {NULL, NULL};
    if (s->val) {
        t->train = blv_dataset_retain(s->train);
        t->val = blv_dataset_retain(s->val);
    } else {
        BLV_CHECK(blv_dataset_split(s->train, sizes, 2, true, t->options.seed, parts, t->why));
        t->train = parts[0];
        t->val = parts[1];
    }
    if (blv_rows_in(t->val) >= FEWEST_ROWS)
        return BLV_OK;
    return blv_explain(t->why, BLV_E_VALUE,
                       "%s: %zu validation rows are too few; expected at least %d",
                       s->val ? s->val_name : s->train_name, blv_rows_in(t->val), FEWEST_ROWS);
}

/* Every validation row is for fitting or for stopping. */
static blv_error split_val(blv_tuning *t) {
    size_t rows = blv_rows_in(t->val), slices = rows < SLICES ? rows : SLICES;
    size_t for_stopping = (size_t)lround(t->options.stop_share * (double)slices);
    for_stopping = for_stopping > 0 ? for_stopping : 1;
    blv_arena arena = {0};
    uint32_t *slice = blv_arena_alloc(&arena, rows, sizeof *slice);
    bool *stops = blv_arena_alloc(&arena, rows, sizeof *stops);
    bool *fits = blv_arena_alloc(&arena, rows, sizeof *fits);
    blv_error error = slice && stops && fits
                          ? blv_deal_rows(t->val, slices, t->options.seed, slice, t->why)
                          : blv_explain_memory(t->why);
    for (size_t i = 0; error == BLV_OK && i < rows; i++) {
        stops[i] = slice[i] < for_stopping;
        fits[i] = !stops[i];
    }
    if (error == BLV_OK)
        error = blv_keep_rows(t->val, fits, &t->fit, t->why);
    if (error == BLV_OK)
        error = blv_keep_rows(t->val, stops, &t->stop, t->why);
    blv_arena_free(&arena);
    return error;
}

static blv_error learn_single_and_none(blv_tuning *t) {
    blv_l2reg_setting setting = blv_tune_one_for_all();
    const blv_task_sets now = {.train = t->train, .val = t->val, .test = t->sets->test};
    blv_problem *problem = NULL;
    BLV_CHECK(blv_tune_problem(t, t->train, &setting, &problem));
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_task_start start = {.task = "tune",
                            .problem = "l2reg",
                            .dim_x = t->penalty_count,
                            .dim_y = def->dim_y,
                            .precision = def->precision,
                            .fingerprint = blv_task_sets_fingerprint(&now)};
    t->dim_y = def->dim_y;
    t->scores = def->dim_y / blv_dataset_view_of(t->train)->columns;
    blv_error error = blv_task_start_work(&t->task, &start, problem);
    if (error == BLV_OK)
        error = blv_tune_find_single(t, problem);
    blv_problem_destroy(problem);
    if (error == BLV_OK)
        error = judge(t, &t->single, &t->result.with_single);
    return error == BLV_OK ? judge(t, &t->none, &t->result.with_none) : error;
}

/* Where the solver fails, the single penalty is still an answer. */
static blv_error learn_many(blv_tuning *t) {
    blv_message *why = t->why, *task_why = t->task.why;
    t->why = t->task.why = &t->result.failure;
    blv_error error = find_many(t);
    t->why = why;
    t->task.why = task_why;
    if (error == BLV_E_FAILED || error == BLV_E_ORACLE) {
        if (t->task.hooks.note)
            t->task.hooks.note(t->task.hooks.context, t->result.failure.text);
        return BLV_OK;
    }
    if (error != BLV_OK)
        return blv_explain(why, error, "%s", t->result.failure.text);
    t->result.failure.text[0] = '\0';
    BLV_CHECK(judge(t, &t->many, &t->result.with_many));
    return weigh_gain(t);
}

static double *copy_numbers(blv_tuning *t, const double *numbers, size_t count) {
    double *copy = blv_arena_alloc(&t->arena, count, sizeof *copy);
    return copy ? memcpy(copy, numbers, count * sizeof *copy) : NULL;
}

/* Names are those of the training rows, which stay as long as the result. */
static blv_error make_model(blv_tuning *t) {
    const blv_dataset_view *train = blv_dataset_view_of(t->train);
    const double *from = t->result.chosen->weights;
    size_t features = t->sets->features, columns = features + 1;
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
                           .recipe = blv_dataset_recipe(t->train)};
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

static blv_error tune(blv_tuning *t, const blv_task_hooks *hooks) {
    const blv_tune_options *o = &t->options;
    blv_tune_result *r = &t->result;
    t->task = (blv_task){.solver = o->solver,
                         .settings = o->settings,
                         .setting_count = o->setting_count,
                         .seed = o->seed,
                         .no_certificate = o->no_certificate};
    BLV_CHECK(blv_task_open(&t->task, hooks, t->why));
    BLV_CHECK(check_options(t));
    BLV_CHECK(take_rows(t));
    BLV_CHECK(blv_tune_name_penalties(t));
    BLV_CHECK(split_val(t));
    *r = (blv_tune_result){.train_rows = blv_rows_in(t->train),
                           .fit_rows = blv_rows_in(t->fit),
                           .stop_rows = blv_rows_in(t->stop),
                           .gain_error = (double)NAN,
                           .solver = t->task.solver->name,
                           .seed = o->seed};
    BLV_CHECK(learn_single_and_none(t));
    if (o->penalty != BLV_PENALTY_ONE)
        BLV_CHECK(learn_many(t));
    if (o->refit)
        BLV_CHECK(refit(t));
    r->chosen = r->kept ? &r->with_many : &r->with_single;
    BLV_CHECK(make_model(t));
    return t->task.stopped ? blv_explain(t->why, BLV_E_STOPPED, "stopped on request") : BLV_OK;
}

blv_error blv_tune(const blv_task_sets *sets, const blv_tune_options *options,
                   blv_tune_result **result, const blv_task_hooks *hooks, blv_message *why) {
    if (!sets || !sets->train || !result)
        return blv_explain(why, BLV_E_ARGUMENT, "tune: a NULL argument");
    *result = NULL;
    blv_tuning *t = calloc(1, sizeof *t);
    if (!t)
        return blv_explain_memory(why);
    t->sets = sets;
    t->why = why;
    blv_error error =
        blv_caller_struct(&t->options, sizeof t->options, options, "blv_tune_options", why);
    if (error == BLV_OK)
        error = tune(t, hooks);
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
    blv_dataset *held[] = {t->train, t->val, t->fit, t->stop};
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
        blv_dataset_release(held[i]);
    blv_arena_free(&t->arena);
    free(t);
}
