/* The outer cross-validation: how good are penalties that were learned without the rows they are
 * judged by? It chooses the shrinkage, and tells whether many penalties are worth having. */
#include "learn/row_sets.h"
#include "learn/tune_work.h"

#include <math.h>
#include <string.h>

enum { PARTS = 5, WORSE_IN_A_ROW = 2 };

/* In units of the held-out loss of one penalty, from hardly any departures on. */
static const double shrinkages[] = {10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003};
enum { SHRINKAGES = sizeof shrinkages / sizeof *shrinkages, LOSSES = BLV_OUTER_MANY + SHRINKAGES };

static const double tolerated = 0.5; /* standard errors of a loss above the lowest */
static const double clear_gain = 2.0;
static const double much_work = 2e6; /* from here on one part is judged, and not all */

/* ---- Parts ---- */

/* One part of the rows that are judged, and what is learned from the others. */
typedef struct part {
    blv_learner learner;
    blv_dataset *held;
    size_t *row; /* of the judged set: those of held */
    double *y;   /* the last model on all its rows: where the next one starts */
} part;

typedef struct outer {
    blv_outer *table;
    const blv_learner *all;
    blv_tuning *tuning;
    blv_dataset *judged; /* val or train */
    blv_arena arena;
    double *room; /* weights, then what is judged of each held row */
    part part[PARTS];
    size_t parts;
} outer;

static blv_error open_part(outer *o, const uint32_t *of_row, size_t number) {
    blv_tuning *t = o->tuning;
    part *p = &o->part[number];
    const size_t rows = o->table->rows;
    size_t count = 0;
    bool *in = blv_arena_alloc(&o->arena, rows, sizeof *in);
    bool *out = blv_arena_alloc(&o->arena, rows, sizeof *out);
    p->row = blv_arena_alloc(&o->arena, rows, sizeof *p->row);
    p->y = blv_arena_alloc(&o->arena, t->model_dim, sizeof *p->y);
    if (o->arena.failed)
        return blv_explain_memory(t->why);
    for (size_t i = 0; i < rows; i++) {
        in[i] = of_row[i] != number;
        out[i] = !in[i];
        if (out[i])
            p->row[count++] = i;
    }
    blv_dataset *others = NULL, *raw = NULL;
    blv_error error = t->raw ? blv_tune_refill(t, t->raw, in, &others, out, &p->held)
                             : blv_keep_rows(o->judged, out, &p->held, t->why);
    if (error == BLV_OK)
        error = blv_keep_rows(t->raw ? t->raw : o->judged, in, t->raw ? &raw : &others, t->why);
    if (error == BLV_OK)
        error = blv_learner_open(&p->learner, t, t->val ? t->train : others, raw,
                                 t->val ? others : NULL, 1, t->options.seed + 100 + number);
    blv_dataset_release(others);
    blv_dataset_release(raw);
    return error;
}

static blv_error open_parts(outer *o) {
    blv_tuning *t = o->tuning;
    const size_t rows = o->table->rows;
    uint32_t *of_row = blv_arena_alloc(&o->arena, rows, sizeof *of_row);
    o->room = blv_arena_alloc(&o->arena, t->model_dim + 3 * rows, sizeof *o->room);
    if (o->arena.failed)
        return blv_explain_memory(t->why);
    BLV_CHECK(blv_deal_rows(o->judged, PARTS, t->options.seed + 99, of_row, t->why));
    o->parts = t->work > much_work ? 1 : PARTS;
    for (size_t q = 0; q < o->parts; q++)
        BLV_CHECK(open_part(o, of_row, q));
    return BLV_OK;
}

static void close_parts(outer *o) {
    for (size_t q = 0; q < PARTS; q++) {
        if (o->part[q].learner.tuning)
            blv_learner_close(&o->part[q].learner);
        blv_dataset_release(o->part[q].held);
    }
    blv_arena_free(&o->arena);
}

/* ---- Losses ---- */

/* Trains the part's model with these penalties, NULL: one for all, and judges its held rows. */
static blv_error record(outer *o, part *p, size_t model, const double *x, double single) {
    blv_tuning *t = o->tuning;
    const size_t rows = o->table->rows;
    double *weights = o->room, *numbers = weights + t->model_dim;
    const blv_judged *all = &o->table->judged;
    const blv_judged held = {numbers, numbers + rows, numbers + 2 * rows};
    BLV_CHECK(blv_learner_refit(&p->learner, p->learner.train, x, single, p->y));
    blv_tune_weights(t, p->y, weights);
    BLV_CHECK(blv_tune_judge_rows(t, p->held, weights, &held));
    for (size_t i = 0; i < blv_rows_in(p->held); i++) {
        const size_t to = model * rows + p->row[i];
        all->loss[to] = held.loss[i];
        all->right[to] = held.right[i];
        o->table->cautious[to] = blv_tune_cautious(&held, i, rows, 1.0);
    }
    return BLV_OK;
}

