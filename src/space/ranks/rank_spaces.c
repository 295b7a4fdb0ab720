/* Spaces of several processes: host spaces whose vectors are replicated on all ranks, or spread.
 *
 * Every operation is the host's, on the local elements. What differs: reductions of spread vectors
 * are summed over the ranks, in one exchange for all scalars of a call; reading gathers; and rank 0
 * has the word on what depends on a clock or a signal. */
#include "space/rank_spaces.h"
#include "base/instructions.h"
#include "base/rank_exchange.h"
#include "space/space_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct rank_context {
    blv_space_ops ops;
    bool spread;
    size_t *index; /* numbers of the local elements; NULL: from rank on, in steps of count */
} rank_context;

static const rank_context *context_of(const blv_space *s) {
    return s->context;
}

bool blv_space_is_spread(const blv_space *s) {
    return s->ranks && context_of(s)->spread;
}

size_t blv_space_element(const blv_space *s, size_t i) {
    if (!blv_space_is_spread(s))
        return i;
    const size_t *index = context_of(s)->index;
    return index ? index[i] : (size_t)s->ranks->rank + i * (size_t)s->ranks->count;
}

static void lost(const blv_space *s) {
    blv_space_fail(s, BLV_E_DEVICE, "the exchange between ranks failed");
}

/* ---- Reductions ---- */

static void rank_reduce(size_t count, const blv_operands *pairs, double *result) {
    double parts[BLV_REDUCE_MAX];
    size_t spread[BLV_REDUCE_MAX], size = 0;
    blv_host_ops_f64.reduce(count, pairs, result);
    for (size_t i = 0; i < count; i++)
        if (context_of(pairs[i].space)->spread) {
            parts[size] = result[i];
            spread[size++] = i;
        }
    if (size == 0)
        return;
    const blv_ranks *ranks = pairs[spread[0]].space->ranks;
    const bool well = ranks->sum(ranks->context, size, parts);
    for (size_t k = 0; k < size; k++) {
        if (!well)
            lost(pairs[spread[k]].space);
        result[spread[k]] = well ? parts[k] : (double)NAN;
    }
}

static double rank_dot(const blv_space *s, const void *a, const void *b) {
    double result;
    rank_reduce(1, &(blv_operands){s, a, b}, &result);
    return result;
}

/* The square that comes at no cost is that of the local elements. */
static bool spread_lincomb(const blv_space *s, void *out, size_t count, const double *coef,
                           const void *const *terms, double *square) {
    blv_host_ops_f64.lincomb(s, out, count, coef, terms, square);
    return false;
}

static double rank_agree(const blv_space *s, double word) {
    const blv_ranks *ranks = s->ranks;
    if (!ranks->broadcast(ranks->context, 0, &word, sizeof word))
        lost(s);
    return word;
}

/* ---- All elements ---- */

/* Each rank in turn tells which elements it has, and their values. */
static bool gather(const blv_space *s, const void *v, double *host) {
    const blv_ranks *ranks = s->ranks;
    size_t *numbers = malloc((s->dim + 1) * sizeof *numbers);
    double failed = !numbers;
    bool well = ranks->sum(ranks->context, 1, &failed) && failed == 0.0;
    double *values = well ? malloc((s->dim + 1) * sizeof *values) : NULL;
    failed = !values;
    well = well && ranks->sum(ranks->context, 1, &failed) && failed == 0.0;
    for (int rank = 0; well && rank < ranks->count; rank++) {
        size_t count = s->local;
        for (size_t i = 0; rank == ranks->rank && i < count; i++) {
            numbers[i] = blv_space_element(s, i);
            values[i] =
                s->precision == BLV_F32 ? (double)((const float *)v)[i] : ((const double *)v)[i];
        }
        well = ranks->broadcast(ranks->context, rank, &count, sizeof count) &&
               ranks->broadcast(ranks->context, rank, numbers, count * sizeof *numbers) &&
               ranks->broadcast(ranks->context, rank, values, count * sizeof *values);
        for (size_t i = 0; well && i < count; i++)
            host[numbers[i]] = values[i];
    }
    free(numbers);
    free(values);
    return well;
}

