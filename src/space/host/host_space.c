/* Host spaces: vectors in this process's memory, in double and in float.
 *
 * Elements are split into chunks by the dimension alone. Threads share out the chunks, and partial
 * sums are added in the order of the chunks, so the number of threads does not show in the bits. */
#include "base/aligned_memory.h"
#include "base/precision.h"
#include "base/thread_pool.h"
#include "space/host/host_loops.h"
#include "space/space_private.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define ALIGNMENT 64
#define BLOCK 4096 /* elements; a chunk is a whole number of blocks */
#define CHUNKS_MAX 64

_Static_assert(BLOCK % BLV_HOST_GROUP == 0, "chunks begin at a group of lanes");
_Static_assert(BLV_HOST_GROUP * sizeof(float) % ALIGNMENT == 0, "groups begin aligned");

/* A pass over this many elements, all vectors together, takes about 45 us on one core in either
 * precision (f64 is bound by the cache, f32 by its conversions). Waking a thread that sleeps takes
 * as long, so a shorter pass could lose by being shared. */
#define THREADS_FROM_ELEMENTS ((size_t)1 << 19)

static size_t allocated_bytes(const blv_space *s) {
    size_t groups = s->local / BLV_HOST_GROUP + (s->local % BLV_HOST_GROUP != 0);
    return groups * BLV_HOST_GROUP * blv_value_size(s->precision);
}

typedef struct sweep {
    blv_host_loop loop;
    const blv_host_args *args;
    size_t dim, length; /* of the vectors; of a chunk */
    double partial[CHUNKS_MAX][BLV_LINCOMB_MAX];
} sweep;

static void run_chunk(void *context, size_t chunk, int member) {
    (void)member;
    sweep *s = context;
    const size_t begin = chunk * s->length, left = s->dim - begin;
    s->loop(s->args, begin, left < s->length ? s->dim : begin + s->length, s->partial[chunk]);
}

static void run_chunks(const blv_space *s, blv_host_loop loop, const blv_host_args *args,
                       size_t streams, size_t sum_count, double *result) {
    const size_t dim = s->local;
    const size_t blocks = (dim - 1) / BLOCK + 1;
    const size_t length = ((blocks - 1) / CHUNKS_MAX + 1) * BLOCK;
    const size_t chunks = (dim - 1) / length + 1;
    sweep all;
    all.loop = loop;
    all.args = args;
    all.dim = dim;
    all.length = length;
    const bool alone = dim < THREADS_FROM_ELEMENTS / streams;
    blv_threads_run(alone ? 1 : s->threads, chunks, run_chunk, &all);
    for (size_t i = 0; i < sum_count; i++) {
        result[i] = 0.0;
        for (size_t c = 0; c < chunks; c++)
            result[i] += all.partial[c][i];
    }
}

/* Runs the loop over all chunks and adds up the `sum_count` sums of each.
 * streams: how many vectors the loop goes through. */
static inline void run_loop(const blv_space *s, blv_host_loop loop, const blv_host_args *args,
                            size_t streams, size_t sum_count, double *result) {
    if (s->local <= BLOCK)
        loop(args, 0, s->local, result);
    else
        run_chunks(s, loop, args, streams, sum_count, result);
}

BLV_TABLES(blv_host_loops, blv_host_loops);

const blv_host_loops *blv_host_loops_of(blv_instructions instructions, blv_precision precision) {
    return blv_host_loops_tables[precision == BLV_F32][blv_usable_instructions(instructions)];
}

static const blv_host_loops *loops_of(const blv_space *s) {
    return s->loops;
}

static void host_fill(const blv_space *s, void *v, double a) {
    const blv_host_args args = {.out = v, .a = a};
    run_loop(s, loops_of(s)->fill, &args, 1, 0, NULL);
}

/* The first write to a page is made by the thread that will work on it. */
static void *host_create(const blv_space *s) {
    void *v = blv_room(allocated_bytes(s));
    if (v)
        host_fill(s, v, 0.0);
    return v;
}

static void host_destroy(const blv_space *s, void *v) {
    (void)s;
    free(v);
}

static void host_copy(const blv_space *s, void *dst, const void *src) {
    const blv_host_args args = {.out = dst, .left = &src};
    run_loop(s, loops_of(s)->copy, &args, 2, 0, NULL);
}

static void host_scale(const blv_space *s, void *v, double a) {
    const blv_host_args args = {.out = v, .a = a};
    run_loop(s, loops_of(s)->scale, &args, 1, 0, NULL);
}

static void host_axpy(const blv_space *s, void *y, double a, const void *x) {
    const blv_host_args args = {.out = y, .a = a, .left = &x};
    run_loop(s, loops_of(s)->axpy, &args, 2, 0, NULL);
}

static void host_clamp(const blv_space *s, void *v, double lo, double hi) {
    const blv_host_args args = {.out = v, .a = lo, .b = hi};
    run_loop(s, loops_of(s)->clamp, &args, 1, 0, NULL);
}

static void host_read(const blv_space *s, const void *v, double *host) {
    const blv_host_args args = {.out = host, .left = &v};
    run_loop(s, loops_of(s)->read, &args, 2, 0, NULL);
}

static void host_write(const blv_space *s, void *v, const double *host) {
    const blv_host_args args = {.out = v, .left = (const void *const[]){host}};
    run_loop(s, loops_of(s)->write, &args, 2, 0, NULL);
}

