"""Recursive Feature Machines: kernel machines that learn which features matter.

    >>> from rfm import RFMClassifier
    >>> model = RFMClassifier().fit(X, y)           # all settings are chosen inside the rows
    >>> model.predict(X_new), model.predict_proba(X_new), model.feature_importances_
    >>> small = model.compress(X, y, budget=2000)   # bytes
    >>> small.export("model.h", standalone=True)    # C for firmware

The work is done by librfm.so, the same code as the command ``rfm``: the same options by the same names, the same
numbers to the bit. Nothing else is needed. With NumPy results are NumPy arrays, else lists; with scikit-learn the
estimators are scikit-learn's. Rows are anything with the buffer protocol (NumPy, ``array``, ``memoryview``), read where
they are, or sequences of sequences, or a data frame.

Estimators may be used by several threads at once as long as none of them calls ``fit``, ``set_params`` or sets an
attribute of the same estimator. The interpreter's lock is free while the library works. Ctrl-C ends ``fit`` and
``compress`` and leaves the estimator as it was.
"""

from __future__ import annotations

import array
import ctypes
import inspect
import json
import math
import os
import re
import sys
import threading
import warnings
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

try:
    import numpy as _np
except ImportError:
    _np = None

try:
    from sklearn import base as _base, exceptions as _exceptions
except ImportError:
    _base = _exceptions = None

__version__ = "0.1.0"
__all__ = ["RFMClassifier", "RFMRegressor", "NotFittedError", "__version__"]

Matrix = Any  # (n, d): a buffer, a sequence of sequences, a data frame
Vector = Any  # (n): a buffer or a sequence


class NotFittedError(*((_exceptions.NotFittedError,) if _exceptions else (ValueError, AttributeError))):  # type: ignore
    """An estimator is used before ``fit`` or ``load``."""


# ---- the library -------------------------------------------------------------------------------------------------
# The structs are those of rfm_tool.h; the library says their sizes, and they are compared.


class _Array(ctypes.Structure):
    _fields_ = [
        ("at", ctypes.c_void_p),
        ("rows", ctypes.c_size_t),
        ("cols", ctypes.c_size_t),
        ("row_step", ctypes.c_ssize_t),
        ("col_step", ctypes.c_ssize_t),
        ("type", ctypes.c_int),
    ]


class _Rows(ctypes.Structure):
    _fields_ = [
        ("x", _Array),
        ("y", _Array),
        ("weights", _Array),
        ("names", ctypes.c_char_p),
        ("labels", ctypes.c_char_p),
        ("label_count", ctypes.c_size_t),
        ("label_texts", ctypes.c_int),
    ]


_Progress = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_double)


class _Options(ctypes.Structure):
    _fields_ = [
        ("words", ctypes.POINTER(ctypes.c_char_p)),
        ("cancel", ctypes.POINTER(ctypes.c_int)),
        ("progress", _Progress),
        ("arg", ctypes.c_void_p),
    ]


