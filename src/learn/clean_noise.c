/* Which label becomes which: the problem label-noise, from a safe start.
 *
 *   1. the ridge by decades, with the noise that is expected; for sparse rows less noise; the
 * weight of trusted rows
 *   2. the solver on ridge, weight and noise, with the gradient of the held-out loss in them
 *   3. again with other noise, where more rows look wrong than are said to be
 *
 * Trusted rows do not say where the noise starts: what a model confuses is not what the labels do,
 * and a start from it takes classes that overlap for wrong labels. */
#include "learn/clean_noise.h"
#include "learn/row_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 10, OTHER_ITERATIONS = 500, AGAIN = 2 };
static const double look_wrong = 0.05; /* share of rows, beyond that of wrong labels */
static const double most_wrong = 0.45; /* or a class would be that of its wrong labels */
static const double expected_wrong = 0.2, least_wrong = 1e-4, prior_rows = 10.0;
static const double lowest_ridge = 1e-9, decade = 2.302585092994046;
static const double little_gain = 5e-3, little_run_gain = 1e-2;
static const double most_certified = 1e7; /* products of a row with a model, in each fold */

static const double search_tolerance = 1e-1, sparse_search_tolerance = 1e-2;

/* ---- The problem ---- */

blv_error blv_noise_fit_deal(blv_noise_fit *f, uint64_t seed) {
    blv_message *why = f->cleaning->why;
    BLV_CHECK(blv_deal_rows(f->train, f->folds, seed, f->part, why));
    return f->val ? blv_deal_rows(f->val, f->folds, seed + 1, f->val_part, why) : BLV_OK;
}

blv_error blv_noise_fit_make_problem(blv_noise_fit *f) {
    const blv_cleaning *c = f->cleaning;
    const blv_sets sets = {.size = sizeof sets, .train = f->train, .val = f->val};
    const blv_noise_setting setting = {.size = sizeof setting,
                                       .folds = f->folds,
                                       .part = f->part,
                                       .val_part = f->val_part,
                                       .start = f->start,
                                       .prior = prior_rows,
                                       .noisy_share = blv_clean_noisy_share(f->train, f->val),
                                       .ridge = 2.0 * c->options.ridge};
    blv_problem_options options = {.size = sizeof options,
                                   .precision = blv_dataset_view_of(f->train)->precision,
                                   .threads = c->options.threads};
    blv_problem_destroy(f->problem);
    f->first_logit = sets.val ? 2 : 1;
    return blv_label_noise_create(&sets, &setting, &options, &f->problem, c->why);
}

/* The store knows of the work from here on. */
static blv_error start_work(blv_noise_fit *f) {
    const blv_problem_def *def = blv_problem_definition(f->problem);
    blv_cleaning *c = f->cleaning;
    if (c->wide)
        return BLV_OK;
    blv_task_start start = {.task = "clean",
                            .problem = "label-noise",
                            .dim_x = def->dim_x,
                            .dim_y = def->dim_y,
                            .precision = def->precision,
                            .fingerprint = blv_task_sets_fingerprint(c->given)};
    return blv_task_start_work(&c->task, &start, f->problem);
}

/* A share of wrong labels, alike for all classes. */
static void spread_noise(const blv_noise_fit *f, double wrong, double *noise) {
    const size_t K = f->classes;
    for (size_t i = 0; i < K * K; i++)
        noise[i] = i % (K + 1) == 0 ? 1.0 - wrong : wrong / (double)(K - 1);
}

static void write_logits(const blv_noise_fit *f, const double *noise, double *x) {
    double *logit = x + f->first_logit;
    for (size_t k = 0; k < f->classes; k++)
        for (size_t l = 0; l < f->classes; l++)
            if (l != k)
                *logit++ = log(fmax(noise[k * f->classes + l], 1e-6) / noise[k * f->classes + k]);
}

/* ---- Points ---- */

/* f at x and y. */
static blv_error look(blv_noise_fit *f, double *phi) {
    const blv_problem_def *def = blv_problem_definition(f->problem);
    blv_vec *x = NULL, *y = NULL;
    blv_error error = blv_vec_create(&x, def->space_x);
    if (error == BLV_OK)
        error = blv_vec_create(&y, def->space_y);
    if (error == BLV_OK) {
        blv_vec_write(x, f->x);
        blv_vec_write(y, f->y);
        error = def->upper(def->user, NULL, x, y, phi, NULL, NULL) == 0 ? BLV_OK : BLV_E_ORACLE;
    }
    blv_vec_destroy(x);
    blv_vec_destroy(y);
    return error == BLV_OK ? BLV_OK
                           : blv_explain(f->cleaning->why, error, "%s", blv_error_text(error));
}

