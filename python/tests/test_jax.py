"""Problems from JAX functions, on the library's vectors and on those of a device."""

import numpy as np
import pytest
from problems import Quadratic

import bilevel

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402

from bilevel import _jax  # noqa: E402

Q = Quadratic()
X, Y, PHI = Q.solution()


@pytest.fixture(params=["host", "device"])
def memory(request, monkeypatch):
    monkeypatch.setattr(_jax, "ALWAYS_DEVICE", request.param == "device")
    return request.param


def f(x, y):
    r = y - Q.c
    return 0.5 * r @ r + 0.5 * Q.mu * x @ x


def g(x, y):
    return 0.5 * y @ Q.H @ y - y @ (Q.B @ x)


def start():
    return jnp.zeros(4), jnp.zeros(9)


def test_derivatives(memory):
    report = bilevel.check(bilevel.Problem(f, g, *start()))
    assert report, report


def test_the_answer_is_that_of_linear_algebra(memory):
    r = bilevel.solve(f, g, *start(), tol=1e-8)
    assert r.converged and isinstance(r.x, jax.Array)
    np.testing.assert_allclose(r.x, X, atol=1e-7)


@pytest.mark.parametrize("solver", ["s-tfbo", "soba", "f2sa", "d-tfbo", "exact"])
def test_device_and_host_agree(solver, monkeypatch):
    found = []
    for device in (False, True):
        monkeypatch.setattr(_jax, "ALWAYS_DEVICE", device)
        found.append(bilevel.solve(f, g, jnp.ones(4), jnp.ones(9), solver=solver, iters=15))
    np.testing.assert_allclose(found[0].x, found[1].x, rtol=1e-6)


def test_functions_are_traced_once():
    traced = []

    def counting(x, y):
        traced.append(1)
        return g(x, y)

    problem = bilevel.Problem(f, counting, *start())
    bilevel.solve(problem, solver="s-tfbo", iters=20)
    before = len(traced)
    bilevel.solve(problem, solver="s-tfbo", iters=200)
    assert len(traced) == before


def test_trees_and_sets(memory):
    def split(x):
        return jnp.concatenate([x["a"].ravel(), x["b"]])

    x0 = {"a": jnp.zeros((1, 2)), "b": jnp.zeros(2)}
    r = bilevel.solve(
        lambda x, y: f(split(x), y), lambda x, y: g(split(x), y), x0, jnp.zeros(9), tol=1e-7
    )
    np.testing.assert_allclose(split(r.x), X, atol=1e-6)
    numpy = bilevel.solve(Q.f, Q.g, Q.x0, Q.y0, simplex=True, tol=1e-7, hvp=Q.hvp, jvp=Q.jvp)
    r = bilevel.solve(f, g, *start(), simplex=True, tol=1e-7)
    np.testing.assert_allclose(r.x, numpy.x, atol=1e-6)
    clipped = bilevel.solve(f, g, *start(), bounds=(-0.05, jnp.full(4, 0.1)), tol=1e-7)
    own = bilevel.solve(f, g, *start(), project=lambda x: x.clip(-0.05, 0.1), tol=1e-7)
    np.testing.assert_allclose(clipped.x, own.x, atol=1e-9)


def test_batches():
    random = np.random.default_rng(0)
    A, b = jnp.array(random.normal(size=(64, 3))), jnp.array(random.normal(size=64))

    def upper(x, y, idx):
        return 0.5 * jnp.mean((A[idx] @ y - b[idx]) ** 2)

    def lower(x, y, idx):
        return upper(x, y, idx) + 0.5 * jnp.sum(jnp.exp(x) * y**2)

    sums = {"upper_samples": 64, "lower_samples": 64}
    limits = {"solver": "soba", "batch": 16, "iters": 60, "bounds": (-9, 9)}
    r = bilevel.solve(upper, lower, jnp.zeros(3), jnp.zeros(3), **sums, **limits)
    assert np.isfinite(np.asarray(r.x)).all()


def test_trees_in_another_order():
    """jax.tree_util sorts keys; it is they that decide, not their order."""

    def f(x, y):
        return ((x["b"] - 1) ** 2).sum() + ((x["a"] + 2) ** 2).sum() + (y**2).sum()

    r = bilevel.solve(
        f,
        lambda x, y: ((y - 1) ** 2).sum(),
        {"b": jnp.zeros(2), "a": jnp.zeros(2)},
        jnp.zeros(2),
        project=lambda x: jax.tree_util.tree_map(lambda part: jnp.clip(part, -1.5, 9), x),
        tol=1e-6,
    )
    np.testing.assert_allclose(r.x["b"], [1.0, 1.0], atol=1e-5)
    np.testing.assert_allclose(r.x["a"], [-1.5, -1.5], atol=1e-5)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"x0": jnp.zeros(4, dtype=int)}, "x0 has dtype int64"),
        ({"x0": jnp.zeros(4, dtype=np.float32)}, "y0 is of float64, x0 of float32"),
        ({"f": lambda x, y: y}, r"f returned an array of shape \(9,\)"),
        ({"f": lambda x, y: jnp.nan * y.sum()}, "f returned nan at x0, y0"),
        ({"f": lambda x, y: None}, "f returned a NoneType"),
        ({"g": lambda x, y: "odd"}, "g returned a str"),
        ({"f": lambda x, y: 1j * y.sum()}, "f returned complex128"),
        ({"project": lambda x: None}, "project returned a NoneType"),
    ],
)
def test_messages_name_the_argument(change, message):
    x0, y0 = start()
    given = {"f": f, "g": g, "x0": x0, "y0": y0, **change}
    with pytest.raises((TypeError, ValueError), match=message):
        bilevel.solve(**given)
