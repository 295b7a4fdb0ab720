#include "base/random.h"
#include "learn/choose.h"
#include "learn/selecting.h"
#include "learn/weighted_retraining.h"

#include <math.h>

static void weigh_alike(size_t rows, const size_t *index, size_t chosen, double *weight) {
    for (size_t i = 0; i < rows; i++)
        weight[i] = 0.0;
    for (size_t k = 0; k < chosen; k++)
        weight[index[k]] = 1.0 / (double)chosen;
}

/* Takes in the `more` rows, not chosen yet, with the steepest way down. */
static bool take_steepest(size_t rows, double *slope, size_t more, size_t *index, size_t *chosen) {
    for (size_t i = 0; i < rows; i++)
        slope[i] = -slope[i];
    for (size_t k = 0; k < *chosen; k++)
        slope[index[k]] = -(double)INFINITY;
    if (!blv_largest(rows, slope, more, index + *chosen))
        return false;
    *chosen += more;
    return true;
}

static blv_error choose(blv_weighted_retraining *w, size_t size, size_t at_once, size_t *index,
                        blv_message *why) {
    double *weight = blv_arena_alloc(&w->arena, w->rows, sizeof *weight);
    double *slope = blv_arena_alloc(&w->arena, w->rows, sizeof *slope);
    if (!weight || !slope)
        return blv_select_memory(why);
    for (size_t chosen = 1; chosen < size;) {
        const size_t left = size - chosen;
        weigh_alike(w->rows, index, chosen, weight);
        BLV_CHECK(blv_weighted_retraining_train(w, weight, false, NULL, why));
        BLV_CHECK(blv_weighted_retraining_slope(w, slope, why));
        if (!take_steepest(w->rows, slope, left < at_once ? left : at_once, index, &chosen))
            return blv_select_memory(why);
    }
    return BLV_OK;
}

blv_error blv_choose_greedy(const blv_problem *problem, size_t size, size_t rounds, uint64_t seed,
                            size_t *index, blv_message *why) {
    blv_weighted_retraining w;
    BLV_CHECK(blv_weighted_retraining_open(&w, problem, why));
    const blv_stream stream = blv_stream_make(seed, "greedy choice");
    index[0] = (size_t)blv_random_below(&stream, 0, w.rows);
    blv_error error = choose(&w, size, (size + rounds - 1) / rounds, index, why);
    blv_weighted_retraining_close(&w);
    return error;
}
