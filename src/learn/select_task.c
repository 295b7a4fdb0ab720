/* A choice of rows with everything about it: order, classes, and how good networks are that are
 * trained on it. */
#include "base/arena.h"
#include "base/message.h"
#include "bilevel/select.h"
#include "learn/choose.h"
#include "learn/task_runner.h"
#include "nn/nn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct choosing {
    blv_select_result result; /* first: what the caller gets */
    blv_arena arena;
    blv_select_options options;
    blv_task task;
    const blv_dataset *rows, *test;
    blv_message *why;
} choosing;

/* The heaviest first. */
static blv_error sort_chosen(choosing *c) {
    size_t count = c->result.count;
    blv_valued *all = blv_arena_alloc(&c->arena, count, sizeof *all);
    if (!all)
        return blv_explain_memory(c->why);
    for (size_t k = 0; k < count; k++)
        all[k] = (blv_valued){c->result.weight[k], c->result.index[k]};
    qsort(all, count, sizeof *all, blv_by_value);
    for (size_t k = 0; k < count; k++) {
        c->result.index[k] = all[k].number;
        c->result.weight[k] = all[k].value;
    }
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

/* Where nobody says how, all of these choose from all rows, and networks trained on each choice are
 * tested on rows that are in none of them. The first is what others have to beat: at random. Of
 * those that do equally well the earlier is taken. */
static const struct {
    const char *method;
    uint64_t seed; /* added to that of the choice */
} candidates[] = {
    {"uniform", 0}, {"d-tfbo", 0},          {"kmeans-by-class", 0}, {"facility-by-class", 0},
    {"uniform", 1}, {"kmeans-by-class", 1}, {"uniform", 2}};
enum { CANDIDATES = sizeof candidates / sizeof *candidates, JUDGEMENTS = 4, FEWEST_JUDGED = 10 };
enum { MOST_JUDGED = 5000, SAFE = 2 };

/* The choices of all candidates. */
typedef struct choices {
    blv_arena arena;
    size_t *index;
    double *weight;
    blv_dataset *others; /* rows that none has chosen; NULL: too few */
} choices;

static blv_error make_choices(choosing *c, choices *all) {
    blv_selection how = c->options.selection;
    how.by_class = true;
    for (size_t i = 0; i < CANDIDATES && !c->task.stopped; i++) {
        how.method = blv_selection_method_find(candidates[i].method, NULL);
        how.seed = c->options.selection.seed + candidates[i].seed;
        blv_task_say(&c->task, "trying %s", how.method->name);
        BLV_CHECK(blv_select(c->rows, &how, all->index + i * how.count, all->weight + i * how.count,
                             c->why));
    }
    return BLV_OK;
}

/* Evenly spaced where they are very many. */
static blv_error take_others(choosing *c, choices *all) {
    const size_t rows = c->result.rows;
    bool *taken = blv_arena_alloc(&all->arena, rows, sizeof *taken);
    size_t *row = blv_arena_alloc(&all->arena, rows, sizeof *row), count = 0;
    if (!taken || !row)
        return blv_explain_memory(c->why);
    for (size_t i = 0; i < CANDIDATES * c->result.count; i++)
        taken[all->index[i]] = true;
    for (size_t i = 0; i < rows; i++)
        if (!taken[i])
            row[count++] = i;
    const size_t judged = count < MOST_JUDGED ? count : MOST_JUDGED;
    for (size_t i = 0; i < judged; i++)
        row[i] = row[i * count / judged];
    return judged < FEWEST_JUDGED ? BLV_OK
                                  : blv_dataset_select(c->rows, row, judged, &all->others, c->why);
}

/* The sum over a few starts of the accuracy on the other rows of networks trained on a choice, with
 * its weights and, since many will train on the rows alone, without. */
static blv_error judge_choice(choosing *c, const choices *all, size_t candidate, double *sum) {
    const blv_selection *how = &c->options.selection;
    const size_t first = candidate * how->count;
    blv_dataset *subset = NULL;
    blv_error error = blv_dataset_select(c->rows, all->index + first, how->count, &subset, c->why);
    for (uint64_t i = 0; error == BLV_OK && i < JUDGEMENTS && !c->task.stopped; i++) {
        const blv_classifier_options options = {.size = sizeof options,
                                                .net = c->options.net,
                                                .threads = how->threads,
                                                .seed = how->seed + i};
        double accuracy = 0.0;
        blv_task_say(&c->task, "judging %s", candidates[candidate].method);
        error = blv_judge_rows(subset, i % 2 == 0 ? all->weight + first : NULL, all->others,
                               &options, c->options.steps, &accuracy, c->why);
        *sum += accuracy;
    }
    blv_dataset_release(subset);
    return error;
}

/* Too few rows to judge: k-means by class. */
static blv_error choose_best(choosing *c) {
    const size_t count = c->result.count;
    choices all = {0};
    all.index = blv_arena_alloc(&all.arena, CANDIDATES * count, sizeof *all.index);
    all.weight = blv_arena_alloc(&all.arena, CANDIDATES * count, sizeof *all.weight);
    double accuracy[CANDIDATES] = {0};
    size_t best = 0;
    blv_error error = all.arena.failed ? blv_explain_memory(c->why) : make_choices(c, &all);
    if (error == BLV_OK && !c->task.stopped)
        error = take_others(c, &all);
    for (size_t i = 0; error == BLV_OK && all.others && i < CANDIDATES; i++)
        error = judge_choice(c, &all, i, &accuracy[i]);
    for (size_t i = 1; i < CANDIDATES; i++)
        best = accuracy[i] > accuracy[best] ? i : best;
    best = all.others ? best : SAFE;
    if (error == BLV_OK) {
        c->result.method = blv_selection_method_find(candidates[best].method, NULL);
        memcpy(c->result.index, all.index + best * count, count * sizeof *all.index);
        memcpy(c->result.weight, all.weight + best * count, count * sizeof *all.weight);
    }
    blv_dataset_release(all.others);
    blv_arena_free(&all.arena);
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
    size_t *index = blv_arena_alloc(&c->arena, how.count, sizeof *index);
    if (!index)
        return blv_explain_memory(c->why);
    how.method = blv_selection_method_find("uniform", NULL);
    BLV_CHECK(blv_select(c->rows, &how, index, NULL, c->why));
    return judge(c, "as many at random", index, NULL, &c->result.uniform_accuracy);
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
