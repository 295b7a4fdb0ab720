/* Runs of the store with their traces, and which of them belong together. */
#pragma once

#include "bilevel/store.h"

typedef struct blv_stored_run {
    blv_run_info *info;
    blv_trace trace;
    char *start;           /* where it starts, of its request; NULL: not known */
    double best;           /* least certified Phi that is known of its problem; NaN: none */
    size_t group, problem; /* the numbers of its group and of its problem */
} blv_stored_run;

/* Runs that differ in the seed only. */
typedef struct blv_run_group {
    size_t first; /* the number of its first run */
    size_t problem;
    char *label;   /* the solver, and what distinguishes it from the other groups */
    bool is_alike; /* that does not: its runs are named too */
} blv_run_group;

typedef struct blv_run_groups {
    size_t count, groups, problems; /* problems: how many different ones */
    blv_stored_run *runs;
    blv_run_group *group;
} blv_run_groups;

/* Reads runs, each once. On error nothing is left to be freed. */
blv_error blv_run_groups_load(blv_run_groups *groups, blv_store *store, const int64_t *ids,
                              size_t count, blv_message *why);
void blv_run_groups_free(blv_run_groups *groups);
