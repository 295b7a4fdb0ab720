"""Facility location of apricot beside `bilevel coreset --method facility-location`, on the same rows.

    facility.py BILEVEL [DATA.csv] [ROWS] [SIZE]

DATA has the label in its last column and no header (default: the digits that come along). Both choose
SIZE of the first ROWS rows by features from 0 to 1. Printed: how many rows both have, the sum of squared
distances to the nearest chosen row, and the seconds of the choice. Exit code 1 where ours is worse than
apricot's by more than one part in a thousand. Needs apricot-select and scikit-learn; `make bench-peers` leaves the first out.
"""
import csv
import gzip
import os
import subprocess
import sys
import tempfile
import time

try:
    import numpy
    from apricot import FacilityLocationSelection
except ImportError as missing:
    sys.exit(f"facility.py: {missing}; pip install numpy scikit-learn apricot-select")


def read(path, rows):
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    with opened as file:
        return [line for line, _ in zip(csv.reader(file), range(rows))]


def unit(table):
    low, high = table.min(0), table.max(0)
    return (table - low) / numpy.where(high > low, high - low, 1)


def cost(points, chosen):
    squares = (points**2).sum(1)
    distances = squares[:, None] + squares[chosen][None, :] - 2 * points @ points[chosen].T
    return float(numpy.maximum(distances, 0).min(1).sum())


def ours(bilevel, lines, size):
    with tempfile.TemporaryDirectory() as folder:
        data, out = os.path.join(folder, "rows.csv"), os.path.join(folder, "out.csv")
        with open(data, "w", newline="") as file:
            csv.writer(file).writerows(lines)
        command = [bilevel, "coreset", data, "--header", "no", "--method", "facility-location",
                   "--size", str(size), "--candidates", str(len(lines)), "-o", out]
        said = subprocess.run(command, capture_output=True, text=True)
        if said.returncode != 0:
            sys.exit(f"facility.py: {said.stderr}")
        with open(out) as file:
            chosen = [int(line["row"]) for line in csv.DictReader(file)]
        return chosen, float(said.stdout.split("\n")[0].rsplit(", ", 1)[1].split()[0])


def apricots(points, size):
    began = time.perf_counter()
    found = FacilityLocationSelection(size, metric="euclidean", optimizer="lazy").fit(points)
    return list(found.ranking), time.perf_counter() - began


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    given = sys.argv[1:] + [None] * 4
    path = given[1] or os.path.join(here, "..", "..", "data", "digits.csv.gz")
    rows, size = int(given[2] or 1797), int(given[3] or 50)
    lines = read(path, rows)
    points = unit(numpy.array([line[:-1] for line in lines], dtype=float))
    mine, seconds = ours(given[0], lines, size)
    theirs, their_seconds = apricots(points, size)
    print(f"rows that both chose: {len(set(mine) & set(theirs))} of {size}")
    print(f"bilevel {cost(points, mine):.6g} in {seconds:.3g} s, "
          f"apricot {cost(points, theirs):.6g} in {their_seconds:.3g} s")
    return int(cost(points, mine) > 1.001 * cost(points, theirs))


if __name__ == "__main__":
    sys.exit(main())
