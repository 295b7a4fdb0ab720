"""Other forms of what a user gives and returns, and use that is an error."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from problems import Quadratic, sums

import bilevel

Q = Quadratic()


def solve(**others):
    given = {"f": Q.f, "g": Q.g, "x0": Q.x0, "y0": Q.y0, "tol": 1e-8, "hvp": Q.hvp, "jvp": Q.jvp}
    return bilevel.solve(**{**given, **others})


def test_gradients_in_another_order():
    """Keys decide, not their order: arrays of one shape are not taken for one another."""
    target = {"b": np.array([1.0, 2.0]), "a": np.array([-3.0, 4.0])}

    def f(x, y):
        apart = {key: x[key] - target[key] for key in ("a", "b")}
        value = sum((part**2).sum() for part in apart.values())
        return value, {key: 2.0 * part for key, part in apart.items()}, 0.0 * y

    def g(x, y):
        return ((y - 1.0) ** 2).sum(), {"a": np.zeros(2), "b": np.zeros(2)}, 2.0 * (y - 1.0)

    x0 = {"b": np.zeros(2), "a": np.zeros(2)}
    r = bilevel.solve(f, g, x0, np.zeros(1), tol=1e-6)
    assert list(r.x) == ["b", "a"]
    for key, expected in target.items():
        np.testing.assert_allclose(r.x[key], expected, atol=1e-5)
    low = {"a": np.full(2, -1.0), "b": np.full(2, -9.0)}  # the other way round too
    r = bilevel.solve(f, g, x0, np.zeros(1), tol=1e-6, bounds=(low, 9.0))
    np.testing.assert_allclose(r.x["a"], [-1.0, 4.0], atol=1e-5)
    for wrong, message in (
        (lambda x: {"a": x["a"], "c": x["b"]}, r"has the keys \['a', 'c'\], expected a dict with"),
        (lambda x: [x["a"], x["b"]], "is a list of 2, expected a dict with the keys"),
    ):
        with pytest.raises(ValueError, match=message):
            bilevel.solve(f, g, x0, np.zeros(1), project=wrong)
    with pytest.raises(ValueError, match="is a list of 1, expected a tuple of 2"):
        bilevel.solve(
            lambda x, y: (0.0, [x[0]], y), g, (np.zeros(2), np.zeros(2)), np.zeros(1), iters=1
        )


def test_stop_iteration_comes_out():
    """As itself, which it does not from a generator."""
    values = iter([Q.f(Q.x0, Q.y0)] * 3)
    with pytest.raises(StopIteration):
        solve(f=lambda x, y: next(values))


@pytest.mark.parametrize("form", ["g", "grad_g"])
def test_what_changes_in_the_middle_of_a_run(form):
    """Where the run wants the gradient of g and products at once, too."""
    calls = 0

    def once_none(function):
        def call(*at):
            nonlocal calls
            calls += 1
            return function(*at) if calls < 4 else None

        return call

    changed = {"g": once_none(Q.g)}
    if form == "grad_g":
        changed = {"g": lambda x, y: Q.g(x, y)[0], "grad_g": once_none(lambda *at: Q.g(*at)[1:])}
    with pytest.raises(TypeError, match=f"{form} returned a NoneType, expected"):
        solve(solver="s-tfbo", iters=50, tol=None, **changed)


def test_a_value_may_be_an_array_of_one():
    r = solve(f=lambda x, y: (np.array([Q.f(x, y)[0]]), *Q.f(x, y)[1:]))
    np.testing.assert_array_equal(r.x, solve().x)


def test_kinds_of_rows():
    pandas, sparse = pytest.importorskip("pandas"), pytest.importorskip("scipy.sparse")
    f, g, (A, b) = sums(True)
    limits = {"solver": "soba", "batch": 8, "iters": 50, "seed": 1}
    at = np.zeros(1), np.zeros(3)

    def x_of(rows, of_both):
        functions = (lambda x, y, rows, h=h: h(x, y, of_both(rows)) for h in (f, g))
        return bilevel.solve(*functions, *at, upper_data=rows, lower_data=rows, **limits).x

    expected = x_of((A, b), lambda rows: rows)
    frame = pandas.DataFrame(np.c_[A, b], index=np.arange(len(b))[::-1])
    for rows, of_both in (
        ({"A": A, "b": b}, lambda rows: (rows["A"], rows["b"])),
        ((list(A), list(b)), lambda rows: rows),
        (frame, lambda rows: (rows.to_numpy()[:, :-1], rows.to_numpy()[:, -1])),
        ((sparse.csr_matrix(A), pandas.Series(b)), lambda rows: (rows[0].toarray(), rows[1])),
    ):
        np.testing.assert_allclose(x_of(rows, of_both), expected, rtol=1e-7)


def test_a_list_of_rows():
    f, g, (A, b) = sums(True)
    limits = {"solver": "soba", "batch": 8, "iters": 50, "seed": 1}
    at = np.zeros(1), np.zeros(3)
    rows = list(zip(A, b, strict=True))
    x = [
        bilevel.solve(f, g, *at, upper_data=given, lower_data=given, **limits).x
        for given in ((A, b), rows)
    ]
    np.testing.assert_array_equal(*x)


def test_problems_are_not_pickled():
    with pytest.raises(TypeError, match="a problem cannot be pickled"):
        pickle.dumps(bilevel.Problem(Q.f, Q.g, Q.x0, Q.y0))


@pytest.mark.parametrize("change", [{"seed": -1}, {"scale": float("nan")}, {"scale": "a"}])
def test_check_names_the_argument(change):
    problem = bilevel.Problem(Q.f, Q.g, Q.x0, Q.y0)
    with pytest.raises(ValueError, match=f"{next(iter(change))} is "):
        bilevel.check(problem, **change)


def test_what_belonged_to_a_run_ends_with_it():
    """A vector that is kept is an error, not freed memory. In a process that may crash."""
    program = """
import numpy as np
from problems import Quadratic
import bilevel
Q = Quadratic()

class Keeping:
    def open(self, run):
        self.run, self.v = run, run.state("v", "y")
        if failing:
            raise KeyError("open")

    def step(self, run):
        run.move(run.y, 0.1, run.lower()[2])

for failing in (False, True):
    solver = Keeping()
    try:
        bilevel.solve(Q.f, Q.g, Q.x0, Q.y0, hvp=Q.hvp, jvp=Q.jvp, solver=solver, iters=3)
    except KeyError:
        pass
    for late in (solver.v.get, solver.run.y.get, solver.run.upper, lambda: solver.run.iteration):
        try:
            late()
            print("no error")
        except RuntimeError as error:
            print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["the run has ended, and what belonged to it with it"] * 8


def test_states_of_a_solver():
    class Twice:
        def open(self, run):
            run.state("v", "y")
            run.state("v", "y")

        def step(self, run):
            pass

    class Late:
        def open(self, run):
            pass

        def step(self, run):
            run.state("late", "y")

    for solver, name in ((Twice(), "v"), (Late(), "late")):
        with pytest.raises(ValueError, match=f"state vector '{name}'"):
            solve(solver=solver, iters=2)
