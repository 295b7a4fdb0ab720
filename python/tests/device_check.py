"""A PyTorch problem on a GPU, with every solver, beside the CPU.

    python device_check.py [ITERATIONS [DEVICE [SOLVER,...]]]       60, cuda and all by default

Each solver runs in float32 on the device and on the CPU, and in float64 on the CPU, from the same
start with the same batches, on a problem that rounding does not blow up: H has eigenvalues between
1 and 3 at the start. Twice:

given      Steps, penalties and lengths of loops are numbers, so that the three runs are the same
           arithmetic and differ by rounding alone. The device agrees where it is no further from
           the CPU in float32 than MARGIN times what the latter is from float64, or than ACCURACY,
           about 100 units of rounding, relative to the size of x and y. The latter two must be
           within LIMIT: else the problem would prove nothing.
automatic  Nothing is given: what is estimated differs by rounding too, and is used for all steps.
           The device agrees where it is no further from the CPU in float32 than MARGIN times what
           the latter is from float64, or than LOOSE: penalties of 300 multiply rounding by as much.
           These runs also end after as many oracle calls as PASSES over all rows are; the number of
           steps may then differ, as loops that end by their size may take a step more.

Both runs must end in the same way, after as many steps but for that. Not run by pytest.
"""

import sys
import time
import warnings

import torch

import bilevel

FEATURES, CLASSES, ROWS, PASSES = 8, 3, 120, 3000
MARGIN, ACCURACY, LIMIT, LOOSE = 4.0, 1e-5, 1e-3, 1e-3
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


def problem(device, dtype):
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

    x0 = torch.zeros(FEATURES, device=device, dtype=dtype)
    y0 = torch.zeros(FEATURES, CLASSES, device=device, dtype=dtype)
    samples = {"upper_samples": ROWS, "lower_samples": ROWS}
    return bilevel.Problem(f, g, x0, y0, bounds=(-10.0, 10.0), threads=1, **samples)


def difference(a, b):
    """Of two results, relative to the size of the vectors."""
    total, size = 0.0, 0.0
    for u, v in ((a.x, b.x), (a.y, b.y)):
        u, v = u.double().cpu(), v.double().cpu()
        total += float((u - v).square().sum())
        size += float(v.square().sum())
    return (total / size) ** 0.5


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


def compare(problems, solver, iters, settings):
    """The line of one solver, and whether it agrees."""
    options = {"solver": solver, "iters": iters, "trace": False, "certificate": False}
    options |= {"budget": PASSES * ROWS} if settings is None else {"settings": settings}
    began = time.perf_counter()
    there = bilevel.solve(problems[0], **options)
    step = (time.perf_counter() - began) / max(there.iterations, 1) * 1e6
    here, precise = (bilevel.solve(each, **options) for each in problems[1:])
    apart, rounding = difference(there, here), difference(here, precise)
    if settings is None:
        good = apart <= max(MARGIN * rounding, LOOSE)
    else:
        good = rounding <= LIMIT and apart <= max(MARGIN * rounding, ACCURACY)
    same = there.outcome == here.outcome and there.x.device == problems[0].x.device
    good = good and same and (there.outcome == "budget" or there.iterations == here.iterations)
    text = f"{apart:10.1e} {rounding:10.1e} {there.iterations:6} {there.outcome:10} {step:8.0f}"
    return text, good


def main():
    iters = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    device = sys.argv[2] if len(sys.argv) > 2 else "cuda"
    known = [s.name for s in bilevel.solvers() if s.group in REQUIRED]
    solvers = sys.argv[3].split(",") if len(sys.argv) > 3 else known
    torch.set_num_threads(1)
    name = torch.cuda.get_device_name() if device == "cuda" else device
    print(f"bilevel {bilevel.__version__}, torch {torch.__version__}, {name}")
    print(f"{iters} steps; within {MARGIN:g} times f32-f64 or {ACCURACY:g}, f32-f64 within", end="")
    print(f" {LIMIT:g}; automatic: within {MARGIN:g} times f32-f64 or {LOOSE:g}")
    kinds = ((device, torch.float32), ("cpu", torch.float32), ("cpu", torch.float64))
    problems = [problem(*kind) for kind in kinds]
    failed, began = [], time.perf_counter()
    print(f"{'solver':12} {'settings':9} {'device-cpu':>10} {'f32-f64':>10}", end=" ")
    print(f"{'steps':>6} {'outcome':10} {'us/step':>8}", flush=True)
    for solver in solvers:
        for way, settings in (("given", GIVEN[solver]), ("automatic", None)):
            text, good = compare(problems, solver, iters, settings)
            if not good:
                failed.append(f"{solver} ({way})")
            print(f"{solver:12} {way:9} {text}{'' if good else '  DIFFERS'}", flush=True)
    for solver in {"s-tfbo", "soba"}.intersection(solvers):
        if device == "cuda":
            print(f"{solver}: {synchronizations(problems[0], solver):g} synchronizations a step")
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
