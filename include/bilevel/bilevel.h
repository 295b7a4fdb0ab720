/* bilevel: optimization with two levels.
 *
 *     minimize over x in X   f(x, y*(x))     where y*(x) minimizes g(x, .)
 *
 * problem.h  your functions        run.h     solve them, look at the result
 * space.h    where vectors live    solver.h  write a solver of your own
 * param.h    parameter tables      status.h  errors and outcomes
 * dataset.h  data from files       npz.h     arrays in files
 * linear.h   classifiers on data   select.h  rows that stand for all
 * classifier.h  networks          registry.h  solvers and problems by name
 * certificate.h how good a point is   checkpoint.h  save and resume a run
 *
 * What holds for every function:
 *
 * NULL where something is needed is answered, never followed: a call that returns a blv_error gives
 * BLV_E_ARGUMENT, one that returns a blv_flow BLV_FATAL; one that looks at an object gives 0, NULL
 * or NaN; one that returns nothing does nothing, and a vector that it would have made becomes NaN.
 * An object that could not be created is NULL.
 *
 * After an error an object is as it was before the call, unless its header says otherwise, and can
 * be used on or destroyed.
 *
 * One way to hear why a call failed:
 * - A call on a run (its first argument is a blv_run *) leaves the reason in blv_run_message(run).
 *   Calls that only look at a run (const blv_run *) leave that message alone.
 * - Every other call takes a blv_message *why as its last argument, which may be NULL and is
 *   written only on failure. Calls without one (vectors, spaces) fail for one reason each, which
 *   the error code states: blv_error_text(error).
 *
 * An object belongs to one thread at a time; different objects do not know of each other. Of what
 * they share, problems, spaces, descriptors and registries may be read by many at once. Only
 * blv_run_stop may be called from anywhere at any time while the run exists. */
#ifndef BILEVEL_H
#define BILEVEL_H

#include "bilevel/certificate.h"
#include "bilevel/checkpoint.h"
#include "bilevel/classifier.h"
#include "bilevel/clean.h"
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
