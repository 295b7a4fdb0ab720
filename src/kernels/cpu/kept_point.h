/* What sweeps keep of a point for the next sweep at the same point: the probabilities of all rows.
 *
 * Products with the Hessian need p = softmax(X W), and solvers ask for many of them at one W. The
 * first sweep computes X W and leaves the p of every row here, the others read them: two products
 * over the data instead of three. They are the numbers that would be recomputed, so results are
 * bitwise identical. W is compared with a copy, bit by bit.
 *
 * Keeping costs writing p and copying W: 0.8% of Hv at 1,000 rows of 784, more where W is larger
 * next to the data. So a point is kept when it comes for the second time in a row, which a few
 * samples of W tell well enough. Where W is small it is kept at once by sweeps that ask for Hv
 * without the gradient: those come in series. */
#ifndef BLV_KERNELS_CPU_KEPT_POINT_H
#define BLV_KERNELS_CPU_KEPT_POINT_H

#include "kernels/row_sweep.h"

enum { BLV_KEPT_SAMPLES = 64 };

typedef struct blv_kept_point {
    void *probability; /* NULL: there is no room */
    size_t rows;       /* that there is room for */
    void *w;           /* a copy */
    const void *data;  /* of the rows; NULL: nothing is kept yet */
    const int32_t *label;
    char sample[BLV_KEPT_SAMPLES * sizeof(double)]; /* reals of the last W that was not there */
} blv_kept_point;

typedef enum blv_keeping {
    BLV_KEEP_NOTHING, /* compute p, and leave what is kept alone */
    BLV_KEEP_WRITE,   /* compute p, and write it down for all rows */
    BLV_KEEP_READ     /* p is there */
} blv_keeping;

/* What a softmax sweep has to do with work's kept probabilities. With WRITE, W is copied here. */
blv_keeping blv_sweep_kept_plan(blv_sweep_work *work, const blv_rows *rows, const blv_sweep *sweep);
void blv_sweep_kept_free(blv_kept_point *kept);

#endif
