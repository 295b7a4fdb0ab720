/* bilevel: optimization with two levels.
 *
 *     minimize over x in X   f(x, y*(x))     where y*(x) minimizes g(x, .)
 *
 * problem.h  your functions        run.h     solve them, look at the result
 * space.h    where vectors live    solver.h  write a solver of your own
 * param.h    parameter tables      status.h  errors and outcomes
 * dataset.h  data from files       npz.h     arrays in files
 * linear.h   classifiers on data   select.h  rows that stand for all
 * classifier.h  networks */
#ifndef BILEVEL_H
#define BILEVEL_H

#include "bilevel/classifier.h"
#include "bilevel/dataset.h"
#include "bilevel/linear.h"
#include "bilevel/npz.h"
#include "bilevel/param.h"
#include "bilevel/problem.h"
#include "bilevel/run.h"
#include "bilevel/select.h"
#include "bilevel/solver.h"
#include "bilevel/space.h"
#include "bilevel/status.h"

#endif
