/* Names: the built-in solvers and problem families, and your own. */
#ifndef BILEVEL_REGISTRY_H
#define BILEVEL_REGISTRY_H

#include "bilevel/problem.h"
#include "bilevel/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct blv_registry blv_registry;

/* A registry holds the built-in ones and what is added to it. Descriptors are borrowed. */
BLV_API blv_error blv_registry_create(blv_registry **registry);
BLV_API void blv_registry_destroy(blv_registry *registry);
/* BLV_E_NAME when the name is taken. */
BLV_API blv_error blv_registry_add_solver(blv_registry *registry, const blv_solver *solver,
                                          blv_message *why);
BLV_API blv_error blv_registry_add_family(blv_registry *registry, const blv_problem_family *family,
                                          blv_message *why);

/* The solver that blv_solve and the command use unless told otherwise. */
#define BLV_DEFAULT_SOLVER "s-tfbo"

/* With a NULL registry: the built-in ones. NULL when there is no such name, and why then names the
 * nearest. */
BLV_API const blv_solver *blv_solver_find(const blv_registry *registry, const char *name,
                                          blv_message *why);
BLV_API const blv_problem_family *blv_family_find(const blv_registry *registry, const char *name,
                                                  blv_message *why);
/* How well a solver suits a problem. */
typedef enum blv_fit {
    BLV_FIT_REFUSED,     /* blv_run_create refuses the pair */
    BLV_FIT_DIFFERENCES, /* it wants Hv or Jv, which the problem lacks: differences stand in */
    BLV_FIT_SUITED
} blv_fit;
/* remark says why, or what else is to be known; it is empty when there is nothing to say. */
BLV_API blv_fit blv_solver_fit(const blv_solver *solver, const blv_problem *problem,
                               blv_message *remark);

/* The i-th, NULL after the last. */
BLV_API const blv_solver *blv_solver_at(const blv_registry *registry, size_t i);
BLV_API const blv_problem_family *blv_family_at(const blv_registry *registry, size_t i);

#ifdef __cplusplus
}
#endif
#endif