/* The held-out loss with x[at] = value; where it is below *least, that is where we are now. */
static blv_error try_value(blv_noise_fit *f, size_t at, double value, double *least, bool *better) {
    const double before = f->x[at];
    double phi;
    blv_task_say(&f->cleaning->task, "%s %.0e", at == 0 ? "ridge" : "weight of trusted rows",
                 exp(value));
    f->x[at] = value;
    BLV_CHECK(
        blv_noise_fit_models(f, f->x, f->dense ? search_tolerance : sparse_search_tolerance, f->y));
    BLV_CHECK(look(f, &phi));
    if (!(f->none > 0.0))
        f->none = phi;
    /* as long as no model tells the classes apart, go on */
    const bool flat = at == 0 && phi > (1.0 - 10.0 * little_gain) * f->none;
    *better = !(phi > (flat ? 1.001 : 1.0 - little_gain) * *least);
    if (phi < *least) {
        *least = phi;
        memcpy(f->best, f->y, f->dim_y * sizeof *f->y);
    } else {
        f->x[at] = before;
    }
    return BLV_OK;
}

static void return_to_best(blv_noise_fit *f) {
    memcpy(f->y, f->best, f->dim_y * sizeof *f->y);
}

/* The penalty that leaves next to nothing of a model grows with the length of the rows. */
static double first_ridge_of(const blv_noise_fit *f) {
    const double columns = (double)(f->dim_y / f->folds / f->classes);
    return f->dense ? pow(10.0, floor(log10(fmax(1.0, columns / 30.0)))) : 1e-2;
}

/* Downwards by decades until that gains little. */
static blv_error search_ridge(blv_noise_fit *f, double *least) {
    bool better = true;
    if (f->cleaning->options.ridge > 0.0) {
        BLV_CHECK(try_value(f, 0, log(2.0 * f->cleaning->options.ridge), least, &better));
        return BLV_OK;
    }
    for (double at = log(first_ridge_of(f)); at > log(lowest_ridge) && better; at -= decade)
        BLV_CHECK(try_value(f, 0, at, least, &better));
    return_to_best(f);
    return BLV_OK;
}

/* Fewer wrong labels than expected, as long as that is better. Models of sparse rows are sure of
 * any label: the solver comes a short way only, and a noise that is too large at its start ends as
 * a record of what they confuse. */
static blv_error search_noise(blv_noise_fit *f, double *least) {
    const size_t K = f->classes, logits = K * (K - 1);
    double *kept = blv_arena_alloc(&f->arena, logits, sizeof *kept);
    bool better = true;
    if (!kept)
        return blv_explain_memory(f->cleaning->why);
    for (double wrong = 0.25 * expected_wrong; better && wrong > least_wrong; wrong *= 0.25) {
        const double before = *least;
        memcpy(kept, f->x + f->first_logit, logits * sizeof *kept);
        spread_noise(f, wrong, f->noise);
        write_logits(f, f->noise, f->x);
        BLV_CHECK(try_value(f, 0, f->x[0], least, &better));
        if (!(*least < before))
            memcpy(f->x + f->first_logit, kept, logits * sizeof *kept);
    }
    return_to_best(f);
    return BLV_OK;
}

static blv_error search_weight(blv_noise_fit *f, double *least) {
    for (bool better = true; better && f->x[1] < 3.0 * decade;)
        BLV_CHECK(try_value(f, 1, f->x[1] + 0.6 * decade, least, &better));
    return_to_best(f);
    return BLV_OK;
}

double blv_clean_products(const blv_dataset *set, size_t folds) {
    const blv_dataset_view *v = blv_dataset_view_of(set);
    const double entries = blv_entries_in(set) + (v->dense ? 0.0 : (double)v->rows);
    return entries * (double)v->classes * (double)folds;
}

/* ---- The run ---- */

static void add_counts(blv_counts *sum, const blv_counts *counts) {
    sum->f_grad += counts->f_grad;
    sum->g_grad += counts->g_grad;
    sum->hvp += counts->hvp;
    sum->cross += counts->cross;
    sum->values += counts->values;
}

