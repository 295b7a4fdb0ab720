"""A space of the library whose vectors are arrays of PyTorch or JAX on a device.

Vectors are numbers to the library; the arrays behind them are replaced, never changed in place, so
that a copy costs nothing. The host sees only the scalars of a reduction, fetched together.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from ._callbacks import define, keep
from ._core import ffi, lib
from ._errors import check, owned


class Arrays:
    """What a space needs of an array library. One for each kind and device."""

    def zeros(self, dim: int) -> Any:
        raise NotImplementedError

    def combine(self, coefficients: list[float], terms: list[Any]) -> Any:
        raise NotImplementedError

    def apply(self, operation: int, c: float, a: Any, b: Any) -> Any:
        raise NotImplementedError

    def clip(self, a: Any, lo: float, hi: float) -> Any:
        raise NotImplementedError

    def dots(self, pairs: list[tuple[Any, Any]]) -> list[float]:
        """All of them, in one synchronization."""
        raise NotImplementedError

    def to_host(self, a: Any) -> Any:
        raise NotImplementedError

    def from_host(self, values: Any) -> Any:
        raise NotImplementedError


class Space:
    def __init__(self, arrays: Arrays, dim: int) -> None:
        self.arrays = arrays
        self.dim = dim
        self.cells: dict[int, Any] = {}  # vectors by number

    def create(self, single: bool) -> Any:
        """The blv_space; the Python object lives as long as it."""
        made, handle = ffi.new("blv_space **"), ffi.new_handle(self)
        precision = lib.BLV_F32 if single else lib.BLV_F64
        check(lib.blv_space_create(made, lib.blv_py_space_ops(), self.dim, precision, handle))
        return owned(made[0], lib.blv_space_destroy, handle)


_numbers = count(1)  # of all spaces together: no vector is taken for one of another space


def _of(space: Any) -> Space:
    found: Space = ffi.from_handle(lib.blv_space_context(space))
    return found


def _at(v: Any) -> int:
    return int(ffi.cast("uintptr_t", v))


def _operation(function: Callable[..., Any], failed: Any = None) -> Callable[..., Any]:
    """Operations report a failure to the space: they return nothing."""

    def call(s: Any, *arguments: Any) -> Any:
        try:
            return function(_of(s), *arguments)
        except BaseException as error:
            keep(error)
            said = ffi.new("char[]", str(error).encode()[:400])
            lib.blv_space_fail(s, lib.BLV_E_DEVICE, b"%s", said)
            return failed

    return call


def _create(space: Space) -> Any:
    number = next(_numbers)
    space.cells[number] = space.arrays.zeros(space.dim)
    return ffi.cast("void *", number)


def _destroy(space: Space, v: Any) -> None:
    del space.cells[_at(v)]


def _copy(space: Space, dst: Any, src: Any) -> None:
    space.cells[_at(dst)] = space.cells[_at(src)]


def _fill(space: Space, v: Any, a: float) -> None:
    space.cells[_at(v)] = space.arrays.zeros(space.dim) + a


def _scale(space: Space, v: Any, a: float) -> None:
    space.cells[_at(v)] = space.arrays.combine([a], [space.cells[_at(v)]])


def _axpy(space: Space, y: Any, a: float, x: Any) -> None:
    cells = space.cells
    cells[_at(y)] = space.arrays.combine([1.0, a], [cells[_at(y)], cells[_at(x)]])


def _dot(space: Space, a: Any, b: Any) -> float:
    return space.arrays.dots([(space.cells[_at(a)], space.cells[_at(b)])])[0]


def _clamp(space: Space, v: Any, lo: float, hi: float) -> None:
    space.cells[_at(v)] = space.arrays.clip(space.cells[_at(v)], lo, hi)


def _host(space: Space, pointer: Any) -> Any:
    return np.frombuffer(ffi.buffer(pointer, 8 * space.dim), dtype=np.float64)


def _read(space: Space, v: Any, host: Any) -> None:
    _host(space, host)[:] = space.arrays.to_host(space.cells[_at(v)])


def _put(space: Space, v: Any, host: Any) -> None:
    space.cells[_at(v)] = space.arrays.from_host(_host(space, ffi.cast("double *", host)))


def _lincomb(space: Space, out: Any, n: int, coef: Any, terms: Any, square: Any) -> bool:
    arrays = [space.cells[_at(terms[i])] for i in range(n)]
    space.cells[_at(out)] = space.arrays.combine([coef[i] for i in range(n)], arrays)
    return False


def _apply(space: Space, operation: int, out: Any, c: float, a: Any, b: Any) -> None:
    cells = space.cells
    second = cells[_at(b)] if b else None
    cells[_at(out)] = space.arrays.apply(operation, c, cells[_at(a)], second)


def _reduce(n: int, pairs: Any, result: Any) -> None:
    try:
        spaces = [_of(pairs[i].space) for i in range(n)]
        cells = [(s.cells[_at(pairs[i].a)], s.cells[_at(pairs[i].b)]) for i, s in enumerate(spaces)]
        for i, value in enumerate(spaces[0].arrays.dots(cells)):
            result[i] = value
    except BaseException as error:
        keep(error)
        for i in range(n):
            result[i] = float("nan")


for _name, _function, _failed in (
    ("create", _create, ffi.NULL),
    ("destroy", _destroy, None),
    ("copy", _copy, None),
    ("fill", _fill, None),
    ("scale", _scale, None),
    ("axpy", _axpy, None),
    ("dot", _dot, float("nan")),
    ("clamp", _clamp, None),
    ("read", _read, None),
    ("put", _put, None),
    ("lincomb", _lincomb, False),
    ("apply", _apply, None),
):
    define(_name, _operation(_function, _failed), _failed)
define("reduce", _reduce, None)
