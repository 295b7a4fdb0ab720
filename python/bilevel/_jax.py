"""Oracles from JAX functions: derivatives by jax.grad and jax.jvp, each compiled once.

On the CPU the compiled functions read the library's vectors; on any other device vectors are arrays
there (_space.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import _space, _tree
from ._core import ffi, lib
from ._level import Flat, Level, host_views
from ._numpy import Oracles, Sum

ALWAYS_DEVICE = False  # for tests: use the space of a device on the CPU too


def _sum_of(coefficients: Any, terms: Any) -> Any:
    out = coefficients[0] * terms[0]
    for i in range(1, len(terms)):
        out = out + coefficients[i] * terms[i]
    return out


def _products_of(pairs: Any) -> Any:
    return jnp.stack([jnp.vdot(a, b, precision="highest") for a, b in pairs])


_combine, _dots = jax.jit(_sum_of), jax.jit(_products_of)


class JaxArrays(_space.Arrays):
    def __init__(self, like: Any) -> None:
        self.dtype, self.device = like.dtype, next(iter(like.devices()))

    def from_host(self, values: Any) -> Any:
        return jax.device_put(np.array(values, dtype=self.dtype), self.device)

    def zeros(self, dim: int) -> Any:
        return self.from_host(np.zeros(dim))

    def combine(self, coefficients: list[float], terms: list[Any]) -> Any:
        return _combine(np.array(coefficients, dtype=self.dtype), terms)

    def apply(self, operation: int, c: float, a: Any, b: Any) -> Any:
        if operation == lib.BLV_PRODUCT:
            return c * a * b
        if operation == lib.BLV_QUOTIENT:
            return a / (b + c)
        if operation == lib.BLV_SQRT:
            return jnp.sqrt(c * a)
        if operation == lib.BLV_SIGMOID:
            return jax.nn.sigmoid(c * a)
        if operation == lib.BLV_LEAST:
            return jnp.maximum(a, b)
        if operation == lib.BLV_MOST:
            return jnp.minimum(a, b)
        if operation == lib.BLV_EXCESS:
            return jnp.maximum(a - c, 0)
        return jnp.where(jnp.isnan(a), a, (a > c).astype(a.dtype))

    def clip(self, a: Any, lo: float, hi: float) -> Any:
        return jnp.clip(a, lo, hi)

    def dots(self, pairs: list[tuple[Any, Any]]) -> list[float]:
        fetched: list[float] = np.asarray(_dots(pairs)).tolist()
        return fetched

    def to_host(self, a: Any) -> Any:
        return np.asarray(a)


class JaxLevel(Level):
    kind = "jax"

    def __init__(self, name: str, start: Any) -> None:
        super().__init__(name, start)
        first = self.leaves[0]
        for leaf, label in zip(self.leaves, _tree.leaf_names(start, name), strict=True):
            if not isinstance(leaf, jax.Array):
                raise TypeError(f"{label} is a {type(leaf).__name__}, expected a JAX array")
            if leaf.dtype not in (np.float32, np.float64):
                raise TypeError(f"{label} has dtype {leaf.dtype}; float32 or float64 is needed")
            if leaf.dtype != first.dtype:
                raise TypeError(f"{label} has dtype {leaf.dtype}, others {first.dtype}")
            if leaf.devices() != first.devices():
                raise ValueError(f"{label} is on {leaf.devices()}, others are on {first.devices()}")
        self.shapes = [tuple(leaf.shape) for leaf in self.leaves]
        self.single = first.dtype == np.float32
        self.dtype = np.dtype(first.dtype)
        self.devices = first.devices()
        self.device = next(iter(self.devices))
        self.on_host = self.device.platform == "cpu" and not ALWAYS_DEVICE
        self._finish()
        self.space: _space.Space | None = None
        self.views = host_views(self.dim, self.dtype)
        if not self.on_host:
            self.space = _space.Space(JaxArrays(first), self.dim)
            self.views = self.space.cells

    def flat_start(self) -> Flat:
        return np.concatenate([np.asarray(leaf, np.float64).ravel() for leaf in self.leaves])

    def make_space(self) -> Any:
        return ffi.NULL if self.space is None else self.space.create(self.single)

    def room(self, values: Flat | None) -> tuple[int, Any]:
        held = np.zeros(self.dim, self.dtype) if values is None else values.astype(self.dtype)
        if not self.on_host:
            self.views[held.ctypes.data] = jax.device_put(held, self.device)
        return held.ctypes.data, held

    def finite(self, address: int) -> bool:
        return bool(np.isfinite(np.asarray(self.views[address])).all())

    def copy(self, address: int) -> Any:
        return np.array(self.views[address]) if self.on_host else self.views[address]

    def put(self, address: int, flat: Any) -> None:
        if self.on_host:
            self.views[address][:] = np.asarray(flat)
        else:
            self.views[address] = flat

    def restore(self, flat: Flat) -> Any:
        return self.shape_up(jax.device_put(flat.astype(self.dtype), self.device))

    def like(self, values: Any) -> Any:
        return np.asarray(values, dtype=self.dtype)


class JaxSum(Sum):
    def convert(self, index: Any) -> Any:
        return jnp.asarray(index)


class JaxOracles(Oracles):
    def __init__(
        self,
        f: Callable[..., Any],
        g: Callable[..., Any],
        levels: tuple[JaxLevel, JaxLevel],
        sums: tuple[JaxSum, JaxSum],
    ) -> None:
        self.x, self.y = levels
        self.upper_sum, self.lower_sum = sums
        flat_f, flat_g = self._flat("f", f), self._flat("g", g)
        self.values = jax.jit(flat_f), jax.jit(flat_g)
        self.gradients = tuple(
            jax.jit(jax.value_and_grad(function, (0, 1))) for function in (flat_f, flat_g)
        )

        def products(x: Any, y: Any, v: Any, *samples: Any) -> tuple[Any, Any, Any]:
            """Along v in y the two gradients of g change by J v and H v."""

            def slopes(at: Any) -> Any:
                return jax.grad(flat_g, (0, 1))(x, at, *samples)

            (_, gy), (jv, hv) = jax.jvp(slopes, (y,), (v,))
            return gy, hv, jv

        self.products = jax.jit(products)
        self.hvp = jax.jit(lambda *a: products(*a)[1])  # XLA leaves out what is not returned
        self.jvp = jax.jit(lambda *a: products(*a)[2])

    def _flat(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(x: Any, y: Any, *samples: Any) -> Any:
            given = function(self.x.shape_up(x), self.y.shape_up(y), *samples)
            try:
                result = jnp.asarray(given)
            except (TypeError, ValueError) as error:
                kind = type(given).__name__
                raise TypeError(f"{name} returned a {kind}, expected a scalar array") from error
            if not jnp.issubdtype(result.dtype, jnp.floating):
                raise TypeError(f"{name} returned {result.dtype}, expected floating-point numbers")
            if result.size != 1:
                raise ValueError(
                    f"{name} returned an array of shape {result.shape}, expected one element"
                )
            return result.reshape(())

        return call

    def upper(self, batch: Any, x: int, y: int, f: Any, fx: int, fy: int) -> None:
        self._first(0, self.upper_sum.arguments(batch), x, y, f, fx, fy)

    def lower(self, batch: Any, x: int, y: int, g: Any, gx: int, gy: int) -> None:
        self._first(1, self.lower_sum.arguments(batch), x, y, g, gx, gy)

    def _first(
        self, which: int, samples: tuple[Any, ...], x: int, y: int, value: Any, dx: int, dy: int
    ) -> None:
        at = self.x.views[x], self.y.views[y]
        if not dx and not dy:
            value[0] = float(self.values[which](*at, *samples))
            return
        result, (in_x, in_y) = self.gradients[which](*at, *samples)
        if dx:
            self.x.put(dx, in_x)
        if dy:
            self.y.put(dy, in_y)
        if value:
            value[0] = float(result)

    def all(self, batch: Any, x: int, y: int, v: int, gy: int, hv: int, jv: int) -> None:
        samples = self.lower_sum.arguments(batch)
        at = self.x.views[x], self.y.views[y], self.y.views[v]
        if hv and not gy and not jv:
            self.y.put(hv, self.hvp(*at, *samples))
        elif jv and not gy and not hv:
            self.x.put(jv, self.jvp(*at, *samples))
        else:
            out = self.products(*at, *samples)
            for level, address, array in zip(
                (self.y, self.y, self.x), (gy, hv, jv), out, strict=True
            ):
                if address:
                    level.put(address, array)

    def project(self, x: int) -> None:
        projected: Any
        if self.projects_flat:
            projected = self.projection(self.x.views[x])
        else:
            given = self.projection(self.x.shape_up(jnp.array(self.x.views[x])))
            parts = self.x.parts(given, "what project returned")
            if not all(hasattr(part, "shape") for part in parts):
                raise TypeError(f"project returned a {type(given).__name__}, expected arrays")
            shapes = [tuple(part.shape) for part in parts]
            if shapes != self.x.shapes:
                raise self.x.wrong_shape("what project returned", shapes)
            projected = jnp.concatenate([jnp.ravel(part) for part in parts])
        self.x.put(x, projected)

    @staticmethod
    def bounds_projection(lo: Any, hi: Any) -> Callable[[Any], Any]:
        clip: Callable[[Any], Any] = jax.jit(lambda x: jnp.clip(x, lo, hi))
        return clip

    @staticmethod
    def simplex_projection(total: float) -> Callable[[Any], Any]:
        def project(x: Any) -> Any:
            falling = jnp.sort(x)[::-1]
            shifts = (jnp.cumsum(falling) - total) / jnp.arange(1, x.size + 1)
            kept = jnp.maximum((falling > shifts).sum(), 1)
            return jnp.maximum(x - shifts[kept - 1], 0)

        compiled: Callable[[Any], Any] = jax.jit(project)
        return compiled

    def begin(self) -> None:
        if self.x.on_host:
            self.x.views.clear()
            self.y.views.clear()


def make_oracles(
    f: Any, g: Any, x0: Any, y0: Any, sums: tuple[tuple[str, int, Any], ...]
) -> JaxOracles:
    x, y = JaxLevel("x0", x0), JaxLevel("y0", y0)
    if x.devices != y.devices:
        raise ValueError(f"y0 is on {y.devices}, x0 on {x.devices}: both must be on one device")
    return JaxOracles(f, g, (x, y), (JaxSum(*sums[0]), JaxSum(*sums[1])))
