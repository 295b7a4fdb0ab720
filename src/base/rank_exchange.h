/* Exchanges between ranks (include/bilevel/ranks.h) that are built from sums and broadcasts. */
#pragma once

#include "bilevel/ranks.h"

#define BLV_NO_EXCHANGE "the exchange between ranks failed"

/* Whether there are several. */
static inline bool blv_ranks_several(const blv_ranks *ranks) {
    return ranks && ranks->count > 1;
}

/* Whether it is so on all ranks. */
bool blv_ranks_all(const blv_ranks *ranks, bool here);

/* What is to happen on all ranks: BLV_OK where none has failed, else the error and the message of
 * the first that has. */
blv_error blv_ranks_agree(const blv_ranks *ranks, blv_error error, blv_message *why);

/* The bytes of all ranks, one after the other, on all of them, and how many each has (sizes may be
 * NULL); both are to be freed. False: memory is short on some rank, also where mine is NULL and
 * size is not 0, or the exchange failed. */
bool blv_ranks_gather(const blv_ranks *ranks, const void *mine, size_t size, void **all,
                      size_t **sizes);
