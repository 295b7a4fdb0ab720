"""Optimization with two levels.

    minimize over x in X   f(x, y*(x))     where y*(x) minimizes g(x, .)

bilevel.solve(f, g, x0, y0) solves a problem of NumPy, PyTorch or JAX functions, and certifies the
result. bilevel.sklearn has estimators that find wrong labels, learn penalties and choose rows.
docs/python.md is the guide.
"""

from ._callbacks import Reject
from ._core import ffi as _ffi
from ._core import lib as _lib
from ._dataset import Dataset
from ._errors import BilevelError
from ._implicit import implicit
from ._problem import Problem, families, problem
from ._result import Certificate, Counts, Result, Trace
from ._runs import StoredRun, runs
from ._solve import CheckReport, Comparison, check, compare, solve
from ._solver import Solver, run_options, solvers

__version__: str = _ffi.string(_lib.blv_version()).decode()

__all__ = [
    "BilevelError",
    "Certificate",
    "CheckReport",
    "Comparison",
    "Counts",
    "Dataset",
    "Problem",
    "Reject",
    "Result",
    "Solver",
    "StoredRun",
    "Trace",
    "check",
    "compare",
    "families",
    "implicit",
    "problem",
    "run_options",
    "runs",
    "solve",
    "solvers",
]
