/* What a run looks at in every step, without a reduction. */
#pragma once

#include "bilevel/space.h"

/* Whether the last update of a vector has left behind that it is finite. */
typedef enum blv_finiteness { BLV_NOT_KNOWN, BLV_FINITE, BLV_NOT_FINITE } blv_finiteness;
blv_finiteness blv_vec_finiteness(const blv_vec *v);

/* Whether blv_space_error has something to tell. */
bool blv_space_failed(const blv_space *space);
