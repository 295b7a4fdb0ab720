/* libsvm and svmlight files: a label and pairs index:value on each line.
 *
 *     +1 1:0.5 7:-2   # comment
 *     -1 qid:3 2:1
 *
 * Lines are parsed where they lie, and room for all pairs of a piece of text is made beforehand:
 * a pair takes four bytes at least, a row two. Zeros are not stored. */
#include "base/number_text.h"
#include "base/rank_exchange.h"
#include "bilevel/ranks.h"
#include "data/reading.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_PER_PAIR = 4, BYTES_PER_ROW = 2, INDEX_DIGITS = 10 };

typedef struct svm_file {
    blv_reading *r;
    size_t line;         /* from 1 */
    blv_list row_start;  /* of size_t */
    char last_label[32]; /* the label before, so that equal ones are checked once */
    size_t last_length;
    blv_list column, value; /* of uint32_t and double; column.count is that of both */
    uint32_t largest;
    bool has_zero, has_index, has_qid;
} svm_file;

#define REJECT(f, ...) blv_explain((f)->r->why, BLV_E_FORMAT, "%s: line %zu: " __VA_ARGS__)

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static bool is_digit(char c) {
    return (unsigned char)(c - '0') < 10;
}

static bool ends_word(char c) {
    return is_blank(c) || c == '\n' || c == '#';
}

static size_t word_length(const char *p) {
    size_t n = 0;
    while (!ends_word(p[n]))
        n++;
    return n;
}

/* ---- Labels ---- */

static blv_error check_label(svm_file *f, const char *p, size_t length, double *value) {
    const char *end = blv_decimal(p, value);
    if (end == p + length && isfinite(*value))
        return BLV_OK;
    const char *shown = f->r->shown;
    if (memchr(p, ':', length))
        return REJECT(f, "expected a label before the pairs, found %s", shown, f->line,
                      blv_show(p, length).text);
    if (memchr(p, ',', length))
        return REJECT(f, "several labels %s; expected one for each row", shown, f->line,
                      blv_show(p, length).text);
    return REJECT(f, "expected a number as label, found %s", shown, f->line,
                  blv_show(p, length).text);
}

static blv_error take_label(svm_file *f, const char *p, size_t length) {
    double value;
    if (f->r->options.real_targets) {
        BLV_CHECK(check_label(f, p, length, &value));
        return blv_add_target(f->r, value);
    }
    if (length != f->last_length || memcmp(p, f->last_label, length) != 0) {
        BLV_CHECK(check_label(f, p, length, &value));
        f->last_length = length <= sizeof f->last_label ? length : 0;
        memcpy(f->last_label, p, f->last_length);
    }
    return blv_add_label_text(f->r, &f->r->label, p, length, f->r->shown, f->line);
}

/* ---- Pairs ---- */

/* What is wrong with the pair at p, whose index must be at least `next`. */
static blv_error reject_pair(const svm_file *f, const char *p, uint64_t next) {
    const char *shown = f->r->shown;
    size_t length = word_length(p), digits = 0;
    while (p[digits] >= '0' && p[digits] <= '9')
        digits++;
    if (digits == 0 || p[digits] != ':')
        return REJECT(f, "expected index:value, found %s", shown, f->line,
                      blv_show(p, length).text);
    uint64_t index = 0;
    for (size_t i = 0; i < digits && index <= BLV_COLUMNS_MAX; i++)
        index = 10 * index + (uint64_t)(p[i] - '0');
    if (index > BLV_COLUMNS_MAX)
        return REJECT(f, "index %s; at most 2147483648 is possible", shown, f->line,
                      blv_show(p, digits).text);
    if (index < next)
        return REJECT(f, "index %lu after index %lu; expected ascending indices", shown, f->line,
                      (unsigned long)index, (unsigned long)(next - 1));
    return REJECT(f, "index %lu: expected a finite number, found %s", shown, f->line,
                  (unsigned long)index, blv_show(p + digits + 1, length - digits - 1).text);
}

/* "qid:" and digits: the end of it, or NULL. */
static const char *skip_qid(const char *p) {
    if (strncmp(p, "qid:", 4) != 0)
        return NULL;
    const char *q = p + 4;
    while (*q >= '0' && *q <= '9')
        q++;
    return q > p + 4 && ends_word(*q) ? q : NULL;
}

/* The pairs of a line. *cursor is moved to its newline or comment. */
static blv_error take_pairs(svm_file *f, const char **cursor) {
    const char *p = *cursor;
    uint32_t *column = f->column.items;
    double *value = f->value.items;
    size_t n = f->column.count;
    uint64_t next = 0;
    for (;;) {
        p += *p == ' '; /* mostly one, and a digit behind it */
        if (!is_digit(*p)) {
            while (is_blank(*p))
                p++;
            if (*p == '\n' || *p == '#')
                break;
        }
        uint64_t index = 0;
        const char *q = p;
        for (; is_digit(*q); q++)
            index = 10 * index + (uint64_t)(*q - '0');
        if (*q != ':' || q == p) {
            q = next == 0 ? skip_qid(p) : NULL;
            if (!q)
                return reject_pair(f, p, next);
            f->has_qid = true;
            p = q;
            continue;
        }
        if (q - p > INDEX_DIGITS || index > BLV_COLUMNS_MAX || index < next)
            return reject_pair(f, p, next);
        double x;
        q = blv_decimal(q + 1, &x);
        if (!q || !ends_word(*q) || !isfinite(x))
            return reject_pair(f, p, next);
        column[n] = (uint32_t)index;
        value[n] = x;
        n += x != 0.0;
        f->has_zero |= index == 0;
        next = index + 1;
        p = q;
    }
    if (next > 0) {
        f->has_index = true;
        if (next - 1 > f->largest)
            f->largest = (uint32_t)(next - 1);
    }
    f->column.count = f->value.count = n;
    *cursor = p;
    return BLV_OK;
}

