"""solve, compare and check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from . import _callbacks
from ._callbacks import define, guarded, keep
from ._core import ffi, lib
from ._errors import check as check_error
from ._errors import new_message, owned, struct, text, whole
from ._problem import Problem, settings_array
from ._progress import Bar
from ._result import Result, result_of
from ._runs import Recorder
from ._solver import Registration, uses_products

SIGNAL_SECONDS = 0.05  # between two looks at signals while a run is in C
NEWTON = ("auto", "exact")  # which solve below by Newton's method


class Session:
    """One call of solve or compare: what its callbacks need, and what they gather."""

    def __init__(
        self, problem: Problem, trace: bool, bar: Bar | None, recorder: Recorder | None = None
    ) -> None:
        self.problem = problem
        self.recorder = recorder
        self.trace = trace
        self.bar = bar
        self.rows: dict[str, list[str]] = {}  # of each solver

    def begin(self, run: Any, context: Any) -> None:
        name = text(lib.blv_run_solver(run).name)
        self.current = self.rows[name] = []
        self.problem.begin(newton=name in NEWTON)
        _callbacks.watch_run(run)
        lib.blv_run_every(run, lib.blv_py_every, context, SIGNAL_SECONDS)
        if self.recorder:
            self.recorder.begin(run, self.problem)
        if self.trace or self.recorder:
            lib.blv_run_trace_callback(run, lib.blv_py_row, context, False)
        if self.bar:
            self.bar.begin(name)

    def end(self, run: Any, solution: Any, why: Any) -> None:
        _callbacks.watch_run(None)
        self.problem.begin()  # nothing of the run is kept
        if self.recorder:
            self.recorder.end(run, solution, why)
        if self.bar:
            self.bar.end()


def _begin(context: Any, run: Any, why: Any) -> int:
    try:
        ffi.from_handle(context).begin(run, context)
        return int(lib.BLV_OK)
    except BaseException as error:
        keep(error)
        return int(lib.BLV_E_FAILED)


def _end(context: Any, run: Any, solution: Any, error: int, why: Any) -> None:
    try:
        ffi.from_handle(context).end(run, solution, why)
    except BaseException as raised:
        keep(raised)


def _row(context: Any, progress: Any, row: Any) -> None:
    session = ffi.from_handle(context)
    session.current.append(text(row))
    if session.recorder:
        session.recorder.row(progress, row)


def _monitor(context: Any, progress: Any) -> int:
    try:
        ffi.from_handle(context).bar.show(progress)
        return int(_callbacks.stopping())
    except BaseException as error:
        keep(error)
        return 1


def _every(context: Any, run: Any) -> None:
    """Python looks at signals here."""
    if _callbacks.stopping():
        lib.blv_run_stop(run)
    recorder = ffi.from_handle(context).recorder
    if recorder:
        recorder.every(run)


define("begin", _begin, lib.BLV_E_FAILED)
define("end", _end, None)
define("row", _row, None)
define("monitor", _monitor, 1)
define("every", _every, None)


class Options:
    """blv_solve_options from keywords, with everything that it refers to."""

    def __init__(self, session: Session, **given: Any) -> None:
        self.handle = ffi.new_handle(session)
        self.options = o = struct("blv_solve_options", context=self.handle)
        self.options.begin = lib.blv_py_begin
        self.options.end = lib.blv_py_end
        settings = {key: value for key, value in given["settings"].items() if value is not None}
        for name in ("tol", "seconds", "iters", "budget", "seed"):
            value = given[name]
            if value is not None:
                # as text, so that 0 is not the default; its range is checked by the library
                settings[name] = value
        self.settings = settings_array(settings)
        o.settings = self.settings.pointer
        o.no_certificate = not given["certificate"]
        self.x, self.y = (
            ffi.NULL if start is None or not given["start"] else ffi.from_buffer("double[]", start)
            for start in session.problem.start()
        )
        o.x, o.y = self.x, self.y
        if session.bar:
            o.progress = lib.blv_py_monitor
            o.progress_seconds = 0.25


def solve(
    f: Any,
    g: Any = None,
    x0: Any = None,
    y0: Any = None,
    *,
    solver: Any = "auto",
    tol: float | None = None,
    seconds: float | None = None,
    iters: int | None = None,
    budget: int | None = None,
    seed: int | None = None,
    trace: bool = True,
    certificate: bool = True,
    progress: bool | None = None,
    settings: dict[str, Any] | None = None,
    store: Any = None,
    checkpoint_seconds: float = 30.0,
    _resumed: tuple[int, bytes] | None = None,
    **others: Any,
) -> Result:
    """Solves a problem: solve(f, g, x0, y0), or solve(problem).

    f, g, x0, y0 and keywords such as `hvp`, `bounds`, `upper_samples` are those of
    :class:`Problem`.

    solver
        A name of solvers(), or a solver of your own: an object with `open` and `step`.
    tol, seconds, iters, budget, seed
        Stop at this tolerance, time, number of iterations or oracle calls. Without any limit a run
        ends after 100,000 iterations.
    trace
        False: the result has no trace, and no time goes into one (at most a tenth).
    certificate
        False: saves the tight solves at the end; no run is then called converged.
    progress
        A bar by tqdm; None: where tqdm is installed and there is a terminal or a notebook.
    settings
        Other options of the run and parameters of the solver, such as {"batch": 32}. Parameters
        whose names are not arguments of this function can be given as keywords too.
    store, checkpoint_seconds
        A file of runs in which this one is kept, with checkpoints to resume from; True: the one
        that the command uses. See runs().

    Ctrl-C ends the run; the result is the one so far. What f or g raise is raised here.
    """
    problem, parameters = _problem_from(f, g, x0, y0, others, solver)
    _expect(settings or {}, dict, "settings")
    registration = Registration([solver])
    bar = Bar.wanted(progress, seconds, iters)
    recorder = Recorder(store, checkpoint_seconds, _resumed) if store else None
    session = Session(problem, trace, bar, recorder)
    prepared = Options(
        session,
        start=_resumed is None,
        settings={**(settings or {}), **parameters},
        tol=tol,
        seconds=seconds,
        iters=iters,
        budget=budget,
        seed=seed,
        certificate=certificate,
    )
    prepared.options.solver = registration.names[0]
    prepared.options.registry = registration.registry
    made, why = ffi.new("blv_solution **"), new_message()
    with guarded():
        error = lib.blv_solve(made, problem.pointer, prepared.options, why)
        solution = owned(made[0], lib.blv_solution_destroy, registration)
    check_error(error, why)
    run_id = recorder.id if recorder else None
    return result_of(solution, problem, session.current, run_id)


def _expect(value: Any, kind: type, name: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{name} is a {type(value).__name__}, expected a {kind.__name__}")


_PROBLEM_KEYWORDS = frozenset(Problem.__init__.__kwdefaults__ or ()) - {"_products"}


def _problem_from(
    f: Any, g: Any, x0: Any, y0: Any, others: dict[str, Any], solver: Any
) -> tuple[Problem, dict[str, Any]]:
    """The problem, and the keywords that are not about it."""
    about = {key: value for key, value in others.items() if key in _PROBLEM_KEYWORDS}
    rest = {key: value for key, value in others.items() if key not in _PROBLEM_KEYWORDS}
    if isinstance(f, Problem):
        if about or not (g is None and x0 is None and y0 is None):
            raise TypeError("a problem was given: what defines it cannot be given again")
        return f, rest
    for name, value in (("g", g), ("x0", x0), ("y0", y0)):
        if value is None:
            raise TypeError(f"{name} is missing")
    problem = Problem(f, g, x0, y0, **about, _products=uses_products(solver))
    problem.oracles.fresh = True
    return problem, rest


# ---- Several solvers ----


@dataclass(frozen=True)
class Row:
    solver: str
    result: Result | None
    """None: it did not run"""
    remark: str


class Comparison(list[Row]):
    """One row for each solver; those that ran come first, the lowest certified phi first."""

    _columns = ("solver", "outcome", "phi", "|grad phi|", "iterations", "seconds", "oracles")

    def _cells(self) -> list[list[str]]:
        cells = []
        for row in self:
            r = row.result
            if r is None:
                cells.append([row.solver, "did not run: " + row.remark, "", "", "", "", ""])
                continue
            oracles = r.counts.total + r.setup_counts.total
            cells.append(
                [
                    row.solver,
                    r.outcome,
                    f"{r.phi:.8g}",
                    f"{r.grad_norm:.2e}",
                    str(r.iterations),
                    f"{r.seconds:.3g}",
                    str(oracles),
                ]
            )
        return cells

    def __repr__(self) -> str:
        cells = [list(self._columns), *self._cells()]
        short = [row for row in cells if row[2]]
        widths = [max(len(row[i]) for row in short) for i in range(len(self._columns))]
        lines = []
        for row in cells:
            if row[2]:
                pairs = zip(row, widths, strict=True)
                lines.append("  ".join(cell.ljust(width) for cell, width in pairs).rstrip())
            else:
                lines.append(f"{row[0].ljust(widths[0])}  {row[1]}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self._columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._cells()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def to_pandas(self) -> Any:
        import pandas

        kept = ("outcome", "converged", "phi", "grad_norm", "iterations", "seconds")
        rows = []
        for row in self:
            values = {name: getattr(row.result, name) for name in kept} if row.result else {}
            rows.append({"solver": row.solver, **values, "remark": row.remark})
        return pandas.DataFrame(rows)


def compare(
    problem: Problem,
    solvers: Sequence[Any] | None = None,
    *,
    tol: float | None = None,
    seconds: float | None = None,
    iters: int | None = None,
    budget: int | None = None,
    seed: int | None = None,
    trace: bool = True,
    certificate: bool = True,
    progress: bool | None = None,
    settings: dict[str, Any] | None = None,
) -> Comparison:
    """Solves the problem with each of the solvers, from the same start and with the same limits.

    solvers: names, or solvers of your own; None: all that suit the problem without finite
    differences. A key "SOLVER.KEY" of the settings is for that solver alone.
    """
    _expect(problem, Problem, "problem")
    _expect(settings or {}, dict, "settings")
    if isinstance(solvers, str) or hasattr(solvers, "step"):
        solvers = [solvers]
    bar = Bar.wanted(progress, seconds, iters)
    session = Session(problem, trace, bar)
    prepared = Options(
        session,
        start=True,
        settings=settings or {},
        tol=tol,
        seconds=seconds,
        iters=iters,
        budget=budget,
        seed=seed,
        certificate=certificate,
    )
    registration = Registration(solvers or [])
    prepared.options.registry = registration.registry
    names: Any = ffi.NULL
    if solvers is not None:
        names = ffi.new("const char *[]", [*registration.names, ffi.NULL])
    made, why = ffi.new("blv_comparison **"), new_message()
    with guarded():
        error = lib.blv_compare(made, problem.pointer, names, prepared.options, why)
        comparison = owned(made[0], lib.blv_comparison_destroy, registration)
    check_error(error, why)
    rows = Comparison()
    for i in range(comparison.count):
        row = comparison.rows[i]
        name = text(row.solver.name)
        result = None
        if row.solution != ffi.NULL:
            result = result_of(row.solution, problem, session.rows.get(name, []))
        rows.append(Row(name, result, text(row.remark.text)))
    return rows


# ---- Checking derivatives ----


@dataclass(frozen=True)
class CheckItem:
    what: str
    error: float
    allowed: float
    worst: int | None
    ok: bool


@dataclass(frozen=True, repr=False)
class CheckReport:
    """Every derivative against differences. True where all of them are right."""

    ok: bool
    items: list[CheckItem]

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        lines = []
        for item in self.items:
            where = "" if item.worst is None or item.ok else f", worst at element {item.worst}"
            word = "ok   " if item.ok else "WRONG"
            lines.append(f"{word} {item.what}: {item.error:.1e} of {item.allowed:.1e}{where}")
        return "\n".join(lines)


def check(problem: Problem, *, seed: int = 0, scale: float = 1.0) -> CheckReport:
    """Compares the derivatives of f and g with central differences, around a random point."""
    _expect(problem, Problem, "problem")
    seed = whole("seed", seed)
    if not isinstance(scale, int | float | np.number) or not 0.0 <= scale < np.inf:
        raise ValueError(f"scale is {scale!r}, expected a number that is not negative")
    report, why = ffi.new("blv_check_report *"), new_message()
    problem.begin()
    with guarded():
        error = lib.blv_problem_check(problem.pointer, seed, scale, report, why)
    check_error(error, why)
    everywhere = np.iinfo(np.uintp).max
    items = []
    for i in range(report.count):
        item = report.item[i]
        worst = None if item.worst == everywhere else item.worst
        items.append(CheckItem(text(item.what), item.error, item.allowed, worst, item.ok))
    return CheckReport(report.ok, items)
