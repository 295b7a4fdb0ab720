/* Solvers and problem families by name: the built-in ones and your own. */
#ifndef BILEVEL_REGISTRY_H
#define BILEVEL_REGISTRY_H

#include "bilevel/problem.h"
#include "bilevel/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The solver that blv_solve and the command use unless told otherwise. */
#define BLV_DEFAULT_SOLVER "auto"

/* ---- Looking up ---- */

/* The built-in ones and what a program added; NULL stands for the built-in ones alone. */
typedef struct blv_registry blv_registry;

/* NULL when there is no such name; why then names the nearest one. */
BLV_API const blv_solver *blv_solver_find(const blv_registry *registry, const char *name,
                                          blv_message *why);
BLV_API const blv_problem_family *blv_family_find(const blv_registry *registry, const char *name,
                                                  blv_message *why);
/* The i-th, NULL after the last. Solvers come by group. */
BLV_API const blv_solver *blv_solver_at(const blv_registry *registry, size_t i);
BLV_API const blv_problem_family *blv_family_at(const blv_registry *registry, size_t i);

/* How well a solver suits a problem. */
typedef enum blv_fit {
    BLV_FIT_REJECTED,    /* blv_run_create rejects the pair */
    BLV_FIT_DIFFERENCES, /* it needs Hv or Jv, which the problem lacks: finite differences */
    BLV_FIT_SUITED
} blv_fit;
/* remark says why, or what else there is to know; it may be empty. */
BLV_API blv_fit blv_solver_fit(const blv_solver *solver, const blv_problem *problem,
                               blv_message *remark);

/* ---- Adding your own ---- */

BLV_API blv_error blv_registry_create(blv_registry **registry);
/* NULL is allowed. */
BLV_API void blv_registry_destroy(blv_registry *registry);
/* Descriptors are borrowed and must outlive the registry. BLV_E_NAME when the name is taken. */
BLV_API blv_error blv_registry_add_solver(blv_registry *registry, const blv_solver *solver,
                                          blv_message *why);
BLV_API blv_error blv_registry_add_family(blv_registry *registry, const blv_problem_family *family,
                                          blv_message *why);

#ifdef __cplusplus
}
#endif
#endif
