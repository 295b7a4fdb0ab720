"""A PyTorch problem on a GPU, with every solver, beside the CPU.

    python device_check.py [ITERATIONS [DEVICE [SOLVER,...]]]       60, cuda and all by default

Each solver runs in float32 on the device and on the CPU from the same start with the same batches.
What it makes of rounding is measured on the CPU alone: how far it ends there from the same run in
float64 (`f32-f64`), and at most from STARTS runs in float32 whose starts differ in the last bits
(`moved`), both relative to the size of x and y. The device agrees where it is no further from the
CPU than MARGIN times the larger one, its own error, or than ACCURACY, about 100 units of rounding.
Twice:

given      Steps, penalties and lengths of loops are numbers, so that all runs are the same
           arithmetic. The own error must be within LIMIT: else the problem would prove nothing.
automatic  Nothing is given: constants are estimated, with rounding, and used for all steps;
           penalties multiply it. These runs also end after as many oracle calls as PASSES over all
           rows are; the number of steps may then differ, as loops that end by their size may
           take a step more.

Runs must end in the same way, after as many steps but for that or where those on the CPU differ.
DEVICE cpu stands for a GPU where there is none: the start differs in the last bits there too. The
runs on the CPU are shared out to other processes. Not run by pytest.
"""

import math
import os
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import torch

import bilevel

FEATURES, CLASSES, ROWS, PASSES = 8, 3, 120, 3000
MARGIN, ACCURACY, LIMIT = 4.0, 1e-5, 1e-3
STARTS = 5  # that differ in the last bits
REQUIRED = ("tuning-free", "single-loop", "variance-reduced", "first-order penalty")

STEPS = {"step_x": 0.3, "step_y": 0.3}
NEUMANN = {**STEPS, "eta": 0.3, "Q": 4}
MOMENTUM = {**NEUMANN, "c1": 0.3, "m": 1, "dd": 1}
AVERAGES = {"gamma": 0.3, "lambda": 0.3, "k": 1, "m": 1}
PENALTY = {"lambda": 10, "Lg": 3, "mu": 1, "inner": 10}
GIVEN = {
    "s-tfbo": {},
    "d-tfbo": {"inner": "fixed", "n_y": 5, "n_v": 5},
    "soba": {**STEPS, "step_v": 0.3},
    "ttsa": NEUMANN,
    "mgbio": {"gamma": 0.3, "lambda": 0.3, "linear": "minres"},
    "msgbio": AVERAGES,
    "mrbo": {**MOMENTUM, "c2": 0.3},
    "vrbo": {**NEUMANN, "inner": 2},
    "sustain": {**MOMENTUM, "c2": 0.3},
    "mstsa": MOMENTUM,
    "fsla": {**STEPS, "step_v": 0.3},
    "vr-msgbio": AVERAGES,
    "stable": STEPS,
    "saba": {**STEPS, "step_v": 0.3},
    "ragd-gs": {**PENALTY, "L": 10, "Hc": 1},
    "minimaxopt": {"alpha0": 1, "eta0": 0.1, "factor_x": 1, "steps": 10, "stages": 4},
    "f2ba": {**PENALTY, "step_x": 0.1},
    "accf2ba": {**PENALTY, "L": 10, "B": 1},
    "f2sa": {**STEPS, "step_y": 0.01, "step_z": 0.3, "lambda0": 10, "step_x": 0.01},
    "pbgd": {"gamma": 10, "step_x": 0.03, "step_y": 0.03, "step_z": 0.3},
    "pbsgd": {"gamma": 10, "step_x": 0.03, "step_y": 0.03, "step_z": 0.3},
    "bome": {"eta": 0.5, "step_x": 0.01, "step_y": 0.01, "Lg": 3, "mu": 1, "inner": 10},
}


def problem(device, dtype, moved=0):
    """moved: 0, or which of the starts that differ in the last bits."""
    make = torch.Generator().manual_seed(0)
    true = torch.randn(FEATURES, CLASSES, generator=make)
    parts = []
    for _ in range(2):
        a = torch.randn(ROWS, FEATURES, generator=make)
        scores = a @ true + torch.randn(ROWS, CLASSES, generator=make)
        parts.append((a.to(device, dtype), scores.argmax(1).to(device)))

    def loss(y, part, idx):
        a, labels = parts[part]
        return torch.nn.functional.cross_entropy(a[idx] @ y, labels[idx])

    def f(x, y, idx):
        return loss(y, 1, idx)

    def g(x, y, idx):
        return loss(y, 0, idx) + 0.5 * (x.exp() * y.square().sum(1)).sum()

    def start(*shape):
        places = torch.arange(1.0, math.prod(shape) + 1.0, dtype=torch.float64)
        bits = 1.2e-7 * torch.sin(1000.0 * moved + places) if moved else 0.0
        return (0.1 * torch.cos(places) * (1.0 + bits)).reshape(shape).to(device, dtype)

    x0, y0 = start(FEATURES), start(FEATURES, CLASSES)
    samples = {"upper_samples": ROWS, "lower_samples": ROWS}
    return bilevel.Problem(f, g, x0, y0, bounds=(-10.0, 10.0), threads=1, **samples)


