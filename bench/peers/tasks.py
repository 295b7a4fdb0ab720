#!/usr/bin/env python3
"""The tables of docs/clean.md, docs/tune.md and docs/coreset.md, all of them.

    tasks.py BILEVEL FOLDER [--seeds N] [--rows N] [--real FOLDER]

Writes FOLDER/clean.md, tune.md and coreset.md by clean.py, tune.py and coreset.py, which say what is
compared; figures of the others are kept in FOLDER/peers.json. With three seeds it takes hours.
"""
import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def run(out, script, *words):
    with open(out, "w") as file:
        subprocess.run([sys.executable, os.path.join(HERE, script), *words], stdout=file, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bilevel")
    parser.add_argument("folder")
    parser.add_argument("--seeds", default="3")
    parser.add_argument("--rows", default="300")
    parser.add_argument("--real")
    a = parser.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    path = {name: os.path.join(a.folder, name) for name in
            ("clean.md", "tune.md", "coreset.md", "real.md", "peers.json")}
    run(path["clean.md"], "clean.py", a.bilevel, "--rows", a.rows, "--seeds", a.seeds, "--sets",
        "--peers", path["peers.json"])
    run(path["coreset.md"], "coreset.py", a.bilevel, "--seeds", a.seeds)
    run(path["tune.md"], "tune.py", "--bilevel", a.bilevel, "--seeds", a.seeds, "--optuna")
    if a.real:
        run(path["real.md"], "clean.py", a.bilevel, "--real", a.real)


if __name__ == "__main__":
    main()
