"""What the Python package costs, and what it is beside other ways to solve a PyTorch problem.

    python.py [--only overhead,loop,peers] [--seconds N] [--markdown FILE]

overhead  A NumPy problem whose functions do nothing: time of an iteration beyond the functions.
loop      SOBA on a PyTorch problem, beside the same steps as a hand-written loop: time of an iteration.
peers     Penalties of a 20-class softmax regression, one for each feature. Time until Phi, certified
          afterwards by a tight solve at every point that a method has passed, is within 1% of the
          way from the start to the best: bilevel, a plain loop (L-BFGS below, conjugate gradients,
          Adam above), TorchOpt (custom_root with conjugate gradients) and Betty (conjugate
          gradients). Others are run with several steps of the upper optimizer; the best one counts.

One thread each. Needs torch, and torchopt and betty-ml where these are to be compared.
"""

import argparse
import time

import numpy as np
import torch

import bilevel

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)


def least(function, times=5, clock=time.thread_time):
    """The least seconds of several calls."""
    best = np.inf
    for _ in range(times):
        began = clock()
        function()
        best = min(best, clock() - began)
    return best


# ---- Overhead ----


def overhead():
    nothing_x, nothing_y = np.zeros(5), np.zeros(20)

    def f(x, y):
        return 0.0, nothing_x, nothing_y

    def hvp(x, y, v):
        return nothing_y

    def jvp(x, y, v):
        return nothing_x

    problem = bilevel.Problem(f, f, np.ones(5), np.ones(20), hvp=hvp, jvp=jvp, threads=1)
    count = 5000
    rows = []
    for solver in ("s-tfbo", "soba"):
        settings = {"solver": solver, "iters": count, "trace": False, "certificate": False}
        whole = least(lambda settings=settings: bilevel.solve(problem, **settings))
        x, y = np.ones(5), np.ones(20)
        functions = least(lambda: [(f(x, y), f(x, y), hvp(x, y, y), jvp(x, y, y)) for _ in range(count)])
        rows.append((solver, (whole - functions) / count * 1e6))
    print("overhead of an iteration with NumPy functions (2 callbacks, 4 functions; processor time)")
    for solver, microseconds in rows:
        print(f"  {solver:8} {microseconds:6.1f} us")
    return [["NumPy, " + solver, f"{us:.1f} us an iteration"] for solver, us in rows]


# ---- The same steps by hand ----


def softmax_problem(classes=20, features=30, rows=200, seed=0):
    make = torch.Generator().manual_seed(seed)
    useful = 10
    true = torch.zeros(features, classes)
    true[:useful] = torch.randn(useful, classes, generator=make)
    parts = []
    for _ in range(2):
        a = torch.randn(rows, features, generator=make)
        scores = 1.5 * (a @ true) + torch.randn(rows, classes, generator=make)
        parts.append((a, scores.argmax(1)))
    (a, labels), (a_val, labels_val) = parts

    def loss(y, rows, wanted):
        return torch.nn.functional.cross_entropy(rows @ y.reshape(features, classes), wanted)

    def f(x, y):
        return loss(y, a_val, labels_val)

    def g(x, y):
        squares = y.reshape(features, classes).square().sum(1)
        return loss(y, a, labels) + 0.5 * (x.exp() * squares).sum()

    return f, g, torch.full((features,), -3.0), torch.zeros(features * classes)


def soba_by_hand(f, g, x, y, step_x, step_y, count):
    """The fastest that we know: one double backward for both products."""
    v = torch.zeros_like(y)
    for _ in range(count):
        x.requires_grad_()
        y.requires_grad_()
        (gy,) = torch.autograd.grad(g(x, y), y, create_graph=True)
        hv, jv = torch.autograd.grad(gy, (y, x), v)
        fx, fy = torch.autograd.grad(
            f(x, y), (x, y), allow_unused=True, materialize_grads=True
        )
        with torch.no_grad():
            new_v = v - step_y * (hv - fy)
            y = y - step_y * gy
            x = x - step_x * (fx - jv)
            v = new_v
    return x, y


