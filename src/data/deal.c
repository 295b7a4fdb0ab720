/* A set that one rank has read, dealt out: row i goes to rank i % count. What is known of all rows
 * (labels, names, history) goes to all ranks, features piece by piece, of which each rank keeps its
 * rows: no other rank ever has more than those and one piece. */
#include "base/rank_exchange.h"
#include "data/reading.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 22 }; /* bytes, about */

typedef struct dealing {
    const blv_ranks *ranks;
    blv_dataset *from; /* NULL but on rank 0 */
    blv_dataset *to;   /* NULL on rank 0 */
    size_t rows, held;
} dealing;

/* The bytes of rank 0, on all ranks: its own there, elsewhere from malloc. NULL: that failed on
 * some rank. */
static void *receive(const dealing *d, const void *mine, size_t size) {
    void *here = d->from ? (void *)(uintptr_t)mine : blv_data_alloc(size, 1);
    bool well =
        blv_ranks_all(d->ranks, here) && d->ranks->broadcast(d->ranks->context, 0, here, size);
    if (!well && !d->from)
        free(here);
    return well ? here : NULL;
}

static void drop(const dealing *d, void *received) {
    if (!d->from)
        free(received);
}

/* ---- What all ranks have ---- */

static size_t lines_size(const char *lines) {
    const char *at = lines;
    while (*at)
        at += strlen(at) + 1;
    return (size_t)(at - lines) + 1;
}

static size_t part_size(const blv_dataset *set, blv_part_name name) {
    const void *data = set->part[name]->data;
    switch (name) {
    case BLV_PART_HISTORY:
    case BLV_PART_NOTES:
        return lines_size(data);
    case BLV_PART_RECIPE:
        return strlen(data) + 1;
    case BLV_PART_TARGET:
    case BLV_PART_WEIGHT:
        return set->view.rows * sizeof(double);
    default:
        return set->view.rows * sizeof(int32_t);
    }
}

static bool deal_part(const dealing *d, blv_part_name name) {
    size_t size = d->from && d->from->part[name] ? part_size(d->from, name) : 0;
    if (!d->ranks->broadcast(d->ranks->context, 0, &size, sizeof size))
        return false;
    if (size == 0)
        return true;
    void *data = receive(d, d->from ? d->from->part[name]->data : NULL, size);
    return data && (d->from || blv_dataset_put(d->to, name, data));
}

/* The texts of names lie one behind the other, each with its zero byte. */
static bool deal_names(const dealing *d, blv_part_name name, const char *const *names,
                       size_t count) {
    size_t size = 0;
    for (size_t i = 0; names && i < count; i++)
        size += strlen(names[i]) + 1;
    if (!d->ranks->broadcast(d->ranks->context, 0, &size, sizeof size))
        return false;
    if (size == 0)
        return true;
    char *all = receive(d, names ? names[0] : NULL, size);
    const char **list = d->to ? blv_data_alloc(count, sizeof *list) : NULL;
    const char *next = all;
    for (size_t i = 0; all && list && i < count; i++, next += strlen(next) + 1)
        list[i] = next;
    const bool well =
        all && (d->from || (list && blv_dataset_put(d->to, name, blv_strings_copy(list, count))));
    free(list);
    drop(d, all);
    return well;
}

static bool deal_facts(dealing *d) {
    static const blv_part_name whole[] = {BLV_PART_LABEL,  BLV_PART_TRUE_LABEL, BLV_PART_TARGET,
                                          BLV_PART_WEIGHT, BLV_PART_HISTORY,    BLV_PART_NOTES,
                                          BLV_PART_RECIPE};
    blv_dataset_view v = d->from ? d->from->view : (blv_dataset_view){0};
    blv_memory_limit limit = d->from ? d->from->limit : (blv_memory_limit){0};
    bool well = d->ranks->broadcast(d->ranks->context, 0, &v, sizeof v) &&
                d->ranks->broadcast(d->ranks->context, 0, &limit, sizeof limit);
    d->rows = v.rows;
    d->held = v.rows / (size_t)d->ranks->count +
              ((size_t)d->ranks->rank < v.rows % (size_t)d->ranks->count);
    if (d->to) { /* pointers of another process are not looked at */
        d->to->limit = limit;
        d->to->view.rows = v.rows;
        d->to->view.columns = v.columns;
        d->to->view.classes = v.classes;
        d->to->view.precision = v.precision;
        d->to->view.separator = v.separator;
    }
    for (size_t i = 0; well && i < sizeof whole / sizeof *whole; i++)
        well = deal_part(d, whole[i]);
    return well && deal_names(d, BLV_PART_CLASS_NAMES, d->from ? v.class_names : NULL, v.classes) &&
           deal_names(d, BLV_PART_FEATURE_NAMES, d->from ? v.feature_names : NULL, v.columns);
}

/* ---- Features ---- */

static bool is_own(const dealing *d, size_t row) {
    return row % (size_t)d->ranks->count == (size_t)d->ranks->rank;
}

