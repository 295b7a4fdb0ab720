"""The run store: runs of the command and of this package, with traces and checkpoints."""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from ._core import ffi, lib
from ._errors import c_text, check, new_message, owned, struct, text, whole
from ._problem import BuiltinProblem, Problem, as_text, families
from ._result import Counts, Result, Trace, array_of


def store_path(store: str | os.PathLike[str] | None) -> str:
    """Where runs are kept: the file that is named, or the one that the command uses."""
    if store is not None:
        return os.fsdecode(store)
    named = os.environ.get("BILEVEL_STORE", "")
    if named and named != "none":
        return named
    state = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if state.startswith("/") else Path.home() / ".local" / "state"
    return str(folder / "bilevel" / "runs.db")


def _open(path: str, create: bool) -> Any:
    made, why = ffi.new("blv_store **"), new_message()
    if create:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    mode = lib.BLV_STORE_CREATE if create else lib.BLV_STORE_EXISTING
    check(lib.blv_store_open(made, c_text("store", path), mode, why), why)
    return owned(made[0], lib.blv_store_close)


def _expect(store: Any, error: int) -> None:
    if error != lib.BLV_OK:
        kind = ValueError if error == lib.BLV_E_NAME else OSError
        raise kind(text(lib.blv_store_message(store)))


