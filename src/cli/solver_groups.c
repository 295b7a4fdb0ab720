#include "cli/solver_groups.h"
#include "bilevel/registry.h"
#include "cli/common.h"

#include <string.h>

static const struct {
    const char *name, *summary;
} groups[] = {
    {"tuning-free", "choose their own step sizes as they go"},
    {"single-loop", "take one step of every variable in an iteration"},
    {"double-loop", "take inner steps on the lower level between two steps of x"},
    {"variance-reduced", "carry their stochastic estimates on from step to step"},
    {"first-order penalty", "need gradients only, with the lower level as a penalty"},
    {"reference", "solve tightly, to measure others by"},
};
enum { GROUPS = sizeof groups / sizeof groups[0] };

static size_t rank_of(const char *group) {
    size_t rank = 0;
    while (rank < GROUPS && strcmp(groups[rank].name, group) != 0)
        rank++;
    return rank;
}

const char *cli_group_summary(const char *group) {
    size_t rank = rank_of(group);
    return rank < GROUPS ? groups[rank].summary : NULL;
}

/* Whether a comes before b: by rank; among groups that are not known, by name. */
static bool comes_before(const blv_solver *a, const blv_solver *b) {
    size_t rank_a = rank_of(a->group), rank_b = rank_of(b->group);
    if (rank_a != rank_b)
        return rank_a < rank_b;
    return strcmp(a->group, b->group) < 0 && rank_a == GROUPS;
}

const blv_solver **cli_solvers_by_group(void) {
    size_t count = 0;
    while (blv_solver_at(NULL, count))
        count++;
    const blv_solver **sorted = cli_alloc(count + 1, sizeof(*sorted));
    for (size_t i = 0; i < count; i++) {
        const blv_solver *solver = blv_solver_at(NULL, i);
        size_t at = i;
        for (; at > 0 && comes_before(solver, sorted[at - 1]); at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = solver;
    }
    return sorted;
}
