/* NumPy files as data sets.
 *
 * An archive holds dense features (X, x, data or features) or the four arrays of a SciPy CSR matrix
 * (data, indices, indptr, shape), and labels (y, labels or target). A single .npy file holds dense
 * features; its labels are in a separate file.
 *
 * Dense features that lie in the file as they are wanted in memory are mapped. */
#include "base/rank_exchange.h"
#include "data/reading.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

blv_error blv_npz_open_input(blv_npz **npz, unsigned char **held, blv_input *input,
                             blv_message *why) {
    size_t size = 0;
    const bool file = blv_input_is_file(input);
    *npz = NULL;
    *held = NULL;
    if (!file)
        BLV_CHECK(blv_input_read_all(input, held, &size, why));
    BLV_CHECK(file ? blv_npz_open(npz, blv_input_path(input), why)
                   : blv_npz_open_memory(npz, *held, size, blv_input_path(input), why));
    (*npz)->limit = *blv_input_limited(input);
    return BLV_OK;
}

/* ---- Names ---- */

static const char *first_name(const blv_npz *npz, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (blv_npz_find(npz, names[i]))
            return names[i];
    return NULL;
}

const char *blv_npz_label_name(const blv_npz *npz) {
    static const char *const names[] = {"y", "labels", "target", ""};
    return first_name(npz, names, sizeof names / sizeof names[0]);
}

static const char *feature_name(const blv_npz *npz) {
    static const char *const names[] = {"X", "x", "data", "features", ""};
    return first_name(npz, names, sizeof names / sizeof names[0]);
}

static blv_error reject(const blv_npz *npz, const char *name, blv_message *why,
                        const char *problem) {
    const char *what = npz->is_npy ? "" : ": array ";
    return blv_explain(why, BLV_E_FORMAT, "%s%s%s: %s", blv_shown_path(npz->path), what, name,
                       problem);
}

/* ---- Labels ---- */

blv_error blv_add_npz_labels(blv_reading *r, blv_npz *npz, const char *name) {
    double *labels = NULL;
    blv_array about;
    BLV_CHECK(blv_npz_info(npz, name, &about, r->why));
    BLV_CHECK(blv_reading_expect(r, about.count, sizeof *labels, "its array of labels"));
    BLV_CHECK(blv_npz_read_f64(npz, name, &labels, &about, r->why));
    size_t rows = r->dataset->view.rows;
    bool one_column = about.ndim == 1 || (about.ndim == 2 && about.shape[1] == 1);
    char text[300];
    blv_error error;
    if (one_column && about.count == rows) {
        snprintf(text, sizeof text, "%s: array '%s'", blv_shown_path(npz->path), name);
        error = blv_add_label_numbers(r, labels, rows, text);
    } else {
        snprintf(text, sizeof text, "%zu labels in %zu dimensions; expected %zu, one for each row",
                 about.count, about.ndim, rows);
        error = reject(npz, name, r->why, text);
    }
    free(labels);
    return error;
}

/* ---- Dense features ---- */

/* Maps the elements at place. Leaves the set as it was when that is not possible. */
static blv_error map_features(blv_reading *r, const blv_npz *npz, const char *name,
                              const blv_npz_place *place) {
    long page = sysconf(_SC_PAGESIZE);
    const blv_npz_entry *entry = blv_npz_find(npz, name);
    uint64_t end = place->at + place->header.bytes,
             start = r->share ? place->at : end - entry->size;
    uint64_t from = start - start % (uint64_t)(page > 0 ? page : 4096);
    size_t length = (size_t)(end - from);
    unsigned char *map = mmap(NULL, length, PROT_READ, MAP_PRIVATE, npz->fd, (off_t)from);
    if (map == MAP_FAILED)
        return BLV_OK;
    if (!npz->is_npy && crc32_z(0, map + (start - from), (size_t)entry->size) != entry->crc) {
        munmap(map, length);
        return reject(npz, name, r->why, "damaged: the checksum is wrong");
    }
    r->dataset->view.precision = r->options.precision;
    return blv_need_memory(
        blv_dataset_put_map(r->dataset, BLV_PART_DENSE, map, length, (size_t)(place->at - from)),
        r->why);
}

