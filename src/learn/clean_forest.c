/* Trees beside the models of the result.
 *
 * Trees learn the labels as they are given. What they say of rows outside their fold is the chance
 * of each label, so that the chances p of the true classes are those under which it is likeliest,
 * by expectation-maximization of p T, with the noise T that the other models tell, or the trees
 * themselves, where labels are likelier by these. They are then
 * mixed with those of the other models; of a few weights the one is taken under which the labels
 * are likeliest (clean_share.c), if they are clearly likelier than without. */
#include "base/thread_pool.h"
#include "learn/clean_work.h"
#include "learn/forest.h"
#include "learn/row_sets.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { DEALS = 3, TREES = 40, ROUNDS = 30, WEIGHTS = 4, COLUMNS_AT_ONCE = 64, ROWS_AT_ONCE = 64 };
static const double trusted_counts = 2.0;   /* as many as other rows */
static const double least_share = 0.002;    /* of all classes together at a leaf */
static const double clearly_likelier = 2.0; /* in the logarithm */
/* Visits of a row at a node, for all trees, and products of the mending. */
static const double most_visits = 3e9;

typedef struct forest_work {
    blv_cleaning *cleaning;
    blv_arena arena;
    blv_forest_rows rows;
    blv_tree_room *room; /* of each member */
    size_t deals, folds, judged, tested;
    uint32_t *part;              /* deals x judged: the fold of each row of train and val */
    uint32_t **learned, **asked; /* of each deal and fold: rows outside, and those in it and test */
    size_t *learned_count, *asked_count;
    double *held, *test; /* deals x judged x classes; deals x folds x tested x classes */
    size_t first, tree;  /* of the deals and folds and of their trees, those that grow now */
    atomic_bool stopped;
} forest_work;

/* ---- Growing ---- */

static double visits_of(const blv_cleaning *c, size_t deals) {
    const blv_dataset_view *v = blv_dataset_view_of(c->sets.train);
    const double rows = (double)(v->rows + blv_rows_in(c->sets.val)), K = (double)v->classes;
    const double tested = (double)blv_rows_in(c->sets.test);
    return (double)(deals * c->options.folds * TREES) * log2(rows) *
               (rows * sqrt((double)v->columns) + tested) +
           (double)ROUNDS * 2.0 * (rows + tested) * K * K;
}

static bool worth_trying(const blv_cleaning *c) {
    const blv_dataset_view *v = blv_dataset_view_of(c->sets.train);
    return v->dense && !v->ranks && v->columns > 1 &&
           (c->options.model == BLV_CLEAN_FOREST ||
            (c->options.model == BLV_CLEAN_AUTO && visits_of(c, 1) < most_visits));
}

static blv_error deal_rows(forest_work *w) {
    blv_cleaning *c = w->cleaning;
    const size_t rows = c->result.rows;
    for (size_t d = 0; d < w->deals; d++) {
        uint32_t *part = w->part + d * w->judged;
        const uint64_t seed = c->options.seed + 2 * d;
        BLV_CHECK(blv_deal_rows(c->sets.train, w->folds, seed, part, c->why));
        if (c->sets.val)
            BLV_CHECK(blv_deal_rows(c->sets.val, w->folds, seed + 1, part + rows, c->why));
        for (size_t m = 0; m < w->folds; m++) {
            const size_t task = d * w->folds + m;
            uint32_t *learned = w->learned[task], *asked = w->asked[task];
            for (uint32_t i = 0; i < w->judged + w->tested; i++)
                if (i < w->judged && part[i] != m)
                    *learned++ = i;
                else
                    *asked++ = i;
            w->learned_count[task] = (size_t)(learned - w->learned[task]);
            w->asked_count[task] = (size_t)(asked - w->asked[task]);
        }
    }
    return BLV_OK;
}

static blv_error say(blv_cleaning *c, const char *what, size_t done, size_t all) {
    blv_task_say(&c->task, "%s %zu of %zu", what, done + 1, all);
    return blv_clean_stopped(c);
}

