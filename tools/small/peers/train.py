"""Trains the peers of a small model and writes them as C headers: train.py FOLDER SET OUT TARGET...

Reads FOLDER/SET.csv (features, then the class 0..c-1) and FOLDER/SET.split (0 train, 1 test). For every target (accuracy in %) and every
kind of peer, the smallest model in bytes is taken whose accuracy over five folds of the training rows reaches the target (above 2,000 rows:
on a fifth of them, held out once), and then trained on all training rows. If none does, it is the one with the best accuracy there, and
that is said. The test rows choose nothing.

    forest    random forest of hard votes, integer thresholds of 8 or 16 bits        forest.c
    mlp       one hidden layer of ReLU, float                                         mlp.c
    mlp_i8    the same with 8-bit weights, 16-bit activations, 32-bit sums            mlp_i8.c

All but mlp take what a sensor gives, 16-bit integers: x 2^e, rounded, with the largest e <= 15 that fits, or x itself if all of it is integers.
OUT/KIND-TARGET then has
    model.h       the constants of the model
    expected.txt  the class of every test row and its scores, computed here, not in C
    rows.txt      the test rows as KIND takes them
    rows.h        some of them, spread over the test rows, with the expected class
    facts         name=value: what the table needs
"""
import os
import sys
import warnings

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier

SAMPLE = 16  # rows that the boards run
TREES = 100
HIDDEN = (4, 8, 12, 16, 20, 24, 32, 48, 64, 96)  # multiples of 4, as mlp_i8.c wants them
MANY = 2000  # training rows; above, the smallest networks are left out, and one fold is enough
MANY_HIDDEN = 16
ALPHAS = (0.01, 0.1)


def split_folds(y):
    return list(StratifiedKFold(5, shuffle=True, random_state=0).split(np.zeros(len(y)), y))[: 1 if len(y) > MANY else 5]


def share(right, folds):
    return 100 * right / sum(len(held) for _, held in folds)


# ---- C ----------------------------------------------------------------------------------------------------------------


def c_array(kind, name, values, per_line=16):
    """A const array; `values` are numbers or strings of C."""
    text = [v if isinstance(v, str) else repr(int(v)) for v in values]
    lines = [", ".join(text[i : i + per_line]) for i in range(0, len(text), per_line)]
    return "static const %s %s[%d] = {\n    %s\n};\n" % (kind, name, len(text), ",\n    ".join(lines))


def c_float(v):
    return repr(float(np.float32(v))) + "f"


# ---- forest -------------------------------------------------------------------------------------------------------------
# A node is a decision; a leaf is no node but a class in the place of its parent's child. Within a tree, children are 8-bit numbers: of
# a node below 256 - classes, from there on of a class. Trees are grown on the integers that the C code sees, so a threshold rounded down
# decides every integer as the tree does.


class Forest:
    def __init__(self, bits, depth, leaf):
        self.bits, self.depth, self.leaf = bits, depth, leaf

    def fit(self, xi, y, classes):
        self.classes = classes
        self.shift = 0
        if self.bits == 8:  # the top 8 bits of what occurs in training
            while max(xi.max() >> self.shift, ~(xi.min() >> self.shift)) > 127:
                self.shift += 1
        forest = RandomForestClassifier(TREES, max_depth=self.depth, min_samples_leaf=self.leaf, random_state=1)
        self.trees = [e.tree_ for e in forest.fit(xi >> self.shift, y).estimators_]
        return self

    def votes(self, xi):
        """(trees, rows): the class that each tree says, by scikit-learn's own walk."""
        rows = (xi >> self.shift).astype(np.float32)
        return np.array([t.value[t.apply(rows), 0].argmax(1) for t in self.trees])

    def scores_all(self, xi):
        """(trees, rows, classes): votes of the first 1, 2, ... trees."""
        return np.cumsum(self.votes(xi)[:, :, None] == np.arange(self.classes), 0)

    def nodes(self):
        return np.array([t.node_count - t.n_leaves for t in self.trees])

    def fits(self):
        return self.nodes().max() <= 256 - self.classes and max(t.feature.max() for t in self.trees) < 256

    def node_bytes(self):
        return 4 if self.bits == 8 else 6

    def bytes_all(self):
        """(trees): of the nodes, and 2 bytes for the start of each tree."""
        return np.cumsum(self.nodes()) * self.node_bytes() + 2 * np.arange(1, TREES + 1)

    def header(self, count):
        nodes, starts = [], []
        for t in self.trees[:count]:
            order = [i for i in range(t.node_count) if t.children_left[i] >= 0]
            number = {node: k for k, node in enumerate(order)}

            def child(i):
                return number[i] if i in number else 256 - self.classes + int(t.value[i, 0].argmax())

            starts.append(len(nodes))
            if not order:  # a tree that is one leaf: both ways lead to it
                nodes.append("{0, 0, %d, %d}" % (child(0), child(0)))
            for i in order:
                threshold = int(np.floor(t.threshold[i]))
                nodes.append("{%d, %d, %d, %d}" % (threshold, t.feature[i], child(t.children_left[i]), child(t.children_right[i])))
        assert len(nodes) < 65536
        return (
            "#define CLASSES %d\n#define TREES %d\n#define SHIFT %d\ntypedef int%d_t threshold_t;\n"
            % (self.classes, count, self.shift, self.bits)
            + "typedef struct {\n    threshold_t threshold;\n    uint8_t feature, left, right;\n} node;\n"
            + c_array("uint16_t", "model_starts", starts)
            + c_array("node", "model_nodes", nodes, 6)
        )


