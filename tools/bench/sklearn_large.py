"""The peers of `rfm-bench --what large`: Nystroem and ridge regression, and boosted trees, from scikit-learn; boosted
trees of XGBoost, where it is installed.

    sklearn_large.py FILE TYPE task n d centers json|text

FILE has rows of d inputs and a target, n to train on and then those to test, of TYPE f4 or f8. Nystroem: an RBF kernel,
gamma by the median distance, ridge the best of three on the last tenth of the training rows. Each method is a process:
seconds by the clock and of the processors, and the most memory that it had, rows included.
"""

import json
import os
import resource
import sys
import time

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge

path, kind, task, n, d, centers, form = sys.argv[1:]
n, d, centers = int(n), int(d), int(centers)
rows = np.fromfile(path, kind).reshape(-1, d + 1)
x, y, x_test, y_test = rows[:n, :d], rows[:n, d], rows[n:, :d], rows[n:, d]


def r2(truth, f):
    return 1 - ((truth - f) ** 2).mean() / truth.var()


def show(method, seconds, cpu, score):
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if form == "json":
        print(json.dumps({"what": "large", "method": method, "task": task, "n": n, "d": d,
                          "threads": int(os.environ["OMP_NUM_THREADS"]), "seconds": round(seconds, 3),
                          "cpu_seconds": round(cpu, 3), "r2": round(float(score), 5), "memory_bytes": most}), flush=True)
    else:
        print(f"large    {task:8s} n {n:8d}  {method:18s} {seconds:8.2f} s {cpu:8.2f} s of processors  R^2 {score:.4f}"
              f"  memory {most / 1e6:.0f} MB", flush=True)


def nystroem():
    some = x[np.random.default_rng(0).choice(n, min(n, 500), replace=False)]
    gamma = 0.5 / np.median(((some[:, None] - some[None]) ** 2).sum(axis=2))
    features = Nystroem(gamma=gamma, n_components=min(centers, n), random_state=0)
    f = features.fit_transform(x).astype(x.dtype)
    part = n - n // 10
    tried = [(r2(y[part:], Ridge(alpha=a).fit(f[:part], y[:part]).predict(f[part:])), a) for a in (1e-3, 1e-1, 10)]
    ridge = Ridge(alpha=max(tried)[1]).fit(f, y)
    return ridge.predict(features.transform(x_test).astype(x.dtype))


def boosting(iterations):
    return HistGradientBoostingRegressor(max_iter=iterations, random_state=0).fit(x, y).predict(x_test)


def xgboost():
    from xgboost import XGBRegressor
    return XGBRegressor(n_estimators=500, tree_method="hist", random_state=0).fit(x, y).predict(x_test)


for name, run in (("boosting 100", lambda: boosting(100)), ("boosting 500", lambda: boosting(500)),
                  ("xgboost 500", xgboost), ("nystroem + ridge", nystroem)):
    if name.startswith("nystroem") and n * centers * 4 > 2e9:
        continue  # its features alone would take more than 2 GB
    child = os.fork()
    if child == 0:
        start, cpu = time.time(), time.process_time()
        try:
            f = run()
            show(name, time.time() - start, time.process_time() - cpu, r2(y_test, f))
        except ImportError:
            print("xgboost is not installed", file=sys.stderr)
        os._exit(0)
    os.waitpid(child, 0)
