/* What every space must do, whatever its vectors are made of. */
#ifndef BLV_SPACE_CONFORMANCE_H
#define BLV_SPACE_CONFORMANCE_H

#include "bilevel/space.h"

/* Checks every operation against long double arithmetic on the host; fails the running cmocka test
 * where one is off. Vectors go in and out through read and write only. other: a
 * space of the same kind and another dimension. */
void space_conformance(const blv_space *space, const blv_space *other);

#endif
