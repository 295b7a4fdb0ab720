/* What a run looks at in every step, without a reduction. */
#pragma once

#include "bilevel/space.h"

/* Whether the last update of a vector has left behind that it is finite. */
typedef enum blv_finiteness { BLV_NOT_KNOWN, BLV_FINITE, BLV_NOT_FINITE } blv_finiteness;
blv_finiteness blv_vec_finiteness(const blv_vec *v);
/* Exchanges two vectors of one space, unless the second is known not to be finite. */
blv_finiteness blv_vec_exchange(blv_vec *v, blv_vec *next);

/* The next reduction will ask for its norm. Where that needs no waiting, in this process's memory,
 * it is taken now: a processor then works on it and on the updates that follow at the same time. */
void blv_vec_norm_early(blv_vec *v);

/* Where blv_space_error finds what it tells. */
const blv_error *blv_space_failure(const blv_space *space);
