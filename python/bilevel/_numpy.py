"""Oracles from NumPy functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ._core import ffi
from ._errors import whole
from ._level import NumpyLevel

Function = Callable[..., Any]


def number(value: Any, who: str) -> float:
    """A number, or an array with one."""
    if type(value) is float:
        return value
    try:
        if isinstance(value, str):
            raise TypeError("a text")
        return float(value.item() if isinstance(value, np.ndarray) else value)
    except (TypeError, ValueError, OverflowError) as error:
        shape = f" of shape {value.shape}" if isinstance(value, np.ndarray) else ""
        kind = type(value).__name__
        raise TypeError(f"{who} returned {kind}{shape}, expected a number") from error


class Sum:
    """The samples of one function: turns a batch of the library into the user's third argument."""

    def __init__(self, name: str, samples: int, data: Any) -> None:
        if not isinstance(samples, int | np.integer) or samples < 0:
            hint = f"; rows go into {name}_data" if hasattr(samples, "__len__") else ""
            raise ValueError(f"{name}_samples is {samples!r}, expected a number of samples{hint}")
        self.samples = whole(f"{name}_samples", samples)
        self.data = _by_place(data)
        if data is not None:
            rows = _rows_of(data)
            if not rows:
                raise ValueError(f"{name}_data: an indexable or arrays of one length are needed")
            if samples not in (0, rows):
                raise ValueError(f"{name}_samples is {samples}, but {name}_data has {rows} rows")
            self.samples = rows
        self.whole: Any = None

    def indices(self, batch: Any) -> Any:
        if batch == ffi.NULL:
            return np.arange(self.samples)
        if batch.index == ffi.NULL:
            return np.arange(batch.first, batch.first + batch.count)
        memory = ffi.buffer(batch.index, batch.count * ffi.sizeof("size_t"))
        return np.frombuffer(memory, dtype=np.uintp).astype(np.int64)

    def convert(self, index: Any) -> Any:
        """Indices in the kind of array that the user's functions take."""
        return index

    def arguments(self, batch: Any) -> tuple[Any, ...]:
        if not self.samples:
            return ()
        if batch == ffi.NULL:
            if self.whole is None:
                self.whole = self.chosen(self.indices(batch))
            return (self.whole,)
        return (self.chosen(self.indices(batch)),)

    def chosen(self, index: Any) -> Any:
        data = self.data
        if data is None:
            return self.convert(index)
        if hasattr(data, "collate_fn"):  # a DataLoader of PyTorch
            return self.collate([data.dataset[i] for i in index.tolist()], data.collate_fn)
        if isinstance(data, tuple):
            return tuple(self.rows(part, index) for part in data)
        if isinstance(data, Mapping):
            return {key: self.rows(part, index) for key, part in data.items()}
        return self.rows(data, index)

    def rows(self, data: Any, index: Any) -> Any:
        if self.one_by_one(data):
            return self.collate([data[i] for i in index.tolist()])
        return data[self.convert(index)]

    def one_by_one(self, data: Any) -> bool:
        """It gives a row for a number, not rows for an array of numbers."""
        return isinstance(data, list)

    def collate(self, rows: list[Any], collate: Function | None = None) -> Any:
        """Rows as one batch."""
        if collate:
            return collate(rows)
        if isinstance(rows[0], tuple):
            return tuple(np.stack(part) for part in zip(*rows, strict=True))
        return np.stack(rows)


def _by_place(data: Any) -> Any:
    """With data frames of pandas as what gives rows by their place."""
    if isinstance(data, tuple):
        return tuple(_by_place(part) for part in data)
    return getattr(data, "iloc", data)


def _rows_of(data: Any) -> int | None:
    """None: it has no rows, or parts of several lengths."""
    if hasattr(data, "collate_fn"):  # the length of a DataLoader is that in batches
        data = data.dataset
    parts = data if isinstance(data, tuple) else (data,)
    if isinstance(data, Mapping):
        parts = tuple(data.values())
    try:  # the length of a sparse matrix is not that of its first dimension
        lengths = {
            (part.shape or (0,))[0] if hasattr(part, "shape") else len(part) for part in parts
        }
    except TypeError:
        return None
    texts = any(isinstance(part, str | bytes) for part in parts)
    return lengths.pop() if len(lengths) == 1 and not texts else None


class Oracles:
    """What the oracles of all kinds have in common."""

    projection: Any = None  # onto X
    projects_flat = False  # it takes and returns the vector, not the user's form of it
    has_hvp = has_cross = True
    newton = False  # products with H are asked for where the gradient of g was
    fresh = False  # nothing of the user's has run since the look at the start
    upper_sum: Sum
    lower_sum: Sum


