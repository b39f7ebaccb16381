"""Tests of tools/python/rfm.py. Usage: check.py BUILD OUT [--without numpy,sklearn]; the last line has the sums."""

import array
import contextlib
import ctypes
import io
import os
import pickle
import random
import signal
import struct
import subprocess
import sys
import threading
import time
import traceback
import tracemalloc
import warnings

build, out = sys.argv[1], sys.argv[2]
hidden = sys.argv[sys.argv.index("--without") + 1].split(",") if "--without" in sys.argv else []
for name in hidden:
    sys.modules[name] = None  # an import of it fails
root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
os.environ["RFM_LIBRARY"] = os.path.join(build, "librfm.so")
sys.path.insert(0, os.path.join(root, "tools", "python"))
import rfm

try:
    import numpy as np
except ImportError:
    np = None
try:
    import sklearn
except ImportError:
    sklearn = None

FIXED = dict(kernel="laplace", metric="full", bandwidth="1m", ridge=1e-3, iterations=2)


class Skip(Exception):
    pass


def raises(kinds, words, function, *arguments, **named):
    """The function raises one of the kinds, and its message has the words."""
    try:
        function(*arguments, **named)
    except kinds as error:
        assert words in str(error), f"expected {words!r} in {str(error)!r}"
        return
    except Exception as error:
        raise AssertionError(f"expected {kinds}, found {type(error).__name__}: {error}")
    raise AssertionError(f"expected {kinds} with {words!r}, nothing was raised")


def table(n=60, d=4, seed=1):
    draw = random.Random(seed)
    X = [[struct.unpack("f", struct.pack("f", draw.gauss(0, 1 + j)))[0] for j in range(d)] for _ in range(n)]
    y = [x[0] * x[1 % d] + draw.gauss(0, 0.1) for x in X]
    return X, y


def as_list(values):
    return values.tolist() if hasattr(values, "tolist") else list(values)


