/* A choice of rows with everything about it: order, classes, and how good networks are that are
 * trained on it. */
#include "base/arena.h"
#include "base/caller_struct.h"
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

static const char *const candidates[] = {"d-tfbo", "kmeans-by-class", "facility-by-class",
                                         "uniform"};
enum { CANDIDATES = sizeof candidates / sizeof *candidates, JUDGEMENTS = 3 };
static const double judged_share = 0.25;

/* A choice from the rows of parts[0], and the accuracy on those of parts[1] of networks trained on
 * it: the mean over a few starts. */
static blv_error judge_method(choosing *c, const blv_selection *how, blv_dataset *const *parts,
                              size_t *index, double *weight, double *accuracy) {
    blv_dataset *subset = NULL;
    *accuracy = 0.0;
    BLV_CHECK(blv_select(parts[0], how, index, weight, c->why));
    BLV_CHECK(blv_dataset_select(parts[0], index, how->count, &subset, c->why));
    blv_error error = BLV_OK;
    for (uint64_t i = 0; error == BLV_OK && i < JUDGEMENTS; i++) {
        const blv_classifier_options options = {.size = sizeof options,
                                                .net = c->options.net,
                                                .threads = how->threads,
                                                .seed = how->seed + i};
        double one = 0.0;
        error = blv_judge_rows(subset, weight, parts[1], &options, c->options.steps, &one, c->why);
        *accuracy += one / JUDGEMENTS;
    }
    blv_dataset_release(subset);
    return error;
}

/* row: of all rows, those of parts[0]. */
static blv_error try_methods(choosing *c, const size_t *row, blv_dataset *const *parts) {
    blv_selection how = c->options.selection;
    double best = -1.0, accuracy;
    size_t *index = blv_arena_alloc(&c->arena, how.count, sizeof *index);
    double *weight = blv_arena_alloc(&c->arena, how.count, sizeof *weight);
    if (c->arena.failed)
        return blv_explain_memory(c->why);
    for (size_t i = 0; i < CANDIDATES && !c->task.stopped; i++) {
        how.method = blv_selection_method_find(candidates[i], NULL);
        blv_task_say(&c->task, "trying %s", how.method->name);
        BLV_CHECK(judge_method(c, &how, parts, index, weight, &accuracy));
        if (accuracy <= best)
            continue;
        best = accuracy;
        c->result.method = how.method;
        for (size_t k = 0; k < how.count; k++) {
            c->result.index[k] = row[index[k]];
            c->result.weight[k] = weight[k];
        }
    }
    return BLV_OK;
}

static blv_error split_rows(const choosing *c, size_t *row, blv_dataset **parts) {
    const double sizes[] = {1.0 - judged_share, judged_share};
    size_t count[2];
    BLV_CHECK(blv_dataset_split_rows(c->rows, sizes, 2, true, c->options.selection.seed, row, count,
                                     c->why));
    if (count[0] < c->options.selection.count || count[1] == 0)
        return BLV_OK;
    BLV_CHECK(blv_dataset_select(c->rows, row, count[0], &parts[0], c->why));
    return blv_dataset_select(c->rows, row + count[0], count[1], &parts[1], c->why);
}

/* Where nobody says how: of several choices from a part of the rows the one that does best on the
 * others. Too few rows for that: k-means by class. */
static blv_error choose_best(choosing *c) {
    blv_dataset *parts[2] = {NULL, NULL};
    size_t *row = malloc(c->result.rows * sizeof *row);
    blv_error error = row ? split_rows(c, row, parts) : blv_explain_memory(c->why);
    if (error == BLV_OK && parts[1]) {
        error = try_methods(c, row, parts);
    } else if (error == BLV_OK) {
        blv_selection how = c->options.selection;
        how.method = c->result.method = blv_selection_method_find("kmeans-by-class", NULL);
        error = blv_select(c->rows, &how, c->result.index, c->result.weight, c->why);
    }
    blv_dataset_release(parts[0]);
    blv_dataset_release(parts[1]);
    free(row);
    return error;
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
