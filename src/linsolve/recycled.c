#include "linsolve/recycled.h"

#include <float.h>
#include <math.h>

static size_t slot(const blv_recycled *r, size_t age) {
    return ((size_t)r->first + age) % (2 * r->capacity);
}

void blv_recycled_begin(blv_recycled *r) {
    if (r->capacity == 0)
        return;
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

/* ---- The matrix ---- */

bool blv_recycled_wants_matrix(const blv_recycled *r, double cost) {
    return r->upper && r->products > 2.0 * cost;
}

/* Row by row, each subtracted from those below: no sums, whose order a compiler would have to keep.
 * False: not definite. What rounding leaves of a pivot is told by the entry that it comes from, not
 * by the largest: entries may be decades apart. */
static bool factor(size_t n, double *a, double *first) {
    for (size_t k = 0; k < n; k++)
        first[k] = a[k * n + k];
    for (size_t k = 0; k < n; k++) {
        const double *const row = a + k * n;
        if (!(row[k] > (double)n * DBL_EPSILON * first[k]))
            return false;
        for (size_t i = k + 1; i < n; i++) {
            const double share = row[i] / row[k];
            for (size_t j = i; j < n; j++)
                a[i * n + j] -= share * row[j];
        }
    }
    return true;
}

void blv_recycled_take_matrix(blv_recycled *r, size_t dim) {
    r->is_dense = factor(dim, r->upper, r->room) ? 1.0 : 0.0;
    r->products = 0.0;
    r->count = r->waiting = 0.0;
}

static void solve_dense(const blv_recycled *r, blv_vec *v) {
    const size_t n = blv_vec_dim(v);
    double *const b = r->room;
    blv_vec_read(v, b);
    for (size_t k = 0; k < n; k++) {
        const double *const row = r->upper + k * n, share = b[k] / row[k];
        for (size_t j = k + 1; j < n; j++)
            b[j] -= share * row[j];
    }
    for (size_t k = n; k-- > 0;) {
        const double *const row = r->upper + k * n;
        for (size_t j = k + 1; j < n; j++)
            b[k] -= row[j] * b[j];
        b[k] /= row[k];
    }
    blv_vec_write(v, b);
}

/* The two-loop recursion of L-BFGS. */
void blv_recycled_apply(const blv_recycled *r, blv_vec *v) {
    double a[BLV_RECYCLED_MAX];
    const size_t count = (size_t)r->count;
    for (size_t i = count; i-- > 0;) {
        const size_t at = slot(r, i);
        a[i] = blv_vec_dot(r->p[at], v) / r->pq[at];
        blv_vec_axpy(v, -a[i], r->q[at]);
    }
    if (r->is_dense != 0.0) {
        solve_dense(r, v);
    } else if (count > 0) {
        const size_t newest = slot(r, count - 1);
        blv_vec_scale(v, r->pq[newest] / r->qq[newest]);
    }
    for (size_t i = 0; i < count; i++) {
        const size_t at = slot(r, i);
        const double b = blv_vec_dot(r->q[at], v) / r->pq[at];
        blv_vec_axpy(v, a[i] - b, r->p[at]);
    }
}
