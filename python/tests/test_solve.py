"""Problems from NumPy functions: answers, forms of x and y, sets, sums, errors, interruption."""

import os
import signal
import subprocess
import sys
import threading
import traceback
from typing import NamedTuple

import numpy as np
import pytest
from problems import Quadratic, sums

import bilevel

Q = Quadratic()
X, Y, PHI = Q.solution()


def solve(**others):
    given = {"f": Q.f, "g": Q.g, "x0": Q.x0, "y0": Q.y0, "tol": 1e-8, "hvp": Q.hvp, "jvp": Q.jvp}
    return bilevel.solve(**{**given, **others})


def test_the_answer_is_that_of_linear_algebra():
    r = solve()
    assert r.converged and r.outcome == "converged"
    np.testing.assert_allclose(r.x, X, atol=1e-7)
    np.testing.assert_allclose(r.y, Y, atol=1e-7)
    assert r.phi == pytest.approx(PHI, rel=1e-12)
    assert r.certificate.minimum is True and r.certificate.grad_norm == r.grad_norm <= 1e-8
    assert r.counts.hvp > 0 and r.counts.total > r.counts.hvp


def test_without_second_derivatives_the_library_takes_differences():
    r = solve(hvp=None, jvp=None, tol=1e-5)
    assert r.converged
    for name in ("no hvp", "no jvp"):
        assert any("differences" in note and note.endswith(name) for note in r.notes)
    np.testing.assert_allclose(r.x, X, atol=1e-4)


def test_gradients_apart_from_values():
    r = solve(
        f=lambda x, y: Q.f(x, y)[0],
        grad_f=lambda x, y: Q.f(x, y)[1:],
        g=lambda x, y: Q.g(x, y)[0],
        grad_g=lambda x, y: Q.g(x, y)[1:],
    )
    np.testing.assert_allclose(r.x, X, atol=1e-7)


@pytest.mark.parametrize("solver", [s.name for s in bilevel.solvers()])
def test_every_solver_lowers_phi(solver):
    start = solve(iters=0, tol=None, solver="exact", x0=np.ones(4)).phi
    try:
        r = solve(solver=solver, iters=60, tol=None, x0=np.ones(4))
    except bilevel.BilevelError as error:
        pytest.skip(str(error))  # it needs something that this problem does not have
    assert r.solver == solver
    assert r.phi < start


class Pair(NamedTuple):
    a: object
    b: object


@pytest.mark.parametrize("form", ["matrix", "list", "tuple", "dict", "nested", "named"])
def test_forms_of_x(form):
    starts = {
        "matrix": np.zeros((2, 2)),
        "list": [np.zeros(1), np.zeros(3)],
        "tuple": (np.zeros(()), np.zeros(3)),
        "dict": {"a": np.zeros((1, 2)), "b": np.zeros(2)},
        "nested": {"a": [np.zeros(1), np.zeros(1)], "b": np.zeros(2)},
        "named": Pair(np.zeros(1), np.zeros(3)),
    }
    x0 = starts[form]

    def flat(x):
        if isinstance(x, np.ndarray):
            return x.ravel()
        items = x.values() if isinstance(x, dict) else x
        return np.concatenate([flat(item) for item in items])

    def like(values):
        from bilevel._tree import leaves, rebuild

        parts, first = [], 0
        for leaf in leaves(x0):
            parts.append(values[first : first + leaf.size].reshape(leaf.shape))
            first += leaf.size
        return rebuild(x0, iter(parts))

    def f(x, y):
        value, fx, fy = Q.f(flat(x), y)
        return value, like(fx), fy

    def g(x, y):
        value, gx, gy = Q.g(flat(x), y)
        return value, like(gx), gy

    r = solve(f=f, g=g, x0=x0, hvp=None, jvp=None, tol=1e-5)
    assert type(r.x) is type(x0)
    np.testing.assert_allclose(flat(r.x), X, atol=1e-4)


def test_single_precision():
    r = solve(x0=Q.x0.astype(np.float32), y0=Q.y0.astype(np.float32), tol=1e-3)
    assert r.x.dtype == np.float32 and r.converged
    np.testing.assert_allclose(r.x, X, atol=1e-2)