/* Ends the run where an iteration brings next to nothing. context: the loss after the last one. */
static int gains_little(void *context, const blv_progress *p) {
    double *last = context;
    const bool little = p->iteration > 1 && *last - p->f < little_run_gain * fabs(p->f);
    *last = p->f;
    return little;
}

static blv_error run_solver(blv_noise_fit *f) {
    blv_cleaning *c = f->cleaning;
    blv_clean_result *r = &c->result;
    blv_run_end end = {0};
    double last = INFINITY;
    blv_task_plan plan = {
        .problem = f->problem,
        .which = {.label = "noise", .pieces = 1, .carried = &last, .carried_count = 1},
        .look = blv_task_is_exact(&c->task) ? gains_little : NULL,
        .context = &last,
        .every = 1,
        .iterations = blv_task_is_exact(&c->task) ? ITERATIONS : OTHER_ITERATIONS,
        .start_x = f->x,
        .start_y = f->y,
        .uncertified = blv_clean_products(f->train, f->folds) > most_certified,
        .products = "80",
        .solve_tol = "1e-3"};
    blv_error error = blv_task_solve(&c->task, &plan, &end);
    if (error == BLV_OK)
        error = blv_clean_stopped(c);
    if (error == BLV_OK) {
        memcpy(f->x, end.x, f->dim_x * sizeof *f->x);
        memcpy(f->y, end.y, f->dim_y * sizeof *f->y);
        r->iterations += end.iterations;
        add_counts(&r->counts, &end.counts);
        add_counts(&r->setup_counts, &end.setup_counts);
        r->certified = end.certified;
        r->certificate = end.certificate;
    }
    blv_run_end_free(&end);
    return error;
}

/* ---- All of it ---- */

blv_error blv_noise_fit_open(blv_noise_fit *f, blv_cleaning *c, blv_dataset *train,
                             blv_dataset *val) {
    const blv_dataset_view *v = blv_dataset_view_of(train);
    const size_t K = v->classes;
    *f = (blv_noise_fit){.cleaning = c,
                         .train = train,
                         .val = val,
                         .dense = v->dense != NULL,
                         .classes = K,
                         .folds = c->options.folds,
                         .dim_x = 2 + K * (K - 1),
                         .dim_y = c->options.folds * K * v->columns};
    f->part = blv_arena_alloc(&f->arena, v->rows + 1, sizeof *f->part);
    f->val_part = blv_arena_alloc(&f->arena, blv_rows_in(val) + 1, sizeof *f->val_part);
    f->start = blv_arena_alloc(&f->arena, K * K, sizeof *f->start);
    f->noise = blv_arena_alloc(&f->arena, K * K, sizeof *f->noise);
    f->x = blv_arena_alloc(&f->arena, f->dim_x, sizeof *f->x);
    f->y = blv_arena_alloc(&f->arena, f->dim_y, sizeof *f->y);
    f->best = blv_arena_alloc(&f->arena, f->dim_y, sizeof *f->best);
    if (f->arena.failed)
        return blv_explain_memory(c->why);
    spread_noise(f, expected_wrong, f->start);
    return blv_noise_fit_deal(f, c->options.seed);
}

void blv_noise_fit_close(blv_noise_fit *f) {
    blv_problem_destroy(f->problem);
    blv_arena_free(&f->arena);
}

blv_error blv_noise_fit_learn(blv_noise_fit *f) {
    double least = INFINITY;
    BLV_CHECK(blv_noise_fit_make_problem(f));
    BLV_CHECK(start_work(f));
    write_logits(f, f->start, f->x);
    BLV_CHECK(blv_fit_gradient(&f->cleaning->task, f->problem, f->x, &f->gradient));
    BLV_CHECK(search_ridge(f, &least));
    if (!f->dense)
        BLV_CHECK(search_noise(f, &least));
    if (f->val)
        BLV_CHECK(search_weight(f, &least));
    f->dim_x = f->first_logit + f->classes * (f->classes - 1);
    return run_solver(f);
}

/* ---- Models and their answers ---- */

void blv_noise_fit_expect(const blv_noise_fit *f, double ridge, double trusted_weight, double *x) {
    x[0] = log(2.0 * ridge);
    if (f->val)
        x[1] = log(trusted_weight);
    write_logits(f, f->start, x);
}

