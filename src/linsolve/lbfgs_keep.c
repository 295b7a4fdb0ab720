/* What L-BFGS carries from one iteration to the next: the pairs with their inner products, the
 * gradient, and how the descent stands. The factor of the middle matrix is made again when it is
 * needed, from the same numbers, bitwise identical. */
#include "linsolve/lbfgs_private.h"

#include <math.h>
#include <string.h>

enum {
    COUNT,
    FIRST,
    THETA,
    END,
    CODE,
    VALUE,
    STATIONARITY,
    ITERATIONS,
    EVALUATIONS,
    LARGEST_VALUE,
    BEST_VALUE,
    BEST_STATIONARITY,
    IDLE_ITERATIONS,
    PRODUCTS /* from here on: s's, then s'y */
};

blv_vec *blv_lbfgs_vector(blv_lbfgs *lbfgs, size_t i) {
    size_t capacity = lbfgs->pairs.capacity;
    if (i < capacity)
        return lbfgs->pairs.s[i];
    if (i < 2 * capacity)
        return lbfgs->pairs.y[i - capacity];
    return i == 2 * capacity ? lbfgs->g : NULL;
}

static size_t products(const blv_lbfgs *l) {
    return l->pairs.capacity * l->pairs.capacity;
}

size_t blv_lbfgs_number_count(const blv_lbfgs *lbfgs) {
    return PRODUCTS + 2 * products(lbfgs);
}

void blv_lbfgs_get(const void *lbfgs, double *numbers) {
    const blv_lbfgs *l = lbfgs;
    numbers[COUNT] = (double)l->pairs.count;
    numbers[FIRST] = (double)l->pairs.first;
    numbers[THETA] = l->pairs.theta;
    numbers[END] = (double)l->state.end;
    numbers[CODE] = (double)l->state.code;
    numbers[VALUE] = l->state.value;
    numbers[STATIONARITY] = l->state.stationarity;
    numbers[ITERATIONS] = (double)l->state.iterations;
    numbers[EVALUATIONS] = (double)l->state.evaluations;
    numbers[LARGEST_VALUE] = l->largest_value;
    numbers[BEST_VALUE] = l->best_value;
    numbers[BEST_STATIONARITY] = l->best_stationarity;
    numbers[IDLE_ITERATIONS] = (double)l->idle_iterations;
    memcpy(numbers + PRODUCTS, l->pairs.ss, products(l) * sizeof *numbers);
    memcpy(numbers + PRODUCTS + products(l), l->pairs.sy, products(l) * sizeof *numbers);
}

static bool is_whole(double value, double least, double most) {
    return value >= least && value <= most && value == floor(value);
}

bool blv_lbfgs_fits(const void *lbfgs, const double *numbers) {
    const blv_lbfgs *l = lbfgs;
    const double capacity = (double)l->pairs.capacity, most = 9007199254740992.0;
    return is_whole(numbers[COUNT], 0.0, capacity) &&
           is_whole(numbers[FIRST], 0.0, capacity - 1.0) &&
           is_whole(numbers[END], 0.0, BLV_LBFGS_CALLBACK) && is_whole(numbers[CODE], -1e9, 1e9) &&
           is_whole(numbers[ITERATIONS], 0.0, most) && is_whole(numbers[EVALUATIONS], 0.0, most) &&
           is_whole(numbers[IDLE_ITERATIONS], 0.0, 1e9);
}

void blv_lbfgs_put(void *lbfgs, const double *numbers) {
    blv_lbfgs *l = lbfgs;
    l->pairs.count = (size_t)numbers[COUNT];
    l->pairs.first = (size_t)numbers[FIRST];
    l->pairs.theta = numbers[THETA];
    l->pairs.factored = false;
    l->state = (blv_lbfgs_result){.end = (blv_lbfgs_end)numbers[END],
                                  .code = (int)numbers[CODE],
                                  .value = numbers[VALUE],
                                  .stationarity = numbers[STATIONARITY],
                                  .iterations = (size_t)numbers[ITERATIONS],
                                  .evaluations = (size_t)numbers[EVALUATIONS]};
    l->largest_value = numbers[LARGEST_VALUE];
    l->best_value = numbers[BEST_VALUE];
    l->best_stationarity = numbers[BEST_STATIONARITY];
    l->idle_iterations = (int)numbers[IDLE_ITERATIONS];
    memcpy(l->pairs.ss, numbers + PRODUCTS, products(l) * sizeof *numbers);
    memcpy(l->pairs.sy, numbers + PRODUCTS + products(l), products(l) * sizeof *numbers);
}
