/* CIFAR binary files: records of one label (CIFAR-10) or of a coarse and a fine label (CIFAR-100),
 * and 3072 bytes of pixels: red, green and blue, 32 rows of 32 each. */
#include "data/reading.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = 3072, RECORDS = 16, LONGEST = PIXELS + 2 };

typedef struct cifar_file {
    blv_reading *r;
    bool hundred, coarse;
    size_t rows, capacity, label_capacity;
    char *dense;
    double *label;
} cifar_file;

static blv_error make_room(cifar_file *f, size_t rows) {
    size_t size = PIXELS * blv_value_size(f->r->options.precision);
    char *dense = blv_grown(f->dense, &f->capacity, f->rows + rows, size);
    if (dense)
        f->dense = dense;
    double *label = blv_grown(f->label, &f->label_capacity, f->rows + rows, sizeof *label);
    if (label)
        f->label = label;
    return dense && label ? BLV_OK : blv_explain_memory(f->r->why);
}

static blv_error reject_label(const cifar_file *f, const unsigned char *record) {
    uint64_t at = (uint64_t)f->rows * (f->hundred ? PIXELS + 2u : PIXELS + 1u);
    if (!f->hundred)
        return blv_explain(f->r->why, BLV_E_FORMAT,
                           "%s: byte %" PRIu64 ": label %u; expected 0 to 9", f->r->shown, at,
                           record[0]);
    return blv_explain(f->r->why, BLV_E_FORMAT,
                       "%s: byte %" PRIu64
                       ": labels %u and %u; expected 0 to 19 (coarse) and 0 to 99 (fine)",
                       f->r->shown, at, record[0], record[1]);
}

static blv_error take_record(cifar_file *f, const unsigned char *record) {
    blv_precision precision = f->r->options.precision;
    bool known = f->hundred ? record[0] < 20 && record[1] < 100 : record[0] < 10;
    if (!known)
        return reject_label(f, record);
    f->label[f->rows] = (double)record[f->hundred && !f->coarse ? 1 : 0];
    blv_widen_bytes(record + (f->hundred ? 2 : 1), PIXELS, precision,
                    f->dense + f->rows * PIXELS * blv_value_size(precision));
    f->rows++;
    return BLV_OK;
}

static blv_error take_records(cifar_file *f) {
    size_t length = PIXELS + (f->hundred ? 2 : 1);
    unsigned char records[RECORDS * LONGEST];
    for (;;) {
        size_t got = 0;
        blv_error error = blv_input_read(f->r->input, records, RECORDS * length, &got, f->r->why);
        size_t whole = got / length;
        if (!error && whole > 0)
            error = make_room(f, whole);
        for (size_t i = 0; !error && i < whole; i++)
            error = take_record(f, records + i * length);
        if (!error && got % length != 0)
            error = blv_explain(f->r->why, BLV_E_FORMAT,
                                "%s: byte %" PRIu64
                                ": the file ends inside record %zu; expected %zu bytes each",
                                f->r->shown, blv_input_position(f->r->input), f->rows, length);
        if (error || whole < RECORDS)
            return error;
    }
}

blv_error blv_read_cifar(blv_reading *r, bool hundred) {
    const char *label = r->options.label;
    cifar_file f = {.r = r, .hundred = hundred, .coarse = label && strcmp(label, "coarse") == 0};
    if (label && (!hundred || (!f.coarse && strcmp(label, "fine") != 0)))
        return blv_explain(r->why, BLV_E_VALUE, "%s: label is '%.60s'; expected %s", r->shown,
                           label, hundred ? "coarse or fine" : "none given for CIFAR-10");
    blv_error error = take_records(&f);
    if (!error) {
        blv_dataset *d = r->dataset;
        d->view.rows = f.rows;
        d->view.columns = PIXELS;
        d->view.precision = r->options.precision;
        void *dense = blv_trimmed(f.dense, f.rows * PIXELS, blv_value_size(r->options.precision));
        f.dense = NULL;
        error = blv_dataset_put(d, BLV_PART_DENSE, dense)
                    ? blv_take_number_labels(r, f.label, r->shown)
                    : blv_explain_memory(r->why);
    }
    free(f.dense);
    free(f.label);
    return error;
}