blv_error blv_noise_fit_models(const blv_noise_fit *f, const double *x, double tolerance,
                               double *y) {
    BLV_CHECK(blv_fit(&f->cleaning->task, f->problem, x, tolerance * f->gradient, y));
    return blv_clean_stopped(f->cleaning);
}

blv_error blv_noise_fit_answer(const blv_noise_fit *f, const double *y, const blv_dataset *set,
                               const uint32_t *part, double *probability) {
    const blv_cleaning *c = f->cleaning;
    const size_t K = f->classes, model = f->dim_y / f->folds, rows = blv_rows_in(set);
    if (rows == 0)
        return BLV_OK;
    double *weights = malloc(model * sizeof *weights), *p = malloc(rows * K * sizeof *p);
    blv_error error = weights && p ? BLV_OK : blv_explain_memory(c->why);
    memset(probability, 0, rows * K * sizeof *p);
    for (size_t m = 0; error == BLV_OK && m < f->folds; m++) {
        blv_fit_weights(set, y + m * model, K, weights);
        error = blv_fit_answer(set, weights, K, p, c->why);
        for (size_t i = 0; error == BLV_OK && i < rows * K; i++)
            if (!part || part[i / K] == m)
                probability[i] += p[i] / (part ? 1.0 : (double)f->folds);
    }
    free(weights);
    free(p);
    return error;
}

void blv_noise_fit_add_weights(const blv_noise_fit *f, const double *y, double share,
                               double *weights) {
    const size_t K = f->classes, model = f->dim_y / f->folds, columns = model / K;
    for (size_t m = 0; m < f->folds; m++)
        for (size_t i = 0; i < model; i++) {
            const size_t to = f->dense ? i : i % K * columns + i / K;
            weights[to] += share * y[m * model + i] / (double)f->folds;
        }
}

/* ---- Again ---- */

/* What the models of this deal alone say. */
static blv_error judge(blv_noise_fit *f, blv_wrong_share *found, double *S) {
    blv_clean_result *r = &f->cleaning->result;
    BLV_CHECK(blv_noise_fit_answer(f, f->y, f->train, f->part, r->probability));
    BLV_CHECK(blv_noise_fit_answer(f, f->y, f->val, f->val_part, r->val_probability));
    return blv_clean_share(f->cleaning, found, S);
}

/* Where more rows look wrong than the likelihood says, the models may have learned wrong labels as
 * if classes overlapped: they learn again with as many wrong labels as rows look wrong, a few
 * times, and the likeliest are kept. */
blv_error blv_noise_fit_learn_again(blv_noise_fit *f) {
    blv_cleaning *c = f->cleaning;
    const size_t K = f->classes, rows = blv_rows_in(f->train), trusted = blv_rows_in(f->val);
    blv_arena arena = {0};
    double *S = blv_arena_alloc(&arena, K * K, sizeof *S);
    double *x = blv_arena_alloc(&arena, f->dim_x, sizeof *x);
    blv_wrong_share best = {0}, next;
    blv_error error = arena.failed ? blv_explain_memory(c->why) : judge(f, &best, S);
    next = best;
    if (error == BLV_OK) {
        memcpy(x, f->x, f->dim_x * sizeof *x);
        memcpy(f->best, f->y, f->dim_y * sizeof *f->y);
    }
    for (int i = 0; error == BLV_OK && best.apart > best.share + look_wrong && i < AGAIN; i++) {
        const double share = fmin(next.apart, most_wrong);
        for (size_t k = 0; k < K * K; k++)
            S[k] = k % (K + 1) == 0 ? 1.0 - share : share * S[k];
        blv_task_say(&c->task, "with %.0f%% wrong labels", 100.0 * share);
        write_logits(f, S, f->x);
        error = blv_noise_fit_models(f, f->x, BLV_NOISE_TOLERANCE, f->y);
        if (error == BLV_OK)
            error = judge(f, &next, S);
        if (error == BLV_OK && next.likelihood > best.likelihood) {
            best.likelihood = next.likelihood;
            memcpy(x, f->x, f->dim_x * sizeof *x);
            memcpy(f->best, f->y, f->dim_y * sizeof *f->y);
        }
    }
    if (error == BLV_OK) {
        memcpy(f->x, x, f->dim_x * sizeof *x);
        return_to_best(f);
        memset(c->result.probability, 0, rows * K * sizeof *S);
        memset(c->result.val_probability, 0, trusted * K * sizeof *S);
    }
    blv_arena_free(&arena);
    return error;
}
