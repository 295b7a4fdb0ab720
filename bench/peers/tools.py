"""What a user would have used instead: scikit-learn and Optuna beside `bilevel tune`, cleanlab beside
`bilevel clean`, on the same rows.

    tools.py BILEVEL [--quick] [--only tune,sparse,clean] [--markdown FILE] [--threads N]

tune    LogisticRegressionCV: one penalty, 25 values, chosen on the validation rows. Optuna: a penalty
        for each feature (columns are scaled, which is the same), ten times the time of `tune`.
sparse  One fit of LogisticRegression at the single penalty that `tune` has found, on as many rows:
        what a search over many penalties has to be measured by. Half of the training rows are for
        validation; when to stop is decided on a quarter of those.
clean   cleanlab: label quality from probabilities of 5-fold logistic regression; the checked rows
        are added to the training rows of every fold. AUROC and average precision of the wrong labels.

Times are wall clock of the whole call, reading left out on the Python side and included on ours.
Data: the folder of BILEVEL_DATA; with --quick the digits of scikit-learn.
"""
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy
from compare import idx, read_libsvm, split
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.model_selection import PredefinedSplit, StratifiedKFold

warnings.filterwarnings("ignore")


def save(folder, parts):
    paths = []
    for name, (a, b) in zip(("train", "val", "test"), parts):
        paths.append(os.path.join(folder, f"{name}.npz"))
        numpy.savez(paths[-1], X=numpy.ascontiguousarray(a), y=b.astype(numpy.int64))
    return paths


def scaled(parts):
    mean, deviation = parts[0][0].mean(0), parts[0][0].std(0)
    deviation[deviation == 0] = 1
    return [((a - mean) / deviation, b) for a, b in parts]


def three(a, b, sizes, random):
    order = random.permutation(len(a))
    cuts = numpy.cumsum(sizes)
    return [(a[p], b[p]) for p in numpy.split(order[: cuts[-1]], cuts[:-1])]


