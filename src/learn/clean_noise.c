/* Which label becomes which: the problem label-noise, from a safe start.
 *
 *   1. the ridge by decades, with the noise that is expected; for sparse rows less noise; the
 * weight of trusted rows
 *   2. the solver on ridge, weight and noise, with the gradient of the held-out loss in them
 *   3. again with other noise, where more rows look wrong than are said to be
 *   4. networks in place of the linear models, where these have less held-out loss
 *   5. the models of other folds with the same numbers: every row is judged several times
 *   6. trees beside them, where the labels are likelier then
 *
 * Trusted rows do not say where the noise starts: what a model confuses is not what the labels do,
 * and a start from it takes classes that overlap for wrong labels.
 *
 * Many rows: 1 and 2 on some of them. The ridge stands for as many rows of evidence, so it is
 * divided by how many more there are. */
#include "learn/clean_work.h"
#include "learn/row_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 10, OTHER_ITERATIONS = 500, DEALS = 3, AGAIN = 2 };
static const double look_wrong = 0.05; /* share of rows, beyond that of wrong labels */
static const double most_wrong = 0.45; /* or a class would be that of its wrong labels */
static const double expected_wrong = 0.2, least_wrong = 1e-4, prior_rows = 10.0;
static const double lowest_ridge = 1e-9, decade = 2.302585092994046;
static const double little_gain = 5e-3, little_run_gain = 1e-2;
/* Products of a row with a model of each class, in each fold: what is learned from at most, and
 * what may be judged more than once, and certified. */
static const double most_learned = 1e8, most_repeated = 2e7, most_certified = 1e7;

/* |gy| relative to that at y = 0: while the ridge is searched, and of models that judge rows. These
 * need it: those of other folds begin with models that have seen the labels they will judge. */
static const double search_tolerance = 1e-1, sparse_search_tolerance = 1e-2, final_tolerance = 1e-3;

typedef struct noise_fit {
    blv_cleaning *cleaning;
    blv_arena arena;
    blv_dataset *train, *val; /* val may be NULL; both are kept by the caller */
    blv_problem *problem;
    uint32_t *part, *val_part;
    bool dense;
    size_t classes, folds, dim_x, dim_y;
    size_t first_logit;    /* of x: 1 without trusted rows, 2 with */
    double *x, *y, *best;  /* the present point, and the y of the best one */
    double *start, *noise; /* the noise that is expected, and that is tried */
    double none;           /* the loss that the first model has */
    double gradient;       /* |gy| at y = 0: what tolerances are relative to */
} noise_fit;

/* ---- The problem ---- */

static blv_error deal(noise_fit *f, uint64_t seed) {
    blv_message *why = f->cleaning->why;
    BLV_CHECK(blv_deal_rows(f->train, f->folds, seed, f->part, why));
    return f->val ? blv_deal_rows(f->val, f->folds, seed + 1, f->val_part, why) : BLV_OK;
}

