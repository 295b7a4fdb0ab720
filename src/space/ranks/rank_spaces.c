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
    blv_space_fail(s, BLV_E_DEVICE, BLV_NO_EXCHANGE);
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
    double *values = numbers ? malloc((s->dim + 1) * sizeof *values) : NULL;
    bool well = blv_ranks_all(ranks, values);
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

static bool is_ascending(const size_t *index, size_t local, size_t dim) {
    for (size_t i = 0; i < local; i++)
        if (index[i] >= dim || (i > 0 && index[i] <= index[i - 1]))
            return false;
    return true;
}

/* What is to happen on all ranks: an error, where one of them has it. They have to have the same
 * instructions: the sum of squares is the square of the sum over the count only where all numbers
 * are equal. */
static blv_error agree(const blv_ranks *ranks, blv_error error) {
    const double mine = (double)blv_usable_instructions(BLV_INSTRUCTIONS_BEST);
    double sums[] = {mine, mine * mine, error == BLV_E_MEMORY, error != BLV_OK};
    if (!ranks->sum(ranks->context, sizeof sums / sizeof *sums, sums))
        return BLV_E_DEVICE;
    if (sums[3] > 0.0)
        return sums[2] > 0.0 ? BLV_E_MEMORY : BLV_E_ARGUMENT;
    return (double)ranks->count * sums[1] == sums[0] * sums[0] ? BLV_OK : BLV_E_UNSUPPORTED;
}

/* *space may be there when this fails. */
static blv_error create_here(blv_space **space, rank_context *c, size_t dim, const size_t *index,
                             size_t local, blv_precision precision, int threads) {
    if (index && !is_ascending(index, local, dim))
        return BLV_E_ARGUMENT;
    if (!c || (index && !(c->index = malloc((local + 1) * sizeof *c->index))))
        return BLV_E_MEMORY;
    if (index)
        memcpy(c->index, index, local * sizeof *index);
    return blv_space_create_host(space, dim, precision, threads);
}

static blv_error create(blv_space **space, const blv_ranks *ranks, size_t dim, bool spread,
                        const size_t *index, size_t local, blv_precision precision, int threads) {
    if (!space)
        return BLV_E_ARGUMENT;
    *space = NULL;
    if (!ranks || ranks->size < sizeof *ranks || !ranks->sum || !ranks->broadcast || dim == 0)
        return BLV_E_ARGUMENT;
    rank_context *c = calloc(1, sizeof *c);
    const blv_error error =
        agree(ranks, create_here(space, c, dim, index, local, precision, threads));
    if (error != BLV_OK) {
        blv_space_destroy(*space);
        *space = NULL;
        if (c)
            free_context(c);
        return error;
    }
    c->ops = *(*space)->ops;
    c->spread = spread;
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
