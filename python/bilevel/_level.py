"""The variables of one level: their form as the user gave them, and the flat vector of the run.

A level knows how an address that the library hands over becomes what a user's function takes, and
how what such a function returns gets to the address of an output. This file has NumPy's; _torch.py
and _jax.py have the others.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _tree
from ._core import ffi

Flat = npt.NDArray[np.float64]


class Views(dict[int, Any]):
    """Arrays by the address of a vector; made where there is none yet."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, address: int) -> Any:
        made = self[address] = self.make(address)
        return made


class Level:
    """What the levels of all kinds have in common."""

    kind = ""

    def __init__(self, name: str, start: Any) -> None:
        self.name = name  # of the argument, for messages: x0 or y0
        self.letter = name.rstrip("0")
        self.tree = start
        self.leaves = list(_tree.leaves(start))
        self.shapes: list[tuple[int, ...]] = []
        self.single = False  # float32
        self.views: dict[int, Any]

    def _finish(self) -> None:
        self.sizes = [prod(shape) for shape in self.shapes]
        self.ends = list(accumulate(self.sizes))
        self.dim: int = self.ends[-1]
        if self.dim == 0:
            raise ValueError(f"{self.name} is empty")
        # One array of one dimension is the flat vector itself.
        self.plain = self.leaves[0] is self.tree and len(self.shapes[0]) == 1
        if self.leaves[0] is self.tree:
            self.tree = None
        start = self.flat_start()
        if not np.isfinite(start).all():
            raise ValueError(f"{self.name} has a value that is not finite")
        self.start = start

    def flat_start(self) -> Flat:
        raise NotImplementedError

    def pieces(self, flat: Any) -> list[Any]:
        begin, out = 0, []
        for end, shape in zip(self.ends, self.shapes, strict=True):
            out.append(flat[begin:end].reshape(shape))
            begin = end
        return out

    def shape_up(self, flat: Any) -> Any:
        """The user's form of a flat array of any kind."""
        if self.plain:
            return flat
        pieces = self.pieces(flat)
        return pieces[0] if self.tree is None else _tree.rebuild(self.tree, iter(pieces))

    def parts(self, value: Any, who: str) -> list[Any]:
        """The leaves of what a user's function returned, in the order of the start."""
        return [value] if self.tree is None else list(_tree.leaves_like(self.tree, value, who))

    def restore(self, flat: Flat) -> Any:
        """A result in the kind and form of the start."""
        raise NotImplementedError

    def like(self, values: Any) -> Any:
        """Host numbers as a flat array of the level's kind."""
        return values

    def room(self, values: Flat | None) -> tuple[int, Any]:
        """An address as the library hands it over, and what keeps it valid. None: zeros."""
        raise NotImplementedError

    def finite(self, address: int) -> bool:
        raise NotImplementedError

    def put(self, address: int, flat: Any) -> None:
        raise NotImplementedError

    def copy(self, address: int) -> Any:
        """The vector as a flat array that may be kept."""
        raise NotImplementedError

    def make_space(self) -> Any:
        """The space of the vectors; NULL: host memory."""
        return ffi.NULL

    def wrong_shape(self, who: str, got: Any) -> ValueError:
        expected = self.shapes[0] if self.tree is None else [tuple(s) for s in self.shapes]
        return ValueError(f"{who} has shape {got}, expected {expected}, that of {self.name}")


def host_views(dim: int, dtype: np.dtype[Any]) -> Views:
    """Arrays around vectors in host memory. Only for the time of a callback."""
    size = dim * dtype.itemsize

    def make(address: int) -> Any:
        return np.frombuffer(ffi.buffer(ffi.cast("char *", address), size), dtype=dtype)

    return Views(make)


def unmasked(given: Any, who: str) -> npt.NDArray[Any]:
    """As an array; a mask would be lost on the way."""
    if np.ma.is_masked(given):
        raise ValueError(f"{who} has masked values; expected numbers, as filled(0) gives")
    try:
        return np.asarray(given)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{who} is not an array of numbers: {error}") from error


class NumpyLevel(Level):
    kind = "numpy"

    def __init__(self, name: str, start: Any) -> None:
        super().__init__(name, start)
        arrays = []
        names = list(_tree.leaf_names(start, name))
        for leaf, label in zip(self.leaves, names, strict=True):
            array = unmasked(leaf, label)
            if array.dtype.kind not in "fiu" or array.dtype.itemsize not in (4, 8):
                raise TypeError(
                    f"{label} has dtype {array.dtype}; float64 or float32 is needed"
                    if isinstance(leaf, np.ndarray)
                    else f"{label} is a {type(leaf).__name__}; an array of numbers is needed"
                )
            arrays.append(array)
        whole = self.leaves[0] is start
        self.leaves = arrays
        if whole:
            self.tree = arrays[0]
        self.shapes = [array.shape for array in arrays]
        self.single = all(array.dtype == np.float32 for array in arrays)
        self.dtype = np.dtype(np.float32 if self.single else np.float64)
        self._finish()
        self.views = host_views(self.dim, self.dtype)
        # What the user gets: a copy, as the memory of a vector ends with the run.
        self.take: Callable[[Any], Any] = np.ndarray.copy
        if not self.plain:
            self.take = lambda view: self.shape_up(view.copy())

    def flat_start(self) -> Flat:
        return np.concatenate([np.ravel(leaf) for leaf in self.leaves]).astype(np.float64)

    def room(self, values: Flat | None) -> tuple[int, Any]:
        held = np.zeros(self.dim, self.dtype) if values is None else values.astype(self.dtype)
        return held.ctypes.data, held

    def finite(self, address: int) -> bool:
        return bool(np.isfinite(self.views[address]).all())

    def flatten(self, value: Any, who: str) -> npt.NDArray[Any]:
        parts = [unmasked(leaf, who) for leaf in self.parts(value, who)]
        for part in parts:
            if part.dtype.kind not in "fiub":
                raise TypeError(f"{who} is not an array of numbers: dtype {part.dtype}")
        shapes = [part.shape for part in parts]
        if shapes != self.shapes:
            raise self.wrong_shape(who, shapes[0] if self.tree is None else shapes)
        return np.concatenate([part.reshape(-1) for part in parts])

    def put(self, address: int, value: Any, who: str = "") -> None:
        if not (self.plain and type(value) is np.ndarray and value.dtype is self.dtype) or (
            value.shape != self.shapes[0]
        ):
            value = self.flatten(value, who)
        self.views[address][...] = value

    def restore(self, flat: Flat) -> Any:
        return self.shape_up(flat.astype(self.dtype))
