"""Oracles from PyTorch functions: derivatives by autograd, vectors in the memory of the device.

On the CPU the library's own vectors are used, and PyTorch reads and writes their memory. On any
other device vectors are tensors there (_space.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import numpy as np
import torch

from . import _space, _tree
from ._core import ffi, lib
from ._level import Flat, Level, Views
from ._numpy import Oracles, Sum

ALWAYS_DEVICE = False  # for tests: use the space of a device on the CPU too


class TorchArrays(_space.Arrays):
    def __init__(self, like: Any) -> None:
        self.dtype, self.device = like.dtype, like.device

    def zeros(self, dim: int) -> Any:
        return torch.zeros(dim, dtype=self.dtype, device=self.device)

    def combine(self, coefficients: list[float], terms: list[Any]) -> Any:
        a, first = coefficients[0], terms[0]
        if len(terms) == 1:
            return first.clone() if a == 1.0 else torch.mul(first, a)
        b, second = coefficients[1], terms[1]
        if a == 1.0:
            out = torch.add(first, second, alpha=b)
        elif b == 1.0:
            out = torch.add(second, first, alpha=a)
        else:
            out = torch.mul(first, a).add_(second, alpha=b)
        for c, term in zip(coefficients[2:], terms[2:], strict=True):
            out.add_(term, alpha=c)
        return out

    def apply(self, operation: int, c: float, a: Any, b: Any) -> Any:
        if operation == lib.BLV_PRODUCT:
            return torch.mul(a, b).mul_(c)
        if operation == lib.BLV_QUOTIENT:
            return a / (b + c)
        if operation == lib.BLV_SQRT:
            return torch.sqrt(c * a)
        if operation == lib.BLV_SIGMOID:
            return torch.sigmoid(c * a)
        if operation == lib.BLV_LEAST:
            return torch.maximum(a, b)
        if operation == lib.BLV_MOST:
            return torch.minimum(a, b)
        if operation == lib.BLV_EXCESS:
            return torch.clamp(a - c, min=0.0)
        return torch.where(torch.isnan(a), a, (a > c).to(a.dtype))

    def clip(self, a: Any, lo: float, hi: float) -> Any:
        return torch.clamp(a, lo, hi)

    def dots(self, pairs: list[tuple[Any, Any]]) -> list[float]:
        out = []
        for a, b in pairs:
            if a is b:
                out.append(torch.linalg.vector_norm(a, dtype=torch.float64).square())
            else:
                out.append(torch.dot(a.double(), b.double()))
        fetched: list[float] = torch.stack(out).tolist()
        return fetched

    def to_host(self, a: Any) -> Any:
        return a.double().cpu().numpy()

    def from_host(self, values: Any) -> Any:
        return torch.tensor(values, dtype=self.dtype, device=self.device)


class TorchLevel(Level):
    kind = "torch"

    def __init__(self, name: str, start: Any) -> None:
        super().__init__(name, start)
        first = self.leaves[0]
        for leaf, label in zip(self.leaves, _tree.leaf_names(start, name), strict=True):
            if not isinstance(leaf, torch.Tensor):
                hint = ": give its parameters()" if hasattr(leaf, "parameters") else ""
                raise TypeError(f"{label} is a {type(leaf).__name__}, expected a tensor{hint}")
            if leaf.device != first.device:
                raise ValueError(f"{label} is on device {leaf.device}, others on {first.device}")
            if leaf.layout != torch.strided or leaf.is_meta:
                raise TypeError(
                    f"{label} is a tensor without elements in a row, expected a dense one"
                )
            if leaf.dtype not in (torch.float32, torch.float64):
                raise TypeError(f"{label} has dtype {leaf.dtype}; float64 or float32 is needed")
            if leaf.dtype != first.dtype:
                raise TypeError(f"{label} has dtype {leaf.dtype}, others {first.dtype}")
        self.shapes = [tuple(leaf.shape) for leaf in self.leaves]
        self.single = first.dtype == torch.float32
        self.dtype, self.device = first.dtype, first.device
        self.on_host = first.device.type == "cpu" and not ALWAYS_DEVICE
        self._finish()
        self.bytes = self.dim * first.element_size()
        self.space: _space.Space | None = None
        self.views = Views(self.host_view)
        self.zeros = torch.zeros(self.dim, dtype=self.dtype, device=self.device)
        self.held: Any = None  # the last point
        if not self.on_host:
            self.space = _space.Space(TorchArrays(first), self.dim)
            self.views = self.space.cells

    def flat_start(self) -> Flat:
        flat = torch.cat([leaf.detach().reshape(-1) for leaf in self.leaves])
        values: Flat = flat.double().cpu().numpy()
        return values

    def make_space(self) -> Any:
        return ffi.NULL if self.space is None else self.space.create(self.single)

    def host_view(self, address: int) -> Any:
        return torch.frombuffer(
            ffi.buffer(ffi.cast("char *", address), self.bytes), dtype=self.dtype
        )

    def room(self, values: Flat | None) -> tuple[int, Any]:
        held = torch.tensor(
            np.zeros(self.dim) if values is None else values, dtype=self.dtype, device=self.device
        )
        if not self.on_host:
            self.views[held.data_ptr()] = held
        return held.data_ptr(), held

    def finite(self, address: int) -> bool:
        values = self.views[address]
        return isfinite(values.sum().item()) or bool(torch.isfinite(values).all())

    def point(self, address: int) -> Any:
        """The vector as a leaf of autograd that may be kept: library memory ends with the run. It
        is the same tensor as before where the vector has not changed."""
        held = self.held
        if held is not None and self.is_at(address, held):
            return held
        if self.on_host:
            made = torch.empty(self.dim, dtype=self.dtype, device=self.device)
            lib.blv_py_move(made.data_ptr(), address, self.bytes)
        else:
            made = self.views[address].detach()
            if made.is_inference():  # solve was called in inference mode
                made = made.clone()
        self.held = made.requires_grad_()
        return made

    def is_at(self, address: int, point: Any) -> bool:
        """Whether the vector has not changed since it was this point."""
        origin = point.data_ptr()
        if self.on_host:
            return bool(lib.blv_py_same(address, origin, self.bytes))
        return bool(self.views[address].data_ptr() == origin)  # replaced there, not changed

    def copy(self, address: int) -> Any:
        return self.point(address).detach()

    def put(self, address: int, flat: Any) -> None:
        """None: zeros."""
        if flat is None:
            flat = self.zeros
        if not self.on_host:
            self.views[address] = flat.detach()
        elif flat.layout is torch.strided and flat.is_contiguous() and not flat.is_neg():
            lib.blv_py_move(address, flat.data_ptr(), self.bytes)
        else:
            self.views[address].copy_(flat.detach())

    def restore(self, flat: Flat) -> Any:
        return self.shape_up(torch.tensor(flat, dtype=self.dtype, device=self.device))

    def like(self, values: Any) -> Any:
        return torch.as_tensor(np.asarray(values), dtype=self.dtype, device=self.device)


class TorchSum(Sum):
    device: Any = None

    def convert(self, index: Any) -> Any:
        if self.device.type != "cuda":
            return torch.as_tensor(index, device=self.device)
        # from memory that the device reads by itself, or each batch would wait for the last step
        return torch.from_numpy(index).pin_memory().to(self.device, non_blocking=True)

    def one_by_one(self, data: Any) -> bool:
        rows = torch.utils.data
        whole = isinstance(data, rows.TensorDataset)
        return isinstance(data, list | rows.Dataset) and not whole

    def collate(self, rows: list[Any], collate: Callable[..., Any] | None = None) -> Any:
        batch = (collate or torch.utils.data.default_collate)(rows)
        leaves = _tree.leaves(batch)
        parts = (leaf.to(self.device) if hasattr(leaf, "to") else leaf for leaf in leaves)
        return _tree.rebuild(batch, parts)


class TorchOracles(Oracles):
    def __init__(
        self,
        f: Callable[..., Any],
        g: Callable[..., Any],
        levels: tuple[TorchLevel, TorchLevel],
        sums: tuple[TorchSum, TorchSum],
    ) -> None:
        self.f, self.g = f, g
        self.x, self.y = levels
        self.upper_sum, self.lower_sum = sums
        self.kept: tuple[Any, Any, Any, Any] | None = None
        self.at_first: dict[str, tuple[Any, ...]] = {}  # f and g at the start, until it is left
        self.at_start = True  # where a function that depends on nothing is an error
        self.differentiates = False  # f or g takes derivatives itself, and needs a graph for it
        for each in sums:
            each.device = self.x.device

    def upper(self, batch: Any, x: int, y: int, f: Any, fx: int, fy: int) -> None:
        self._first(self.f, "f", self.upper_sum, batch, x, y, f, fx, fy)

    def lower(self, batch: Any, x: int, y: int, g: Any, gx: int, gy: int) -> None:
        if self.newton and gy and not batch:
            self._lower_with_graph(x, y, g, gx, gy)
        else:
            self._first(self.g, "g", self.lower_sum, batch, x, y, g, gx, gy)

    def _lower_with_graph(self, x: int, y: int, g: Any, gx: int, gy: int) -> None:
        """What `all` would build at this point, where it is asked for next."""
        if torch.is_inference_mode_enabled():
            with torch.inference_mode(False):
                return self._lower_with_graph(x, y, g, gx, gy)
        gradient, at_x, _, value = self._gradient(ffi.NULL, x, y)
        if self.at_start and gradient is self.y.zeros:
            raise _depends_on_nothing("g")
        if g:
            g[0] = value.item()
        self.y.put(gy, gradient)
        if gx:
            self.x.put(gx, _gradients(value, (at_x,), retain_graph=True)[0])

    def _first(
        self,
        function: Callable[..., Any],
        name: str,
        terms: Sum,
        batch: Any,
        x: int,
        y: int,
        value: Any,
        dx: int,
        dy: int,
    ) -> None:
        if torch.is_inference_mode_enabled():
            with torch.inference_mode(False):
                return self._first(function, name, terms, batch, x, y, value, dx, dy)
        own = self.differentiates
        at_x, at_y = self.x.point(x), self.y.point(y)
        if self.at_first and not batch:
            known = self.at_first.pop(name, None)
            if known and known[0] is at_x and known[1] is at_y:
                self.at_first[name] = known
                self._give(known[2], known[3:], value, dx, dy)
                return
        samples = terms.arguments(batch)
        wanted = (at_x,) * bool(dx) + (at_y,) * bool(dy)
        if not own:
            at_x, at_y = at_x if dx else at_x.detach(), at_y if dy else at_y.detach()
        try:
            result = self._value(function, name, at_x, at_y, samples, bool(wanted) or own)
        except RuntimeError as error:
            if own or "does not require grad" not in str(error):
                raise
            self.differentiates = True
            return self._first(function, name, terms, batch, x, y, value, dx, dy)
        gradients = _gradients(result, wanted)
        if self.at_start:
            if gradients[-1] is None and (name == "g" or gradients[0] is None):
                raise _depends_on_nothing(name)
            self.at_first[name] = at_x, at_y, result.detach(), *gradients
        self._give(result, gradients, value, dx, dy)

    def _give(self, result: Any, gradients: Sequence[Any], value: Any, dx: int, dy: int) -> None:
        if value:
            value[0] = result.item()
        if dy:
            self.y.put(dy, gradients[-1])
        if dx:
            self.x.put(dx, gradients[0])

    def _value(
        self,
        function: Callable[..., Any],
        name: str,
        x: Any,
        y: Any,
        samples: tuple[Any, ...],
        graph: bool = True,
    ) -> Any:
        if torch.is_grad_enabled() is not graph:
            with torch.set_grad_enabled(graph):
                return self._value(function, name, x, y, samples, graph)
        result = function(self.x.shape_up(x), self.y.shape_up(y), *samples)
        if not isinstance(result, torch.Tensor):
            kind = type(result).__name__
            raise TypeError(f"{name} returned a {kind}, expected a tensor with one element")
        if result.is_complex():
            raise TypeError(f"{name} returned a tensor of {result.dtype}, expected a real number")
        if result.device != self.x.device:
            raise ValueError(
                f"{name} returned a tensor on {result.device}, x0 is on {self.x.device}"
            )
        if result.ndim == 0:  # without a node more in the graph
            return result
        if result.numel() != 1:
            shape = tuple(result.shape)
            raise ValueError(f"{name} returned a tensor of shape {shape}, expected one element")
        return result.reshape(())

    def all(self, batch: Any, x: int, y: int, v: int, gy: int, hv: int, jv: int) -> None:
        """One backward pass through the gradient in y gives both products."""
        if torch.is_inference_mode_enabled():
            with torch.inference_mode(False):
                return self.all(batch, x, y, v, gy, hv, jv)
        gradient, at_x, at_y, _ = self._gradient(batch, x, y)
        if gy:
            self.y.put(gy, gradient)
        wanted = (at_y,) * bool(hv) + (at_x,) * bool(jv)
        products = _gradients(gradient, wanted, self.y.views[v], retain_graph=not batch)
        if hv:
            self.y.put(hv, products[0])
        if jv:
            self.x.put(jv, products[-1])

    def _gradient(self, batch: Any, x: int, y: int) -> tuple[Any, Any, Any, Any]:
        """The gradient of g in y with its graph, the point and g. That of all samples is kept:
        linear solvers ask for many products at one point."""
        kept = self.kept
        if kept and not batch and self.x.is_at(x, kept[1]) and self.y.is_at(y, kept[2]):
            return kept
        kept = self.kept = None  # frees the old graph before there is a new one
        at_x, at_y = self.x.point(x), self.y.point(y)
        value = self._value(self.g, "g", at_x, at_y, self.lower_sum.arguments(batch))
        gradient = _gradients(value, (at_y,), create_graph=True)[0]
        if gradient is None:
            gradient = self.y.zeros
        if not batch:
            self.kept = gradient, at_x, at_y, value
        return gradient, at_x, at_y, value

    def project(self, x: int) -> None:
        projected: Any
        if self.projects_flat:
            projected = self.projection(self.x.views[x])
        else:
            given = self.projection(self.x.shape_up(self.x.copy(x)))
            parts = self.x.parts(given, "what project returned")
            if not all(isinstance(part, torch.Tensor) for part in parts):
                raise TypeError(f"project returned a {type(given).__name__}, expected tensors")
            shapes = [tuple(part.shape) for part in parts]
            if shapes != self.x.shapes:
                raise self.x.wrong_shape("what project returned", shapes)
            projected = torch.cat([part.detach().reshape(-1) for part in parts])
        # of other precision or on another device it must not be taken for the vector's elements
        self.x.put(x, projected.to(self.x.device, self.x.dtype))

    @staticmethod
    def bounds_projection(lo: Any, hi: Any) -> Callable[[Any], Any]:
        return lambda x: torch.clamp(x, lo, hi)

    @staticmethod
    def simplex_projection(total: float) -> Callable[[Any], Any]:
        def project(x: Any) -> Any:
            falling = torch.sort(x, descending=True).values
            places = torch.arange(1, x.numel() + 1, dtype=x.dtype, device=x.device)
            shifts = (torch.cumsum(falling, 0) - total) / places
            kept = (falling > shifts).sum().clamp(min=1)
            return torch.clamp(x - shifts.gather(0, (kept - 1).reshape(1)), min=0.0)

        return project

    def begin(self) -> None:
        self.at_start = False
        if not self.fresh:
            self.kept = None
            self.at_first.clear()
        for level in (self.x, self.y):
            if not self.fresh:
                level.held = None
            if level.on_host:
                level.views.clear()


def _depends_on_nothing(name: str) -> ValueError:
    what = "y" if name == "g" else "x or y"
    return ValueError(
        f"{name} returned a tensor that does not depend on {what}: detach(), item() and no_grad() "
        "cut the graph of autograd"
    )


_engine: Any = getattr(torch.autograd.Variable, "_execution_engine", None)
_ones: dict[Any, Any] = {}  # the number 1 by type and device


def _gradients(
    of: Any,
    inputs: tuple[Any, ...],
    weights: Any = None,
    create_graph: bool = False,
    retain_graph: bool = False,
) -> Sequence[Any]:
    """None where it does not depend on an input.

    This is what torch.autograd.grad comes to for one plain tensor, without its checks of what it is
    given and the zeros that it makes, which take 15 us each: more than many a kernel.
    """
    if not inputs or not of.requires_grad:
        return (None,) * len(inputs)
    if weights is None:
        kind = of.dtype, of.device
        if kind not in _ones:
            _ones[kind] = torch.ones((), dtype=of.dtype, device=of.device)
        weights = _ones[kind]
    keep = create_graph or retain_graph
    found: Sequence[Any]
    if _engine is None or type(of) is not torch.Tensor:
        found = torch.autograd.grad(
            of, inputs, weights, keep, create_graph=create_graph, allow_unused=True
        )
    else:
        found = _engine.run_backward(
            (of,),
            (weights,),
            keep,
            create_graph,
            inputs,
            allow_unreachable=True,
            accumulate_grad=False,
        )
    return found


def make_oracles(
    f: Any, g: Any, x0: Any, y0: Any, sums: tuple[tuple[str, int, Any], ...]
) -> TorchOracles:
    devices = [getattr(next(_tree.leaves(start), None), "device", None) for start in (x0, y0)]
    if None not in devices and devices[0] != devices[1]:
        raise ValueError(f"y0 is on device {devices[1]}, x0 on {devices[0]}: both must be on one")
    levels = TorchLevel("x0", x0), TorchLevel("y0", y0)
    return TorchOracles(f, g, levels, (TorchSum(*sums[0]), TorchSum(*sums[1])))
