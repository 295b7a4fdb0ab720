#include "base/rank_exchange.h"
#include "base/message.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = 64 }; /* values whose exchange needs no memory */

bool blv_ranks_sum_with(const blv_ranks *ranks, size_t count, double *values, double *last) {
    double few[FEW + 1], *all = count <= FEW ? few : malloc((count + 1) * sizeof *all);
    if (!all)
        return false;
    memcpy(all, values, count * sizeof *values);
    all[count] = *last;
    const bool well = ranks->sum(ranks->context, count + 1, all);
    memcpy(values, all, count * sizeof *values);
    *last = all[count];
    if (all != few)
        free(all);
    return well;
}

/* A fatal failure weighs more than all that can be tried again. */
int blv_ranks_sum(const blv_ranks *ranks, int code, size_t count, double *values) {
    const double fatal = 0x1p32;
    double weight = code < 0 ? fatal : code > 0 ? 1.0 : 0.0;
    if (!ranks || ranks->count == 1)
        return code;
    if (!blv_ranks_sum_with(ranks, count, values, &weight))
        return -1;
    return weight == 0.0 ? 0 : weight >= fatal ? -1 : 1;
}

blv_error blv_ranks_agree(const blv_ranks *ranks, blv_error error, blv_message *why) {
    blv_message unused, *text = why ? why : &unused;
    if (!ranks || ranks->count == 1)
        return error;
    if (error == BLV_OK)
        text->text[0] = '\0';
    double failed = error != BLV_OK;
    if (!ranks->sum(ranks->context, 1, &failed))
        return blv_explain(why, BLV_E_DEVICE, "the exchange between ranks failed");
    if (failed == 0.0)
        return BLV_OK;
    for (int rank = 0; rank < ranks->count; rank++) {
        blv_error theirs = error;
        if (!ranks->broadcast(ranks->context, rank, &theirs, sizeof theirs))
            return blv_explain(why, BLV_E_DEVICE, "the exchange between ranks failed");
        if (theirs == BLV_OK)
            continue;
        blv_message first = *text;
        ranks->broadcast(ranks->context, rank, &first, sizeof first);
        return blv_explain(why, theirs, "%s", first.text);
    }
    return error;
}

bool blv_ranks_gather(const blv_ranks *ranks, const void *mine, size_t size, void **all,
                      size_t *sizes) {
    size_t total = 0;
    *all = NULL;
    for (int rank = 0; rank < ranks->count; rank++) {
        sizes[rank] = size;
        if (!ranks->broadcast(ranks->context, rank, &sizes[rank], sizeof *sizes))
            return false;
        total += sizes[rank];
    }
    char *at = *all = malloc(total + 1);
    double failed = !at;
    bool well = ranks->sum(ranks->context, 1, &failed) && failed == 0.0;
    for (int rank = 0; well && rank < ranks->count; rank++) {
        if (rank == ranks->rank && size > 0)
            memcpy(at, mine, size);
        well = ranks->broadcast(ranks->context, rank, at, sizes[rank]);
        at += sizes[rank];
    }
    if (well)
        return true;
    free(*all);
    *all = NULL;
    return false;
}
