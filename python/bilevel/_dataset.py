"""Data sets of the library: from arrays without a copy, and from files of all its formats."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from os.path import basename, isfile, join
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from ._callbacks import define
from ._core import ffi, lib
from ._errors import c_text, check, new_message, owned, struct, text, whole
from ._level import unmasked


class _Loan:
    """Arrays that a set of the library uses, until it says that it does not any more."""

    held: dict[int, _Loan] = {}  # noqa: RUF012

    def __init__(self, arrays: list[Any]) -> None:
        self.arrays = arrays
        self.left = 1 if len(arrays) == 1 else 3
        self.handle = ffi.new_handle(self)
        _Loan.held[id(self)] = self

    def end(self) -> None:
        _Loan.held.pop(id(self), None)


def _release(context: Any) -> None:
    loan = ffi.from_handle(context)
    loan.left -= 1
    if loan.left == 0:
        loan.end()


define("release", _release, None)


def _texts(what: str, names: Sequence[Any]) -> tuple[Any, list[Any]]:
    kept = [ffi.new("char[]", c_text(what, str(name))) for name in names]
    return ffi.new("const char *[]", kept), kept


def _pointer(kind: str, array: npt.NDArray[Any]) -> Any:
    return ffi.cast(kind, array.ctypes.data)


@contextmanager
def _text_file(path: str) -> Iterator[str]:
    """The path of a file that the library reads: a CSV file in place of Parquet or Feather."""
    first = b""
    if isfile(path):
        with open(path, "rb") as file:
            first = file.read(6)
    if not first.startswith((b"PAR1", b"FEA1", b"ARROW1")):
        yield path
        return
    import pandas as pd

    table = pd.read_parquet(path) if first.startswith(b"PAR1") else pd.read_feather(path)
    with TemporaryDirectory() as folder:
        name = join(folder, basename(path) + ".csv")
        table.to_csv(name, index=False)
        yield name


class Dataset:
    """Rows of features, dense or sparse, with classes or real targets.

    Dataset.from_arrays(X, y) or Dataset.read(path). The arrays `X` and `y` show the memory of the
    set; they are not to be written to.
    """

    def __init__(self, pointer: Any, *more: Any) -> None:
        if more or not isinstance(pointer, ffi.CData):
            raise TypeError("Dataset.from_arrays(X, y) or Dataset.read(path) makes a data set")
        self.pointer = owned(pointer, lib.blv_dataset_release)

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any = None,
        *,
        targets: str = "auto",
        feature_names: Sequence[str] | None = None,
    ) -> Dataset:
        """X: an array or a SciPy CSR matrix of float32 or float64; other types are converted.

        y: classes of any type, or real targets. targets: "classes", "real", or "auto", which takes
        floating-point numbers as real targets. An X that is contiguous, aligned and of one of the
        two types is not copied: do not change it while the set is in use.
        """
        if targets not in ("auto", "classes", "real"):
            raise ValueError(f"targets is {targets!r}, expected 'auto', 'classes' or 'real'")
        sparse = hasattr(X, "tocsr")
        view = struct("blv_dataset_view")
        loan = _Loan(_sparse_arrays(X) if sparse else [_dense_array(X)])
        try:
            _describe_features(view, loan.arrays, X.shape if sparse else loan.arrays[0].shape)
            kept = _describe_targets(view, y, targets)
            if feature_names is not None:
                if len(feature_names) != view.columns:
                    count = len(feature_names)
                    raise ValueError(f"feature_names: {count} names for {view.columns} features")
                names, texts = _texts("the feature", feature_names)
                view.feature_names = names
                kept += [names, texts]
            made, why = ffi.new("blv_dataset **"), new_message()
            history = ffi.NULL
            release = lib.blv_py_release
            error = lib.blv_dataset_borrow(made, view, history, release, loan.handle, why)
            if error != lib.BLV_OK:
                why_text = text(why.text).removeprefix("blv_dataset_borrow: ")
                raise ValueError(why_text)
        except BaseException:
            loan.end()
            raise
        return cls(made[0])

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        *,
        dtype: Any = np.float32,
        label: str | None = None,
        targets: str = "auto",
        sparse: bool | None = None,
        header: bool | None = None,
    ) -> Dataset:
        """A file of any format that the command reads: docs/data.md. label: its column in CSV.

        header: whether the first line of a CSV file holds names; None: found from all rows, with a
        warning where it may be one and is taken for a row.

        Parquet and Feather files are read by pandas, which needs pyarrow, and their columns taken
        as those of a CSV file.
        """
        words = {"auto": 0, "classes": lib.BLV_TARGETS_CLASSES, "real": lib.BLV_TARGETS_REAL}
        if targets not in words:
            raise ValueError(f"targets is {targets!r}, expected 'auto', 'classes' or 'real'")
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype is {dtype!r}, expected float32 or float64")
        if sparse not in (None, True, False):
            raise ValueError(f"sparse is {sparse!r}, expected True, False or None")
        single = np.dtype(dtype) == np.float32
        layouts = {None: 0, True: lib.BLV_LAYOUT_SPARSE, False: lib.BLV_LAYOUT_DENSE}
        column = ffi.NULL if label is None else ffi.new("char[]", c_text("label", str(label)))
        first = ffi.NULL if header is None else ffi.new("char[]", b"yes" if header else b"no")
        options = struct(
            "blv_read_options",
            precision=lib.BLV_F32 if single else lib.BLV_F64,
            layout=layouts[sparse],
            label=column,
            header=first,
            targets=words[targets],
        )
        made, why = ffi.new("blv_dataset **"), new_message()
        with _text_file(fspath(path)) as name:
            check(lib.blv_dataset_read(made, c_text("path", name), options, why), why)
        data = cls(made[0])
        for note in data.notes:
            if "may be a header" in note:
                warnings.warn(f"{fspath(path)}: {note}", stacklevel=2)
        return data

    @property
    def view(self) -> Any:
        return lib.blv_dataset_view_of(self.pointer)

    def __len__(self) -> int:
        return int(self.view.rows)

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.view.rows), int(self.view.columns)

    def _array(self, pointer: Any, count: int, dtype: Any) -> npt.NDArray[Any]:
        """Around memory of the set, which lives as long as the array."""
        if count == 0:
            return np.empty(0, dtype)
        kept = owned(ffi.cast("char *", pointer), lambda p: None, self)
        array = np.frombuffer(ffi.buffer(kept, count * np.dtype(dtype).itemsize), dtype)
        array.flags.writeable = False
        return array

    @property
    def X(self) -> Any:  # noqa: N802
        """The features: an array, or a SciPy CSR matrix."""
        v = self.view
        dtype = np.float32 if v.precision == lib.BLV_F32 else np.float64
        if v.dense != ffi.NULL:
            return self._array(v.dense, v.rows * v.columns, dtype).reshape(v.rows, v.columns)
        from scipy.sparse import csr_matrix

        starts = self._array(v.row_start, v.rows + 1, np.int64)
        stored = int(starts[-1])
        columns = self._array(v.column, stored, np.uint32)
        if v.columns <= 2**31:  # as SciPy has them, without a copy
            columns = columns.view(np.int32)
        values = self._array(v.value, stored, dtype)
        return csr_matrix((values, columns, starts), shape=self.shape)

    @property
    def y(self) -> npt.NDArray[Any] | None:
        """Class numbers, real targets, or None. `classes` has the names of the classes."""
        v = self.view
        if v.label != ffi.NULL:
            return self._array(v.label, v.rows, np.int32)
        return None if v.target == ffi.NULL else self._array(v.target, v.rows, np.float64)

    @property
    def classes(self) -> list[str]:
        return [text(self.view.class_names[i]) for i in range(self.view.classes)]

    @property
    def feature_names(self) -> list[str] | None:
        names = self.view.feature_names
        if names == ffi.NULL:
            return None
        return [text(names[i]) for i in range(self.view.columns)]

    def _lines(self, line_at: Any) -> list[str]:
        lines: list[str] = []
        while (line := line_at(self.pointer, len(lines))) != ffi.NULL:
            lines.append(text(line))
        return lines

    @property
    def history(self) -> list[str]:
        return self._lines(lib.blv_dataset_history)

    @property
    def notes(self) -> list[str]:
        """Remarks of the reader: kinds of columns, and what was left out."""
        return self._lines(lib.blv_dataset_notes)

    @property
    def fingerprint(self) -> int:
        return int(lib.blv_dataset_fingerprint(self.pointer))

    def split(self, *sizes: float, stratified: bool = True, seed: int = 0) -> list[Dataset]:
        """Parts of these shares, or numbers of rows where they are 1 or more."""
        parts, why = ffi.new("blv_dataset *[]", len(sizes)), new_message()
        if not all(isinstance(size, int | float | np.number) for size in sizes):
            raise TypeError(f"sizes are {sizes}, expected numbers: split(0.8, 0.2)")
        given, seed = ffi.new("double[]", [float(size) for size in sizes]), whole("seed", seed)
        stratified = stratified and self.view.label != ffi.NULL
        error = lib.blv_dataset_split(self.pointer, given, len(sizes), stratified, seed, parts, why)
        check(error, why)
        return [Dataset(part) for part in parts]

    def write(self, path: str | PathLike[str], format: str = "npz") -> None:
        """format: "npz", "csv" or "libsvm"."""
        why = new_message()
        name, form = c_text("path", fspath(path)), c_text("format", format)
        check(lib.blv_dataset_write(self.pointer, name, form, why), why)

    def __repr__(self) -> str:
        rows, columns = self.shape
        what = f", {self.view.classes} classes" if self.view.classes else ""
        return f"<bilevel data set: {rows} rows, {columns} features{what}>"


def _floats(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    kind = array.dtype if array.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    return np.require(array, kind, ["C", "ALIGNED"])


def _dense_array(X: Any) -> npt.NDArray[Any]:
    array = unmasked(X, "X")
    if array.ndim != 2:
        raise ValueError(f"X has {array.ndim} dimensions, expected 2: rows and features")
    if array.dtype.kind not in "fiub":
        raise TypeError(f"X has dtype {array.dtype}, expected numbers")
    return _floats(array)


def _sparse_arrays(X: Any) -> list[npt.NDArray[Any]]:
    if len(X.shape) != 2:
        raise ValueError(f"X has {len(X.shape)} dimension, expected 2: rows and features")
    matrix = X.tocsr()
    if matrix.dtype.kind not in "fiub":
        raise TypeError(f"X has dtype {matrix.dtype}, expected numbers")
    matrix.check_format(full_check=True)  # the library believes the lengths of the arrays
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    starts = np.ascontiguousarray(matrix.indptr, dtype=np.uint64)
    columns = np.ascontiguousarray(matrix.indices, dtype=np.int32).view(np.uint32)
    values = _floats(matrix.data)
    if len(values) == 0:  # the library wants addresses
        columns, values = np.zeros(1, np.uint32), np.zeros(1, values.dtype)
    return [starts, columns, values]


def _describe_features(view: Any, arrays: list[Any], shape: tuple[int, int]) -> None:
    view.rows, view.columns = shape
    view.precision = lib.BLV_F32 if arrays[-1].dtype == np.float32 else lib.BLV_F64
    if len(arrays) == 1:
        view.dense = _pointer("void *", arrays[0])
        view.stride = shape[1]
    else:
        view.row_start = _pointer("size_t *", arrays[0])
        view.column = _pointer("uint32_t *", arrays[1])
        view.value = _pointer("void *", arrays[2])


def _describe_targets(view: Any, y: Any, targets: str) -> list[Any]:
    """Fills in labels or targets; what is returned must live as long as the view."""
    if y is None:
        return []
    y = unmasked(y, "y")
    if y.shape != (view.rows,):
        raise ValueError(f"y has shape {y.shape}, expected ({view.rows},): one for each row of X")
    if targets == "real" or (targets == "auto" and y.dtype.kind == "f"):
        if y.dtype.kind not in "fiub":
            raise TypeError(f"y has dtype {y.dtype}, expected numbers")
        values = np.ascontiguousarray(y, dtype=np.float64)
        view.target = _pointer("double *", values)
        return [values]
    if y.dtype.kind in "fc" and not np.isfinite(y).all():
        raise ValueError("y has values that are not finite, which are no classes")
    try:
        classes, numbers = np.unique(y, return_inverse=True)
    except TypeError as error:  # such as None among words
        raise TypeError(f"y has classes that cannot be sorted: {error}") from error
    labels = np.ascontiguousarray(numbers, dtype=np.int32)
    names, texts = _texts("the class", classes.tolist())
    view.classes = len(classes)
    view.label = _pointer("int32_t *", labels)
    view.class_names = names
    return [labels, names, texts]
