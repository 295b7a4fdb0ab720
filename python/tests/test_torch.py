"""Problems from PyTorch functions, on the library's vectors and on those of a device."""

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from problems import Quadratic

import bilevel

torch = pytest.importorskip("torch")

from bilevel import _torch  # noqa: E402

Q = Quadratic()
X, Y, PHI = Q.solution()
H, B, C = (torch.tensor(a) for a in (Q.H, Q.B, Q.c))


@pytest.fixture(params=["host", "device"])
def memory(request, monkeypatch):
    """device: the space of PyTorch operations, which any other device than the CPU has."""
    monkeypatch.setattr(_torch, "ALWAYS_DEVICE", request.param == "device")
    return request.param


def f(x, y):
    r = y - C.to(y)
    return 0.5 * r @ r + 0.5 * Q.mu * x @ x


def g(x, y):
    return 0.5 * y @ H.to(y) @ y - y @ (B.to(y) @ x)


def start(dtype=torch.float64):
    return torch.zeros(4, dtype=dtype), torch.zeros(9, dtype=dtype)


def test_derivatives(memory):
    report = bilevel.check(bilevel.Problem(f, g, *start()))
    assert report, report


def test_the_answer_is_that_of_linear_algebra(memory):
    r = bilevel.solve(f, g, *start(), tol=1e-8)
    assert r.converged and isinstance(r.x, torch.Tensor) and r.x.dtype == torch.float64
    np.testing.assert_allclose(r.x.numpy(), X, atol=1e-7)
    assert r.phi == pytest.approx(PHI)


@pytest.mark.parametrize("solver", [s.name for s in bilevel.solvers()])
def test_device_and_host_agree(solver, monkeypatch):
    """Every solver takes the same steps on both kinds of vectors, up to rounding."""
    found = {}
    for device in (False, True):
        monkeypatch.setattr(_torch, "ALWAYS_DEVICE", device)
        problem = bilevel.Problem(f, g, torch.ones(4).double(), torch.ones(9).double())
        try:
            found[device] = bilevel.solve(
                problem, solver=solver, iters=2 if solver == "vrbo" else 15
            )
        except bilevel.BilevelError as error:
            pytest.skip(str(error))
    np.testing.assert_allclose(found[True].x, found[False].x, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found[True].y, found[False].y, rtol=1e-6, atol=1e-9)


def test_trees_of_tensors(memory):
    """A module's parameters below, a dict above."""
    random = torch.Generator().manual_seed(0)
    rows = torch.randn(40, 3, generator=random, dtype=torch.float64)
    target = rows @ torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64) + 0.3
    model = torch.nn.Linear(3, 1).double()

    def loss(parameters):
        out = torch.func.functional_call(model, parameters, (rows,))
        return ((out[:, 0] - target) ** 2).mean()

    def lower(x, y):
        decay = sum(x[k].exp() * y[k].square().sum() for k in ("weight", "bias"))
        return loss(y) + decay

    x0 = {k: torch.zeros((), dtype=torch.float64) for k in ("weight", "bias")}
    y0 = dict(model.named_parameters())
    r = bilevel.solve(lambda x, y: loss(y), lower, x0, y0, bounds=(-8, 8), tol=1e-6)
    assert set(r.y) == {"weight", "bias"} and r.y["weight"].shape == (1, 3)
    assert r.converged
    assert float(r.x["weight"]) == pytest.approx(-8) and r.x["weight"].shape == ()
    assert not r.y["weight"].requires_grad


def test_sets(memory):
    r = bilevel.solve(f, g, *start(), simplex=True, tol=1e-7)
    numpy = bilevel.solve(Q.f, Q.g, Q.x0, Q.y0, simplex=True, tol=1e-7, hvp=Q.hvp, jvp=Q.jvp)
    np.testing.assert_allclose(r.x.numpy(), numpy.x, atol=1e-6)
    r = bilevel.solve(f, g, *start(), bounds=(torch.full((4,), -0.05), 0.1), tol=1e-7)
    own = bilevel.solve(f, g, *start(), project=lambda x: x.clamp(-0.05, 0.1), tol=1e-7)
    numpy = bilevel.solve(Q.f, Q.g, Q.x0, Q.y0, bounds=(-0.05, 0.1), tol=1e-7, hvp=Q.hvp, jvp=Q.jvp)
    np.testing.assert_allclose(r.x.numpy(), numpy.x, atol=1e-6)
    np.testing.assert_allclose(own.x.numpy(), numpy.x, atol=1e-6)


