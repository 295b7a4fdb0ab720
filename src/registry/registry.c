/* Names: the built-in solvers and problems, and what a program adds in a registry of its own. There
 * is no global list, so two parts of a program cannot get in each other's way. */
#include "bilevel/registry.h"
#include "base/message.h"
#include "problems/builtin_problems.h"
#include "registry/builtin.h"
#include "solvers/builtin_solvers.h"

#include <stdlib.h>
#include <string.h>

const blv_solver *const blv_builtin_solvers[] = {
#define SOLVER(name) &blv_solver_##name,
#include "solvers/solver_list.h"
#undef SOLVER
    NULL,
};

const blv_problem_family *const blv_builtin_problems[] = {
#define FAMILY(name) &blv_problem_##name,
#include "problems/problem_list.h"
#undef FAMILY
    NULL,
};

struct blv_registry {
    const blv_solver **solvers;
    size_t solver_count;
    const blv_problem_family **problems;
    size_t problem_count;
};

blv_error blv_registry_create(blv_registry **registry) {
    if (!registry)
        return BLV_E_ARGUMENT;
    *registry = calloc(1, sizeof **registry);
    return *registry ? BLV_OK : BLV_E_MEMORY;
}

void blv_registry_destroy(blv_registry *registry) {
    if (!registry)
        return;
    free(registry->solvers);
    free(registry->problems);
    free(registry);
}

const blv_solver *blv_solver_at(const blv_registry *registry, size_t i) {
    size_t builtin = 0;
    for (; blv_builtin_solvers[builtin]; builtin++)
        if (builtin == i)
            return blv_builtin_solvers[i];
    i -= builtin;
    return registry && i < registry->solver_count ? registry->solvers[i] : NULL;
}

const blv_problem_family *blv_family_at(const blv_registry *registry, size_t i) {
    size_t builtin = 0;
    for (; blv_builtin_problems[builtin]; builtin++)
        if (builtin == i)
            return blv_builtin_problems[i];
    i -= builtin;
    return registry && i < registry->problem_count ? registry->problems[i] : NULL;
}

static void explain_unknown(blv_message *why, const char *kind, const blv_nearest *nearest) {
    const char *guess = blv_nearest_guess(nearest);
    blv_explain(why, BLV_E_NAME, "there is no %s '%.60s'%s%s%s", kind, nearest->name,
                guess ? "; did you mean '" : "", guess ? guess : "", guess ? "'?" : "");
}

const blv_solver *blv_solver_find(const blv_registry *registry, const char *name,
                                  blv_message *why) {
    const blv_solver *solver;
    blv_nearest nearest = {.name = name ? name : ""};
    for (size_t i = 0; (solver = blv_solver_at(registry, i)); i++) {
        if (strcmp(solver->name, nearest.name) == 0)
            return solver;
        blv_nearest_try(&nearest, solver->name);
    }
    explain_unknown(why, "solver", &nearest);
    return NULL;
}

const blv_problem_family *blv_family_find(const blv_registry *registry, const char *name,
                                          blv_message *why) {
    const blv_problem_family *family;
    blv_nearest nearest = {.name = name ? name : ""};
    for (size_t i = 0; (family = blv_family_at(registry, i)); i++) {
        if (strcmp(family->name, nearest.name) == 0)
            return family;
        blv_nearest_try(&nearest, family->name);
    }
    explain_unknown(why, "problem", &nearest);
    return NULL;
}

blv_error blv_registry_add_solver(blv_registry *registry, const blv_solver *solver) {
    if (!registry || !solver || solver->size < sizeof *solver || !solver->name || !solver->open ||
        !solver->step)
        return BLV_E_ARGUMENT;
    if (blv_solver_find(registry, solver->name, NULL))
        return BLV_E_NAME;
    const blv_solver **bigger =
        realloc(registry->solvers, (registry->solver_count + 1) * sizeof *bigger);
    if (!bigger)
        return BLV_E_MEMORY;
    registry->solvers = bigger;
    bigger[registry->solver_count++] = solver;
    return BLV_OK;
}

blv_error blv_registry_add_family(blv_registry *registry, const blv_problem_family *family) {
    if (!registry || !family || family->size < sizeof *family || !family->name || !family->create)
        return BLV_E_ARGUMENT;
    if (blv_family_find(registry, family->name, NULL))
        return BLV_E_NAME;
    const blv_problem_family **bigger =
        realloc(registry->problems, (registry->problem_count + 1) * sizeof *bigger);
    if (!bigger)
        return BLV_E_MEMORY;
    registry->problems = bigger;
    bigger[registry->problem_count++] = family;
    return BLV_OK;
}
