/* One penalty for all: the loss on all validation rows along a grid, then a parabola. */
#include "learn/row_sets.h"
#include "learn/tune_work.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORSE_IN_A_ROW = 2, MOST_TRIED = 40 };
static const double highest_penalty = 1e3, first_penalty = 1.0, lowest_penalty = 1e-9;
static const double search_tolerance = 1e-5;
static const double decade = 2.302585092994046; /* in the logarithm */

typedef struct tried {
    double logarithm, loss;
    double *losses; /* of the validation rows */
} tried;

typedef struct search {
    blv_tuning *tuning;
    blv_arena arena;
    const blv_problem *problem; /* x: the logarithm of the penalty */
    double *y;                  /* model of the last penalty tried: the next one starts there */
    double best, best_loss;     /* logarithm of the penalty, loss on all validation rows */
    double *best_y, *weights;
    size_t dim_y, rows;
    tried all[MOST_TRIED];
    size_t count;
} search;

static void say_penalty(const search *s, double logarithm) {
    blv_task *task = &s->tuning->task;
    if (isfinite(s->best_loss))
        blv_task_say(task, "one penalty for all: %.2g; best so far %.2g, loss %.4f", exp(logarithm),
                     exp(s->best), s->best_loss);
    else
        blv_task_say(task, "one penalty for all: %.2g", exp(logarithm));
}

static blv_error try_penalty(search *s, double logarithm, double *loss) {
    blv_tuning *t = s->tuning;
    say_penalty(s, logarithm);
    BLV_CHECK(blv_fit(&t->task, s->problem, &logarithm, search_tolerance, s->y));
    tried *now = &s->all[s->count];
    *now = (tried){logarithm, 0.0, blv_arena_alloc(&s->arena, s->rows, sizeof *now->losses)};
    if (!now->losses)
        return blv_explain_memory(t->why);
    s->count++;
    blv_fit_weights(t->train, s->y, t->scores, s->weights);
    BLV_CHECK(blv_tune_row_losses(t, t->val, s->weights, now->losses));
    for (size_t i = 0; i < s->rows; i++)
        now->loss += now->losses[i] / (double)s->rows;
    *loss = now->loss;
    if (*loss < s->best_loss) {
        s->best = logarithm;
        s->best_loss = *loss;
        memcpy(s->best_y, s->y, s->dim_y * sizeof *s->y);
    }
    return BLV_OK;
}

/* Goes along the grid until the loss has been worse than the best a few times in a row. */
static blv_error walk(search *s, double from, double to, double step) {
    int worse = 0;
    size_t steps = (size_t)(fabs(to - from) / fabs(step) + 0.5);
    for (size_t i = 0; i <= steps && worse < WORSE_IN_A_ROW && !s->tuning->task.stopped; i++) {
        double loss = NAN;
        BLV_CHECK(try_penalty(s, from + (double)i * step, &loss));
        worse = loss > s->best_loss ? worse + 1 : 0;
    }
    return BLV_OK;
}

/* The lowest point of the parabola through the best point of the grid and its neighbours. */
static blv_error refine(search *s) {
    const double step = 0.5 * decade;
    double middle = s->best, at_middle = s->best_loss, left = NAN, right = NAN, loss;
    if (s->tuning->task.stopped)
        return BLV_OK;
    memcpy(s->y, s->best_y, s->dim_y * sizeof *s->y);
    BLV_CHECK(try_penalty(s, middle - step, &left));
    BLV_CHECK(try_penalty(s, middle + step, &right));
    double curvature = left - 2.0 * at_middle + right;
    if (!(curvature > 0.0))
        return BLV_OK;
    return try_penalty(s, middle + 0.5 * step * (left - right) / curvature, &loss);
}

/* The largest penalty whose loss is within a standard error of the lowest: of the loss, not of the
 * difference, which is next to nothing where penalties hardly matter. */
static blv_error largest_not_worse(search *s, double *largest) {
    double *nothing = blv_arena_alloc(&s->arena, s->rows, sizeof *nothing), error = 0.0;
    if (!nothing)
        return blv_explain_memory(s->tuning->why);
    *largest = s->best;
    for (size_t i = 0; i < s->count; i++)
        if (s->all[i].logarithm == s->best)
            blv_tune_mean_gain(s->rows, s->all[i].losses, nothing, &error);
    for (size_t i = 0; i < s->count; i++)
        if (s->all[i].loss <= s->best_loss + error)
            *largest = fmax(*largest, s->all[i].logarithm);
    return BLV_OK;
}

static blv_error search_penalty(search *s) {
    blv_tuning *t = s->tuning;
    const double start = log(first_penalty), lowest = log(lowest_penalty);
    double largest = 0.0;
    BLV_CHECK(walk(s, start, lowest, -decade));
    memcpy(t->none.y, s->y, s->dim_y * sizeof *s->y); /* hardly any starts at the lowest tried */
    if (s->best > start - 0.5 * decade) {
        memset(s->y, 0, s->dim_y * sizeof *s->y);
        BLV_CHECK(walk(s, start + decade, log(highest_penalty), decade));
    }
    BLV_CHECK(refine(s));
    BLV_CHECK(blv_fit(&t->task, s->problem, &s->best, BLV_FIT_TOLERANCE, s->best_y));
    BLV_CHECK(largest_not_worse(s, &largest));
    t->result.single = exp(s->best);
    t->result.start = exp(largest);
    t->result.none = lowest_penalty;
    blv_task_say(&t->task, "no penalty");
    return blv_fit(&t->task, s->problem, &lowest, search_tolerance, t->none.y);
}

blv_error blv_tune_find_single(blv_tuning *t, const blv_problem *problem) {
    search s = {.tuning = t,
                .problem = problem,
                .best_loss = INFINITY,
                .dim_y = t->dim_y,
                .rows = blv_rows_in(t->val)};
    s.y = blv_arena_alloc(&s.arena, s.dim_y, sizeof *s.y);
    s.weights = blv_arena_alloc(&s.arena, s.dim_y, sizeof *s.weights);
    s.best_y = t->single.y = blv_arena_alloc(&t->arena, s.dim_y, sizeof *s.best_y);
    t->none.y = blv_arena_alloc(&t->arena, s.dim_y, sizeof *t->none.y);
    bool well = s.y && s.weights && s.best_y && t->none.y;
    blv_error error = well ? search_penalty(&s) : blv_explain_memory(t->why);
    blv_arena_free(&s.arena);
    return error;
}
