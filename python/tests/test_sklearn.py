"""The estimators: scikit-learn's own checks, wrong labels of digits, kinds of input, pipelines."""

import gzip
import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import bilevel

sklearn = pytest.importorskip("sklearn", minversion="1.6")

from sklearn.base import clone  # noqa: E402
from sklearn.datasets import (  # noqa: E402
    load_diabetes,
    load_digits,
    make_classification,
    make_regression,
)
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402
from sklearn.metrics import roc_auc_score  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from bilevel.sklearn import (  # noqa: E402
    CoresetSelector,
    LabelCleaner,
    TunedLogisticRegression,
    TunedRidge,
)


# Skipped by scikit-learn itself: its check of other array libraries, unless SCIPY_ARRAY_API is set.
@parametrize_with_checks(
    [LabelCleaner(), TunedLogisticRegression(), TunedRidge(), CoresetSelector()]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def noisy_digits(share=0.2, rows=600):
    X, y = load_digits(return_X_y=True)
    X, y = X[:rows], y[:rows]
    random = np.random.default_rng(1)
    wrong = random.random(rows) < share
    noisy = np.where(wrong, (y + random.integers(1, 10, rows)) % 10, y)
    return X, y, noisy, wrong


def test_wrong_labels_are_found():
    X, y, noisy, wrong = noisy_digits()
    cleaner = LabelCleaner().fit(X, noisy)
    assert roc_auc_score(wrong, -cleaner.label_quality_) > 0.97
    assert np.mean(cleaner.suspect_[wrong]) > 0.9
    assert np.mean(cleaner.believed_ == y) > 0.93
    assert cleaner.estimated_wrong_ == pytest.approx(wrong.mean(), abs=0.05)
    assert (cleaner.weights_[cleaner.suspect_] == 0).all()
    np.testing.assert_allclose(cleaner.noise_.sum(axis=1), 1)
    trusted = LabelCleaner().fit(X[100:], noisy[100:], X[:100], y[:100])
    assert roc_auc_score(wrong[100:], -trusted.label_quality_) > 0.97


def test_kinds_of_input_give_the_same():
    pandas = pytest.importorskip("pandas")
    X, _, noisy, _ = noisy_digits(rows=150)
    quality = LabelCleaner().fit(X, noisy).label_quality_
    for kind in (X.astype(np.float32), np.asfortranarray(X), pandas.DataFrame(X)):
        np.testing.assert_array_equal(LabelCleaner().fit(kind, noisy).label_quality_, quality)
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(X)
    np.testing.assert_array_equal(LabelCleaner().fit(frame, noisy).label_quality_, quality)


def test_values_that_float32_does_not_hold():
    random = np.random.default_rng(2)
    seconds = random.integers(0, 400, 400)
    y = (seconds + 60 * random.normal(size=400) > 200).astype(int)
    near, far = seconds[:, None].astype(float), seconds[:, None] + 1.6e9
    expected = TunedLogisticRegression().fit(near, y).predict_proba(near)
    found = TunedLogisticRegression().fit(far, y).predict_proba(far)
    np.testing.assert_allclose(found, expected, atol=1e-3)
    quality = LabelCleaner().fit(far * 1e40, y).label_quality_
    np.testing.assert_allclose(quality, LabelCleaner().fit(near, y).label_quality_, atol=0.05)


def test_sparse_rows_and_names_of_classes():
    X, _, noisy, wrong = noisy_digits(rows=400)
    names = np.array([f"digit {i}" for i in range(10)])[noisy]
    cleaner = LabelCleaner(scaling="none").fit(sparse.csr_matrix(X / 16), names)
    assert cleaner.believed_[0].startswith("digit ")
    assert roc_auc_score(wrong, -cleaner.label_quality_) > 0.95


def test_resampling():
    X, _, noisy, _ = noisy_digits(rows=300)
    cleaner = LabelCleaner(flag_share=0.1)
    rows, labels = cleaner.fit_resample(X, noisy)
    assert len(rows) == len(labels) == 300 - cleaner.suspect_.sum()
    np.testing.assert_array_equal(rows, X[~cleaner.suspect_])
    again = LabelCleaner(flag_share=0.1, relabel=True).fit_resample(X, noisy)
    assert len(again[0]) == 300 and (again[1] != noisy).sum() <= 30


def test_pipeline_of_imbalanced_learn():
    pipeline = pytest.importorskip("imblearn.pipeline")
    X, y, noisy, _ = noisy_digits(rows=300)
    steps = [LabelCleaner(), LogisticRegression(max_iter=500)]
    model = pipeline.make_pipeline(*steps).fit(X / 16, noisy)
    plain = LogisticRegression(max_iter=500).fit(X / 16, noisy)
    assert model.score(X / 16, y) > plain.score(X / 16, y)


def test_penalties_are_learned():
    X, y = make_classification(
        400, 60, n_informative=4, n_redundant=0, n_classes=2, flip_y=0.05, random_state=0
    )
    tuned = TunedLogisticRegression()
    score = cross_val_score(tuned, X, y, cv=3, scoring="neg_log_loss").mean()
    usual = cross_val_score(LogisticRegression(), X, y, cv=3, scoring="neg_log_loss").mean()
    assert score > usual
    tuned.fit(X, y)
    assert len(tuned.penalties_) == len(tuned.penalty_names_) >= 1
    assert tuned.coef_.shape == (1, 60)
    np.testing.assert_allclose(tuned.predict_proba(X).sum(axis=1), 1)
    np.testing.assert_array_equal(tuned.decision_function(X) > 0, tuned.predict(X) == 1)


def test_groups_of_features_and_many_classes():
    X, y = load_digits(return_X_y=True)
    groups = np.arange(64) // 8
    tuned = TunedLogisticRegression(penalties=groups).fit(X[:300], y[:300])
    assert len(tuned.penalties_) in (1, 8)
    assert tuned.score(X[300:600], y[300:600]) > 0.8
    with pytest.raises(ValueError, match="penalties has shape"):
        TunedLogisticRegression(penalties=groups[:5]).fit(X[:300], y[:300])
    with pytest.raises(ValueError, match="penalties is 'each'"):
        TunedLogisticRegression(penalties="each").fit(X[:300], y[:300])


def test_ridge():
    X, y = make_regression(200, 40, n_informative=4, noise=20, random_state=0)
    score = cross_val_score(TunedRidge(), X, y, cv=3).mean()
    assert score > cross_val_score(Ridge(), X, y, cv=3).mean()
    model = TunedRidge(penalties="one").fit(X, y)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_[0] + model.intercept_[0])


