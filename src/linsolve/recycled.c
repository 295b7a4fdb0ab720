#include "linsolve/recycled.h"

#include <math.h>

static size_t slot(const blv_recycled *r, size_t age) {
    return ((size_t)r->first + age) % (2 * r->capacity);
}

void blv_recycled_begin(blv_recycled *r) {
    const double all = r->count + r->waiting, count = fmin(all, (double)r->capacity);
    r->first = (double)slot(r, (size_t)(all - count));
    r->count = count;
    r->waiting = 0.0;
}

void blv_recycled_add(blv_recycled *r, const blv_vec *p, const blv_vec *q, double pq, double qq) {
    if ((size_t)r->waiting == r->capacity || !isnormal(qq / pq) || !isnormal(pq / qq))
        return;
    const size_t at = slot(r, (size_t)(r->count + r->waiting++));
    blv_vec_copy(r->p[at], p);
    blv_vec_copy(r->q[at], q);
    r->pq[at] = pq;
    r->qq[at] = qq;
}

/* The two-loop recursion of L-BFGS. */
void blv_recycled_apply(const blv_recycled *r, blv_vec *v) {
    double a[BLV_RECYCLED_MAX];
    const size_t count = (size_t)r->count;
    if (count == 0)
        return;
    for (size_t i = count; i-- > 0;) {
        const size_t at = slot(r, i);
        a[i] = blv_vec_dot(r->p[at], v) / r->pq[at];
        blv_vec_axpy(v, -a[i], r->q[at]);
    }
    const size_t newest = slot(r, count - 1);
    blv_vec_scale(v, r->pq[newest] / r->qq[newest]);
    for (size_t i = 0; i < count; i++) {
        const size_t at = slot(r, i);
        const double b = blv_vec_dot(r->q[at], v) / r->pq[at];
        blv_vec_axpy(v, a[i] - b, r->p[at]);
    }
}
