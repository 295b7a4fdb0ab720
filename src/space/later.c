#include "space/later.h"
#include "space/space_private.h"

const blv_later_ops *blv_space_later(const blv_space *space) {
    return space->later;
}

void blv_space_set_later(blv_space *space, const blv_later_ops *later) {
    space->later = later;
}

void blv_later_reduce(const blv_later_ops *ops, blv_later *later, size_t count,
                      const blv_scalar *scalars) {
    blv_operands pairs[BLV_LATER_PAIRS];
    double *result[BLV_LATER_PAIRS];
    bool is_norm[BLV_LATER_PAIRS];
    for (size_t i = 0; i < count; i++) {
        const blv_vec *a = scalars[i].a, *b = scalars[i].b ? scalars[i].b : a;
        pairs[i] = (blv_operands){a->space, a->data, b->data};
        result[i] = scalars[i].result;
        is_norm[i] = !scalars[i].b;
    }
    ops->reduce(later, count, pairs, result, is_norm);
}

void blv_later_move(const blv_later_ops *ops, blv_later *later, blv_vec *out, const blv_vec *a,
                    double sign, const double *factor, const blv_vec *b) {
    ops->move(later, out->space, blv_vec_changing(out), a->data, sign, factor, b->data);
}
