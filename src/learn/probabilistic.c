#include "base/random.h"
#include "learn/choose.h"
#include "learn/weighted_retraining.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Probabilities are kept this far from 0 and 1 where they divide. */
static const double edge = 1e-3;
static const double longest_step = 0.2; /* of a probability, in the first round */

typedef struct lottery {
    size_t rows, size;
    blv_stream stream;
    double *probability, *weight, *slope;
    bool *in;
} lottery;

/* Draws who is in; at least one row is. Weights are alike. */
static void draw(lottery *l, uint64_t round) {
    size_t count = 0;
    for (size_t i = 0; i < l->rows; i++) {
        l->in[i] = blv_random_uniform(&l->stream, round * l->rows + i) < l->probability[i];
        count += l->in[i];
    }
    if (count == 0) {
        l->in[blv_random_below(&l->stream, round * l->rows, l->rows)] = true;
        count = 1;
    }
    for (size_t i = 0; i < l->rows; i++)
        l->weight[i] = l->in[i] ? 1.0 / (double)count : 0.0;
}

/* slope = (loss - baseline) d log P(who is in) / d probability, and a step along it. */
static void learn(lottery *l, double advantage, double step) {
    double largest = 0.0;
    for (size_t i = 0; i < l->rows; i++) {
        const double p = fmin(fmax(l->probability[i], edge), 1.0 - edge);
        l->slope[i] = advantage * ((l->in[i] ? 1.0 : 0.0) - p) / (p * (1.0 - p));
        largest = fmax(largest, fabs(l->slope[i]));
    }
    for (size_t i = 0; largest > 0.0 && i < l->rows; i++)
        l->probability[i] -= step * l->slope[i] / largest;
    blv_project_capped(l->rows, (double)l->size, l->probability);
}

static blv_error play(lottery *l, blv_weighted_retraining *w, size_t rounds, blv_message *why) {
    double mean = 0.0, size = 0.0; /* of the losses so far, and of how they vary */
    for (size_t r = 0; r < rounds; r++) {
        double loss;
        draw(l, r);
        blv_error error = blv_weighted_retraining_train(w, l->weight, true, &loss, why);
        if (error != BLV_OK)
            return error;
        const double advantage = r > 0 ? loss - mean : 0.0;
        size = fmax(size, fabs(advantage));
        if (size > 0.0)
            learn(l, advantage, longest_step * fabs(advantage) / size / sqrt((double)r));
        mean += (loss - mean) / (double)(r + 1);
    }
    return BLV_OK;
}

blv_error blv_choose_probabilistic(const blv_problem *problem, size_t size, size_t rounds,
                                   uint64_t seed, size_t *index, blv_message *why) {
    blv_weighted_retraining w;
    blv_error error = blv_weighted_retraining_open(&w, problem, why);
    if (error != BLV_OK)
        return error;
    lottery l = {.rows = w.rows,
                 .size = size,
                 .stream = blv_stream_make(seed, "probabilistic choice"),
                 .probability = calloc(w.rows, sizeof(double)),
                 .weight = calloc(w.rows, sizeof(double)),
                 .slope = calloc(w.rows, sizeof(double)),
                 .in = calloc(w.rows, sizeof(bool))};
    bool room = l.probability && l.weight && l.slope && l.in;
    for (size_t i = 0; room && i < w.rows; i++)
        l.probability[i] = (double)size / (double)w.rows;
    if (room)
        error = play(&l, &w, rounds, why);
    if (room && error == BLV_OK)
        room = blv_largest(w.rows, l.probability, size, index);
    if (!room) {
        if (why)
            snprintf(why->text, sizeof why->text, "selection: out of memory");
        error = BLV_E_MEMORY;
    }
    blv_weighted_retraining_close(&w);
    free(l.probability);
    free(l.weight);
    free(l.slope);
    free(l.in);
    return error;
}