def test_batches_and_loaders(memory):
    random = torch.Generator().manual_seed(1)
    rows = torch.randn(64, 3, generator=random, dtype=torch.float64)
    target = torch.randn(64, generator=random, dtype=torch.float64)

    def loss(y, a, b):
        return 0.5 * ((a @ y - b) ** 2).mean()

    def upper(x, y, idx):
        return loss(y, rows[idx], target[idx])

    def lower(x, y, idx):
        return loss(y, rows[idx], target[idx]) + 0.5 * (x.exp() * y.square()).sum()

    def by_rows(x, y, batch):
        return loss(y, *batch) + 0.5 * (x.exp() * y.square()).sum()

    at = torch.zeros(3, dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    limits = {"solver": "soba", "batch": 16, "iters": 100, "seed": 4, "bounds": (-9, 9)}
    r = bilevel.solve(upper, lower, *at, upper_samples=64, lower_samples=64, **limits)
    data = torch.utils.data.TensorDataset(rows, target)
    loader = torch.utils.data.DataLoader(data, batch_size=5, shuffle=True)

    class OneByOne(torch.utils.data.Dataset):
        def __len__(self):
            return 64

        def __getitem__(self, i):
            assert type(i) is int
            return rows[i], target[i]

    listed = list(zip(rows, target, strict=True))
    for given in ((rows, target), data, loader, listed, OneByOne()):
        same = bilevel.solve(
            lambda x, y, batch: loss(y, *batch),
            by_rows,
            *at,
            upper_data=given,
            lower_data=given,
            **limits,
        )
        torch.testing.assert_close(same.x, r.x)


def test_single_precision(memory):
    r = bilevel.solve(f, g, *start(torch.float32), tol=1e-3)
    assert r.x.dtype == torch.float32 and r.converged
    np.testing.assert_allclose(r.x.numpy(), X, atol=1e-2)


def test_functions_that_do_not_depend_on_everything(memory):
    def linear(x, y):
        return y.sum() * 0.0 + 0.5 * ((y - 1.0) ** 2).sum()

    r = bilevel.solve(lambda x, y: (y**2).sum(), linear, *start(), iters=3, solver="s-tfbo")
    assert torch.equal(r.x, start()[0])


def test_gradients_of_any_layout(memory):
    """Expanded, negated, of a tensor subclass, and of a loss in another precision."""

    class Own(torch.Tensor):
        pass

    def same(x, y):  # the gradient of y.sum() is one number, expanded
        return y.sum() + (x * x).sum()

    def negated(x, y):
        return -torch.complex(0 * y, -y).conj().imag.sum() + (x * x).sum()

    def wrapped(x, y):
        return same(x, y).as_subclass(Own)

    def double(x, y):
        return same(x, y).double()

    limits = {"solver": "s-tfbo", "iters": 20, "certificate": False}
    expected = bilevel.solve(lambda x, y: (y @ torch.ones_like(y)) + x @ x, g, *start(), **limits)
    for function in (same, wrapped, double):
        assert bilevel.check(bilevel.Problem(function, g, *start()))
        r = bilevel.solve(function, g, *start(), **limits)
        torch.testing.assert_close(r.x, expected.x)
    assert bilevel.check(bilevel.Problem(negated, g, *start()))
    r = bilevel.solve(double, g, *start(torch.float32), **limits)
    torch.testing.assert_close(r.x.double(), expected.x, rtol=1e-4, atol=1e-5)


def test_arguments_changed_in_place():
    """What a function does to its argument does not reach the run."""

    def late(x, y):
        value = f(x.clone(), y.clone())
        with torch.no_grad():
            x.fill_(7.0)
            y.zero_()
        return value

    limits = {"solver": "soba", "iters": 20, "certificate": False}
    expected = bilevel.solve(f, g, *start(), **limits)
    torch.testing.assert_close(bilevel.solve(late, g, *start(), **limits).x, expected.x)


def test_under_no_grad(memory):
    with torch.no_grad():
        assert bilevel.solve(f, g, *start(), tol=1e-6).converged


class Named(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.b = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
        self.a = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))


