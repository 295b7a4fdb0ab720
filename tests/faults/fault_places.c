#include "fault_places.h"

#include <execinfo.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { DEPTH = 64 };

extern const char __executable_start[], etext[]; /* the linker's: code of ours */

static int *times_seen(fault_places *places, fault_kind kind, const void *address) {
    size_t at = (size_t)((uintptr_t)address * 0x9e3779b97f4a7c15u >> 48);
    for (size_t i = 0; i < FAULT_PLACES_ROOM; i++, at = (at + 1) % FAULT_PLACES_ROOM) {
        const void **key = &places->seen[kind][at].address;
        if (*key == address || !*key) {
            *key = address;
            return &places->seen[kind][at].times;
        }
    }
    abort();
}

void fault_places_note(fault_places *places, fault_kind kind, long call) {
    void *way[DEPTH];
    int length = backtrace(way, DEPTH);
    bool wanted = false;
    for (int i = 0; i < length; i++)
        if ((const char *)way[i] >= __executable_start && (const char *)way[i] < etext)
            wanted |= *times_seen(places, kind, way[i]) < FAULT_TIMES_EACH;
    if (!wanted || places->count[kind] == FAULT_CHOSEN_ROOM)
        return;
    places->chosen[kind][places->count[kind]++] = call;
    for (int i = 0; i < length; i++)
        if ((const char *)way[i] >= __executable_start && (const char *)way[i] < etext)
            ++*times_seen(places, kind, way[i]);
}
