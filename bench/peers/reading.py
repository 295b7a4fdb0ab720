#!/usr/bin/env python3
"""Reading speed of two builds, in one run, and the memory that reading a mixed table takes.

    bench/peers/reading.py [BILEVEL [OTHER]]

Speed: plain numeric CSV and libsvm, `data info`, the best of 7, one after the other; the ratio is the
processor time of OTHER over that of BILEVEL, above 1 where BILEVEL is faster. Memory: the most that `data info`
takes on a table of numbers and categories beside what it has taken before it reads, over the bytes of the
encoded numbers (8 a value; sparse: 12 for each that is not zero)."""
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time

BUILDS = [os.path.abspath(path) for path in sys.argv[1:3] or ["build/release/bilevel"]]
BILEVEL, OTHER = BUILDS[0], BUILDS[-1] if len(BUILDS) > 1 else None


def write(path, header, rows, make):
    with open(path, "w", encoding="ascii") as file:
        file.write(header)
        for i in range(rows):
            file.write(make(i) + "\n")


def processor_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds(binary, path):
    """Of the processor, so that other work on the machine matters little."""
    start = processor_time()
    subprocess.run([binary, "data", "info", path], stdout=subprocess.DEVNULL, check=True)
    return processor_time() - start


def compare(path):
    best = {BILEVEL: 1e9, OTHER: 1e9}
    for _ in range(7):
        for binary in best:
            best[binary] = min(best[binary], seconds(binary, path))
    print(f"{path:12} {best[BILEVEL]:.3f} s, {best[OTHER]:.3f} s: ratio {best[OTHER] / best[BILEVEL]:.2f}")


def peak(*words):
    """The program `time` is smaller than the command; this one is not, which counts for small tables."""
    timer = shutil.which("time")
    if timer:
        done = subprocess.run([timer, "-f", "%M", *words], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, check=True, text=True)
        return int(done.stderr.split()[-1]) * 1024
    code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, "
            "check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)")
    return int(subprocess.check_output([sys.executable, "-c", code, *words]))


def start():
    """What the command has taken while it waits for its rows."""
    with subprocess.Popen([BILEVEL, "data", "info", "-"], stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as waiting:
        time.sleep(0.5)
        with open(f"/proc/{waiting.pid}/status", encoding="ascii") as status:
            most = next(line for line in status if line.startswith("VmHWM:"))
        waiting.stdin.close()
    return int(most.split()[1]) * 1024


def memory(layout):
    about = json.loads(subprocess.check_output([BILEVEL, "data", "info", "mixed.csv", layout, "--json"]))
    numbers = (12 * about["non_zero"] if layout == "--sparse" else 8 * about["rows"] * about["columns"])
    used = peak(BILEVEL, "data", "info", "mixed.csv", layout) - start()
    print(f"mixed.csv    {about['rows']} rows, {layout[2:]}: {used / 2**20:.1f} MiB for "
          f"{numbers / 2**20:.1f} MiB of numbers: {used / numbers:.2f}")


def main():
    rng = random.Random(5)
    words = ["Private", "State-gov", "Local-gov", "?"]

    def mixed(_):
        return ",".join([str(rng.randint(17, 90)), rng.choice(words), str(rng.randint(1, 10**6)),
                         *(rng.choice(words[:3]) for _ in range(6)), str(rng.randint(0, 99)),
                         rng.choice(["<=50K", ">50K"])])

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        header = "age,work,weight,a,b,c,d,e,f,hours,income\n"
        for rows in (10000, 30000, 100000, 300000):
            write("mixed.csv", header, rows, mixed)
            for layout in ("--dense", "--sparse"):
                memory(layout)
        if OTHER:
            write("plain.csv", "", 100000,
                  lambda i: ",".join(f"{rng.random():.6f}" for _ in range(30)) + f",{i % 3}")
            write("plain.svm", "", 100000,
                  lambda i: f"{i % 3} " + " ".join(f"{j}:{rng.random():.5f}" for j in range(1, 40, 2)))
            compare("plain.csv")
            compare("plain.svm")


main()
