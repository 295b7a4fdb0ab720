#!/usr/bin/env python3
"""Reading speed of two builds, in one run, and the memory that reading a mixed table takes.

    bench/peers/reading.py [BILEVEL [OTHER]]

Speed: plain numeric CSV and libsvm, `data info`, the best of 7, one after the other; the ratio is the
processor time of OTHER over that of BILEVEL, above 1 where BILEVEL is faster. Memory: the most that `data info`
takes on a table of numbers and categories beside what it takes on 100 rows of it, over the bytes of the
encoded numbers (8 a value; sparse: 12 for each that is not zero). What 100 rows take beside a command that
waits for its rows is fixed, and most of it code of the library and of libc that is used for the first time; it
is shown, and the ratio that counts it as well."""
import fcntl
import json
import os
import random
import resource
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


def asleep(pid):
    """The sizes of the process in bytes, once it has slept for a while."""
    looks = 0
    while looks < 10:
        time.sleep(0.02)
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            found = dict((line + " - -").split()[:2] for line in status)
        looks = looks + 1 if found["State:"] == "S" else 0
    return {name: int(found[name + ":"]) * 1024 for name in ("VmHWM", "RssFile")}


def start():
    """While the command waits for its rows."""
    with subprocess.Popen([BILEVEL, "data", "info", "-"], stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as waiting:
        found = asleep(waiting.pid)
        waiting.stdin.close()
    return found


def after(*words):
    """Once the command has all that it prints: it waits for a pipe that is full."""
    take, put = os.pipe()
    os.write(put, bytes(fcntl.fcntl(put, fcntl.F_SETPIPE_SZ, 4096)))
    with subprocess.Popen([BILEVEL, "data", "info", *words], stdout=put) as waiting:
        os.close(put)
        found = asleep(waiting.pid)
        while os.read(take, 4096):
            pass
    os.close(take)
    return found


def memory(layout):
    about = json.loads(subprocess.check_output([BILEVEL, "data", "info", "mixed.csv", layout, "--json"]))
    numbers = (12 * about["non_zero"] if layout == "--sparse" else 8 * about["rows"] * about["columns"])
    begun, few, all_rows = start(), after("few.csv", layout), after("mixed.csv", layout)
    used, fixed = all_rows["VmHWM"] - few["VmHWM"], few["VmHWM"] - begun["VmHWM"]
    files = few["RssFile"] - begun["RssFile"]
    print(f"mixed.csv    {about['rows']} rows, {layout[2:]}: {used / 2**20:.2f} MiB for "
          f"{numbers / 2**20:.2f} MiB of numbers: {used / numbers:.2f}; with what 100 rows take, "
          f"{fixed // 1024} KiB, {files // 1024} of them program code: {(used + fixed) / numbers:.2f}")


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
            write("few.csv", header, 100, mixed)
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
