"""A quadratic problem with a closed form, for several kinds of arrays."""

from typing import Any

import numpy as np


class Quadratic:
    """f = |y - c|^2/2 + mu |x|^2/2,  g = y'Hy/2 - y'Bx:  y*(x) = H^-1 B x."""

    def __init__(self, dim_x: int = 4, dim_y: int = 9, mu: float = 0.1, seed: int = 3) -> None:
        random = np.random.default_rng(seed)
        A = random.normal(size=(dim_y, dim_y))
        self.H = A @ A.T / dim_y + np.eye(dim_y)
        self.B = random.normal(size=(dim_y, dim_x))
        self.c = random.normal(size=dim_y)
        self.mu = mu
        self.x0, self.y0 = np.zeros(dim_x), np.zeros(dim_y)

    def f(self, x: Any, y: Any) -> tuple[float, Any, Any]:
        r = y - self.c
        return 0.5 * r @ r + 0.5 * self.mu * x @ x, self.mu * x, r

    def g(self, x: Any, y: Any) -> tuple[float, Any, Any]:
        Bx = self.B @ x
        return 0.5 * y @ self.H @ y - y @ Bx, -self.B.T @ y, self.H @ y - Bx

    def hvp(self, x: Any, y: Any, v: Any) -> Any:
        return self.H @ v

    def jvp(self, x: Any, y: Any, v: Any) -> Any:
        return -self.B.T @ v

    def solution(self) -> tuple[Any, Any, float]:
        """x, y and phi by linear algebra."""
        S = np.linalg.solve(self.H, self.B)
        x = np.linalg.solve(S.T @ S + self.mu * np.eye(len(self.x0)), S.T @ self.c)
        y = S @ x
        return x, y, float(self.f(x, y)[0])


def sums(by_rows):
    """f and g as means over rows, called with rows or their numbers, and the rows."""
    random = np.random.default_rng(0)
    A, b = random.normal(size=(60, 3)), random.normal(size=60)

    def part(argument):
        return argument if by_rows else (A[argument], b[argument])

    def f(x, y, argument):
        rows, target = part(argument)
        r = rows @ y - target
        return 0.5 * np.mean(r**2), np.zeros(1), rows.T @ r / len(r)

    def g(x, y, argument):
        rows, target = part(argument)
        r = rows @ y - target
        size = np.exp(x[0])
        value = 0.5 * np.mean(r**2) + 0.5 * size * y @ y
        return value, np.array([0.5 * size * y @ y]), rows.T @ r / len(r) + size * y

    return f, g, (A, b)
