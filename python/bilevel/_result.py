"""What a run gives back."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from ._core import ffi, lib
from ._errors import text


@dataclass(frozen=True)
class Counts:
    """Oracle calls, counted for each sample."""

    f_grad: int
    g_grad: int
    hvp: int
    jvp: int
    values: int

    @classmethod
    def of(cls, counts: Any) -> Counts:
        return cls(counts.f_grad, counts.g_grad, counts.hvp, counts.cross, counts.values)

    @property
    def total(self) -> int:
        return self.f_grad + self.g_grad + self.hvp + self.jvp + self.values


@dataclass(frozen=True)
class Certificate:
    """How good the point is, computed from the problem after a tight solve of the lower level.

    grad_norm is |x - P_X(x - t grad Phi(x))| / t where `projected`. minimum: whether y*(x) is a
    minimum of g(x, .); None: not known.
    """

    phi: float
    grad_norm: float
    inner_residual: float
    solve_residual: float
    linear_residual: float
    estimate_error: float
    projected: bool
    singular: bool
    tight: bool
    minimum: bool | None
    start_phi: float
    above_start: bool

    @classmethod
    def of(cls, certificate: Any) -> Certificate:
        values = {item.name: getattr(certificate, item.name) for item in fields(cls)}
        values["minimum"] = {lib.BLV_YES: True, lib.BLV_NO: False}.get(values["minimum"])
        return cls(**values)


class Trace(dict[str, npt.NDArray[np.float64]]):
    """Columns of numbers, one row for each time that the run was looked at."""

    @classmethod
    def of(cls, rows: list[dict[str, Any]]) -> Trace:
        columns: dict[str, list[float]] = {}
        for i, row in enumerate(rows):
            for name, value in _flat(row):
                column = columns.setdefault(name, [])
                column.extend([np.nan] * (i - len(column)))
                column.append(np.nan if value is None else float(value))
        for column in columns.values():
            column.extend([np.nan] * (len(rows) - len(column)))
        return cls({name: np.array(column) for name, column in columns.items()})

    def to_pandas(self) -> Any:
        import pandas

        return pandas.DataFrame(dict(self))


def _flat(row: dict[str, Any]) -> list[tuple[str, Any]]:
    """Numbers by name; "counts": {"hvp": 1} is counts.hvp, elements of a list are name[i]."""
    items: list[tuple[str, Any]] = []
    for name, value in row.items():
        if isinstance(value, dict):
            items += [(f"{name}.{key}", part) for key, part in _flat(value)]
        elif isinstance(value, list):
            items += [(f"{name}[{i}]", part) for i, part in enumerate(value)]
        elif value is None or isinstance(value, int | float):
            items.append((name, value))
    return items


@dataclass(frozen=True, repr=False)
class Result:
    """A solution: x and y in the form of x0 and y0, and how good they are."""

    x: Any
    y: Any
    phi: float
    """f(x, y*(x)), certified; NaN without a certificate"""
    grad_norm: float
    """the size of the gradient of phi at x, certified"""
    converged: bool
    """the certificate says so, to the tolerance that was asked for; or the target was reached"""
    outcome: str
    """how it ended, in one word: "converged", "iterations", "stopped", "diverged", ..."""
    message: str
    solver: str
    iterations: int
    seconds: float
    """on the solver's clock: evaluation and tracing are not on it"""
    counts: Counts
    setup_counts: Counts
    check_counts: Counts
    certificate: Certificate | None
    no_certificate: str
    """why there is no certificate"""
    notes: list[str]
    trace: Trace
    measures: list[float] = field(default_factory=list)
    run_id: int | None = None
    """its number in the run store, where it was recorded"""

    def __repr__(self) -> str:
        lines = [
            f"{self.outcome} by {self.solver}: {self.message}",
            f"  phi         {self.phi:.10g}",
            f"  |grad phi|  {self.grad_norm:.3g}",
            f"  iterations  {self.iterations} in {self.seconds:.3g} s",
            f"  oracles     {self.counts.total + self.setup_counts.total}",
            f"  x           {_short(self.x)}",
            f"  y           {_short(self.y)}",
        ]
        if self.no_certificate:
            lines.append(f"  no certificate: {self.no_certificate}")
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>{curve(self.trace)}"


def _short(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if shape is None:
        return f"{type(value).__name__} of {len(value)}"
    if int(np.prod(shape)) <= 6:
        return " ".join(repr(value).split())
    return f"{type(value).__name__} of shape {tuple(shape)}"


def curve(trace: Trace, width: int = 480, height: int = 160) -> str:
    """f against time, as SVG: what a notebook shows."""
    f, seconds = trace.get("f"), trace.get("seconds")
    if f is None or seconds is None:
        return ""
    fine = np.isfinite(f) & np.isfinite(seconds)
    f, seconds = f[fine], seconds[fine]
    if len(f) < 2 or f.max() == f.min() or seconds.max() == seconds.min():
        return ""
    margin = 12
    across = margin + (width - 2 * margin) * (seconds - seconds.min()) / np.ptp(seconds)
    down = margin + (height - 2 * margin) * (f.max() - f) / np.ptp(f)
    points = " ".join(f"{a:.1f},{d:.1f}" for a, d in zip(across, down, strict=True))
    label = f"f from {f[0]:.6g} to {f[-1]:.6g} in {seconds[-1]:.3g} s"
    return (
        f'<svg width="{width}" height="{height + 20}" role="img" aria-label="{label}">'
        f'<rect width="{width}" height="{height}" fill="none" stroke="#ccc"/>'
        f'<polyline points="{points}" fill="none" stroke="#1f77b4" stroke-width="1.5"/>'
        f'<text x="{margin}" y="{height + 15}" font-size="12">{label}</text></svg>'
    )


def array_of(pointer: Any, count: int) -> npt.NDArray[np.float64]:
    """A copy of doubles."""
    memory = ffi.buffer(pointer, count * 8)
    return np.frombuffer(memory, dtype=np.float64).copy()


def result_of(solution: Any, problem: Any, rows: list[str], run_id: int | None = None) -> Result:
    """A copy of a blv_solution."""
    notes, i = [], 0
    while solution.notes[i] != ffi.NULL:
        note = text(solution.notes[i])  # which has the names of C
        notes.append(note.replace("no lower_hvp", "no hvp").replace("no lower_cross", "no jvp"))
        i += 1
    x, y = array_of(solution.x, solution.dim_x), array_of(solution.y, solution.dim_y)
    x, y = problem.restore(x, y)
    return Result(
        x=x,
        y=y,
        phi=solution.phi,
        grad_norm=solution.grad_norm,
        converged=solution.converged,
        outcome=text(lib.blv_outcome_word(solution.outcome)),
        message=text(solution.message.text),
        solver=text(solution.solver.name),
        iterations=solution.iterations,
        seconds=solution.seconds,
        counts=Counts.of(solution.counts),
        setup_counts=Counts.of(solution.setup_counts),
        check_counts=Counts.of(solution.check_counts),
        certificate=Certificate.of(solution.certificate) if solution.certified else None,
        no_certificate=text(solution.no_certificate.text),
        notes=notes,
        trace=Trace.of([json.loads(row) for row in rows]),
        measures=[solution.measures[i] for i in range(solution.measure_count)],
        run_id=run_id,
    )
