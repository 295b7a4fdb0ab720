#!/usr/bin/env python3
"""Regret in Phi where the points of a suite certify none: 20 Newsgroups, networks.

    certified_regret.py SUITE.json [--data FOLDER] [--only ENTRY,...] [--add SOLVER[:KEY=VALUE...],...]
                        [--variant NAME] [--seeds N,...] [--first CALLS] [--every TIMES] [--calls CALLS]
                        [--seconds S] [--points FILE] [--passes N]

Runs the entries of the suite that need no tuning (--only: some of them; --add: others), one after the other, one
thread. At --first calls of oracles, --every (1.5) times as many, and so on up to --calls or --seconds, x and y are
copied; nothing else looks at the run while it goes. Seconds are those of the processor spent in setup and steps.
Afterwards Phi is found at each copy:

- where g has one minimizer, as `bilevel bench` does it: the lower level is solved from the y of the copy until
  |gy| is a millionth of what it is at y = 0 in single precision, 1e-10 of it in double;
- where it has many (networks): x is held, and y goes from the network's start towards a minimum of g by --passes
  passes over the training rows, whole batches of 256, momentum 0.9, steps from 0.3 down to 0 along a cosine. The
  validation loss there stands for Phi. At the end of a run also from the y of the run.

--points keeps what was found; entries that are there are not run again. Printed is, for each variant and seed, what is
left of Phi(start) - Phi*, Phi* being the least that any run of the file found, and the seconds until 10, 1 and
0.1 % are left, divided by the best of all; between two copies the gap is taken to fall at a constant rate.

Needs the Python package (`make wheel`, pip install).
"""
import argparse
import json
import math
import os
import random
import time

import bilevel
from bilevel._core import ffi, lib

BATCH, STEP, MOMENTUM = 256, 0.3, 0.9
SHARES = 0.1, 0.01, 0.001


def must(error, what=""):
    if error != 0:
        raise RuntimeError(f"error {error} {what}")


def vector(like):
    made = ffi.new("blv_vec **")
    must(lib.blv_vec_create(made, lib.blv_vec_space(like)))
    lib.blv_vec_copy(made[0], like)
    return ffi.gc(made[0], lib.blv_vec_destroy)


class Judge:
    """Phi at x."""

    def __init__(self, problem, run, passes):
        self.problem, self.start, self.passes = problem, vector(lib.blv_run_y(run)), passes
        self.d = lib.blv_problem_definition(problem.pointer)

    def __call__(self, x, y):
        y, value = vector(y), ffi.new("double *")
        (self.descend if self.d.many_minimizers else self.solve)(x, y)
        must(self.d.upper(self.d.user, ffi.NULL, x, y, value, ffi.NULL, ffi.NULL))
        return value[0]

    def solve(self, x, y):
        at_zero, gy, left = vector(y), vector(y), ffi.new("double *")
        lib.blv_vec_fill(at_zero, 0.0)
        must(self.d.lower(self.d.user, ffi.NULL, x, at_zero, ffi.NULL, ffi.NULL, gy))
        tol = (1e-6 if self.problem.single else 1e-10) * lib.blv_vec_norm(gy)
        must(lib.blv_solve_lower(self.problem.pointer, x, y, tol, ffi.NULL, ffi.NULL, left, ffi.NULL))

    def descend(self, x, y):
        gy, way, order = vector(y), vector(y), random.Random(0)
        lib.blv_vec_fill(way, 0.0)
        firsts = list(range(0, self.d.lower_samples - BATCH + 1, BATCH))
        steps = self.passes * len(firsts)
        for k in range(steps):
            if k % len(firsts) == 0:
                order.shuffle(firsts)
            batch = ffi.new("blv_batch *", {"first": firsts[k % len(firsts)], "count": BATCH})
            must(self.d.lower(self.d.user, batch, x, y, ffi.NULL, ffi.NULL, gy))
            lib.blv_vec_combine(way, MOMENTUM, way, -STEP * (1 + math.cos(math.pi * k / steps)) / 2, gy)
            lib.blv_vec_axpy(y, 1.0, way)


def copies(problem, solver, settings, random_start, a):
    """Yields the judge first, then calls, seconds, x and y of each copy."""
    made, why = ffi.new("blv_run **"), ffi.new("blv_message *")
    found = lib.blv_solver_find(ffi.NULL, solver.encode(), why)
    must(lib.blv_run_create(made, problem.pointer, found, why), solver)
    run = ffi.gc(made[0], lib.blv_run_destroy)
    for key, value in {**settings, "certify": "never", "seconds": 1e6, "budget": int(a.calls)}.items():
        must(lib.blv_run_set(run, key.encode(), str(value).encode()), key)
    if random_start:
        must(lib.blv_run_start_random(run, 1.0))
    yield Judge(problem, run, a.passes)
    yield 0, 0.0, vector(lib.blv_run_x(run)), vector(lib.blv_run_y(run))
    spent, due, result = 0.0, a.first, lib.blv_run_result(run)
    while result.outcome == lib.BLV_RUNNING:
        began = time.process_time()
        lib.blv_run_step(run)
        spent += time.process_time() - began
        calls = sum(lib.blv_counts_total(ffi.addressof(result, which)) for which in ("counts", "setup_counts"))
        ends = result.outcome != lib.BLV_RUNNING or spent > a.seconds
        if calls >= due or ends:
            yield calls, spent, vector(lib.blv_run_x(run)), vector(lib.blv_run_y(run))
            due = a.first * a.every ** math.floor(math.log(max(calls, 1) / a.first) / math.log(a.every) + 1 + 1e-9)
        if ends:
            print(f"  {ffi.string(lib.blv_run_message(run)).decode()}; {spent:.1f} s, {calls} calls", flush=True)
            return


