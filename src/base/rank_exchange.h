/* Exchanges between ranks (include/bilevel/ranks.h) that are built from sums and broadcasts. */
#pragma once

#include "bilevel/ranks.h"

/* Whether there are several. */
static inline bool blv_ranks_several(const blv_ranks *ranks) {
    return ranks && ranks->count > 1;
}

/* The sum of count values and of one more, in one exchange. */
bool blv_ranks_sum_with(const blv_ranks *ranks, size_t count, double *values, double *last);

/* What is to happen on all ranks: BLV_OK where none has failed, else the error and the message of
 * the first that has. */
blv_error blv_ranks_agree(const blv_ranks *ranks, blv_error error, blv_message *why);

/* The bytes of all ranks, one after the other, on all of them; sizes: room for as many as there are
 * ranks. all is to be freed. False: memory is short somewhere, or the exchange failed. */
bool blv_ranks_gather(const blv_ranks *ranks, const void *mine, size_t size, void **all,
                      size_t *sizes);
