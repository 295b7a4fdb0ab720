"""Differentiating through the solution of the lower level.

    y*(x) = argmin g(x, .)        d(b'y*)/dx = -J H^-1 b

Forward the library's truncated Newton solves for y*, backward its conjugate gradients solve the
linear system; both to eps^(2/3) of what they begin with, unless a tolerance is given.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ._callbacks import guarded
from ._core import ffi, lib
from ._errors import BilevelError, check, new_message, owned
from ._problem import Problem, kind_of


class LowerLevel:
    """g at arrays of one form, with vectors of the library. x and y are flat arrays here."""

    def __init__(self, g: Callable[..., Any], x: Any, y: Any, tol: float | None) -> None:
        self.problem = Problem(lambda x, y: _nothing(y), g, x, y)
        if tol is not None and not (
            isinstance(tol, int | float | np.number) and 0.0 <= tol < np.inf
        ):
            raise ValueError(f"tol is {tol!r}, expected a number that is not negative")
        self.tol = tol
        self.lock = threading.Lock()
        definition = lib.blv_problem_definition(self.problem.pointer)
        spaces = definition.space_x, definition.space_y
        self.x, self.y, self.b, self.v, self.jv = (self._vector(spaces[i]) for i in (0, 1, 1, 1, 0))
        eps = float(np.finfo(np.float32 if self.problem.x.single else np.float64).eps)
        self.tight, self.rough = eps ** (2 / 3), eps**0.5

    def _vector(self, space: Any) -> Any:
        made = ffi.new("blv_vec **")
        check(lib.blv_vec_create(made, space))
        return owned(made[0], lib.blv_vec_destroy, self.problem.pointer)

    def _put(self, level: Any, vector: Any, flat: Any) -> None:
        level.put(lib.blv_py_output(vector), flat)

    def _norm(self, vector: Any) -> float:
        return float(lib.blv_vec_norm(vector))

    def solve(self, x: Any, y: Any) -> Any:
        """y*(x), from y."""
        level_x, level_y = self.problem.x, self.problem.y
        reached, why = ffi.new("double *"), new_message()
        with self.lock, guarded():
            self.problem.begin(newton=True)
            self._put(level_x, self.x, x)
            self._put(level_y, self.y, y)
            scale = self._slope(self.v)
            self._hessian(self.y, self.v)
            scale += self._norm(self.v)  # of the terms that cancel in gy
            if not np.isfinite(scale):
                raise ValueError("g has values at x and the start of y that are not finite")
            tol = self.tight * scale if self.tol is None else self.tol
            error = lib.blv_solve_lower(
                self.problem.pointer,
                self.x,
                self.y,
                tol,
                lib.blv_py_stop,
                ffi.NULL,
                reached,
                why,
            )
            found = level_y.copy(lib.blv_py_elements(self.y))
        check(error, why)
        if reached[0] > max(tol, self.rough * scale if self.tol is None else 0.0):
            raise BilevelError(f"the lower level was not solved: |gy| is {reached[0]:.3g}")
        return found

    def _slope(self, out: Any) -> float:
        """|gy| at the point, with gy in `out`."""
        oracles = self.problem.oracles
        at = lib.blv_py_elements(self.x), lib.blv_py_elements(self.y)
        oracles.lower(ffi.NULL, *at, ffi.NULL, 0, lib.blv_py_output(out))
        return self._norm(out)

    def _hessian(self, direction: Any, out: Any) -> None:
        at = (lib.blv_py_elements(vector) for vector in (self.x, self.y, direction))
        self.problem.oracles.all(ffi.NULL, *at, 0, lib.blv_py_output(out), 0)

    def pull_back(self, x: Any, y: Any, b: Any) -> Any:
        """The gradient of b'y*(x): -J H^-1 b."""
        level_x, level_y = self.problem.x, self.problem.y
        residual, why = ffi.new("double *"), new_message()
        with self.lock, guarded():
            self.problem.begin(newton=True)
            self._put(level_x, self.x, x)
            self._put(level_y, self.y, y)
            self._put(level_y, self.b, b)
            lib.blv_vec_fill(self.v, 0.0)
            scale = self._norm(self.b)
            tol = self.tight * scale if self.tol is None else self.tol
            error = lib.blv_solve_adjoint(
                self.problem.pointer,
                self.x,
                self.y,
                self.b,
                self.v,
                tol,
                lib.blv_py_stop,
                ffi.NULL,
                residual,
                why,
            )
            at = (lib.blv_py_elements(vector) for vector in (self.x, self.y, self.v))
            self.problem.oracles.all(ffi.NULL, *at, 0, 0, lib.blv_py_output(self.jv))
            lib.blv_vec_scale(self.jv, -1.0)
            found = level_x.copy(lib.blv_py_elements(self.jv))
        check(error, why)
        if residual[0] > max(tol, self.rough * scale if self.tol is None else 0.0):
            raise BilevelError(f"the linear system was not solved: |Hv - b| is {residual[0]:.3g}")
        return found


def _nothing(y: Any) -> Any:
    """A function of y that is 0, whatever form y has."""
    from . import _tree

    return sum((0.0 * leaf).sum() for leaf in _tree.leaves(y))


def implicit(
    g: Callable[..., Any], y0: Any = None, *, tol: float | None = None
) -> Callable[..., Any]:
    """A function x -> y*(x), the minimizer of g(x, .), that can be differentiated.

    g(x, y) is a function of PyTorch or JAX that returns a scalar; x and y may be trees of arrays.
    The function that is returned is called as solve(x) or solve(x, y0): y0 is where the search
    starts, and its form is that of the answer. torch autograd and jax.grad, jax.jit and jax.vmap
    work through it. What g takes from elsewhere than x is a constant.

    tol: of |gy| and of the residual of the linear system; None: about 4e-11 of what they begin
    with, 2e-5 in float32. A solve that does not get near that is a BilevelError.
    """
    made: dict[Any, LowerLevel] = {}

    def level(x: Any, y: Any, form: Any) -> LowerLevel:
        if form not in made:
            made[form] = LowerLevel(g, x, y, tol)
        return made[form]

    def solve(x: Any, start: Any = None) -> Any:
        given = y0 if start is None else start
        if given is None:
            raise TypeError("y0 is missing: where the search for y starts")
        kind = kind_of(x, given)
        if kind == "torch":
            from ._implicit_torch import apply
        elif kind == "jax":
            from ._implicit_jax import apply
        else:
            raise TypeError("x is of NumPy; implicit takes arrays of PyTorch or JAX")
        return apply(level, x, given)

    return solve