/* ---- Lines ---- */

static blv_error take_line(svm_file *f, const char **cursor) {
    const char *p = *cursor;
    bool row = false;
    while (is_blank(*p))
        p++;
    if (*p != '\n' && *p != '#') {
        size_t length = word_length(p);
        BLV_CHECK(take_label(f, p, length));
        p += length;
        BLV_CHECK(take_pairs(f, &p));
        ((size_t *)f->row_start.items)[f->row_start.count++] = f->column.count;
        row = true;
    }
    while (*p != '\n')
        p++;
    if (row)
        BLV_CHECK(
            blv_add_place(f->r, blv_input_place(f->r->input, *cursor), (size_t)(p + 1 - *cursor)));
    *cursor = p + 1;
    f->line++;
    return BLV_OK;
}

static bool make_room(svm_file *f, size_t bytes) {
    size_t pairs = bytes / BYTES_PER_PAIR + 1, rows = bytes / BYTES_PER_ROW + 1;
    return blv_list_room(&f->column, pairs, sizeof(uint32_t)) &&
           blv_list_room(&f->value, pairs, sizeof(double)) &&
           blv_list_room(&f->row_start, rows, sizeof(size_t));
}

static blv_error take_all_lines(svm_file *f) {
    char *begin = NULL, *end = NULL;
    const char *p = NULL;
    bool last;
    size_t *start = blv_list_room(&f->row_start, 1, sizeof *start);
    BLV_CHECK(blv_need_memory(start, f->r->why));
    *start = 0;
    f->row_start.count = 1;
    for (;;) {
        BLV_CHECK(blv_input_lines(f->r->input, p, &begin, &end, &last, f->r->why));
        if (begin == end)
            return BLV_OK;
        BLV_CHECK(blv_reading_expect(f->r, f->value.count + f->row_start.count,
                                     sizeof(double) + sizeof(uint32_t), "its values"));
        BLV_CHECK(blv_need_memory(make_room(f, (size_t)(end - begin)), f->r->why));
        for (p = begin; p < end;)
            BLV_CHECK(take_line(f, &p));
    }
}

/* ---- The set ---- */

/* What the parts of all ranks say about the columns. */
static blv_error share_columns(svm_file *f) {
    const blv_ranks *ranks = f->r->share;
    const double mine[] = {f->has_zero, f->has_index, f->has_qid};
    double sum[] = {mine[0], mine[1], mine[2]};
    bool ok = ranks->sum(ranks->context, 3, sum);
    for (int rank = 0; ok && rank < ranks->count; rank++) {
        uint32_t theirs = f->largest;
        ok = ranks->broadcast(ranks->context, rank, &theirs, sizeof theirs);
        f->largest = theirs > f->largest ? theirs : f->largest;
    }
    f->has_zero = sum[0] > 0.0;
    f->has_index = sum[1] > 0.0;
    f->has_qid = sum[2] > 0.0;
    return ok ? BLV_OK : blv_explain(f->r->why, BLV_E_DEVICE, BLV_NO_EXCHANGE);
}

static blv_error put_rows(svm_file *f) {
    blv_reading *r = f->r;
    blv_dataset *d = r->dataset;
    size_t rows = f->row_start.count - 1;
    const size_t local = rows;
    if (r->share) {
        BLV_CHECK(share_columns(f));
        BLV_CHECK(blv_share_labels(r, local, &rows));
    }
    if (rows == 0)
        return blv_explain(r->why, BLV_E_FORMAT, "%s: there is no row of data", r->shown);
    uint32_t base = f->has_zero ? 0 : 1, *column = f->column.items;
    for (size_t i = 0; base > 0 && i < f->column.count; i++)
        column[i] -= base;
    size_t columns = f->has_index ? (size_t)f->largest - base + 1 : 0;
    d->view.rows = rows;
    d->view.columns = columns > r->options.columns ? columns : r->options.columns;
    d->view.precision = BLV_F64;
    bool ok = blv_dataset_put_sparse(d, blv_list_take(&f->row_start, sizeof(size_t)),
                                     blv_list_take(&f->column, sizeof *column),
                                     blv_list_take(&f->value, sizeof(double)));
    ok = ok && (!f->has_qid || blv_dataset_note(d, "qid ignored"));
    ok = ok && (!f->has_zero || blv_dataset_note(d, "indices begin at 0"));
    BLV_CHECK(blv_need_memory(ok, r->why));
    return r->share ? blv_share_held(r, local, rows) : BLV_OK;
}

blv_error blv_read_libsvm(blv_reading *r) {
    svm_file f = {.r = r, .line = 1};
    if (r->options.columns > BLV_COLUMNS_MAX)
        return blv_explain(r->why, BLV_E_VALUE, "%zu columns; at most 2147483648 are possible",
                           r->options.columns);
    blv_error error = BLV_OK;
    if (r->share)
        error =
            blv_input_take_part(r->input, (size_t)r->share->rank, (size_t)r->share->count, r->why);
    if (!error)
        error = take_all_lines(&f);
    if (r->share && !blv_ranks_all(r->share, error == BLV_OK))
        error = BLV_NOT_SHARED;
    if (!error)
        error = put_rows(&f);
    free(f.row_start.items);
    free(f.column.items);
    free(f.value.items);
    return error;
}