static void spread_read(const blv_space *s, const void *v, double *host) {
    if (gather(s, v, host))
        return;
    lost(s);
    for (size_t i = 0; i < s->dim; i++)
        host[i] = (double)NAN;
}

static void spread_write(const blv_space *s, void *v, const double *host) {
    for (size_t i = 0; i < s->local; i++) {
        const double value = host[blv_space_element(s, i)];
        if (s->precision == BLV_F32)
            ((float *)v)[i] = (float)value;
        else
            ((double *)v)[i] = value;
    }
}

/* ---- Creation ---- */

static void free_context(void *context) {
    rank_context *c = context;
    free(c->index);
    free(c);
}

/* The sum of squares is the square of the sum over the count only where all are equal. */
static blv_error check_processors(const blv_ranks *ranks) {
    const double mine = (double)blv_usable_instructions(BLV_INSTRUCTIONS_BEST);
    double sums[] = {mine, mine * mine};
    if (!ranks->sum(ranks->context, 2, sums))
        return BLV_E_DEVICE;
    return (double)ranks->count * sums[1] == sums[0] * sums[0] ? BLV_OK : BLV_E_UNSUPPORTED;
}

static bool is_ascending(const size_t *index, size_t local, size_t dim) {
    for (size_t i = 0; i < local; i++)
        if (index[i] >= dim || (i > 0 && index[i] <= index[i - 1]))
            return false;
    return true;
}

static blv_error create(blv_space **space, const blv_ranks *ranks, size_t dim, bool spread,
                        const size_t *index, size_t local, blv_precision precision, int threads) {
    if (!space)
        return BLV_E_ARGUMENT;
    *space = NULL;
    if (!ranks || ranks->size < sizeof *ranks || !ranks->sum || !ranks->broadcast || dim == 0 ||
        (index && !is_ascending(index, local, dim)))
        return BLV_E_ARGUMENT;
    BLV_CHECK(check_processors(ranks));
    rank_context *c = calloc(1, sizeof *c);
    size_t *copy = c && index ? malloc((local + 1) * sizeof *copy) : NULL;
    blv_error error = c && (copy || !index) ? blv_space_create_host(space, dim, precision, threads)
                                            : BLV_E_MEMORY;
    if (error != BLV_OK) {
        free(copy);
        free(c);
        return error;
    }
    if (copy)
        memcpy(copy, index, local * sizeof *copy);
    *c = (rank_context){.ops = *(*space)->ops, .spread = spread, .index = copy};
    c->ops.name = spread ? "spread over ranks" : "replicated on ranks";
    c->ops.free_context = free_context;
    c->ops.dot = rank_dot;
    c->ops.reduce = rank_reduce;
    c->ops.agree = rank_agree;
    if (spread) {
        c->ops.lincomb = spread_lincomb;
        c->ops.read = spread_read;
        c->ops.write = spread_write;
        (*space)->local = local;
    }
    (*space)->ops = &c->ops;
    (*space)->context = c;
    (*space)->ranks = ranks;
    return BLV_OK;
}

blv_error blv_space_create_replicated(blv_space **space, const blv_ranks *ranks, size_t dim,
                                      blv_precision precision, int threads) {
    return create(space, ranks, dim, false, NULL, dim, precision, threads);
}

blv_error blv_space_create_spread(blv_space **space, const blv_ranks *ranks, size_t dim,
                                  const size_t *index, size_t local, blv_precision precision,
                                  int threads) {
    if (!index && ranks && ranks->count > 0)
        local =
            dim / (size_t)ranks->count + ((size_t)ranks->rank < dim % (size_t)ranks->count ? 1 : 0);
    return create(space, ranks, dim, true, index, local, precision, threads);
}
