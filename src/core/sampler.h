/* Batches of sample indices. A sampler's state is its position alone: the order of an epoch is a
 * function of seed, stream name and epoch, so a run resumes from two numbers. */
#pragma once

#include "bilevel/solver.h"

typedef enum blv_sampler_kind {
    BLV_SAMPLER_BLOCK,
    BLV_SAMPLER_IID,
    BLV_SAMPLER_SHUFFLE,
    BLV_SAMPLER_FIXED /* not an option of a run */
} blv_sampler_kind;

typedef struct blv_sampler_spec {
    blv_sampler_kind kind;
    size_t samples;   /* in the sum */
    size_t batch;     /* in one batch; 0 or >= samples: always the whole sum */
    bool contiguous;  /* the samples are in random order already: blocks need no index */
    bool whole_lists; /* batches with replacement are drawn for an epoch at once, or for a million
                         samples: a device copies the list */
    uint64_t seed;
    const char *stream;
} blv_sampler_spec;

blv_error blv_sampler_create(blv_sampler **sampler, const blv_sampler_spec *spec);
void blv_sampler_destroy(blv_sampler *sampler);
size_t blv_sampler_bytes(const blv_sampler *sampler);
/* The most samples in one of its batches; 0: they are the whole sum. */
size_t blv_sampler_batch(const blv_sampler *sampler);

/* Its position, see core/state_object.h. `sampler` is a blv_sampler. */
enum { BLV_SAMPLER_NUMBERS = 3 };
void blv_sampler_get(const void *sampler, double *position);
bool blv_sampler_fits(const void *sampler, const double *position);
void blv_sampler_put(void *sampler, const double *position);