class NumpyOracles(Oracles):
    bounds_projection = staticmethod(lambda lo, hi: lambda x: np.clip(x, lo, hi))

    def __init__(
        self,
        f: Function,
        g: Function,
        levels: tuple[NumpyLevel, NumpyLevel],
        sums: tuple[Sum, Sum],
        grad_f: Function | None,
        grad_g: Function | None,
        hvp: Function | None,
        jvp: Function | None,
    ) -> None:
        self.f, self.g, self.hvp, self.jvp = f, g, hvp, jvp
        self.x, self.y = levels
        self.upper_sum, self.lower_sum = sums
        self.grad_f, self.grad_g = grad_f, grad_g
        self.has_hvp, self.has_cross = hvp is not None, jvp is not None

    def upper(self, batch: Any, x: int, y: int, f: Any, fx: int, fy: int) -> None:
        self._first(self.f, self.grad_f, "f", self.upper_sum.arguments(batch), x, y, f, fx, fy)

    def lower(self, batch: Any, x: int, y: int, g: Any, gx: int, gy: int) -> None:
        self._first(self.g, self.grad_g, "g", self.lower_sum.arguments(batch), x, y, g, gx, gy)

    def _first(
        self,
        function: Function,
        gradient: Function | None,
        name: str,
        samples: tuple[Any, ...],
        x: int,
        y: int,
        value: Any,
        dx: int,
        dy: int,
    ) -> None:
        at_x, at_y = self.x.views[x], self.y.views[y]
        take_x, take_y = self.x.take, self.y.take
        if gradient is None:
            given = function(take_x(at_x), take_y(at_y), *samples)
            if type(given) is not tuple or len(given) != 3:
                raise _not_three(name, given)
            if value:
                value[0] = number(given[0], name)
            in_x, in_y = given[1:]
        else:
            if value:
                value[0] = number(function(take_x(at_x), take_y(at_y), *samples), name)
            if not dx and not dy:
                return
            pair = gradient(take_x(at_x), take_y(at_y), *samples)
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise _not_two(name, pair)
            in_x, in_y = pair
        if dx:
            self.x.put(dx, in_x, f"the gradient of {name} in x")
        if dy:
            self.y.put(dy, in_y, f"the gradient of {name} in y")

    def all(self, batch: Any, x: int, y: int, v: int, gy: int, hv: int, jv: int) -> None:
        samples = self.lower_sum.arguments(batch)
        at_x, at_y, along = self.x.views[x], self.y.views[y], self.y.views[v]
        take_x, take_y = self.x.take, self.y.take
        if gy:
            if self.grad_g is None:
                given = self.g(take_x(at_x), take_y(at_y), *samples)
                if type(given) is not tuple or len(given) != 3:
                    raise _not_three("g", given)
            else:
                given = self.grad_g(take_x(at_x), take_y(at_y), *samples)
                if not isinstance(given, tuple | list) or len(given) != 2:
                    raise _not_two("g", given)
            self.y.put(gy, given[-1], "the gradient of g in y")
        if hv and self.hvp:
            given = self.hvp(take_x(at_x), take_y(at_y), take_y(along), *samples)
            self.y.put(hv, given, "what hvp returned")
        if jv and self.jvp:
            given = self.jvp(take_x(at_x), take_y(at_y), take_y(along), *samples)
            self.x.put(jv, given, "what jvp returned")

    def project(self, x: int) -> None:
        if self.projects_flat:
            view = self.x.views[x]
            view[...] = self.projection(view)
        else:
            self.x.put(x, self.projection(self.x.take(self.x.views[x])), "what project returned")

    @staticmethod
    def simplex_projection(total: float) -> Callable[[Any], Any]:
        """Onto {x >= 0, sum of x = total}: sorted values, and the shift that leaves the total."""

        def project(x: Any) -> Any:
            falling = np.sort(x)[::-1]
            shifts = (np.cumsum(falling) - total) / np.arange(1, x.size + 1)
            kept = np.count_nonzero(falling > shifts)
            return np.maximum(x - shifts[kept - 1], 0.0) if kept else x  # none: x is not finite

        return project

    def begin(self) -> None:
        """A run begins: addresses of earlier ones mean nothing any more."""
        self.x.views.clear()
        self.y.views.clear()


def _not_three(name: str, given: Any) -> TypeError:
    return TypeError(
        f"{name} returned {_form(given)}, expected (value, gradient in x, gradient in y); or give "
        f"grad_{name}"
    )


def _not_two(name: str, given: Any) -> TypeError:
    return TypeError(f"grad_{name} returned {_form(given)}, expected a pair of gradients")


def _form(value: Any) -> str:
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return f"a {type(value).__name__}"
