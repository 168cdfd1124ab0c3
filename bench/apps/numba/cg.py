import numba
import numpy as np
from numba import njit, prange
from program import n, read, say, steps, timed, write


@njit(parallel=True)
def laplace(p, q):
    n = len(p)
    for i in prange(n):
        for j in range(n):
            v = np.float32(4) * p[i, j]
            if i > 0:
                v -= p[i - 1, j]
            if i < n - 1:
                v -= p[i + 1, j]
            if j > 0:
                v -= p[i, j - 1]
            if j < n - 1:
                v -= p[i, j + 1]
            q[i, j] = v


@njit(parallel=True)
def dot(a, b):
    total = np.float32(0)
    for i in prange(len(a)):
        row = np.float32(0)
        for j in range(len(a)):
            row += a[i, j] * b[i, j]
        total += row
    return total


@njit(parallel=True)
def advance(x, r, p, q, alpha):
    for i in prange(len(x)):
        for j in range(len(x)):
            x[i, j] += alpha * p[i, j]
            r[i, j] -= alpha * q[i, j]


@njit(parallel=True)
def direct(p, r, beta):
    for i in prange(len(p)):
        for j in range(len(p)):
            p[i, j] = r[i, j] + beta * p[i, j]


b = read().reshape(n, n)


def run():
    x, q, r, p = np.zeros_like(b), np.empty_like(b), b.copy(), b.copy()
    rr = dot(r, r)
    for _ in range(steps):
        laplace(p, q)
        advance(x, r, p, q, np.float32(rr / dot(p, q)))
        before, rr = rr, dot(r, r)
        direct(p, r, np.float32(rr / before))
    return x


say("numba " + numba.__version__)
write(timed(run))
