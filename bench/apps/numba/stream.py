import time

import numba
import numpy as np
from numba import njit, prange
from program import n, say, sample, steps, write


@njit(parallel=True)
def copy(a, b, c):
    for i in prange(len(a)):
        c[i] = a[i]


@njit(parallel=True)
def mul(a, b, c):
    for i in prange(len(a)):
        b[i] = 0.4 * c[i]


@njit(parallel=True)
def add(a, b, c):
    for i in prange(len(a)):
        c[i] = a[i] + b[i]


@njit(parallel=True)
def triad(a, b, c):
    for i in prange(len(a)):
        a[i] = b[i] + 0.4 * c[i]


@njit(parallel=True)
def nstream(a, b, c):
    for i in prange(len(a)):
        a[i] += b[i] + 0.4 * c[i]


@njit(parallel=True)
def dot(a, b, c):
    total = 0.0
    for i in prange(len(a)):
        total += a[i] * b[i]
    return total


say("numba " + numba.__version__)
a, b, c = np.full(n, 0.1), np.full(n, 0.2), np.zeros(n)
kernels = [copy, mul, add, triad, nstream, dot]
for kernel in kernels:
    kernel(a.copy(), b.copy(), c.copy())  # compiles
total = 0.0
for step in range(steps):
    for kernel in kernels:
        start = time.perf_counter_ns()
        total = kernel(a, b, c)
        if step > 0:
            sample(kernel.__name__, start)
write(a, b, c, np.float64(total))
