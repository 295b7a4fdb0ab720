/* One pass through the tasks: learning, keeping rows, judging. */
#include "learn/continual_work.h"

#include <math.h>
#include <stdlib.h>

static const double least_share = 0.1; /* of its rows that a class keeps, with imbalanced */

typedef struct stream {
    const blv_stream_setting *setting;
    const blv_continual_options *options;
    blv_continual_pass *pass;
    blv_classifier *network;
    size_t seen;        /* tasks so far */
    size_t **kept;      /* of each task: rows in memory */
    size_t *kept_count; /* of each task */
} stream;

/* ---- Tasks ---- */

/* Classes of task t: from first to end - 1. */
static void task_classes(const stream *s, size_t t, size_t *first, size_t *end) {
    const size_t classes = blv_dataset_view_of(s->setting->rows)->classes;
    *first = t * classes / s->pass->tasks;
    *end = (t + 1) * classes / s->pass->tasks;
}

static bool is_of_task(const stream *s, size_t t, int32_t label) {
    size_t first, end;
    task_classes(s, t, &first, &end);
    return (size_t)label >= first && (size_t)label < end;
}

/* A number that is as good as random, in [0, 1). */
static double drawn(uint64_t seed, uint64_t number) {
    uint64_t z = seed * 0x9e3779b97f4a7c15u + (number + 1) * 0xd1b54a32d192ed03u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* Whether a row is in the stream: all are, unless their class has lost a share of its rows. */
static bool comes(const stream *s, size_t row, int32_t label) {
    if (!s->options->imbalanced)
        return true;
    const double share = pow(least_share, drawn(s->pass->seed, (uint64_t)label));
    return drawn(s->pass->seed + 1, (uint64_t)row + 1000000) < share;
}

/* Rows of a task; index has room for all rows. */
static size_t task_rows(const stream *s, size_t t, size_t *index) {
    const blv_dataset_view *v = blv_dataset_view_of(s->setting->rows);
    size_t count = 0;
    for (size_t i = 0; i < v->rows; i++)
        if (is_of_task(s, t, v->label[i]) && comes(s, i, v->label[i]))
            index[count++] = i;
    return count;
}

/* ---- Memory ---- */

/* All that is in memory, as a set; NULL while there is nothing. Rows count alike, whatever weights
 * the method gave them: with those of the bilevel methods networks learn worse. */
static blv_error recall(const stream *s, blv_dataset **memory) {
    size_t count = 0, next = 0;
    for (size_t t = 0; t < s->seen; t++)
        count += s->kept_count[t];
    if (count == 0)
        return BLV_OK;
    size_t *index = malloc(count * sizeof *index);
    if (!index)
        return blv_explain_memory(s->setting->why);
    for (size_t t = 0; t < s->seen; t++)
        for (size_t k = 0; k < s->kept_count[t]; k++)
            index[next++] = s->kept[t][k];
    blv_error error = blv_dataset_select(s->setting->rows, index, count, memory, s->setting->why);
    free(index);
    return error;
}

/* Chooses what is kept of task t among these rows. */
static blv_error keep_some(stream *s, size_t t, const size_t *index, size_t count, size_t size) {
    blv_selection how = s->options->selection;
    how.size = sizeof how;
    how.method = s->pass->method;
    how.count = size;
    how.seed = s->pass->seed * 1000 + t;
    how.threads = s->options->threads;
    how.first = s->pass->initial > 0.0 ? s->pass->initial : how.first;
    how.model = s->network;
    blv_dataset *set = NULL;
    size_t *kept = calloc(size, sizeof *kept);
    blv_error error =
        kept ? blv_dataset_select(s->setting->rows, index, count, &set, s->setting->why)
             : blv_explain_memory(s->setting->why);
    const double begin = blv_wall_clock();
    if (error == BLV_OK)
        error = blv_select(set, &how, kept, NULL, s->setting->why);
    s->pass->seconds += blv_wall_clock() - begin;
    for (size_t k = 0; error == BLV_OK && k < size; k++)
        kept[k] = index[kept[k]];
    blv_dataset_release(set);
    free(s->kept[t]);
    s->kept[t] = kept;
    s->kept_count[t] = size;
    return error;
}

/* The task just learned gets its share, the others give some back: of the rows that they have, the
 * same method chooses fewer. */
static blv_error memorize(stream *s, const size_t *index, size_t count) {
    const size_t t = s->seen++, each = s->options->memory / (t + 1), wanted = each > 0 ? each : 1;
    BLV_CHECK(keep_some(s, t, index, count, wanted < count ? wanted : count));
    for (size_t j = 0; j < t; j++)
        if (s->kept_count[j] > wanted)
            BLV_CHECK(keep_some(s, j, s->kept[j], s->kept_count[j], wanted));
    return BLV_OK;
}

/* ---- Learning and judging ---- */

static blv_error learn(stream *s, const blv_dataset *set) {
    blv_training training = blv_judge_training(s->options->steps, s->pass->seed * 1000 + s->seen);
    blv_dataset *memory = NULL;
    BLV_CHECK(recall(s, &memory));
    training.also = memory;
    blv_error error = blv_classifier_train(s->network, set, &training, s->setting->why);
    blv_dataset_release(memory);
    return error;
}

/* The best of the classes that an answer may be. */
static size_t answer(const double *score, size_t from, size_t to) {
    size_t best = from;
    for (size_t k = from + 1; k < to; k++)
        best = score[k] > score[best] ? k : best;
    return best;
}

/* After task t: the accuracy on the test rows of task j. */
static double accuracy_on(const stream *s, const double *score, size_t t, size_t j) {
    const blv_dataset_view *v = blv_dataset_view_of(s->setting->test);
    double right = 0.0, rows = 0.0;
    size_t from, to, ignored;
    task_classes(s, j, &from, &to);
    if (!s->options->task_known) {
        from = 0;
        task_classes(s, t, &ignored, &to);
    }
    for (size_t i = 0; i < v->rows; i++) {
        if (!is_of_task(s, j, v->label[i]))
            continue;
        right += answer(score + i * v->classes, from, to) == (size_t)v->label[i];
        rows += 1.0;
    }
    return rows > 0.0 ? right / rows : (double)NAN;
}

/* After the task that was learned last: on the test rows of all tasks so far. */
static blv_error judge(stream *s) {
    const blv_dataset_view *v = blv_dataset_view_of(s->setting->test);
    const size_t t = s->seen - 1;
    double *score = calloc(v->rows * v->classes, sizeof *score);
    if (!score)
        return blv_explain_memory(s->setting->why);
    blv_error error = blv_classifier_scores(s->network, s->setting->test, score, s->setting->why);
    for (size_t j = 0; error == BLV_OK && j <= t; j++)
        s->pass->accuracy[t * s->pass->tasks + j] = accuracy_on(s, score, t, j);
    free(score);
    return error;
}

static blv_error take_task(stream *s) {
    const blv_dataset *rows = s->setting->rows;
    const size_t t = s->seen;
    size_t *index = malloc(blv_dataset_view_of(rows)->rows * sizeof *index);
    if (!index)
        return blv_explain_memory(s->setting->why);
    size_t count = task_rows(s, t, index);
    blv_dataset *set = NULL;
    blv_error error = count > 0
                          ? blv_dataset_select(rows, index, count, &set, s->setting->why)
                          : blv_explain(s->setting->why, BLV_E_VALUE, "no row of task %zu", t + 1);
    if (error == BLV_OK)
        error = learn(s, set);
    if (error == BLV_OK)
        error = memorize(s, index, count);
    s->pass->seconds_after[t] = s->pass->seconds;
    if (error == BLV_OK)
        error = judge(s);
    blv_dataset_release(set);
    free(index);
    return error;
}

/* ---- All tasks ---- */

void blv_continual_after(const blv_continual_pass *pass, size_t after, double *average,
                         double *forgetting) {
    *average = *forgetting = NAN;
    if (!pass || after == 0 || after > pass->tasks)
        return;
    const double *last = pass->accuracy + (after - 1) * pass->tasks;
    *average = *forgetting = 0.0;
    for (size_t j = 0; j < after; j++) {
        double best = -1.0;
        *average += last[j] / (double)after;
        for (size_t t = j; t + 1 < after; t++)
            best = fmax(best, pass->accuracy[t * pass->tasks + j]);
        if (j + 1 < after)
            *forgetting += (best - last[j]) / (double)(after - 1);
    }
}

static blv_error open_stream(stream *s, blv_arena *arena, blv_arena *own) {
    const size_t T = s->pass->tasks;
    const blv_dataset_view *view = blv_dataset_view_of(s->setting->rows);
    const blv_classifier_options options = {.size = sizeof options,
                                            .net = s->options->net,
                                            .precision = view->precision,
                                            .threads = s->options->threads,
                                            .seed = s->pass->seed};
    s->pass->accuracy = blv_arena_alloc(arena, T * T, sizeof(double));
    s->pass->seconds_after = blv_arena_alloc(arena, T, sizeof(double));
    s->kept = blv_arena_alloc(own, T, sizeof *s->kept);
    s->kept_count = blv_arena_alloc(own, T, sizeof *s->kept_count);
    if (arena->failed || own->failed)
        return blv_explain_memory(s->setting->why);
    for (size_t i = 0; i < T * T; i++)
        s->pass->accuracy[i] = (double)NAN;
    return blv_classifier_create(&s->network, view->columns, view->classes, &options,
                                 s->setting->why);
}

blv_error blv_continual_run_pass(const blv_stream_setting *setting, blv_arena *arena,
                                 blv_continual_pass *pass) {
    blv_arena own = {0};
    stream s = {.setting = setting, .options = setting->options, .pass = pass};
    blv_error error = open_stream(&s, arena, &own);
    while (error == BLV_OK && s.seen < pass->tasks)
        error = take_task(&s);
    if (error == BLV_OK)
        blv_continual_after(pass, pass->tasks, &pass->average, &pass->forgetting);
    for (size_t t = 0; s.kept && t < pass->tasks; t++)
        free(s.kept[t]);
    blv_arena_free(&own);
    blv_classifier_destroy(s.network);
    return error;
}