def loop():
    f, g, x0, y0 = softmax_problem()
    count, step_x, step_y = 300, 0.5, 0.5
    problem = bilevel.Problem(f, g, x0, y0, threads=1)
    settings = {"step_x": step_x, "step_y": step_y, "step_v": step_y, "batch": "full"}
    known = {p.name for s in bilevel.solvers() if s.name == "soba" for p in s.parameters}
    settings = {k: v for k, v in settings.items() if k in known or k == "batch"}

    def ours():
        return bilevel.solve(
            problem, solver="soba", iters=count, trace=False, certificate=False, settings=settings
        )

    hand = least(lambda: soba_by_hand(f, g, x0.clone(), y0.clone(), step_x, step_y, count))
    whole = least(ours)
    ratio = whole / hand
    print(f"PyTorch, SOBA: {whole / count * 1e6:.0f} us an iteration, by hand {hand / count * 1e6:.0f} us:"
          f" {100 * (ratio - 1):+.1f}%")
    return [["PyTorch, SOBA beside the same loop by hand", f"{100 * (ratio - 1):+.1f}% time"]]


# ---- Others ----


class Watch:
    """Points with their times, in processor time of one thread; certified afterwards."""

    def __init__(self, seconds):
        self.points, self.seconds = [], seconds
        self.began = time.process_time()

    def see(self, x):
        now = time.process_time() - self.began
        self.points.append((now, x.detach().clone()))
        return now < self.seconds

    def reached(self, phi, target):
        """When Phi was first at most the target, and Phi at the end. Some 12 points are certified,
        then those between the last one above and the first one below."""
        points = self.points
        last = len(points) - 1
        tried = sorted({round(last * (i / 12) ** 2) for i in range(13)})
        below = next((k for k in tried if phi(points[k][1]) <= target), None)
        if below is None:
            return np.inf, phi(points[-1][1])
        above = max([k for k in tried if k < below], default=-1)
        while below - above > 1:
            middle = (above + below) // 2
            if phi(points[middle][1]) <= target:
                below = middle
            else:
                above = middle
        return points[below][0], phi(points[-1][1])


class Enough(Exception):
    pass


def solve_lower(g, x, y):
    """y*(x) by L-BFGS from y, as a user would."""
    y = y.detach().clone().requires_grad_()
    optimizer = torch.optim.LBFGS(
        [y], max_iter=100, tolerance_grad=1e-7, line_search_fn="strong_wolfe"
    )

    def closure():
        optimizer.zero_grad()
        value = g(x.detach(), y)
        value.backward()
        return value

    optimizer.step(closure)
    return y.detach()


def conjugate_gradients(product, b, count=30, tol=1e-8):
    v, r = torch.zeros_like(b), b.clone()
    p, rr = r.clone(), r @ r
    first = rr.clone()
    for _ in range(count):
        hp = product(p)
        alpha = rr / (p @ hp)
        v, r = v + alpha * p, r - alpha * hp
        new = r @ r
        if new <= tol**2 * first:
            break
        p, rr = r + (new / rr) * p, new
    return v


def plain(f, g, x0, y0, lr, watch):
    x, y = x0.clone().requires_grad_(), y0
    optimizer = torch.optim.Adam([x], lr=lr)
    while watch.see(x):
        y = solve_lower(g, x, y).requires_grad_()
        fx, fy = torch.autograd.grad(f(x, y), (x, y), allow_unused=True, materialize_grads=True)
        (gy,) = torch.autograd.grad(g(x, y), y, create_graph=True)
        v = conjugate_gradients(
            lambda p, gy=gy, y=y: torch.autograd.grad(gy, y, p, retain_graph=True)[0], fy
        )
        (jv,) = torch.autograd.grad(gy, x, v)
        x.grad = fx - jv
        optimizer.step()