/* Only the calling thread, the first member, may ask the caller. */
static bool stop_trees(void *context, int member) {
    forest_work *w = context;
    if (member == 0 && blv_task_should_stop(&w->cleaning->task))
        atomic_store(&w->stopped, true);
    return atomic_load(&w->stopped);
}

static blv_error open_work(forest_work *w, blv_cleaning *c) {
    const blv_dataset *const sets[] = {c->sets.train, c->sets.val, c->sets.test};
    const size_t K = c->result.classes;
    const int threads = c->options.threads > 0 ? c->options.threads : blv_threads_processors();
    *w = (forest_work){.cleaning = c,
                       .deals = visits_of(c, DEALS) < most_visits ? DEALS : 1,
                       .folds = c->options.folds,
                       .judged = c->result.rows + blv_rows_in(c->sets.val),
                       .tested = blv_rows_in(c->sets.test)};
    const size_t tasks = w->deals * w->folds, all = w->judged + w->tested;
    BLV_CHECK(blv_forest_take(&w->rows, sets, 3, c->why));
    for (size_t j = 0; j < w->rows.columns; j++) {
        if (j % COLUMNS_AT_ONCE == 0)
            BLV_CHECK(say(c, "sorting column", j, w->rows.columns));
        blv_forest_code(&w->rows, sets, 3, j);
        if (blv_task_should_stop(&c->task))
            return blv_clean_stopped(c);
    }
    for (size_t i = c->result.rows; i < w->judged; i++)
        w->rows.weight[i] *= trusted_counts;
    w->part = blv_arena_alloc(&w->arena, w->deals * w->judged, sizeof *w->part);
    w->learned = blv_arena_alloc(&w->arena, tasks, sizeof *w->learned);
    w->asked = blv_arena_alloc(&w->arena, tasks, sizeof *w->asked);
    w->learned_count = blv_arena_alloc(&w->arena, tasks, sizeof *w->learned_count);
    w->asked_count = blv_arena_alloc(&w->arena, tasks, sizeof *w->asked_count);
    w->held = blv_arena_alloc(&w->arena, w->deals * w->judged * K, sizeof *w->held);
    w->test = blv_arena_alloc(&w->arena, tasks * w->tested * K + 1, sizeof *w->test);
    w->room = blv_arena_alloc(&w->arena, BLV_TEAM_MAX, sizeof *w->room);
    for (size_t t = 0; !w->arena.failed && t < tasks; t++) {
        w->learned[t] = blv_arena_alloc(&w->arena, w->judged, sizeof **w->learned);
        w->asked[t] = blv_arena_alloc(&w->arena, all, sizeof **w->asked);
    }
    for (int t = 0; !w->arena.failed && t < threads && t < BLV_TEAM_MAX; t++) {
        blv_tree_room_open(&w->room[t], &w->arena, &w->rows);
        w->room[t].stop = stop_trees;
        w->room[t].stop_context = w;
        w->room[t].member = t;
    }
    return w->arena.failed ? blv_explain_memory(c->why) : deal_rows(w);
}

static void close_work(forest_work *w) {
    blv_forest_release(&w->rows);
    blv_arena_free(&w->arena);
}

static void grow_tree(void *context, size_t number, int member) {
    forest_work *w = context;
    const size_t K = w->rows.classes, task = w->first + number, deal = task / w->folds;
    const blv_tree_task tree = {.learned = w->learned[task],
                                .asked = w->asked[task],
                                .learned_count = w->learned_count[task],
                                .asked_count = w->asked_count[task],
                                .seed = w->cleaning->options.seed,
                                .number = task * TREES + w->tree,
                                .share = 1.0 / TREES,
                                .first = w->held + deal * w->judged * K,
                                .second = w->test + task * w->tested * K,
                                .first_rows = w->judged};
    blv_tree_answer(&w->room[member], &tree);
}

