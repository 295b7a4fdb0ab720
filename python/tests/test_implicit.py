"""implicit(): against the closed form of ridge regression, and through jit, vmap and trees."""

import numpy as np
import pytest

import bilevel

random = np.random.default_rng(0)
A, B = random.normal(size=(30, 6)), random.normal(size=30)
WEIGHTS = random.normal(size=6)
AT = random.normal(size=6) * 0.5


def closed_form(x):
    """y* and the gradient of WEIGHTS'y* for g = |Ay - B|^2/2 + sum exp(x) y^2/2."""
    H = A.T @ A + np.diag(np.exp(x))
    y = np.linalg.solve(H, A.T @ B)
    return y, -np.exp(x) * y * np.linalg.solve(H, WEIGHTS)


class TestTorch:
    @pytest.fixture(autouse=True)
    def torch(self):
        self.t = pytest.importorskip("torch")

    def g(self, x, y):
        t = self.t
        r = t.as_tensor(A, dtype=y.dtype) @ y - t.as_tensor(B, dtype=y.dtype)
        return 0.5 * r @ r + 0.5 * (x.exp() * y**2).sum()

    def test_solution_and_gradient(self):
        t = self.t
        solve = bilevel.implicit(self.g, t.zeros(6, dtype=t.float64))
        x = t.tensor(AT, requires_grad=True)
        y = solve(x)
        (y @ t.tensor(WEIGHTS)).backward()
        expected, gradient = closed_form(AT)
        np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-9)
        np.testing.assert_allclose(x.grad.numpy(), gradient, rtol=1e-8)
        assert t.autograd.gradcheck(solve, (x,))

    def test_trees_and_single_precision(self):
        t = self.t

        def g(x, y):
            return self.g(x["log"].expand(6), t.cat([y["a"], y["b"].reshape(-1)]))

        solve = bilevel.implicit(g, {"a": t.zeros(2), "b": t.zeros(2, 2)})
        x = {"log": t.zeros(1, requires_grad=True)}
        y = solve(x)
        assert y["b"].shape == (2, 2) and y["a"].dtype == t.float32
        y["a"].sum().backward()
        assert t.isfinite(x["log"].grad).all()

    def test_transforms(self):
        t = self.t
        solve = bilevel.implicit(self.g, t.zeros(6, dtype=t.float64))
        weights = t.tensor(WEIGHTS)
        several = t.tensor(np.stack([AT, -AT, 0 * AT]))
        slopes = t.func.vmap(t.func.grad(lambda x: solve(x) @ weights))(several)
        for x, y, slope in zip(several, t.func.vmap(solve)(several), slopes, strict=True):
            expected, gradient = closed_form(x.numpy())
            np.testing.assert_allclose(y, expected, rtol=1e-9)
            np.testing.assert_allclose(slope, gradient, rtol=1e-8)
        rows = t.func.jacrev(solve)(several[0])
        np.testing.assert_allclose(weights @ rows, closed_form(AT)[1], rtol=1e-8)

    @pytest.mark.parametrize("tol", [-1.0, "a", float("nan")])
    def test_bad_tolerances(self, tol):
        with pytest.raises(ValueError, match="tol is "):
            bilevel.implicit(self.g, self.t.zeros(6).double(), tol=tol)(self.t.tensor(AT))

    def test_values_that_are_not_finite(self):
        solve = bilevel.implicit(self.g, self.t.zeros(6).double())
        with pytest.raises(ValueError, match="x0 has a value that is not finite"):
            solve(self.t.tensor(AT) * float("nan"))
        solve(self.t.tensor(AT))  # from now on the level is there
        with pytest.raises(ValueError, match="g has values at x and the start of y that are not"):
            solve(self.t.tensor(AT) * float("nan"))

    def test_second_derivatives_are_refused(self):
        t = self.t
        solve = bilevel.implicit(self.g, t.zeros(6, dtype=t.float64))
        with pytest.raises(bilevel.BilevelError, match="first derivatives only"):
            t.autograd.functional.hessian(lambda x: solve(x).sum(), t.tensor(AT))

    def test_space_of_a_device(self, monkeypatch):
        from bilevel import _torch

        monkeypatch.setattr(_torch, "ALWAYS_DEVICE", True)
        self.test_solution_and_gradient()

    def test_failures_are_errors(self):
        t = self.t
        y0 = t.zeros(6, dtype=t.float64)
        x = t.zeros(6, dtype=t.float64, requires_grad=True)
        with pytest.raises(bilevel.BilevelError):  # not bounded below
            bilevel.implicit(lambda x, y: (x * y).sum() + y.sum(), y0)(x)
        with pytest.raises(TypeError, match="y0 is missing"):
            bilevel.implicit(self.g)(x)
        with pytest.raises(KeyError):
            bilevel.implicit(lambda x, y: {}["no"], y0)(x)
        with pytest.raises(TypeError, match="NumPy"):
            bilevel.implicit(self.g, np.zeros(6))(np.zeros(6))


class TestJax:
    @pytest.fixture(autouse=True)
    def jax(self):
        self.jax = pytest.importorskip("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.np = self.jax.numpy

    def g(self, x, y):
        r = A @ y - B
        return 0.5 * r @ r + 0.5 * self.np.sum(self.np.exp(x) * y**2)

    def test_solution_and_gradient(self):
        solve = bilevel.implicit(self.g, self.np.zeros(6))
        expected, gradient = closed_form(AT)
        x = self.np.array(AT)
        np.testing.assert_allclose(solve(x), expected, rtol=1e-9)
        found = self.jax.grad(lambda x: solve(x) @ WEIGHTS)(x)
        np.testing.assert_allclose(found, gradient, rtol=1e-8)

    def test_jit_and_vmap(self):
        solve = bilevel.implicit(self.g, self.np.zeros(6))
        slope = self.jax.jit(self.jax.grad(lambda x: solve(x) @ WEIGHTS))
        several = np.stack([AT, -AT, 0 * AT])
        found = self.jax.jit(self.jax.vmap(slope))(self.np.array(several))
        for x, row in zip(several, found, strict=True):
            np.testing.assert_allclose(row, closed_form(x)[1], rtol=1e-8)

    def test_trees(self):
        np_ = self.np

        def g(x, y):
            return self.g(np_.broadcast_to(x["log"], 6), np_.concatenate([y[0], y[1]]))

        solve = bilevel.implicit(g, [np_.zeros(2), np_.zeros(4)])
        slope = self.jax.grad(lambda x: solve(x)[0].sum())({"log": np_.zeros(())})
        assert np.isfinite(slope["log"])