def with_torchopt(f, g, x0, y0, lr, watch):
    import torchopt

    def optimality(y, x):
        return torch.func.grad(lambda y: g(x, y))(y)

    solver = torchopt.linear_solve.solve_normal_cg(maxiter=30, atol=0, rtol=1e-8)

    @torchopt.diff.implicit.custom_root(optimality, argnums=1, solve=solver)
    def solution(y, x):
        return solve_lower(g, x, y)

    x, y = x0.clone().requires_grad_(), y0
    optimizer = torch.optim.Adam([x], lr=lr)
    while watch.see(x):
        found = solution(y, x)
        optimizer.zero_grad()
        f(x, found).backward()
        optimizer.step()
        y = found.detach()


def with_betty(f, g, x0, y0, lr, watch):
    from betty.configs import Config, EngineConfig
    from betty.engine import Engine
    from betty.problems import ImplicitProblem

    class Variables(torch.nn.Module):
        def __init__(self, start):
            super().__init__()
            self.value = torch.nn.Parameter(start.clone())

        def forward(self):
            return self.value

    class Upper(ImplicitProblem):
        def training_step(self, batch):
            if not watch.see(self.module.value):
                raise Enough
            return f(self.module(), self.lower.module())

    class Lower(ImplicitProblem):
        def training_step(self, batch):
            return g(self.upper.module(), self.module())

    def made(kind, name, start, rate, config):
        module = Variables(start)
        return kind(
            name=name, module=module, config=config, train_data_loader=[0],
            optimizer=torch.optim.Adam(module.parameters(), lr=rate),
        )

    upper = made(Upper, "upper", x0, lr, Config(retain_graph=True))
    lower = made(Lower, "lower", y0, 0.05, Config(type="cg", unroll_steps=20, cg_iterations=20))
    engine = Engine(
        config=EngineConfig(train_iters=10**9, logger_type="none"),
        problems=[upper, lower],
        dependencies={"u2l": {upper: [lower]}, "l2u": {lower: [upper]}},
    )
    try:
        engine.run()
    except Enough:
        pass


def with_bilevel(f, g, x0, y0, solver, watch):
    """Nothing to tune; every point at which f is asked for counts as passed."""

    def watched(x, y):
        if not watch.see(x):
            raise Enough
        return f(x, y)

    try:
        bilevel.solve(watched, g, x0, y0, solver=solver, threads=1, trace=False, certificate=False)
    except Enough:
        pass


def peers(seconds):
    f, g, x0, y0 = softmax_problem()
    exact = bilevel.implicit(g, y0, tol=1e-6)

    def phi(x):
        return float(f(x, exact(x)))

    best = bilevel.solve(f, g, x0, y0, threads=1, tol=1e-4, iters=300)
    start, end = phi(x0), best.phi
    target = end + 0.01 * (start - end)
    print(f"Phi: {start:.6f} at the start, {end:.6f} at the end, target {target:.6f}", flush=True)
    steps = (0.1, 0.3, 1.0)
    ways = {
        "bilevel": (with_bilevel, ("auto",)),
        "plain loop": (plain, steps),
        "TorchOpt": (with_torchopt, steps),
        "Betty": (with_betty, steps),
    }
    rows = []
    for name, (way, settings) in ways.items():
        found = []
        for setting in settings:
            watch = Watch(seconds)
            try:
                way(f, g, x0, y0, setting, watch)
                found.append((*watch.reached(phi, target), str(setting)))
            except Exception as error:
                print(f"  {name}, {setting}: {type(error).__name__}: {error}", flush=True)
        if not found:
            continue
        when, last, setting = min(found)
        text = f"{when:.2f} s" if np.isfinite(when) else f"not in {seconds:g} s"
        print(f"  {name:12} {text:>14}   Phi at the end {last:.6f}, {setting}", flush=True)
        rows.append([f"20-class penalties, {name}", text])
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="overhead,loop,peers")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--markdown")
    options = parser.parse_args()
    rows = []
    for name in options.only.split(","):
        rows += {"overhead": overhead, "loop": loop, "peers": lambda: peers(options.seconds)}[name]()
    if options.markdown:
        with open(options.markdown, "w") as file:
            print("| what | figure |\n| --- | --- |", file=file)
            for row in rows:
                print("| " + " | ".join(row) + " |", file=file)


if __name__ == "__main__":
    main()