def run_json(command):
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    if done.returncode != 0:
        sys.exit(f"tools.py: {' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout), seconds


# ---- tune ----


def losses(model, parts, scale=1.0):
    return [log_loss(b, model.predict_proba(a * scale), labels=model.classes_) for a, b in parts[1:]]


def by_sklearn(parts):
    (a, b), (va, vb), _ = parts
    folds = PredefinedSplit(numpy.r_[-numpy.ones(len(a)), numpy.zeros(len(va))])
    began = time.perf_counter()
    # Cs are 1 / (rows penalty): penalties from 1e2 to 1e-8
    search = LogisticRegressionCV(
        Cs=1.0 / (len(a) * numpy.logspace(2, -8, 25)), cv=folds, scoring="neg_log_loss",
        refit=False, max_iter=1000,
    ).fit(numpy.r_[a, va], numpy.r_[b, vb])
    best = numpy.ravel(search.C_)[0]
    model = LogisticRegression(C=best, max_iter=1000).fit(a, b)
    return losses(model, parts), time.perf_counter() - began, best


def by_optuna(parts, first_C, seconds):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    a, b = parts[0]

    def fit(trial):
        log_scale = [trial.suggest_float(f"x{k}", -4.0, 4.0) for k in range(a.shape[1])]
        scale = numpy.exp(-0.5 * numpy.array(log_scale))
        model = LogisticRegression(C=first_C, max_iter=1000).fit(a * scale, b)
        found = losses(model, parts, scale)
        trial.set_user_attr("test", found[1])
        return found[0]

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.enqueue_trial({f"x{k}": 0.0 for k in range(a.shape[1])})
    study.optimize(fit, timeout=seconds)
    return [study.best_value, study.best_trial.user_attrs["test"]], len(study.trials)


def tune_cases(data, quick, random):
    if quick:
        from sklearn.datasets import load_breast_cancer

        a, b = load_breast_cancer(return_X_y=True)
        yield "breast cancer", scaled(three(a, b, (200, 180, 180), random))
        return
    # few rows to train on and many to validate with: with many, hardly any penalty is best
    a, b = read_libsvm(f"{data}/ijcnn1/ijcnn1.gz", 22)
    yield "ijcnn1", three(a, b, (1000, 10000, 38990), random)
    rows = numpy.loadtxt(f"{data}/covtype/covtype.sample.data.gz", delimiter=",", dtype=numpy.int32,
                         max_rows=24000)
    a, b = rows[:, :-1].astype(float), (rows[:, -1] == 2).astype(int)
    yield "covtype, class 2 against the rest", scaled(three(a, b, (1000, 8000, 15000), random))
    a, b = read_libsvm(f"{data}/libsvm/a9a.gz", 123)
    yield "a9a", three(a, b, (1000, 10000, 21561), random)


def val_loss_of(result):
    """Loss on all validation rows, from its two parts."""
    fit, stop, model = result["fit_rows"], result["stop_rows"], result["models"]["result"]
    return (fit * model["fit_loss"] + stop * model["stop_loss"]) / (fit + stop)


def compare_tune(bilevel, data, quick, threads):
    random = numpy.random.default_rng(0)
    for name, parts in tune_cases(data, quick, random):
        with tempfile.TemporaryDirectory() as folder:
            train, val, test = save(folder, parts)
            result, seconds = run_json([bilevel, "tune", train, "--val", val, "--test", test, "--json",
                                        "--scaling", "none", "--threads", str(threads)])
        mine = result["models"]["result"]
        yield name, "bilevel tune", val_loss_of(result), mine["test_loss"], seconds, (
            "penalties kept" if result["kept"] else "one penalty kept")
        (val_one, test_one), took, best = by_sklearn(parts)
        yield name, "LogisticRegressionCV", val_one, test_one, took, "one penalty"
        (val_many, test_many), trials = by_optuna(parts, best, 10 * seconds)
        yield name, "Optuna", val_many, test_many, 10 * seconds, f"{trials} trials"


# ---- sparse ----


def sparse_files(data, quick, folder):
    if not quick:
        return "20 Newsgroups", [f"{data}/news20/20news.{part}.svm.gz" for part in ("train", "test")]
    from sklearn.datasets import dump_svmlight_file, load_digits

    a, b = load_digits(return_X_y=True)
    paths = [os.path.join(folder, f"{part}.svm") for part in ("train", "test")]
    dump_svmlight_file(a[:1200], b[:1200], paths[0], zero_based=False)
    dump_svmlight_file(a[1200:], b[1200:], paths[1], zero_based=False)
    return "digits", paths


def one_fit(paths, rows, penalty):
    from sklearn.datasets import load_svmlight_files
    from sklearn.preprocessing import normalize

    a, b, ta, tb = load_svmlight_files(paths, zero_based=False)
    chosen = numpy.random.default_rng(0).permutation(a.shape[0])[:rows]
    a, b, ta = normalize(a[chosen]), b[chosen], normalize(ta)
    began = time.perf_counter()
    # with its own tolerance, 1e-4, it ends far from the minimum: validation loss 0.71, not 0.51
    model = LogisticRegression(C=1.0 / (rows * penalty), tol=1e-6, max_iter=1000).fit(a, b)
    seconds = time.perf_counter() - began
    return (model.score(ta, tb), log_loss(tb, model.predict_proba(ta), labels=model.classes_)), seconds


def compare_sparse(bilevel, data, quick, threads):
    with tempfile.TemporaryDirectory() as folder:
        name, paths = sparse_files(data, quick, folder)
        result, seconds = run_json([bilevel, "tune", paths[0], "--val-share", "0.5", "--test", paths[1],
                                    "--json", "--no-certificate", "--threads", str(threads)])
        found, took = one_fit(paths, result["train_rows"], result["single_penalty"])
    mine = result["models"]["result"]
    yield name, "LogisticRegression", found[0], found[1], took, "one fit, one penalty"
    yield name, "bilevel tune", mine["test_accuracy"], mine["test_loss"], seconds, (
        f"{seconds / took:.2f} of the time of that one fit, reading included")


# ---- clean ----


def wrong_labels(b, share, kind, classes, random):
    given = b.copy()
    wrong = random.permutation(len(b))[: int(round(share * len(b)))]
    shift = 1 if kind == "pairwise" else random.integers(1, classes, size=len(wrong))
    given[wrong] = (b[wrong] + shift) % classes
    return given


def by_cleanlab(a, given, va, vb, classes):
    from cleanlab.rank import get_label_quality_scores

    began = time.perf_counter()
    p = numpy.zeros((len(a), classes))
    for train, held in StratifiedKFold(5, shuffle=True, random_state=0).split(a, given):
        model = LogisticRegression(max_iter=100).fit(
            numpy.r_[a[train], va], numpy.r_[given[train], vb])
        p[held] = model.predict_proba(a[held])
    return get_label_quality_scores(given, p), time.perf_counter() - began


def clean_rows(data, quick, random):
    if quick:
        from sklearn.datasets import load_digits

        a, b = load_digits(return_X_y=True)
        return split(a / 16.0, b, 800, 300, random)
    a = idx(f"{data}/mnist/train-images-idx3-ubyte.gz", 16, (60000, 784)) / numpy.float32(255)
    b = idx(f"{data}/mnist/train-labels-idx1-ubyte.gz", 8, (60000,)).astype(int)
    return split(a.astype(numpy.float32), b, 10000, 2000, random)


def by_clean(bilevel, a, given, va, vb, threads):
    with tempfile.TemporaryDirectory() as folder:
        train, val = save(folder, [(a, given), (va, vb)])
        out = os.path.join(folder, "out.csv")
        _, seconds = run_json([bilevel, "clean", train, "--val", val, "-o", out, "--json",
                               "--threads", str(threads)])
        score = numpy.empty(len(a))
        with open(out) as file:
            for row in csv.DictReader(file):
                score[int(row["row"])] = float(row["probability"])
    return score, seconds


def compare_clean(bilevel, data, quick, threads):
    random = numpy.random.default_rng(0)
    (a, b), (va, vb) = clean_rows(data, quick, random)
    for kind in ("uniform", "pairwise"):
        for share in (0.2, 0.4):
            given = wrong_labels(b, share, kind, 10, random)
            for tool, (score, seconds) in (
                ("bilevel clean", by_clean(bilevel, a, given, va, vb, threads)),
                ("cleanlab", by_cleanlab(a, given, va, vb, 10)),
            ):
                yield (f"{len(a)} rows, {kind} {share:g}", tool,
                       roc_auc_score(given != b, -score),
                       average_precision_score(given != b, -score), seconds, "")


def put(file, title, columns, rows):
    file.write(f"### {title}\n\n| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns) + "\n")
    for name, tool, first, second, seconds, remark in rows:
        file.write(f"| {name} | {tool} | {first:.4f} | {second:.4f} | {seconds:.3g} | {remark} |\n")
    file.write("\n")


def main():
    arguments = sys.argv[1:]
    bilevel, quick = os.path.abspath(arguments[0]), "--quick" in arguments

    def option(name, otherwise):
        return arguments[arguments.index(name) + 1] if name in arguments else otherwise

    threads, markdown = int(option("--threads", "2")), option("--markdown", None)
    data, found = os.environ.get("BILEVEL_DATA", ""), {"tune": [], "sparse": [], "clean": []}
    for what, compare in (("tune", compare_tune), ("sparse", compare_sparse),
                          ("clean", compare_clean)):
        if what not in option("--only", what):
            continue
        try:
            for row in compare(bilevel, data, quick, threads):
                print(f"{row[0]}: {row[1]}  {row[2]:.4f}  {row[3]:.4f}  {row[4]:.3g} s  {row[5]}",
                      flush=True)
                found[what].append(row)
        except (OSError, ImportError) as error:
            print(f"tools.py: {what} is left out: {error}", file=sys.stderr)
    if markdown:
        with open(markdown, "w") as file:
            file.write("## Other tools\n\n    make bench-peers\n\n")
            busy = os.getloadavg()[0] / os.cpu_count()
            if busy > 1.0:
                file.write(f"Other programs were at work (load {busy:.1f} for each processor): times ")
                file.write("are rough.\n\n")
            put(file, "Penalties", ("data", "tool", "validation loss", "test loss", "s", ""),
                found["tune"])
            put(file, "Penalties of sparse features",
                ("data", "tool", "test accuracy", "test loss", "s", ""), found["sparse"])
            put(file, "Wrong labels, MNIST",
                ("labels", "tool", "AUROC", "average precision", "s", ""), found["clean"])


if __name__ == "__main__":
    main()
