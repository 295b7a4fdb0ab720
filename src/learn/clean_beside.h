/* Linear models beside the learned ones. */
#pragma once

#include "learn/clean_noise.h"

enum { BLV_BESIDE_RIDGES = 3, BLV_BESIDE_MODELS = 2 * BLV_BESIDE_RIDGES };

typedef struct blv_beside {
    bool any; /* else there are none */
    blv_arena arena;
    blv_noise_fit *learned;
    blv_dataset *sets[3]; /* train, val and test with columns that are less alike */
    double *map;          /* to these columns: row by row, without the intercept */
    blv_noise_fit apart;  /* of these sets */
    double *x, *weights;
    double *y[BLV_BESIDE_MODELS]; /* of each ridge, for columns as they are, then for the others */
    blv_answers answers[BLV_BESIDE_MODELS];
    double share[1 + BLV_BESIDE_MODELS]; /* of the learned models and of these, 1 in all */
} blv_beside;

/* After learning: for the deals that follow. wanted: whether there are any, where they can be. */
blv_error blv_beside_open(blv_beside *beside, blv_noise_fit *learned, bool wanted);
void blv_beside_close(blv_beside *beside);
/* Mixes what the learned models answer in their present deal, which has this seed, with what models
 * beside them do; the first deal tells how much each counts. weights, scores x columns, grows by
 * the mean of all models times `part`. */
blv_error blv_beside_mix(blv_beside *beside, uint64_t seed, bool first, blv_answers *answers,
                         double part, double *weights);