class _Result(ctypes.Structure):
    _fields_ = [
        ("bytes", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("summary", ctypes.c_char_p),
        ("notes", ctypes.c_char_p),
        ("error", ctypes.c_char_p),
        ("peak", ctypes.c_size_t),
    ]


_ABI = 1
_SONAME = "librfm.so." + __version__.split(".")[0]
_USAGE, _CANCELED, _MEMORY = 2, 3, 4


def _check_abi(library: ctypes.CDLL, path: str) -> None:
    try:
        function = library.rfm_tool_abi
    except AttributeError:
        raise ImportError(f"{path}: not the library of rfm.py {__version__}; expected one that `make shared` made") from None
    function.restype = ctypes.POINTER(ctypes.c_uint32)
    found = function()
    names = ["ABI", "major version", "minor version", "patch", "", "array", "rows", "options", "result"]
    sizes = [ctypes.sizeof(s) for s in (_Array, _Rows, _Options, _Result)]
    wanted = [_ABI] + [int(v) for v in __version__.split(".")] + [None] + sizes
    if found[0] != len(wanted):
        raise ImportError(f"{path}: another version than rfm.py {__version__}; make both from the same sources")
    for name, want, have in zip(names, wanted, found[1 : 1 + len(wanted)]):
        if want is not None and want != have:
            raise ImportError(
                f"{path}: {name} is {have}, rfm.py {__version__} expects {want}; make both from the same sources"
            )


def _load() -> ctypes.CDLL:
    here = os.path.dirname(os.path.abspath(__file__))
    places = [os.path.join(here, _SONAME), os.path.join(here, "..", "..", "build", _SONAME)]
    if os.environ.get("RFM_LIBRARY"):
        places = [os.environ["RFM_LIBRARY"]]
    for path in places:
        if os.path.exists(path):
            try:
                library = ctypes.CDLL(path)
            except OSError as error:
                raise ImportError(f"{path}: cannot be loaded: {error}") from None
            break
    else:
        raise ImportError(f"{_SONAME} is in none of {', '.join(places)}; `make shared` makes it, RFM_LIBRARY names it")
    _check_abi(library, path)
    blob = [ctypes.c_char_p, ctypes.c_size_t]
    rows, options, result = ctypes.POINTER(_Rows), ctypes.POINTER(_Options), ctypes.POINTER(_Result)
    doubles, size = ctypes.POINTER(ctypes.c_double), ctypes.c_size_t
    for name, arguments in (
        ("train", [rows, options, result]),
        ("compress", blob + [rows, options, result]),
        ("evaluate", blob + [rows, options, result]),
        ("export", blob + [options, result]),
        ("info", blob + [options, result]),
        ("predict", blob + [rows, options, size, size, doubles, ctypes.POINTER(ctypes.c_uint32), doubles, result]),
        ("metric", blob + [size, ctypes.c_int, doubles, result]),
    ):
        function = getattr(library, "rfm_tool_" + name)
        function.argtypes, function.restype = arguments, ctypes.c_int
    library.rfm_tool_free.argtypes, library.rfm_tool_free.restype = [result], None
    return library


_library = _load()


class _Made:
    """What a call has left."""

    def __init__(self, result: _Result):
        self.bytes = ctypes.string_at(result.bytes, result.size) if result.bytes else b""
        self.summary = json.loads(result.summary) if result.summary else {}
        self.notes = [_in_python(line) for line in (result.notes or b"").decode("utf-8", "replace").splitlines()]
        self.peak = result.peak


def _in_python(message: str) -> str:
    """Options by the names of the parameters."""
    return re.sub(r"--([a-z][a-z-]*)", lambda m: m.group(1).replace("-", "_"), message)


def _call(name: str, *arguments: Any) -> _Made:
    result = _Result()
    status = getattr(_library, "rfm_tool_" + name)(*arguments, ctypes.byref(result))
    try:
        if status == 0:
            return _Made(result)
        message = _in_python((result.error or b"out of memory").decode("utf-8", "replace"))
    finally:
        _library.rfm_tool_free(ctypes.byref(result))
    raise MemoryError(message) if status == _MEMORY else ValueError(message)


class _Job:
    """Options of a call, and a way to end it."""

    def __init__(self, words: Sequence[str], verbose: bool = False):
        self.cancel = ctypes.c_int(0)
        self._words = (ctypes.c_char_p * (len(words) + 1))(*[w.encode() for w in words], None)
        self._progress = _Progress(self._show) if verbose else _Progress()
        self.options = _Options(self._words, ctypes.pointer(self.cancel), self._progress, None)
        self._last = ""

    def _show(self, _: Any, label: bytes, share: float) -> int:
        line = f"rfm: {label.decode()} {100 * share:.0f} %"
        if line != self._last and sys.stderr is not None:
            print(line, file=sys.stderr)
        self._last = line
        return 0

    def run(self, name: str, *arguments: Any) -> _Made:
        """In a thread of its own: this one waits, and a KeyboardInterrupt ends both."""
        done: List[Any] = []
        ended = threading.Event()  # a join that is interrupted takes the thread for ended

        def work() -> None:
            try:
                done.append(_call(name, *arguments))
            except BaseException as error:  # raised again below
                done.append(error)
            ended.set()

        thread = threading.Thread(target=work, name="rfm " + name, daemon=True)
        try:
            thread.start()
            ended.wait()
        except BaseException:
            self.cancel.value = 1
            while thread.ident is not None and not ended.is_set():
                try:
                    ended.wait()  # the library reads the caller's arrays until then
                except KeyboardInterrupt:
                    continue
            raise
        thread.join()
        if isinstance(done[0], BaseException):
            raise done[0]
        return done[0]


# ---- arrays ------------------------------------------------------------------------------------------------------


class _Buffer(ctypes.Structure):
    """Py_buffer: the address of an object that may be read-only."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]


_RECORDS_RO = 0x1C  # strides and format, to be read
_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes, _get_buffer.restype = [ctypes.py_object, ctypes.POINTER(_Buffer), ctypes.c_int], ctypes.c_int
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes, _release_buffer.restype = [ctypes.POINTER(_Buffer)], None

_TYPES = {("f", 4): 0, ("f", 8): 1, ("i", 1): 2, ("u", 1): 3, ("i", 2): 4, ("u", 2): 5,
          ("i", 4): 6, ("u", 4): 7, ("i", 8): 8, ("u", 8): 9}  # fmt: skip
_KINDS = {"f": "f", "d": "f", "?": "u"}
_KINDS.update({letter: "i" for letter in "bhilqn"})
_KINDS.update({letter: "u" for letter in "BHILQN"})


def _type_of(form: str, itemsize: int) -> Optional[int]:
    """RFM_TOOL_...; None: the library has no such numbers."""
    native = "<" if sys.byteorder == "little" else ">"
    if form[:1] in ("@", "=", native):
        form = form[1:]
    return _TYPES.get((_KINDS.get(form, ""), itemsize))


class _View:
    """A matrix that the library can read: where it is, and what keeps it there."""

    def __init__(self, what: str, data: Any, dims: Tuple[int, ...]):
        self._buffer: Optional[_Buffer] = None
        data = _readable(what, data)
        buffer = _Buffer()
        _get_buffer(data, ctypes.byref(buffer), _RECORDS_RO)
        self._buffer = buffer
        kind = _type_of((buffer.format or b"B").decode(), buffer.itemsize)
        if kind is None:  # _readable has seen to it
            raise TypeError(f"{what}: expected numbers, found the format {(buffer.format or b'').decode()!r}")
        self.shape = tuple(buffer.shape[i] for i in range(buffer.ndim))
        if buffer.ndim not in dims:
            raise ValueError(_wrong_dims(what, self.shape, dims))
        cols = self.shape[1] if buffer.ndim == 2 else 1
        if buffer.strides:
            steps = buffer.strides[0], buffer.strides[buffer.ndim - 1]
        else:  # one row after the other
            steps = cols * buffer.itemsize, buffer.itemsize
        self.array = _Array(buffer.buf, self.shape[0], cols, *steps, kind)
        self.address = buffer.buf

    def __del__(self) -> None:
        if self._buffer is not None:
            _release_buffer(ctypes.byref(self._buffer))
            self._buffer = None


def _wrong_dims(what: str, shape: Tuple[int, ...], dims: Tuple[int, ...]) -> str:
    if what == "X" and shape == (0,):
        return _empty(what, 0, 0)
    if what == "X" and len(shape) < 2:
        return (
            f"Expected 2D array, got {len(shape)}D array instead: X has the shape {shape}. Reshape your data either using "
            "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it contains a single sample."
        )
    return f"{what}: expected {' or '.join(f'{d}D' for d in dims)}, found an array of the shape {shape}"


def _readable(what: str, data: Any) -> Any:
    """`data` if the library can read it in place; else a copy of it as numbers."""
    if hasattr(data, "toarray") and not hasattr(data, "__array_interface__"):
        raise TypeError(f"A sparse matrix was passed as {what}, but dense data is required. Use {what}.toarray()")
    try:
        view = memoryview(data)
    except (TypeError, ValueError, BufferError):  # no buffer, or one of objects
        view = None
    if view is not None and _type_of(view.format, view.itemsize) is not None:
        return data
    if _np is not None and (hasattr(data, "__array__") or view is not None):
        return _as_numbers(what, _np.asarray(data))
    if view is not None:
        raise TypeError(f"{what}: expected numbers, found the format {view.format!r}")
    return _of_sequence(what, data)


def _as_numbers(what: str, data: Any) -> Any:
    if data.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {what} has the type {data.dtype}")
    if data.dtype.kind in "SUMm" or data.dtype.names is not None:
        raise ValueError(f"{what}: expected numbers, found the type {data.dtype}")
    if data.dtype.kind in "biuf" and data.dtype.itemsize <= 8 and data.dtype.isnative and data.dtype.char != "e":
        return data  # of a data frame
    return data.astype(_np.float32 if data.dtype.char == "e" else _np.float64)


def _number(what: str, place: str, value: Any) -> float:
    if isinstance(value, (str, bytes)):
        raise ValueError(f"{what}: {place}: expected a number, found {value!r}")
    if isinstance(value, complex):
        raise ValueError(f"Complex data not supported: {what}: {place} is {value!r}")
    if value is None:
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except TypeError as error:
        raise TypeError(f"{what}: {place}: {error}") from None


def _of_sequence(what: str, data: Any) -> Any:
    """Nested sequences, or one of numbers."""
    if isinstance(data, (str, bytes, dict)) or not hasattr(data, "__len__") or not hasattr(data, "__getitem__"):
        raise TypeError(f"{what}: expected an array or a sequence, found {type(data).__name__}")
    numbers = array.array("d")
    rows = len(data)
    nested = rows > 0 and hasattr(data[0], "__len__") and not isinstance(data[0], (str, bytes))
    if not nested:
        numbers.extend(_number(what, f"row {i}", data[i]) for i in range(rows))
        return numbers
    cols = len(data[0])
    for i in range(rows):
        row = data[i]
        if not hasattr(row, "__len__") or len(row) != cols:
            raise ValueError(f"{what}: row {i} has another length than row 0, which has {cols}")
        numbers.extend(_number(what, f"row {i}, column {j}", row[j]) for j in range(cols))
    if rows * cols == 0:
        raise ValueError(_empty(what, rows, cols))
    return memoryview(numbers).cast("B").cast("d", (rows, cols))


def _empty(what: str, rows: int, cols: int) -> str:
    thing = f"{rows} sample(s)" if rows == 0 else f"{cols} feature(s)"
    return f"{what}: found array with {thing} (shape=({rows}, {cols})) while a minimum of 1 is required."


def _given(values: Any, shape: Tuple[int, ...]) -> Any:
    """Results: a NumPy array, or without NumPy a list (of lists)."""
    if _np is not None:
        return _np.frombuffer(values, dtype=_np.float64).reshape(shape)
    flat = list(values)
    if len(shape) == 1:
        return flat
    return [flat[i * shape[1] : (i + 1) * shape[1]] for i in range(shape[0])]


def _labels(y: Any) -> List[Any]:
    """The labels of rows as a list."""
    if _np is not None and not isinstance(y, (list, tuple)):
        y = _np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
                "(n_samples, ), for example using ravel().",
                _exceptions.DataConversionWarning if _exceptions else UserWarning,
                stacklevel=4,
            )
            y = y.ravel()
        if y.ndim != 1:
            raise ValueError(f"y: expected 1D, a label for each row, found an array of the shape {y.shape}")
        if y.dtype.kind == "c":
            raise ValueError("Complex data not supported: y")
        return y.tolist()
    if hasattr(y, "tolist"):
        y = y.tolist()
    if isinstance(y, (str, bytes)) or not hasattr(y, "__iter__"):
        raise TypeError(f"y: expected a sequence of labels, found {type(y).__name__}")
    y = list(y)
    if y and all(isinstance(v, (list, tuple)) and len(v) == 1 for v in y):
        y = [v[0] for v in y]
    if any(isinstance(v, (list, tuple, dict)) for v in y):
        raise ValueError("y: expected 1D, a label for each row, found sequences")
    return y


def _classes(labels: List[Any]) -> Tuple[List[Any], array.array]:
    """The different labels in order, and the number of each row's."""
    for i, label in enumerate(labels):
        if isinstance(label, float):
            if math.isnan(label) or math.isinf(label):
                raise ValueError(f"Input y contains NaN or infinity: row {i}")
            if label != math.floor(label):
                raise ValueError(
                    f"Unknown label type: continuous. y: row {i} is {label!r}, expected classes; RFMRegressor is for values"
                )
        elif label is None:
            raise ValueError(f"Input y contains NaN: row {i} is None, expected a class")
    try:
        classes = sorted(set(labels))
        number = {label: k for k, label in enumerate(classes)}
    except TypeError as error:
        raise ValueError(f"y: labels of several types cannot be put in order: {error}") from None
    return classes, array.array("I", [number[label] for label in labels])


def _label_names(classes: List[Any]) -> Tuple[List[str], bool]:
    """Names for the model, and whether they are texts."""
    numbers = all(isinstance(label, (int, float)) and not isinstance(label, bool) for label in classes)
    try:
        names = ["%.15g" % (label or 0) if numbers else str(label) for label in classes]  # -0.0 is 0
    except OverflowError:
        raise ValueError("y: a label is too large a number, expected one that a float can hold") from None
    if len(set(names)) < len(names):
        names, numbers = [repr(label) for label in classes], False
    for name in names:
        _check_name("y: the label", name)
    return names, not numbers


def _check_name(what: str, name: str) -> None:
    """Names are kept as UTF-8 with a zero behind each."""
    if "\0" in name or any("\ud800" <= sign <= "\udfff" for sign in name):
        raise ValueError(f"{what} {name!r} has a zero character or half of a pair, expected none")


def _packed(names: Sequence[str]) -> bytes:
    return b"".join(name.encode("utf-8") + b"\0" for name in names)


def _column_names(data: Any) -> Optional[List[str]]:
    """Of a data frame whose columns all have texts as names."""
    columns = getattr(data, "columns", None)
    if columns is None or not hasattr(columns, "__iter__"):
        return None
    names = list(columns)
    texts = [isinstance(name, str) for name in names]
    if any(texts) and not all(texts):
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{sorted({type(name).__name__ for name in names})} as feature name / column name types. If you want feature "
            "names to be stored and validated, you must convert them all to strings, by using X.columns = "
            "X.columns.astype(str) for example. Otherwise you can remove feature / column names from your input data, or "
            "convert them all to a non-string data type."
        )
    for name in names if all(texts) else ():
        _check_name("X: the column", name)
    return names if names and all(texts) else None


