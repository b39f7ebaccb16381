"""The peer of `rfm-bench --what fit`: Algorithm 1 with NumPy and OpenBLAS, Laplace kernel, as fast as we know how.

rfm-bench starts it and writes commands to its standard input, one a line; each gets one line of answer:

    hello                                   ok NumPy-version BLAS-version core-type library
    data FILE TYPE n d c m metric L ridge T read X (n, d), Y (n, c), Z (m, d) of TYPE f4 or f8; metric full or diagonal
    fit                                     ok seconds
    predict                                 ok seconds
    save FILE                               write f(Z) (m, c), then M (d, d) or (d)
    memory                                  ok bytes: the peak since `data`, above what was resident then

or `error` and a reason. Only `fit` and `predict` are timed, each around the work itself.

What makes it fast: one product gives the squared distances, norms included, of a block of rows that stays in the cache
while square root and exponential pass over it in place; only the upper triangle of K and W is ever computed; LAPACK's
potrf and potrs work in place, and BLAS's symm multiplies by the triangle of W for all outputs at once (NumPy has none
of the three, so they are called in the OpenBLAS that NumPy itself uses); the buffers are kept from one fit to the next.
"""

import ctypes
import sys
import time

import numpy as np

TINY = 1e-12


def blas_in_use():
    """The OpenBLAS that NumPy has loaded."""
    files = set()
    with open("/proc/self/maps", encoding="ascii") as maps:
        for line in maps:
            name = line.split(maxsplit=5)[-1].strip()
            if name.startswith("/") and ("blas" in name or "lapack" in name) and ".so" in name:
                files.add(name)
    openblas = sorted((f for f in files if "libopenblas" in f), key=len)
    if not openblas:
        raise RuntimeError("NumPy does not use OpenBLAS but " + (", ".join(sorted(files)) or "no BLAS"))
    others = [f for f in files if "openblas" not in f]
    if others:
        raise RuntimeError("NumPy uses another BLAS: " + ", ".join(sorted(others)))
    return openblas[0]


def rows_of_block(inputs):
    """Measured: few rows keep the block in the cache, more suit the product when that is most of the work."""
    return 128 if inputs < 256 else 512


def status(field):
    """A field of /proc/self/status, in bytes."""
    with open("/proc/self/status", encoding="ascii") as lines:
        for line in lines:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    return 0


class Blas:
    """The routines that NumPy lacks. Row-major here, column-major there: our upper triangle is their lower one."""

    def __init__(self):
        self.file = blas_in_use()
        self.library = ctypes.CDLL(self.file)
        self.library.openblas_get_corename.restype = ctypes.c_char_p
        self.library.openblas_get_config.restype = ctypes.c_char_p
        self.core = self.library.openblas_get_corename().decode()
        self.version = self.library.openblas_get_config().decode().split()[1]

    def routine(self, name, dtype):
        function = getattr(self.library, ("d" if dtype == np.float64 else "s") + name + "_")
        function.restype = None
        return function

    @staticmethod
    def at(array):
        return ctypes.c_void_p(array.ctypes.data)

    @staticmethod
    def int(value):
        return ctypes.byref(ctypes.c_int(value))

    @staticmethod
    def one(length=1):
        return ctypes.c_size_t(length)

    def cholesky(self, a):
        """The upper triangle of a becomes U, a = U'U."""
        info = ctypes.c_int(0)
        n = self.int(len(a))
        self.routine("potrf", a.dtype)(b"L", n, self.at(a), n, ctypes.byref(info), self.one())
        if info.value:
            raise RuntimeError("potrf: info = %d" % info.value)

    def cholesky_solve(self, u, b):
        """The rows of b (c, n) become the solutions."""
        info = ctypes.c_int(0)
        n = self.int(len(u))
        self.routine("potrs", u.dtype)(
            b"L", n, self.int(len(b)), self.at(u), n, self.at(b), n, ctypes.byref(info), self.one()
        )
        if info.value:
            raise RuntimeError("potrs: info = %d" % info.value)

    def symm(self, a, b, c):
        """c = a b for a symmetric a (n, n), of which the upper triangle is read."""
        real = ctypes.c_double if a.dtype == np.float64 else ctypes.c_float
        n, q = self.int(len(a)), self.int(b.shape[1])
        self.routine("symm", a.dtype)(
            b"R", b"L", q, n, ctypes.byref(real(1)), self.at(a), n, self.at(b), q,
            ctypes.byref(real(0)), self.at(c), q, self.one(), self.one(),
        )  # fmt: skip


