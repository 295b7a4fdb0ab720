/* Sets whose rows are spread over ranks.
 *
 * Reading by shares: each rank reads its part of a file, and the labels of all rows are put
 * together in the order of the file, so that classes, splits and corruption are those of one
 * process. */
#include "base/rank_exchange.h"
#include "data/reading.h"

#include <stdlib.h>
#include <string.h>

/* The items of all ranks in place of those of this one; *sizes: their bytes on each rank. */
static bool gather_list(const blv_ranks *ranks, blv_list *list, size_t item_size, size_t **sizes) {
    void *all;
    if (!blv_ranks_gather(ranks, list->items, list->count * item_size, &all, sizes))
        return false;
    list->count = 0;
    for (int rank = 0; rank < ranks->count; rank++)
        list->count += (*sizes)[rank] / item_size;
    list->capacity = list->count;
    free(list->items);
    list->items = list->count > 0 ? all : NULL; /* a list that is there has labels */
    if (list->count == 0)
        free(all);
    return true;
}

static bool gather_items(const blv_ranks *ranks, blv_list *list, size_t item_size) {
    size_t *sizes = NULL;
    const bool ok = gather_list(ranks, list, item_size, &sizes);
    free(sizes);
    return ok;
}

/* The distinct texts of a rank one after the other, each with a zero byte behind it. */
static char *join_texts(const blv_texts *texts, size_t *size) {
    *size = 0;
    for (size_t i = 0; i < texts->items.count; i++)
        *size += strlen(blv_texts_at(texts, i)) + 1;
    char *joined = malloc(*size + 1), *at = joined;
    for (size_t i = 0; joined && i < texts->items.count; i++)
        at = stpcpy(at, blv_texts_at(texts, i)) + 1;
    return joined;
}

/* number[n] is that of the n-th text of all ranks, in their order, among the distinct ones. */
static bool number_texts(blv_texts *texts, const char *all, size_t size, blv_list *number) {
    for (const char *text = all; text < all + size; text += strlen(text) + 1) {
        int32_t *next = blv_list_room(number, 1, sizeof *next);
        if (!next || (*next = blv_texts_number(texts, text, strlen(text))) < 0)
            return false;
        number->count++;
    }
    return true;
}

/* Labels of all ranks as the texts of all are numbered, of which rank r has texts[r]. */
static bool gather_labels(const blv_ranks *ranks, blv_list *labels, const size_t *texts,
                          const int32_t *number) {
    size_t *sizes = NULL, first = 0;
    const bool ok = gather_list(ranks, labels, sizeof(int32_t), &sizes);
    int32_t *label = labels->items;
    for (int rank = 0; ok && rank < ranks->count; rank++) {
        for (size_t i = 0; i < sizes[rank] / sizeof *label; i++, label++)
            *label = number[first + (size_t)*label];
        first += texts[rank];
    }
    free(sizes);
    return ok;
}

static bool share_texts(blv_reading *r) {
    const blv_ranks *ranks = r->share;
    size_t size = 0, count = r->classes.items.count, *sizes = NULL;
    void *all = NULL, *texts = NULL;
    blv_list number = {0};
    char *mine = join_texts(&r->classes, &size);
    bool ok = blv_ranks_gather(ranks, mine, size, &all, &sizes) &&
              blv_ranks_gather(ranks, &count, sizeof count, &texts, NULL);
    size = 0;
    for (int rank = 0; ok && rank < ranks->count; rank++)
        size += sizes[rank];
    if (ok) {
        blv_texts_free(&r->classes);
        ok = number_texts(&r->classes, all, size, &number);
    }
    ok = blv_ranks_all(ranks, ok) && gather_labels(ranks, &r->label, texts, number.items) &&
         gather_labels(ranks, &r->truth, texts, number.items);
    free(mine);
    free(all);
    free(sizes);
    free(texts);
    free(number.items);
    return ok;
}

blv_error blv_share_labels(blv_reading *r, size_t local, size_t *rows) {
    const blv_ranks *ranks = r->share;
    void *counts = NULL;
    bool ok = blv_ranks_gather(ranks, &local, sizeof local, &counts, NULL);
    *rows = r->rows_before = 0;
    for (int rank = 0; ok && rank < ranks->count; rank++) {
        r->rows_before += rank < ranks->rank ? ((size_t *)counts)[rank] : 0;
        *rows += ((size_t *)counts)[rank];
    }
    ok = ok && gather_items(ranks, &r->target, sizeof(double)) && share_texts(r);
    r->no_places = !blv_ranks_all(ranks, ok && !r->no_places);
    ok = ok && (r->no_places || gather_items(ranks, &r->place, sizeof(uint64_t)));
    free(counts);
    return ok ? BLV_OK
              : blv_explain(r->why, BLV_E_DEVICE, "%s: labels could not be exchanged between ranks",
                            r->shown);
}

size_t blv_share_rows(blv_reading *r, size_t rows) {
    const size_t rank = (size_t)r->share->rank, count = (size_t)r->share->count;
    const size_t each = rows / count, more = rows % count;
    r->rows_before = rank * each + (rank < more ? rank : more);
    return each + (rank < more);
}

blv_error blv_share_held(blv_reading *r, size_t local, size_t rows) {
    size_t *held = blv_data_alloc(local, sizeof *held);
    for (size_t i = 0; held && i < local; i++)
        held[i] = r->rows_before + i;
    r->dataset->view.rows = rows;
    return blv_need_memory(blv_dataset_put_held(r->dataset, r->share, held, local), r->why);
}

/* ---- A set that all ranks have ---- */

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
