/* Operations on each element, and elements as other libraries see them. */
#include "space/apply_element.h"
#include "space/elements.h"
#include "space/space_private.h"

#include <stdlib.h>

static bool has_b(blv_elementwise operation) {
    return operation == BLV_PRODUCT || operation == BLV_QUOTIENT || operation == BLV_LEAST ||
           operation == BLV_MOST;
}

/* Through the host, for a space without such operations. */
static void apply_default(blv_elementwise operation, blv_vec *out, double c, const blv_vec *a,
                          const blv_vec *b) {
    const size_t dim = out->space->dim;
    double *left = malloc(2 * dim * sizeof *left);
    if (!left) {
        blv_space_fail(out->space, BLV_E_MEMORY, "no memory for an elementwise operation");
        return;
    }
    double *right = left + dim;
    blv_vec_read(a, left);
    if (b)
        blv_vec_read(b, right);
    for (size_t i = 0; i < dim; i++)
        left[i] = blv_apply_element(operation, c, left[i], b ? right[i] : 0.0);
    blv_vec_write(out, left);
    free(left);
}

void blv_vec_apply(blv_vec *out, blv_elementwise operation, double c, const blv_vec *a,
                   const blv_vec *b) {
    if (!has_b(operation))
        b = NULL;
    if (!blv_of_one_space(out, a) || (has_b(operation) && !blv_of_one_space(a, b)) ||
        operation >= BLV_ELEMENTWISE_COUNT) {
        blv_vec_spoil(out);
        return;
    }
    const blv_space *s = out->space;
    if (s->ops->apply)
        s->ops->apply(s, operation, blv_vec_changing(out), c, a->data, b ? b->data : NULL);
    else
        apply_default(operation, out, c, a, b);
}

static inline void *elements(const blv_space *s, void *data) {
    int device = -1;
    if (s->loops) /* in host memory, as it is */
        return data;
    return s->ops->data ? s->ops->data(s, data, &device) : NULL;
}

const void *blv_vec_elements(const blv_vec *v) {
    return v ? elements(v->space, v->data) : NULL;
}

void *blv_vec_elements_mut(blv_vec *v) {
    return v ? elements(v->space, blv_vec_changing(v)) : NULL;
}

/* Device numbers and type codes are those of dlpack.h. */
blv_error blv_vec_dlpack(blv_vec *v, blv_dlpack *description) {
    static const int32_t device_types[] = {1, 2, 0, 13};
    if (!v || !description)
        return BLV_E_ARGUMENT;
    const blv_space *s = v->space;
    int device = 0;
    void *data = s->ops->data ? s->ops->data(s, blv_vec_changing(v), &device) : NULL;
    if (!data || s->ops->memory == BLV_MEMORY_OTHER)
        return BLV_E_UNSUPPORTED;
    *description = (blv_dlpack){
        .tensor = {.data = data,
                   .device = {device_types[s->ops->memory], device},
                   .ndim = 1,
                   .dtype = {2, s->precision == BLV_F32 ? 32 : 64, 1},
                   .shape = description->shape,
                   .strides = description->strides},
        .shape = {(int64_t)blv_space_local_dim(s)},
        .strides = {1},
    };
    return BLV_OK;
}
