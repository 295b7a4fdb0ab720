#include "base/random.h"
#include "learn/choose.h"
#include "learn/selecting.h"
#include "learn/weighted_retraining.h"

#include <math.h>

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
        BLV_CHECK(blv_weighted_retraining_train(w, l->weight, true, &loss, why));
        const double advantage = r > 0 ? loss - mean : 0.0;
        size = fmax(size, fabs(advantage));
        if (size > 0.0)
            learn(l, advantage, longest_step * fabs(advantage) / size / sqrt((double)r));
        mean += (loss - mean) / (double)(r + 1);
    }
    return BLV_OK;
}

static blv_error choose(blv_weighted_retraining *w, lottery *l, size_t rounds, size_t *index,
                        blv_message *why) {
    l->probability = blv_arena_alloc(&w->arena, w->rows, sizeof *l->probability);
    l->weight = blv_arena_alloc(&w->arena, w->rows, sizeof *l->weight);
    l->slope = blv_arena_alloc(&w->arena, w->rows, sizeof *l->slope);
    l->in = blv_arena_alloc(&w->arena, w->rows, sizeof *l->in);
    if (w->arena.failed)
        return blv_select_memory(why);
    for (size_t i = 0; i < w->rows; i++)
        l->probability[i] = (double)l->size / (double)w->rows;
    BLV_CHECK(play(l, w, rounds, why));
    return blv_largest(w->rows, l->probability, l->size, index) ? BLV_OK : blv_select_memory(why);
}

blv_error blv_choose_probabilistic(const blv_problem *problem, size_t size, size_t rounds,
                                   uint64_t seed, size_t *index, blv_message *why) {
    blv_weighted_retraining w;
    BLV_CHECK(blv_weighted_retraining_open(&w, problem, why));
    lottery l = {
        .rows = w.rows, .size = size, .stream = blv_stream_make(seed, "probabilistic choice")};
    blv_error error = choose(&w, &l, rounds, index, why);
    blv_weighted_retraining_close(&w);
    return error;
}
