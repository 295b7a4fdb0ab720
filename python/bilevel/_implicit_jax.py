"""implicit() for JAX: a custom derivative around the two solves, which run on the host."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ._implicit import LowerLevel


def _make(lower: LowerLevel, x: Any, y: Any) -> Any:
    """The function of flat arrays."""
    form_x = jax.ShapeDtypeStruct(x.shape, x.dtype)
    form_y = jax.ShapeDtypeStruct(y.shape, y.dtype)

    def host(function: Any, form: Any) -> Any:
        def call(*arrays: Any) -> Any:
            flat = [np.asarray(array, dtype=form.dtype) for array in arrays]
            return np.asarray(function(*flat), dtype=form.dtype)

        return lambda *a: jax.pure_callback(call, form, *a, vmap_method="sequential")

    solve = host(lower.solve, form_y)
    pull_back = host(lower.pull_back, form_x)

    def forward(x: Any, y: Any) -> Any:
        found = solve(x, y)
        return found, (x, found)

    def backward(kept: Any, b: Any) -> Any:
        x, found = kept
        return pull_back(x, found, b), jnp.zeros_like(found)

    solution = jax.custom_vjp(lambda x, y: solve(x, y))
    solution.defvjp(forward, backward)
    return solution


def apply(level: Any, x: Any, y: Any) -> Any:
    flat_x, _ = ravel_pytree(x)
    flat_y, restore = ravel_pytree(y)
    leaves, shape = jax.tree_util.tree_flatten((x, y))
    form = (shape, *((leaf.shape, leaf.dtype) for leaf in leaves))
    with jax.ensure_compile_time_eval():  # g is looked at with numbers, inside of jit too
        lower = level(*_concrete(x, y), form)
    return restore(_make(lower, flat_x, flat_y)(flat_x, flat_y))


def _concrete(x: Any, y: Any) -> tuple[Any, Any]:
    """Arrays of the same form, with numbers in them: inside of jit there are none."""

    def zeros(leaf: Any) -> Any:
        return jax.device_put(np.zeros(leaf.shape, leaf.dtype), jax.devices("cpu")[0])

    made: tuple[Any, Any] = jax.tree_util.tree_map(zeros, (x, y))
    return made
