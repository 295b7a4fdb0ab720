"""A solver that is a Python class with `open` and `step`.

    class HeavyBall:
        name = "heavy-ball"

        def __init__(self, step=0.1, momentum=0.5):
            self.step_size, self.momentum = step, momentum

        def open(self, run):
            self.w = run.state("w", "x")
            self.v = run.state("v", "y", moves=True)

        def step(self, run):
            gy, hv, jv = run.lower_all(self.v.get())
            f, fx, fy = run.upper()
            ...
            run.move(run.y, step, gy)

The run owns stopping, counting, timing and tracing. Vectors are flat NumPy arrays here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._callbacks import define, keep
from ._core import ffi, lib
from ._errors import c_text, check, text


class Interrupted(Exception):
    """An oracle did not answer: the step ends with the flow that the library gave."""

    def __init__(self, flow: int) -> None:
        super().__init__(flow)
        self.flow = flow


def _go(flow: int) -> None:
    if flow != lib.BLV_GO:
        raise Interrupted(flow)


class _OfRun:
    """Something of the library that ends with the run."""

    def __init__(self, pointer: Any) -> None:
        self._pointer = pointer

    @property
    def pointer(self) -> Any:
        if self._pointer is None:
            raise RuntimeError("the run has ended, and what belonged to it with it")
        return self._pointer

    def end(self) -> None:
        self._pointer = None


class Vector(_OfRun):
    """A vector of the run."""

    def __init__(self, pointer: Any) -> None:
        super().__init__(pointer)
        self.dim = lib.blv_vec_dim(pointer)

    def get(self) -> Any:
        """Its elements, a copy."""
        host = np.empty(self.dim)
        lib.blv_vec_read(self.pointer, ffi.from_buffer("double *", host))
        return host

    def set(self, values: Any) -> None:
        host = np.ascontiguousarray(values, dtype=np.float64)
        if host.shape != (self.dim,):
            raise ValueError(f"values have shape {host.shape}, expected ({self.dim},)")
        lib.blv_vec_write(self.pointer, ffi.from_buffer("double *", host))


class Run(_OfRun):
    """What `open` and `step` work with. In `open`: state. In `step`: everything else."""

    def __init__(self, pointer: Any) -> None:
        super().__init__(pointer)
        self._vectors: list[Vector] = []
        self.x = self._vector(lib.blv_run_x(pointer))
        self.y = self._vector(lib.blv_run_y(pointer))
        self._fx, self._gx, self._jv = (self._scratch("x") for _ in range(3))
        self._fy, self._gy, self._hv, self._v = (self._scratch("y") for _ in range(4))

    def end(self) -> None:
        for each in self._vectors:
            each.end()
        super().end()

    def _vector(self, pointer: Any) -> Vector:
        self._vectors.append(Vector(pointer))
        return self._vectors[-1]

    def _scratch(self, level: str) -> Vector:
        made = ffi.new("blv_vec **")
        check(lib.blv_scratch_vec(self.pointer, _level(level), made))
        return self._vector(made[0])

    def state(self, name: str, level: str, *, moves: bool = False) -> Vector:
        """A vector that lasts, all zero, of the size of x or y. moves: changed by `move`."""
        made = ffi.new("blv_vec **")
        register = lib.blv_state_iterate if moves else lib.blv_state_vec
        error = register(self.pointer, c_text("name", name), _level(level), made)
        if error != lib.BLV_OK:
            raise ValueError(text(lib.blv_run_message(self.pointer)))
        return self._vector(made[0])

    @property
    def iteration(self) -> int:
        return int(lib.blv_run_iteration(self.pointer))

    def upper(self) -> tuple[float, Any, Any]:
        """f and its gradients in x and y, at the current point."""
        f = ffi.new("double *")
        at = self.x.pointer, self.y.pointer
        fx, fy = self._fx, self._fy
        _go(lib.blv_oracle_upper(self.pointer, ffi.NULL, *at, f, fx.pointer, fy.pointer))
        return f[0], fx.get(), fy.get()

    def lower(self) -> tuple[float, Any, Any]:
        """g and its gradients in x and y."""
        g = ffi.new("double *")
        at = self.x.pointer, self.y.pointer
        gx, gy = self._gx, self._gy
        _go(lib.blv_oracle_lower(self.pointer, ffi.NULL, *at, g, gx.pointer, gy.pointer))
        return g[0], gx.get(), gy.get()

    def lower_all(self, v: Any) -> tuple[Any, Any, Any]:
        """The gradient of g in y, (d2g/dy2) v and (d2g/dxdy) v."""
        self._v.set(v)
        at = self.x.pointer, self.y.pointer, self._v.pointer
        out = self._gy, self._hv, self._jv
        _go(lib.blv_oracle_all(self.pointer, ffi.NULL, *at, *(each.pointer for each in out)))
        gy, hv, jv = (each.get() for each in out)
        return gy, hv, jv

    def move(self, vector: Vector, step: float, direction: Any) -> None:
        """vector = vector - step direction; x is projected onto X."""
        size_of_x = vector.dim == self.x.dim and vector.pointer != self.y.pointer
        room = self._gx if size_of_x else self._hv
        room.set(direction)
        _go(lib.blv_move(self.pointer, vector.pointer, step, room.pointer))

    def report(self, **metrics: float) -> None:
        """gy_norm, r_norm, d_norm, step_x, step_y, step_v: for stopping, trace and display."""
        out = lib.blv_run_metrics(self.pointer)
        for name, value in metrics.items():
            setattr(out, name, value)

    def finished(self, tolerance: float) -> None:
        """The solver's own test is met: |grad phi| is at most the tolerance. Ends the step."""
        raise Interrupted(lib.blv_run_finished(self.pointer, tolerance))

    def note(self, remark: str) -> None:
        lib.blv_run_note(self.pointer, b"%s", ffi.new("char[]", c_text("remark", remark)))


def _level(name: str) -> int:
    if name not in ("x", "y"):
        raise ValueError(f"level is {name!r}, expected 'x' or 'y'")
    return int(lib.BLV_LEVEL_X if name == "x" else lib.BLV_LEVEL_Y)


class _Adapter:
    def __init__(self, solver: Any) -> None:
        self.solver = solver
        self.run: Run | None = None


def adapt(solver: Any) -> tuple[str, Any]:
    """The solver's name and a handle for it."""
    made = solver() if isinstance(solver, type) else solver
    for method in ("open", "step"):
        if not callable(getattr(made, method, None)):
            kind = type(made).__name__
            raise TypeError(
                f"solver: a name, or an object with open and step; {kind} has no {method}"
            )
    return str(getattr(made, "name", type(made).__name__)), ffi.new_handle(_Adapter(made))


def _open(handle: Any, run: Any) -> int:
    try:
        adapter = ffi.from_handle(handle)
        adapter.run = Run(run)
        adapter.solver.open(adapter.run)
        return int(lib.BLV_OK)
    except BaseException as error:
        keep(error)
        return int(lib.BLV_E_FAILED)


def _step(handle: Any, run: Any) -> int:
    try:
        adapter = ffi.from_handle(handle)
        adapter.solver.step(adapter.run)
        return int(lib.BLV_GO)
    except Interrupted as interrupted:
        return interrupted.flow
    except BaseException as error:
        keep(error)
        return int(lib.BLV_FATAL)


def _close(handle: Any) -> None:
    run = ffi.from_handle(handle).run
    if run is not None:
        run.end()


define("close", _close, None)
define("open", _open, lib.BLV_E_FAILED)
define("step", _step, lib.BLV_FATAL)