static bool can_be_mapped(const blv_reading *r, const blv_npz *npz, const blv_npz_place *place) {
    const blv_npy_header *h = &place->header;
    return !npz->memory && place->at > 0 && place->at % h->item_size == 0 && h->kind == 'f' &&
           h->item_size == blv_value_size(r->options.precision) && h->bytes > 0 &&
           h->big_endian == blv_host_is_big_endian() && !h->fortran_order &&
           r->options.layout != BLV_LAYOUT_SPARSE;
}

/* Whether the bytes that the ranks have read are those of the archive: before them is the header.
 */
static bool has_checksum(blv_reading *r, const blv_npz *npz, const char *name,
                         const blv_npz_place *place, uLong own, size_t local) {
    const blv_npz_entry *entry = blv_npz_find(npz, name);
    const size_t row = (size_t)place->header.bytes / place->header.shape[0];
    const struct part {
        uLong crc;
        size_t bytes;
    } mine = {own, local * row};
    const size_t header = (size_t)(entry->size - place->header.bytes);
    unsigned char *bytes = blv_data_alloc(header, 1);
    void *all = NULL;
    bool well = bytes && blv_npz_pread(npz, place->at - header, bytes, header, r->why) == BLV_OK;
    well =
        blv_ranks_all(r->share, well) && blv_ranks_gather(r->share, &mine, sizeof mine, &all, NULL);
    uLong crc = well ? crc32_z(0, bytes, header) : 0;
    for (int rank = 0; well && rank < r->share->count; rank++) {
        const struct part *part = (const struct part *)all + rank;
        crc = crc32_combine(crc, part->crc, (z_off_t)part->bytes);
    }
    free(bytes);
    free(all);
    return well && crc == entry->crc;
}

/* The rows of this rank. */
static blv_error take_own_rows(blv_reading *r, const blv_npz *npz, const char *name,
                               const blv_npz_place *place) {
    blv_dataset *d = r->dataset;
    const size_t rows = d->view.rows, row = (size_t)place->header.bytes / rows;
    if (npz->memory || place->at == 0 || place->header.fortran_order)
        return BLV_NOT_SHARED;
    const size_t local = blv_share_rows(r, rows);
    blv_npz_place own = *place;
    own.at += (uint64_t)r->rows_before * row;
    own.header.bytes = (uint64_t)local * row;
    blv_error error = BLV_OK;
    uLong crc = 0;
    if (npz->is_npy && can_be_mapped(r, npz, &own))
        error = map_features(r, npz, name, &own);
    if (!error && !d->view.mapped) {
        double *dense = NULL;
        d->view.precision = BLV_F64;
        error =
            blv_reading_expect(r, local * d->view.columns, sizeof *dense, "its array of features");
        if (!error)
            error = blv_npz_read_rows(npz, place, r->rows_before, local, &dense, &crc, r->why);
        if (!error)
            error = blv_need_memory(blv_dataset_put(d, BLV_PART_DENSE, dense), r->why);
    }
    if (!blv_ranks_all(r->share, !error) ||
        (!npz->is_npy && !has_checksum(r, npz, name, place, crc, local)))
        return BLV_NOT_SHARED;
    return blv_share_held(r, local, rows);
}

