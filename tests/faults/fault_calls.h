/* Calls that can be made to fail: requests for memory, and work on files. They are those of the
 * library and the command (linked with --wrap), and those of SQLite on their behalf. Jansson gets
 * its memory from the command, which ends where there is none; a fault of the kind FAULT_JSON comes
 * back from there, as in a program that leaves jansson to itself. */
#ifndef FAULT_CALLS_H
#define FAULT_CALLS_H

typedef enum fault_kind {
    FAULT_NONE,
    FAULT_MEMORY,
    FAULT_FILE,
    FAULT_JSON,
    FAULT_KINDS
} fault_kind;

extern const char *const fault_words[FAULT_KINDS]; /* "none", "alloc", "file", "json" */

typedef struct fault_counts {
    long calls[FAULT_KINDS];
    long fired;
    char call[32]; /* what failed */
} fault_counts;

/* Counts are kept in *counts, which may be shared between processes; the call number `at` of the
 * kind fails, counted from 1. */
void fault_plan(fault_counts *counts, fault_kind kind, long at);
/* The calls from now on are noted there. */
struct fault_places;
void fault_plan_choice(struct fault_places *into);
/* From the environment: BILEVEL_FAULT=alloc:17, file:3 or json:5. */
void fault_plan_from_environment(void);

#endif
