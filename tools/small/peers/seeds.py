"""Network and tiny model beside each other over ten seeds, on the test rows: seeds.py FOLDER [MODELS]

Two models of one size are trained ten times each. Which one is ahead in a table of single models is luck when test rows are few;
mean and spread over seeds say more. Nothing is chosen here: sizes and settings are those of the tables in README.md.

FOLDER has SET.csv and SET.split; MODELS (build/peers) has SET.rfm, the model at full size that teaches ours. Needs scikit-learn
(tools/setup peers) and build/rfm (make)."""
import json
import os
import subprocess
import sys

import numpy as np

import train

SEEDS = 10
PAIRS = (  # set, (hidden, weight decay), (rank, centres)
    ("gesture_digits", (4, 0.1), (4, 14)),
    ("gesture_digits", (8, 0.1), (6, 20)),
    ("digits", (12, 0.1), (8, 45)),
)


def networks(folder, name, hidden, alpha):
    (x, y, xi), (tx, ty, txi), classes, unit = train.read(folder, name)
    right = []
    for seed in range(1, SEEDS + 1):
        net = train.Integers(train.fit_mlp(x, y, hidden, alpha, seed), x, xi, unit)
        right.append(100 * (net.scores(tx, txi).argmax(1) == ty).mean())
    return train.Integers.size(x.shape[1], hidden, classes), right


def ours(folder, models, name, rank, centers):
    right = []
    for seed in range(SEEDS):
        out = subprocess.run(
            ["build/rfm", "compress", "%s/%s.rfm" % (models, name), "--data", "%s/%s.csv" % (folder, name),
             "--split", "%s/%s.split" % (folder, name), "--type", "tiny", "--rank", str(rank), "--centers", str(centers),
             "--seed", str(100 * seed), "--quiet", "--json", "-o", os.devnull],
            stdout=subprocess.PIPE, check=True).stdout
        facts = json.loads(out)
        right.append(100 * facts["accuracy"])
    return facts["model_bytes"], right


def main():
    folder, models = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "build/peers"
    print("| set | model | bytes | test, %: mean of ten seeds | least | most |\n|---|---|---:|---:|---:|---:|")
    for name, (hidden, alpha), (rank, centers) in PAIRS:
        for label, (size, right) in (
            ("network of 8 bits, %d hidden" % hidden, networks(folder, name, hidden, alpha)),
            ("RFM, tiny: %d centres, rank %d" % (centers, rank), ours(folder, models, name, rank, centers)),
        ):
            print("| %s | %s | %d | %.2f +- %.2f | %.2f | %.2f |"
                  % (name, label, size, np.mean(right), np.std(right, ddof=1), min(right), max(right)), flush=True)


if __name__ == "__main__":
    main()