def test_python_numbers():
    r = bilevel.solve(
        lambda x, y: ((y - 1) ** 2, 0.0, 2 * (y - 1)),
        lambda x, y: ((y - x) ** 2, 2 * (x - y), 2 * (y - x)),
        0.0,
        0.0,
        tol=1e-6,
    )
    assert r.x.shape == () and r.x == pytest.approx(1.0, abs=1e-5)


# ---- Sets ----


def test_bounds_hold():
    inside = X.clip(-0.05, 0.1)
    assert (inside != X).any()
    r = solve(bounds=(-0.05, 0.1), tol=1e-7)
    assert r.converged and r.certificate.projected
    assert r.x.min() >= -0.05 and r.x.max() <= 0.1
    each = solve(bounds=(np.full(4, -0.05), np.full(4, 0.1)), tol=1e-7)
    np.testing.assert_array_equal(each.x, r.x)
    np.testing.assert_array_equal(solve(project=lambda x: x.clip(-0.05, 0.1), tol=1e-7).x, r.x)


def test_simplex():
    r = solve(simplex=True, tol=1e-7)
    assert r.converged and r.x.min() >= 0.0 and r.x.sum() == pytest.approx(1.0)
    # optimality on the simplex: the gradient is least, and the same, where x is positive
    S = np.linalg.solve(Q.H, Q.B)
    gradient = S.T @ (S @ r.x - Q.c) + Q.mu * r.x
    positive = r.x > 1e-9
    assert np.ptp(gradient[positive]) < 1e-6
    assert (gradient[~positive] > gradient[positive].max() - 1e-6).all()
    assert solve(simplex=2.5, tol=1e-7).x.sum() == pytest.approx(2.5)


# ---- Sums ----


def test_batches():
    seen = []
    f, g, data = sums(False)

    def noted(x, y, idx):
        seen.append(len(idx))
        assert idx.dtype == np.int64 and idx.min() >= 0 and idx.max() < 60
        return g(x, y, idx)

    r = bilevel.solve(
        f,
        noted,
        np.zeros(1),
        np.zeros(3),
        upper_samples=60,
        lower_samples=60,
        solver="soba",
        batch=8,
        iters=300,
        seed=1,
    )
    assert 8 in seen and 60 in seen
    by_rows = bilevel.solve(
        *sums(True)[:2],
        np.zeros(1),
        np.zeros(3),
        upper_data=data,
        lower_data=data,
        solver="soba",
        batch=8,
        iters=300,
        seed=1,
    )
    np.testing.assert_array_equal(by_rows.x, r.x)


STOCHASTIC = [s.name for s in bilevel.solvers() if s.stochastic and s.name != "auto"]


@pytest.mark.parametrize("solver", STOCHASTIC)
def test_stochastic_solvers_take_batches(solver):
    f, g, data = sums(True)
    problem = bilevel.Problem(
        f, g, np.zeros(1), np.zeros(3), upper_data=data, lower_data=data, bounds=(-10, 3)
    )
    try:
        r = bilevel.solve(problem, solver=solver, batch=16, iters=20)
    except bilevel.BilevelError as error:
        pytest.skip(str(error))
    assert np.isfinite(r.x).all() and r.iterations == 20


# ---- Results ----


def test_trace_repr_and_html():
    r = solve(solver="s-tfbo", iters=300, tol=None)
    assert r.trace["iteration"][0] == 0 and r.trace["iteration"][-1] == 300
    assert r.trace["f"][-1] < r.trace["f"][0]
    frame = r.trace.to_pandas()
    assert list(frame["iteration"]) == list(r.trace["iteration"])
    assert "phi" in repr(r) and "<svg" in r._repr_html_()
    assert len(solve(trace=False).trace) == 0


def test_same_bits_again():
    a, b = (solve(solver="s-tfbo", iters=200, tol=None, seed=5) for _ in range(2))
    np.testing.assert_array_equal(a.x, b.x)
    np.testing.assert_array_equal(a.y, b.y)


