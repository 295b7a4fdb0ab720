/* The header of a NumPy array: magic, version, length, and a Python dictionary such as
 *
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
 *
 * padded with spaces and closed by a newline. NumPy reads it with Python's own parser, so the
 * keys may come in any order, with either quote, and with any spacing. */
#include "io/npz_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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
    /* Elements become doubles in memory, so that size has to fit as well. */
    size_t most = PTRDIFF_MAX / (item_size > sizeof(double) ? item_size : sizeof(double));
    bool fits = true;
    *count = 1;
    for (size_t d = 0; d < ndim; d++)
        *count *= shape[d] == 0 ? 0 : 1;
    for (size_t d = 0; fits && d<ndim && * count> 0; d++) {
        fits = *count <= most / shape[d];
        *count *= shape[d];
    }
    *bytes = (uint64_t)*count * item_size;
    return fits;
}

/* ---- Writing ---- */

size_t blv_npy_format(unsigned char out[NPY_WRITTEN_MAX], char kind, size_t item_size, size_t ndim,
                      const size_t *shape) {
    const size_t prefix = NPY_MAGIC_SIZE + 4;
    char text[NPY_WRITTEN_MAX];
    size_t n = (size_t)snprintf(text, sizeof text,
                                "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (",
                                blv_host_is_big_endian() ? '>' : '<', kind, item_size);
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
    const char *text, *at; /* a zero byte ends the text */
    bool texts;            /* the array has to hold texts, else numbers */
    blv_message *problem;
} cursor;

static void skip_space(cursor *c) {
    c->at += strspn(c->at, " \n\t\r");
}

static blv_error expected(const cursor *c, const char *what) {
    return blv_explain(c->problem, BLV_E_FORMAT, "byte %zu of the header text: expected %s",
                       (size_t)(c->at - c->text), what);
}

/* Takes the word if it is next. */
static bool take(cursor *c, const char *word) {
    size_t n = strlen(word);
    skip_space(c);
    if (strncmp(c->at, word, n) != 0)
        return false;
    c->at += n;
    return true;
}

/* A string without escapes, which is all that NumPy writes here. */
static blv_error take_string(cursor *c, const char **start, size_t *length) {
    skip_space(c);
    if (*c->at != '\'' && *c->at != '"')
        return expected(c, "a quoted string");
    *start = c->at + 1;
    const char *end = strchr(*start, *c->at);
    if (!end)
        return expected(c, "a closing quote");
    *length = (size_t)(end - *start);
    c->at = end + 1;
    return BLV_OK;
}

static blv_error take_shape(cursor *c, blv_npy_header *h) {
    if (!take(c, "("))
        return expected(c, "'(' of the shape");
    while (!take(c, ")")) {
        if (h->ndim == BLV_ARRAY_MAX_DIMS)
            return blv_explain(c->problem, BLV_E_FORMAT, "more than %d dimensions",
                               BLV_ARRAY_MAX_DIMS);
        if (*c->at < '0' || *c->at > '9')
            return expected(c, "a dimension: digits only");
        char *end;
        errno = 0;
        h->shape[h->ndim++] = strtoull(c->at, &end, 10);
        if (errno != 0)
            return expected(c, "a smaller dimension");
        c->at = *end == 'L' ? end + 1 : end; /* written by Python 2 */
        if (take(c, ","))
            continue;
        if (h->ndim == 1 || !take(c, ")"))
            return expected(c, "',' after a dimension");
        break;
    }
    return BLV_OK;
}

/* Byte order, kind and size, such as <f8. */
static bool parse_descr(const char *descr, size_t n, bool texts, blv_npy_header *h) {
    if (n < 3 || n > 10 || !strchr("<>|", descr[0]) || strspn(descr + 2, "0123456789") != n - 2)
        return false;
    size_t size = strtoul(descr + 2, NULL, 10);
    h->big_endian = descr[0] == '>';
    h->kind = descr[1];
    h->item_size = h->kind == 'U' ? 4 * size : size;
    if (texts)
        return (h->kind == 'S' || h->kind == 'U') && size > 0;
    if (!strchr("fiub", h->kind) || n != 3 || size == 0 || size > 8 || (size & (size - 1)) != 0)
        return false;
    return (h->kind != 'b' || size == 1) && (h->kind != 'f' || size >= 4) &&
           (descr[0] != '|' || size == 1);
}

static blv_error take_descr(cursor *c, blv_npy_header *h) {
    skip_space(c);
    if (*c->at == '[' || *c->at == '(')
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
    if (parse_descr(descr, n, c->texts, h))
        return BLV_OK;
    return blv_explain(c->problem, BLV_E_FORMAT, "dtype '%.*s' cannot be read; expected %s",
                       n < 60 ? (int)n : 60, descr,
                       c->texts ? "names as bytes (dtype S)"
                                : "f4, f8, i1 to i8, u1 to u8 or b1, with '<' or '>' before it");
}

static blv_error take_order(cursor *c, blv_npy_header *h) {
    h->fortran_order = take(c, "True");
    return h->fortran_order || take(c, "False") ? BLV_OK : expected(c, "True or False");
}

blv_error blv_npy_parse(const char *text, size_t size, bool texts, blv_npy_header *header,
                        blv_message *problem) {
    static const struct {
        const char *key;
        blv_error (*take)(cursor *, blv_npy_header *);
    } fields[] = {{"descr", take_descr}, {"fortran_order", take_order}, {"shape", take_shape}};
    enum { FIELDS = sizeof fields / sizeof fields[0] };

    cursor c = {.text = text, .at = text, .texts = texts, .problem = problem};
    bool seen[FIELDS] = {false};
    *header = (blv_npy_header){0};
    if (!take(&c, "{"))
        return expected(&c, "'{'");
    while (!take(&c, "}")) {
        const char *key = "";
        size_t length = 0, f = 0;
        BLV_CHECK(take_string(&c, &key, &length));
        while (f < FIELDS &&
               (strlen(fields[f].key) != length || memcmp(fields[f].key, key, length) != 0))
            f++;
        if (f == FIELDS || seen[f])
            return expected(&c, "each of 'descr', 'fortran_order' and 'shape' once");
        if (!take(&c, ":"))
            return expected(&c, "':'");
        BLV_CHECK(fields[f].take(&c, header));
        seen[f] = true;
        if (take(&c, ","))
            continue;
        if (!take(&c, "}"))
            return expected(&c, "',' or '}'");
        break;
    }
    skip_space(&c);
    if (c.at != text + size)
        return expected(&c, "nothing but spaces after '}'");
    for (size_t f = 0; f < FIELDS; f++)
        if (!seen[f])
            return blv_explain(problem, BLV_E_FORMAT, "the header text has no '%s'", fields[f].key);
    if (!blv_npy_measure(header->ndim, header->shape, header->item_size, &header->count,
                         &header->bytes))
        return blv_explain(problem, BLV_E_FORMAT, "the shape is larger than any memory");
    return BLV_OK;
}
