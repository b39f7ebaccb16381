"""Network and tiny model beside each other over ten seeds: seeds.py [--folds] FOLDER [MODELS]

Two models of one size are trained ten times each. Which one is ahead in a table of single models is luck when test rows
are few; mean and spread over seeds say more. Nothing is chosen here: sizes and settings are those of README.md.

    seeds.py FOLDER [MODELS]          on the test rows of SET.split; MODELS (build/peers) has SET.rfm, the model at full
                                      size that teaches ours, as run leaves it there
    seeds.py --folds FOLDER [MODELS]  on all rows: SET.folds has the fold of every row, 0 to 4. Each fold is predicted
                                      by models that were trained on the other four, ours by a teacher of these rows,
                                      made anew and left in MODELS

FOLDER has SET.csv. Needs scikit-learn (tools/setup peers), build/rfm (make) and OMP_NUM_THREADS=1 for one thread."""
import json
import os
import re
import subprocess
import sys

import numpy as np

import train

SEEDS = 10
FOLDS = 5
TRIES = 4  # trainings of rfm compress, of which it keeps that with the least loss
PAIRS = (  # set, (hidden, weight decay), (rank, centres)
    ("gesture_digits", (4, 0.1), (4, 14)),
    ("gesture_digits", (8, 0.1), (8, 10)),
    ("digits", (12, 0.1), (8, 45)),
)


def entropy(layers, x, y):
    scores = train.Float(layers, x, None, None).scores(x, None).astype(float)
    scores -= scores.max(1, keepdims=True)
    return (np.log(np.exp(scores).sum(1)) - scores[np.arange(len(y)), y]).mean()


def networks(folder, name, split, hidden, alpha, tries=1):
    """Bytes; the share of test rows that each seed has right, in %. With `tries`: of so many trainings that with the
    least loss on the training rows."""
    (x, y, xi), (tx, ty, txi), classes, unit = train.read(folder, name, split)
    right = []
    for seed in range(SEEDS):
        trained = [train.fit_mlp(x, y, hidden, alpha, 1 + seed + SEEDS * i) for i in range(tries)]
        net = train.Integers(min(trained, key=lambda layers: entropy(layers, x, y)), x, xi, unit)
        right.append(100 * (net.scores(tx, txi).argmax(1) == ty).mean())
    return train.Integers.size(x.shape[1], hidden, classes), right


def header_bytes(small):
    """Of the constants that a prediction reads, in the header of rfm export --standalone."""
    header = small + ".h"
    subprocess.run(["build/rfm", "export", small, "--standalone", "-o", header], stderr=subprocess.DEVNULL, check=True)
    with open(header) as f:
        arrays = re.findall(r"static const u?int(\d+)_t \w+\[(\d+)\]", f.read())
    return sum(int(bits) // 8 * int(count) for bits, count in arrays)


def ours(folder, name, split, teacher, rank, centers):
    """Likewise, of models that `teacher` teaches; bytes are those of the header."""
    right, small = [], teacher + ".tiny"
    for seed in range(SEEDS):
        out = subprocess.run(
            ["build/rfm", "compress", teacher, "--data", "%s/%s.csv" % (folder, name), "--split", split,
             "--type", "tiny", "--rank", str(rank), "--centers", str(centers), "--seed", str(100 * seed),
             "--quiet", "--json", "-o", small],
            stdout=subprocess.PIPE, check=True).stdout
        right.append(100 * json.loads(out)["accuracy"])
    return header_bytes(small), right


def on_split(folder, models):
    print("| set | model | bytes | test, %: mean of ten seeds | least | most |\n|---|---|---:|---:|---:|---:|")
    for name, (hidden, alpha), (rank, centers) in PAIRS:
        split = "%s/%s.split" % (folder, name)
        for label, (size, right) in (
            ("network of 8 bits, %d hidden" % hidden, networks(folder, name, split, hidden, alpha)),
            ("RFM, tiny: %d centres, rank %d" % (centers, rank),
             ours(folder, name, split, "%s/%s.rfm" % (models, name), rank, centers)),
        ):
            print("| %s | %s | %d | %.2f +- %.2f | %.2f | %.2f |"
                  % (name, label, size, np.mean(right), np.std(right, ddof=1), min(right), max(right)), flush=True)


def folds_of(folder, models, name):
    """For each fold: its split, and a teacher of the other rows."""
    found = []
    with open("%s/%s.folds" % (folder, name)) as f:
        fold_of = [int(line) for line in f]
    for fold in range(FOLDS):
        split, teacher = ("%s/%s-fold%d.%s" % (models, name, fold, end) for end in ("split", "rfm"))
        with open(split, "w") as f:
            f.write("".join("%d\n" % (of == fold) for of in fold_of))
        subprocess.run(["build/rfm", "train", "%s/%s.csv" % (folder, name), "--split", split, "--quiet", "-o", teacher],
                       stdout=subprocess.DEVNULL, check=True)
        found.append((split, teacher))
    return found


def on_folds(folder, models):
    print("| set | model | bytes | five folds, %: mean of ten seeds | least | most | the tiny model is ahead by |")
    print("|---|---|---:|---:|---:|---:|---:|")
    folds = {}
    for name, (hidden, alpha), (rank, centers) in PAIRS:
        if name not in folds:
            folds[name] = folds_of(folder, models, name)
        lines = []
        for label, train_all in (
            ("RFM, tiny: %d centres, rank %d" % (centers, rank),
             lambda split, teacher: ours(folder, name, split, teacher, rank, centers)),
            ("network of 8 bits, %d hidden" % hidden,
             lambda split, teacher: networks(folder, name, split, hidden, alpha)),
            ("the same, least loss of %d" % TRIES,
             lambda split, teacher: networks(folder, name, split, hidden, alpha, TRIES)),
        ):
            sizes, right = zip(*(train_all(*fold) for fold in folds[name]))
            lines.append((label, max(sizes), np.array(right)))  # (folds, seeds)
        for label, size, right in lines:
            by_fold, each = (lines[0][2] - right).mean(1), right.mean(0)
            error = by_fold.std(ddof=1) / np.sqrt(FOLDS)
            ahead = "" if right is lines[0][2] else " %+.2f +- %.2f" % (by_fold.mean(), error)
            print("| %s | %s | %d | %.2f +- %.2f | %.2f | %.2f |%s |"
                  % (name, label, size, each.mean(), each.std(ddof=1), each.min(), each.max(), ahead), flush=True)


def main():
    given = [a for a in sys.argv[1:] if a != "--folds"]
    folder, models = given[0], given[1] if len(given) > 1 else "build/peers"
    os.makedirs(models, exist_ok=True)
    (on_folds if "--folds" in sys.argv else on_split)(folder, models)


if __name__ == "__main__":
    main()
