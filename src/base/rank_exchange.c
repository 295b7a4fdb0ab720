#include "base/rank_exchange.h"
#include "base/message.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = 2048 }; /* values that fit on the stack */

bool blv_ranks_all(const blv_ranks *ranks, bool here) {
    double failed = !here;
    return ranks->sum(ranks->context, 1, &failed) && failed == 0.0;
}

/* The sum of count values and of one more, which goes alone where they are many: memory for all
 * could be short on one rank, for which the others would wait. */
static bool sum_with(const blv_ranks *ranks, size_t count, double *values, double *more) {
    double last[FEW];
    const size_t n = count < FEW ? count : 0;
    if (n < count && !ranks->sum(ranks->context, count, values))
        return false;
    memcpy(last, values, n * sizeof *values);
    last[n] = *more;
    const bool well = ranks->sum(ranks->context, n + 1, last);
    memcpy(values, last, n * sizeof *values);
    *more = last[n];
    return well;
}

/* A fatal failure weighs more than all that can be tried again. */
int blv_ranks_sum(const blv_ranks *ranks, int code, size_t count, double *values) {
    const double fatal = 0x1p32;
    double weight = code < 0 ? fatal : code > 0 ? 1.0 : 0.0;
    if (!ranks || ranks->count == 1)
        return code;
    if (!sum_with(ranks, count, values, &weight))
        return -1;
    return weight == 0.0 ? 0 : weight >= fatal ? -1 : 1;
}

static blv_error no_exchange(blv_message *why) {
    return blv_explain(why, BLV_E_DEVICE, BLV_NO_EXCHANGE);
}

blv_error blv_ranks_agree(const blv_ranks *ranks, blv_error error, blv_message *why) {
    blv_message unused, *text = why ? why : &unused;
    if (!ranks || ranks->count == 1)
        return error;
    if (error == BLV_OK)
        text->text[0] = '\0';
    double failed = error != BLV_OK;
    if (!ranks->sum(ranks->context, 1, &failed))
        return error != BLV_OK ? error : no_exchange(why);
    if (failed == 0.0)
        return BLV_OK;
    for (int rank = 0; rank < ranks->count; rank++) {
        blv_error theirs = error;
        if (!ranks->broadcast(ranks->context, rank, &theirs, sizeof theirs))
            return error != BLV_OK ? error : no_exchange(why);
        if (theirs == BLV_OK)
            continue;
        blv_message first = *text;
        ranks->broadcast(ranks->context, rank, &first, sizeof first);
        return rank == 0 ? blv_explain(why, theirs, "%s", first.text)
                         : blv_explain(why, theirs, "%.490s (rank %d)", first.text, rank);
    }
    return error;
}

bool blv_ranks_gather(const blv_ranks *ranks, const void *mine, size_t size, void **all,
                      size_t **sizes) {
    size_t total = 0, *each = malloc((size_t)ranks->count * sizeof *each);
    bool well = blv_ranks_all(ranks, each && (mine || size == 0));
    for (int rank = 0; well && rank < ranks->count; rank++) {
        each[rank] = size;
        well = ranks->broadcast(ranks->context, rank, &each[rank], sizeof *each);
        total += each[rank];
    }
    char *at = *all = well ? malloc(total + 1) : NULL;
    well = well && blv_ranks_all(ranks, at);
    for (int rank = 0; well && rank < ranks->count; rank++) {
        if (rank == ranks->rank && size > 0)
            memcpy(at, mine, size);
        well = ranks->broadcast(ranks->context, rank, at, each[rank]);
        at += each[rank];
    }
    if (!well) {
        free(*all);
        *all = NULL;
    }
    if (well && sizes)
        *sizes = each;
    else
        free(each);
    return well;
}
