"""implicit() for PyTorch: an autograd function around the two solves."""

from __future__ import annotations

from typing import Any

import torch

from . import _tree
from ._implicit import LowerLevel


class _Solution(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any, level: LowerLevel) -> Any:
        found = level.solve(x, y)
        ctx.save_for_backward(x, found)
        ctx.level = level
        return found

    @staticmethod
    def backward(ctx: Any, b: Any) -> Any:
        x, y = ctx.saved_tensors
        return ctx.level.pull_back(x, y, b), None, None


def _flat(tree: Any) -> Any:
    return torch.cat([leaf.reshape(-1) for leaf in _tree.leaves(tree)])


def _form(tree: Any) -> tuple[Any, ...]:
    names = _tree.leaf_names(tree, "")
    leaves = _tree.leaves(tree)
    return tuple(
        (name, leaf.shape, leaf.dtype, leaf.device)
        for name, leaf in zip(names, leaves, strict=True)
    )


def apply(level: Any, x: Any, y: Any) -> Any:
    lower = level(x, y, (_form(x), _form(y)))
    found = _Solution.apply(_flat(x), _flat(y).detach(), lower)
    return lower.problem.y.shape_up(found)
