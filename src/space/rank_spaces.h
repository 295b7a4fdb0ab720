/* Which elements of a vector are on this rank. */
#pragma once

#include "bilevel/ranks.h"

/* Whether each rank has some of the elements, not all. */
bool blv_space_is_spread(const blv_space *space);
/* The number, among all elements, of the i-th that is here; ascending. */
size_t blv_space_element(const blv_space *space, size_t i);
