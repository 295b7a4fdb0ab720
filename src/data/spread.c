/* Sets whose rows are spread over ranks. */
#include "base/rank_exchange.h"
#include "data/dataset_private.h"

#include <stdlib.h>

bool blv_dataset_put_held(blv_dataset *dataset, const blv_ranks *ranks, size_t *row, size_t count) {
    if (!blv_dataset_put(dataset, BLV_PART_HELD_ROW, row))
        return false;
    dataset->view.ranks = ranks;
    dataset->view.held = count;
    return true;
}

/* A set with the same rows, of which those of this rank are held; NULL when memory is short. */
static blv_dataset *own_rows(const blv_dataset *dataset, const blv_ranks *ranks) {
    const size_t rows = dataset->view.rows, step = (size_t)ranks->count;
    size_t *own = blv_data_alloc(rows / step + 1, sizeof *own), count = 0;
    blv_dataset *some = NULL, *all = own ? blv_dataset_share(dataset) : NULL;
    for (size_t i = (size_t)ranks->rank; own && i < rows; i += step)
        own[count++] = i;
    if (all)
        some = blv_dataset_pick(dataset, own, count);
    if (some) { /* labels of all rows, features of some */
        for (size_t p = BLV_PART_DENSE; p <= BLV_PART_VALUE; p++)
            blv_dataset_put_shared(all, (blv_part_name)p, some->part[p]);
        all->dense_offset = some->dense_offset;
        all->view.stride = some->view.stride;
        blv_dataset_put_shared(all, BLV_PART_DENSE, some->part[BLV_PART_DENSE]);
    }
    blv_dataset_release(some);
    if (some && blv_dataset_put_held(all, ranks, own, count))
        return all;
    if (!some)
        free(own);
    blv_dataset_release(all);
    return NULL;
}

blv_error blv_dataset_spread(blv_dataset *dataset, const blv_ranks *ranks, blv_message *why) {
    if (!dataset || !ranks || ranks->size < sizeof *ranks || ranks->count < 1)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_spread: no set, or no ranks");
    if (dataset->view.ranks)
        return BLV_OK;
    blv_dataset *spread = own_rows(dataset, ranks);
    bool ok = spread != NULL;
    ok = ok && blv_dataset_record(spread, "spread: over %d ranks", ranks->count);
    return blv_ranks_agree(ranks, blv_dataset_commit(dataset, spread, ok, why), why);
}

blv_error blv_dataset_expect_whole(const blv_dataset *dataset, const char *what, blv_message *why) {
    return dataset->view.ranks
               ? blv_explain(why, BLV_E_UNSUPPORTED,
                             "%s: needs all rows, and these are spread over ranks", what)
               : BLV_OK;
}