def command(*words):
    done = subprocess.run([os.path.join(build, "rfm"), *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write_csv(name, X, y, weights=None, names=None):
    """As an estimator has it: the weights before the targets."""
    path = os.path.join(out, name)
    targets = [t if isinstance(t, list) else [t] for t in y]
    head = names or [f"x{j}" for j in range(len(X[0]))]
    head = head + ["sample_weight"] * (weights is not None)
    head += ["y"] if len(targets[0]) == 1 else [f"y{k}" for k in range(len(targets[0]))]
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join(head) + "\n")
        for i, row in enumerate(X):
            cells = [repr(float(v)) for v in row] + ([repr(weights[i])] if weights is not None else [])
            file.write(",".join(cells + [v if isinstance(v, str) else repr(v) for v in targets[i]]) + "\n")
    return path


# ---- the same numbers as the command -----------------------------------------------------------------------------


def same_as_command(estimator, X, y, words, weights=None):
    """The model to the last byte, and what predict prints."""
    path = write_csv("same.csv", X, y, weights)
    model = os.path.join(out, "same.rfm")
    words = list(words) + ["--missing", "error", "--task", "classify" if hasattr(estimator, "balance") else "regress"]
    if weights is not None:
        words += ["--weights", "sample_weight"]
    command("train", path, "-o", model, "--quiet", *words)
    estimator.fit(X, y, *([weights] if weights is not None else []))
    with open(model, "rb") as file:
        theirs = file.read()
    ours = estimator.model_
    if "--weights" not in words:  # how weights were given is on record
        assert ours == theirs, f"{len(ours)} and {len(theirs)} bytes"
    scores = command("predict", model, path, "--scores", "--quiet").splitlines()
    if hasattr(estimator, "classes_"):
        found = as_list(estimator.decision_function(X))
        labels = command("predict", model, path, "--quiet").splitlines()
        assert labels == [str(v) for v in as_list(estimator.predict(X))]
        proba = command("predict", model, path, "--proba", "--quiet").splitlines()[1:]
        for line, p in zip(proba, as_list(estimator.predict_proba(X))):
            assert max(abs(float(a) - b) for a, b in zip(line.split(","), p)) < 1.1e-9
            assert abs(sum(p) - 1) < 1e-12
    else:
        found = as_list(estimator.predict(X))
    for line, row in zip(scores, found):
        row = row if isinstance(row, list) else [row]
        assert all(v in ("%.9g" % w, "%.15g" % w) for v, w in zip(line.split(","), row)), (line, row)


def test_command_regression():
    X, y = table()
    same_as_command(rfm.RFMRegressor(), X, y, [])


def test_command_fixed():
    X, y = table(90, 6, 2)
    words = ["--kernel", "laplace", "--metric", "full", "--bandwidth", "1m", "--ridge", "0.001", "--iterations", "2"]
    same_as_command(rfm.RFMRegressor(**FIXED), X, y, words)
    same_as_command(rfm.RFMRegressor(threads=1, raw=True, **FIXED), X, y, words + ["--raw"])


def test_command_classes():
    X, y = table(70, 3, 3)
    same_as_command(rfm.RFMClassifier(), X, ["above" if v > 0 else "below" for v in y], [])
    labels = [(v > 0.5) + (v > -0.5) + 9 for v in y]  # 9, 10, 11: in the order of numbers, not of texts
    same_as_command(rfm.RFMClassifier(balance=True, **FIXED), X, labels, ["--balance"] + [w for k, v in FIXED.items() for w in ("--" + k, str(v))])


def test_command_weights():
    X, y = table(50, 3, 4)
    same_as_command(rfm.RFMRegressor(**FIXED), X, y, [w for k, v in FIXED.items() for w in ("--" + k, str(v))], [1.0 + (i % 3) for i in range(50)])


def test_command_targets():
    X, y = table(50, 3, 5)
    words = [w for k, v in FIXED.items() for w in ("--" + k, str(v))]
    same_as_command(rfm.RFMRegressor(**FIXED), X, [[v, v * v] for v in y], words + ["--targets", "2"])


def test_command_far_from_zero():
    """Columns that float would lose: an offset is taken out as double."""
    X, y = table(60, 3, 6)
    X = [[x[0] + 1e9, x[1], x[2] * 1e-3 + 1e5] for x in X]
    same_as_command(rfm.RFMRegressor(**FIXED), X, [v + 1e9 for v in y], [w for k, v in FIXED.items() for w in ("--" + k, str(v))])


def test_command_files():
    """Each reads what the other has written; exports and compressed models are the same bytes."""
    X, y = table(60, 4, 7)
    labels = ["a" if v > 0 else "b" for v in y]
    path, model = write_csv("files.csv", X, labels), os.path.join(out, "files.rfm")
    ours = rfm.RFMClassifier(**FIXED).fit(X, labels)
    ours.save(model)
    assert command("predict", model, path, "--quiet").split() == as_list(ours.predict(X))
    assert "accuracy" in command("evaluate", model, path, "--quiet")
    command("export", model, "-o", model + ".h", "--name", "some", "--standalone", "--quiet")
    with open(model + ".h") as file:
        assert file.read() == ours.export(standalone=True, name="some")
    command("compress", model, "--data", path, "--type", "i8", "--centers", "10", "-o", model + ".small", "--quiet")
    small = ours.compress(X, labels, type="i8", centers=10)
    with open(model + ".small", "rb") as file:
        assert file.read() == small.model_
    loaded = rfm.RFMClassifier.load(model + ".small")
    assert as_list(loaded.predict(X)) == as_list(small.predict(X)) == command("predict", model + ".small", path, "--quiet").split()
    command("train", write_csv("own.csv", X, y, names=["p", "q", "r", "s"]), "-o", model, "--quiet", "--iterations", "1")
    loaded = rfm.RFMRegressor.load(model)
    assert len(as_list(loaded.feature_importances_)) == 4 and loaded.n_features_in_ == 4
    printed = command("predict", model, os.path.join(out, "own.csv"), "--quiet").split()
    assert [("%.9g" % v) for v in as_list(loaded.predict(X))] == printed
    assert abs(loaded.evaluate(X, y)["r2"] - loaded.score(X, y)) < 1e-5


# ---- arrays ------------------------------------------------------------------------------------------------------


def flat(X, letter):
    numbers = array.array(letter, [v for row in X for v in row])
    return memoryview(numbers).cast("B").cast(letter, (len(X), len(X[0])))


def test_buffers():
    """The same bits from lists, arrays of several types, and anything that NumPy makes of them."""
    X, y = table()
    want = rfm.RFMRegressor(**FIXED).fit(X, y)
    model, values = want.model_, as_list(want.predict(X))
    forms = [tuple(tuple(r) for r in X), flat(X, "f"), flat(X, "d"), flat(X, "f").toreadonly(),
             memoryview(bytes(flat(X, "f"))).cast("f", (60, 4)), ((ctypes.c_float * 4) * 60)(*[tuple(r) for r in X])]
    targets = [y] * len(forms)
    targets[1], targets[2] = array.array("d", y), tuple(y)
    if np is not None:
        A = np.array(X, dtype=np.float32)
        wide = np.zeros((120, 12), dtype=np.float32)
        wide[::2, 1::3] = A
        record = np.zeros(60, dtype=[("c", "u1"), ("x", "f4", 4)])  # not aligned
        record["x"] = A
        backwards = A[::-1, ::-1].copy()
        frozen = A.copy()
        frozen.setflags(write=False)
        forms += [A, np.asfortranarray(A), A.astype("f8"), A.astype(">f4"), A.astype(np.longdouble), wide[::2, 1::3],
                  record["x"], backwards[::-1, ::-1], frozen, A.astype(object), np.broadcast_to(A, (1, 60, 4))[0]]
        targets += [np.array(y)] * 11
    for form, target in zip(forms, targets):
        found = rfm.RFMRegressor(**FIXED).fit(form, target)
        assert found.model_ == model, type(form)
        assert as_list(found.predict(form)) == values


def test_integers():
    draw = random.Random(3)
    X = [[draw.randrange(100) for _ in range(3)] for _ in range(40)]
    y = [x[0] - x[1] for x in X]
    want = rfm.RFMRegressor(**FIXED).fit(X, y).model_
    for letter in "bBhHiIlLqQ":
        assert rfm.RFMRegressor(**FIXED).fit(flat(X, letter), y).model_ == want, letter
    if np is not None:
        assert rfm.RFMRegressor(**FIXED).fit(np.array(X, dtype=np.float16), np.array(y, dtype=np.int8)).model_ == want
        both = np.array(X) > 50
        assert rfm.RFMRegressor(**FIXED).fit(both, y).model_ == rfm.RFMRegressor(**FIXED).fit(both.astype(float), y).model_


def test_nothing_is_copied():
    """The library reads a buffer where it is, whatever its type and steps."""
    X, _ = table()
    for form in (flat(X, "f"), flat(X, "d"), flat([[int(v) for v in r] for r in X], "i")):
        address = ctypes.addressof(ctypes.c_char.from_buffer(form.obj))
        assert rfm._View("X", form, (2,)).address == address
    if np is None:
        return
    A = np.array(X, dtype=np.float32)
    for form in (A, np.asfortranarray(A), A[::-2, ::2], A.astype("f8").T.copy().T, A.astype("i8")):
        assert rfm._View("X", form, (2,)).address == form.ctypes.data
    # Beside the arena and the model: one standardised copy of the rows as float, of any type, and nothing in Python.
    n, d = 300, 3000
    for kind in ("f4", "f8", "i4"):
        big = (np.random.default_rng(0).standard_normal((n, d)) * 100).astype(kind)
        tracemalloc.start()
        model = rfm.RFMRegressor(**dict(FIXED, metric="identity", iterations=0)).fit(big, big[:, 0])
        python = tracemalloc.get_traced_memory()[1] - len(model.model_)
        tracemalloc.stop()
        own = model.peak_bytes_ - int(model.summary_["arena_bytes"]) - len(model.model_)
        if os.environ.get("TIMES"):
            print(f"{kind}: X {big.nbytes} bytes; Python {python}, library {own} beside arena and model")
        assert python < 0.3 * n * d * 4, python
        assert own < 1.3 * n * d * 4, own


def test_random_arrays():
    """Shapes, types and steps at random: the same as a list of the same numbers."""
    if np is None:
        raise Skip("NumPy")
    draw = np.random.default_rng(5)
    for case in range(60):
        n, d = int(draw.integers(2, 30)), int(draw.integers(1, 6))
        kind = draw.choice(["f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?", ">f8", "f2"])
        steps = tuple(int(s) for s in draw.choice([-3, -2, -1, 1, 2, 3], 2))
        room = (draw.standard_normal((n * 3, d * 3)) * 9).astype(kind)
        A = room[:: steps[0], :: steps[1]][:n, :d]
        A = A if draw.integers(2) else A.copy(order="F")
        y = draw.standard_normal(A.shape[0])
        one = rfm.RFMRegressor(**FIXED).fit(A, y)
        two = rfm.RFMRegressor(**FIXED).fit(A.astype(float).tolist(), y.tolist())
        assert one.model_ == two.model_, (case, kind, A.shape, steps)
        assert as_list(one.predict(A)) == as_list(two.predict(A.astype(float).tolist()))


# ---- what is refused ---------------------------------------------------------------------------------------------


def test_bad_rows():
    X, y = table(20, 3)
    fit = rfm.RFMRegressor(**FIXED).fit
    raises(ValueError, "2D", fit, X[0], y)
    raises(ValueError, "0 sample", fit, [], [])
    raises(ValueError, "0 sample", fit, flat(X, "d")[:0] if np is None else np.zeros((0, 3)), [])
    raises(ValueError, "0 feature", fit, [[]] * 5, y[:5])
    raises(ValueError, "row 2 has another length", fit, X[:2] + [[1.0]] + X[3:], y)
    raises(ValueError, "inconsistent", fit, X, y[:-1])
    raises(ValueError, "1 sample", fit, X[:1], y[:1])
    raises(ValueError, "requires y", fit, X, None)
    raises(ValueError, "expected a number, found 'a'", fit, [["a", 1, 2]] * 20, y)
    raises(TypeError, "dict", fit, {"a": 1}, y)
    raises(TypeError, "row 1, column 0", fit, [[1, 2], [{}, 2]] + [[1, 2]] * 18, y)
    raises(TypeError, "expected an array", fit, 3, y)
    raises(TypeError, "expected an array", fit, "text", y)
    raises(ValueError, "Complex", fit, [[1j, 2]] * 20, y)
    raises(ValueError, "2D", fit, b"12345678", y)
    for bad, word in ((float("nan"), "NaN"), (float("inf"), "inf"), (1e300, "1e+300"), (None, "NaN")):
        Z = [list(r) for r in X]
        Z[7][1] = bad
        raises(ValueError, "row 7, column 1", fit, Z, y)
        raises(ValueError, word, fit, Z, y)
        raises(ValueError, "row 7", fit, X, y[:7] + [bad] + y[8:])
    good = rfm.RFMRegressor(**FIXED).fit(X, y)
    before = good.model_
    raises(ValueError, "row 3, column 2", good.predict, X[:3] + [[0, 0, float("nan")]])
    raises(ValueError, "row 0, column 0", good.predict, [[float("inf"), 0, 0]])
    raises(ValueError, "X has 2 features, but RFMRegressor is expecting 3 features", good.predict, [[1, 2]])
    raises(ValueError, "2D", good.predict, X[0])
    raises(ValueError, "0 sample", good.predict, [])
    raises(ValueError, "NaN", good.fit, [[float("nan")] * 3] * 20, y)
    assert good.model_ == before  # what failed has changed nothing
    for weights, words in (([1] * 19, "sample_weight has 19"), ([-1] * 20, "weight"), ([0] * 20, "weight"), ([float("nan")] * 20, "weight"), ([[1]] * 20, "sample_weight")):
        raises(ValueError, words, fit, X, y, weights)


def test_bad_labels():
    X, y = table(20, 3)
    fit = rfm.RFMClassifier(**FIXED).fit
    raises(ValueError, "1 class", fit, X, [1] * 20)
    raises(ValueError, "Unknown label type: continuous", fit, X, y)
    raises(ValueError, "NaN", fit, X, [float("nan")] + [1.0] * 19)
    raises(ValueError, "several types", fit, X, [1, "a"] * 10)
    raises(ValueError, "zero character", fit, X, ["a\0", "b"] * 10)
    raises(ValueError, "half of a pair", fit, X, ["\ud800", "b"] * 10)
    raises(ValueError, "too large", fit, X, [10**400, 1] * 10)
    raises(ValueError, "inconsistent", fit, X, [0, 1])
    raises((TypeError, ValueError), "y", fit, X, 3)
    raises(ValueError, "1D", fit, X, [[0, 1]] * 20)
    raises(ValueError, "1000 classes", fit, [[float(i)] for i in range(1100)], list(range(1100)))


def test_bad_parameters():
    X, y = table(20, 3)
    for named, words in (
        (dict(kernel="cubic"), "kernel"),
        (dict(ridge=-1), "ridge"),
        (dict(ridge="much"), "ridge"),
        (dict(iterations=1000), "iterations"),
        (dict(iterations=1.5), "iterations"),
        (dict(metric=""), "metric"),
        (dict(seed=-1), "seed"),
        (dict(tune="auc"), "tune"),
        (dict(threads=5000), "threads"),
        (dict(missing="zero"), "missing"),
        (dict(bandwidth=float("nan")), "bandwidth"),
    ):
        raises(ValueError, words, rfm.RFMRegressor(**{**FIXED, **named}).fit, X, y)
        try:
            rfm.RFMRegressor(**{**FIXED, **named}).fit(X, y)
        except ValueError as error:
            assert "--" not in str(error), error
    raises(TypeError, "kernel", rfm.RFMRegressor(kernel=[1]).fit, X, y)
    raises(ValueError, "Invalid parameter 'colour'", rfm.RFMRegressor().set_params, colour=1)


def test_not_fitted():
    X, y = table(20, 3)
    for model in (rfm.RFMClassifier(), rfm.RFMRegressor()):
        for use in (lambda m: m.predict(X), lambda m: m.M_, lambda m: m.feature_importances_, lambda m: m.save("x"),
                    lambda m: m.compress(X, y), lambda m: m.export(), lambda m: m.evaluate(X, y), lambda m: m.score(X, y)):
            raises(rfm.NotFittedError, "not fitted", use, model)
    raises(rfm.NotFittedError, "not fitted", rfm.RFMClassifier().predict_proba, X)
    assert issubclass(rfm.NotFittedError, ValueError) and issubclass(rfm.NotFittedError, AttributeError)


def test_bad_models():
    X, y = table(30, 3)
    model = rfm.RFMRegressor(**FIXED).fit(X, y)
    raises(ValueError, "RFMClassifier", rfm.RFMClassifier.from_bytes, model.model_)
    raises(ValueError, "", rfm.RFMRegressor.from_bytes, b"")
    raises(ValueError, "", rfm.RFMRegressor.from_bytes, b"no model at all")
    raises(ValueError, "", rfm.RFMRegressor.from_bytes, model.model_[:-1])
    raises(OSError, "", rfm.RFMRegressor.load, os.path.join(out, "there", "is", "none"))
    raises(OSError, "", model.save, os.path.join(out, "there", "is", "none"))
    for place in range(0, len(model.model_), 97):  # a byte that differs is found
        broken = bytearray(model.model_)
        broken[place] ^= 0x40
        raises(ValueError, "", rfm.RFMRegressor.from_bytes, bytes(broken))
    raises(ValueError, "budget", model.compress, X, y, budget=3)
    raises(ValueError, "name", model.export, None, "not a name")


def test_another_library():
    """One of another version, one of something else, one that is none."""
    source = os.path.join(out, "other.c")
    with open(source, "w") as file:
        file.write("#include <stdint.h>\n#ifdef NUMBERS\nconst uint32_t *rfm_tool_abi(void);\n"
                   "const uint32_t *rfm_tool_abi(void) { static const uint32_t a[] = {NUMBERS}; return a; }\n#endif\nint x;\n")
    own = rfm._library.rfm_tool_abi()
    right = [own[i] for i in range(own[0] + 1)]
    cases = [(right[:3] + [right[3] + 1] + right[4:], "minor version"), ([right[0] - 1] + right[1:], "another version"),
             (right[:-1] + [right[-1] + 8], "result is"), (right[:1] + [99] + right[2:], "ABI is 99"), (None, "not the library")]
    for k, (numbers, words) in enumerate(cases):
        path = os.path.join(out, f"other{k}.so")
        define = [] if numbers is None else ["-DNUMBERS=" + ",".join(map(str, numbers))]
        subprocess.run(["cc", "-shared", "-fPIC", *define, source, "-o", path], check=True)
        done = subprocess.run([sys.executable, "-S", "-c", "import rfm"], capture_output=True, text=True,
                              env={**os.environ, "RFM_LIBRARY": path, "PYTHONPATH": os.path.join(root, "tools", "python")})
        assert done.returncode != 0 and "ImportError" in done.stderr and words in done.stderr, done.stderr
    done = subprocess.run([sys.executable, "-S", "-c", "import rfm"], capture_output=True, text=True,
                          env={**os.environ, "RFM_LIBRARY": source, "PYTHONPATH": os.path.join(root, "tools", "python")})
    assert "cannot be loaded" in done.stderr, done.stderr


# ---- estimators --------------------------------------------------------------------------------------------------


def test_labels():
    X, y = table(60, 3)
    kinds = [[bool(v > 0) for v in y], [("ja" if v > 0 else "n\xe4") for v in y], [int(v > 0) * 7 - 3 for v in y],
             [float(v > 0) for v in y], ["NA" if v > 0 else "" for v in y], ["1" if v > 0 else "1.0" for v in y],
             [10**17 + (v > 0) for v in y], ["x\ny" if v > 0 else 'q"' for v in y]]
    for labels in kinds:
        model = rfm.RFMClassifier(**FIXED).fit(X, labels)
        assert as_list(model.classes_) == sorted(set(labels)), labels[0]
        found = as_list(model.predict(X))
        assert set(found) <= set(labels) and type(found[0]) is type(labels[0])
        right = sum(a == b for a, b in zip(found, labels)) / 60
        assert right > 0.9 and abs(model.score(X, labels) - right) < 1e-12
        proba = as_list(model.predict_proba(X))
        scores = as_list(model.decision_function(X))
        for label, p, s in zip(found, proba, scores):
            assert p[as_list(model.classes_).index(label)] == max(p)
            assert (s > 0) == (label == as_list(model.classes_)[1])
        assert model.evaluate(X, labels)["accuracy"] == right
        again = rfm.RFMClassifier.from_bytes(model.model_)
        assert all(a == b or str(a) == str(b) for a, b in zip(as_list(again.predict(X)), found)), labels[0]
    zeros = rfm.RFMClassifier(**FIXED).fit(X, [1.0 if v > 0 else -0.0 for v in y])
    assert as_list(zeros.classes_) == [0.0, 1.0]


def test_many_classes():
    X = [[float(i // 2), float((i * 7) % 11)] for i in range(2000)]
    labels = [i // 2 for i in range(2000)]
    model = rfm.RFMClassifier(kernel="laplace", metric="identity", bandwidth=0.5, ridge=1e-4, iterations=0).fit(X, labels)
    assert len(as_list(model.classes_)) == 1000
    assert model.score(X[:50], labels[:50]) > 0.9


def test_small_and_large():
    """2 rows, 1 column, equal columns, numbers near the ends of float."""
    model = rfm.RFMRegressor(**FIXED).fit([[0.0], [1.0]], [0.0, 1.0])
    assert abs(as_list(model.predict([[0.0]]))[0]) < 0.2
    model = rfm.RFMClassifier().fit([[0.0], [1.0]], ["a", "b"])
    assert as_list(model.predict([[0.0], [1.0]])) == ["a", "b"]
    X, y = table(30, 3)
    model = rfm.RFMRegressor(**FIXED).fit([r + [5.0] for r in X], y)
    assert as_list(model.feature_importances_)[3] < 1e-6
    for size in (1e-30, 1e30):
        model = rfm.RFMRegressor(**FIXED).fit([[v * size for v in r] for r in X], [v * size for v in y])
        assert model.score([[v * size for v in r] for r in X], [v * size for v in y]) > 0.9
    try:  # refused or right, never NaN
        model = rfm.RFMRegressor(**FIXED).fit([[v * 1e38 for v in r] for r in X], [v * 1e38 for v in y])
    except ValueError:
        return
    assert all(abs(v) < 3.5e38 for v in as_list(model.predict([[v * 1e38 for v in r] for r in X])))


def test_metric():
    X, y = table(80, 5, 9)
    y = [x[1] ** 2 for x in X]
    model = rfm.RFMRegressor(**FIXED).fit(X, y)
    M = as_list(model.M_)
    assert len(M) == 5 and len(M[0]) == 5
    assert max(abs(M[i][j] - M[j][i]) for i in range(5) for j in range(5)) < 1e-5 * M[1][1]
    path = os.path.join(out, "metric.rfm")
    model.save(path)
    printed = [[float(v) for v in line.split(",")] for line in command("info", path, "--metric").splitlines()]
    assert all(float("%.9g" % a) == b for r, s in zip(M, printed) for a, b in zip(r, s))
    shares = as_list(model.feature_importances_)
    assert abs(sum(shares) - 1) < 1e-9 and shares.index(max(shares)) == 1
    diag = rfm.RFMRegressor(**{**FIXED, "metric": "diag"}).fit(X, y)
    assert len(as_list(diag.M_)) == 5 and not isinstance(as_list(diag.M_)[0], list)
    small = diag.compress(X, y, features=2)
    assert as_list(small.feature_importances_)[0] == 0 and len(as_list(small.feature_importances_)) == 5
    assert len(as_list(small.predict(X))) == 80
    integers = model.compress(X, y, type="i16")
    raises(ValueError, "integers", lambda: integers.M_)


def test_weights():
    """A weight of 2 is as two rows: the fit minimises the same sum."""
    X, y = table(40, 3)
    fixed = dict(FIXED, raw=True, bandwidth=2, metric="identity", iterations=0)
    far = [10.0 * (i < 5) for i in range(40)]
    light = rfm.RFMRegressor(**fixed).fit(X, [a + b for a, b in zip(y, far)], [0.001 if i < 5 else 1.0 for i in range(40)])
    heavy = rfm.RFMRegressor(**fixed).fit(X, [a + b for a, b in zip(y, far)], [1000.0 if i < 5 else 1.0 for i in range(40)])
    off = lambda m: sum(abs(p - a) for p, a in zip(as_list(m.predict(X))[:5], y))
    assert off(light) < off(heavy)
    one = rfm.RFMRegressor(**FIXED).fit(X, y, [1.0] * 40)
    none = rfm.RFMRegressor(**FIXED).fit(X, y)
    assert max(abs(a - b) for a, b in zip(as_list(one.predict(X)), as_list(none.predict(X)))) < 1e-5
    assert abs(one.score(X, y, 2) - one.score(X, y)) < 1e-12
    for bad in ([0.0] * 40, [-1.0] + [1.0] * 39, [float("nan")] + [1.0] * 39, [float("inf")] * 40):
        raises(ValueError, "not negative", one.score, X, y, bad)


def test_missing():
    X, y = table(60, 3)
    Z = [[float("nan") if (i + j) % 9 == 0 else v for j, v in enumerate(r)] for i, r in enumerate(X)]
    model = rfm.RFMRegressor(missing="mean", **FIXED).fit(Z, y)
    assert all(v == v for v in as_list(model.predict(Z)))
    assert len(as_list(model.feature_importances_)) == 3
    path, file = write_csv("missing.csv", Z, y), os.path.join(out, "missing.rfm")
    model.save(file)
    assert [("%.9g" % v) for v in as_list(model.predict(Z))] == command("predict", file, path, "--quiet").split()


def test_words_for_missing():
    """A model's own words for a missing cell are forgotten with each call, and so is what was decided."""
    X, y = table(60, 3)
    path, file = write_csv("words.csv", X, y), os.path.join(out, "words.rfm")
    with open(path, encoding="utf-8") as text:
        lines = text.read().splitlines()
    lines[3] = "absent" + lines[3][lines[3].index(","):]
    with open(path, "w", encoding="utf-8") as text:
        text.write("\n".join(lines) + "\n")
    words = [w for k, v in FIXED.items() for w in ("--" + k, str(v))]
    command("train", path, "-o", file, "--quiet", "--na", "absent", "--task", "regress", *words)
    model = rfm.RFMRegressor.load(file)
    assert any("1 missing cell" in line for line in model.notes_)
    first = [model.evaluate(X, y) for _ in range(5)]
    assert all(same_but_times(one, first[0]) for one in first)
    assert "decisions" not in rfm.RFMRegressor(**FIXED).fit(X, y).info_
    raises(ValueError, "X", rfm.RFMRegressor(**FIXED).fit, [[1.0], [float("inf")]], [1.0, 2.0])
    assert "decisions" not in rfm.RFMRegressor(**FIXED).fit(X, y).info_


def same_but_times(a, b):
    return {k: v for k, v in a.items() if k != "seconds"} == {k: v for k, v in b.items() if k != "seconds"}


def test_inputs():
    """Ranks of columns: the same as the command, one importance for each column, columns in their order."""
    X, y = table(80, 3)
    X = [[2.718 ** (4 * v) for v in row] for row in X]
    for way in ("clipped", "ranks", "both"):
        words = ["--kernel", "laplace", "--metric", "full", "--bandwidth", "1m", "--ridge", "0.001", "--iterations", "2"]
        model = rfm.RFMRegressor(inputs=way, **FIXED)
        same_as_command(model, X, y, words + ["--inputs", way])
        shares = as_list(model.feature_importances_)
        assert len(shares) == 3 and abs(sum(shares) - 1) < 1e-6
        again = rfm.RFMRegressor.from_bytes(model.model_)
        assert again.n_features_in_ == 3 and as_list(again.predict(X)) == as_list(model.predict(X))
        assert as_list(again.feature_importances_) == shares
        small = model.compress(X, y, type="i16", centers=60)
        assert small.score(X, y) > 0.5
        assert "model_inputs" in model.export(standalone=True)
    model = rfm.RFMRegressor(inputs="normal", **FIXED)
    raises(ValueError, "inputs", model.fit, X, y)


def test_parameters():
    model = rfm.RFMClassifier(kernel="l1", seed=3)
    assert model.get_params()["kernel"] == "l1" and model.get_params()["ridge"] == "auto"
    assert repr(model) == "RFMClassifier(kernel='l1', seed=3)"
    assert model.set_params(ridge=0.1) is model and model.ridge == 0.1
    X, y = table(30, 2)
    a = rfm.RFMRegressor(seed=1).fit(X, y)
    b = pickle.loads(pickle.dumps(a))
    assert b.model_ == a.model_ and as_list(b.predict(X)) == as_list(a.predict(X))
    again = rfm.RFMRegressor(seed=1, threads=1).fit(X, y)
    assert again.model_ == a.model_  # whatever the number of threads


def test_data_frame():
    """Names of columns: they are in the model, and have to be the same again."""
    X, y = table(40, 3)

    class Frame:
        def __init__(self, rows, columns):
            self.rows, self.columns = rows, columns

        def __array__(self, dtype=None, copy=None):
            return np.array(self.rows, dtype=dtype)

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, i):
            return self.rows[i]

    names = ["caf\xe9", "y", "customer_id"]
    model = rfm.RFMRegressor(**FIXED).fit(Frame(X, names), y)
    assert list(model.feature_names_in_) == names and model.info_["inputs"] == names
    assert as_list(model.predict(Frame(X, names))) == as_list(rfm.RFMRegressor(**FIXED).fit(X, y).predict(X))
    raises(ValueError, "should match", model.predict, Frame(X, ["a", "y", "customer_id"]))
    raises(ValueError, "same order", model.predict, Frame(X, names[::-1]))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.predict(X)
    assert "valid feature names" in str(said[0].message)
    raises(TypeError, "string names", model.fit, Frame(X, ["a", 1, 2]), y)
    raises(ValueError, "2 names", model.fit, Frame(X, ["a", "b"]), y)
    raises(ValueError, "4 names", model.fit, Frame(X, ["a", "b", "c", "d"]), y)
    raises(ValueError, "zero character", model.fit, Frame(X, ["a\0", "b", "c"]), y)


def test_threads():
    """Fits and predictions in several threads at once give what they give alone."""
    tables = [table(50, 3, seed) for seed in range(4)]
    alone = [rfm.RFMRegressor(threads=2, iterations=1).fit(*t) for t in tables]
    found = [None] * 8

    def work(k):
        X, y = tables[k % 4]
        if k == 5:
            with contextlib.suppress(ValueError):
                rfm.RFMRegressor(kernel="none").fit(X, y)
        model = rfm.RFMRegressor(threads=2, iterations=1).fit(X, y)
        found[k] = model.model_ == alone[k % 4].model_ and as_list(alone[k % 4].predict(X)) == as_list(model.predict(X))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert found == [True] * 8


def test_progress():
    X, y = table(60, 4)
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        rfm.RFMRegressor(verbose=True).fit(X, y)
    assert "trying settings" in said.getvalue()


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_failures_keep_no_memory():
    """A fit that is canceled in the middle, or fails, leaves nothing behind."""
    if not os.path.exists("/proc/self/statm"):
        raise Skip("no /proc")
    X, y = table(400, 20)
    rows = flat(X, "f")
    targets = array.array("d", y)

    def cancel(after):
        rows_of, keep, _ = rfm.RFMRegressor()._fit_rows(rows, targets)
        job = rfm._Job(["--threads", "2"])
        calls = []

        def stop(arg, label, share):
            calls.append(share)
            return len(calls) > after

        job.options.progress = rfm._Progress(stop)
        raises(ValueError, "canceled", rfm._call, "train", ctypes.byref(rows_of), ctypes.byref(job.options))

    def attempt(k):
        if k % 2:
            cancel(k % 3)
        else:
            raises(ValueError, "row 399", rfm.RFMRegressor().fit, rows, y[:-1] + [float("nan")])

    for k in range(6):
        attempt(k)
    before = resident()
    for k in range(30):
        attempt(k)
    assert resident() - before < 4e6, resident() - before  # one table of the search is 8e5 bytes
    assert threading.active_count() == 1


def test_interrupt():
    """Ctrl-C ends a fit soon, and the estimator is as it was."""
    program = (
        "import sys, random, time, signal, os, threading; sys.path.insert(0, sys.argv[1]); import rfm\n"
        "X = [[random.random() for _ in range(30)] for _ in range(3000)]; y = [r[0] * r[1] for r in X]\n"
        "m = rfm.RFMRegressor(bandwidth='1m', ridge=1e-3, kernel='laplace').fit(X[:20], y[:20]); old = m.model_\n"
        "m.set_params(bandwidth='auto', ridge='auto', kernel='auto')\n"
        "threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "t = time.time()\n"
        "try: m.fit(X, y); print('not interrupted')\n"
        "except KeyboardInterrupt:\n"
        "    took = time.time() - t - 0.5; time.sleep(0.05)\n"
        "    print('interrupted', m.model_ == old, sum(t.name.startswith('rfm') for t in threading.enumerate()))\n"
        "    print('after %.1f s' % took, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-S", "-c", program, os.path.join(root, "tools", "python")], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["interrupted", "True", "0"], done.stdout + done.stderr
    if os.environ.get("TIMES"):
        print("interrupted", done.stderr.strip())


def test_check_estimator():
    if sklearn is None or np is None:
        raise Skip("scikit-learn")
    from sklearn.base import clone
    from sklearn.exceptions import SkipTestWarning
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        warnings.simplefilter("ignore", FutureWarning)
        for kind in (rfm.RFMClassifier, rfm.RFMRegressor):
            check_estimator(kind(**FIXED))
            check_estimator(kind(kernel="laplace", bandwidth="1m", iterations=0))  # the ridge is searched
    X, y = table(60, 3)
    pipe = make_pipeline(StandardScaler(), rfm.RFMRegressor(**FIXED))
    assert len(cross_val_score(pipe, np.array(X), np.array(y), cv=3)) == 3
    grid = GridSearchCV(rfm.RFMRegressor(**FIXED), {"ridge": [1e-4, 1e-1]}, cv=3).fit(np.array(X), np.array(y))
    assert grid.best_params_["ridge"] == 1e-4
    assert clone(pipe.steps[1][1]).get_params() == rfm.RFMRegressor(**FIXED).get_params()


def main():
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    only = os.environ.get("ONLY", "")
    for name, test in list(globals().items()):
        if not name.startswith("test_") or only not in name:
            continue
        began = time.time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                test()
            counts["passed"] += 1
        except Skip as reason:
            counts["skipped"] += 1
            print(f"skipped: {name}: no {reason}")
        except BaseException:
            counts["failed"] += 1
            print(f"FAILED: {name}{' without ' + ' '.join(hidden) if hidden else ''}")
            traceback.print_exc(file=sys.stdout)
        if os.environ.get("TIMES"):
            print(f"{time.time() - began:6.2f} s {name}")
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return counts["failed"] > 0


if __name__ == "__main__":
    sys.exit(main())
