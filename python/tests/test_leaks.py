"""Memory stays flat over many solves, with and without an exception. BILEVEL_SOLVES: how many."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import gc, sys
from problems import Quadratic
import bilevel

Q = Quadratic()

def resident_pages():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])

def failing(x, y):
    raise KeyError("no")

def both():
    bilevel.solve(Q.f, Q.g, Q.x0, Q.y0, hvp=Q.hvp, jvp=Q.jvp, solver="s-tfbo", iters=3)
    try:
        bilevel.solve(failing, Q.g, Q.x0, Q.y0)
    except KeyError:
        pass

count = int(sys.argv[1])
for _ in range(count // 8):  # what is kept once and for all
    both()
gc.collect()
pages, objects = resident_pages(), len(gc.get_objects())
for _ in range(3 * count // 8):
    both()
gc.collect()
print(len(gc.get_objects()) - objects, resident_pages() - pages)
"""


def test_memory_is_flat():
    count = os.environ.get("BILEVEL_SOLVES", "2000")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, count],
        cwd=Path(__file__).parent,
        check=True,
        capture_output=True,
        text=True,
    )
    objects, pages = map(int, done.stdout.split())
    assert objects < 50
    assert pages < 128  # half a megabyte