/* The mean over parts of `count` numbers, each `apart` from the next; no class is impossible. */
static void mean_of(const double *from, size_t parts, size_t apart, size_t count, size_t classes,
                    double *to) {
    for (size_t i = 0; i < count; i++) {
        double sum = 0.0;
        for (size_t p = 0; p < parts; p++)
            sum += from[p * apart + i];
        to[i] = (sum / (double)parts + least_share / (double)classes) / (1.0 + least_share);
    }
}

/* The trees of some deals; the answers are those of all deals so far. */
static blv_error grow_deals(forest_work *w, size_t from, size_t end, const blv_answers *to) {
    blv_cleaning *c = w->cleaning;
    const size_t K = c->result.classes, rows = c->result.rows, judged = w->judged * K;
    const int threads = c->options.threads > 0 ? c->options.threads : blv_threads_processors();
    w->first = from * w->folds;
    for (w->tree = 0; w->tree < TREES; w->tree++) {
        BLV_CHECK(say(c, "tree", from * TREES + w->tree, w->deals * TREES));
        blv_threads_run(threads, (end - from) * w->folds, grow_tree, w);
        BLV_CHECK(blv_clean_stopped(c));
    }
    mean_of(w->held, end, judged, rows * K, K, to->train);
    mean_of(w->held + rows * K, end, judged, judged - rows * K, K, to->val);
    mean_of(w->test, end * w->folds, w->tested * K, w->tested * K, K, to->test);
    return BLV_OK;
}

/* ---- From labels to classes ---- */

static void mend_row(size_t K, const double *noise, double *p, double *room) {
    double *label = room, *chance = room + K, sum = 0.0;
    for (size_t k = 0; k < K; k++) {
        label[k] = p[k];
        p[k] = 1.0 / (double)K;
    }
    for (int i = 0; i < ROUNDS; i++) {
        for (size_t l = 0; l < K; l++) {
            chance[l] = DBL_MIN;
            for (size_t k = 0; k < K; k++)
                chance[l] += p[k] * noise[k * K + l];
            chance[l] = label[l] / chance[l];
        }
        for (size_t k = 0; k < K; k++) {
            double factor = 0.0;
            for (size_t l = 0; l < K; l++)
                factor += noise[k * K + l] * chance[l];
            p[k] *= factor;
        }
    }
    for (size_t k = 0; k < K; k++)
        sum += p[k];
    for (size_t k = 0; k < K; k++)
        p[k] = (p[k] / sum + least_share / (double)K) / (1.0 + least_share);
}

static blv_error mend(blv_cleaning *c, const double *noise, const blv_answers *a) {
    const size_t K = c->result.classes;
    const size_t rows[] = {c->result.rows, blv_rows_in(c->sets.val), blv_rows_in(c->sets.test)};
    double *const of[] = {a->train, a->val, a->test};
    double *room = malloc(2 * K * sizeof *room);
    if (!room)
        return blv_explain_memory(c->why);
    for (size_t s = 0; s < 3; s++)
        for (size_t i = 0; i < rows[s] && !c->task.stopped; i++) {
            mend_row(K, noise, of[s] + i * K, room);
            if (i % ROWS_AT_ONCE == 0)
                blv_task_should_stop(&c->task);
        }
    free(room);
    return blv_clean_stopped(c);
}

/* ---- How much of it ---- */

static void put_mean(const blv_cleaning *c, const blv_answers *own, const blv_answers *trees,
                     double weight) {
    const blv_answers result = blv_answers_of_result(c);
    blv_answers_mix(c, own, trees, weight, &result);
}

/* Of a few weights the one under which labels are likeliest, if they are clearly likelier than
 * without trees; *gain: by how much they are, at most. S: room. */