def two_parts(x, y):
    return ((x["b"] - 1) ** 2).sum() + ((x["a"] + 2) ** 2).sum() + (y**2).sum()


def test_projections_in_another_order():
    """Keys decide, not their order; pairs of names and tensors are a dict."""
    r = bilevel.solve(
        two_parts,
        lambda x, y: ((y - 1) ** 2).sum(),
        Named().named_parameters(),
        torch.zeros(2, dtype=torch.float64),
        project=lambda x: {"a": x["a"].clamp(min=-0.5), "b": x["b"].clamp(max=0.75)},
        tol=1e-6,
    )
    assert list(r.x) == ["b", "a"]
    expected = {"b": torch.full((2,), 0.75).double(), "a": torch.full((2,), -0.5).double()}
    torch.testing.assert_close(r.x, expected)


def test_a_projection_of_other_precision(memory):
    r = bilevel.solve(
        lambda x, y: ((y - 2) ** 2).sum(),
        lambda x, y: ((y - x) ** 2).sum(),
        torch.zeros(3, dtype=torch.float64),
        torch.zeros(3, dtype=torch.float64),
        project=lambda x: x.clamp(0, 1).float(),
        tol=1e-6,
    )
    torch.testing.assert_close(r.x, torch.ones(3, dtype=torch.float64))


def test_functions_that_differentiate(memory):
    """g with derivatives in it, which it takes itself, where the run wants its value alone too."""

    def with_slope(x, y):
        (slope,) = torch.autograd.grad((y**2).sum() / 2, y, create_graph=True)
        return g(x, y) + 0.5 * (slope**2).sum()

    def the_same(x, y):
        return g(x, y) + 0.5 * (y**2).sum()

    limits = {"tol": 1e-8, "solver": "exact"}
    r = bilevel.solve(f, with_slope, *start(), **limits)
    torch.testing.assert_close(r.x, bilevel.solve(f, the_same, *start(), **limits).x)


def test_inference_mode(memory):
    expected = bilevel.solve(f, g, *start(), tol=1e-8).x
    with torch.inference_mode():
        found = bilevel.solve(f, g, *start(), tol=1e-8).x
        inner = bilevel.implicit(g, start()[1])(expected)
    assert torch.equal(found, expected)
    assert torch.equal(inner, bilevel.implicit(g, start()[1])(expected))


