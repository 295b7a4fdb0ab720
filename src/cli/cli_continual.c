#include "cli_continual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double least_share = 0.1; /* of its rows that a class keeps, with imbalanced */

/* What one pass holds. */
typedef struct pass {
    const cli_stream *stream;
    const blv_selection_method *method;
    uint64_t seed;
    blv_classifier *network;
    size_t seen;        /* tasks so far */
    size_t **kept;      /* of each task: rows in memory */
    size_t *kept_count; /* of each task */
    cli_stream_end *end;
} pass;

void cli_task_classes(size_t classes, size_t tasks, size_t t, size_t *first, size_t *count) {
    *first = t * classes / tasks;
    *count = (t + 1) * classes / tasks - *first;
}

/* ---- The stream ---- */

/* A number that is as good as random, in [0, 1): for what is drawn outside of the library. */
static double drawn(uint64_t seed, uint64_t number) {
    uint64_t z = seed * 0x9e3779b97f4a7c15u + (number + 1) * 0xd1b54a32d192ed03u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* Whether a row is in the stream: all are, unless their class has lost a share of its rows. */
static bool comes(const pass *p, size_t row, int32_t label) {
    if (!p->stream->imbalanced)
        return true;
    const double share = pow(least_share, drawn(p->seed, (uint64_t)label));
    return drawn(p->seed + 1, (uint64_t)row + 1000000) < share;
}

static bool is_of_task(const cli_stream *s, size_t t, int32_t label) {
    size_t first, count;
    cli_task_classes(blv_dataset_view_of(s->rows)->classes, s->tasks, t, &first, &count);
    return (size_t)label >= first && (size_t)label < first + count;
}

/* Rows of a task; index has room for all rows. */
static size_t task_rows(const pass *p, size_t t, size_t *index) {
    const blv_dataset_view *v = blv_dataset_view_of(p->stream->rows);
    size_t count = 0;
    for (size_t i = 0; i < v->rows; i++)
        if (is_of_task(p->stream, t, v->label[i]) && comes(p, i, v->label[i]))
            index[count++] = i;
    return count;
}

/* ---- Memory ---- */

static size_t quota(const pass *p, size_t tasks) {
    const size_t each = p->stream->memory / tasks;
    return each > 0 ? each : 1;
}

/* All that is in memory, as a set; NULL while there is nothing. Rows count alike, whatever weights
 * the method gave them: with those of the bilevel methods networks learn worse. */
static int recall(const pass *p, blv_dataset **memory) {
    size_t count = 0, next = 0;
    for (size_t t = 0; t < p->seen; t++)
        count += p->kept_count[t];
    *memory = NULL;
    if (count == 0)
        return CLI_DONE;
    size_t *index = cli_alloc(count, sizeof *index);
    for (size_t t = 0; t < p->seen; t++)
        for (size_t k = 0; k < p->kept_count[t]; k++)
            index[next++] = p->kept[t][k];
    int code = cli_select_rows(p->stream->rows, index, count, memory);
    free(index);
    return code;
}

/* Chooses what is kept of task t among these rows. */
static int keep_some(pass *p, size_t t, const size_t *index, size_t count, size_t size) {
    blv_selection how =
        cli_choosing_selection(p->stream->choosing, p->method, size, p->seed * 1000 + t);
    size_t *kept = cli_alloc(size, sizeof *kept);
    blv_dataset *set = NULL;
    blv_message why = {0};
    blv_error error = BLV_OK;
    how.model = p->network;
    int code = cli_select_rows(p->stream->rows, index, count, &set);
    const double begin = cli_seconds();
    if (code == CLI_DONE)
        error = blv_select(set, &how, kept, NULL, &why);
    p->end->seconds += cli_seconds() - begin;
    for (size_t k = 0; code == CLI_DONE && error == BLV_OK && k < size; k++)
        kept[k] = index[kept[k]];
    blv_dataset_release(set);
    free(p->kept[t]);
    p->kept[t] = kept;
    p->kept_count[t] = size;
    return error == BLV_OK ? code : cli_refuse(error, why.text);
}

/* The task just learned gets its share, the others give some back: of the rows that they have, the
 * same method chooses fewer. */
static int memorize(pass *p, const size_t *index, size_t count) {
    const size_t t = p->seen++, wanted = quota(p, t + 1);
    int code = keep_some(p, t, index, count, wanted < count ? wanted : count);
    for (size_t j = 0; code == CLI_DONE && j < t; j++)
        if (p->kept_count[j] > wanted)
            code = keep_some(p, j, p->kept[j], p->kept_count[j], wanted);
    return code;
}

/* ---- Learning and judging ---- */

static int learn(pass *p, const blv_dataset *set) {
    blv_training training = cli_choosing_training(p->stream->choosing, p->seed * 1000 + p->seen);
    blv_dataset *memory = NULL;
    int code = recall(p, &memory);
    training.also = memory;
    blv_message why = {0};
    blv_error error = BLV_OK;
    if (code == CLI_DONE)
        error = blv_classifier_train(p->network, set, &training, &why);
    blv_dataset_release(memory);
    return code == CLI_DONE && error != BLV_OK ? cli_refuse(error, why.text) : code;
}

/* The best of the classes that an answer may be. */
static size_t answer(const double *score, size_t from, size_t to) {
    size_t best = from;
    for (size_t k = from + 1; k < to; k++)
        best = score[k] > score[best] ? k : best;
    return best;
}

/* After the task that was learned last: on the test rows of all tasks so far. */
static int judge(pass *p) {
    const cli_stream *s = p->stream;
    const blv_dataset_view *v = blv_dataset_view_of(s->test);
    const size_t t = p->seen - 1;
    double *score = cli_alloc(v->rows * v->classes, sizeof *score);
    blv_message why = {0};
    blv_error error = blv_classifier_scores(p->network, s->test, score, &why);
    for (size_t j = 0; error == BLV_OK && j <= t; j++) {
        size_t first, count, last, of_last;
        double right = 0.0, rows = 0.0;
        cli_task_classes(v->classes, s->tasks, j, &first, &count);
        cli_task_classes(v->classes, s->tasks, t, &last, &of_last);
        const size_t from = s->task_known ? first : 0;
        const size_t to = s->task_known ? first + count : last + of_last;
        for (size_t i = 0; i < v->rows; i++) {
            if (!is_of_task(s, j, v->label[i]))
                continue;
            right += answer(score + i * v->classes, from, to) == (size_t)v->label[i];
            rows += 1.0;
        }
        p->end->accuracy[t * s->tasks + j] = rows > 0.0 ? right / rows : (double)NAN;
    }
    free(score);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}

static int take_task(pass *p) {
    const size_t rows = blv_dataset_view_of(p->stream->rows)->rows, t = p->seen;
    size_t *index = cli_alloc(rows, sizeof *index), count = task_rows(p, t, index);
    blv_dataset *set = NULL;
    int code = CLI_DONE;
    if (count == 0) {
        cli_complain("%s: no row of task %zu", p->stream->choosing->data, t + 1);
        code = CLI_REFUSED;
    }
    if (code == CLI_DONE)
        code = cli_select_rows(p->stream->rows, index, count, &set);
    if (code == CLI_DONE)
        code = learn(p, set);
    if (code == CLI_DONE)
        code = memorize(p, index, count);
    p->end->seconds_after[t] = p->end->seconds;
    if (code == CLI_DONE)
        code = judge(p);
    blv_dataset_release(set);
    free(index);
    return code;
}

void cli_stream_sums(const cli_stream_end *end, size_t tasks, size_t after, double *average,
                     double *forgetting) {
    const double *last = end->accuracy + (after - 1) * tasks;
    *average = *forgetting = 0.0;
    for (size_t j = 0; j < after; j++) {
        double best = -1.0;
        *average += last[j] / (double)after;
        for (size_t t = j; t + 1 < after; t++)
            best = fmax(best, end->accuracy[t * tasks + j]);
        if (j + 1 < after)
            *forgetting += (best - last[j]) / (double)(after - 1);
    }
}

int cli_continual(const cli_stream *stream, const blv_selection_method *method, uint64_t seed,
                  cli_stream_end *end) {
    const size_t T = stream->tasks;
    pass p = {.stream = stream, .method = method, .seed = seed, .end = end};
    *end = (cli_stream_end){.accuracy = cli_alloc(T * T, sizeof *end->accuracy),
                            .seconds_after = cli_alloc(T, sizeof *end->seconds_after)};
    for (size_t i = 0; i < T * T; i++)
        end->accuracy[i] = (double)NAN;
    p.kept = cli_alloc(T, sizeof *p.kept);
    p.kept_count = cli_alloc(T, sizeof *p.kept_count);
    int code = cli_choosing_network(stream->choosing, stream->rows, seed, &p.network);
    while (code == CLI_DONE && p.seen < T)
        code = take_task(&p);
    if (code == CLI_DONE)
        cli_stream_sums(end, T, T, &end->average, &end->forgetting);
    for (size_t t = 0; t < T; t++)
        free(p.kept[t]);
    free(p.kept);
    free(p.kept_count);
    blv_classifier_destroy(p.network);
    return code;
}

void cli_stream_end_free(cli_stream_end *end) {
    free(end->accuracy);
    free(end->seconds_after);
    *end = (cli_stream_end){0};
}
