/* Moves of iterates, and the reductions that check them.
 *
 * A move writes the new value beside the old one and exchanges the two, so the value before the
 * last move is at hand: when an oracle rejects the new point the move is halved, and when a
 * reduction shows that it is not finite it is undone. Where the space leaves the norm of an update
 * behind, as host spaces do, that is known at once; elsewhere the next reduction of the step tells,
 * or the one that is made before anything leaves the run. */
#include "core/ahead.h"
#include "core/run_private.h"
#include "space/step_checks.h"

#include <math.h>

static blv_state_entry *entry_of(const blv_run *run, const blv_vec *vec) {
    for (size_t i = 0; i < run->entry_count; i++)
        if (run->entries[i].vec == vec)
            return &run->entries[i];
    return NULL;
}

/* ---- Checking ---- */

static blv_flow step_not_finite(blv_run *run, const blv_state_entry *entry) {
    blv_run_fail(run, BLV_OK, "the step of %s was not finite", entry->name);
    return BLV_NONFINITE;
}

/* All moves since the last check are undone, and the iteration that made them has not happened. */
static blv_flow undo_unchecked(blv_run *run, const blv_state_entry *culprit) {
    for (size_t i = 0; i < run->entry_count; i++) {
        blv_state_entry *entry = &run->entries[i];
        if (!entry->unchecked)
            continue;
        blv_vec_swap(entry->vec, entry->previous);
        entry->moved = 0;
        entry->unchecked = false;
    }
    run->unchecked = 0;
    if (run->result.iterations > run->unchecked_since) {
        run->result.iterations = run->unchecked_since;
        run->result.metrics = run->metrics_whole;
    }
    return step_not_finite(run, culprit);
}

blv_flow blv_space_failed(blv_run *run) {
    blv_message why;
    blv_space_error(*run->failure_x != BLV_OK ? run->def->space_x : run->def->space_y, &why);
    blv_run_fail(run, BLV_OK, "%s", why.text);
    return BLV_FATAL;
}

/* The same reduction, with the norms of what has moved since the last one. */
static blv_flow reduce_with_moves(blv_run *run, size_t count, const blv_scalar *scalars) {
    blv_scalar all[BLV_REDUCE_MAX];
    double norms[BLV_REDUCE_MAX];
    const blv_state_entry *checked[BLV_REDUCE_MAX];
    size_t size = 0;
    for (size_t i = 0; i < run->entry_count; i++)
        if (run->entries[i].unchecked && size < BLV_REDUCE_MAX) {
            checked[size] = &run->entries[i];
            all[size] = (blv_scalar)BLV_NORM(&norms[size], run->entries[i].vec);
            size++;
        }
    const size_t moved = size;
    const bool fits = count <= BLV_REDUCE_MAX - moved;
    for (size_t i = 0; fits && i < count; i++)
        all[size++] = scalars[i];
    bool finite = blv_reduce(size, all);
    if (!fits)
        finite = blv_reduce(count, scalars) && finite;
    if (blv_has_failed(run))
        return blv_space_failed(run);
    for (size_t i = 0; i < moved; i++)
        if (!isfinite(norms[i]))
            return undo_unchecked(run, checked[i]);
    for (size_t i = 0; i < run->entry_count; i++)
        run->entries[i].unchecked = false;
    run->unchecked = 0;
    return finite ? BLV_GO : BLV_NONFINITE;
}

blv_flow blv_run_reduce(blv_run *run, size_t count, const blv_scalar *scalars) {
    if (!run)
        return BLV_FATAL;
    if (run->unchecked > 0)
        return reduce_with_moves(run, count, scalars);
    const bool finite = blv_reduce(count, scalars);
    if (blv_has_failed(run))
        return blv_space_failed(run);
    return finite ? BLV_GO : BLV_NONFINITE;
}

blv_flow blv_settle_moves(blv_run *run) {
    if (run->ahead.steps > 0)
        BLV_TRY(blv_ahead_settle(run));
    return run->unchecked > 0 ? blv_run_reduce(run, 0, NULL) : BLV_GO;
}

/* ---- Moving ---- */

static inline blv_flow begin_move(blv_run *run, const blv_vec *iterate, blv_state_entry **entry) {
    *entry = run ? entry_of(run, iterate) : NULL;
    if (!*entry || !(*entry)->previous) {
        blv_run_fail(run, BLV_E_ARGUMENT, "a move of a vector that is not an iterate");
        return BLV_FATAL;
    }
    if ((*entry)->unchecked) /* its last good value is about to be written over */
        BLV_TRY(blv_settle_moves(run));
    (*entry)->moved = 0; /* until it is taken over there is nothing to halve */
    return BLV_GO;
}

/* The new value is in `previous`. */
static inline blv_flow end_move(blv_run *run, blv_state_entry *entry) {
    if (entry->vec == run->x && run->def->project_x &&
        blv_vec_finiteness(entry->previous) != BLV_NOT_FINITE)
        BLV_TRY(blv_eval_project(&run->eval, entry->previous));
    const blv_finiteness shown = blv_vec_exchange(entry->vec, entry->previous);
    if (shown == BLV_NOT_FINITE)
        return step_not_finite(run, entry);
    entry->moved = ++run->eval.moves;
    if (shown == BLV_NOT_KNOWN) {
        run->unchecked_since = run->unchecked++ ? run->unchecked_since : run->result.iterations;
        entry->unchecked = true;
    }
    return BLV_GO;
}

blv_flow blv_move_to(blv_run *run, blv_vec *iterate, size_t count, const double *coef,
                     const blv_vec *const *terms) {
    blv_state_entry *entry;
    BLV_TRY(begin_move(run, iterate, &entry));
    blv_vec_lincomb(entry->previous, count, coef, terms);
    return end_move(run, entry);
}

blv_flow blv_move_ahead(blv_run *run, blv_vec *iterate, const double *step,
                        const blv_vec *direction) {
    blv_state_entry *entry;
    BLV_TRY(begin_move(run, iterate, &entry));
    blv_later_move(run->ahead.ops, run->ahead.later, entry->previous, iterate, -1.0, step,
                   direction);
    return end_move(run, entry);
}

blv_flow blv_move(blv_run *run, blv_vec *iterate, double step, const blv_vec *direction) {
    if (!direction) {
        blv_run_fail(run, BLV_E_ARGUMENT, "a move without a direction");
        return BLV_FATAL;
    }
    blv_state_entry *entry;
    BLV_TRY(begin_move(run, iterate, &entry));
    blv_vec_combine(entry->previous, 1.0, iterate, -step, direction);
    BLV_TRY(end_move(run, entry));
    if (iterate != run->x || !run->x_displacement || !(step > 0.0))
        return BLV_GO;
    blv_vec_combine(run->x_displacement, 1.0 / step, run->x, -1.0 / step, entry->previous);
    if (blv_vec_norm_known(run->x_displacement) || run->options.tol > 0.0)
        run->mapping_norm = blv_vec_norm(run->x_displacement);
    return BLV_GO;
}

bool blv_halve_moves(blv_run *run) {
    uint64_t success = run->eval.moves_at_success[run->eval.failed];
    bool any = false;
    for (size_t i = 0; i < run->entry_count; i++) {
        blv_state_entry *entry = &run->entries[i];
        if (entry->previous && entry->moved > success) {
            blv_vec_combine(entry->vec, 0.5, entry->vec, 0.5, entry->previous);
            any = true;
        }
    }
    return any;
}