# ---- estimators --------------------------------------------------------------------------------------------------

_FEW_ROWS = 64  # predicted by one thread


class _RFM(*((_base.BaseEstimator,) if _base else ())):  # type: ignore
    """What both estimators are."""

    _classify = False

    # ---- parameters

    def __init__(
        self,
        kernel: str = "auto",
        metric: str = "auto",
        bandwidth: Union[str, float] = "auto",
        ridge: Union[str, float] = "auto",
        iterations: Union[str, int] = "auto",
        exponent: Optional[float] = None,
        depth: Optional[int] = None,
        center: bool = False,
        normalize: str = "none",
        unit_rows: bool = False,
        raw: bool = False,
        method: str = "auto",
        centers: Optional[int] = None,
        rank: Optional[int] = None,
        tune: Optional[str] = None,
        time_limit: Optional[float] = None,
        rows: Optional[int] = None,
        missing: str = "error",
        inputs: str = "auto",
        seed: int = 0,
        threads: Optional[int] = None,
        verbose: bool = False,
    ):
        self._keep(locals())

    def _keep(self, values: Dict[str, Any]) -> None:
        """The parameters of an __init__ as attributes, as scikit-learn wants them: unchecked, by their names."""
        for name in self._names():
            setattr(self, name, values[name])

    @classmethod
    def _names(cls) -> List[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> Dict[str, Any]:
        """The parameters by their names."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> "_RFM":
        """Sets parameters; a name that is none is a ValueError."""
        names = self._names()
        for name in params:
            if name not in names:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {sorted(names)!r}."
                )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        given = [f"{n}={v!r}" for n, v in self.get_params().items() if repr(v) != repr(defaults[n].default)]
        return f"{type(self).__name__}({', '.join(given)})"

    def _words(self) -> List[str]:
        words: List[str] = []
        for name, value in self.get_params().items():
            if name == "verbose" or value is None or value is False:
                continue
            words.append("--" + name.replace("_", "-"))
            if value is True:
                continue
            if isinstance(value, str):
                words.append(value)
                continue
            try:
                number = float(value)
            except (TypeError, ValueError):
                raise TypeError(f"{name}: expected a text or a number, found {value!r}") from None
            words.append(repr(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number))
        return words

    # ---- rows

    def _rows(self, X: Matrix) -> Tuple[_Rows, List[Any]]:
        """X for the library, and what has to stay alive meanwhile."""
        view = _View("X", X, (2,))
        rows, keep = _Rows(), [view]
        if view.shape[0] == 0 or view.shape[1] == 0:
            raise ValueError(_empty("X", *view.shape))
        rows.x = view.array
        return rows, keep

    def _fit_rows(
        self, X: Matrix, y: Vector, sample_weight: Optional[Vector] = None, learn: bool = True
    ) -> Tuple[_Rows, List[Any], Dict[str, Any]]:
        """Rows with targets, what keeps them alive, and what an estimator that learns from them knows."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        names = _column_names(X)
        rows, keep = self._rows(X)
        if names is not None:
            if len(names) != rows.x.cols:
                raise ValueError(f"X has {rows.x.cols} columns and {len(names)} names of columns, expected as many")
            rows.names = _packed(names)
        n = rows.x.rows
        about: Dict[str, Any] = {"n_features_in_": int(rows.x.cols)}
        if names is not None:
            about["feature_names_in_"] = _np.asarray(names, dtype=object) if _np is not None else names
        if self._classify:
            classes, codes = _classes(_labels(y))
            if len(codes) != n:
                raise ValueError(f"Found input variables with inconsistent numbers of samples: X has {n} rows, y {len(codes)}")
            if len(classes) == 1 and learn:
                raise ValueError(f"y has 1 class, {classes[0]!r}; expected at least two classes")
            label_names, texts = _label_names(classes)
            rows.labels, rows.label_count, rows.label_texts = _packed(label_names), len(classes), int(texts)
            about["_label_names"] = label_names
            about["classes_"] = self._class_array(classes, y)
            target = _View("y", codes, (1,))
        else:
            if hasattr(y, "dtype") and getattr(y.dtype, "kind", "") in "SU" and _np is not None:
                y = _np.asarray(y).astype(_np.float64)
            target = _View("y", y, (1, 2))
            if target.shape[0] != n:
                raise ValueError(
                    f"Found input variables with inconsistent numbers of samples: X has {n} rows, y {target.shape[0]}"
                )
            about["_columns"] = len(target.shape) == 2
        rows.y = target.array
        keep.append(target)
        if n == 1 and learn:
            raise ValueError("X has 1 sample (n_samples=1), expected at least 2 to learn from")
        if sample_weight is not None:
            if isinstance(sample_weight, (int, float)):
                sample_weight = array.array("d", [float(sample_weight)]) * n
            weights = _View("sample_weight", sample_weight, (1,))
            if weights.shape[0] != n:
                raise ValueError(f"sample_weight has {weights.shape[0]} numbers, X has {n} rows: expected as many")
            rows.weights = weights.array
            keep.append(weights)
        return rows, keep, about

    @staticmethod
    def _class_array(classes: List[Any], y: Any) -> Any:
        if _np is None:
            return classes
        dtype = getattr(y, "dtype", None)
        made = _np.asarray(classes) if dtype is None else _np.asarray(classes, dtype=dtype)
        return made

    # ---- learning

    def fit(self, X: Matrix, y: Vector, sample_weight: Optional[Vector] = None) -> "_RFM":
        """Learns from rows X (n, d) and their targets y (n); of several values y (n, k).

        What is "auto" is chosen by validation inside the rows. ``sample_weight`` (n): 2 is as two rows.
        """
        rows, keep, about = self._fit_rows(X, y, sample_weight)
        job = _Job(self._words(), bool(self.verbose))
        made = job.run("train", ctypes.byref(rows), ctypes.byref(job.options))
        del keep
        self._take(made.bytes, about, made.notes)
        self.summary_ = made.summary
        self.peak_bytes_ = made.peak
        if self.verbose and sys.stderr is not None:
            for line in made.notes:
                print("rfm:", line, file=sys.stderr)
        return self

    def _take(self, model: bytes, about: Dict[str, Any], notes: List[str]) -> None:
        info = _call("info", model, len(model), None).summary
        for name in ("feature_names_in_", "classes_", "_label_names", "_columns"):
            if hasattr(self, name):
                delattr(self, name)
        self.model_ = model
        self.info_ = info
        self.notes_ = notes
        for name, value in about.items():
            setattr(self, name, value)
        if self._classify:
            place = {name: k for k, name in enumerate(self._label_names)}
            self._order = [place[name] for name in info["classes"]]

    def _fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before using "
                "this estimator."
            )

    # ---- using it

    def _check_names(self, X: Matrix) -> Optional[List[str]]:
        """The names of X's columns; scikit-learn's rules for those that differ."""
        known = getattr(self, "feature_names_in_", None)
        names = _column_names(X)
        own = type(self).__name__
        if known is None:
            if names is not None and "feature_names_in_" not in vars(self):
                warnings.warn(f"X has feature names, but {own} was fitted without feature names", stacklevel=4)
            return None
        known = list(known)
        if names is None:
            warnings.warn(f"X does not have valid feature names, but {own} was fitted with feature names", stacklevel=4)
            return known
        if names != known:
            message = "The feature names should match those that were passed during fit.\n"
            unseen, gone = sorted(set(names) - set(known)), sorted(set(known) - set(names))
            for title, group in (("Feature names unseen at fit time", unseen), ("Feature names seen at fit time, yet now missing", gone)):
                if group:
                    message += f"{title}:\n" + "".join(f"- {name}\n" for name in group[:5]) + ("- ...\n" if len(group) > 5 else "")
            if not unseen and not gone:
                message += "Feature names must be in the same order as they were in fit.\n"
            raise ValueError(message)
        return names

    def _predict(self, X: Matrix, what: str) -> Tuple[Any, int]:
        """The library's array of scores, classes or probabilities, and its rows."""
        self._fitted()
        names = self._check_names(X)
        rows, keep = self._rows(X)
        n = rows.x.rows
        self._check_count(rows.x.cols)
        if names is not None:
            rows.names = _packed(names)
        words = ["--missing", str(self.missing)]
        threads = 1 if n < _FEW_ROWS else self.threads
        if threads is not None:
            words += ["--threads", str(threads)]
        job = _Job(words)
        c, classes = int(self.info_["outputs"]), len(self.info_["classes"]) if self._classify else 0
        count = {"scores": c, "classes": 1, "probabilities": classes}[what]
        room = ((ctypes.c_uint32 if what == "classes" else ctypes.c_double) * (n * count))()
        places = {"scores": (room, None, None), "classes": (None, room, None), "probabilities": (None, None, room)}[what]
        _call("predict", self.model_, len(self.model_), ctypes.byref(rows), ctypes.byref(job.options), c, classes, *places)
        del keep
        return room, n

    @property
    def M_(self) -> Any:
        """The feature matrix M, in standardised features unless ``raw``: (d, d), or (d) if it is diagonal."""
        self._fitted()
        if "metric" not in self.info_:
            raise AttributeError("this model has several machines, each with a metric of its own: there is no M_")
        full, d = self.info_["metric"] == "full", int(self.info_["features"])
        shape = (d, d) if full else (d,)
        room = (ctypes.c_double * (d * d if full else d))()
        _call("metric", self.model_, len(self.model_), d, int(full), room)
        return _given(room, shape)

    @property
    def feature_importances_(self) -> Any:
        """The share of each feature in the trace of M (n_features_in_); of a feature that was left out 0."""
        metric = self.M_
        full = self.info_["metric"] == "full"
        diagonal = [float(row[i]) for i, row in enumerate(metric)] if full else [float(v) for v in metric]
        total = sum(diagonal) or 1.0
        known = getattr(self, "feature_names_in_", None)
        names = list(known) if known is not None else self.info_.get("columns", [])
        if len(names) != self.n_features_in_:
            names = [f"x{j}" for j in range(self.n_features_in_)]
        inputs = self.info_.get("inputs")
        if inputs is None or len(inputs) == self.n_features_in_ and not set(inputs) <= set(names):
            shares = [v / total for v in diagonal]
        else:  # an input may also be a rank, or tell where a column is missing
            place = {name: j for j, name in enumerate(names)}
            shares = [0.0] * self.n_features_in_
            for name, v in zip(inputs, diagonal):
                column = next(k for k in (name, name.rsplit("=", 1)[0], name.rsplit(":", 1)[0]) if k in place)
                shares[place[column]] += v / total
        return _np.asarray(shares) if _np is not None else shares

    def evaluate(self, X: Matrix, y: Vector) -> Dict[str, float]:
        """All measures of the command ``rfm evaluate`` on these rows."""
        self._fitted()
        rows, keep = self._known_rows(X, y)
        job = _Job([])
        made = _call("evaluate", self.model_, len(self.model_), ctypes.byref(rows), ctypes.byref(job.options))
        del keep
        return made.summary

    def _known_rows(self, X: Matrix, y: Vector) -> Tuple[_Rows, List[Any]]:
        """Rows with targets, for a model that there is."""
        names = self._check_names(X)
        rows, keep, _ = self._fit_rows(X, y, learn=False)
        self._check_count(rows.x.cols)
        rows.names = _packed(names) if names is not None else None
        return rows, keep

    def _check_count(self, d: int) -> None:
        if d != self.n_features_in_:
            raise ValueError(
                f"X has {d} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input."
            )

    def compress(
        self,
        X: Matrix,
        y: Vector,
        budget: Optional[int] = None,
        max_loss: Optional[float] = None,
        type: Optional[str] = None,
        features: Union[int, float, None] = None,
        rank: Optional[int] = None,
        centers: Optional[int] = None,
        method: Optional[str] = None,
        polish: Union[int, str, None] = None,
        ridge: Optional[float] = None,
        seed: Optional[int] = None,
    ) -> "_RFM":
        """A smaller model, made from the rows that this one was trained on: a new estimator.

        ``budget``: the best of at most so many bytes; ``max_loss``: the smallest that loses at most so many points.
        The others are those of ``rfm help compress``. ``summary_`` of the result has what was tried.
        """
        self._fitted()
        rows, keep = self._known_rows(X, y)
        words: List[str] = []
        for name, value in (
            ("budget", budget), ("max-loss", max_loss), ("type", type), ("features", features), ("rank", rank),
            ("centers", centers), ("method", method), ("polish", polish), ("ridge", ridge), ("seed", seed),
            ("threads", self.threads),
        ):  # fmt: skip
            if value is not None:
                words += ["--" + name, str(value)]
        job = _Job(words, bool(self.verbose))
        made = job.run("compress", self.model_, len(self.model_), ctypes.byref(rows), ctypes.byref(job.options))
        del keep
        small = self.__class__(**self.get_params())
        about = {
            name: getattr(self, name)
            for name in ("n_features_in_", "feature_names_in_", "classes_", "_label_names", "_columns")
            if hasattr(self, name)
        }
        small._take(made.bytes, about, made.notes)
        small.summary_ = made.summary
        small.peak_bytes_ = made.peak
        return small

    # ---- files

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the model, as ``rfm train`` writes it."""
        self._fitted()
        _write(path, self.model_)

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"]) -> "_RFM":
        """An estimator with a model that ``save``, ``rfm train`` or ``rfm compress`` has written."""
        with open(path, "rb") as file:
            return cls.from_bytes(file.read())

    @classmethod
    def from_bytes(cls, model: bytes) -> "_RFM":
        """The same from the bytes of a model, as ``model_`` has them."""
        model = bytes(model)
        info = _call("info", model, len(model), None).summary
        if "task" not in info or (info["task"] == "classify") != cls._classify:
            raise ValueError(f"a model to {info.get('task', 'do something else')}, expected one for {cls.__name__}")
        columns = info.get("columns")
        about: Dict[str, Any] = {"n_features_in_": int(info["features"]) if columns is None else len(columns)}
        if cls._classify:
            names = info.get("classes") or [str(k) for k in range(max(2, int(info["outputs"])))]
            about["_label_names"] = names
            about["classes_"] = cls._class_array(_values_of(names), None)
        else:
            about["_columns"] = int(info["outputs"]) > 1
        made = cls()
        made._take(model, about, list(info.get("decisions", [])))
        made.summary_ = {}
        return made

    def export(
        self,
        path: Union[str, "os.PathLike[str]", None] = None,
        name: str = "model",
        standalone: bool = False,
        certify: bool = False,
    ) -> str:
        """The model as a C header for firmware, written to ``path`` and returned.

        ``standalone``: a header that needs no library; ``certify``: with it, functions for certificates.
        """
        self._fitted()
        words = ["--name", name] + ["--standalone"] * standalone + ["--certify"] * certify
        job = _Job(words)
        made = _call("export", self.model_, len(self.model_), ctypes.byref(job.options))
        if path is not None:
            _write(path, made.bytes)
        return made.bytes.decode("utf-8", "replace")

    # ---- scikit-learn

    def _more_tags(self) -> Dict[str, Any]:
        return {
            "allow_nan": self.missing != "error",
            "multioutput": not self._classify,
            "_xfail_checks": {
                "check_sample_weights_invariance": "which rows are held out in the search hangs on their number and order",
            },
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        tags.target_tags.required = True
        tags.target_tags.multi_output = not self._classify
        return tags


def _values_of(names: List[str]) -> List[Any]:
    """Labels that are all numbers, as numbers: those that are named so, and stay apart."""
    for kind in (int, float):
        try:
            values = [kind(name) for name in names]
        except ValueError:
            continue
        named = all(name in ("%.15g" % value, repr(value)) for name, value in zip(names, values))
        if named and len(set(values)) == len(names) and all(math.isfinite(value) for value in values):
            return values
    return list(names)


def _write(path: Any, content: bytes) -> None:
    """As a whole or not at all."""
    path = os.fspath(path)
    beside = f"{path}.{os.getpid()}.tmp"
    try:
        with open(beside, "wb") as file:
            file.write(content)
        os.replace(beside, path)
    except BaseException:
        if os.path.exists(beside):
            os.unlink(beside)
        raise


_PARAMETERS = """
    kernel : "auto", "laplace", "gaussian", "general", "l1", "nngp" or "ntk"
    metric : "auto", "full", "diag" or "identity", the form of M
    bandwidth, ridge, iterations : "auto" or a number; a bandwidth "2m" is twice the median distance
    exponent, depth : of the kernels that have one
    center : centre the gradients
    normalize : "none", "max" or "trace", the scale of M
    unit_rows : scale rows to length 1
    raw : take features and targets as they are, without standardisation
    method : "auto", "exact", "large" or "hyperbf"; auto is exact up to 20000 rows
    centers, rank : of the methods large and hyperbf
    tune : what decides between the best settings, by default accuracy or the squared error
    time_limit : seconds of the search
    rows : train on at most so many, drawn with the seed
    missing : "error", or what NaN becomes: "auto", "mean" or "median" of the training rows
    inputs : "auto", "standard", "clipped", "ranks" or "both": how inputs are made of columns of numbers
    seed : same rows, parameters and seed: same model, whatever ``threads`` is
    threads : None for as many as there are processors
    verbose : say on standard error what is done
