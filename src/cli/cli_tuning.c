/* Penalties of a linear model.
 *
 *   one for all   the loss on all validation rows along a grid of penalties, then a parabola
 *   many          the problem l2reg on the validation rows without the stopping rows. It starts at
 *                 the largest single penalty that is not clearly worse than the best one: where
 *                 penalties are too small to matter, their gradient says nothing. After every look
 *                 the loss on the stopping rows is compared with the lowest so far, and `patience`
 *                 looks without progress end the run. The penalties are kept where their gain on
 *                 the stopping rows is clear beside its standard error. */
#include "cli_tuning.h"
#include "cli_work.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLICES = 100, ITERATIONS = 5000, EXACT_ITERATIONS = 50, EVERY = 50, WORSE_IN_A_ROW = 2 };
enum { MOST_TRIED = 40 };

static const double highest_penalty = 1e3, first_penalty = 1.0, lowest_penalty = 1e-9;
static const double search_tolerance = 1e-5;
static const double range_of_many = 1.0;
static const double clear_gain = 1.5;           /* in standard errors */
static const double decade = 2.302585092994046; /* in the logarithm */

static size_t columns_of(const blv_dataset *set) {
    return blv_dataset_view_of(set)->columns;
}

/* ---- Problems ---- */

static int make_problem(const cli_tuning *t, blv_dataset *train, const blv_l2reg_setting *setting,
                        blv_problem **problem) {
    const blv_sets sets = {.size = sizeof sets, .train = train, .val = t->fit, .test = t->stop};
    blv_problem_options options = {.size = sizeof(blv_problem_options),
                                   .precision = t->learning->reading.precision,
                                   .threads = t->learning->threads};
    blv_message why = {0};
    blv_error error = blv_l2reg_create(&sets, setting, &options, problem, &why);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}

static blv_l2reg_setting one_for_all(void) {
    return (blv_l2reg_setting){.size = sizeof(blv_l2reg_setting),
                               .penalty = BLV_PENALTY_ONE,
                               .scale = 1.0,
                               .lo = -INFINITY,
                               .hi = INFINITY};
}

/* Far below the single penalty only where there are rows enough to tell that from overfitting. */
static blv_l2reg_setting many_penalties(const cli_tuning *t) {
    const bool few = t->penalties_asked <= blv_dataset_view_of(t->fit)->rows;
    const double below = few ? t->range : fmin(range_of_many, t->range);
    return (blv_l2reg_setting){.size = sizeof(blv_l2reg_setting),
                               .penalty = t->kind,
                               .group = t->group,
                               .scale = t->start,
                               .lo = fmin(-below, log(t->single / t->start)),
                               .hi = t->range};
}

/* ---- Losses of rows ---- */

static int row_losses(const cli_tuning *t, const blv_dataset *set, const double *weights,
                      double *loss) {
    const blv_dataset_view *v = blv_dataset_view_of(set);
    double *p = cli_alloc(v->rows * v->classes, sizeof *p);
    int code = cli_answer(set, weights, t->scores, p);
    for (size_t i = 0; code == CLI_DONE && i < v->rows; i++)
        loss[i] = -log(fmax(p[i * v->classes + (size_t)v->label[i]], DBL_MIN));
    free(p);
    return code;
}

/* The mean of `from` - `to`, row by row, and its standard error. */
static double mean_gain(size_t rows, const double *from, const double *to, double *error) {
    double mean = 0.0, square = 0.0, n = (double)rows;
    for (size_t i = 0; i < rows; i++)
        mean += (from[i] - to[i]) / n;
    for (size_t i = 0; i < rows; i++)
        square += (from[i] - to[i] - mean) * (from[i] - to[i] - mean);
    *error = rows > 1 ? sqrt(square / (n - 1.0) / n) : INFINITY;
    return mean;
}

/* ---- One penalty for all ---- */

typedef struct tried {
    double logarithm, loss;
    double *losses; /* of the validation rows */
} tried;

typedef struct search {
    const cli_tuning *tuning;
    const blv_problem *problem; /* x: the logarithm of the penalty */
    double *y;                  /* model of the last penalty tried: the next one starts there */
    double best, best_loss;     /* logarithm of the penalty, loss on all validation rows */
    double *best_y;
    size_t dim_y, rows;
    tried all[MOST_TRIED];
    size_t count;
} search;