def test_compare_and_check():
    problem = bilevel.Problem(Q.f, Q.g, Q.x0, Q.y0, hvp=Q.hvp, jvp=Q.jvp)
    table = bilevel.compare(problem, ["s-tfbo", "exact"], iters=100)
    assert {row.solver for row in table} == {"s-tfbo", "exact"}
    assert table[0].result.phi <= table[1].result.phi
    assert "exact" in repr(table) and "<table" in table._repr_html_()
    assert len(table.to_pandas()) == 2
    assert bilevel.check(problem)
    wrong = bilevel.Problem(Q.f, lambda x, y: (*Q.g(x, y)[:2], -y), Q.x0, Q.y0)
    report = bilevel.check(wrong)
    assert not report and "WRONG" in repr(report)


def test_solvers_and_families_are_listed():
    names = {s.name: s for s in bilevel.solvers()}
    assert "auto" in names and names["soba"].stochastic and "hvp" in names["soba"].needs
    assert any(p.name == "batch" for p in bilevel.run_options())
    assert "quadratic" in bilevel.families()


# ---- Errors ----


@pytest.mark.parametrize(
    "change, message",
    [
        ({"x0": np.array([np.nan, 0, 0, 0])}, "x0 has a value that is not finite"),
        ({"y0": np.array(["a"])}, "y0 has dtype"),
        ({"x0": np.zeros(4, np.float32)}, "y0 is of float64, x0 of float32"),
        ({"x0": np.zeros(0)}, "x0 is empty"),
        ({"x0": None}, "x0 is missing"),
        ({"f": 3}, "f is a int"),
        ({"f": lambda x, y: 1.0}, "f returned a float"),
        ({"f": lambda x, y: (None, x, y)}, "f returned NoneType"),
        ({"g": lambda x, y: (0.0, x, y[:-1])}, "gradient of g in y has shape"),
        ({"g": lambda x, y: (0.0, y, y)}, "gradient of g in x has shape"),
        ({"hvp": lambda x, y, v: v[1:]}, "what hvp returned has shape"),
        ({"hvp": 3}, "hvp is a int"),
        ({"f": lambda x, y: (0.0, "abc", y)}, "gradient of f in x is not an array of numbers"),
        ({"f": lambda x, y: (0.0, 1j * x, y)}, "gradient of f in x is not an array of numbers"),
        ({"upper_samples": -1}, "upper_samples is -1"),
        ({"upper_data": (np.zeros(3), np.zeros(4))}, "upper_data: an indexable or arrays"),
        ({"settings": [1]}, "settings is a list"),
        ({"f": lambda x, y: (np.nan, x, y)}, "f returned nan at x0, y0"),
        ({"g": lambda x, y: (0.0, x, y + np.inf)}, "gradient of g in y is not finite at x0, y0"),
        ({"solver": "nosuch"}, "nosuch"),
        ({"nosuch": 1}, "nosuch"),
        ({"tol": -1.0}, "tol"),
        ({"bounds": (1, 0)}, "bounds: a lower bound"),
        ({"bounds": (np.zeros(3), 1)}, "bounds"),
        ({"bounds": ("a", 1)}, "bounds: not numbers"),
        ({"bounds": (None, 1)}, "without a bound it is -inf or inf"),
        ({"x0": np.ma.masked_array(np.zeros(4), [1, 0, 0, 0])}, "x0 has masked values"),
        ({"x0": [[1.0, 2.0], [3.0]]}, "x0 is not an array of numbers"),
        ({"x0": {}}, "x0 holds no array"),
        ({"f": lambda x, y: (10**400, x, y)}, "f returned int, expected a number"),
        ({"f": lambda x, y: ("3", x, y)}, "f returned str, expected a number"),
        ({"f": lambda x, y: (np.zeros(2), x, y)}, r"f returned ndarray of shape \(2,\)"),
        ({"f": lambda x, y: (0.0, np.ma.masked_all(4), y)}, "gradient of f in x has masked"),
        ({"threads": 2**40}, "threads is 1099511627776, expected"),
        ({"threads": "a"}, "threads is 'a', expected a whole number"),
        ({"upper_samples": 2**70}, "upper_samples is 1180591620717411303424"),
        ({"upper_data": "abc"}, "upper_data: an indexable"),
        ({"upper_data": {"a": np.zeros(2), "b": np.zeros(3)}}, "upper_data: an indexable"),
        ({"many_minimizers": "no"}, "many_minimizers is 'no'"),
        ({"name": "a\0b"}, "zero byte"),
        ({"settings": {1: 2}}, "the name of a setting is a int"),
        ({"settings": {"batch": "1\0"}}, "zero byte"),
        ({"simplex": -1.0}, "simplex is -1.0"),
        ({"bounds": (0, 1), "simplex": True}, "exclude"),
        ({"solver": object()}, "has no open"),
    ],
)
def test_messages_name_the_argument(change, message):
    with pytest.raises((TypeError, ValueError), match=message):
        solve(**change)