static blv_error take_dense(blv_reading *r, blv_npz *npz, const char *name) {
    blv_dataset *d = r->dataset;
    blv_npz_place place;
    BLV_CHECK(blv_npz_locate(npz, name, &place, r->why));
    const blv_npy_header *h = &place.header;
    if (h->ndim < 2)
        return reject(npz, name, r->why, "expected two or more dimensions, the first for the rows");
    if (h->count == 0)
        return reject(npz, name, r->why, "expected rows and columns, found none");
    if (h->count / h->shape[0] > BLV_COLUMNS_MAX)
        return reject(npz, name, r->why, "too many columns");
    d->view.rows = h->shape[0];
    d->view.columns = h->count / h->shape[0];
    if (r->share)
        return take_own_rows(r, npz, name, &place);
    if (can_be_mapped(r, npz, &place))
        BLV_CHECK(map_features(r, npz, name, &place));
    if (d->view.mapped)
        return BLV_OK;
    double *dense = NULL;
    d->view.precision = BLV_F64;
    BLV_CHECK(blv_reading_expect(r, h->count, sizeof *dense, "its array of features"));
    BLV_CHECK(blv_npz_read_f64(npz, name, &dense, NULL, r->why));
    return blv_need_memory(blv_dataset_put(d, BLV_PART_DENSE, dense), r->why);
}

/* ---- Sparse features ---- */

typedef struct csr {
    blv_reading *r;
    blv_npz *npz;
    double *shape, *data, *indices, *indptr;
    size_t stored, rows, columns;
} csr;

typedef struct csr_item {
    uint32_t column;
    double value;
} csr_item;

static int by_column(const void *left, const void *right) {
    const csr_item *a = left, *b = right;
    return a->column < b->column ? -1 : a->column > b->column;
}

/* A whole number from 0 to most. */
static bool whole(double value, double most) {
    return value >= 0.0 && value <= most && value == floor(value);
}

static blv_error read_list(const csr *c, const char *name, double **list, size_t *count) {
    blv_array about;
    BLV_CHECK(blv_npz_info(c->npz, name, &about, c->r->why));
    BLV_CHECK(blv_reading_expect(c->r, about.count, 2 * sizeof **list, "one of its arrays"));
    BLV_CHECK(blv_npz_read_f64(c->npz, name, list, &about, c->r->why));
    *count = about.count;
    return about.ndim == 1 ? BLV_OK : reject(c->npz, name, c->r->why, "expected one dimension");
}

static blv_error read_lists(csr *c) {
    blv_message *why = c->r->why;
    size_t count = 0;
    BLV_CHECK(read_list(c, "shape", &c->shape, &count));
    if (count != 2 || !whole(c->shape[0], UINT32_MAX) ||
        !whole(c->shape[1], (double)BLV_COLUMNS_MAX))
        return reject(c->npz, "shape", why, "expected the numbers of rows and columns");
    c->rows = (size_t)c->shape[0];
    c->columns = (size_t)c->shape[1];
    BLV_CHECK(read_list(c, "data", &c->data, &c->stored));
    BLV_CHECK(read_list(c, "indices", &c->indices, &count));
    if (count != c->stored)
        return reject(c->npz, "indices", why, "expected as many elements as in data");
    BLV_CHECK(read_list(c, "indptr", &c->indptr, &count));
    if (count != c->rows + 1)
        return reject(c->npz, "indptr", why, "expected one element more than rows");
    for (size_t i = 0; i <= c->rows; i++)
        if (!whole(c->indptr[i], (double)c->stored) || c->indptr[i] < (i ? c->indptr[i - 1] : 0.0))
            return reject(c->npz, "indptr", why, "expected ascending places in data");
    if (c->indptr[0] != 0.0 || c->indptr[c->rows] != (double)c->stored)
        return reject(c->npz, "indptr", why, "expected places from 0 to the end of data");
    for (size_t i = 0; i < c->stored; i++)
        if (!(c->columns > 0 && whole(c->indices[i], (double)c->columns - 1.0)))
            return reject(c->npz, "indices", why, "expected columns within the shape");
    return BLV_OK;
}

static size_t longest_row(const csr *c) {
    double longest = 0.0;
    for (size_t i = 0; i < c->rows; i++)
        longest = fmax(longest, c->indptr[i + 1] - c->indptr[i]);
    return (size_t)longest;
}

