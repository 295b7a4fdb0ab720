"""Estimators for scikit-learn: find wrong labels, learn penalties, choose rows.

They take dense and sparse arrays and data frames, and can be cloned, pickled and put into pipelines
and grid searches. Results are the same for any number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _callbacks
from ._callbacks import define, guarded, keep
from ._core import ffi, lib
from ._dataset import Dataset
from ._errors import c_text, check, new_message, owned, struct, text, whole
from ._result import Certificate, array_of

__all__ = ["CoresetSelector", "LabelCleaner", "TunedLogisticRegression", "TunedRidge"]

_NUMBER = int | float | np.integer | np.floating
_SCALINGS = {
    "auto": lib.BLV_TASK_SCALE_AUTO,
    "unit": lib.BLV_TASK_SCALE_UNIT,
    "standard": lib.BLV_TASK_SCALE_STANDARD,
    "rows": lib.BLV_TASK_SCALE_ROWS,
    "none": lib.BLV_TASK_SCALE_NONE,
}
_MODELS = {
    "auto": lib.BLV_CLEAN_AUTO,
    "linear": lib.BLV_CLEAN_LINEAR,
    "mlp": lib.BLV_CLEAN_MLP,
    "forest": lib.BLV_CLEAN_FOREST,
}


def _task_progress(context: Any, progress: Any) -> int:
    """Python looks at signals here."""
    try:
        return int(_callbacks.stopping())
    except BaseException as error:
        keep(error)
        return 1


define("task_progress", _task_progress, 1)


def _choice(name: str, value: Any, allowed: dict[str, int]) -> int:
    if not isinstance(value, str) or value not in allowed:
        words = ", ".join(repr(word) for word in allowed)
        raise ValueError(f"{name} is {value!r}, expected one of {words}")
    return allowed[value]


def _seed(random_state: Any) -> int:
    if random_state is None:
        return 0
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return whole("random_state", random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise ValueError(f"random_state is {random_state!r}, expected None, a whole number or a state")


def _threads(n_jobs: int | None) -> int:
    """None and -1: all processors."""
    number = isinstance(n_jobs, int | np.integer)
    if n_jobs is not None and not (number and n_jobs != 0 and n_jobs < 2**31):
        raise ValueError(f"n_jobs is {n_jobs!r}, expected None or a whole number that is not 0")
    return 0 if n_jobs is None else max(0, int(n_jobs))


class _Sets:
    """The data of a task, prepared by the library."""

    def __init__(self, train: Dataset, trusted: Dataset | None, scaling: int) -> None:
        made, why = ffi.new("blv_task_sets **"), new_message()
        val = ffi.NULL if trusted is None else trusted.pointer
        error = lib.blv_task_sets_create(made, train.pointer, val, ffi.NULL, scaling, why)
        check(error, why)
        self.pointer = owned(made[0], lib.blv_task_sets_destroy)


def _call(function: Any, kind: str, destroy: Any, *arguments: Any) -> Any:
    """A task with hooks that look at signals; its result."""
    hooks = struct("blv_task_hooks", interval=0.5)
    hooks.progress = lib.blv_py_task_progress
    made, why = ffi.new(f"{kind} **"), new_message()
    with guarded():
        error = function(*arguments, made, hooks, why)
        result = owned(made[0], destroy)
    check(error, why)
    return result


# From here on float32 does not hold every whole number.
_INEXACT = 2.0**24


def _as_single(X: Any) -> Any:
    """The tasks work in single precision, as the command does, unless values do not fit into it."""
    values = X.data if sparse.issparse(X) else X
    wide = values.size > 0 and max(float(values.max()), -float(values.min())) >= _INEXACT
    return X.astype(np.float64 if wide else np.float32)


def _encode(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    classes, numbers = np.unique(y, return_inverse=True)
    return classes, numbers


class LabelCleaner(BaseEstimator):  # type: ignore[misc]
    """Finds rows whose labels are wrong.

    A model of the true class and of which label becomes which is learned in folds, so that every
    row is judged by models that have not seen its label (docs/clean.md).

    Parameters
    ----------
    folds : parts that are held out in turn.
    threshold : a row is suspect where its label is right with a probability below it.
    flag_share : this share of the rows is suspect.
    false_alarms : as many rows are suspect as have this share of right labels among them.
        At most one of the three; by default as many are suspect as are expected to be wrong.
    relabel : fit_resample gives suspects the believed label; False: it leaves them out.
    scaling : "auto", "unit", "standard", "rows" or "none".
    model : "auto" chooses from "linear", "mlp" (a small network) and "forest"; linear is fastest.
    random_state : of everything that is drawn; None is 0.
    n_jobs : threads; None: all processors.

    Attributes
    ----------
    suspect_ : whether each row is.
    label_quality_ : the probability that the label of each row is right.
    weights_ : the same, 0 for suspects: for a training with weights.
    believed_ : the likeliest class of each row.
    probability_ : of each class for each row, whatever its label is.
    noise_ : [k, l] is the probability of label l where class k is true.
    estimated_wrong_ : share of wrong labels.
    cautions_ : what to know about this result.
    """

    def __init__(
        self,
        *,
        folds: int = 5,
        threshold: float | None = None,
        flag_share: float | None = None,
        false_alarms: float | None = None,
        relabel: bool = False,
        scaling: str = "auto",
        model: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.folds = folds
        self.threshold = threshold
        self.flag_share = flag_share
        self.false_alarms = false_alarms
        self.relabel = relabel
        self.scaling = scaling
        self.model = model
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any, X_trusted: Any = None, y_trusted: Any = None) -> LabelCleaner:
        """Trusted rows are such whose labels were checked. A hundred help a lot where many labels
        are wrong, or wrong by a rule."""
        if not isinstance(self.folds, int | np.integer) or not 2 <= self.folds <= 100:
            raise ValueError(f"folds is {self.folds!r}, expected a whole number from 2 to 100")
        for name in ("threshold", "flag_share", "false_alarms"):
            share = getattr(self, name)
            if share is not None and not (isinstance(share, _NUMBER) and 0.0 < share < 1.0):
                raise ValueError(f"{name} is {share!r}, expected a number between 0 and 1")
        X, y = validate_data(self, X, y, accept_sparse="csr", ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, numbers = _encode(y)
        if len(self.classes_) < 2:
            raise ValueError(f"y has {len(self.classes_)} class, at least two are needed")
        train = Dataset.from_arrays(_as_single(X), numbers, targets="classes")
        trusted = self._trusted(X_trusted, y_trusted)
        sets = _Sets(train, trusted, _choice("scaling", self.scaling, _SCALINGS))
        options = struct(
            "blv_clean_options",
            seed=_seed(self.random_state),
            threads=_threads(self.n_jobs),
            folds=self.folds,
            threshold=self.threshold or 0.0,
            flag_share=self.flag_share or 0.0,
            false_alarms=self.false_alarms or 0.0,
            model=_choice("model", self.model, _MODELS),
            no_certificate=True,
        )
        result = _call(
            lib.blv_clean,
            "blv_clean_result",
            lib.blv_clean_result_destroy,
            sets.pointer,
            options,
        )
        rows, classes = result.rows, result.classes
        self.suspect_ = np.frombuffer(ffi.buffer(result.suspect, rows), dtype=np.bool_).copy()
        self.label_quality_ = array_of(result.label_probability, rows)
        self.weights_ = np.where(self.suspect_, 0.0, self.label_quality_)
        believed = np.frombuffer(ffi.buffer(result.believed, 4 * rows), dtype=np.int32)
        self.believed_ = self.classes_[believed]
        self.probability_ = array_of(result.probability, rows * classes).reshape(rows, classes)
        self.noise_ = array_of(result.noise, classes * classes).reshape(classes, classes)
        self.estimated_wrong_ = float(result.estimated_wrong)
        cautions = (text(result.cautions[i]) for i in range(result.caution_count))
        self.cautions_ = [said.replace("(--val)", "(X_trusted)") for said in cautions]
        return self

    def _trusted(self, X: Any, y: Any) -> Dataset | None:
        if X is None and y is None:
            return None
        if X is None or y is None:
            raise ValueError("X_trusted and y_trusted are needed together")
        X, y = validate_data(self, X, y, accept_sparse="csr", reset=False)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y_trusted has the class {unknown[0]!r}, which y has not")
        names = np.searchsorted(self.classes_, y)
        if len(np.unique(names)) != len(self.classes_):
            missing = np.setdiff1d(np.arange(len(self.classes_)), names)[0]
            raise ValueError(f"y_trusted has no row of class {self.classes_[missing]!r}")
        return Dataset.from_arrays(_as_single(X), names, targets="classes")

    def fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        """The rows that are left, for pipelines of imbalanced-learn."""
        self.fit(X, y)
        if self.relabel:
            return X, np.where(self.suspect_, self.believed_, np.asarray(y))
        self.sample_indices_ = np.flatnonzero(~self.suspect_)
        kept = self.sample_indices_
        return _safe_indexing(X, kept), _safe_indexing(y, kept)


class _Tuned(BaseEstimator):  # type: ignore[misc]
    """A linear model whose penalties are learned (docs/tune.md)."""

    def __init__(
        self,
        *,
        penalties: Any = "feature",
        scaling: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.penalties = penalties
        self.scaling = scaling
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _kind(self, features: int) -> tuple[int, Any, list[Any]]:
        """The kind of penalties, the groups of features, and what they refer to."""
        kinds = {
            "feature": lib.BLV_PENALTY_PER_FEATURE,
            "class": lib.BLV_PENALTY_PER_CLASS,
            "one": lib.BLV_PENALTY_ONE,
        }
        if isinstance(self.penalties, str):
            return _choice("penalties", self.penalties, kinds), ffi.NULL, []
        given = np.asarray(self.penalties)
        if given.shape != (features,):
            raise ValueError(
                f"penalties has shape {given.shape}, expected a group for each of the {features} "
                "features"
            )
        try:
            names, numbers = np.unique(given, return_inverse=True)
        except TypeError as error:
            raise TypeError(f"penalties has groups that cannot be sorted: {error}") from error
        texts = [ffi.new("char[]", c_text("the group", str(name))) for name in names]
        pointers = ffi.new("const char *[]", texts)
        group = ffi.new("uint32_t[]", numbers.tolist())
        groups = ffi.new("blv_feature_groups *")
        groups.count, groups.names = len(names), pointers
        groups.features, groups.group = features, group
        return lib.BLV_PENALTY_GROUPS, groups, [texts, pointers, group]

    def _tune(self, X: Any, y: Any, targets: str) -> Any:
        scaling = _choice("scaling", self.scaling, _SCALINGS)
        if self.scaling == "auto":
            scaling = _SCALINGS["rows" if sparse.issparse(X) else "standard"]
        kind, groups, _kept = self._kind(X.shape[1])
        sets = _Sets(Dataset.from_arrays(_as_single(X), y, targets=targets), None, scaling)
        options = struct(
            "blv_tune_options",
            seed=_seed(self.random_state),
            threads=_threads(self.n_jobs),
            penalty=kind,
            groups=groups,
        )
        destroy = lib.blv_tune_result_destroy
        result = _call(lib.blv_tune, "blv_tune_result", destroy, sets.pointer, options)
        self._keep(result)
        return result

    def _keep(self, result: Any) -> None:
        model = result.model
        scores, features = model.scores, model.features
        weights = array_of(model.weights, scores * features).reshape(scores, features)
        shift, divisor = array_of(model.shift, features), array_of(model.divisor, features)
        self.unit_rows_ = bool(model.unit_rows)
        self.coef_ = weights / divisor
        if not np.isfinite(self.coef_).all():
            raise ValueError("the weights are not finite: are the numbers of X or y very large?")
        self.intercept_ = array_of(model.intercept, scores)
        if not self.unit_rows_:
            self.intercept_ = self.intercept_ - self.coef_ @ shift
        self.penalties_ = array_of(model.penalty, model.penalties)
        self.penalty_names_ = [text(model.penalty_names[i]) for i in range(model.penalties)]
        self.kept_ = bool(result.kept)
        self.gain_ = float(result.gain)
        self.certificate_ = Certificate.of(result.certificate) if result.certified else None

    def _scores(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        raw = np.asarray(X @ self.coef_.T)
        if self.unit_rows_:
            squares = X.multiply(X).sum(axis=1) if sparse.issparse(X) else (X * X).sum(axis=1)
            lengths = np.sqrt(np.asarray(squares).reshape(-1, 1))
            raw = raw / np.where(lengths > 0.0, lengths, 1.0)
        return raw + self.intercept_


class TunedLogisticRegression(ClassifierMixin, _Tuned):  # type: ignore[misc]
    """Logistic or softmax regression with a penalty for each feature, class or group, learned.

    The best penalty for all features comes from cross-validation; many depart from it where an
    outer cross-validation shows a clear gain.

    Parameters
    ----------
    penalties : "feature", "class", "one", or an array with the group of each feature.
    scaling : "auto" (standard, sparse rows to length 1), "unit", "standard", "rows" or "none".
    random_state, n_jobs : as in LabelCleaner.

    Attributes
    ----------
    penalties_ : the ones that were learned, with penalty_names_.
    kept_ : many penalties are the result; False: one for all did as well.
    coef_, intercept_, classes_ : of the model, for features as they were given.
    """

    def fit(self, X: Any, y: Any) -> TunedLogisticRegression:
        X, y = validate_data(self, X, y, accept_sparse="csr")
        check_classification_targets(y)
        self.classes_, numbers = _encode(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class, {self.classes_[0]!r}; a classifier needs two classes at least"
            )
        self._tune(X, numbers, "classes")
        return self

    def decision_function(self, X: Any) -> Any:
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> Any:
        scores = self._scores(X)
        if scores.shape[1] == 1:
            scores = np.hstack([np.zeros_like(scores), scores])
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return scores / scores.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> Any:
        numbers = self.predict_proba(X).argmax(axis=1)
        return self.classes_[numbers]


class TunedRidge(RegressorMixin, _Tuned):  # type: ignore[misc]
    """Ridge regression with a penalty for each feature or group, learned.

    Parameters and attributes are those of TunedLogisticRegression.
    """

    def fit(self, X: Any, y: Any) -> TunedRidge:
        X, y = validate_data(self, X, y, accept_sparse="csr", y_numeric=True, ensure_min_samples=2)
        self._tune(X, np.asarray(y, dtype=np.float64), "real")
        return self

    def predict(self, X: Any) -> Any:
        return self._scores(X)[:, 0]


class CoresetSelector(BaseEstimator):  # type: ignore[misc]
    """Chooses a few rows that represent all of them (docs/coreset.md).

    Parameters
    ----------
    n_rows : how many, or a share of the rows where it is below 1.
    method : None: the one that does best on rows held out; names are in docs/coreset.md.
    random_state, n_jobs : as in LabelCleaner.

    Attributes
    ----------
    indices_ : the chosen rows, the heaviest first.
    weights_ : of each in training; their sum is 1.
    method_ : that was used.
    """

    def __init__(
        self,
        n_rows: float = 0.1,
        *,
        method: str | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_rows = n_rows
        self.method = method
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any) -> CoresetSelector:
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        self.classes_, numbers = _encode(y)
        if len(self.classes_) < 2:
            raise ValueError(f"y has {len(self.classes_)} class, at least two are needed")
        if not isinstance(self.n_rows, _NUMBER) or not self.n_rows > 0:
            raise ValueError(f"n_rows is {self.n_rows!r}, expected a positive number")
        wanted = self.n_rows if self.n_rows >= 1 else max(1, round(self.n_rows * len(y)))
        if wanted > len(y):
            raise ValueError(f"n_rows is {self.n_rows}, but X has {len(y)} rows")
        options, why = struct("blv_select_options"), new_message()
        selection = options.selection
        selection.size = ffi.sizeof("blv_selection")
        selection.count = int(wanted)
        selection.seed = _seed(self.random_state)
        selection.threads = _threads(self.n_jobs)
        if self.method is not None:
            name = c_text("method", self.method)
            selection.method = lib.blv_selection_method_find(name, why)
            if selection.method == ffi.NULL:
                raise ValueError(f"method: {text(why.text)}")
        rows = Dataset.from_arrays(_as_single(X), numbers, targets="classes")
        destroy = lib.blv_select_result_destroy
        result = _call(
            lib.blv_select_rows,
            "blv_select_result",
            destroy,
            rows.pointer,
            ffi.NULL,
            options,
        )
        memory = ffi.buffer(result.index, result.count * ffi.sizeof("size_t"))
        self.indices_ = np.frombuffer(memory, dtype=np.uintp).astype(np.int64)
        self.weights_ = array_of(result.weight, result.count)
        self.method_ = text(result.method.name)
        return self

    def fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        """The chosen rows, for pipelines of imbalanced-learn."""
        self.fit(X, y)
        return _safe_indexing(X, self.indices_), _safe_indexing(y, self.indices_)
