/* Which calls stand for all: of those that the same places of the program lead to, the first few.
 * An error is passed on at each place on its way up, so that these take every way there is. */
#ifndef FAULT_PLACES_H
#define FAULT_PLACES_H

#include "fault_calls.h"

enum { FAULT_TIMES_EACH = 5, FAULT_PLACES_ROOM = 1 << 16, FAULT_CHOSEN_ROOM = 1 << 13 };

/* Zeros to begin with; may be shared between processes. */
typedef struct fault_places {
    struct {
        const void *address;
        int times;
    } seen[FAULT_KINDS][FAULT_PLACES_ROOM];
    long chosen[FAULT_KINDS][FAULT_CHOSEN_ROOM]; /* numbers of calls, from 1 */
    long count[FAULT_KINDS];                     /* 0 before a run */
} fault_places;

/* The call with this number is made now. It is chosen if a place that leads to it was met in fewer
 * than FAULT_TIMES_EACH chosen calls, of this run and of those before. */
void fault_places_note(fault_places *places, fault_kind kind, long call);

#endif
