"""The list of solvers, and solvers written in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ._core import ffi, lib
from ._errors import c_text, check, new_message, owned, text


@dataclass(frozen=True)
class Parameter:
    name: str
    default: str
    allowed: str
    help: str


@dataclass(frozen=True)
class Solver:
    """A built-in solver. needs: "hvp", "jvp" and "inverse", as far as it uses them."""

    name: str
    summary: str
    group: str
    citation: str
    stochastic: bool
    needs: tuple[str, ...]
    parameters: tuple[Parameter, ...]

    def __str__(self) -> str:
        return f"{self.name}: {self.summary}"


def _parameters(table: Any) -> tuple[Parameter, ...]:
    found: list[Parameter] = []
    room = ffi.new("char[256]")
    while table != ffi.NULL and table[len(found)].key != ffi.NULL:
        param = table[len(found)]
        lib.blv_params_range(ffi.addressof(table, len(found)), room, 256)
        found.append(Parameter(text(param.key), text(param.value), text(room), text(param.help)))
    return tuple(found)


def _describe(solver: Any) -> Solver:
    words = (
        (lib.BLV_USES_HVP, "hvp"),
        (lib.BLV_USES_CROSS, "jvp"),
        (lib.BLV_USES_INVERSE, "inverse"),
    )
    return Solver(
        name=text(solver.name),
        summary=text(solver.summary),
        group=text(solver.group),
        citation=text(solver.citation),
        stochastic=bool(solver.uses & lib.BLV_IS_STOCHASTIC),
        needs=tuple(word for bit, word in words if solver.uses & bit),
        parameters=_parameters(solver.params),
    )


def solvers() -> list[Solver]:
    """The built-in solvers, by group."""
    found: list[Solver] = []
    while (solver := lib.blv_solver_at(ffi.NULL, len(found))) != ffi.NULL:
        found.append(_describe(solver))
    return found


def uses_products(solver: Any) -> bool:
    """Whether a built-in solver, by its name, takes products with second derivatives."""
    if not isinstance(solver, str):
        return False
    found = lib.blv_solver_find(ffi.NULL, c_text("solver", solver), ffi.NULL)
    products = lib.BLV_USES_HVP | lib.BLV_USES_CROSS
    return found != ffi.NULL and bool(found.uses & products)


def run_options() -> tuple[Parameter, ...]:
    """The options that every run has, beside the parameters of its solver."""
    return _parameters(lib.blv_run_options())


class Registration:
    """The names of solvers, and the registry in which the library finds them."""

    def __init__(self, solvers: Sequence[Any]) -> None:
        self.registry: Any = ffi.NULL
        self.names = []
        own = []
        for solver in solvers:
            if isinstance(solver, str):
                self.names.append(ffi.new("char[]", c_text("solver", solver)))
                continue
            from ._own_solver import adapt

            label, handle = adapt(solver)
            name = ffi.new("char[]", c_text("the name of a solver", label))
            descriptor = lib.blv_py_solver_create(name, handle)
            if descriptor == ffi.NULL:
                raise MemoryError
            own.append(owned(descriptor, lib.blv_py_solver_destroy, name, handle))
            self.names.append(name)
        if not own:
            return
        made, why = ffi.new("blv_registry **"), new_message()
        check(lib.blv_registry_create(made))
        self.registry = owned(made[0], lib.blv_registry_destroy, *own)
        for descriptor in own:
            check(lib.blv_registry_add_solver(self.registry, descriptor, why), why)
