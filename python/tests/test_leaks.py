"""Memory stays flat over many solves, with and without an exception. BILEVEL_SOLVES: how many."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import gc, sys
from problems import Quadratic
import bilevel

kind, count = sys.argv[1], int(sys.argv[2])
Q = Quadratic()
problem = [Q.f, Q.g, Q.x0, Q.y0]
derivatives = {"hvp": Q.hvp, "jvp": Q.jvp}
if kind == "torch":
    import torch
    H, B, c = (torch.tensor(a) for a in (Q.H, Q.B, Q.c))
    problem = [
        lambda x, y: 0.5 * (y - c) @ (y - c) + 0.5 * x @ x,
        lambda x, y: 0.5 * y @ H @ y - y @ (B @ x),
        torch.zeros(len(Q.x0), dtype=torch.float64),
        torch.zeros(len(Q.y0), dtype=torch.float64),
    ]
    derivatives = {}

def resident_pages():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])

calls = 0

def failing(x, y):  # at the start, or in a run
    global calls
    calls += 1
    if calls % 7 == 0:
        raise KeyError("no")
    return problem[0](x, y)

def both():
    bilevel.solve(*problem, **derivatives, solver="s-tfbo", iters=3)
    try:
        bilevel.solve(failing, *problem[1:], **derivatives, solver="aid-cg", iters=20)
        sys.exit("no exception")
    except KeyError:
        pass

for _ in range(count // 4):  # what is kept once and for all
    both()
gc.collect()
pages, objects = resident_pages(), len(gc.get_objects())
for _ in range(count // 4):
    both()
gc.collect()
print(len(gc.get_objects()) - objects, resident_pages() - pages)
"""


@pytest.mark.parametrize("kind, share, most", [("numpy", 1, 128), ("torch", 2, 512)])
def test_memory_is_flat(kind, share, most):
    """most: pages of 4 KB. PyTorch takes a megabyte more at some time, once."""
    if importlib.util.find_spec(kind) is None:
        pytest.skip(f"{kind} is not installed")
    count = str(int(os.environ.get("BILEVEL_SOLVES", "2000")) // share)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, kind, count],
        cwd=Path(__file__).parent,
        check=True,
        capture_output=True,
        text=True,
    )
    objects, pages = map(int, done.stdout.split())
    assert objects < 50
    assert pages < most