class Odd(Exception):
    pass


def test_an_exception_comes_out_unchanged_with_its_traceback():
    calls = []
    odd = Odd("here")

    def failing(x, y):
        calls.append(1)
        if len(calls) > 20:
            raise odd
        return Q.f(x, y)

    with pytest.raises(Odd) as caught:
        solve(f=failing)
    assert caught.value is odd
    assert "failing" in "".join(traceback.format_exception(odd))
    assert solve().converged  # nothing is left behind


def test_a_rejected_point_is_not_the_end():
    calls = []

    def f(x, y):
        calls.append(1)
        if len(calls) == 12:
            raise bilevel.Reject
        return Q.f(x, y)

    r = solve(f=f, solver="s-tfbo", iters=300, tol=None)
    assert r.outcome == "iterations" and any("rejected" in note for note in r.notes)


INTERRUPTED = """
import os, signal, threading, bilevel
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
threading.Timer(0.6, os.kill, (os.getpid(), signal.SIGINT)).start()
r = bilevel.solve({problem}, solver="s-tfbo", iters=10**9, seconds=60)
assert r.outcome == "stopped", r
assert r.iterations > 0 and r.seconds < 30
print("ended well")
"""


@pytest.mark.parametrize(
    "problem",
    [
        'bilevel.problem("quadratic")',
        "lambda x, y: ((y - 1) @ (y - 1), 0 * x, 2 * (y - 1)),"
        " lambda x, y: ((y - x) @ (y - x), 2 * (x - y), 2 * (y - x)), [0.0], [0.0]",
    ],
)
def test_ctrl_c_gives_the_result_so_far(problem):
    program = INTERRUPTED.format(problem=problem)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "ended well" in done.stdout


# ---- Own solvers ----


class Alternating:
    """y -= step gy, v -= step (Hv - fy), x -= step/10 (fx - Jv)."""

    name = "alternating"

    def __init__(self, step=0.1):
        self.size = step

    def open(self, run):
        self.v = run.state("v", "y", moves=True)

    def step(self, run):
        gy, hv, jv = run.lower_all(self.v.get())
        _, fx, fy = run.upper()
        d = fx - jv
        run.report(gy_norm=np.linalg.norm(gy), d_norm=np.linalg.norm(d))
        run.report(r_norm=np.linalg.norm(hv - fy))
        run.move(run.y, self.size, gy)
        run.move(self.v, self.size, hv - fy)
        run.move(run.x, 0.1 * self.size, d)


def test_a_solver_in_python():
    r = solve(solver=Alternating(step=0.15), iters=5000, tol=1e-6)
    assert r.solver == "alternating" and r.converged
    np.testing.assert_allclose(r.x, X, atol=1e-5)


def test_solvers_in_python_are_compared():
    problem = bilevel.Problem(Q.f, Q.g, Q.x0, Q.y0, hvp=Q.hvp, jvp=Q.jvp)

    class Slower(Alternating):
        name = "slower"

        def __init__(self):
            super().__init__(step=0.01)

    table = bilevel.compare(problem, ["exact", Alternating(step=0.15), Slower], iters=500)
    found = {row.solver: row.result for row in table}
    alone = bilevel.solve(problem, solver=Alternating(step=0.15), iters=500)
    np.testing.assert_array_equal(found["alternating"].x, alone.x)
    assert found["exact"].phi <= found["alternating"].phi < found["slower"].phi
    with pytest.raises(TypeError, match="int has no open"):
        bilevel.compare(problem, [3])


