/* Fingerprints of data sets: values that are not zero, each with its column, row by row, so that
 * dense and sparse sets of the same numbers have the same one. */
#include "base/hash.h"
#include "bilevel/ranks.h"
#include "data/dataset_private.h"

uint64_t blv_hash_row(uint64_t hash, const blv_dataset_view *v, size_t i) {
    const blv_stored_row row = blv_row_at(v, i);
    for (size_t k = row.first; k < row.end; k++) {
        double value = blv_value_get(blv_stored_values(v), v->precision, k);
        if (value != 0.0)
            hash = blv_hash_real(blv_hash_word(hash, blv_column_at(&row, k)), value);
    }
    return hash;
}

static uint64_t hash_features(uint64_t hash, const blv_dataset_view *v) {
    for (size_t i = 0; i < v->rows; i++)
        hash = blv_hash_word(blv_hash_row(hash, v, i), UINT64_MAX);
    return hash;
}

/* The rows of a spread set are hashed one by one, each with its number, and the sum of that over
 * all ranks counts: it does not depend on where they are. */
static uint64_t hash_spread(uint64_t hash, const blv_dataset_view *v) {
    enum { PIECES = 4, BITS = 16 }; /* sums of these are exact */
    double pieces[PIECES] = {0.0};
    uint64_t sum = 0;
    for (size_t i = 0; i < v->held; i++)
        sum += blv_hash_row(blv_hash_word(1, v->held_row[i]), v, i);
    for (size_t p = 0; p < PIECES; p++)
        pieces[p] = (double)(sum >> p * BITS & 0xffff);
    v->ranks->sum(v->ranks->context, PIECES, pieces);
    sum = 0;
    for (size_t p = 0; p < PIECES; p++)
        sum += (uint64_t)pieces[p] << p * BITS;
    return blv_hash_word(hash, sum);
}

static uint64_t hash_labels(uint64_t hash, const int32_t *label, size_t rows) {
    hash = blv_hash_word(hash, label ? 1 : 0);
    for (size_t i = 0; label && i < rows; i++)
        hash = blv_hash_word(hash, (uint64_t)label[i]);
    return hash;
}

static uint64_t hash_names(uint64_t hash, const char *const *names, size_t count) {
    hash = blv_hash_word(hash, names ? 1 : 0);
    for (size_t i = 0; names && i < count; i++)
        hash = blv_hash_text(hash, names[i]);
    return hash;
}

static uint64_t fingerprint(const blv_dataset_view *v) {
    uint64_t hash = blv_hash_word(blv_hash_word(blv_hash_word(1, v->rows), v->columns), v->classes);
    hash = (v->ranks ? hash_spread : hash_features)(hash, v);
    for (size_t i = 0; v->weight && i < v->rows; i++)
        hash = blv_hash_bytes(hash, &v->weight[i], sizeof v->weight[i]);
    hash = hash_labels(hash, v->label, v->rows);
    hash = hash_labels(hash, v->true_label, v->rows);
    hash = blv_hash_word(hash, v->target ? 1 : 0);
    for (size_t i = 0; v->target && i < v->rows; i++)
        hash = blv_hash_real(hash, v->target[i]);
    hash = hash_names(hash, v->class_names, v->classes);
    return hash_names(hash, v->feature_names, v->columns);
}

uint64_t blv_dataset_fingerprint(const blv_dataset *dataset) {
    return dataset ? fingerprint(&dataset->view) : 0;
}

uint64_t blv_dataset_fingerprint_all(const blv_dataset *const *datasets, size_t count) {
    uint64_t hash = 0;
    for (size_t i = 0; datasets && i < count; i++)
        hash = hash * BLV_HASH_FACTOR ^ blv_dataset_fingerprint(datasets[i]);
    return hash;
}
