/* What L-BFGS carries from one iteration to the next: the pairs with their inner products, the
 * gradient, and how the descent stands. The factor of the middle matrix is made again when it is
 * needed, from the same numbers, bitwise identical. */
#include "linsolve/lbfgs_private.h"

#include <math.h>
#include <string.h>

/* Whole numbers with their type, the least and the most, and reals, in their order. */
#define CARRIED(WHOLE, REAL)                                                                       \
    WHOLE(pairs.count, size_t, 0.0, (double)l->pairs.capacity)                                     \
    WHOLE(pairs.first, size_t, 0.0, (double)l->pairs.capacity - 1.0)                               \
    REAL(pairs.theta)                                                                              \
    WHOLE(state.end, blv_lbfgs_end, 0.0, BLV_LBFGS_CALLBACK)                                       \
    WHOLE(state.code, int, -1e9, 1e9)                                                              \
    REAL(state.value)                                                                              \
    REAL(state.stationarity)                                                                       \
    WHOLE(state.iterations, size_t, 0.0, 0x1p53)                                                   \
    WHOLE(state.evaluations, size_t, 0.0, 0x1p53)                                                  \
    REAL(largest_value)                                                                            \
    REAL(best_value)                                                                               \
    REAL(best_stationarity)                                                                        \
    WHOLE(idle_iterations, int, 0.0, 1e9)

#define ONE_WHOLE(field, type, least, most) +1
#define ONE_REAL(field) +1
enum { FIELDS = 0 CARRIED(ONE_WHOLE, ONE_REAL) }; /* behind them: s's, then s'y */

blv_vec *blv_lbfgs_vector(blv_lbfgs *lbfgs, size_t i) {
    return i <= 2 * lbfgs->pairs.capacity ? lbfgs->vectors->vec[i] : NULL; /* s, y, then g */
}

static size_t products(const blv_lbfgs *l) {
    return 2 * l->pairs.capacity * l->pairs.capacity;
}

size_t blv_lbfgs_number_count(const blv_lbfgs *lbfgs) {
    return FIELDS + products(lbfgs);
}

void blv_lbfgs_get(const void *lbfgs, double *numbers) {
    const blv_lbfgs *l = lbfgs;
#define GET_WHOLE(field, type, least, most) *numbers++ = (double)l->field;
#define GET_REAL(field) *numbers++ = l->field;
    CARRIED(GET_WHOLE, GET_REAL)
    memcpy(numbers, l->products, products(l) * sizeof *numbers);
}

static bool is_whole(double value, double least, double most) {
    return value >= least && value <= most && value == floor(value);
}

bool blv_lbfgs_fits(const void *lbfgs, const double *numbers) {
    const blv_lbfgs *l = lbfgs;
    bool fits = true;
#define TEST_WHOLE(field, type, least, most) fits = is_whole(*numbers++, least, most) && fits;
#define TEST_REAL(field) numbers++;
    CARRIED(TEST_WHOLE, TEST_REAL)
    return fits;
}

void blv_lbfgs_put(void *lbfgs, const double *numbers) {
    blv_lbfgs *l = lbfgs;
#define PUT_WHOLE(field, type, least, most) l->field = (type)*numbers++;
#define PUT_REAL(field) l->field = *numbers++;
    CARRIED(PUT_WHOLE, PUT_REAL)
    l->pairs.factored = false;
    memcpy(l->products, numbers, products(l) * sizeof *numbers);
}