static void say_penalty(const search *s, double logarithm) {
    char text[80];
    if (isfinite(s->best_loss))
        snprintf(text, sizeof text, "one penalty for all: %.2g; best so far %.2g, loss %.4f",
                 exp(logarithm), exp(s->best), s->best_loss);
    else
        snprintf(text, sizeof text, "one penalty for all: %.2g", exp(logarithm));
    cli_watch_say(text);
}

static int try_penalty(search *s, double logarithm, double *loss) {
    const cli_tuning *t = s->tuning;
    say_penalty(s, logarithm);
    int code = cli_train(s->problem, &logarithm, search_tolerance, s->y);
    if (code != CLI_DONE)
        return code;
    tried *now = &s->all[s->count];
    *now = (tried){logarithm, 0.0, cli_alloc(s->rows, sizeof *now->losses)};
    s->count++;
    double *weights = cli_weights(t->sets->train, s->y, t->scores);
    code = row_losses(t, t->sets->val, weights, now->losses);
    free(weights);
    for (size_t i = 0; i < s->rows; i++)
        now->loss += now->losses[i] / (double)s->rows;
    *loss = now->loss;
    if (code == CLI_DONE && *loss < s->best_loss) {
        s->best = logarithm;
        s->best_loss = *loss;
        memcpy(s->best_y, s->y, s->dim_y * sizeof *s->y);
    }
    return code;
}

/* Goes along the grid until the loss has been worse than the best a few times in a row. */
static int walk(search *s, double from, double to, double step) {
    int worse = 0, code = CLI_DONE;
    size_t steps = (size_t)(fabs(to - from) / fabs(step) + 0.5);
    for (size_t i = 0; i <= steps && worse < WORSE_IN_A_ROW && !cli_watch_signalled(); i++) {
        double loss = NAN;
        code = try_penalty(s, from + (double)i * step, &loss);
        if (code != CLI_DONE)
            return code;
        worse = loss > s->best_loss ? worse + 1 : 0;
    }
    return code;
}

/* The lowest point of the parabola through the best point of the grid and its neighbours. */
static int refine(search *s) {
    const double step = 0.5 * decade;
    double middle = s->best, at_middle = s->best_loss, left = NAN, right = NAN;
    if (cli_watch_signalled())
        return CLI_DONE;
    memcpy(s->y, s->best_y, s->dim_y * sizeof *s->y);
    int code = try_penalty(s, middle - step, &left);
    if (code == CLI_DONE)
        code = try_penalty(s, middle + step, &right);
    double curvature = code == CLI_DONE ? left - 2.0 * at_middle + right : 0.0;
    if (!(curvature > 0.0))
        return code;
    double lowest = middle + 0.5 * step * (left - right) / curvature, loss;
    return try_penalty(s, lowest, &loss);
}

/* The largest penalty whose loss is within a standard error of the lowest: of the loss, not of the
 * difference, which is next to nothing where penalties hardly matter. */
static double largest_not_worse(const search *s) {
    double *nothing = cli_alloc(s->rows, sizeof *nothing), largest = s->best, error = 0.0;
    for (size_t i = 0; i < s->count; i++)
        if (s->all[i].logarithm == s->best)
            mean_gain(s->rows, s->all[i].losses, nothing, &error);
    for (size_t i = 0; i < s->count; i++)
        if (s->all[i].loss <= s->best_loss + error)
            largest = fmax(largest, s->all[i].logarithm);
    free(nothing);
    return largest;
}

