/* Ways to draw batches. Each is unbiased: the mean of a batch is on average that of all samples.
 *
 * - block, the default: contiguous blocks of one fixed shuffle of the samples, in a random order
 *   each epoch. Contiguous rows are read at twice the speed of scattered ones. Where the batch does
 *   not divide the samples, an epoch begins at a random offset, all its blocks are full, and one
 *   wraps around: a short block that counts like a full one would weight its samples too much.
 * - iid: with replacement.
 * - shuffle: without replacement, a new order of all samples each epoch.
 * - fixed: blocks that never change, with a short one at the end, for tables by block, which weight
 *   them. Not unbiased by itself. */
#include "core/sampler.h"
#include "base/random.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Makes the key of the offsets another than that of the orders. */
#define OFFSETS UINT64_C(0x6f66667365747321)
#define LISTS UINT64_C(0x6c697374732e2e2e)

struct blv_sampler {
    blv_sampler_kind kind;
    size_t samples, batch, blocks;
    bool whole; /* every batch is the whole sum */
    bool contiguous, wraps, whole_lists;
    blv_stream stream, offsets, lists;
    uint64_t epoch;     /* of the orders below */
    size_t offset;      /* of its first block */
    size_t next;        /* block of the epoch to hand out */
    uint64_t drawn;     /* iid: numbers used so far */
    uint64_t listed;    /* iid: the first that is in the list */
    size_t *order;      /* of the blocks; shuffle: of the samples */
    size_t *samples_at; /* blocks: the fixed shuffle, followed by its beginning where blocks wrap;
                           when the samples are shuffled already: indices of one batch; iid: of
                           one, or of many */
    blv_index_list list;
    blv_batch current;
};
enum { LIST_MOST = 1 << 20 }; /* iid: samples that are drawn at once */

static size_t order_size(const blv_sampler *s) {
    if (s->whole || s->kind == BLV_SAMPLER_IID)
        return 0;
    return s->kind == BLV_SAMPLER_SHUFFLE ? s->samples : s->blocks;
}

static size_t index_size(const blv_sampler *s) {
    if (s->whole || s->kind == BLV_SAMPLER_SHUFFLE)
        return 0;
    if (s->kind == BLV_SAMPLER_IID) {
        const size_t most = s->batch < LIST_MOST ? LIST_MOST / s->batch : 1;
        return s->whole_lists ? s->batch * (s->blocks < most ? s->blocks : most) : s->batch;
    }
    if (s->contiguous)
        return s->wraps ? s->batch : 0;
    return s->samples + (s->wraps ? s->batch - 1 : 0);
}

/* There are other numbers in the list than before: those that `round` determines. */
static void renew_list(blv_sampler *s, const size_t *begin, size_t count, uint64_t round) {
    s->list = (blv_index_list){begin, count, blv_random_bits(&s->lists, round) | 1};
}

static void start_epoch(blv_sampler *s) {
    blv_random_permutation(&s->stream, s->epoch, order_size(s), s->order);
    if (s->kind == BLV_SAMPLER_SHUFFLE)
        renew_list(s, s->order, s->samples, s->epoch);
    s->offset = s->wraps ? (size_t)blv_random_below(&s->offsets, s->epoch, s->samples) : 0;
    s->next = 0;
}

static void shuffle_samples(blv_sampler *s, uint64_t seed) {
    blv_stream shuffle = blv_stream_make(seed, "sample order");
    blv_random_permutation(&shuffle, 0, s->samples, s->samples_at);
    for (size_t i = s->samples; i < index_size(s); i++)
        s->samples_at[i] = s->samples_at[i - s->samples];
    renew_list(s, s->samples_at, index_size(s), 0);
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
    s->contiguous = spec->contiguous;
    s->whole_lists = spec->whole_lists;
    s->wraps = s->kind == BLV_SAMPLER_BLOCK && s->samples % s->batch != 0;
    s->blocks = s->samples / s->batch + (!s->wraps && s->samples % s->batch != 0);
    s->stream = blv_stream_make(spec->seed, spec->stream);
    s->offsets = blv_stream_make(spec->seed ^ OFFSETS, spec->stream);
    s->lists = blv_stream_make((spec->seed ^ LISTS) + (uint64_t)s->kind +
                                   4 * (s->samples + LISTS * s->batch),
                               spec->stream);
    size_t orders = order_size(s), indices = index_size(s);
    s->order = orders ? malloc(orders * sizeof *s->order) : NULL;
    s->samples_at = indices ? malloc(indices * sizeof *s->samples_at) : NULL;
    if ((orders && !s->order) || (indices && !s->samples_at)) {
        blv_sampler_destroy(s);
        return BLV_E_MEMORY;
    }
    if (orders && indices && !s->contiguous)
        shuffle_samples(s, spec->seed);
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
    return sizeof *s + (order_size(s) + index_size(s)) * sizeof *s->order;
}

size_t blv_sampler_batch(const blv_sampler *s) {
    return s->whole ? 0 : s->batch;
}

/* The samples of a block of the epoch: from first on, and how many of them before the end. */
static size_t place_of(const blv_sampler *s, size_t next, size_t *first) {
    size_t block = s->kind == BLV_SAMPLER_SHUFFLE ? next : s->order[next];
    size_t at = s->offset + block * s->batch; /* below twice the samples */
    *first = at < s->samples ? at : at - s->samples;
    size_t left = s->samples - *first;
    return left < s->batch ? left : s->batch;
}

static const size_t *indices_of(blv_sampler *s, size_t first, size_t before_end) {
    if (s->kind == BLV_SAMPLER_SHUFFLE)
        return s->order + first;
    if (!s->contiguous)
        return s->samples_at + first;
    if (!s->wraps || before_end == s->batch)
        return NULL;
    for (size_t i = 0; i < s->batch; i++)
        s->samples_at[i] = first + i < s->samples ? first + i : first + i - s->samples;
    renew_list(s, s->samples_at, s->batch, s->epoch);
    return s->samples_at;
}

static const blv_batch *next_of_epoch(blv_sampler *s) {
    if (s->next == s->blocks) {
        s->epoch++;
        start_epoch(s);
    }
    assert(s->order);
    size_t first, before_end = place_of(s, s->next, &first);
    s->current = (blv_batch){.first = first,
                             .count = s->wraps ? s->batch : before_end,
                             .index = indices_of(s, first, before_end)};
    if (s->current.index)
        s->current.list = &s->list;
    s->next++;
    if (s->contiguous && s->kind != BLV_SAMPLER_SHUFFLE && s->next < s->blocks)
        s->current.next_count = place_of(s, s->next, &s->current.next_first);
    return &s->current;
}

static const blv_batch *next_iid(blv_sampler *s) {
    const size_t size = index_size(s);
    if (s->list.count == 0 || s->drawn < s->listed || s->drawn + s->batch > s->listed + size) {
        s->listed = s->drawn;
        for (size_t i = 0; i < size; i++)
            s->samples_at[i] = (size_t)blv_random_below(&s->stream, s->listed + i, s->samples);
        renew_list(s, s->samples_at, size, s->listed);
    }
    s->current = (blv_batch){
        .count = s->batch, .index = s->samples_at + (s->drawn - s->listed), .list = &s->list};
    s->drawn += s->batch;
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
