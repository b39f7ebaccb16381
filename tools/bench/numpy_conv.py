"""The peer of `rfm-bench --what conv`: the Laplace patch kernel and its AGOP with NumPy, written as the formulas stand.

    numpy_conv.py FILE TYPE n side patch L way repeats

FILE has X (n, side, side), alpha (n, 1) of TYPE f4 or f8; M is the identity. Places are taken one after the other.

    way direct     differences of all pairs of patches, (n, n, D), and their lengths; the gradients from the differences
    way products   lengths from norms and one product; the gradients from two more

It prints the least seconds of the processor for the kernel and for the AGOP, and writes K (n, n), then the AGOP (D, D), to FILE.out.
"""

import sys
import time

import numpy as np

BLOCK = 50  # images whose differences are held at a time, so that they fit in memory


def places(x, q):
    """The patches at each place, (n, q q)."""
    side = x.shape[1]
    for row in range(side - q + 1):
        for col in range(side - q + 1):
            yield x[:, row:row + q, col:col + q].reshape(len(x), -1)


def blocks(u, z):
    """Differences and distances of some rows of z to all rows of u."""
    for first in range(0, len(z), BLOCK):
        diff = u[None, :, :] - z[first:first + BLOCK, None, :]
        yield first, diff, np.sqrt((diff ** 2).sum(axis=2))


def kernel_direct(x, q, width):
    k = np.zeros((len(x), len(x)), x.dtype)
    count = 0
    for u in places(x, q):
        count += 1
        for first, _, s in blocks(u, u):
            k[first:first + BLOCK] += np.exp(-s / width)
    return k / count


def agop_direct(x, alpha, q, width):
    count = (x.shape[1] - q + 1) ** 2
    a = np.zeros((q * q, q * q), x.dtype)
    for u in places(x, q):
        for _, diff, s in blocks(u, u):
            with np.errstate(divide="ignore", invalid="ignore"):
                w = np.where(s > 0, np.exp(-s / width) / (width * s), 0)
            g = ((w * alpha[None, :])[:, :, None] * diff).sum(axis=1) / count
            a += g.T @ g
    return a / len(x)


def distances(u):
    norms = (u ** 2).sum(axis=1)
    return np.sqrt(np.maximum(norms[:, None] + norms[None, :] - 2 * (u @ u.T), 0))


def kernel_products(x, q, width):
    k = np.zeros((len(x), len(x)), x.dtype)
    count = 0
    for u in places(x, q):
        count += 1
        k += np.exp(-distances(u) / width)
    return k / count


def agop_products(x, alpha, q, width):
    count = (x.shape[1] - q + 1) ** 2
    a = np.zeros((q * q, q * q), x.dtype)
    for u in places(x, q):
        s = distances(u)
        np.fill_diagonal(s, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            w = np.where(s > 0, np.exp(-s / width) / (width * s), 0) * alpha[None, :]
        g = (w @ u - w.sum(axis=1)[:, None] * u) / count
        a += g.T @ g
    return a / len(x)


def main():
    name, kind, n, side, q, width, way, repeats = sys.argv[1:]
    n, side, q, width = int(n), int(side), int(q), float(width)
    data = np.fromfile(name, dtype=kind)
    x, alpha = data[:n * side * side].reshape(n, side, side), data[n * side * side:]
    kernel, agop = (kernel_direct, agop_direct) if way == "direct" else (kernel_products, agop_products)
    best = [float("inf")] * 2
    for _ in range(int(repeats)):
        start = time.process_time()
        k = kernel(x, q, width)
        middle = time.process_time()
        a = agop(x, alpha, q, width)
        best = [min(best[0], middle - start), min(best[1], time.process_time() - middle)]
    with open(name + ".out", "wb") as out:
        k.astype(kind).tofile(out)
        a.astype(kind).tofile(out)
    print(best[0], best[1])


main()