def test_an_exception_in_a_solver_comes_out():
    class Failing(Alternating):
        def step(self, run):
            raise Odd("step")

    with pytest.raises(Odd, match="step"):
        solve(solver=Failing)


# ---- Threads ----


def test_two_runs_at_once():
    results = {}

    def work(seed):
        problem = bilevel.problem("quadratic", seed=seed, threads=1)
        results[seed] = bilevel.solve(problem, solver="s-tfbo", iters=2000, progress=False)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, result in results.items():
        problem = bilevel.problem("quadratic", seed=seed, threads=1)
        alone = bilevel.solve(problem, solver="s-tfbo", iters=2000)
        np.testing.assert_array_equal(result.x, alone.x)


def test_the_lock_is_released_in_built_in_problems():
    """While a run is in C, this thread goes on counting."""
    problem = bilevel.problem("quadratic", dx=400, dy=400, threads=1)
    thread = threading.Thread(target=lambda: bilevel.solve(problem, solver="s-tfbo", seconds=1.0))
    thread.start()
    counted = 0
    while thread.is_alive():
        counted += 1
    thread.join()
    assert counted > 1000


# ---- The command ----


def test_same_bits_as_the_command(tmp_path):
    command = os.environ.get("BILEVEL_COMMAND")
    if not command:
        pytest.skip("BILEVEL_COMMAND is not set")
    import json

    for solver in ("auto", "soba", "s-tfbo"):
        arguments = [command, "solve", "quadratic", "--solver", solver, "--seed", "3"]
        arguments += ["--iters", "50", "--json", "--store", str(tmp_path / "runs.db")]
        done = subprocess.run(arguments, capture_output=True, text=True, check=True)
        theirs = json.loads(done.stdout)
        ours = bilevel.solve(bilevel.problem("quadratic"), solver=solver, seed=3, iters=50)
        assert ours.phi == theirs["phi"] and ours.x.tolist() == theirs["x"], solver
        assert ours.y.tolist() == theirs["y"]


def test_signal_handler_is_put_back():
    before = signal.getsignal(signal.SIGINT)
    solve()
    assert signal.getsignal(signal.SIGINT) is before


def test_progress_bar(capsys):
    pytest.importorskip("tqdm")
    solve(solver="s-tfbo", seconds=0.6, iters=10**8, tol=None, progress=True)
    shown = capsys.readouterr().err
    assert "s-tfbo" in shown and "iteration" in shown
    solve(solver="s-tfbo", iters=50, tol=None, progress=False)
    assert capsys.readouterr().err == ""


def test_auto_begins_loosely_where_g_curves_down():
    # g has a well on either side of 0; its Hessian at the start has no positive eigenvalue
    weights, wanted = np.geomspace(1.0, 30.0, 40), np.linspace(0.2, 0.9, 40)

    def g(x, y):
        penalty, size = np.exp(x[0]), np.sum(y**2)
        value = np.sum(weights * (y**4 / 4 - y**2 / 2)) + penalty * size / 2
        return float(value), np.array([penalty * size / 2]), weights * (y**3 - y) + penalty * y

    def f(x, y):
        return float(np.sum((y - wanted) ** 2) / 2), np.zeros(1), y - wanted

    r = bilevel.solve(
        f,
        g,
        np.array([-3.0]),
        np.full(40, 0.05),
        hvp=lambda x, y, v: (weights * (3 * y**2 - 1) + np.exp(x[0])) * v,
        jvp=lambda x, y, v: np.array([np.exp(x[0]) * np.dot(y, v)]),
        iters=1,
        certificate=False,
    )
    assert r.counts.hvp < 110  # more where y and v are solved to the last digit
    y = np.sqrt(1.0 - np.exp(-3.0) / weights)  # the minimum of g at the start
    assert np.abs(r.y - y).max() < 0.05
