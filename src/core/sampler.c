/* Three ways to draw batches.
 *
 * block    contiguous blocks of one fixed shuffle of the samples; the order of the blocks is drawn
 *          anew each epoch; the short block at the end, if there is one, comes once an epoch too.
 *          The default: contiguous rows are read at twice the speed of scattered ones.
 * iid      with replacement.
 * shuffle  without replacement: a new order of all samples each epoch. */
#include "core/sampler.h"
#include "base/random.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct blv_sampler {
    blv_sampler_kind kind;
    size_t samples, batch, blocks;
    bool whole; /* every batch is the whole sum */
    blv_stream stream;
    uint64_t epoch;     /* of the orders below */
    size_t next;        /* block of the epoch to hand out */
    uint64_t drawn;     /* iid: numbers used so far */
    size_t *order;      /* block: order of the blocks; shuffle: of the samples */
    size_t *samples_at; /* block: the fixed shuffle, NULL when the samples are shuffled already;
                           iid: the indices of the batch */
    blv_batch current;
};

static size_t order_size(const blv_sampler *s) {
    if (s->whole || s->kind == BLV_SAMPLER_IID)
        return 0;
    return s->kind == BLV_SAMPLER_BLOCK ? s->blocks : s->samples;
}

static size_t index_size(const blv_sampler *s, bool contiguous) {
    if (s->whole || s->kind == BLV_SAMPLER_SHUFFLE)
        return 0;
    if (s->kind == BLV_SAMPLER_IID)
        return s->batch;
    return contiguous ? 0 : s->samples;
}

static void start_epoch(blv_sampler *s) {
    blv_random_permutation(&s->stream, s->epoch, order_size(s), s->order);
    s->next = 0;
}

blv_error blv_sampler_create(blv_sampler **sampler, const blv_sampler_spec *spec) {
    *sampler = NULL;
    blv_sampler *s = calloc(1, sizeof *s);
    if (!s)
        return BLV_E_MEMORY;
    s->kind = spec->kind;
    s->samples = spec->samples;
    s->whole = spec->batch == 0 || spec->batch >= spec->samples;
    s->batch = s->whole ? spec->samples : spec->batch;
    s->blocks = (s->samples + s->batch - 1) / s->batch;
    s->stream = blv_stream_make(spec->seed, spec->stream);
    size_t orders = order_size(s), indices = index_size(s, spec->contiguous);
    s->order = orders ? malloc(orders * sizeof *s->order) : NULL;
    s->samples_at = indices ? malloc(indices * sizeof *s->samples_at) : NULL;
    if ((orders && !s->order) || (indices && !s->samples_at)) {
        blv_sampler_destroy(s);
        return BLV_E_MEMORY;
    }
    if (s->kind == BLV_SAMPLER_BLOCK && s->samples_at) {
        blv_stream shuffle = blv_stream_make(spec->seed, "sample order");
        blv_random_permutation(&shuffle, 0, s->samples, s->samples_at);
    }
    if (orders)
        start_epoch(s);
    *sampler = s;
    return BLV_OK;
}

void blv_sampler_destroy(blv_sampler *s) {
    if (!s)
        return;
    free(s->order);
    free(s->samples_at);
    free(s);
}

size_t blv_sampler_bytes(const blv_sampler *s) {
    return sizeof *s + (order_size(s) + index_size(s, s->samples_at == NULL)) * sizeof *s->order;
}

size_t blv_sampler_batch(const blv_sampler *s) {
    return s->whole ? 0 : s->batch;
}

static const blv_batch *next_of_epoch(blv_sampler *s) {
    if (s->next == s->blocks) {
        s->epoch++;
        start_epoch(s);
    }
    assert(s->order); /* block and shuffle have one */
    size_t block = s->kind == BLV_SAMPLER_BLOCK ? s->order[s->next] : s->next;
    const size_t *list = s->kind == BLV_SAMPLER_BLOCK ? s->samples_at : s->order;
    size_t first = block * s->batch, left = s->samples - first;
    s->current = (blv_batch){.first = first,
                             .count = left < s->batch ? left : s->batch,
                             .index = list ? list + first : NULL};
    s->next++;
    if (!list && s->next < s->blocks) {
        size_t following = s->order[s->next] * s->batch;
        s->current.next_first = following;
        s->current.next_count =
            s->samples - following < s->batch ? s->samples - following : s->batch;
    }
    return &s->current;
}

static const blv_batch *next_iid(blv_sampler *s) {
    for (size_t i = 0; i < s->batch; i++)
        s->samples_at[i] = (size_t)blv_random_below(&s->stream, s->drawn++, s->samples);
    s->current = (blv_batch){.first = 0, .count = s->batch, .index = s->samples_at};
    return &s->current;
}

const blv_batch *blv_sampler_next(blv_sampler *s) {
    if (!s || s->whole)
        return NULL;
    return s->kind == BLV_SAMPLER_IID ? next_iid(s) : next_of_epoch(s);
}

/* ---- Position ---- */

void blv_sampler_get(const void *sampler, double *position) {
    const blv_sampler *s = sampler;
    position[0] = (double)s->epoch;
    position[1] = (double)s->next;
    position[2] = (double)s->drawn;
}

static bool is_count(double value, double most) {
    return value >= 0.0 && value <= most && value == floor(value);
}

bool blv_sampler_fits(const void *sampler, const double *position) {
    const blv_sampler *s = sampler;
    const double most = 9007199254740992.0; /* doubles count to 2^53 */
    return is_count(position[0], most) && is_count(position[1], (double)s->blocks) &&
           is_count(position[2], most);
}

void blv_sampler_put(void *sampler, const double *position) {
    blv_sampler *s = sampler;
    s->epoch = (uint64_t)position[0];
    if (s->order)
        start_epoch(s);
    s->next = (size_t)position[1];
    s->drawn = (uint64_t)position[2];
}
