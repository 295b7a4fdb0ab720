#include "blocks/iterate_selection.h"
#include "base/random.h"
#include "core/run_private.h"

#include <float.h>

blv_error blv_iterate_selection_open(blv_run *run, blv_iterate_selection *o) {
    BLV_CHECK(blv_state_vec(run, "v", BLV_LEVEL_Y, &o->v_chosen));
    o->x = run->x;
    o->y = run->y;
    o->v = o->v_chosen;
    if (o->rule == BLV_OUTPUT_LAST)
        return BLV_OK;
    o->best = DBL_MAX;
    BLV_CHECK(blv_state_iterate(run, "x iterate", BLV_LEVEL_X, &o->x));
    BLV_CHECK(blv_state_iterate(run, "y iterate", BLV_LEVEL_Y, &o->y));
    BLV_CHECK(blv_state_vec(run, "v iterate", BLV_LEVEL_Y, &o->v));
    return o->rule == BLV_OUTPUT_BEST ? blv_state_hidden(run, "best_score", &o->best) : BLV_OK;
}

void blv_iterate_selection_begin(blv_run *run, blv_iterate_selection *o) {
    if (o->rule == BLV_OUTPUT_LAST || run->result.iterations > 0)
        return;
    blv_vec_copy(o->x, run->x);
    blv_vec_copy(o->y, run->y);
    blv_vec_copy(o->v, o->v_chosen);
}

static bool is_chosen(const blv_run *run, const blv_iterate_selection *o, double score) {
    if (o->rule == BLV_OUTPUT_BEST)
        return score < o->best;
    blv_stream stream = blv_stream_make((uint64_t)run->options.seed, "output");
    uint64_t t = run->result.iterations;
    return blv_random_below(&stream, t, t + 1) == 0;
}

/* Means of points of X can be off it by rounding: what is handed out is projected, as every move of
 * x is. It is not one that could be halved, though. */
static blv_flow hand_out(blv_run *run, const blv_iterate_selection *o) {
    BLV_TRY(blv_move_to(run, run->x, 1, (const double[]){1.0}, (const blv_vec *const[]){o->x}));
    blv_state_find(run, "x")->moved = 0;
    blv_vec_copy(run->y, o->y);
    blv_vec_copy(o->v_chosen, o->v);
    return BLV_GO;
}

blv_flow blv_iterate_selection_offer(blv_run *run, blv_iterate_selection *o, double score) {
    if (o->rule == BLV_OUTPUT_LAST || !is_chosen(run, o, score))
        return BLV_GO;
    BLV_TRY(hand_out(run, o));
    o->best = score;
    return BLV_GO;
}
