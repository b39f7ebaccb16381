#!/usr/bin/python3
"""Log-loss on the test rows: ours beside scikit-learn's calibrated SVM, as a Markdown table.

    tools/accuracy/calibrated_svm.py FOLDER [SET...]

FOLDER has SET.csv, the target in the last column, and SET.split. The SVM has standardised inputs; C and gamma are
chosen by five folds of the training rows. Its probabilities come from CalibratedClassifierCV with five folds; in the
last column from SVC(probability=True).
MODELS is passed to `rfm train --models`; 1 without it.
"""
import csv
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC


def read(folder, name):
    with open(os.path.join(folder, name + ".csv"), newline="") as file:
        rows = list(csv.reader(file))[1:]
    with open(os.path.join(folder, name + ".split")) as file:
        split = np.array([int(line) for line in file])
    x = np.array([[float(cell) for cell in row[:-1]] for row in rows])
    return x, np.array([row[-1] for row in rows]), split


def svm_losses(x, y, split):
    train, test = split == 0, split == 1
    d = x.shape[1]
    grid = {"svc__C": [1, 10, 100], "svc__gamma": [0.25 / d, 1 / d, 4 / d]}
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=5).fit(x[train], y[train])
    best = search.best_params_
    models = [CalibratedClassifierCV(search.best_estimator_, method=method, cv=5) for method in ("sigmoid", "isotonic")]
    models.append(make_pipeline(StandardScaler(), SVC(C=best["svc__C"], gamma=best["svc__gamma"], probability=True,
                                                      random_state=0)))
    for model in models:
        model.fit(x[train], y[train])
        yield log_loss(y[test], model.predict_proba(x[test]), labels=model.classes_)


def our_loss(folder, name):
    with tempfile.NamedTemporaryFile(suffix=".rfm") as out:
        path = os.path.join(folder, name)
        said = subprocess.run(
            ["build/rfm", "train", path + ".csv", "--split", path + ".split", "-o", out.name, "--json", "--quiet",
             "--models", os.environ.get("MODELS", "1")], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(said)["log_loss"]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print("| set | rfm | SVM, sigmoid | SVM, isotonic | SVC(probability) | test rows |\n|---|---|---|---|---|---|")
    for name in sys.argv[2:] or ["digits", "sonar", "breast_cancer"]:
        x, y, split = read(sys.argv[1], name)
        losses = [our_loss(sys.argv[1], name), *svm_losses(x, y, split)]
        print("| %s | %s | %d |" % (name, " | ".join("%.3f" % loss for loss in losses), np.sum(split == 1)), flush=True)


main()