"""

_ATTRIBUTES = """
    n_features_in_, feature_names_in_ : of X; names if X was a data frame
    M_ : the feature matrix
    feature_importances_ : the share of each feature in the trace of M
    model_ : the bytes of the model; info_ : what is in it; summary_ : of the training; notes_ : what was decided
"""


class RFMClassifier(*((_base.ClassifierMixin,) if _base else ()), _RFM):  # type: ignore
    __doc__ = f"""A Recursive Feature Machine that tells classes apart.

    Parameters are the options of ``rfm train``; ``rfm help train`` says more of each.

    Parameters
    ----------{_PARAMETERS}    balance : all classes count the same
    coverage : of sets of labels; the model keeps their threshold for ``rfm predict --sets``

    Attributes
    ----------
    classes_ : the labels in order{_ATTRIBUTES}"""

    _classify = True
    _estimator_type = "classifier"

    def __init__(
        self,
        kernel: str = "auto",
        metric: str = "auto",
        bandwidth: Union[str, float] = "auto",
        ridge: Union[str, float] = "auto",
        iterations: Union[str, int] = "auto",
        exponent: Optional[float] = None,
        depth: Optional[int] = None,
        center: bool = False,
        normalize: str = "none",
        unit_rows: bool = False,
        raw: bool = False,
        method: str = "auto",
        centers: Optional[int] = None,
        rank: Optional[int] = None,
        tune: Optional[str] = None,
        time_limit: Optional[float] = None,
        rows: Optional[int] = None,
        missing: str = "error",
        inputs: str = "auto",
        seed: int = 0,
        threads: Optional[int] = None,
        verbose: bool = False,
        balance: bool = False,
        coverage: Optional[float] = None,
    ):
        self._keep(locals())

    def predict(self, X: Matrix) -> Any:
        """The label of each row (n)."""
        found, _ = self._predict(X, "classes")
        if _np is not None:
            return self.classes_[_np.asarray(self._order)[_np.frombuffer(found, dtype=_np.uint32)]]
        return [self.classes_[self._order[k]] for k in found]

    def decision_function(self, X: Matrix) -> Any:
        """The scores: (n, classes), or (n) of two classes, above 0 for the second."""
        found, n = self._predict(X, "scores")
        c = int(self.info_["outputs"])
        if c == 1:
            scores = _given(found, (n,))
            if self._order == [0, 1]:
                return scores
            return -scores if _np is not None else [-s for s in scores]
        return self._in_order(_given(found, (n, c)))

    def predict_proba(self, X: Matrix) -> Any:
        """The probability of each class (n, classes), calibrated on rows that were held out in training."""
        found, n = self._predict(X, "probabilities")
        return self._in_order(_given(found, (n, len(self._order))))

    def _in_order(self, columns: Any) -> Any:
        """Columns by the model's classes become columns by classes_."""
        if self._order == list(range(len(self._order))):
            return columns
        back = [self._order.index(k) for k in range(len(self._order))]
        if _np is not None:
            return columns[:, back]
        return [[row[k] for k in back] for row in columns]

    def score(self, X: Matrix, y: Vector, sample_weight: Optional[Vector] = None) -> float:
        """The share of rows whose label is right."""
        truth, found = _labels(y), list(self.predict(X))
        weights = _weights_of(sample_weight, len(found))
        if len(truth) != len(found):
            raise ValueError(f"y has {len(truth)} labels, X has {len(found)} rows")
        return sum(w for w, t, f in zip(weights, truth, found) if t == f) / sum(weights)