static blv_error judge_single(outer *o) {
    for (size_t q = 0; q < o->parts && !o->tuning->task.stopped; q++) {
        part *p = &o->part[q];
        BLV_CHECK(blv_learner_find_single(&p->learner, o->all->single));
        BLV_CHECK(record(o, p, BLV_OUTER_ONE, NULL, exp(p->learner.single)));
        blv_task_say(&o->tuning->task, "hardly any penalty, part %zu/%zu", q + 1, o->parts);
        double *y = blv_arena_alloc(&o->arena, o->tuning->model_dim, sizeof *y);
        if (!y)
            return blv_explain_memory(o->tuning->why);
        memcpy(y, p->y, o->tuning->model_dim * sizeof *y);
        BLV_CHECK(record(o, p, BLV_OUTER_NONE, NULL, o->tuning->result.none));
        memcpy(p->y, y, o->tuning->model_dim * sizeof *y);
    }
    return BLV_OK;
}

static blv_error judge_many(outer *o, size_t s) {
    for (size_t q = 0; q < o->parts && !o->tuning->task.stopped; q++) {
        part *p = &o->part[q];
        blv_task_say(&o->tuning->task, "shrinkage %g, part %zu/%zu", shrinkages[s], q + 1,
                     o->parts);
        BLV_CHECK(blv_learner_find_many(&p->learner, shrinkages[s], NULL));
        BLV_CHECK(record(o, p, BLV_OUTER_MANY + s, p->learner.x, exp(p->learner.single)));
    }
    return BLV_OK;
}

/* ---- The choice ---- */

/* How much a loss of model a is above that of b, and the standard error. */
static double above(const double *loss, size_t rows, size_t a, size_t b, double *error) {
    return blv_tune_mean_gain(rows, loss + a * rows, loss + b * rows, error);
}

/* From strong shrinkage to weak, until that is worse than the best twice in a row. best: of the
 * models, one penalty for all among them. */
static blv_error walk(outer *o, size_t *best, size_t *tried) {
    double error;
    int worse = 0;
    *best = BLV_OUTER_ONE;
    for (*tried = 0; *tried < SHRINKAGES && worse < WORSE_IN_A_ROW; (*tried)++) {
        BLV_CHECK(judge_many(o, *tried));
        if (o->tuning->task.stopped)
            return BLV_OK;
        const double more =
            above(o->table->cautious, o->table->rows, BLV_OUTER_MANY + *tried, *best, &error);
        worse = more > tolerated * error ? worse + 1 : 0;
        if (more < 0.0)
            *best = BLV_OUTER_MANY + *tried;
    }
    return BLV_OK;
}

/* The strongest shrinkage whose loss is not clearly above the lowest. */
static void choose(outer *o, size_t best) {
    blv_outer *table = o->table;
    const double *loss = table->cautious;
    double error, gain;
    size_t s = BLV_OUTER_MANY;
    while (s < best && above(loss, table->rows, s, best, &error) > tolerated * error)
        s++;
    table->chosen = s;
    table->shrinkage = shrinkages[s - BLV_OUTER_MANY];
    gain = above(loss, table->rows, BLV_OUTER_ONE, s, &error);
    table->gain = above(table->judged.loss, table->rows, BLV_OUTER_ONE, s, &table->gain_error);
    table->clear = gain > clear_gain * error && table->gain > clear_gain * table->gain_error;
}

blv_error blv_outer_judge(blv_outer *table, const blv_learner *all) {
    blv_tuning *t = all->tuning;
    outer o = {.table = table, .all = all, .tuning = t, .judged = t->val ? t->val : t->train};
    size_t best = 0, tried = 0;
    table->rows = blv_rows_in(o.judged);
    const size_t count = LOSSES * table->rows;
    double **const arrays[] = {&table->judged.loss, &table->judged.right, &table->cautious};
    for (size_t a = 0; a < 3; a++) {
        *arrays[a] = blv_arena_alloc(&t->arena, count, sizeof(double));
        for (size_t i = 0; *arrays[a] && i < count; i++)
            (*arrays[a])[i] = (double)NAN;
    }
    blv_error error = t->arena.failed ? blv_explain_memory(t->why) : BLV_OK;
    if (error == BLV_OK)
        error = open_parts(&o);
    if (error == BLV_OK)
        error = judge_single(&o);
    /* long work, and fewer rows than penalties to tell apart, as with text: not tried */
    const bool hopeless = t->work > much_work && t->penalty_count > table->rows;
    if (error == BLV_OK && t->options.penalty != BLV_PENALTY_ONE && !hopeless && !t->task.stopped)
        error = walk(&o, &best, &tried);
    if (error == BLV_OK && tried > 0 && !t->task.stopped)
        choose(&o, best);
    close_parts(&o);
    return error;
}

double blv_outer_shrinkage(size_t step, const blv_outer *table) {
    return step < SHRINKAGES && shrinkages[step] >= table->shrinkage ? shrinkages[step]
                                                                     : (double)NAN;
}