def test_a_default_device():
    """Where x0 is decides. In a process that may crash."""
    program = """
import torch, bilevel
x0, y0 = torch.zeros(2), torch.zeros(2)
torch.set_default_device("meta")
f, g = lambda x, y: ((y - 2) ** 2).sum(), lambda x, y: ((y - x) ** 2).sum()
print(bilevel.solve(f, g, x0, y0, tol=1e-3).x.tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.array(eval(done.stdout)), [2.0, 2.0], atol=1e-2)


class Endless(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter(())


@pytest.mark.parametrize(
    "change, message",
    [
        ({"x0": torch.zeros(4, dtype=torch.int64)}, "x0 has dtype torch.int64"),
        ({"x0": torch.zeros(4)}, "y0 is of float64, x0 of float32"),
        ({"x0": np.zeros(4)}, "x0 is of numpy, y0 of torch"),
        ({"x0": [torch.zeros(2), 3]}, r"x0\[1\] is a int"),
        ({"x0": torch.full((4,), torch.nan)}, "x0 has a value that is not finite"),
        ({"f": lambda x, y: y}, r"f returned a tensor of shape \(9,\)"),
        ({"f": lambda x, y: 1.0}, "f returned a float"),
        ({"f": lambda x, y: f(x, y).detach()}, "does not depend on x or y: detach"),
        ({"g": lambda x, y: g(x, y.detach())}, "g returned a tensor that does not depend on y"),
        ({"x0": {}}, "x0 holds no array"),
        ({"g": lambda x, y: (y * torch.inf).sum()}, "g returned"),
        ({"hvp": lambda x, y, v: v}, "hvp is not needed"),
        ({"x0": torch.nn.Linear(2, 2)}, "x0 is a Linear, expected a tensor: give its parameters"),
        (
            {"x0": [torch.zeros(2, dtype=torch.float64), torch.zeros(2, device="meta").double()]},
            r"x0\[1\] is on device meta, others on cpu",
        ),
        (
            {"f": lambda x, y: torch.zeros((), device="meta").double()},
            "f returned a tensor on meta, x0 is on cpu",
        ),
        ({"project": lambda x: None}, "project returned a NoneType"),
        ({"project": lambda x: x[:2]}, r"what project returned has shape \[\(2,\)\]"),
        (
            {"upper_data": torch.utils.data.DataLoader(Endless())},
            "upper_data: an indexable or arrays of one length",
        ),
        ({"x0": torch.eye(2, dtype=torch.float64).to_sparse()}, "x0 is a tensor without elements"),
        ({"f": lambda x, y: 1j * y.sum()}, "f returned a tensor of torch.complex128"),
        (
            {"x0": torch.zeros(4, dtype=torch.float64, device="meta")},
            "y0 is on device cpu, x0 on meta",
        ),
    ],
)
def test_messages_name_the_argument(change, message):
    x0, y0 = start()
    given = {"f": f, "g": g, "x0": x0, "y0": y0, **change}
    with pytest.raises((TypeError, ValueError), match=message):
        bilevel.solve(**given)


def test_parameters_of_a_module(memory):
    """A generator is a list of its tensors."""
    linear = torch.nn.Linear(3, 1, dtype=torch.float64)
    x0 = torch.zeros(1, dtype=torch.float64)

    def lower(x, y):
        return ((y[0] - 2.0) ** 2).sum() + ((y[1] - x) ** 2).sum()

    def upper(x, y):
        return ((y[1] - 1.0) ** 2).sum()

    for y0 in (linear.parameters(), dict(linear.named_parameters()).values()):
        r = bilevel.solve(upper, lower, x0, y0, tol=1e-8)
        assert r.converged and isinstance(r.y, list)
        assert [part.shape for part in r.y] == [(1, 3), (1,)]
        torch.testing.assert_close(r.x, torch.ones(1, dtype=torch.float64))
        torch.testing.assert_close(r.y[0], torch.full((1, 3), 2.0, dtype=torch.float64))


@pytest.mark.parametrize("level", ["upper", "lower"])
def test_rows_given_as_a_number_of_samples(level):
    rows = torch.utils.data.TensorDataset(torch.zeros(8, 2, dtype=torch.float64))
    loader = torch.utils.data.DataLoader(rows, batch_size=2)
    with pytest.raises(ValueError, match=f"{level}_samples is .*rows go into {level}_data"):
        bilevel.solve(f, g, *start(), **{level + "_samples": loader})


def test_products_at_one_point_share_a_graph(memory):
    """Many products with H for each evaluation of g; none of another point."""
    calls = []

    def counted(x, y):
        calls.append(1)
        return g(x, y) + (y**4).sum()

    r = bilevel.solve(f, counted, *start(), solver="aid-cg", iters=20, certificate=False)
    assert r.counts.hvp > 0 and len(calls) < r.counts.hvp + r.counts.g_grad
    same = bilevel.solve(f, lambda x, y: counted(x, y) + 0.0, *start(), solver="aid-cg", iters=20)
    torch.testing.assert_close(same.x, r.x)
    assert bilevel.check(bilevel.Problem(f, counted, *start()))


def test_a_graph_outlives_a_look_elsewhere(memory):
    """Products at a point go on with its graph after g was taken at another one."""
    calls = []

    def counted(x, y):
        calls.append(1)
        return g(x, y)

    problem = bilevel.Problem(f, counted, *start())
    oracles, (x_level, y_level) = problem.oracles, (problem.x, problem.y)
    rooms = [x_level.room(None)] + [y_level.room(np.full(9, k)) for k in (1.0, 2.0, 3.0, 0.0)]
    x, y, other, v, out = (room[0] for room in rooms)
    del calls[:]
    for at, expected in ((y, 1), (y, 1), (other, 2), (y, 2)):
        if at == other:
            oracles.lower(None, x, at, None, 0, out)
        else:
            oracles.all(None, x, at, v, 0, out, 0)
        assert len(calls) == expected


def test_exceptions_come_out(memory):
    calls = []

    def failing(x, y):
        calls.append(1)
        if len(calls) > 9:
            raise KeyError("here")
        return f(x, y)

    with pytest.raises(KeyError, match="here"):
        bilevel.solve(failing, g, *start())


def test_kept_tensors_stay_valid(memory):
    kept = []

    def keeping(x, y):
        kept.append((x, x.detach().clone()))
        return f(x, y)

    bilevel.solve(keeping, g, *start(), solver="s-tfbo", iters=50)
    for given, copy in kept:
        assert torch.equal(given.detach(), copy)


def test_the_documentation_runs():
    """Its blocks, one after the other."""
    for page, least in (("docs/python.md", 5), ("README.md", 1)):
        text = (Path(__file__).parents[2] / page).read_text()
        blocks = re.findall(r"```python\n(.*?)```", text, re.S)
        assert len(blocks) >= least
        exec("\n".join(blocks), {"__name__": "documentation"})


class Counted:
    """A function with the points at which it was called."""

    def __init__(self, function):
        self.function, self.points = function, []

    def __call__(self, x, y):
        self.points.append(np.concatenate([part.detach().numpy() for part in (x, y)]))
        return self.function(x, y)

    def again(self):
        """How often it was called where it had been called just before."""
        return sum(np.array_equal(a, b) for a, b in pairwise(self.points))


def bent(x, y):
    return g(x, y) + 0.1 * (y**4).sum()


@pytest.mark.parametrize("solver", ["auto", "exact"])
def test_gradients_and_products_share_a_graph(solver, memory):
    """Newton's method takes products where it took the gradient: g is computed once there."""
    counted = Counted(bent)
    r = bilevel.solve(f, counted, *start(), solver=solver, tol=1e-6, certificate=False)
    assert len(counted.points) > 10
    assert counted.again() <= 4  # the look at the start, and vectors that were copied

    known = bilevel.solve(f, bent, *start(), solver=solver, tol=1e-10)
    torch.testing.assert_close(r.x, known.x, rtol=1e-4, atol=1e-5)


