/* A choice of rows with everything about it: order, classes, and how good networks are that are
 * trained on it. */
#include "base/arena.h"
#include "base/message.h"
#include "bilevel/select.h"
#include "learn/task_runner.h"
#include "nn/nn.h"

#include <math.h>
#include <stdlib.h>

typedef struct choosing {
    blv_select_result result; /* first: what the caller gets */
    blv_arena arena;
    blv_select_options options;
    blv_task task;
    const blv_dataset *rows, *test;
    blv_message *why;
} choosing;

typedef struct chosen {
    size_t row;
    double weight;
} chosen;

static int heaviest_first(const void *a, const void *b) {
    const chosen *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static blv_error sort_chosen(choosing *c) {
    size_t count = c->result.count;
    chosen *all = malloc(count * sizeof *all);
    if (!all)
        return blv_explain_memory(c->why);
    for (size_t k = 0; k < count; k++)
        all[k] = (chosen){c->result.index[k], c->result.weight[k]};
    qsort(all, count, sizeof *all, heaviest_first);
    for (size_t k = 0; k < count; k++) {
        c->result.index[k] = all[k].row;
        c->result.weight[k] = all[k].weight;
    }
    free(all);
    return BLV_OK;
}

/* index NULL: all rows. */
static blv_error judge(choosing *c, const char *what, const size_t *index, const double *weight,
                       double *accuracy) {
    const blv_selection *how = &c->options.selection;
    const blv_classifier_options options = {
        .size = sizeof options, .net = c->options.net, .threads = how->threads, .seed = how->seed};
    const blv_dataset *test = c->test ? c->test : c->rows;
    blv_dataset *subset = NULL;
    blv_task_say(&c->task, "training on %s", what);
    if (index)
        BLV_CHECK(blv_dataset_select(c->rows, index, how->count, &subset, c->why));
    blv_error error = blv_judge_rows(subset ? subset : c->rows, weight, test, &options,
                                     c->options.steps, accuracy, c->why);
    blv_dataset_release(subset);
    return error;
}

/* ---- Which method ---- */

/* The first is safe: at random. Of those that do equally well the earlier is taken. */
static const char *const candidates[] = {"uniform", "kmeans-by-class", "facility-by-class",
                                         "d-tfbo"};
enum { CANDIDATES = sizeof candidates / sizeof *candidates, JUDGEMENTS = 2, SPLITS = 5 };
enum { MANY_ROWS = 10000, SPLITS_OF_MANY = 2 };
static const double judged_share = 0.25;
static const double errors_ahead = 0.5; /* of what is taken in place of rows at random */

/* A choice from the rows of parts[0], and the accuracy on those of parts[1] of networks trained on
 * it: the mean over a few starts. */
static blv_error judge_method(choosing *c, const blv_selection *how, blv_dataset *const *parts,
                              double *accuracy) {
    blv_dataset *subset = NULL;
    size_t *index = malloc(how->count * sizeof *index);
    double *weight = malloc(how->count * sizeof *weight);
    blv_error error = index && weight ? blv_select(parts[0], how, index, weight, c->why)
                                      : blv_explain_memory(c->why);
    if (error == BLV_OK)
        error = blv_dataset_select(parts[0], index, how->count, &subset, c->why);
    for (uint64_t i = 0; error == BLV_OK && i < JUDGEMENTS && !c->task.stopped; i++) {
        const blv_classifier_options options = {.size = sizeof options,
                                                .net = c->options.net,
                                                .threads = how->threads,
                                                .seed = how->seed + i};
        double one = 0.0;
        blv_task_say(&c->task, "trying %s", how->method->name);
        error = blv_judge_rows(subset, weight, parts[1], &options, c->options.steps, &one, c->why);
        *accuracy += one / JUDGEMENTS;
    }
    blv_dataset_release(subset);
    free(index);
    free(weight);
    return error;
}

/* Parts stay NULL where there are too few rows. */
static blv_error split_rows(const choosing *c, uint64_t seed, size_t *row, blv_dataset **parts) {
    const double sizes[] = {1.0 - judged_share, judged_share};
    size_t count[2];
    BLV_CHECK(blv_dataset_split_rows(c->rows, sizes, 2, true, seed, row, count, c->why));
    if (count[0] < c->options.selection.count || count[1] == 0)
        return BLV_OK;
    BLV_CHECK(blv_dataset_select(c->rows, row, count[0], &parts[0], c->why));
    return blv_dataset_select(c->rows, row + count[0], count[1], &parts[1], c->why);
}

/* The accuracy of every candidate on the held-out rows of one split. */
static blv_error try_candidates(choosing *c, uint64_t seed, size_t *row, double *accuracy) {
    blv_selection how = c->options.selection;
    blv_dataset *parts[2] = {NULL, NULL};
    how.seed = seed;
    blv_error error = split_rows(c, seed, row, parts);
    for (size_t i = 0; error == BLV_OK && parts[1] && i < CANDIDATES && !c->task.stopped; i++) {
        how.method = blv_selection_method_find(candidates[i], NULL);
        blv_task_say(&c->task, "trying %s", how.method->name);
        error = judge_method(c, &how, parts, &accuracy[i]);
    }
    blv_dataset_release(parts[0]);
    blv_dataset_release(parts[1]);
    return error;
}

/* Whether the mean of some differences is above 0 by more than chance. */
static bool is_ahead(size_t count, double (*accuracy)[CANDIDATES], size_t candidate) {
    double sum = 0.0, squares = 0.0;
    for (size_t s = 0; s < count; s++) {
        const double ahead = accuracy[s][candidate] - accuracy[s][0];
        sum += ahead;
        squares += ahead * ahead;
    }
    const double n = (double)count, mean = sum / n;
    return mean > errors_ahead * sqrt(fmax(squares / n - mean * mean, 0.0) / fmax(n - 1.0, 1.0));
}

/* Where nobody says how: what does best on held-out rows, over several splits, chooses from all
 * rows. Too few rows for that: k-means by class. */
static blv_error choose_best(choosing *c) {
    blv_selection how = c->options.selection;
    const size_t splits = c->result.rows > MANY_ROWS ? SPLITS_OF_MANY : SPLITS;
    double accuracy[SPLITS][CANDIDATES] = {{0}}, mean[CANDIDATES] = {0};
    size_t best = 0, *row = malloc(c->result.rows * sizeof *row);
    blv_error error = row ? BLV_OK : blv_explain_memory(c->why);
    for (size_t s = 0; error == BLV_OK && s < splits && !c->task.stopped; s++)
        error = try_candidates(c, how.seed + s, row, accuracy[s]);
    free(row);
    for (size_t i = 0; i < CANDIDATES; i++) {
        for (size_t s = 0; s < splits; s++)
            mean[i] += accuracy[s][i];
        if (mean[i] > mean[best] && is_ahead(splits, accuracy, i))
            best = i;
    }
    if (!(mean[0] > 0.0)) /* nothing could be held out */
        best = 1;
    how.method = c->result.method = blv_selection_method_find(candidates[best], NULL);
    blv_task_say(&c->task, "choosing by %s", how.method->name);
    return error == BLV_OK && !c->task.stopped
               ? blv_select(c->rows, &how, c->result.index, c->result.weight, c->why)
               : error;
}

static blv_error choose(choosing *c) {
    const int32_t *label = blv_dataset_view_of(c->rows)->label;
    const blv_selection *how = &c->options.selection;
    const double begin = blv_wall_clock();
    if (how->method) {
        blv_task_say(&c->task, "choosing by %s", how->method->name);
        BLV_CHECK(blv_select(c->rows, how, c->result.index, c->result.weight, c->why));
    } else {
        BLV_CHECK(choose_best(c));
    }
    c->result.seconds = blv_wall_clock() - begin;
    BLV_CHECK(sort_chosen(c));
    for (size_t i = 0; i < c->result.rows; i++)
        c->result.of_class[label[i]]++;
    for (size_t k = 0; k < c->result.count; k++)
        c->result.chosen_of_class[label[c->result.index[k]]]++;
    return BLV_OK;
}

static blv_error judge_uniform(choosing *c) {
    blv_selection how = c->options.selection;
    size_t *index = malloc(how.count * sizeof *index);
    if (!index)
        return blv_explain_memory(c->why);
    how.method = blv_selection_method_find("uniform", NULL);
    blv_error error = blv_select(c->rows, &how, index, NULL, c->why);
    if (error == BLV_OK)
        error = judge(c, "as many at random", index, NULL, &c->result.uniform_accuracy);
    free(index);
    return error;
}

static blv_error expect_going(const choosing *c) {
    return c->task.stopped ? blv_explain(c->why, BLV_E_STOPPED, "stopped on request") : BLV_OK;
}

static blv_error compare(choosing *c) {
    blv_select_result *r = &c->result;
    BLV_CHECK(judge(c, "the chosen rows", c->result.index, c->result.weight, &r->chosen_accuracy));
    BLV_CHECK(expect_going(c));
    BLV_CHECK(judge_uniform(c));
    BLV_CHECK(expect_going(c));
    return judge(c, "all rows", NULL, NULL, &r->all_accuracy);
}

static blv_error make_space(choosing *c) {
    blv_select_result *r = &c->result;
    const blv_dataset_view *view = blv_dataset_view_of(c->rows);
    const blv_selection *how = &c->options.selection;
    if (how->count == 0 || how->count > view->rows)
        return blv_explain(c->why, BLV_E_VALUE, "selection: %zu rows of %zu cannot be chosen",
                           how->count, view->rows);
    r->rows = view->rows;
    r->count = how->count;
    r->classes = view->classes;
    r->chosen_accuracy = r->uniform_accuracy = r->all_accuracy = (double)NAN;
    r->index = blv_arena_alloc(&c->arena, r->count, sizeof *r->index);
    r->weight = blv_arena_alloc(&c->arena, r->count, sizeof *r->weight);
    r->of_class = blv_arena_alloc(&c->arena, r->classes, sizeof *r->of_class);
    r->chosen_of_class = blv_arena_alloc(&c->arena, r->classes, sizeof *r->chosen_of_class);
    return c->arena.failed ? blv_explain_memory(c->why) : BLV_OK;
}

/* A network that cannot be made is rejected, whether it will be trained or not. */
static blv_error expect_network(const choosing *c) {
    const blv_dataset_view *view = blv_dataset_view_of(c->rows);
    blv_nn *net = NULL;
    blv_error error = c->options.net ? blv_nn_from_text(&net, c->options.net, view->columns,
                                                        view->classes, c->why)
                                     : BLV_OK;
    blv_nn_destroy(net);
    return error;
}

static blv_error select_rows(choosing *c, const blv_select_options *options,
                             const blv_task_hooks *hooks) {
    blv_selection *how = &c->options.selection;
    BLV_CHECK(
        blv_caller_struct(&c->options, sizeof c->options, options, "blv_select_options", c->why));
    how->size = sizeof *how;
    BLV_CHECK(blv_task_open(&c->task, hooks, c->why));
    BLV_CHECK(make_space(c));
    BLV_CHECK(expect_network(c));
    c->result.method = how->method;
    BLV_CHECK(choose(c));
    BLV_CHECK(expect_going(c));
    return c->options.compare ? compare(c) : BLV_OK;
}

blv_error blv_select_rows(const blv_dataset *rows, const blv_dataset *test,
                          const blv_select_options *options, blv_select_result **result,
                          const blv_task_hooks *hooks, blv_message *why) {
    if (!rows || !options || !result)
        return blv_explain(why, BLV_E_ARGUMENT, "selection: a NULL argument");
    *result = NULL;
    choosing *c = calloc(1, sizeof *c);
    if (!c)
        return blv_explain_memory(why);
    c->rows = rows;
    c->test = test;
    c->why = why;
    blv_error error = select_rows(c, options, hooks);
    if (error == BLV_OK)
        *result = &c->result;
    else
        blv_select_result_destroy(&c->result);
    return error;
}

void blv_select_result_destroy(blv_select_result *result) {
    if (!result)
        return;
    choosing *c = (choosing *)(void *)result; /* its first member */
    blv_arena_free(&c->arena);
    free(c);
}