class Rfm:
    """One shape, with the buffers that its fits share."""

    def __init__(self, blas, x, y, metric, bandwidth, ridge, iterations):
        self.blas, self.y, self.full = blas, y, metric == "full"
        self.bandwidth, self.ridge, self.iterations = bandwidth, ridge, iterations
        self.x = x
        n, d = x.shape
        c = y.shape[1]
        kind = x.dtype
        self.k = np.empty((n, n), kind)
        self.w = np.empty((n, n), kind) if iterations else None
        # left right' is the squared distance over L^2: columns -2 x M, |x|^2, 1 against x, 1, |x|^2
        self.left = np.empty((n, d + 2), kind)
        self.right = np.empty((n, d + 2), kind)
        self.weighted = np.empty((n, c, d + 1), kind) if iterations else None
        self.product = np.empty((n, c, d + 1), kind) if iterations else None
        self.alpha = np.empty((c, n), kind)

    def times_metric(self, x, out):
        if self.metric is None:
            out[...] = x
        elif self.full:
            np.matmul(x, self.metric, out=out)
        else:
            np.multiply(x, self.metric, out=out)

    def place(self, x, left, right):
        """The rows of both sides for the points x, which are centred."""
        d = x.shape[1]
        scale = x.dtype.type(1 / self.bandwidth**2)
        self.times_metric(x, left[:, :d])
        left[:, :d] *= scale
        norms = np.einsum("ij,ij->i", left[:, :d], x)
        left[:, :d] *= -2
        left[:, d] = norms
        left[:, d + 1] = 1
        right[:, :d] = x
        right[:, d] = 1
        right[:, d + 1] = norms

    def kernel(self, weights):
        """The upper triangle of K; with `weights` also of W = -L^2 w(s), 0 on the diagonal."""
        n = len(self.k)
        rows = rows_of_block(self.x.shape[1])
        for i in range(0, n, rows):
            end = min(i + rows, n)
            k = self.k[i:end, i:]
            t = self.w[i:end, i:] if weights else k
            np.matmul(self.left[i:end], self.right[i:].T, out=t)
            np.maximum(t, TINY, out=t)
            np.sqrt(t, out=t)
            np.negative(t, out=t)
            np.exp(t, out=k)
            if weights:
                np.divide(k, t, out=t)
        np.fill_diagonal(self.k, 1 + self.ridge)
        if weights:
            np.fill_diagonal(self.w, 0)

    def solve(self):
        self.alpha[...] = self.y.T
        self.blas.cholesky(self.k)
        self.blas.cholesky_solve(self.k, self.alpha)

    def update(self):
        """M = (sum of (H M)'(H M)) / n with H = W diag(alpha) X - diag(W alpha) X, all outputs in one product."""
        n, d = self.centred.shape
        c = len(self.alpha)
        a = np.ascontiguousarray(self.alpha.T)
        np.multiply(a[:, :, None], self.centred[:, None, :], out=self.weighted[:, :, :d])
        self.weighted[:, :, d] = a
        self.blas.symm(self.w, self.weighted.reshape(n, -1), self.product.reshape(n, -1))
        h = self.product[:, :, :d]
        np.multiply(self.product[:, :, d:], self.centred[:, None, :], out=self.weighted[:, :, :d])
        np.subtract(h, self.weighted[:, :, :d], out=h)
        h = self.product.reshape(n * c, d + 1)[:, :d]
        scale = 1 / (n * self.bandwidth**4)
        if self.full:
            # (H M)'(H M), not M (H'H) M: that one loses its definiteness to rounding when M has small eigenvalues.
            if self.metric is not None:
                h = np.matmul(h, self.metric, out=self.weighted.reshape(n * c, d + 1)[:, :d])
            self.metric = np.matmul(h.T, h)
            self.metric *= self.metric.dtype.type(scale)
        else:
            squares = np.einsum("ij,ij->j", h, h)
            if self.metric is not None:
                squares *= self.metric * self.metric
            self.metric = squares * squares.dtype.type(scale)

    def fit(self):
        d = self.x.shape[1]
        self.metric = None
        self.mean = self.x.mean(axis=0)
        self.centred = self.x - self.mean
        for t in range(self.iterations + 1):
            last = t == self.iterations
            self.place(self.centred, self.left, self.right)
            self.kernel(not last)
            self.solve()
            if not last:
                self.update()
        if self.metric is None:
            self.metric = np.eye(d, dtype=self.x.dtype) if self.full else np.ones(d, self.x.dtype)

    def predict(self, z):
        m, d = z.shape
        n = len(self.x)
        left = np.empty((m, d + 2), z.dtype)
        right = np.empty((m, d + 2), z.dtype)
        self.place(z - self.mean, left, right)
        out = np.empty((m, len(self.alpha)), z.dtype)
        rows = min(m, rows_of_block(d))
        block = np.empty((rows, n), z.dtype)
        for i in range(0, m, rows):
            t = block[: min(rows, m - i)]
            np.matmul(left[i : i + rows], self.right.T, out=t)
            np.maximum(t, 0, out=t)
            np.sqrt(t, out=t)
            np.negative(t, out=t)
            np.exp(t, out=t)
            np.matmul(t, self.alpha.T, out=out[i : i + rows])
        return out


def main():
    blas = model = z = predicted = None
    resident = 0
    for line in sys.stdin:
        word = line.split()
        try:
            answer = "ok"
            if word[0] == "hello":
                blas = Blas()
                answer = "ok %s %s %s %s" % (np.__version__, blas.version, blas.core, blas.file)
            elif word[0] == "data":
                kind = np.dtype(word[2])
                n, d, c, m = map(int, word[3:7])
                with open(word[1], "rb") as file:
                    x = np.fromfile(file, kind, n * d).reshape(n, d)
                    y = np.fromfile(file, kind, n * c).reshape(n, c)
                    z = np.fromfile(file, kind, m * d).reshape(m, d)
                resident = status("VmRSS")
                model = Rfm(blas, x, y, word[7], float(word[8]), float(word[9]), int(word[10]))
            elif word[0] == "fit":
                start = time.perf_counter()
                model.fit()
                answer = "ok %.9f" % (time.perf_counter() - start)
            elif word[0] == "predict":
                start = time.perf_counter()
                predicted = model.predict(z)
                answer = "ok %.9f" % (time.perf_counter() - start)
            elif word[0] == "save":
                with open(word[1], "wb") as file:
                    predicted.tofile(file)
                    model.metric.tofile(file)
            elif word[0] == "memory":
                answer = "ok %d" % (status("VmHWM") - resident)
            else:
                answer = "error no such command"
        except Exception as reason:  # whatever it is, rfm-bench must hear of it
            answer = "error " + " ".join(str(reason).split())
        print(answer, flush=True)


if __name__ == "__main__":
    main()