/* The pairs of one space after the other, as many to a pass as the loop takes. */
static void host_reduce(size_t count, const blv_operands *pairs, double *result) {
    uint64_t left = count < 64 ? ((uint64_t)1 << count) - 1 : UINT64_MAX;
    while (left != 0) {
        const blv_space *s = NULL;
        const void *a[BLV_LINCOMB_MAX], *b[BLV_LINCOMB_MAX];
        size_t of[BLV_LINCOMB_MAX], size = 0;
        for (size_t i = 0; i < count && size < BLV_LINCOMB_MAX; i++) {
            if (!(left >> i & 1) || (s && pairs[i].space != s))
                continue;
            s = pairs[i].space;
            a[size] = pairs[i].a;
            b[size] = pairs[i].b;
            of[size++] = i;
            left &= ~((uint64_t)1 << i);
        }
        const blv_host_args args = {.count = size, .left = a, .right = b};
        double sums[BLV_LINCOMB_MAX];
        run_loop(s, loops_of(s)->dots, &args, 2 * size, size, sums);
        for (size_t k = 0; k < size; k++)
            result[of[k]] = sums[k];
    }
}
_Static_assert(BLV_REDUCE_MAX <= 64, "a bit for each pair");

static double host_dot(const blv_space *s, const void *a, const void *b) {
    const blv_host_args args = {.count = 1, .left = &a, .right = &b};
    double result;
    run_loop(s, loops_of(s)->dots, &args, 2, 1, &result);
    return result;
}

static bool host_lincomb(const blv_space *s, void *out, size_t count, const double *coef,
                         const void *const *terms, double *square) {
    const blv_host_args args = {.out = out, .count = count, .coef = coef, .left = terms};
    run_loop(s, loops_of(s)->lincomb, &args, count + 1, 1, square);
    return true;
}

static void host_apply(const blv_space *s, blv_elementwise operation, void *out, double c,
                       const void *a, const void *b) {
    const blv_host_args args = {
        .out = out, .a = c, .operation = operation, .left = &a, .right = b ? &b : &a};
    run_loop(s, loops_of(s)->apply, &args, 3, 0, NULL);
}

static void *host_data(const blv_space *s, void *v, int *device) {
    (void)s;
    *device = 0;
    return v;
}

static void *host_wrap(const blv_space *s, void *memory, size_t bytes) {
    return bytes >= allocated_bytes(s) && (uintptr_t)memory % ALIGNMENT == 0 ? memory : NULL;
}

#define HOST_OPS(table_name)                                                                       \
    {                                                                                              \
        BLV_SIZED(blv_space_ops),                                                                  \
            .name = table_name, .memory = BLV_MEMORY_HOST, .create = host_create,                  \
            .destroy = host_destroy, .copy = host_copy, .fill = host_fill, .scale = host_scale,    \
            .axpy = host_axpy, .dot = host_dot, .clamp = host_clamp, .read = host_read,            \
            .write = host_write, .lincomb = host_lincomb, .reduce = host_reduce,                   \
            .apply = host_apply, .vec_bytes = allocated_bytes, .data = host_data,                  \
            .wrap = host_wrap                                                                      \
    }

/* The loops of the space's precision are in its context, so one set of functions serves both. */
const blv_space_ops blv_host_ops_f64 = HOST_OPS("host f64");
const blv_space_ops blv_host_ops_f32 = HOST_OPS("host f32");

blv_error blv_space_create_host(blv_space **space, size_t dim, blv_precision precision,
                                int threads) {
    if (!space)
        return BLV_E_ARGUMENT;
    *space = NULL;
    if (threads < 0 || dim > (size_t)PTRDIFF_MAX / blv_value_size(precision) - BLV_HOST_GROUP)
        return BLV_E_ARGUMENT;
    const blv_space_ops *ops = precision == BLV_F32 ? &blv_host_ops_f32 : &blv_host_ops_f64;
    const blv_host_loops *loops = blv_host_loops_of(BLV_INSTRUCTIONS_BEST, precision);
    BLV_CHECK(blv_space_create(space, ops, dim, precision, NULL));
    (*space)->loops = loops;
    (*space)->threads = threads > 0 ? threads : blv_threads_processors();
    return BLV_OK;
}

static bool has_elements(const blv_vec *v, blv_precision precision) {
    return v && v->space->loops && v->space->precision == precision;
}

const double *blv_vec_f64(const blv_vec *v) {
    return has_elements(v, BLV_F64) ? v->data : NULL;
}

double *blv_vec_f64_mut(blv_vec *v) {
    return has_elements(v, BLV_F64) ? blv_vec_changing(v) : NULL;
}

const float *blv_vec_f32(const blv_vec *v) {
    return has_elements(v, BLV_F32) ? v->data : NULL;
}

float *blv_vec_f32_mut(blv_vec *v) {
    return has_elements(v, BLV_F32) ? blv_vec_changing(v) : NULL;
}

double blv_vec_at(const blv_vec *v, size_t i) {
    const double *f64 = blv_vec_f64(v);
    const float *f32 = blv_vec_f32(v);
    if (!v || i >= v->space->local || (!f64 && !f32))
        return (double)NAN;
    return f64 ? f64[i] : (double)f32[i];
}

void blv_vec_put(blv_vec *v, size_t i, double value) {
    double *f64 = blv_vec_f64_mut(v);
    float *f32 = blv_vec_f32_mut(v);
    if (!v || i >= v->space->local)
        return;
    if (f64)
        f64[i] = value;
    else if (f32)
        f32[i] = (float)value;
}
