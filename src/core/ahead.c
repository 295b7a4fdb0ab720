/* Steps whose scalars are not waited for.
 *
 * Such steps are taken without knowing that they are finite. So the state before the first of them
 * is kept, as a checkpoint would keep it, and when it turns out that one was not finite the run
 * goes back there and takes them again, one after the other, waiting for each: it ends where it
 * would have ended. Bits do not depend on any of this. */
#include "core/ahead.h"
#include "core/checkpoint_format.h"
#include "core/run_private.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS_FIRST = 8, STEPS_MAX = 128 };
static const double SECONDS_MAX = 0.02; /* that a stop or a limit may have to wait */

/* ---- Opening ---- */

static bool is_watched_vec(const blv_run *run, const blv_vec *vec) {
    const blv_watch *w = &run->watch;
    return vec == w->start_x || vec == w->start_y || vec == w->best_x || vec == w->best_y;
}

static bool keeps_numbers(const blv_run *run, const blv_numbers_entry *entry) {
    return entry->kept.object != run; /* the clock goes on */
}

static size_t count_numbers(const blv_run *run) {
    size_t count = 0;
    for (size_t i = 0; i < run->numbers_count; i++)
        count += keeps_numbers(run, &run->numbers[i]) ? run->numbers[i].count : 0;
    for (const blv_checkpoint_counter *c = blv_checkpoint_counters; c->key; c++)
        count++;
    return count;
}

blv_error blv_ahead_open(blv_run *run) {
    blv_ahead *a = &run->ahead;
    const blv_later_ops *ops = blv_space_later(run->def->space_x);
    if (!ops || blv_space_later(run->def->space_y) != ops || run->agrees)
        return BLV_OK;
    a->later = ops->open();
    a->number = malloc(count_numbers(run) * sizeof *a->number);
    a->vec = calloc(run->entry_count, sizeof *a->vec);
    if (!a->later || !a->number || !a->vec)
        return BLV_E_MEMORY;
    a->vec_count = run->entry_count;
    for (size_t i = 0; i < run->entry_count; i++)
        if (!is_watched_vec(run, run->entries[i].vec))
            BLV_CHECK(blv_vec_create(&a->vec[i], blv_vec_space(run->entries[i].vec)));
    a->ops = ops;
    a->most = STEPS_FIRST;
    return BLV_OK;
}

void blv_ahead_close(blv_run *run) {
    blv_ahead *a = &run->ahead;
    if (a->later)
        blv_space_later(run->def->space_x)->close(a->later);
    for (size_t i = 0; i < a->vec_count; i++)
        blv_vec_destroy(a->vec[i]);
    free(a->vec);
    free(a->number);
}

/* ---- Going back ---- */

/* Numbers of the state, counters behind them: kept or, with `back`, put back. */
static void copy_numbers(blv_run *run, bool back) {
    double *at = run->ahead.number;
    for (size_t i = 0; i < run->numbers_count; i++) {
        blv_numbers_entry *n = &run->numbers[i];
        if (!keeps_numbers(run, n))
            continue;
        if (n->values)
            memcpy(back ? n->values : at, back ? at : n->values, n->count * sizeof *at);
        else if (back)
            n->kept.put(n->kept.object, at);
        else
            n->kept.get(n->kept.object, at);
        at += n->count;
    }
    for (const blv_checkpoint_counter *c = blv_checkpoint_counters; c->key; c++, at++) {
        uint64_t *counter = blv_checkpoint_counter_of(run, c);
        memcpy(back ? (void *)counter : at, back ? (const void *)at : counter, sizeof *at);
    }
}
_Static_assert(sizeof(uint64_t) == sizeof(double), "counters are kept in the place of numbers");

static void keep_state(blv_run *run) {
    copy_numbers(run, false);
    run->ahead.metrics = run->result.metrics;
    for (size_t i = 0; i < run->ahead.vec_count; i++)
        if (run->ahead.vec[i])
            blv_vec_copy(run->ahead.vec[i], run->entries[i].vec);
}

static void go_back(blv_run *run) {
    run->ahead.back++;
    copy_numbers(run, true);
    run->result.metrics = run->metrics_whole = run->ahead.metrics;
    for (size_t i = 0; i < run->ahead.vec_count; i++) {
        blv_state_entry *entry = &run->entries[i];
        if (run->ahead.vec[i])
            blv_vec_copy(entry->vec, run->ahead.vec[i]);
        entry->unchecked = false;
        entry->moved = 0;
    }
    run->unchecked = 0;
}

/* After so many steps, by how long they took. */
static void set_most(blv_run *run) {
    blv_ahead *a = &run->ahead;
    if (blv_clock_now(run) - a->began > SECONDS_MAX)
        a->most = a->most > 1 ? a->most / 2 : 1;
    else if (a->steps == a->most && a->most < STEPS_MAX)
        a->most *= 2;
}

blv_flow blv_ahead_settle(blv_run *run) {
    blv_ahead *a = &run->ahead;
    if (a->steps == 0)
        return BLV_GO;
    const bool finite = a->ops->settle(a->later);
    set_most(run);
    a->steps = 0;
    a->now = false;
    if (finite) {
        run->metrics_whole = run->result.metrics; /* those of the last step are there now */
        return BLV_GO;
    }
    const uint64_t until = run->result.iterations;
    go_back(run);
    while (run->result.iterations < until && a->end == BLV_GO)
        a->end = blv_run_take_step(run);
    return a->end;
}

blv_flow blv_ahead_begin(blv_run *run, bool to_the_end) {
    blv_ahead *a = &run->ahead;
    const bool looks = blv_watch_looks_at(run->result.iterations + 1) || run->options.tol > 0.0;
    if (!a->useful || !to_the_end || looks || a->steps >= a->most)
        BLV_TRY(blv_ahead_settle(run));
    a->now = a->useful && to_the_end && !looks;
    if (a->now && a->steps == 0) {
        BLV_TRY(blv_settle_moves(run));
        keep_state(run);
        a->began = blv_clock_now(run);
    }
    if (a->now)
        a->steps++;
    return BLV_GO;
}

/* ---- Scalars ---- */

blv_flow blv_run_reduce_ahead(blv_run *run, size_t count, const blv_scalar *scalars) {
    blv_ahead *a = &run->ahead;
    a->useful = true;
    if (!a->now || count + run->unchecked > BLV_LATER_PAIRS)
        return blv_run_reduce(run, count, scalars);
    blv_scalar all[BLV_LATER_PAIRS];
    size_t size = 0;
    for (size_t i = 0; i < run->entry_count; i++)
        if (run->entries[i].unchecked) {
            all[size++] = (blv_scalar)BLV_NORM(NULL, run->entries[i].vec);
            run->entries[i].unchecked = false;
        }
    run->unchecked = 0;
    memcpy(all + size, scalars, count * sizeof *scalars);
    blv_later_reduce(a->ops, a->later, size + count, all);
    return BLV_GO;
}

void blv_run_compute_there(blv_run *run, blv_later_rule rule, double *result, double c,
                           const double *a, const double *b) {
    const blv_later_ops *ops = run->ahead.ops;
    if (run->ahead.now)
        ops->compute(run->ahead.later, rule, result, c, a, b);
    else
        *result = ops->value(rule, c, *a, *b);
}
