/* Linear models beside the learned ones, and how much each of them counts.
 *
 * Where labels are few and many of them wrong, all ridges have about the same loss on rows that are
 * held out, and the one with the least need not rank the labels best: one model may learn nothing
 * at all where another tells the classes apart. So a few ridges are tried with the noise that is
 * expected, for columns as they are and for columns that are less alike (clean_columns.c), and the
 * answers of all are averaged, each weighted by how likely the labels of rows are that it has not
 * seen. The learned models count for less by `learned_from_these`, as their ridge and noise have
 * been chosen by these very labels. With many rows one model has all the weight. */
#include "learn/clean_beside.h"

#include "learn/clean_columns.h"
#include "learn/row_sets.h"

#include <math.h>
#include <string.h>

enum { MOST_COLUMNS = 64 };
static const double ridges[BLV_BESIDE_RIDGES] = {1e-1, 1e-2, 1e-3};
static const double learned_from_these = 3.0; /* in the logarithm of the likelihood */
static const double least_share = 0.05;
static const double tolerance = 5e-2; /* |gy| relative to that at y = 0, where they begin */

blv_error blv_beside_open(blv_beside *b, blv_noise_fit *learned, bool wanted) {
    blv_cleaning *c = learned->cleaning;
    const size_t columns = blv_dataset_view_of(learned->train)->columns;
    const blv_dataset *const from[] = {c->sets.train, c->sets.val, c->sets.test};
    b->learned = learned;
    b->share[0] = 1.0;
    b->any = wanted && learned->dense && !(c->options.ridge > 0.0) && columns > 2 &&
             columns <= MOST_COLUMNS;
    if (!b->any)
        return BLV_OK;
    b->map = blv_arena_alloc(&b->arena, columns * columns, sizeof *b->map);
    b->x = blv_arena_alloc(&b->arena, learned->dim_x, sizeof *b->x);
    b->weights = blv_arena_alloc(&b->arena, learned->classes * columns, sizeof *b->weights);
    bool room = true;
    for (size_t m = 0; m < BLV_BESIDE_MODELS; m++) {
        b->y[m] = blv_arena_alloc(&b->arena, learned->dim_y, sizeof *b->y[m]);
        room = blv_answers_open(&b->answers[m], c) && room;
    }
    if (!room || b->arena.failed)
        return blv_explain_memory(c->why);
    BLV_CHECK(blv_clean_separate_columns(from, b->sets, b->map, c->why));
    return blv_noise_fit_open(&b->apart, c, b->sets[0], b->sets[1]);
}

void blv_beside_close(blv_beside *b) {
    blv_noise_fit_close(&b->apart);
    for (size_t m = 0; m < BLV_BESIDE_MODELS; m++)
        blv_answers_close(&b->answers[m]);
    for (size_t s = 0; s < 3; s++)
        blv_dataset_release(b->sets[s]);
    blv_arena_free(&b->arena);
}

/* The models of one kind of columns that count, in the present deal, and their answers. Those with
 * the next ridge begin where the last ones end. */
static blv_error fit_models(blv_beside *b, blv_noise_fit *fit, bool first, size_t from) {
    const blv_noise_fit *learned = b->learned;
    blv_task *task = &learned->cleaning->task;
    const blv_dataset *test = fit == learned ? learned->cleaning->sets.test : b->sets[2];
    const double trusted = learned->val ? exp(learned->x[1]) : 1.0;
    const double *last = NULL;
    for (size_t m = from; m < from + BLV_BESIDE_RIDGES; m++) {
        if (!first && !(b->share[1 + m] > 0.0))
            continue;
        if (last)
            memcpy(b->y[m], last, fit->dim_y * sizeof *last);
        else
            memset(b->y[m], 0, fit->dim_y * sizeof *last);
        last = b->y[m];
        blv_task_say(task, "ridge %.0e beside", ridges[m - from]);
        blv_noise_fit_expect(fit, ridges[m - from], trusted, b->x);
        if (!(fit->gradient > 0.0))
            BLV_CHECK(blv_fit_gradient(task, fit->problem, b->x, &fit->gradient));
        BLV_CHECK(blv_noise_fit_models(fit, b->x, tolerance, b->y[m]));
        const blv_answers *a = &b->answers[m];
        BLV_CHECK(blv_noise_fit_answer(fit, b->y[m], fit->train, fit->part, a->train));
        BLV_CHECK(blv_noise_fit_answer(fit, b->y[m], fit->val, fit->val_part, a->val));
        BLV_CHECK(blv_noise_fit_answer(fit, b->y[m], test, NULL, a->test));
    }
    return BLV_OK;
}

