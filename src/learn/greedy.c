#include "base/random.h"
#include "learn/choose.h"
#include "learn/weighted_retraining.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

blv_error blv_choose_greedy(const blv_problem *problem, size_t size, size_t rounds, uint64_t seed,
                            size_t *index, blv_message *why) {
    blv_weighted_retraining w;
    blv_error error = blv_weighted_retraining_open(&w, problem, why);
    if (error != BLV_OK)
        return error;
    const blv_stream stream = blv_stream_make(seed, "greedy choice");
    const size_t at_once = (size + rounds - 1) / rounds;
    double *weight = calloc(w.rows, sizeof *weight), *slope = calloc(w.rows, sizeof *slope);
    bool room = weight && slope;
    size_t chosen = 1;
    index[0] = (size_t)blv_random_below(&stream, 0, w.rows);
    while (room && error == BLV_OK && chosen < size) {
        const size_t left = size - chosen;
        weigh_alike(w.rows, index, chosen, weight);
        error = blv_weighted_retraining_train(&w, weight, false, NULL, why);
        if (error == BLV_OK)
            error = blv_weighted_retraining_slope(&w, slope, why);
        if (error == BLV_OK)
            room = take_steepest(w.rows, slope, left < at_once ? left : at_once, index, &chosen);
    }
    if (!room && why)
        snprintf(why->text, sizeof why->text, "selection: out of memory");
    blv_weighted_retraining_close(&w);
    free(weight);
    free(slope);
    return room ? error : BLV_E_MEMORY;
}
