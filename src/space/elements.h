/* Elements of vectors for who knows their kind of memory. */
#pragma once

#include "bilevel/space.h"

/* Where the elements are, in the memory of the space; NULL where no pointer leads to them. Valid as
 * blv_vec_f64 is. */
const void *blv_vec_elements(const blv_vec *v);
void *blv_vec_elements_mut(blv_vec *v);