/* In the logarithm, of all labels. */
static double likelihood(const blv_noise_fit *fit, const double *noise, const blv_answers *a) {
    double square, sum = 0.0;
    if (fit->val)
        sum -= (double)blv_rows_in(fit->val) *
               blv_clean_difference(fit->val, NULL, a->val, NULL, &square);
    return sum - (double)blv_rows_in(fit->train) *
                     blv_clean_difference(fit->train, noise, a->train, NULL, &square);
}

static void find_shares(blv_beside *b, const blv_answers *answers) {
    const blv_noise_fit *learned = b->learned;
    double best, sum = 0.0;
    blv_noise_matrix(learned->classes, learned->x + learned->first_logit, learned->noise);
    best = b->share[0] = likelihood(learned, learned->noise, answers) - learned_from_these;
    for (size_t m = 0; m < BLV_BESIDE_MODELS; m++) {
        b->share[1 + m] = likelihood(learned, learned->start, &b->answers[m]);
        best = fmax(best, b->share[1 + m]);
    }
    for (size_t m = 0; m <= BLV_BESIDE_MODELS; m++) {
        b->share[m] = exp(b->share[m] - best);
        sum += b->share[m];
    }
    double kept = 0.0;
    for (size_t m = 0; m <= BLV_BESIDE_MODELS; m++)
        kept += b->share[m] = b->share[m] < least_share * sum ? 0.0 : b->share[m];
    for (size_t m = 0; m <= BLV_BESIDE_MODELS; m++)
        b->share[m] /= kept;
}

/* to = share of it + share of from */
static void mix(size_t count, double share, const double *from, double own, double *to) {
    for (size_t i = 0; i < count; i++)
        to[i] = own * to[i] + share * from[i];
}

/* In terms of the columns as they are. */
static void add_separate(blv_beside *b, const double *y, double part, double *weights) {
    const size_t K = b->apart.classes, columns = b->apart.dim_y / b->apart.folds / K;
    const size_t n = columns - 1;
    memset(b->weights, 0, K * columns * sizeof *b->weights);
    blv_noise_fit_add_weights(&b->apart, y, part, b->weights);
    for (size_t k = 0; k < K; k++) {
        const double *from = b->weights + k * columns;
        double *to = weights + k * columns;
        to[n] += from[n];
        for (size_t j = 0; j < n; j++)
            for (size_t i = 0; i < n; i++)
                to[i] += from[j] * b->map[j * n + i];
    }
}

static bool any_apart(const blv_beside *b) {
    double sum = 0.0;
    for (size_t m = BLV_BESIDE_RIDGES; m < BLV_BESIDE_MODELS; m++)
        sum += b->share[1 + m];
    return sum > 0.0;
}

blv_error blv_beside_mix(blv_beside *b, uint64_t seed, bool first, blv_answers *answers,
                         double part, double *weights) {
    blv_noise_fit *learned = b->learned;
    const blv_cleaning *c = learned->cleaning;
    const size_t K = learned->classes;
    if (!b->any) {
        blv_noise_fit_add_weights(learned, learned->y, part, weights);
        return BLV_OK;
    }
    BLV_CHECK(fit_models(b, learned, first, 0));
    if (first || any_apart(b)) {
        BLV_CHECK(blv_noise_fit_deal(&b->apart, seed));
        BLV_CHECK(blv_noise_fit_make_problem(&b->apart));
        BLV_CHECK(fit_models(b, &b->apart, first, BLV_BESIDE_RIDGES));
    }
    if (first)
        find_shares(b, answers);
    blv_noise_fit_add_weights(learned, learned->y, part * b->share[0], weights);
    for (size_t m = 0; m < BLV_BESIDE_MODELS; m++) {
        const double share = b->share[1 + m], own = m == 0 ? b->share[0] : 1.0;
        const blv_answers *a = &b->answers[m];
        mix(blv_rows_in(c->sets.train) * K, share, a->train, own, answers->train);
        mix(blv_rows_in(c->sets.val) * K, share, a->val, own, answers->val);
        mix(blv_rows_in(c->sets.test) * K, share, a->test, own, answers->test);
        if (m < BLV_BESIDE_RIDGES)
            blv_noise_fit_add_weights(learned, b->y[m], part * share, weights);
        else
            add_separate(b, b->y[m], part * share, weights);
    }
    return BLV_OK;
}