static bool deal_dense(const dealing *d, const blv_dataset_view *v) {
    const size_t row_size = v->columns * blv_value_size(v->precision);
    const size_t step = PIECE / (row_size + 1) + 1;
    char *own = d->to ? blv_data_alloc(d->held, row_size) : NULL, *next = own;
    bool well = blv_ranks_all(d->ranks, d->from || own);
    for (size_t first = 0; well && first < d->rows; first += step) {
        const size_t count = d->rows - first < step ? d->rows - first : step;
        char *piece = receive(d, d->from ? (const char *)v->dense + first * row_size : NULL,
                              count * row_size);
        well = piece != NULL;
        for (size_t i = 0; own && well && i < count; i++)
            if (is_own(d, first + i)) {
                memcpy(next, piece + i * row_size, row_size);
                next += row_size;
            }
        drop(d, piece);
    }
    if (d->to && well)
        return blv_dataset_put(d->to, BLV_PART_DENSE, own);
    free(own);
    return well;
}

typedef struct own_rows {
    blv_list start, column, value;
} own_rows;

/* Rows first .. first + count - 1 of rank 0, of which start has where they begin. */
static bool deal_sparse_piece(const dealing *d, const blv_dataset_view *v, size_t first,
                              size_t count, own_rows *own) {
    const size_t size = blv_value_size(v->precision);
    size_t *start = receive(d, d->from ? v->row_start + first : NULL, (count + 1) * sizeof *start);
    const size_t base = start ? start[0] : 0, stored = start ? start[count] - base : 0;
    uint32_t *column =
        start ? receive(d, d->from ? v->column + base : NULL, stored * sizeof *column) : NULL;
    char *value =
        column ? receive(d, d->from ? (const char *)v->value + base * size : NULL, stored * size)
               : NULL;
    bool well = value != NULL;
    for (size_t i = 0; d->to && well && i < count; i++) {
        const size_t from = start[i] - base, n = start[i + 1] - start[i];
        if (!is_own(d, first + i))
            continue;
        uint32_t *columns = blv_list_room(&own->column, n, sizeof *columns);
        char *values = blv_list_room(&own->value, n, size);
        size_t *end = blv_list_room(&own->start, 1, sizeof *end);
        well = columns && values && end;
        if (!well)
            break;
        memcpy(columns, column + from, n * sizeof *columns);
        memcpy(values, value + from * size, n * size);
        own->column.count += n;
        own->value.count += n;
        own->start.count++;
        *end = own->column.count;
    }
    drop(d, start);
    drop(d, column);
    drop(d, value);
    return blv_ranks_all(d->ranks, well);
}

static bool deal_sparse(const dealing *d, const blv_dataset_view *v) {
    const size_t step = PIECE / 64;
    own_rows own = {0};
    size_t *zero = blv_list_room(&own.start, 1, sizeof *zero);
    bool well = blv_ranks_all(d->ranks, zero);
    if (zero) {
        *zero = 0;
        own.start.count = 1;
    }
    for (size_t first = 0; well && first < d->rows; first += step)
        well =
            deal_sparse_piece(d, v, first, d->rows - first < step ? d->rows - first : step, &own);
    if (d->to && well)
        return blv_dataset_put_sparse(d->to, blv_list_take(&own.start, sizeof(size_t)),
                                      blv_list_take(&own.column, sizeof(uint32_t)),
                                      blv_list_take(&own.value, blv_value_size(v->precision)));
    free(own.start.items);
    free(own.column.items);
    free(own.value.items);
    return well;
}

/* ---- All of it ---- */

blv_error blv_dataset_deal(blv_dataset **dataset, const blv_ranks *ranks, blv_message *why) {
    dealing d = {.ranks = ranks, .from = ranks->rank == 0 ? *dataset : NULL};
    if (!d.from)
        *dataset = d.to = blv_dataset_new();
    bool well = blv_ranks_all(ranks, *dataset) && deal_facts(&d);
    bool dense = d.from && d.from->view.dense;
    well = well && ranks->broadcast(ranks->context, 0, &dense, sizeof dense) &&
           (dense ? deal_dense : deal_sparse)(&d, &(*dataset)->view);
    if (well && d.to) {
        size_t *row = blv_data_alloc(d.held, sizeof *row);
        for (size_t k = 0; row && k < d.held; k++)
            row[k] = (size_t)ranks->rank + k * (size_t)ranks->count;
        well = blv_dataset_put_held(d.to, ranks, row, d.held) &&
               blv_dataset_record(d.to, "spread: over %d ranks", ranks->count);
    }
    const blv_error error =
        well ? BLV_OK
             : blv_explain(why, BLV_E_MEMORY, "no memory on a rank for its rows, or no exchange");
    BLV_CHECK(blv_ranks_agree(ranks, error, why));
    return d.from ? blv_dataset_spread(d.from, ranks, why)
                  : blv_ranks_agree(ranks, BLV_OK, why); /* as it does */
}