def _weights_of(sample_weight: Optional[Vector], n: int) -> List[float]:
    if sample_weight is None or isinstance(sample_weight, (int, float)):
        sample_weight = [1.0 if sample_weight is None else sample_weight] * n
    weights = [float(w) for w in sample_weight]
    if len(weights) != n:
        raise ValueError(f"sample_weight has {len(weights)} numbers, X has {n} rows")
    if not all(math.isfinite(w) and w >= 0 for w in weights) or not sum(weights) > 0:
        raise ValueError("sample_weight: expected finite numbers that are not negative, not all of them 0")
    return weights


class RFMRegressor(*((_base.RegressorMixin,) if _base else ()), _RFM):  # type: ignore
    __doc__ = f"""A Recursive Feature Machine that predicts values, one or several for each row.

    Parameters are the options of ``rfm train``; ``rfm help train`` says more of each.

    Parameters
    ----------{_PARAMETERS}
    Attributes
    ----------{_ATTRIBUTES}"""

    _estimator_type = "regressor"

    def predict(self, X: Matrix) -> Any:
        """The value of each row (n), or (n, k) if y was so."""
        found, n = self._predict(X, "scores")
        c = int(self.info_["outputs"])
        return _given(found, (n, c) if self._columns else (n,))

    def score(self, X: Matrix, y: Vector, sample_weight: Optional[Vector] = None) -> float:
        """R^2; of several values its mean."""
        found = self.predict(X)
        truth = y.tolist() if hasattr(y, "tolist") else list(y)
        weights = _weights_of(sample_weight, len(found))
        if len(truth) != len(found):
            raise ValueError(f"y has {len(truth)} rows, X has {len(found)}")
        if not self._columns:
            found, truth = [[v] for v in found], [v if isinstance(v, (list, tuple)) else [v] for v in truth]
        total, scores = sum(weights), []
        for k in range(len(truth[0])):
            mean = sum(w * t[k] for w, t in zip(weights, truth)) / total
            off = sum(w * (t[k] - float(f[k])) ** 2 for w, t, f in zip(weights, truth, found))
            around = sum(w * (t[k] - mean) ** 2 for w, t in zip(weights, truth))
            scores.append(1 - off / around if around > 0 else float(off == 0))
        return sum(scores) / len(scores)
