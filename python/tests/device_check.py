"""A PyTorch problem on a GPU, with every tuning-free, single-loop and first-order solver.

    python device_check.py [ITERATIONS [DEVICE]]        50 and cuda by default

Each solver runs in float32 on the device and on the CPU, and in float64 on the CPU, from the same
start with the same batches. The device agrees with the CPU where the two float32 runs differ by no
more than ten times what float32 and float64 differ by, or 1e-4. Solvers whose iterations are long
end after as many oracle calls as PASSES over all rows are. Not run by pytest.
"""

import sys
import time
import warnings

import torch

import bilevel

CLASSES, FEATURES, ROWS, PASSES = 20, 50, 300, 2000


def problem(device, dtype):
    make = torch.Generator().manual_seed(0)
    true = torch.randn(FEATURES, CLASSES, generator=make)
    true[10:] = 0.0
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

    x0 = torch.full((FEATURES,), -2.0, device=device, dtype=dtype)
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


def main():
    iters = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    device = sys.argv[2] if len(sys.argv) > 2 else "cuda"
    torch.set_num_threads(2)
    name = torch.cuda.get_device_name() if device == "cuda" else device
    print(f"bilevel {bilevel.__version__}, torch {torch.__version__}, {name}", flush=True)
    on_device, on_cpu = problem(device, torch.float32), problem("cpu", torch.float32)
    exact = problem("cpu", torch.float64)
    groups = ("tuning-free", "single-loop", "first-order penalty")
    failed = 0
    print(f"{'solver':12} {'device-cpu':>11} {'f32-f64':>11} {'us/step':>9} {'steps':>5}")
    for solver in (s.name for s in bilevel.solvers() if s.group in groups):
        options = {"solver": solver, "iters": iters, "budget": PASSES * ROWS}
        options |= {"trace": False, "certificate": False}
        began = time.perf_counter()
        there = bilevel.solve(on_device, **options)
        step = (time.perf_counter() - began) / max(there.iterations, 1) * 1e6
        here, precise = bilevel.solve(on_cpu, **options), bilevel.solve(exact, **options)
        assert there.x.device.type == device.split(":")[0] and there.outcome == here.outcome
        apart, rounding = difference(there, here), difference(here, precise)
        good = apart <= max(10.0 * rounding, 1e-4)
        failed += not good
        word = "" if good else "  DIFFERS"
        print(
            f"{solver:12} {apart:11.2e} {rounding:11.2e} {step:9.0f} {there.iterations:5}{word}",
            flush=True,
        )
    if device == "cuda":
        for solver in ("s-tfbo", "soba"):
            print(f"{solver}: {synchronizations(on_device, solver):g} synchronizations a step")
    y0 = torch.zeros(FEATURES, CLASSES, device=device)
    solve = bilevel.implicit(lambda x, y: ((y - x) ** 2).sum() + (y**4).sum(), y0)
    x = torch.ones(FEATURES, CLASSES, device=device, requires_grad=True)
    solve(x).sum().backward()
    y = solve(x).detach()  # 2 (y - x) + 4 y^3 = 0, so dy/dx = 2 / (2 + 12 y^2)
    error = float((x.grad - 2.0 / (2.0 + 12.0 * y**2)).abs().max())
    print(f"implicit on the device: gradient off by {error:.1e}")
    print("FAILED" if failed else "All solvers agree.")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
