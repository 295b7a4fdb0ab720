"""implicit() for PyTorch: an autograd function around the two solves.

Inside of torch.func.grad, jacrev and vmap only `forward` sees tensors with numbers in them, so the
level is looked up there.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import torch

from . import _tree
from ._errors import BilevelError
from ._implicit import LowerLevel

Find = Callable[[Any, Any], LowerLevel]  # of flat x and y


class _Solution(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(x: Any, y: Any, find: Find) -> Any:
        return find(x, y).solve(x, y)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, _, ctx.find = inputs
        ctx.save_for_backward(x, output)

    @staticmethod
    def backward(ctx: Any, b: Any) -> Any:
        return _PullBack.apply(*ctx.saved_tensors, b, ctx.find), None, None

    @staticmethod
    def vmap(info: Any, dims: Any, *inputs: Any) -> Any:
        return _each(_Solution, info, dims, inputs)


class _PullBack(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(x: Any, y: Any, b: Any, find: Find) -> Any:
        return find(x, y).pull_back(x, y, b)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, b: Any) -> Any:
        raise BilevelError("implicit: first derivatives only, this is a second one")

    @staticmethod
    def vmap(info: Any, dims: Any, *inputs: Any) -> Any:
        return _each(_PullBack, info, dims, inputs)


def _each(function: Any, info: Any, dims: Any, inputs: Any) -> tuple[Any, int]:
    """One after the other."""
    pairs = list(zip(inputs, dims, strict=True))
    rows = (
        [each if at is None else each.select(at, i) for each, at in pairs]
        for i in range(info.batch_size)
    )
    return torch.stack([function.apply(*row) for row in rows]), 0


def _flat(tree: Any) -> Any:
    return torch.cat([leaf.reshape(-1) for leaf in _tree.leaves(tree)])


def _like(tree: Any, flat: Any) -> Any:
    shapes = [leaf.shape for leaf in _tree.leaves(tree)]
    pieces = flat.split([prod(shape) for shape in shapes])
    return _tree.rebuild(tree, (p.reshape(s) for p, s in zip(pieces, shapes, strict=True)))


def _form(tree: Any) -> tuple[Any, ...]:
    names = _tree.leaf_names(tree, "")
    leaves = _tree.leaves(tree)
    return tuple(
        (name, leaf.shape, leaf.dtype, leaf.device)
        for name, leaf in zip(names, leaves, strict=True)
    )


def apply(level: Any, x: Any, y: Any) -> Any:
    form = _form(x), _form(y)

    def find(flat_x: Any, flat_y: Any) -> Any:
        return level(_like(x, flat_x), _like(y, flat_y), form)

    return _like(y, _Solution.apply(_flat(x), _flat(y).detach(), find))