def search_forest(xi, y, classes, highest):
    """All candidates: (bytes, accuracy over the folds in %, settings). Thresholds of 16 bits only if those of 8 do not reach the highest target,
    and have lost something."""
    found = []
    folds = split_folds(y)
    for bits in (8, 16):
        if bits == 16 and (np.abs(xi).max() < 128 or max(f[1] for f in found) >= highest):
            break
        for depth in (5, 6, 8, 10, None):
            for leaf in (1, 2, 3, 5):
                right = np.zeros(TREES)
                whole = Forest(bits, depth, leaf).fit(xi, y, classes)
                if not whole.fits():
                    continue
                for fit, held in folds:
                    p = Forest(bits, depth, leaf).fit(xi[fit], y[fit], classes).scores_all(xi[held]).argmax(2)
                    right += (p == y[held]).sum(1)
                for k in range(4, TREES):
                    found.append((whole.bytes_all()[k], share(right[k], folds), (bits, depth, leaf, k + 1)))
    return found


# ---- MLP ----------------------------------------------------------------------------------------------------------------
# One scale for all inputs, which are of one kind in both sets: a rarely used pixel is not blown up, and 8-bit weights stay good. Mean and scale
# are folded into the first layer, so that the C code takes raw numbers.


def fit_mlp(x, y, hidden, alpha, seed=1):
    mean = x.mean(0)
    scale = np.sqrt(((x - mean) ** 2).mean())
    net = MLPClassifier((hidden,), alpha=alpha, batch_size=64, learning_rate_init=3e-3, max_iter=400, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        net.fit((x - mean) / scale, y)
    w1 = net.coefs_[0].T / scale
    w1[:, x.std(0) == 0] = 0  # an input that never varied has learned nothing
    return w1, net.intercepts_[0] - w1 @ mean, net.coefs_[1].T, net.intercepts_[1]


class Float:
    name = "mlp"

    def __init__(self, layers, x, xi, unit):
        self.layers = [a.astype(np.float32) for a in layers]

    def scores(self, x, xi):
        w1, b1, w2, b2 = self.layers
        return np.maximum(x.astype(np.float32) @ w1.T + b1, 0) @ w2.T + b2

    def header(self):
        w1, b1, w2, b2 = self.layers
        names = ("model_w1", "model_b1", "model_w2", "model_b2")
        return (
            "#define PEER_FLOAT 1\n#define INPUTS %d\n#define HIDDEN %d\n#define CLASSES %d\n" % (w1.shape[1], w1.shape[0], w2.shape[0])
            + "".join(c_array("float", n, [c_float(v) for v in a.ravel()], 8) for n, a in zip(names, (w1, b1, w2, b2)))
        )

    @staticmethod
    def size(d, h, c):
        return 4 * (d * h + h + h * c + c)


class Integers:
    """h_o = min(max(b1_o + sum_j w1_oj x_j, 0) >> shift_o, 32767), scores_k = b2_k + sum_o w2_ko h_o.

    w1 has a scale a row, and ReLU lets it pass through to the columns of w2, which has one scale: nothing is multiplied again. shift_o
    is the least with which the training rows fit 16 bits, with half as much again to spare."""

    name = "mlp_i8"

    def __init__(self, layers, x, xi, unit):
        w1, b1, w2, b2 = layers
        w1 = w1 / unit  # xi = x unit
        row = np.abs(w1).max(1) / 127
        row[row == 0] = 1
        self.w1 = np.rint(w1 / row[:, None]).astype(np.int64)
        # What rounding w1 has shifted the mean by goes into the bias.
        self.b1 = np.rint(b1 / row + (w1 / row[:, None] - self.w1) @ xi.mean(0)).astype(np.int64)
        top = 1.5 * np.maximum((xi @ self.w1.T + self.b1).max(0), 1)
        self.shift = np.maximum(np.ceil(np.log2(top / 32768)), 0).astype(np.int64)
        columns = w2 * (row * 2.0**self.shift)
        step = np.abs(columns).max() / 127
        self.w2 = np.rint(columns / step).astype(np.int64)
        self.b2 = np.rint(b2 / step + (columns / step - self.w2) @ self.hidden(xi).mean(0)).astype(np.int64)
        for w, b in ((self.w1, self.b1), (self.w2, self.b2)):  # no input of 16 bits makes a sum overflow
            assert (np.abs(w).sum(1) * 32768 + np.abs(b)).max() < 2**31

    def hidden(self, xi):
        return np.minimum(np.maximum(xi @ self.w1.T + self.b1, 0) >> self.shift, 32767)

    def scores(self, x, xi):
        return self.hidden(xi) @ self.w2.T + self.b2

    def header(self):
        def pairs(w):  # 0 2 1 3: SXTB16 of a word gives 0 and 1, of the word turned by 8 bits 2 and 3
            return w.reshape(-1, 2, w.shape[1] // 4, 4)[..., [0, 2, 1, 3]].transpose(0, 2, 1, 3).ravel()

        (h, d), c = self.w1.shape, self.w2.shape[0]
        aligned = "__attribute__((aligned(4))) int8_t"
        return (
            "#define INPUTS %d\n#define HIDDEN %d\n#define CLASSES %d\n" % (d, h, c)
            + c_array(aligned, "model_w1", pairs(self.w1))
            + c_array("int32_t", "model_b1", self.b1)
            + c_array("uint8_t", "model_shift", self.shift)
            + c_array(aligned, "model_w2", pairs(self.w2))
            + c_array("int32_t", "model_b2", self.b2)
        )

    @staticmethod
    def size(d, h, c):
        return d * h + h * c + 5 * h + 4 * c


def search_mlp(x, xi, unit, y, classes, highest):
    """Both kinds from the same trainings; larger layers until both have reached the highest target."""
    found = {Float: [], Integers: []}
    folds = split_folds(y)
    for hidden in HIDDEN:
        if len(y) > MANY and hidden < MANY_HIDDEN:
            continue
        for alpha in ALPHAS:
            right = {kind: 0 for kind in found}
            for fit, held in folds:
                layers = fit_mlp(x[fit], y[fit], hidden, alpha)
                for kind in found:
                    p = kind(layers, x[fit], xi[fit], unit).scores(x[held], xi[held]).argmax(1)
                    right[kind] += (p == y[held]).sum()
            for kind in found:
                found[kind].append((kind.size(x.shape[1], hidden, classes), share(right[kind], folds), (hidden, alpha)))
        if all(max(a for _, a, _ in list_) >= highest for list_ in found.values()):
            break
    return found


# ---- all ------------------------------------------------------------------------------------------------------------------


def choose(found, target):
    """Smallest that reaches the target, the more accurate of two of a size; else the most accurate."""
    reached = [f for f in found if f[1] >= target]
    if reached:
        return min(reached, key=lambda f: (f[0], -f[1])), True
    return min(found, key=lambda f: (-f[1], f[0])), False


def write(out, header, rows, scores, y, facts):
    os.makedirs(out, exist_ok=True)
    expected = scores.argmax(1)  # the first of equals
    as_c = c_float if rows.dtype == np.float32 else lambda v: str(int(v))
    as_text = (lambda v: float(v).hex()) if rows.dtype == np.float32 else lambda v: str(int(v))
    pick = np.linspace(0, len(rows) - 1, SAMPLE).astype(int)
    with open(out + "/model.h", "w") as f:
        f.write("/* Written by train.py. */\n" + header)
    with open(out + "/rows.h", "w") as f:
        f.write("#define ROWS %d\n" % SAMPLE + c_array("uint8_t", "expected", expected[pick]))
        f.write("static const __attribute__((aligned(4))) peer_input rows[ROWS][%d] = {\n" % rows.shape[1])
        f.write(",\n".join("    {%s}" % ", ".join(as_c(v) for v in rows[i]) for i in pick) + "\n};\n")
    with open(out + "/rows.txt", "w") as f:
        f.write("%d %d\n" % rows.shape)
        for row in rows:
            f.write(" ".join(as_text(v) for v in row) + "\n")
    with open(out + "/expected.txt", "w") as f:
        for k, row in zip(expected, scores):
            f.write("%d %s\n" % (k, " ".join("%.9g" % v if scores.dtype == np.float32 else str(v) for v in row)))
    facts["right"] = (expected == y).sum()
    facts["tested"] = len(y)
    with open(out + "/facts", "w") as f:
        f.write("".join("%s='%s'\n" % pair for pair in facts.items()))
    print("%s: %s" % (os.path.basename(out), ", ".join("%s %s" % pair for pair in facts.items())), file=sys.stderr, flush=True)


def read(folder, name, split=None):
    """x, y, xi of the training rows, then of the test rows; classes; unit. xi = x unit are the integers that C gets.
    `split` is a file like SET.split, which is read without it."""
    table = np.loadtxt("%s/%s.csv" % (folder, name), delimiter=",", skiprows=1)
    split = np.loadtxt(split or "%s/%s.split" % (folder, name))
    x, y = table[:, :-1], table[:, -1].astype(int)
    exponent = 0
    if (x != np.rint(x)).any():
        exponent = min(15, int(np.floor(np.log2(32767 / np.abs(x[split == 0]).max()))))
    unit = 2.0**exponent
    xi = np.clip(np.rint(x * unit), -32768, 32767).astype(np.int64)
    train, test = ((x[split == use], y[split == use], xi[split == use]) for use in (0, 1))
    return train, test, y.max() + 1, unit


def main():
    folder, name, out = sys.argv[1:4]
    targets = [float(t) for t in sys.argv[4:]]
    (x, y, xi), (tx, ty, txi), classes, unit = read(folder, name)

    found = search_forest(xi, y, classes, max(targets))
    for target in targets:
        (size, folds, (bits, depth, leaf, count)), reached = choose(found, target)
        forest = Forest(bits, depth, leaf).fit(xi, y, classes)
        facts = {
            "label": "random forest",
            "settings": "%d trees, %s, leaves of at least %d, %d-bit thresholds, %d decisions"
            % (count, "any depth" if depth is None else "depth %d" % depth, leaf, bits, forest.nodes()[:count].sum()),
            "size": size, "folds": "%.1f" % folds, "reached": int(reached), "target": "%g" % target,
        }
        write("%s/forest-%g" % (out, target), forest.header(count), txi, forest.scores_all(txi)[count - 1], ty, facts)

    for kind, list_ in search_mlp(x, xi, unit, y, classes, max(targets)).items():
        for target in targets:
            (size, folds, (hidden, alpha)), reached = choose(list_, target)
            net = kind(fit_mlp(x, y, hidden, alpha), x, xi, unit)
            facts = {
                "label": "MLP, float" if kind is Float else "MLP, 8 bits",
                "settings": "%d hidden, weight decay %g" % (hidden, alpha),
                "size": size, "folds": "%.1f" % folds, "reached": int(reached), "target": "%g" % target,
            }
            rows = tx.astype(np.float32) if kind is Float else txi
            write("%s/%s-%g" % (out, kind.name, target), net.header(), rows, net.scores(tx, txi), ty, facts)


if __name__ == "__main__":
    main()
