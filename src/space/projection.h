/* Euclidean projections, in place: for the sets X of problems. Computed in double in either
 * precision; NaN stays NaN. The box with the same bounds for all is blv_vec_clamp. */
#pragma once

#include "bilevel/space.h"

/* On vectors of any space. */
void blv_project_between(blv_vec *v, const blv_vec *lo, const blv_vec *hi); /* lo <= v <= hi */
/* v >= 0 and the sum of v is total > 0, without the host; two vectors to work in. */
void blv_project_simplex_by(blv_vec *v, double total, blv_vec *above, blv_vec *which);

/* v >= 0 and the sum of v is total > 0, on host vectors. room: as many numbers as v has. */
void blv_project_simplex(blv_vec *v, double total, double *room);