static blv_error choose_weight(blv_cleaning *c, const blv_answers *own, const blv_answers *trees,
                               double without, double *S, double *gain) {
    blv_wrong_share found;
    double best = 0.0;
    *gain = -INFINITY;
    for (int i = 1; i <= WEIGHTS && c->options.model == BLV_CLEAN_AUTO; i++) {
        put_mean(c, own, trees, (double)i / WEIGHTS);
        BLV_CHECK(blv_clean_share(c, &found, S));
        if (found.likelihood - without > fmax(*gain, clearly_likelier))
            best = (double)i / WEIGHTS;
        *gain = fmax(*gain, found.likelihood - without);
    }
    c->result.forest = c->options.model == BLV_CLEAN_FOREST ? 1.0 : best;
    put_mean(c, own, trees, c->result.forest);
    return BLV_OK;
}

static void describe(blv_cleaning *c) {
    blv_clean_result *r = &c->result;
    if (c->options.model == BLV_CLEAN_FOREST)
        r->model_text = blv_arena_copy(&c->arena, "trees, as asked");
    else
        r->model_text =
            blv_arena_print(&c->arena, "%s; trees, by the likelihood of the labels: %.0f%%",
                            r->model_text, 100.0 * r->forest);
    if (r->forest == 1.0)
        r->model = BLV_CLEAN_FOREST;
}

/* The noise by the probabilities of the result, where labels are likelier with these than before.
 */
static blv_error take_noise(blv_cleaning *c, double *S, double *likelihood, double *noise) {
    const size_t K = c->result.classes;
    blv_wrong_share found;
    BLV_CHECK(blv_clean_share(c, &found, S));
    if (!(found.likelihood > *likelihood))
        return BLV_OK;
    *likelihood = found.likelihood;
    for (size_t i = 0; i < K * K; i++)
        noise[i] = i % (K + 1) == 0 ? 1.0 - found.share : found.share * S[i];
    return BLV_OK;
}

/* With the trees of the first deals. own_noise: by the other models; room: 2 classes x classes. */
static blv_error mix_trees(forest_work *w, size_t from, size_t deals, const blv_answers *own,
                           const blv_answers *trees, double without, const double *own_noise,
                           double *room, double *gain) {
    blv_cleaning *c = w->cleaning;
    const size_t size = c->result.classes * c->result.classes;
    double likelihood = without, *S = room, *noise = room + size;
    BLV_CHECK(grow_deals(w, from, deals, trees));
    put_mean(c, own, trees, 1.0);
    memcpy(noise, own_noise, size * sizeof *noise);
    BLV_CHECK(take_noise(c, S, &likelihood, noise));
    BLV_CHECK(mend(c, noise, trees));
    return choose_weight(c, own, trees, without, S, gain);
}

static blv_error add_trees(blv_cleaning *c, forest_work *w, const blv_answers *own,
                           const blv_answers *trees, double *room) {
    double *own_noise = room + 2 * c->result.classes * c->result.classes;
    double without = -INFINITY, gain;
    BLV_CHECK(take_noise(c, room, &without, own_noise));
    const blv_answers result = blv_answers_of_result(c);
    blv_answers_copy(c, &result, own);
    BLV_CHECK(open_work(w, c));
    BLV_CHECK(mix_trees(w, 0, 1, own, trees, without, own_noise, room, &gain));
    /* where labels are no likelier with the trees of one deal, those of others hardly help */
    if (w->deals > 1 && (c->options.model == BLV_CLEAN_FOREST || gain > 0.0))
        BLV_CHECK(mix_trees(w, 1, w->deals, own, trees, without, own_noise, room, &gain));
    describe(c);
    return BLV_OK;
}

blv_error blv_clean_add_trees(blv_cleaning *c) {
    const size_t K = c->result.classes;
    blv_answers own = {0}, trees = {0};
    forest_work work = {0};
    if (!worth_trying(c))
        return BLV_OK;
    double *room = malloc(3 * K * K * sizeof *room);
    const bool enough = room && blv_answers_open(&own, c) && blv_answers_open(&trees, c);
    blv_error error = enough ? add_trees(c, &work, &own, &trees, room) : blv_explain_memory(c->why);
    close_work(&work);
    blv_answers_close(&own);
    blv_answers_close(&trees);
    free(room);
    return error;
}