def test_a_sparse_model_answers_as_it_was_trained():
    X, y = load_digits(return_X_y=True)
    rows = sparse.csr_matrix(X[:120])
    model = TunedLogisticRegression(penalties="one").fit(rows, y[:120])
    assert model.unit_rows_
    assert model.score(rows, y[:120]) > 0.9
    np.testing.assert_allclose(model.predict_proba(rows), model.predict_proba(X[:120]))


def test_coresets():
    X, y = load_digits(return_X_y=True)
    chooser = CoresetSelector(40, method="kmeans-by-class").fit(X[:500], y[:500])
    assert len(np.unique(chooser.indices_)) == 40
    assert chooser.weights_.sum() == pytest.approx(1)
    rows, labels = CoresetSelector(0.1, method="uniform").fit_resample(X[:500], y[:500])
    assert rows.shape == (50, 64) and len(labels) == 50
    with pytest.raises(ValueError, match="method"):
        CoresetSelector(10, method="nosuch").fit(X, y)
    with pytest.raises(ValueError, match="n_rows is 5000"):
        CoresetSelector(5000).fit(X, y)


def test_pickle_clone_pipeline_and_search():
    X, y = make_classification(120, 8, random_state=1)
    pipeline = make_pipeline(StandardScaler(), TunedLogisticRegression())
    search = GridSearchCV(
        pipeline, {"tunedlogisticregression__penalties": ["one", "feature"]}, cv=2
    )
    search.fit(X, y)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(X), search.best_estimator_.predict(X))
    assert clone(LabelCleaner(folds=3)).folds == 3


@pytest.mark.parametrize(
    "estimator, message",
    [
        (LabelCleaner(scaling="odd"), "scaling is 'odd'"),
        (LabelCleaner(model="odd"), "model is 'odd'"),
        (LabelCleaner(model=["linear"]), r"model is \['linear'\]"),
        (LabelCleaner(folds=1), "folds"),
        (LabelCleaner(folds=0), "folds is 0, expected a whole number from 2"),
        (LabelCleaner(n_jobs=0), "n_jobs is 0"),
        (LabelCleaner(n_jobs=2**40), "n_jobs is 1099511627776"),
        (LabelCleaner(random_state=2**70), "random_state is 1180591620717411303424"),
        (LabelCleaner(threshold=2.0), "threshold is 2.0"),
        (LabelCleaner(n_jobs="a"), "n_jobs is 'a'"),
        (LabelCleaner(threshold=0.1, flag_share=0.1), "threshold|share"),
        (LabelCleaner(random_state="x"), "random_state"),
    ],
)
def test_messages_name_the_argument(estimator, message):
    X, _, noisy, _ = noisy_digits(rows=100)
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, noisy)


def test_cautions_have_names_of_python():
    X, _, noisy, _ = noisy_digits(rows=100)
    assert "(X_trusted)" in LabelCleaner().fit(X, noisy).cautions_[0]


