/* Fold k: the problem hyperclean on the rows that are not in part k.
 *
 *   with validation rows   trained on the other training rows, validated on the other validation
 *                          rows; both parts k get their probabilities from the model
 *   without                of the other training rows a share is validated on instead; it wanders
 *                          from fold to fold, so that every row is trained on in some of them */
#include "cli_cleaning.h"
#include "cli_work.h"

#include <inttypes.h>
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
    cli_cleaning *cleaning;
    size_t number, slices;
    const uint32_t *part, *slice, *val_part; /* of each row; slice or val_part */
    bool *trains, *held, *val_used, *val_held;
} fold;

typedef struct fold_result {
    cli_driven end;
    double *weights; /* of the model */
    double loss;     /* on the rows that were held out, whose labels are known to be right */
} fold_result;

static size_t rows_of(const blv_dataset *dataset) {
    return dataset ? blv_dataset_view_of(dataset)->rows : 0;
}

/* ---- Who does what ---- */

static bool in_window(const fold *f, size_t row) {
    size_t width = (size_t)lround(f->cleaning->val_share * (double)f->slices);
    width = width > 0 ? width : 1;
    size_t from = f->number * width % f->slices;
    return (f->slice[row] + f->slices - from) % f->slices < width;
}

static void choose_rows(fold *f) {
    const cli_cleaning *c = f->cleaning;
    for (size_t i = 0; i < c->rows; i++) {
        f->held[i] = f->part[i] == f->number;
        f->val_used[i] = !c->sets->val && !f->held[i] && in_window(f, i);
        f->trains[i] = !f->held[i] && !f->val_used[i];
    }
    for (size_t i = 0; c->sets->val && i < rows_of(c->sets->val); i++) {
        f->val_held[i] = f->val_part[i] == f->number;
        f->val_used[i] = !f->val_held[i];
    }
}

/* ---- One run ---- */

static int make_problem(const fold *f, blv_problem **problem) {
    const cli_cleaning *c = f->cleaning;
    blv_sets sets = {.size = sizeof sets};
    int code = cli_keep_rows(c->sets->train, f->trains, &sets.train);
    if (code == CLI_DONE)
        code = cli_keep_rows(c->sets->val ? c->sets->val : c->sets->train, f->val_used, &sets.val);
    blv_problem_options options = {.size = sizeof(blv_problem_options),
                                   .precision = c->learning->reading.precision,
                                   .threads = c->learning->threads};
    blv_message why = {0};
    blv_error error =
        code == CLI_DONE ? blv_hyperclean_create(&sets, c->ridge, &options, problem, &why) : BLV_OK;
    blv_dataset_release(sets.train);
    blv_dataset_release(sets.val);
    return error == BLV_OK ? code : cli_refuse(error, why.text);
}

static uint64_t iterations(const cli_cleaning *c) {
    if (cli_drive_is_exact(c->learning))
        return c->sets->val ? EXACT_WITH_VAL : EXACT_ALONE;
    return c->sets->val ? OTHERS_WITH_VAL : OTHERS_ALONE;
}

static int run_fold(const fold *f, fold_result *result) {
    const cli_cleaning *c = f->cleaning;
    blv_problem *problem = NULL;
    int code = make_problem(f, &problem);
    if (code != CLI_DONE)
        return code;
    char label[64], row_head[96];
    snprintf(label, sizeof label, "fold %zu/%zu", f->number + 1, c->folds);
    snprintf(row_head, sizeof row_head, "\"fold\":%zu,\"ridge\":%.17g,", f->number + 1, c->ridge);
    cli_drive_plan plan = {.problem = problem,
                           .label = label,
                           .iterations = iterations(c),
                           .products = cli_drive_is_exact(c->learning) ? "30" : NULL,
                           .row_head = row_head};
    code = cli_work_begin(c->learning->work, c->learning, problem,
                          blv_problem_definition(problem)->dim_x);
    if (code == CLI_DONE)
        code = cli_drive(c->learning, &plan, &result->end);
    if (code == CLI_DONE && cli_watch_signalled()) {
        cli_complain("stopped before all folds were done: nothing is written");
        code = CLI_FAILED;
    }
    if (code == CLI_DONE)
        result->weights = cli_weights(c->sets->train, result->end.y, c->classes);
    blv_problem_destroy(problem);
    return code;
}