/* Rows in ascending order of columns, without zeros. Items: room for the longest row. */
static blv_error take_rows(const csr *c, csr_item *item, size_t *row_start, uint32_t *column,
                           double *value) {
    size_t n = 0;
    for (size_t row = 0; row < c->rows; row++) {
        size_t from = (size_t)c->indptr[row], count = (size_t)c->indptr[row + 1] - from;
        bool ascending = true;
        for (size_t k = 0; k < count; k++) {
            item[k] = (csr_item){(uint32_t)c->indices[from + k], c->data[from + k]};
            ascending = ascending && (k == 0 || item[k].column > item[k - 1].column);
        }
        if (!ascending)
            qsort(item, count, sizeof *item, by_column);
        row_start[row] = n;
        for (size_t k = 0; k < count; k++) {
            if (k > 0 && item[k].column == item[k - 1].column) {
                char problem[80];
                snprintf(problem, sizeof problem, "row %zu has column %lu twice", row,
                         (unsigned long)item[k].column);
                return reject(c->npz, "indices", c->r->why, problem);
            }
            column[n] = item[k].column;
            value[n] = item[k].value;
            n += item[k].value != 0.0;
        }
    }
    row_start[c->rows] = n;
    return BLV_OK;
}

static blv_error put_rows(csr *c) {
    blv_dataset *d = c->r->dataset;
    d->view.rows = c->rows;
    d->view.columns = c->columns;
    d->view.precision = BLV_F64;
    size_t *row_start = blv_data_alloc(c->rows + 1, sizeof *row_start);
    uint32_t *column = blv_data_alloc(c->stored, sizeof *column);
    double *value = blv_data_alloc(c->stored, sizeof *value);
    csr_item *item = blv_data_alloc(longest_row(c), sizeof *item);
    blv_error error = row_start && column && value && item
                          ? take_rows(c, item, row_start, column, value)
                          : blv_explain_memory(c->r->why);
    free(item);
    if (!blv_dataset_put_sparse(d, row_start, column, value) && !error)
        error = blv_explain_memory(c->r->why);
    return error;
}

static blv_error take_sparse(blv_reading *r, blv_npz *npz) {
    csr c = {.r = r, .npz = npz};
    char *form = NULL;
    blv_error error = BLV_OK;
    if (blv_npz_find(npz, "format"))
        error = blv_npz_read_text(npz, "format", &form, r->why);
    if (form && strcmp(form, "csr") != 0)
        error = reject(npz, "format", r->why, "the sparse matrix is not in CSR form; expected csr");
    free(form);
    if (!error)
        error = read_lists(&c);
    if (!error)
        error = put_rows(&c);
    free(c.shape);
    free(c.data);
    free(c.indices);
    free(c.indptr);
    return error;
}

/* ---- The file ---- */

static blv_error take_features(blv_reading *r, blv_npz *npz) {
    if (blv_npz_find(npz, "indptr") && blv_npz_find(npz, "indices") && blv_npz_find(npz, "data"))
        return r->share ? BLV_NOT_SHARED : take_sparse(r, npz);
    const char *name = feature_name(npz);
    if (name)
        return take_dense(r, npz, name);
    return blv_explain(r->why, BLV_E_NAME,
                       "%s: no array of features; expected X, x, data or features, or data, "
                       "indices, indptr and shape",
                       r->shown);
}

blv_error blv_read_npz(blv_reading *r) {
    blv_npz *npz;
    unsigned char *held;
    blv_error error = blv_npz_open_input(&npz, &held, r->input, r->why);
    if (!error)
        error = take_features(r, npz);
    if (!error && r->options.labels)
        error = blv_read_label_file(r, r->options.labels);
    else if (!error && !npz->is_npy && blv_npz_label_name(npz))
        error = blv_add_npz_labels(r, npz, blv_npz_label_name(npz));
    else if (!error)
        error = blv_need_memory(blv_dataset_note(r->dataset, "no labels"), r->why);
    blv_npz_close(npz);
    free(held);
    return error;
}