def test_numbers_that_overflow():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match="the weights are not finite"):
        TunedRidge().fit(X, y * 1e300)
    with pytest.raises(TypeError, match="penalties has groups that cannot be sorted"):
        TunedRidge(penalties=[None, *"abcdefghi"]).fit(X, y)


def test_trusted_rows_must_fit():
    X, y, noisy, _ = noisy_digits(rows=200)
    with pytest.raises(ValueError, match="y_trusted has no row of class"):
        LabelCleaner().fit(X, noisy, X[:3], y[:3])
    with pytest.raises(ValueError, match="together"):
        LabelCleaner().fit(X, noisy, X[:3])


@pytest.mark.parametrize("model", ["auto", "linear", "mlp", "forest"])
def test_same_as_the_command(tmp_path, model):
    """suspects.csv of `bilevel clean` has the same probabilities, to the last digit."""
    import os

    command = os.environ.get("BILEVEL_COMMAND")
    if not command:
        pytest.skip("BILEVEL_COMMAND is not set")
    X, _, noisy, _ = noisy_digits(rows=300)
    lines = [
        ",".join([*(f"{value:g}" for value in row), f"c{label}"])
        for row, label in zip(X, noisy, strict=True)
    ]
    header = ",".join([*(f"p{i}" for i in range(64)), "label"])
    (tmp_path / "rows.csv").write_text("\n".join([header, *lines]) + "\n")
    subprocess.run(
        [command, "clean", "rows.csv", "-o", "out.csv", "--no-store", "--model", model],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    rows = [line.split(",") for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    theirs = {int(row[0]): float(row[3]) for row in rows}
    ours = LabelCleaner(model=model).fit(X, noisy).label_quality_
    assert [theirs[i] for i in range(300)] == ours.tolist()


# ---- Data sets ----


def test_arrays_are_shared():
    for dtype in (np.float32, np.float64):
        X = np.arange(12, dtype=dtype).reshape(4, 3)
        data = bilevel.Dataset.from_arrays(X, ["b", "a", "b", "b"])
        assert np.shares_memory(data.X, X)
        assert data.classes == ["a", "b"] and data.y.tolist() == [1, 0, 1, 1]
        kept = data.X
        del data
        np.testing.assert_array_equal(kept, X)
    matrix = sparse.csr_matrix(X)
    data = bilevel.Dataset.from_arrays(matrix, np.arange(4.0))
    assert np.shares_memory(data.X.data, matrix.data)
    np.testing.assert_array_equal(data.X.toarray(), X)
    np.testing.assert_array_equal(data.y, np.arange(4.0))
    converted = bilevel.Dataset.from_arrays([[1, 2], [3, 4]])
    assert converted.y is None and converted.X.dtype == np.float64


def test_damaged_arrays():
    """Arrays that lie about their lengths, masks, and texts that C would cut off."""
    X, y = np.arange(12.0).reshape(4, 3) + 1, [0, 1, 0, 1]

    def damaged(indptr=None, indices=None):
        matrix = sparse.csr_matrix(X)
        matrix.indptr = matrix.indptr if indptr is None else np.array(indptr, np.int32)
        matrix.indices = matrix.indices if indices is None else np.array(indices, np.int32)
        return matrix

    for matrix in (
        damaged(indices=[0, 1]),
        damaged(indptr=[0, 1000000, 6, 9, 12]),
        damaged(indptr=[0, 3, 6, 9, 1000000]),
        damaged(indices=[99, *range(11)]),
        damaged(indices=[-1] * 12),
    ):
        with pytest.raises(ValueError):
            bilevel.Dataset.from_arrays(matrix, y)
    with pytest.raises(ValueError, match="masked"):
        bilevel.Dataset.from_arrays(np.ma.masked_array(X, X > 3), y)
    with pytest.raises(ValueError, match="y has masked"):
        bilevel.Dataset.from_arrays(X, np.ma.masked_array(y, [1, 0, 0, 0]))
    with pytest.raises(TypeError, match="y has classes that cannot be sorted"):
        bilevel.Dataset.from_arrays(X, [None, "a", "a", "b"])
    with pytest.raises(ValueError, match="X has 1 dimension"):
        bilevel.Dataset.from_arrays(sparse.coo_array(X[0]))
    for given in ((X,), (X, y), (None,)):
        with pytest.raises(TypeError, match="from_arrays"):
            bilevel.Dataset(*given)
    with pytest.raises(ValueError, match="zero byte"):
        bilevel.Dataset.from_arrays(X, ["a\0b", "a", "a", "a"])
    with pytest.raises(ValueError, match="no classes"):
        bilevel.Dataset.from_arrays(X, [1.0, np.nan, 1.0, 1.0], targets="classes")
    data = bilevel.Dataset.from_arrays(X, y)
    for path in ("a\0b", b"a\0b"):
        with pytest.raises(ValueError, match="zero byte"):
            data.write(path)
        with pytest.raises(ValueError, match="zero byte"):
            bilevel.Dataset.read(path)
    for wrong in ({"dtype": int}, {"sparse": "yes"}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} is "):
            bilevel.Dataset.read("x.csv", **wrong)
    for sizes, message in ((("a",), "sizes are"), (([0.5, 0.5],), "sizes are")):
        with pytest.raises(TypeError, match=message):
            data.split(*sizes)
    with pytest.raises(ValueError, match="seed is -1"):
        data.split(0.5, seed=-1)
    with pytest.raises(TypeError, match="format is a int"):
        data.write("x", 5)
    with pytest.raises(TypeError, match="method is a int"):
        CoresetSelector(n_rows=2, method=5).fit(X, y)


def test_many_columns():
    """More than the int32 of SciPy can number."""
    columns = np.array([1, 2**31 + 5])
    matrix = sparse.csr_matrix((np.ones(2), columns, [0, 1, 2]), shape=(2, 2**31 + 9))
    np.testing.assert_array_equal(bilevel.Dataset.from_arrays(matrix).X.indices, columns)


def test_doubtful_header(tmp_path):
    path = tmp_path / "sizes.csv"
    path.write_text("0,2,size\n1.5,2,small\n3,4,big\n2,2,small\n")
    with pytest.warns(UserWarning, match="line 1 may be a header"):
        data = bilevel.Dataset.read(path)
    assert len(data) == 4 and any("may be a header" in note for note in data.notes)
    assert bilevel.Dataset.read(path, header=True).feature_names == ["0", "2"]
    assert len(bilevel.Dataset.read(path, header=False)) == 4


def test_arrays_outlive_the_name():
    import gc

    X = np.random.default_rng(0).normal(size=(50, 4))
    expected = X.copy()
    data = bilevel.Dataset.from_arrays(X, np.arange(50) % 2)
    del X
    gc.collect()
    np.testing.assert_array_equal(data.X, expected)
    from bilevel._dataset import _Loan

    before = len(_Loan.held)
    del data
    gc.collect()
    assert len(_Loan.held) == before - 1


def test_files(tmp_path):
    X = np.arange(20.0).reshape(10, 2)
    data = bilevel.Dataset.from_arrays(X, np.arange(10) % 2, feature_names=["a", "b"])
    for name, kind in (("rows.csv", "csv"), ("rows.npz", "npz"), ("rows.svm", "libsvm")):
        data.write(tmp_path / name, kind)
        again = bilevel.Dataset.read(tmp_path / name, dtype=np.float64, sparse=False)
        np.testing.assert_array_equal(again.X, X)
        np.testing.assert_array_equal(again.y, data.y)
    with gzip.open(tmp_path / "rows.csv.gz", "wb") as file:
        file.write(Path(tmp_path / "rows.csv").read_bytes())
    assert bilevel.Dataset.read(tmp_path / "rows.csv.gz").feature_names == ["a", "b"]
    first, second = data.split(0.5, 0.5)
    assert len(first) == len(second) == 5
    with pytest.raises((OSError, ValueError), match="nowhere"):
        bilevel.Dataset.read(tmp_path / "nowhere")


def test_parquet_and_feather(tmp_path):
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    age = np.where(rng.random(40) < 0.2, np.nan, rng.normal(size=40))
    frame = pd.DataFrame(
        {
            "age": age,
            "city": pd.Categorical(rng.choice(["Rome", "Bern", "a, b"], 40)),
            "member": rng.random(40) < 0.5,
            "when": pd.date_range("2024-01-01", periods=40, freq="h"),
            "class": rng.choice(["u", "v"], 40),
        }
    )
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_feather(tmp_path / "rows.feather")
    expected = bilevel.Dataset.read(tmp_path / "rows.csv", dtype=np.float64, sparse=False)
    assert expected.shape == (40, 8)
    assert np.array_equal(expected.X[:, 1], np.isnan(age))
    assert np.array_equal(expected.X[:, 0][~np.isnan(age)], age[~np.isnan(age)])
    for name in ("rows.parquet", "rows.feather"):
        found = bilevel.Dataset.read(tmp_path / name, dtype=np.float64, sparse=False)
        assert np.array_equal(found.X, expected.X)
        assert found.feature_names == expected.feature_names
        assert list(found.classes) == ["u", "v"]
        assert np.array_equal(found.y, expected.y)


@pytest.mark.parametrize(
    "X, y, message",
    [
        (np.zeros(3), None, "X has 1 dimensions"),
        (np.array([["a"]]), None, "X has dtype"),
        (np.array([[np.nan]]), None, "finite"),
        (np.zeros((2, 1)), [1], "y has shape"),
    ],
)
def test_bad_arrays(X, y, message):
    with pytest.raises((TypeError, ValueError), match=message):
        bilevel.Dataset.from_arrays(X, y)