def entries(suite, a):
    for s in suite["solvers"]:
        both = {**suite.get("run_set", {}), **s.get("set", {})}
        for kind, own in ("untuned", {} if s.get("untuned") else None), ("published", s.get("published")):
            if own is not None and (not a.only or f"{s['solver']}/{kind}" in a.only):
                yield f"{s['solver']}/{kind}", s["solver"], {**both, **own}
    for text in a.add:
        solver, *given = text.split(":")
        yield text, solver, {**suite.get("run_set", {}), **dict(pair.split("=") for pair in given)}


def seconds_until(rows, least, share):
    level, before = share * (rows[0][2] - least), None
    for _, seconds, phi in rows:
        gap = phi - least
        if gap <= level:
            way = math.log(before[1] / level) / math.log(before[1] / max(gap, 1e-3 * level))
            return before[0] + way * (seconds - before[0])
        before = seconds, gap
    return math.inf


def show(runs):
    least = min(phi for r in runs for _, _, phi in r["rows"])
    print(f"\n{runs[0]['variant']} seed {runs[0]['seed']}: Phi(start) = {runs[0]['rows'][0][2]:.6g}, "
          f"Phi* = {least:.6g}\n\n| | " + " | ".join(f"s to {100 * s:g} % | x best" for s in SHARES)
          + " | least left | at the end | s | million calls |\n| --- |" + " ---: |" * 10)
    until = {r["entry"]: [seconds_until(r["rows"], least, s) for s in SHARES] for r in runs}
    best = [min(times) for times in zip(*until.values(), strict=True)]
    for r in runs:
        cells = [f"{t:.3g} | {t / b:.2f}" if t < math.inf else "- | -"
                 for t, b in zip(until[r["entry"]], best, strict=True)]
        left = [(row[2] - least) / (r["rows"][0][2] - least) for row in r["rows"]]
        cells += [f"{100 * min(left):.3g} % | {100 * left[-1]:.3g} %", f"{r['rows'][-1][1]:.3g}",
                  f"{r['rows'][-1][0] / 1e6:.3g}"]
        print(f"| {r['entry']} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite")
    for name, default in (("data", "."), ("variant", ""), ("points", "")):
        parser.add_argument("--" + name, default=default)
    for name in ("only", "add"):
        parser.add_argument("--" + name, type=lambda s: s.split(","), default=[])
    parser.add_argument("--seeds", type=lambda s: [int(n) for n in s.split(",")], default=[0])
    for name, default in (("first", 1e5), ("every", 1.5), ("calls", 1e7), ("seconds", 1e6), ("passes", 80)):
        parser.add_argument("--" + name, type=type(default), default=default)
    a = parser.parse_args()
    with open(a.suite) as file:
        suite = json.load(file)
    runs = []
    if a.points and os.path.exists(a.points):
        with open(a.points) as file:
            runs = [json.loads(line) for line in file]
    for variant in suite.get("variants", [{"name": ""}]):
        for seed in a.seeds if a.variant in ("", variant["name"]) else []:
            files = {**suite.get("data", {}), **variant.get("data", {})}
            made = {**suite.get("problem_set", {}), **variant.get("problem_set", {}),
                    **{key: os.path.join(a.data, name) for key, name in files.items()},
                    **{key: seed for key in suite.get("seeded", [])}}
            problem = None
            for entry, solver, settings in entries(suite, a):
                key = {"variant": variant["name"], "seed": seed, "entry": entry}
                if any({k: r[k] for k in key} == key for r in runs):
                    continue
                print(*key.values(), flush=True)
                problem = problem or bilevel.problem(suite["problem"], threads=1,
                                                     precision=suite.get("precision", "f64"), **made)
                judge, *kept = copies(problem, solver, {**settings, "seed": seed},
                                       suite.get("start") == "random", a)
                start = {(r["variant"], r["seed"]): r["rows"][0][2] for r in runs}.get((variant["name"], seed))
                rows = []
                for calls, seconds, x, y in kept:
                    phi = start if start and not rows else judge(x, judge.start if judge.d.many_minimizers else y)
                    rows.append((calls, seconds, phi))
                    print("  %d calls, %.3g s: Phi %.7g" % rows[-1], flush=True)
                runs.append({**key, "rows": rows})
                if judge.d.many_minimizers:
                    runs[-1]["from_its_y"] = judge(x, y)
                    print(f"  from its own y: {runs[-1]['from_its_y']:.7g}", flush=True)
                if a.points:
                    with open(a.points, "a") as file:
                        file.write(json.dumps(runs[-1]) + "\n")
    for group in sorted({(r["variant"], r["seed"]) for r in runs}):
        show([r for r in runs if (r["variant"], r["seed"]) == group])


if __name__ == "__main__":
    main()