static int find_single(cli_tuning *t, const blv_problem *problem) {
    size_t dim_y = blv_problem_definition(problem)->dim_y;
    search s = {.tuning = t,
                .problem = problem,
                .best_loss = INFINITY,
                .dim_y = dim_y,
                .rows = blv_dataset_view_of(t->sets->val)->rows,
                .y = cli_alloc(dim_y, sizeof(double)),
                .best_y = cli_alloc(dim_y, sizeof(double))};
    int code = walk(&s, log(first_penalty), log(lowest_penalty), -decade);
    t->with_none.y =
        cli_alloc(dim_y, sizeof(double)); /* hardly any goes on from the lowest tried */
    memcpy(t->with_none.y, s.y, dim_y * sizeof(double));
    if (code == CLI_DONE && s.best > log(first_penalty) - 0.5 * decade) {
        memset(s.y, 0, dim_y * sizeof *s.y);
        code = walk(&s, log(first_penalty) + decade, log(highest_penalty), decade);
    }
    if (code == CLI_DONE)
        code = refine(&s);
    if (code == CLI_DONE)
        code = cli_train(problem, &s.best, CLI_TRAINED, s.best_y);
    t->single = exp(s.best);
    t->start = exp(largest_not_worse(&s));
    t->with_single.y = s.best_y;
    for (size_t i = 0; i < s.count; i++)
        free(s.all[i].losses);
    free(s.y);
    return code;
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

static int run_solver(cli_tuning *t, const blv_problem *problem, watcher *w) {
    bool exact = cli_drive_is_exact(t->learning);
    cli_drive_plan plan = {.problem = problem,
                           .label = "penalties",
                           .iterations = exact ? EXACT_ITERATIONS : ITERATIONS,
                           .start_y = t->with_single.y,
                           .trace = t->trace,
                           .look = look,
                           .context = w,
                           .every = exact ? 1 : EVERY,
                           .products = exact ? "60" : NULL,
                           .carried = w->numbers,
                           .carried_count = w->count};
    cli_driven end = {0};
    int code = cli_drive(t->learning, &plan, &end);
    t->iterations = end.iterations;
    t->seconds = end.seconds;
    t->certified = end.certified;
    t->certificate = end.certificate;
    t->counts = end.counts;
    t->setup_counts = end.setup_counts;
    t->best_iteration = (uint64_t)w->numbers[BEST_ITERATION];
    cli_driven_free(&end);
    return code;
}

static watcher begin_watch(const cli_tuning *t, const blv_problem_def *def) {
    watcher w = {
        .patience = t->patience, .dim_x = def->dim_x, .count = VECTORS + def->dim_x + def->dim_y};
    w.numbers = cli_alloc(w.count, sizeof *w.numbers);
    w.numbers[BEST_LOSS] = INFINITY;
    memcpy(best_y(&w), t->with_single.y, def->dim_y * sizeof(double));
    return w;
}

static void take_best(cli_tuning *t, const blv_problem_def *def, const watcher *w) {
    t->penalties = def->dim_x;
    t->penalty = cli_alloc(def->dim_x, sizeof *t->penalty);
    for (size_t k = 0; k < def->dim_x; k++)
        t->penalty[k] = t->start * exp(best_x(w)[k]);
    t->with_many.y = cli_alloc(def->dim_y, sizeof *t->with_many.y);
    memcpy(t->with_many.y, best_y(w), def->dim_y * sizeof *t->with_many.y);
}

static int find_many(cli_tuning *t) {
    blv_l2reg_setting setting = many_penalties(t);
    blv_problem *problem = NULL;
    int code = make_problem(t, t->sets->train, &setting, &problem);
    if (code != CLI_DONE)
        return code;
    const blv_problem_def *def = blv_problem_definition(problem);
    watcher w = begin_watch(t, def);
    code = run_solver(t, problem, &w);
    if (code == CLI_DONE) {
        cli_watch_say("training");
        code = cli_train(problem, best_x(&w), CLI_TRAINED, best_y(&w));
    }
    if (code == CLI_DONE)
        take_best(t, def, &w);
    free(w.numbers);
    blv_problem_destroy(problem);
    return code;
}

/* ---- Judging ---- */

static int judge(const cli_tuning *t, cli_tuned *m) {
    free(m->weights);
    m->weights = cli_weights(t->sets->train, m->y, t->scores);
    int code = cli_judge_weights(t->fit, m->weights, t->scores, &m->fit);
    if (code == CLI_DONE)
        code = cli_judge_weights(t->stop, m->weights, t->scores, &m->stop);
    return code == CLI_DONE ? cli_judge_weights(t->sets->test, m->weights, t->scores, &m->test)
                            : code;
}

/* The gain on the stopping rows, row by row, and its standard error. */
static int weigh_gain(cli_tuning *t) {
    size_t rows = blv_dataset_view_of(t->stop)->rows;
    double *before = cli_alloc(rows, sizeof *before), *after = cli_alloc(rows, sizeof *after);
    int code = row_losses(t, t->stop, t->with_single.weights, before);
    if (code == CLI_DONE)
        code = row_losses(t, t->stop, t->with_many.weights, after);
    t->gain = mean_gain(rows, before, after, &t->gain_error);
    t->kept = t->gain > clear_gain * t->gain_error;
    free(before);
    free(after);
    return code;
}

/* ---- Once more, on all rows ---- */

static int train_again(const cli_tuning *t, blv_dataset *rows, const blv_l2reg_setting *setting,
                       const double *x, double *y) {
    blv_problem *problem = NULL;
    int code = make_problem(t, rows, setting, &problem);
    if (code == CLI_DONE)
        code = cli_train(problem, x, CLI_TRAINED, y);
    blv_problem_destroy(problem);
    return code;
}

static void forget_val(cli_tuned *m) {
    m->fit = m->stop = cli_quality_unknown;
}

static int refit(cli_tuning *t) {
    blv_dataset *both = NULL;
    int code = cli_join_rows(t->sets->train, t->sets->val, &both);
    blv_l2reg_setting one = one_for_all(), many = many_penalties(t);
    double none = log(t->none), single = log(t->single);
    double *x = cli_alloc(t->penalties, sizeof *x);
    for (size_t k = 0; k < t->penalties; k++)
        x[k] = log(t->penalty[k] / t->start);
    cli_tuned *models[] = {&t->with_none, &t->with_single, &t->with_many};
    const double *at[] = {&none, &single, x};
    for (size_t i = 0; code == CLI_DONE && i < 3; i++) {
        if (!models[i]->y)
            continue;
        code = train_again(t, both, i < 2 ? &one : &many, at[i], models[i]->y);
        if (code == CLI_DONE)
            code = judge(t, models[i]);
        forget_val(models[i]);
    }
    free(x);
    blv_dataset_release(both);
    return code;
}

/* ---- All of it ---- */

/* Every row of VAL is for fitting or for stopping. */
static int split_val(cli_tuning *t) {
    size_t rows = blv_dataset_view_of(t->sets->val)->rows, slices = rows < SLICES ? rows : SLICES;
    size_t for_stopping = (size_t)lround(t->stop_share * (double)slices);
    for_stopping = for_stopping > 0 ? for_stopping : 1;
    uint32_t *slice = cli_alloc(rows, sizeof *slice);
    bool *stops = cli_alloc(rows, sizeof *stops), *fits = cli_alloc(rows, sizeof *fits);
    int code = cli_deal_rows(t->sets->val, slices, t->learning->seed, slice);
    for (size_t i = 0; i < rows; i++) {
        stops[i] = slice[i] < for_stopping;
        fits[i] = !stops[i];
    }
    if (code == CLI_DONE)
        code = cli_keep_rows(t->sets->val, fits, &t->fit);
    if (code == CLI_DONE)
        code = cli_keep_rows(t->sets->val, stops, &t->stop);
    free(slice);
    free(stops);
    free(fits);
    return code;
}

static int learn_single_and_none(cli_tuning *t) {
    blv_l2reg_setting setting = one_for_all();
    blv_problem *problem = NULL;
    int code = make_problem(t, t->sets->train, &setting, &problem);
    if (code != CLI_DONE)
        return code;
    t->scores = blv_problem_definition(problem)->dim_y / columns_of(t->sets->train);
    code = cli_work_begin(t->learning->work, t->learning, problem, t->penalties_asked);
    if (code == CLI_DONE)
        code = find_single(t, problem);
    if (code == CLI_DONE) {
        double logarithm = log(lowest_penalty);
        t->none = lowest_penalty;
        cli_watch_say("no penalty");
        code = cli_train(problem, &logarithm, search_tolerance, t->with_none.y);
    }
    blv_problem_destroy(problem);
    if (code == CLI_DONE)
        code = judge(t, &t->with_single);
    return code == CLI_DONE ? judge(t, &t->with_none) : code;
}

/* Where the solver fails, the single penalty is still an answer; it has said why. */
static int learn_many(cli_tuning *t) {
    int code = find_many(t);
    if (code == CLI_FAILED)
        return CLI_DONE;
    if (code == CLI_DONE)
        code = judge(t, &t->with_many);
    return code == CLI_DONE ? weigh_gain(t) : code;
}

int cli_tuning_learn(cli_tuning *t) {
    t->gain = 0.0;
    t->gain_error = NAN;
    int code = split_val(t);
    if (code == CLI_DONE)
        code = learn_single_and_none(t);
    if (code == CLI_DONE && t->kind != BLV_PENALTY_ONE)
        code = learn_many(t);
    if (code == CLI_DONE && t->refit)
        code = refit(t);
    return code;
}

const cli_tuned *cli_tuning_result(const cli_tuning *t) {
    return t->kept ? &t->with_many : &t->with_single;
}

static void free_tuned(cli_tuned *m) {
    free(m->y);
    free(m->weights);
}

void cli_tuning_free(cli_tuning *t) {
    blv_dataset_release(t->fit);
    blv_dataset_release(t->stop);
    free(t->penalty);
    free_tuned(&t->with_none);
    free_tuned(&t->with_single);
    free_tuned(&t->with_many);
}