def test_implicit_computes_g_once_at_a_point():
    counted = Counted(bent)
    x = torch.ones(4, dtype=torch.float64, requires_grad=True)
    bilevel.implicit(counted, start()[1])(x).sum().backward()
    assert counted.again() <= 3  # the look at the start, and the beginning of the second solve


@pytest.mark.parametrize(
    "settings",
    [
        {"solver": "minimaxopt", "eta0": 0.1},
        {"solver": "soba", "step_x": 0.1, "step_y": 0.1, "step_v": 0.1},
        {"solver": "auto"},
    ],
)
def test_what_the_start_has_shown_is_not_asked_again(settings):
    upper, lower = Counted(f), Counted(g)
    ones = [torch.ones_like(part) for part in start()]
    bilevel.solve(upper, lower, *ones, iters=2, certificate=False, trace=False, **settings)
    assert len(lower.points) > 1
    assert [sum((p == 1.0).all() for p in each.points) for each in (upper, lower)] == [1, 1]


def test_a_lower_level_without_y_is_an_error_with_every_solver():
    for solver in ("auto", "soba", "minimaxopt"):
        with pytest.raises(ValueError, match="g returned a tensor that does not depend on y"):
            bilevel.solve(f, lambda x, y: (x * x).sum(), *start(), solver=solver, iters=1)


def test_a_problem_that_has_changed_is_looked_at_again():
    """A problem may be solved long after it was made, and more than once."""
    target = torch.ones(9, dtype=torch.float64)
    problem = bilevel.Problem(lambda x, y: ((y - target) ** 2).sum() + x @ x, g, *start())
    settings = {"solver": "minimaxopt", "iters": 3, "eta0": 0.1}
    first = bilevel.solve(problem, **settings)
    target *= 3.0
    second, third = (bilevel.solve(problem, **settings) for _ in range(2))
    assert not torch.equal(first.y, second.y)
    assert torch.equal(second.y, third.y)