static blv_error make_problem(noise_fit *f) {
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
static blv_error start_work(noise_fit *f) {
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
static void spread_noise(const noise_fit *f, double wrong, double *noise) {
    const size_t K = f->classes;
    for (size_t i = 0; i < K * K; i++)
        noise[i] = i % (K + 1) == 0 ? 1.0 - wrong : wrong / (double)(K - 1);
}

static void write_logits(noise_fit *f, const double *noise) {
    double *logit = f->x + f->first_logit;
    for (size_t k = 0; k < f->classes; k++)
        for (size_t l = 0; l < f->classes; l++)
            if (l != k)
                *logit++ = log(fmax(noise[k * f->classes + l], 1e-6) / noise[k * f->classes + k]);
}

/* ---- Points ---- */

/* f at x and y. */
static blv_error look(noise_fit *f, double *phi) {
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

static blv_error fit_at(noise_fit *f, double tolerance) {
    BLV_CHECK(blv_fit(&f->cleaning->task, f->problem, f->x, tolerance * f->gradient, f->y));
    return blv_clean_stopped(f->cleaning);
}

/* The held-out loss with x[at] = value; where it is below *least, that is where we are now. */
static blv_error try_value(noise_fit *f, size_t at, double value, double *least, bool *better) {
    const double before = f->x[at];
    double phi;
    blv_task_say(&f->cleaning->task, "%s %.0e", at == 0 ? "ridge" : "weight of trusted rows",
                 exp(value));
    f->x[at] = value;
    BLV_CHECK(fit_at(f, f->dense ? search_tolerance : sparse_search_tolerance));
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

static void return_to_best(noise_fit *f) {
    memcpy(f->y, f->best, f->dim_y * sizeof *f->y);
}

/* The penalty that leaves next to nothing of a model grows with the length of the rows. */
static double first_ridge_of(const noise_fit *f) {
    const double columns = (double)(f->dim_y / f->folds / f->classes);
    return f->dense ? pow(10.0, floor(log10(fmax(1.0, columns / 30.0)))) : 1e-2;
}

/* Downwards by decades until that gains little. */
static blv_error search_ridge(noise_fit *f, double *least) {
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
static blv_error search_noise(noise_fit *f, double *least) {
    const size_t K = f->classes, logits = K * (K - 1);
    double *kept = blv_arena_alloc(&f->arena, logits, sizeof *kept);
    bool better = true;
    if (!kept)
        return blv_explain_memory(f->cleaning->why);
    for (double wrong = 0.25 * expected_wrong; better && wrong > least_wrong; wrong *= 0.25) {
        const double before = *least;
        memcpy(kept, f->x + f->first_logit, logits * sizeof *kept);
        spread_noise(f, wrong, f->noise);
        write_logits(f, f->noise);
        BLV_CHECK(try_value(f, 0, f->x[0], least, &better));
        if (!(*least < before))
            memcpy(f->x + f->first_logit, kept, logits * sizeof *kept);
    }
    return_to_best(f);
    return BLV_OK;
}

static blv_error search_weight(noise_fit *f, double *least) {
    for (bool better = true; better && f->x[1] < 3.0 * decade;)
        BLV_CHECK(try_value(f, 1, f->x[1] + 0.6 * decade, least, &better));
    return_to_best(f);
    return BLV_OK;
}

static double products_of(const blv_dataset *set, size_t folds) {
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

static blv_error run_solver(noise_fit *f) {
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
        .uncertified = products_of(f->train, f->folds) > most_certified,
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

static blv_error open_fit(noise_fit *f, blv_cleaning *c, blv_dataset *train, blv_dataset *val) {
    const blv_dataset_view *v = blv_dataset_view_of(train);
    const size_t K = v->classes;
    *f = (noise_fit){.cleaning = c,
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
    return f->arena.failed ? blv_explain_memory(c->why) : deal(f, c->options.seed);
}

static void close_fit(noise_fit *f) {
    blv_problem_destroy(f->problem);
    blv_arena_free(&f->arena);
}

static blv_error learn(noise_fit *f) {
    double least = INFINITY;
    spread_noise(f, expected_wrong, f->start);
    BLV_CHECK(make_problem(f));
    BLV_CHECK(start_work(f));
    write_logits(f, f->start);
    BLV_CHECK(blv_fit_gradient(&f->cleaning->task, f->problem, f->x, &f->gradient));
    BLV_CHECK(search_ridge(f, &least));
    if (!f->dense)
        BLV_CHECK(search_noise(f, &least));
    if (f->val)
        BLV_CHECK(search_weight(f, &least));
    f->dim_x = f->first_logit + f->classes * (f->classes - 1);
    return run_solver(f);
}

static void take_noise(const noise_fit *f, blv_clean_result *r) {
    r->ridge = 0.5 * exp(f->x[0]);
    r->trusted_weight = f->val ? exp(f->x[1]) : (double)NAN;
    blv_noise_matrix(f->classes, f->x + f->first_logit, r->noise);
}

/* The answers to rows of a set, each by the model of its fold, or by the mean of all models where
 * part is NULL. */
static blv_error answer(const noise_fit *f, const blv_dataset *set, const uint32_t *part,
                        double *probability) {
    const blv_cleaning *c = f->cleaning;
    const size_t K = f->classes, model = f->dim_y / f->folds, rows = blv_rows_in(set);
    if (rows == 0)
        return BLV_OK;
    double *weights = malloc(model * sizeof *weights), *p = malloc(rows * K * sizeof *p);
    blv_error error = weights && p ? BLV_OK : blv_explain_memory(c->why);
    memset(probability, 0, rows * K * sizeof *p);
    for (size_t m = 0; error == BLV_OK && m < f->folds; m++) {
        blv_fit_weights(set, f->y + m * model, K, weights);
        error = blv_fit_answer(set, weights, K, p, c->why);
        for (size_t i = 0; error == BLV_OK && i < rows * K; i++)
            if (!part || part[i / K] == m)
                probability[i] += p[i] / (part ? 1.0 : (double)f->folds);
    }
    free(weights);
    free(p);
    return error;
}

/* What the models of this deal alone say. */
static blv_error judge(noise_fit *f, blv_wrong_share *found, double *S) {
    blv_clean_result *r = &f->cleaning->result;
    BLV_CHECK(answer(f, f->train, f->part, r->probability));
    BLV_CHECK(answer(f, f->val, f->val_part, r->val_probability));
    return blv_clean_share(f->cleaning, found, S);
}

/* Where more rows look wrong than the likelihood says, the models may have learned wrong labels as
 * if classes overlapped: they learn again with as many wrong labels as rows look wrong, a few
 * times, and the likeliest are kept. */
static blv_error learn_again(noise_fit *f) {
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
        write_logits(f, S);
        error = fit_at(f, final_tolerance);
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

static void add(size_t count, double share, const double *from, double *to) {
    for (size_t i = 0; i < count; i++)
        to[i] += share * from[i];
}

static void add_weights(const noise_fit *f, double share) {
    const size_t K = f->classes, model = f->dim_y / f->folds, columns = model / K;
    const bool dense = blv_dataset_view_of(f->train)->dense != NULL;
    for (size_t m = 0; m < f->folds; m++)
        for (size_t i = 0; i < model; i++) {
            const size_t to = dense ? i : i % K * columns + i / K;
            f->cleaning->weights[to] += share * f->y[m * model + i] / (double)f->folds;
        }
}

/* Answers to all rows, with the models of one deal of folds, times share. */
static blv_error answer_all(noise_fit *f, size_t number, double share, blv_answers *own) {
    blv_cleaning *c = f->cleaning;
    blv_clean_result *r = &c->result;
    const size_t K = f->classes;
    const blv_deal deal = {f->part, f->val_part, c->options.seed + 2 * number};
    add_weights(f, share);
    BLV_CHECK(answer(f, f->train, f->part, own->train));
    BLV_CHECK(answer(f, f->val, f->val_part, own->val));
    BLV_CHECK(answer(f, c->sets.test, NULL, own->test));
    BLV_CHECK(number == 0 ? blv_clean_choose_model(c, &deal, own)
                          : blv_clean_model_answers(c, &deal, own));
    add(r->rows * K, share, own->train, r->probability);
    add(blv_rows_in(f->val) * K, share, own->val, r->val_probability);
    add(blv_rows_in(c->sets.test) * K, share, own->test, r->test_probability);
    return BLV_OK;
}

static blv_error answer_deals(noise_fit *f, size_t deals) {
    blv_cleaning *c = f->cleaning;
    blv_answers own = {0};
    blv_error error = blv_answers_open(&own, c) ? BLV_OK : blv_explain_memory(c->why);
    for (size_t d = 0; error == BLV_OK && d < deals; d++) {
        if (d > 0) {
            blv_task_say(&c->task, "other folds, %zu of %zu", d, deals - 1);
            error = deal(f, c->options.seed + 2 * d);
            if (error == BLV_OK)
                error = make_problem(f);
            if (error == BLV_OK)
                error = fit_at(f, final_tolerance);
        }
        if (error == BLV_OK)
            error = answer_all(f, d, 1.0 / (double)deals, &own);
    }
    blv_answers_close(&own);
    return error;
}

/* On some rows, then the models of all rows. */
static blv_error learn_from_some(blv_cleaning *c, double size, noise_fit *all) {
    blv_dataset *some = NULL;
    noise_fit f = {0};
    blv_error error =
        blv_dataset_subsample(c->sets.train, size, true, c->options.seed, &some, c->why);
    if (error == BLV_OK)
        error = open_fit(&f, c, some, c->sets.val);
    if (error == BLV_OK)
        error = learn(&f);
    if (error == BLV_OK) {
        memcpy(all->x, f.x, f.dim_x * sizeof *f.x);
        memcpy(all->y, f.y, f.dim_y * sizeof *f.y);
        memcpy(all->start, f.start, f.classes * f.classes * sizeof *f.start);
        all->gradient = f.gradient;
        if (!(c->options.ridge > 0.0))
            all->x[0] -= log((double)blv_rows_in(all->train) / (double)blv_rows_in(some));
        blv_task_say(&c->task, "the models of all rows");
        error = make_problem(all);
    }
    if (error == BLV_OK)
        error = fit_at(all, final_tolerance);
    close_fit(&f);
    blv_dataset_release(some);
    return error;
}

blv_error blv_clean_learn(blv_cleaning *c) {
    const double products = products_of(c->sets.train, c->options.folds);
    const double rows = (double)c->result.rows;
    noise_fit f = {0};
    blv_error error = open_fit(&f, c, c->sets.train, c->sets.val);
    if (error == BLV_OK)
        error = products > most_learned
                    ? learn_from_some(c, fmax(ceil(rows * most_learned / products), 2.0), &f)
                    : learn(&f);
    if (error == BLV_OK && products <= most_learned)
        error = learn_again(&f);
    if (error == BLV_OK) {
        take_noise(&f, &c->result);
        error = answer_deals(&f, products > most_repeated ? 1 : DEALS);
    }
    if (error == BLV_OK)
        error = blv_clean_add_trees(c);
    close_fit(&f);
    return error;
}
