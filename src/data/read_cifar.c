/* CIFAR binary files: records of one label (CIFAR-10) or of a coarse and a fine label (CIFAR-100),
 * and 3072 bytes of pixels: red, green and blue, 32 rows of 32 each. */
#include "base/rank_exchange.h"
#include "data/reading.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = 3072, RECORDS = 16 };

static blv_error add_label(blv_reading *r, const unsigned char *record, bool hundred, bool coarse,
                           size_t row) {
    uint64_t at = (uint64_t)row * (hundred ? PIXELS + 2u : PIXELS + 1u);
    double label = (double)record[hundred && !coarse ? 1 : 0];
    if (!hundred && record[0] >= 10)
        return blv_explain(r->why, BLV_E_FORMAT, "%s: byte %" PRIu64 ": label %u; expected 0 to 9",
                           r->shown, at, record[0]);
    if (hundred && (record[0] >= 20 || record[1] >= 100))
        return blv_explain(r->why, BLV_E_FORMAT,
                           "%s: byte %" PRIu64
                           ": labels %u and %u; expected 0 to 19 (coarse) and 0 to 99 (fine)",
                           r->shown, at, record[0], record[1]);
    return blv_add_label_numbers(r, &label, 1, r->shown);
}

static blv_error take_records(blv_reading *r, bool hundred, bool coarse, blv_list *dense) {
    const blv_precision precision = r->options.precision;
    const size_t size = PIXELS * blv_value_size(precision), labels = hundred ? 2 : 1;
    const size_t length = PIXELS + labels;
    unsigned char records[RECORDS * (PIXELS + 2)];
    size_t got = 0;
    do {
        BLV_CHECK(blv_input_read(r->input, records, RECORDS * length, &got, r->why));
        BLV_CHECK(blv_reading_expect(r, dense->count, size, "its images"));
        char *row = blv_list_room(dense, got / length, size);
        BLV_CHECK(blv_need_memory(row, r->why));
        for (size_t at = 0; at + length <= got; at += length, row += size) {
            BLV_CHECK(add_label(r, records + at, hundred, coarse, dense->count++));
            blv_widen_bytes(records + at + labels, PIXELS, precision, row);
        }
    } while (got == RECORDS * length);
    if (got % length == 0)
        return BLV_OK;
    return blv_explain(r->why, BLV_E_FORMAT,
                       "%s: byte %" PRIu64
                       ": the file ends inside record %zu; expected %zu bytes each",
                       r->shown, blv_input_position(r->input), dense->count, length);
}

/* Of several ranks each reads some records; a file that ends inside one is left to one rank. */
static blv_error take_own_records(blv_reading *r, bool hundred) {
    const uint64_t length = PIXELS + (hundred ? 2 : 1), records = blv_input_size(r->input) / length;
    if (blv_input_size(r->input) % length != 0)
        return BLV_NOT_SHARED;
    const uint64_t local = blv_share_rows(r, (size_t)records), first = r->rows_before * length;
    return blv_input_take_bytes(r->input, first, first + local * length, r->why);
}

blv_error blv_read_cifar(blv_reading *r) {
    const char *label = r->options.label;
    const bool hundred = r->format == BLV_FORMAT_CIFAR100;
    const bool coarse = label && strcmp(label, "coarse") == 0;
    if (label && (!hundred || (!coarse && strcmp(label, "fine") != 0)))
        return blv_explain(r->why, BLV_E_VALUE, "%s: label is '%.60s'; expected %s", r->shown,
                           label, hundred ? "coarse or fine" : "none given for CIFAR-10");
    blv_list dense = {0};
    blv_error error = r->share ? take_own_records(r, hundred) : BLV_OK;
    if (!error)
        error = take_records(r, hundred, coarse, &dense);
    const size_t local = dense.count, size = PIXELS * blv_value_size(r->options.precision);
    size_t rows = local;
    r->dataset->view.columns = PIXELS; /* before they are put there */
    r->dataset->view.precision = r->options.precision;
    if (!error)
        error = blv_need_memory(
            blv_dataset_put(r->dataset, BLV_PART_DENSE, blv_list_take(&dense, size)), r->why);
    if (r->share && !blv_ranks_all(r->share, !error))
        error = BLV_NOT_SHARED;
    if (error) {
        free(dense.items);
        return error;
    }
    if (r->share)
        BLV_CHECK(blv_share_labels(r, local, &rows));
    r->dataset->view.rows = rows;
    return r->share ? blv_share_held(r, local, rows) : BLV_OK;
}