def run(made, solver, iters, way):
    """x and y in one float64 vector, how it ended, the steps, and seconds for each of them."""
    options = {"budget": PASSES * ROWS} if way == "automatic" else {"settings": GIVEN[solver]}
    began = time.perf_counter()
    r = bilevel.solve(
        made, solver=solver, iters=iters, trace=False, certificate=False, progress=False, **options
    )
    seconds = (time.perf_counter() - began) / max(r.iterations, 1)
    if r.x.device != made.x.device or r.y.device != made.y.device:
        raise RuntimeError(f"{solver}: the result is on {r.x.device}")
    vector = torch.cat([r.x.reshape(-1), r.y.reshape(-1)]).double().cpu()
    return vector.tolist(), r.outcome, r.iterations, seconds


def run_here(dtype, moved, *what):
    torch.set_num_threads(1)
    return run(problem("cpu", getattr(torch, dtype), moved), *what)


def difference(a, b):
    """Of two runs, relative to the size of the vectors."""
    u, v = torch.tensor(a[0]), torch.tensor(b[0])
    return float((u - v).norm() / v.norm())


def synchronizations(made, solver):
    """Waits for the device in a step: of 40 steps less those of 20."""
    counts = []
    for iters in (20, 40):
        torch.cuda.set_sync_debug_mode("warn")
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            bilevel.solve(made, solver=solver, iters=iters, trace=False, certificate=False)
        torch.cuda.set_sync_debug_mode("default")
        counts.append(sum("synchroniz" in str(w.message) for w in seen))
    return (counts[1] - counts[0]) / 20


def compare(there, here, others, way):
    """The line of one solver, and whether it agrees. others: in float64, and from other starts."""
    apart, wide = difference(there, here), difference(here, others[0])
    moved = max(difference(here, each) for each in others[1:])
    own = max(moved, wide)
    good = apart <= max(MARGIN * own, ACCURACY) and (own <= LIMIT or way == "automatic")
    steps = [each[2] for each in (here, *others)]
    good = good and there[1] == here[1]
    good = good and (there[1] == "budget" or min(steps) <= there[2] <= max(steps))
    text = f"{apart:10.1e} {moved:8.1e} {wide:8.1e} {there[2]:6} {there[1]:10}"
    text += f" {there[3] * 1e6:8.0f}"
    return text, good


def main():
    iters = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    device = sys.argv[2] if len(sys.argv) > 2 else "cuda"
    known = [s.name for s in bilevel.solvers() if s.group in REQUIRED]
    solvers = sys.argv[3].split(",") if len(sys.argv) > 3 else known
    torch.set_num_threads(1)
    name = torch.cuda.get_device_name() if device == "cuda" else device
    print(f"bilevel {bilevel.__version__}, torch {torch.__version__}, {name}")
    print(f"{iters} steps; within {MARGIN:g} times the own error or {ACCURACY:g}", end="")
    print(f"; given: own error within {LIMIT:g}")
    print(f"{'solver':12} {'settings':9} {'device-cpu':>10} {'moved':>8} {'f32-f64':>8}", end=" ")
    print(f"{'steps':>6} {'outcome':10} {'us/step':>8}", flush=True)
    made = problem(device, torch.float32, STARTS + 1 if device == "cpu" else 0)
    runs = [("float32", 0), ("float64", 0)] + [("float32", k + 1) for k in range(STARTS)]
    failed, began = [], time.perf_counter()
    with ProcessPoolExecutor(min(os.cpu_count() or 1, 14), get_context("spawn")) as pool:
        tasks = [(solver, iters, way) for solver in solvers for way in ("given", "automatic")]
        waiting = [[pool.submit(run_here, *kind, *task) for kind in runs] for task in tasks]
        for (solver, _, way), here in zip(tasks, waiting, strict=True):
            there = run(made, solver, iters, way)
            text, good = compare(there, here[0].result(), [h.result() for h in here[1:]], way)
            if not good:
                failed.append(f"{solver} ({way})")
            print(f"{solver:12} {way:9} {text}{'' if good else '  DIFFERS'}", flush=True)
    for solver in {"s-tfbo", "soba"}.intersection(solvers):
        if device == "cuda":
            print(f"{solver}: {synchronizations(made, solver):g} synchronizations a step")
    y0 = torch.zeros(FEATURES, CLASSES, device=device)
    solve = bilevel.implicit(lambda x, y: ((y - x) ** 2).sum() + (y**4).sum(), y0)
    x = torch.ones(FEATURES, CLASSES, device=device, requires_grad=True)
    solve(x).sum().backward()
    y = solve(x).detach()  # 2 (y - x) + 4 y^3 = 0, so dy/dx = 2 / (2 + 12 y^2)
    error = float((x.grad - 2.0 / (2.0 + 12.0 * y**2)).abs().max())
    print(f"implicit on the device: gradient off by {error:.1e}")
    if error > 1e-4:
        failed.append("implicit")
    print(f"{time.perf_counter() - began:.0f} s")
    print("FAILED: " + ", ".join(failed) if failed else "All solvers agree.")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