static void free_result(fold_result *result) {
    cli_driven_free(&result->end);
    free(result->weights);
    *result = (fold_result){0};
}

/* ---- What the model says of the rows that it has not seen ---- */

/* Puts the answers for the chosen rows of a set into its rows of probability. */
static int answer_held(const blv_dataset *dataset, const bool *held, const double *weights,
                       double *probability) {
    blv_dataset *part = NULL;
    int code = cli_keep_rows(dataset, held, &part);
    if (code != CLI_DONE)
        return code;
    const blv_dataset_view *view = blv_dataset_view_of(part);
    double *p = cli_alloc(view->rows * view->classes, sizeof *p);
    code = cli_answer(part, weights, view->classes, p);
    for (size_t i = 0, next = 0; code == CLI_DONE && i < rows_of(dataset); i++)
        if (held[i])
            memcpy(probability + i * view->classes, p + next++ * view->classes,
                   view->classes * sizeof *p);
    free(p);
    blv_dataset_release(part);
    return code;
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

static int answer_all_held(const fold *f, fold_result *result) {
    cli_cleaning *c = f->cleaning;
    int code = answer_held(c->sets->train, f->held, result->weights, c->probability);
    result->loss = held_loss(c->sets->train, f->held, c->probability);
    if (code != CLI_DONE || !c->sets->val)
        return code;
    code = answer_held(c->sets->val, f->val_held, result->weights, c->val_probability);
    result->loss = held_loss(c->sets->val, f->val_held, c->val_probability);
    return code;
}

/* Adds the fold's weights and its answers to the test rows. */
static int add_result(const fold *f, const fold_result *result, size_t *trained) {
    cli_cleaning *c = f->cleaning;
    c->certificate[f->number] = result->end.certificate;
    for (size_t i = 0, next = 0; i < c->rows; i++) {
        if (!f->trains[i])
            continue;
        c->weight[i] += 1.0 / (1.0 + exp(-result->end.x[next++]));
        trained[i]++;
    }
    if (!c->sets->test)
        return CLI_DONE;
    size_t numbers = rows_of(c->sets->test) * c->classes;
    double *p = cli_alloc(numbers, sizeof *p);
    int code = cli_answer(c->sets->test, result->weights, c->classes, p);
    for (size_t i = 0; code == CLI_DONE && i < numbers; i++)
        c->test_probability[i] += p[i] / (double)c->folds;
    free(p);
    return code;
}

/* ---- All folds ---- */

static void add_counts(blv_counts *sum, const blv_counts *counts) {
    sum->f_grad += counts->f_grad;
    sum->g_grad += counts->g_grad;
    sum->hvp += counts->hvp;
    sum->cross += counts->cross;
    sum->values += counts->values;
}

static int try_ridge(fold *f, double ridge, fold_result *result) {
    cli_cleaning *c = f->cleaning;
    c->ridge = ridge;
    int code = run_fold(f, result);
    c->iterations += result->end.iterations;
    c->seconds += result->end.seconds;
    add_counts(&c->counts, &result->end.counts);
    add_counts(&c->setup_counts, &result->end.setup_counts);
    return code == CLI_DONE ? answer_all_held(f, result) : code;
}

/* Runs the first fold with smaller and smaller ridges. The answers that stay are those of the last
 * one, so the best one is asked again. */
static int find_ridge(fold *f, fold_result *best) {
    double ridge = first_ridge;
    int code = try_ridge(f, ridge, best);
    while (code == CLI_DONE && ridge * ridge_factor >= last_ridge) {
        fold_result next = {0};
        code = try_ridge(f, ridge * ridge_factor, &next);
        bool better = code == CLI_DONE && next.loss < worthwhile * best->loss;
        free_result(better ? best : &next);
        if (!better)
            break;
        *best = next;
        ridge *= ridge_factor;
    }
    f->cleaning->ridge = ridge;
    return code == CLI_DONE ? answer_all_held(f, best) : code;
}

static int learn_fold(fold *f, size_t *trained) {
    cli_cleaning *c = f->cleaning;
    fold_result result = {0};
    choose_rows(f);
    cli_watch_piece(f->number, c->folds);
    int code = isnan(c->ridge) ? find_ridge(f, &result) : try_ridge(f, c->ridge, &result);
    if (code == CLI_DONE)
        code = add_result(f, &result, trained);
    free_result(&result);
    return code;
}

static int deal(const cli_cleaning *c, fold *f, uint32_t *part, uint32_t *slice,
                uint32_t *val_part) {
    uint64_t seed = c->learning->seed;
    int code = cli_deal_rows(c->sets->train, c->folds, seed, part);
    if (code == CLI_DONE && !c->sets->val)
        code = cli_deal_rows(c->sets->train, f->slices, seed + 1, slice);
    if (code == CLI_DONE && c->sets->val)
        code = cli_deal_rows(c->sets->val, c->folds, seed + 1, val_part);
    f->part = part;
    f->slice = slice;
    f->val_part = val_part;
    return code;
}

static void mean_weights(cli_cleaning *c, const size_t *trained) {
    for (size_t i = 0; i < c->rows; i++)
        c->weight[i] = trained[i] > 0 ? c->weight[i] / (double)trained[i] : (double)NAN;
}

static void make_room(cli_cleaning *c) {
    const blv_dataset_view *train = blv_dataset_view_of(c->sets->train);
    c->rows = train->rows;
    c->classes = train->classes;
    c->weight = cli_alloc(c->rows, sizeof *c->weight);
    c->certificate = cli_alloc(c->folds, sizeof *c->certificate);
    c->probability = cli_alloc(c->rows * c->classes, sizeof(double));
    c->val_probability = cli_alloc(rows_of(c->sets->val) * c->classes, sizeof(double));
    c->test_probability = cli_alloc(rows_of(c->sets->test) * c->classes, sizeof(double));
}

int cli_cleaning_learn(cli_cleaning *cleaning) {
    make_room(cleaning);
    size_t rows = cleaning->rows, val_rows = rows_of(cleaning->sets->val);
    size_t most = rows > val_rows ? rows : val_rows;
    uint32_t *part = cli_alloc(rows, sizeof *part), *slice = cli_alloc(rows, sizeof *slice);
    uint32_t *val_part = cli_alloc(val_rows, sizeof *val_part);
    size_t *trained = cli_alloc(rows, sizeof *trained);
    fold f = {.cleaning = cleaning,
              .slices = rows < MOST_SLICES ? rows : MOST_SLICES,
              .trains = cli_alloc(rows, sizeof(bool)),
              .held = cli_alloc(rows, sizeof(bool)),
              .val_used = cli_alloc(most, sizeof(bool)),
              .val_held = cli_alloc(val_rows, sizeof(bool))};
    int code = deal(cleaning, &f, part, slice, val_part);
    for (; code == CLI_DONE && f.number < cleaning->folds; f.number++)
        code = learn_fold(&f, trained);
    mean_weights(cleaning, trained);
    free(f.trains);
    free(f.held);
    free(f.val_used);
    free(f.val_held);
    free(part);
    free(slice);
    free(val_part);
    free(trained);
    return code;
}

void cli_cleaning_free(cli_cleaning *cleaning) {
    free(cleaning->weight);
    free(cleaning->certificate);
    free(cleaning->probability);
    free(cleaning->val_probability);
    free(cleaning->test_probability);
}
