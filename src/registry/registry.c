/* Names: the built-in solvers and problems, and what a program adds in a registry of its own. There
 * is no global list, so two parts of a program cannot get in each other's way. */
#include "bilevel/registry.h"
#include "base/arena.h"
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

enum {
    SOLVERS = sizeof blv_builtin_solvers / sizeof *blv_builtin_solvers - 1,
    FAMILIES = sizeof blv_builtin_problems / sizeof *blv_builtin_problems - 1
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
    if (i < SOLVERS)
        return blv_builtin_solvers[i];
    i -= SOLVERS;
    return registry && i < registry->solver_count ? registry->solvers[i] : NULL;
}

const blv_problem_family *blv_family_at(const blv_registry *registry, size_t i) {
    if (i < FAMILIES)
        return blv_builtin_problems[i];
    i -= FAMILIES;
    return registry && i < registry->problem_count ? registry->problems[i] : NULL;
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
    blv_explain_name(why, "there is no solver", &nearest);
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
    blv_explain_name(why, "there is no problem", &nearest);
    return NULL;
}

blv_error blv_registry_add_solver(blv_registry *registry, const blv_solver *solver,
                                  blv_message *why) {
    if (!registry || !solver || solver->size < sizeof *solver || !solver->name || !solver->open ||
        !solver->step)
        return blv_explain(why, BLV_E_ARGUMENT,
                           "registry: a solver needs a registry, its size, a name, open and step");
    if (blv_solver_find(registry, solver->name, NULL))
        return blv_explain(why, BLV_E_NAME, "there is a solver '%.60s' already", solver->name);
    const blv_solver **place =
        blv_array_add(&registry->solvers, &registry->solver_count, sizeof *place);
    if (!place)
        return blv_explain(why, BLV_E_MEMORY, "registry: out of memory");
    *place = solver;
    return BLV_OK;
}

blv_error blv_registry_add_family(blv_registry *registry, const blv_problem_family *family,
                                  blv_message *why) {
    if (!registry || !family || family->size < sizeof *family || !family->name || !family->create)
        return blv_explain(why, BLV_E_ARGUMENT,
                           "registry: a problem needs a registry, its size, a name and create");
    if (blv_family_find(registry, family->name, NULL))
        return blv_explain(why, BLV_E_NAME, "there is a problem '%.60s' already", family->name);
    const blv_problem_family **place =
        blv_array_add(&registry->problems, &registry->problem_count, sizeof *place);
    if (!place)
        return blv_explain(why, BLV_E_MEMORY, "registry: out of memory");
    *place = family;
    return BLV_OK;
}
