/* The header of a NumPy array: magic, version, length, and a Python dictionary such as
 *
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
 *
 * padded with spaces and closed by a newline. NumPy reads it with Python's own parser, so the
 * keys may come in any order, with either quote, and with any spacing. */
#include "io/npz_private.h"

#include <stdio.h>
#include <string.h>

const unsigned char blv_npy_magic[NPY_MAGIC_SIZE] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

bool blv_host_is_big_endian(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

bool blv_npy_measure(size_t ndim, const size_t *shape, size_t item_size, size_t *count,
                     uint64_t *bytes) {
    size_t product = 1;
    for (size_t d = 0; d < ndim; d++) {
        if (shape[d] == 0) {
            *count = 0;
            *bytes = 0;
            return true;
        }
    }
    for (size_t d = 0; d < ndim; d++) {
        if (product > SIZE_MAX / shape[d])
            return false;
        product *= shape[d];
    }
    /* Elements become doubles in memory, so that size has to fit as well. */
    if (product > PTRDIFF_MAX / sizeof(double) || product > PTRDIFF_MAX / item_size)
        return false;
    *count = product;
    *bytes = (uint64_t)product * item_size;
    return true;
}

/* ---- Writing ---- */

size_t blv_npy_format(unsigned char out[NPY_WRITTEN_MAX], char kind, size_t item_size, size_t ndim,
                      const size_t *shape) {
    const size_t prefix = NPY_MAGIC_SIZE + 4;
    char text[NPY_WRITTEN_MAX];
    int length = snprintf(text, sizeof text, "{'descr': '%c%c%zu', 'fortran_order': False, ",
                          blv_host_is_big_endian() ? '>' : '<', kind, item_size);
    size_t n = (size_t)length;
    n += (size_t)snprintf(text + n, sizeof text - n, "'shape': (");
    for (size_t d = 0; d < ndim; d++)
        n += (size_t)snprintf(text + n, sizeof text - n, d ? ", %zu" : "%zu", shape[d]);
    /* (3,) is a tuple, (3) is a number */
    n += (size_t)snprintf(text + n, sizeof text - n, ndim == 1 ? ",), }" : "), }");

    size_t total = prefix + n + 1;
    total += (NPY_ALIGNMENT - total % NPY_ALIGNMENT) % NPY_ALIGNMENT;
    memset(out, ' ', total);
    memcpy(out, blv_npy_magic, NPY_MAGIC_SIZE);
    out[NPY_MAGIC_SIZE] = 1; /* version 1.0 */
    out[NPY_MAGIC_SIZE + 1] = 0;
    out[NPY_MAGIC_SIZE + 2] = (unsigned char)((total - prefix) & 0xff);
    out[NPY_MAGIC_SIZE + 3] = (unsigned char)((total - prefix) >> 8);
    memcpy(out + prefix, text, n);
    out[total - 1] = '\n';
    return total;
}

/* ---- Reading ---- */

typedef struct cursor {
    const char *text;
    size_t size;
    size_t at;
    blv_message *problem;
} cursor;

static void skip_space(cursor *c) {
    while (c->at < c->size && (c->text[c->at] == ' ' || c->text[c->at] == '\n' ||
                               c->text[c->at] == '\t' || c->text[c->at] == '\r'))
        c->at++;
}

static blv_error expected(const cursor *c, const char *what) {
    return blv_explain(c->problem, BLV_E_FORMAT, "byte %zu of the header text: expected %s", c->at,
                       what);
}

/* Takes the character if it is next. */
static bool take(cursor *c, char wanted) {
    skip_space(c);
    if (c->at == c->size || c->text[c->at] != wanted)
        return false;
    c->at++;
    return true;
}

static bool take_word(cursor *c, const char *word) {
    size_t n = strlen(word);
    skip_space(c);
    if (c->size - c->at < n || memcmp(c->text + c->at, word, n) != 0)
        return false;
    c->at += n;
    return true;
}

/* A string without escapes, which is all that NumPy writes here. */
static blv_error take_string(cursor *c, const char **start, size_t *length) {
    skip_space(c);
    if (c->at == c->size || (c->text[c->at] != '\'' && c->text[c->at] != '"'))
        return expected(c, "a quoted string");
    char quote = c->text[c->at++];
    *start = c->text + c->at;
    const char *end = memchr(*start, quote, c->size - c->at);
    if (!end)
        return expected(c, "a closing quote");
    *length = (size_t)(end - *start);
    c->at += *length + 1;
    return BLV_OK;
}

static blv_error take_dimension(cursor *c, size_t *value) {
    skip_space(c);
    if (c->at == c->size || c->text[c->at] < '0' || c->text[c->at] > '9')
        return expected(c, "a dimension: digits only");
    *value = 0;
    for (; c->at < c->size && c->text[c->at] >= '0' && c->text[c->at] <= '9'; c->at++) {
        size_t digit = (size_t)(c->text[c->at] - '0');
        if (*value > (SIZE_MAX - digit) / 10)
            return expected(c, "a smaller dimension");
        *value = *value * 10 + digit;
    }
    if (c->at < c->size && c->text[c->at] == 'L') /* written by Python 2 */
        c->at++;
    return BLV_OK;
}

static blv_error take_shape(cursor *c, blv_npy_header *h) {
    if (!take(c, '('))
        return expected(c, "'(' of the shape");
    while (!take(c, ')')) {
        if (h->ndim == BLV_ARRAY_MAX_DIMS)
            return blv_explain(c->problem, BLV_E_FORMAT, "more than %d dimensions",
                               BLV_ARRAY_MAX_DIMS);
        blv_error error = take_dimension(c, &h->shape[h->ndim]);
        if (error)
            return error;
        h->ndim++;
        if (take(c, ','))
            continue;
        if (h->ndim == 1 || !take(c, ')'))
            return expected(c, "',' after a dimension");
        break;
    }
    return BLV_OK;
}

static blv_error take_descr(cursor *c, blv_npy_header *h) {
    skip_space(c);
    if (c->at < c->size && (c->text[c->at] == '[' || c->text[c->at] == '('))
        return blv_explain(c->problem, BLV_E_FORMAT,
                           "the array is structured (has named fields); save each field as an "
                           "array of its own");
    const char *descr = NULL;
    size_t n = 0;
    BLV_CHECK(take_string(c, &descr, &n));
    if (n >= 2 && descr[1] == 'O')
        return blv_explain(c->problem, BLV_E_FORMAT,
                           "the array holds Python objects, not numbers; convert it with "
                           "astype(float) before saving");

    bool known = n == 3 && strchr("<>|", descr[0]) && strchr("fiub", descr[1]) && descr[0] &&
                 descr[1] && descr[2] >= '1' && descr[2] <= '8';
    if (known) {
        h->kind = descr[1];
        h->item_size = (size_t)(descr[2] - '0');
        h->big_endian = descr[0] == '>';
        bool power_of_two = (h->item_size & (h->item_size - 1)) == 0;
        known = power_of_two && (h->kind != 'b' || h->item_size == 1) &&
                (h->kind != 'f' || h->item_size >= 4) && (descr[0] != '|' || h->item_size == 1);
    }
    if (!known)
        return blv_explain(c->problem, BLV_E_FORMAT,
                           "dtype '%.*s' cannot be read; expected f4, f8, i1 to i8, u1 to u8 or "
                           "b1, with '<' or '>' before it",
                           n < 60 ? (int)n : 60, descr);
    return BLV_OK;
}

static blv_error take_order(cursor *c, blv_npy_header *h) {
    if (take_word(c, "True"))
        h->fortran_order = true;
    else if (take_word(c, "False"))
        h->fortran_order = false;
    else
        return expected(c, "True or False");
    return BLV_OK;
}

blv_error blv_npy_parse(const char *text, size_t size, blv_npy_header *header,
                        blv_message *problem) {
    static const struct {
        const char *key;
        blv_error (*take)(cursor *, blv_npy_header *);
    } fields[] = {{"descr", take_descr}, {"fortran_order", take_order}, {"shape", take_shape}};
    enum { FIELDS = sizeof fields / sizeof fields[0] };

    cursor c = {.text = text, .size = size, .problem = problem};
    bool seen[FIELDS] = {false};
    *header = (blv_npy_header){0};
    if (!take(&c, '{'))
        return expected(&c, "'{'");
    while (!take(&c, '}')) {
        const char *key = "";
        size_t length = 0;
        blv_error error = take_string(&c, &key, &length);
        if (error)
            return error;
        size_t f = 0;
        while (f < FIELDS &&
               (strlen(fields[f].key) != length || memcmp(fields[f].key, key, length) != 0))
            f++;
        if (f == FIELDS || seen[f])
            return expected(&c, "each of 'descr', 'fortran_order' and 'shape' once");
        if (!take(&c, ':'))
            return expected(&c, "':'");
        error = fields[f].take(&c, header);
        if (error)
            return error;
        seen[f] = true;
        if (take(&c, ','))
            continue;
        if (!take(&c, '}'))
            return expected(&c, "',' or '}'");
        break;
    }
    skip_space(&c);
    if (c.at != c.size)
        return expected(&c, "nothing but spaces after '}'");
    for (size_t f = 0; f < FIELDS; f++)
        if (!seen[f])
            return blv_explain(problem, BLV_E_FORMAT, "the header text has no '%s'", fields[f].key);
    if (!blv_npy_measure(header->ndim, header->shape, header->item_size, &header->count,
                         &header->bytes))
        return blv_explain(problem, BLV_E_FORMAT, "the shape is larger than any memory");
    return BLV_OK;
}
