"""Problems: from a user's functions, or built-in ones by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from os import PathLike, fspath
from typing import Any

import numpy as np

from . import _callbacks, _tree
from ._core import ffi, lib
from ._errors import c_text, check, new_message, owned, struct, text, whole
from ._level import Level, NumpyLevel
from ._numpy import NumpyOracles, Sum

Function = Callable[..., Any]


class Problem:
    """Find x in X that minimizes f(x, y*(x)), where y*(x) minimizes g(x, .).

    f, g
        NumPy: functions of x and y that return (value, gradient in x, gradient in y); or that
        return the value alone, with `grad_f` and `grad_g` for the pair of gradients.
        PyTorch, JAX: functions that return a scalar; derivatives are taken automatically.
    x0, y0
        Where runs start: arrays, or lists, tuples or dicts of arrays. Their type decides which of
        the three it is. Another iterable, such as `module.parameters()`, is taken as a list.
    hvp, jvp
        NumPy: (d2g/dy2) v and (d2g/dxdy) v, called as hvp(x, y, v). Without them the library uses
        finite differences.
    upper_samples, lower_samples
        f or g is a mean of that many terms, and is called as f(x, y, idx) for a batch.
    upper_data, lower_data
        In place of a number of samples: an indexable, a tuple of arrays or a DataLoader. The third
        argument is then its rows, not their numbers.
    bounds, simplex, project
        The set X: (lo, hi), numbers or arrays like x0; the elements are not negative and have the
        sum `simplex` (True: 1); or a function that returns the nearest point of X.
    many_minimizers
        g(x, .) has many minimizers, as a network has: there is no certificate.
    """

    def __init__(
        self,
        f: Function,
        g: Function,
        x0: Any,
        y0: Any,
        *,
        grad_f: Function | None = None,
        grad_g: Function | None = None,
        hvp: Function | None = None,
        jvp: Function | None = None,
        upper_samples: int = 0,
        lower_samples: int = 0,
        upper_data: Any = None,
        lower_data: Any = None,
        bounds: tuple[Any, Any] | None = None,
        simplex: bool | float = False,
        project: Function | None = None,
        many_minimizers: bool = False,
        name: str = "problem",
        threads: int = 0,
        _products: bool = False,
    ) -> None:
        self._derivatives = {"grad_f": grad_f, "grad_g": grad_g, "hvp": hvp, "jvp": jvp}
        optional = {**self._derivatives, "project": project}
        functions = {"f": f, "g": g, **{k: v for k, v in optional.items() if v is not None}}
        for label, function in functions.items():
            if not callable(function):
                raise TypeError(f"{label} is a {type(function).__name__}, expected a function")
        if many_minimizers not in (True, False):
            raise TypeError(f"many_minimizers is {many_minimizers!r}, expected True or False")
        x0, y0 = _tree.listed(x0), _tree.listed(y0)
        kind = kind_of(x0, y0)
        self.name = str(name)
        sums = (("upper", upper_samples, upper_data), ("lower", lower_samples, lower_data))
        self._make_oracles(kind, f, g, x0, y0, sums)
        self._set_projection(bounds, simplex, project)
        handle = ffi.new_handle(self.oracles)
        definition = struct(
            "blv_problem_def",
            dim_x=self.x.dim,
            dim_y=self.y.dim,
            precision=lib.BLV_F32 if self.x.single else lib.BLV_F64,
            threads=whole("threads", threads, most=2**31 - 1),
            upper_samples=self.oracles.upper_sum.samples,
            lower_samples=self.oracles.lower_sum.samples,
            many_minimizers=many_minimizers,
            user=handle,
        )
        label = ffi.new("char[]", c_text("name", self.name))
        definition.name = label
        oracles = self.oracles
        projects = oracles.projection is not None
        lib.blv_py_oracles(definition, oracles.has_hvp, oracles.has_cross, projects)
        spaces = [level.make_space() for level in (self.x, self.y)]
        definition.space_x, definition.space_y = spaces
        made, why = ffi.new("blv_problem **"), new_message()
        check(lib.blv_problem_create(made, definition, why), why)
        self._pointer = owned(made[0], lib.blv_problem_destroy, handle, *spaces)
        self.oracles.newton = _products  # they will be asked for at the start
        self._look_at_start()

    def _make_oracles(
        self,
        kind: str,
        f: Function,
        g: Function,
        x0: Any,
        y0: Any,
        sums: tuple[tuple[str, int, Any], ...],
    ) -> None:
        self.oracles: Any
        self.x: Level
        self.y: Level
        if kind == "numpy":
            x, y = NumpyLevel("x0", x0), NumpyLevel("y0", y0)
            batches = Sum(*sums[0]), Sum(*sums[1])
            self.oracles = NumpyOracles(f, g, (x, y), batches, **self._derivatives)
        else:
            for key, given in self._derivatives.items():
                if given is not None:
                    raise TypeError(f"{key} is not needed: {kind} takes derivatives by itself")
            backend = importlib.import_module(f"._{kind}", __package__)
            self.oracles = backend.make_oracles(f, g, x0, y0, sums)
            x, y = self.oracles.x, self.oracles.y
        if x.single != y.single:
            names = ("float64", "float32")
            raise TypeError(
                f"y0 is of {names[y.single]}, x0 of {names[x.single]}: both must be the same"
            )
        self.x, self.y = x, y

    def _set_projection(self, bounds: Any, simplex: Any, project: Any) -> None:
        given = [bounds is not None, simplex is not False, project is not None]
        if sum(given) > 1:
            raise ValueError("bounds, simplex and project exclude one another")
        oracles = self.oracles
        oracles.projection = project
        oracles.projects_flat = project is None
        if bounds is not None:
            if not isinstance(bounds, tuple | list) or len(bounds) != 2:
                raise TypeError("bounds: a pair (lo, hi) is needed")
            lo, hi = (self._bound(bound) for bound in bounds)
            if not np.all(lo <= hi):
                raise ValueError("bounds: a lower bound is above its upper bound")
            oracles.projection = oracles.bounds_projection(self.x.like(lo), self.x.like(hi))
        elif simplex is not False:
            number = isinstance(simplex, int | float | np.number)  # True is 1
            total = float(simplex) if number else np.nan
            if not 0.0 < total < np.inf:
                raise ValueError(f"simplex is {simplex!r}; True or a positive sum is needed")
            oracles.projection = oracles.simplex_projection(total)

    def _bound(self, bound: Any) -> Any:
        """A number, or a flat array with an element for each of x."""
        whole_tree = isinstance(bound, Mapping | list | tuple)
        found = self.x.parts(bound, "bounds") if whole_tree else [bound]
        leaves = (  # tensors may be on a device, and part of a graph
            leaf.detach().cpu() if hasattr(leaf, "detach") else leaf for leaf in found
        )
        try:
            items = [np.asarray(leaf, dtype=np.float64) for leaf in leaves]
        except (TypeError, ValueError) as error:
            raise TypeError(f"bounds: not numbers: {error}") from error
        if len(items) == 1 and items[0].ndim == 0:
            value: Any = items[0]
        elif [item.shape for item in items] == [tuple(shape) for shape in self.x.shapes]:
            value = np.concatenate([item.ravel() for item in items])
        else:
            raise ValueError(f"bounds: numbers or arrays of the shape of x0, {self.x.shapes[0]}")
        if np.isnan(value).any():
            raise ValueError("bounds: a bound is not a number; without a bound it is -inf or inf")
        return value

    def _look_at_start(self) -> None:
        """Wrong shapes and values that are not finite are found here, before a run begins."""
        (x, _x), (y, _y) = self.x.room(self.x.start), self.y.room(self.y.start)
        (dx, _dx), (dy, _dy) = self.x.room(None), self.y.room(None)
        value = ffi.new("double *")
        for name, oracle in (("f", self.oracles.upper), ("g", self.oracles.lower)):
            oracle(ffi.NULL, x, y, value, dx, dy)
            if not np.isfinite(value[0]):
                raise ValueError(f"{name} returned {value[0]} at x0, y0")
            for level, address in ((self.x, dx), (self.y, dy)):
                if not level.finite(address):
                    raise ValueError(
                        f"the gradient of {name} in {level.letter} is not finite at x0, y0"
                    )
        for level, address in ((self.x, x), (self.y, y), (self.x, dx), (self.y, dy)):
            level.views.pop(address, None)

    @property
    def pointer(self) -> Any:
        return self._pointer

    def start(self) -> tuple[Any, Any]:
        """Where a run begins; None: where the problem itself says."""
        return self.x.start, self.y.start

    def begin(self, newton: bool = False) -> None:
        """A run begins or ends. newton: it takes products with H where it took the gradient."""
        self.oracles.newton = newton
        self.oracles.begin()
        self.oracles.fresh = False

    def restore(self, x: Any, y: Any) -> tuple[Any, Any]:
        return self.x.restore(x), self.y.restore(y)

    def __reduce__(self) -> Any:
        raise TypeError("a problem cannot be pickled: make it where it is solved")

    def __repr__(self) -> str:
        definition = lib.blv_problem_definition(self._pointer)
        sizes = f"{definition.dim_x} variables above, {definition.dim_y} below"
        return f"<bilevel problem {text(definition.name)}: {sizes}>"


class BuiltinProblem(Problem):
    """A problem of the library: bilevel.problem("quadratic", seed=1)."""

    def __init__(
        self,
        family: str,
        *,
        precision: str = "f64",
        threads: int = 0,
        data_folder: str | PathLike[str] | None = None,
        **parameters: Any,
    ) -> None:
        if precision not in ("f32", "f64"):
            raise ValueError(f"precision is {precision!r}, expected 'f32' or 'f64'")
        why = new_message()
        found = lib.blv_family_find(ffi.NULL, c_text("family", family), why)
        if found == ffi.NULL:
            raise ValueError(text(why.text))
        self.name = family
        self.single = precision == "f32"
        settings = settings_array(parameters)
        options = struct(
            "blv_problem_options",
            precision=lib.BLV_F32 if self.single else lib.BLV_F64,
            threads=whole("threads", threads, most=2**31 - 1),
        )
        folder = ffi.NULL
        if data_folder is not None:
            folder = ffi.new("char[]", c_text("data_folder", fspath(data_folder)))
        options.data_folder = folder
        made = ffi.new("blv_problem **")
        check(lib.blv_problem_from_family(found, settings.pointer, options, made, why), why)
        self._pointer = owned(made[0], lib.blv_problem_destroy)
        self.settings = parameters

    def start(self) -> tuple[Any, Any]:
        return None, None

    def begin(self, newton: bool = False) -> None:
        pass

    def restore(self, x: Any, y: Any) -> tuple[Any, Any]:
        kind = np.float32 if self.single else np.float64
        return x.astype(kind), y.astype(kind)


def problem(family: str, **parameters: Any) -> Problem:
    """A built-in problem by the name of its family; families() lists them.

    precision ("f64", "f32"), threads and data_folder are for all families, the rest are parameters
    of this one.
    """
    return BuiltinProblem(family, **parameters)


def families() -> dict[str, str]:
    """The built-in problem families, each with a line about it."""
    found, i = {}, 0
    while (family := lib.blv_family_at(ffi.NULL, i)) != ffi.NULL:
        found[text(family.name)] = text(family.summary)
        i += 1
    return found


class settings_array:  # noqa: N801
    """{"key", "value", ..., NULL} of a dict; keeps the texts alive."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.texts = []
        for key, value in settings.items():
            parts = c_text("the name of a setting", key), c_text(key, as_text(value))
            self.texts += [ffi.new("char[]", part) for part in parts]
        self.pointer = ffi.new("const char *[]", [*self.texts, ffi.NULL])


def as_text(value: Any) -> str:
    """A value as the command takes it; numbers exactly."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, np.generic):
        value = value.item()
    return repr(value) if isinstance(value, float) else str(value)


_NONE = object()


def kind_of(x0: Any, y0: Any) -> str:
    """numpy, torch or jax, by the type of the arrays."""
    kinds = {}
    for name, start in (("x0", x0), ("y0", y0)):
        if next(_tree.leaves(start), _NONE) is _NONE:
            raise ValueError(f"{name} holds no array")
        kinds[name] = _kind(start)
    if kinds["x0"] != kinds["y0"]:
        raise TypeError(f"x0 is of {kinds['x0']}, y0 of {kinds['y0']}: both must be of one kind")
    return kinds["x0"]


def _kind(start: Any) -> str:
    for leaf in _tree.leaves(start):
        module = type(leaf).__module__.partition(".")[0]
        if module in ("torch", "jax", "jaxlib"):
            return module.removesuffix("lib")
    return "numpy"


_callbacks.install()
