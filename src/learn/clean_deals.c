/* What the models of several deals of the folds say.
 *
 *   1. ridge, weight of trusted rows and noise are learned on one deal (clean_noise.c)
 *   2. other linear models beside it, weighted by how likely labels are with them (clean_beside.c)
 *   3. networks in place of the linear models, where these have less held-out loss
 *   4. the models of other folds with the same numbers: every row is judged several times
 *   5. trees beside them, where the labels are likelier then
 *
 * Many rows: 1 on some of them. The ridge stands for as many rows of evidence, so it is divided by
 * how many more there are. */
#include "learn/clean_beside.h"
#include "learn/row_sets.h"

#include <math.h>
#include <string.h>

enum { DEALS = 3 };
/* What is learned from at most, and what may be judged more than once, and by other models. */
static const double most_learned = 1e8, most_repeated = 2e7;

static void take_noise(const blv_noise_fit *f, blv_clean_result *r) {
    r->ridge = 0.5 * exp(f->x[0]);
    r->trusted_weight = f->val ? exp(f->x[1]) : (double)NAN;
    blv_noise_matrix(f->classes, f->x + f->first_logit, r->noise);
}

static void add(size_t count, double share, const double *from, double *to) {
    for (size_t i = 0; i < count; i++)
        to[i] += share * from[i];
}

/* Answers to all rows, with the models of one deal of folds, times share. */
static blv_error answer_all(blv_noise_fit *f, blv_beside *beside, size_t number, double share,
                            blv_answers *own) {
    blv_cleaning *c = f->cleaning;
    blv_clean_result *r = &c->result;
    const size_t K = f->classes;
    const blv_deal deal = {f->part, f->val_part, c->options.seed + 2 * number};
    if (beside->share[0] > 0.0) {
        BLV_CHECK(blv_noise_fit_answer(f, f->y, f->train, f->part, own->train));
        BLV_CHECK(blv_noise_fit_answer(f, f->y, f->val, f->val_part, own->val));
        BLV_CHECK(blv_noise_fit_answer(f, f->y, c->sets.test, NULL, own->test));
    }
    BLV_CHECK(blv_beside_mix(beside, deal.seed, number == 0, own, share, c->weights));
    BLV_CHECK(number == 0 ? blv_clean_choose_model(c, &deal, own)
                          : blv_clean_model_answers(c, &deal, own));
    add(r->rows * K, share, own->train, r->probability);
    add(blv_rows_in(f->val) * K, share, own->val, r->val_probability);
    add(blv_rows_in(c->sets.test) * K, share, own->test, r->test_probability);
    return BLV_OK;
}

static blv_error answer_deals(blv_noise_fit *f, size_t deals) {
    blv_cleaning *c = f->cleaning;
    blv_answers own = {0};
    blv_beside beside = {0};
    blv_error error = blv_answers_open(&own, c) ? BLV_OK : blv_explain_memory(c->why);
    if (error == BLV_OK)
        error = blv_beside_open(&beside, f, deals > 1);
    for (size_t d = 0; error == BLV_OK && d < deals; d++) {
        if (d > 0) {
            blv_task_say(&c->task, "other folds, %zu of %zu", d, deals - 1);
            error = blv_noise_fit_deal(f, c->options.seed + 2 * d);
            if (error == BLV_OK)
                error = blv_noise_fit_make_problem(f);
            if (error == BLV_OK && beside.share[0] > 0.0)
                error = blv_noise_fit_models(f, f->x, BLV_NOISE_TOLERANCE, f->y);
        }
        if (error == BLV_OK)
            error = answer_all(f, &beside, d, 1.0 / (double)deals, &own);
    }
    blv_beside_close(&beside);
    blv_answers_close(&own);
    return error;
}

/* On some rows, then the models of all rows. */
static blv_error learn_from_some(blv_cleaning *c, double size, blv_noise_fit *all) {
    blv_dataset *some = NULL;
    blv_noise_fit f = {0};
    blv_error error =
        blv_dataset_subsample(c->sets.train, size, true, c->options.seed, &some, c->why);
    if (error == BLV_OK)
        error = blv_noise_fit_open(&f, c, some, c->sets.val);
    if (error == BLV_OK)
        error = blv_noise_fit_learn(&f);
    if (error == BLV_OK) {
        memcpy(all->x, f.x, f.dim_x * sizeof *f.x);
        memcpy(all->y, f.y, f.dim_y * sizeof *f.y);
        all->gradient = f.gradient;
        if (!(c->options.ridge > 0.0))
            all->x[0] -= log((double)blv_rows_in(all->train) / (double)blv_rows_in(some));
        blv_task_say(&c->task, "the models of all rows");
        error = blv_noise_fit_make_problem(all);
    }
    if (error == BLV_OK)
        error = blv_noise_fit_models(all, all->x, BLV_NOISE_TOLERANCE, all->y);
    blv_noise_fit_close(&f);
    blv_dataset_release(some);
    return error;
}

blv_error blv_clean_learn(blv_cleaning *c) {
    const double products = blv_clean_products(c->sets.train, c->options.folds);
    const double rows = (double)c->result.rows;
    blv_noise_fit f = {0};
    blv_error error = blv_noise_fit_open(&f, c, c->sets.train, c->sets.val);
    if (error == BLV_OK)
        error = products > most_learned
                    ? learn_from_some(c, fmax(ceil(rows * most_learned / products), 2.0), &f)
                    : blv_noise_fit_learn(&f);
    if (error == BLV_OK && products <= most_learned)
        error = blv_noise_fit_learn_again(&f);
    if (error == BLV_OK) {
        take_noise(&f, &c->result);
        error = answer_deals(&f, products > most_repeated ? 1 : DEALS);
    }
    if (error == BLV_OK)
        error = blv_clean_add_trees(c);
    blv_noise_fit_close(&f);
    return error;
}
