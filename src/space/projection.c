/* Projections.
 *
 * Simplex: P(v)_i = max(v_i - t, 0), where t makes the sum right. With v sorted from the largest
 * on, t = (v_1 + ... + v_k - total) / k for the largest k with v_k > t (Held, Wolfe, Crowder 1974).
 * A heap instead of a sorted array, since often few of the numbers are needed: O(n + k log n). */
#include "space/projection.h"

#include <math.h>

void blv_project_between(blv_vec *v, const blv_vec *lo, const blv_vec *hi) {
    blv_vec_apply(v, BLV_LEAST, 0.0, v, lo);
    blv_vec_apply(v, BLV_MOST, 0.0, v, hi);
}

/* Michelot's iteration: t grows to the threshold from below, and each time some elements drop out;
 * as many reductions as it takes, which are few. */
void blv_project_simplex_by(blv_vec *v, double total, blv_vec *above, blv_vec *which) {
    const double dim = (double)blv_vec_dim(v);
    double sum, count = dim, before = 0.0, t;
    blv_vec_fill(which, 1.0);
    t = (blv_vec_dot(v, which) - total) / dim;
    while (count != before) {
        before = count;
        blv_vec_apply(above, BLV_EXCESS, t, v, NULL);
        blv_vec_apply(which, BLV_STEP, 0.0, above, NULL);
        if (!blv_reduce(BLV_SCALARS(BLV_DOT(&sum, above, which), BLV_DOT(&count, which, which))))
            break;
        t += (sum - total) / count;
    }
    blv_vec_apply(v, BLV_EXCESS, t, v, NULL);
}

/* heap[at] goes down to where both below it are smaller. */
static void sink(double *heap, size_t count, size_t at) {
    const double value = heap[at];
    for (size_t below; (below = 2 * at + 1) < count; at = below) {
        if (below + 1 < count && heap[below + 1] > heap[below])
            below++;
        if (!(heap[below] > value))
            break;
        heap[at] = heap[below];
    }
    heap[at] = value;
}

static double threshold(double *heap, size_t count, double total) {
    double sum = -total, t = 0.0;
    for (size_t i = count / 2; i-- > 0;)
        sink(heap, count, i);
    for (size_t taken = 1; count > 0; taken++) {
        const double largest = heap[0], next = (sum + largest) / (double)taken;
        if (taken > 1 && !(largest > next))
            break;
        sum += largest;
        t = next;
        heap[0] = heap[--count];
        sink(heap, count, 0);
    }
    return t;
}

/* room = v less its largest number, which changes nothing but the digits that are left. */
static void read_shifted(const blv_vec *v, double *room) {
    const size_t dim = blv_vec_dim(v);
    blv_vec_read(v, room);
    double largest = room[0];
    for (size_t i = 1; i < dim; i++)
        largest = room[i] > largest ? room[i] : largest;
    for (size_t i = 0; i < dim; i++)
        room[i] -= largest;
}

void blv_project_simplex(blv_vec *v, double total, double *room) {
    const size_t dim = blv_vec_dim(v);
    read_shifted(v, room);
    const double t = threshold(room, dim, total);
    read_shifted(v, room);
    for (size_t i = 0; i < dim; i++)
        room[i] = room[i] - t > 0.0 || isnan(room[i]) ? room[i] - t : 0.0;
    blv_vec_write(v, room);
}
