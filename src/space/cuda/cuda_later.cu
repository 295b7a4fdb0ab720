/* Scalars of a run that stay on the GPU until they are asked for. */
#include "base/cuda/device.cuh"
#include "space/cuda/cuda_space.cuh"

#include <cstdlib>

struct blv_later {
    gpu::late_numbers *there;
    double *name[BLV_LATER_NUMBERS]; /* where the number of each place goes */
    int count;
};

static blv_later *later_open() {
    auto *later = static_cast<blv_later *>(calloc(1, sizeof(blv_later)));
    if (later && !(later->there = gpu::room<gpu::late_numbers>(1))) {
        free(later);
        later = nullptr;
    }
    return later;
}

static void later_close(blv_later *later) {
    gpu::release(later->there);
    free(later);
}

/* The place of a number; -1: it is not on the GPU. */
static int place_of(const blv_later *later, const double *name) {
    int i = later->count;
    while (--i >= 0 && later->name[i] != name) {
    }
    return i;
}

static int make_place(blv_later *later, double *name) {
    const int found = name ? place_of(later, name) : -1;
    if (!name || found >= 0)
        return found;
    if (later->count == BLV_LATER_NUMBERS) {
        gpu::check(cudaErrorInvalidValue, "more scalars on the way than there is room for");
        return 0;
    }
    later->name[later->count] = name;
    return later->count++;
}

static gpu::late_operand operand(const blv_later *later, const double *name) {
    const int place = place_of(later, name);
    return {place, place < 0 ? *name : 0.0};
}

static void later_reduce(blv_later *later, size_t count, const blv_operands *pairs,
                         double *const *result, const bool *is_norm) {
    gpu::vector_pair pair[BLV_LATER_PAIRS] = {};
    int place[BLV_LATER_PAIRS];
    for (size_t i = 0; i < count; i++) {
        const blv_space *s = pairs[i].space;
        pair[i] = {pairs[i].a, pairs[i].b, blv_space_dim(s), blv_space_precision(s) == BLV_F32};
        place[i] = make_place(later, result[i]);
    }
    gpu::reduce_late(later->there, count, pair, place, is_norm);
}

static void later_compute(blv_later *later, blv_later_rule rule, double *result, double c,
                          const double *a, const double *b) {
    gpu::late_op op = {};
    op.rule = int16_t(rule);
    op.c = c;
    op.a = operand(later, a);
    op.b = operand(later, b);
    op.result = int16_t(make_place(later, result));
    gpu::compute_late(later->there, op);
}

static double later_value(blv_later_rule rule, double c, double a, double b) {
    return gpu::late_value_here(rule, c, a, b);
}

static void later_move(blv_later *later, const blv_space *s, void *out, const void *a, double sign,
                       const double *factor, const void *b) {
    const int place = place_of(later, factor);
    gpu::vector_op op = {};
    op.kind = gpu::LINCOMB;
    op.single = blv_space_precision(s) == BLV_F32;
    op.count = 2;
    op.n = blv_space_dim(s);
    op.out = out;
    op.in[0] = a;
    op.in[1] = b;
    op.c[0] = 1.0;
    op.c[1] = place < 0 ? sign * *factor : sign;
    op.factor = place < 0 ? nullptr : &later->there->value[place];
    gpu::enqueue(op);
}

static bool later_settle(blv_later *later) {
    double value[BLV_LATER_NUMBERS];
    const bool finite = gpu::read_late(later->there, value);
    for (int i = 0; i < later->count; i++)
        *later->name[i] = value[i];
    later->count = 0;
    return finite;
}

const blv_later_ops blv_cuda_later = {.open = later_open,
                                      .close = later_close,
                                      .reduce = later_reduce,
                                      .compute = later_compute,
                                      .value = later_value,
                                      .move = later_move,
                                      .settle = later_settle};