def _values(values: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for i in range(values.count):
        item = values.items[i]
        found[text(item.name)] = {
            lib.BLV_VALUE_REAL: lambda item=item: item.real,
            lib.BLV_VALUE_INT: lambda item=item: item.whole,
            lib.BLV_VALUE_BOOL: lambda item=item: bool(item.whole),
            lib.BLV_VALUE_TEXT: lambda item=item: text(item.text),
        }.get(item.kind, lambda: None)()
    return found


@dataclass(frozen=True)
class StoredRun:
    """A run of the store. phi and grad_norm are NaN where it is not certified."""

    id: int
    kind: str
    status: str
    started: str
    ended: str
    problem: str
    solver: str
    outcome: str
    message: str
    iterations: int | None
    seconds: float
    phi: float
    grad_norm: float
    precision: str
    has_checkpoint: bool
    store: str = field(repr=False)

    @classmethod
    def of(cls, info: Any, store: str) -> StoredRun:
        return cls(
            id=info.id,
            kind=text(info.kind),
            status=text(lib.blv_run_status_word(info.status)),
            started=text(info.started),
            ended=text(info.ended),
            problem=text(info.problem),
            solver=text(info.solver),
            outcome=text(info.outcome),
            message=text(info.message),
            iterations=info.iterations if info.has_iterations else None,
            seconds=info.seconds,
            phi=info.phi,
            grad_norm=info.grad_norm,
            precision=text(info.precision),
            has_checkpoint=info.has_checkpoint,
            store=store,
        )

    def _find(self) -> tuple[Any, Any]:
        store = _open(self.store, create=False)
        made = ffi.new("blv_run_info **")
        _expect(store, lib.blv_store_find(store, self.id, made))
        return store, owned(made[0], lib.blv_run_info_free)

    def trace(self) -> Trace:
        store, _info = self._find()
        trace = ffi.new("blv_trace *")
        _expect(store, lib.blv_store_trace(store, self.id, trace))
        try:
            if trace.rows * trace.columns == 0:
                return Trace()
            values = array_of(trace.values, trace.rows * trace.columns)
            table = values.reshape(trace.rows, trace.columns)
            names = [text(trace.names[i]) for i in range(trace.columns)]
        finally:
            lib.blv_trace_free(trace)
        return Trace({name: table[:, i].copy() for i, name in enumerate(names)})

    def settings(self) -> dict[str, dict[str, Any]]:
        """Values at the start: of the problem, of the solver ("parameters") and the run."""
        _store, info = self._find()
        return {
            "problem": _values(info.problem_parameters),
            "parameters": _values(info.parameters),
            "options": _values(info.options),
        }

    def result(self) -> dict[str, Any] | None:
        """What the store keeps of the result."""
        _store, info = self._find()
        kept = text(info.result)
        return dict(json.loads(kept)) if kept else None

    def checkpoint(self) -> bytes | None:
        """An NPZ archive: docs/store.md."""
        store = _open(self.store, create=False)
        pointer, size = ffi.new("void **"), ffi.new("size_t *")
        _expect(store, lib.blv_store_read(store, self.id, b"checkpoint", pointer, size))
        if pointer[0] == ffi.NULL:
            return None
        try:
            return bytes(ffi.buffer(pointer[0], size[0]))
        finally:
            lib.blv_py_free(pointer[0])

    def resume(self, problem: Problem | None = None, **limits: Any) -> Result:
        """Resumes the run from its checkpoint, with other limits: resume(iters=2000).

        problem: the one that it was made with; built-in ones are made again. The result is bitwise
        identical to that of a run that was never interrupted.
        """
        from ._solve import solve

        saved = self.checkpoint()
        if saved is None:
            raise ValueError(f"run {self.id} has no checkpoint to resume from")
        settings = self.settings()
        if problem is None and self.problem not in families():
            raise TypeError(f"run {self.id} is of functions of your own: resume(problem, ...)")
        if problem is None:
            given = {k: v for k, v in settings["problem"].items() if v is not None}
            problem = BuiltinProblem(self.problem, precision=self.precision, **given)
        if not isinstance(problem, Problem):
            raise TypeError(f"problem is a {type(problem).__name__}, expected a Problem")
        kept = {**settings["options"], **settings["parameters"]}
        kept = {
            key: value for key, value in kept.items() if value is not None and key not in limits
        }
        for name in ("iters", "seconds", "budget", "target"):
            kept.pop(name, None)
        return solve(
            problem,
            solver=self.solver,
            settings=kept,
            store=self.store,
            _resumed=(self.id, saved),
            **limits,
        )

    def remove(self) -> None:
        store = _open(self.store, create=False)
        _expect(store, lib.blv_store_remove(store, self.id))


def runs(
    store: str | os.PathLike[str] | None = None,
    *,
    kind: str | None = None,
    problem: str | None = None,
    solver: str | None = None,
    status: str | None = None,
    limit: int = 0,
) -> list[StoredRun]:
    """The runs of a store, oldest first; by default of the one that the command uses."""
    path = store_path(store)
    opened = _open(path, create=False)
    texts = {
        name: ffi.new("char[]", c_text(name, value))
        for name, value in (("kind", kind), ("problem", problem), ("solver", solver))
        if value is not None
    }
    chosen = struct("blv_run_filter", limit=whole("limit", limit), **texts)
    if status is not None:
        word = ffi.new("blv_run_status *")
        if not lib.blv_run_status_parse(c_text("status", status), word):
            raise ValueError(
                f"status is {status!r}, expected running, finished, interrupted or failed"
            )
        chosen.by_status, chosen.status = True, word[0]
    found, count = ffi.new("blv_run_info ***"), ffi.new("size_t *")
    _expect(opened, lib.blv_store_list(opened, chosen, found, count))
    try:
        return [StoredRun.of(found[0][i], path) for i in range(count[0])]
    finally:
        lib.blv_run_list_free(found[0], count[0])


# ---- Recording ----


def _parameters(table: Any, fields: Any) -> dict[str, Any]:
    """The values in effect."""
    room, found, i = ffi.new("char[2048]"), {}, 0
    while table != ffi.NULL and table[i].key != ffi.NULL:
        param = ffi.addressof(table, i)
        lib.blv_params_format(param, fields, room, 2048)
        said = text(room)
        kinds = {lib.BLV_INT: int, lib.BLV_REAL: float}
        try:
            found[text(param.key)] = kinds.get(param.type, str)(said)
        except ValueError:  # a word in place of a number
            found[text(param.key)] = said
        i += 1
    return found


def _record(solution: Any) -> dict[str, Any]:
    """What the store keeps, by the names that the command uses."""

    def number(value: float) -> float | None:
        return value if isfinite(value) else None

    def numbers(pointer: Any, count: int) -> list[float | None]:
        return [number(value) for value in array_of(pointer, count).tolist()]

    return {
        "solver": text(solution.solver.name),
        "status": text(lib.blv_outcome_word(solution.outcome)),
        "message": text(solution.message.text),
        "iterations": solution.iterations,
        "seconds": number(solution.seconds),
        "counts": asdict(Counts.of(solution.counts)),
        "phi": number(solution.phi),
        "grad_norm": number(solution.grad_norm),
        "x": numbers(solution.x, solution.dim_x),
        "y": numbers(solution.y, solution.dim_y),
    }


class _Values:
    """A dict as blv_values; keeps what they refer to."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.count = len(given)
        self.items = ffi.new("blv_value[]", max(self.count, 1))
        self.kept: list[Any] = []
        for item, (name, value) in zip(self.items, given.items(), strict=False):
            item.name = self._text(name)
            if isinstance(value, int):
                item.kind, item.whole = lib.BLV_VALUE_INT, value
            elif isinstance(value, float):
                item.kind, item.real = lib.BLV_VALUE_REAL, value
            else:
                item.kind, item.text = lib.BLV_VALUE_TEXT, self._text(as_text(value))

    def _text(self, said: str) -> Any:
        self.kept.append(ffi.new("char[]", said.encode()))
        return self.kept[-1]

    def put(self, values: Any) -> None:
        values.count, values.items = self.count, self.items


class Recorder:
    """Follows a run and keeps it in the store. Trouble with the store is a warning."""

    def __init__(
        self, store: Any, checkpoint_seconds: float, resumed: tuple[int, bytes] | None
    ) -> None:
        if not isinstance(checkpoint_seconds, int | float | np.number):
            raise TypeError(f"checkpoint_seconds is {checkpoint_seconds!r}, expected a number")
        path = store_path(None if store is True else store)
        self.store = _open(path, create=True)
        self.seconds = checkpoint_seconds
        self.resumed = resumed
        self.id: int | None = None
        self.warned = False

    def _done(self, error: int) -> None:
        if error != lib.BLV_OK and not self.warned:
            self.warned = True
            warnings.warn(text(lib.blv_store_message(self.store)), stacklevel=2)

    def begin(self, run: Any, problem: Problem) -> None:
        self.saved = time.monotonic()
        solver = lib.blv_run_solver(run)
        if self.resumed is not None:
            self._load(run, *self.resumed)
            return
        definition = lib.blv_problem_definition(problem.pointer)
        parameters = _Values(_parameters(solver.params, lib.blv_run_solver_fields(run)))
        options = _Values(_parameters(lib.blv_run_options(), lib.blv_run_option_fields(run)))
        family = _Values(getattr(problem, "settings", {}))
        words = {
            "kind": "python",
            "problem": problem.name,
            "precision": "f32" if definition.precision == lib.BLV_F32 else "f64",
        }
        texts = {key: ffi.new("char[]", value.encode()) for key, value in words.items()}
        command = ffi.new("char[]", os.fsencode(sys.argv[0] or "python"))
        arguments = ffi.new("char *[]", [command])
        info = struct(
            "blv_run_info",
            **texts,
            command_count=1,
            command=arguments,
            dim_x=definition.dim_x,
            dim_y=definition.dim_y,
            fingerprint=lib.blv_problem_fingerprint(problem.pointer),
            solver=solver.name,
            seconds=float("nan"),
            phi=float("nan"),
            grad_norm=float("nan"),
        )
        parameters.put(info.parameters)
        options.put(info.options)
        family.put(info.problem_parameters)
        number = ffi.new("int64_t *")
        error = lib.blv_store_begin(self.store, info, number)
        self._done(error)
        self.id = number[0] if error == lib.BLV_OK else None

    def _load(self, run: Any, number: int, saved: bytes) -> None:
        if lib.blv_run_load_from(run, saved, len(saved)) != lib.BLV_OK:
            raise ValueError(text(lib.blv_run_message(run)))
        iteration = lib.blv_run_result(run).iterations
        _expect(self.store, lib.blv_store_resume(self.store, number, iteration))
        self.id = number

    def row(self, progress: Any, row: Any) -> None:
        if self.id is not None:
            iteration, seconds = progress.iteration, progress.seconds
            self._done(lib.blv_store_row(self.store, self.id, iteration, seconds, row))

    def every(self, run: Any) -> None:
        if self.id is not None and 0 < self.seconds < time.monotonic() - self.saved:
            self._save(run)

    def _save(self, run: Any) -> None:
        self._done(lib.blv_store_checkpoint(self.store, self.id, run, ffi.NULL, 0))
        self.saved = time.monotonic()

    def end(self, run: Any, solution: Any, why: Any) -> None:
        if self.id is None:
            return
        outcome = lib.blv_run_result(run).outcome
        info = struct("blv_run_info", seconds=np.nan, phi=np.nan, grad_norm=np.nan)
        kept: list[Any] = []
        if solution == ffi.NULL:
            info.status, info.message = lib.BLV_STATUS_FAILED, why
        else:
            stopped = outcome in (lib.BLV_STOPPED_REQUEST, lib.BLV_STOPPED_MONITOR)
            failed = outcome <= lib.BLV_DIVERGED
            if outcome < 0 and not failed and outcome != lib.BLV_STALLED:
                self._save(run)
            else:
                self._done(lib.blv_store_detach(self.store, self.id, b"checkpoint"))
            info.status = (
                lib.BLV_STATUS_INTERRUPTED
                if stopped
                else lib.BLV_STATUS_FAILED
                if failed
                else lib.BLV_STATUS_FINISHED
            )
            record = json.dumps(_record(solution)).encode()
            kept += [
                ffi.new("char[]", said) for said in (ffi.string(solution.message.text), record)
            ]
            info.message, info.result = kept
            info.outcome = lib.blv_outcome_word(outcome)
            info.has_iterations, info.iterations = True, solution.iterations
            info.seconds, info.phi = solution.seconds, solution.phi
            info.grad_norm = solution.grad_norm
        self._done(lib.blv_store_flush(self.store))
        self._done(lib.blv_store_finish(self.store, self.id, info))
