/* bilevel: optimization with two levels.
 *
 *     minimize over x in X   f(x, y*(x))     where y*(x) minimizes g(x, .)
 *
 * Simple calls
 *   problem.h      your problem as C functions, or a built-in one
 *   solve.h        blv_solve: a problem in, a solution out; blv_compare: several solvers
 *   clean.h        find wrong labels          tune.h         learn penalties
 *   select.h       choose rows                continual.h    tasks in sequence
 *   dataset.h      data from files            model.h        models, and their answers
 * Full control
 *   run.h          a run: set, step, watch    certificate.h  how good a point is
 *   checkpoint.h   save and resume a run      registry.h     solvers and problems by name
 *   linear.h       linear models on data      classifier.h   networks
 *   task.h         follow the runs of a task  npz.h          arrays in files
 * Advanced
 *   solver.h       write a solver             space.h        where vectors live
 *   param.h        parameter tables           status.h       errors and outcomes
 *
 * The run store, store.h, is a library of its own (bilevel::store).
 *
 * What holds for every function:
 *
 * NULL where something is needed is an error, never a crash: a call that returns a blv_error gives
 * BLV_E_ARGUMENT, one that returns a blv_flow BLV_FATAL; one that looks at an object gives 0, NULL
 * or NaN; one that returns nothing does nothing, and fills a vector that it should compute with
 * NaN. An object that could not be created is NULL.
 *
 * After an error an object is as it was before the call, unless its header says otherwise, and can
 * still be used or destroyed.
 *
 * One way to hear why a call failed:
 * - A call on a run (its first argument is a blv_run *) leaves the reason in blv_run_message(run).
 *   Calls that only look at a run (const blv_run *) leave that message alone.
 * - Every other call takes a blv_message *why as its last argument, which may be NULL and is
 *   written only on failure. Calls without one (vectors, spaces) fail for one reason each, which
 *   the error code states: blv_error_text(error).
 *
 * A struct that the caller fills begins with its size, so that a later version can add fields:
 * {.size = sizeof(blv_solve_options), ...}. Fields that are not named are 0, the default.
 *
 * An object belongs to one thread at a time; different objects are independent. Problems, spaces,
 * descriptors, data sets and registries may be read by several threads at once. blv_run_stop may be
 * called from anywhere at any time while the run exists.
 *
 * Names, settings and arrays that are passed in are copied unless a header says "borrowed". Strings
 * that are returned belong to the library. */
#ifndef BILEVEL_H
#define BILEVEL_H

#include "bilevel/arithmetic.h"
#include "bilevel/certificate.h"
#include "bilevel/checkpoint.h"
#include "bilevel/classifier.h"
#include "bilevel/clean.h"
#include "bilevel/continual.h"
#include "bilevel/cuda.h"
#include "bilevel/dataset.h"
#include "bilevel/linear.h"
#include "bilevel/model.h"
#include "bilevel/npz.h"
#include "bilevel/param.h"
#include "bilevel/problem.h"
#include "bilevel/registry.h"
#include "bilevel/run.h"
#include "bilevel/select.h"
#include "bilevel/solve.h"
#include "bilevel/solver.h"
#include "bilevel/space.h"
#include "bilevel/status.h"
#include "bilevel/task.h"
#include "bilevel/tune.h"

#endif
