import numba
import numpy as np
from numba import njit, prange
from program import n, read, say, steps, timed, write

K = 32


@njit(parallel=True)
def add(points, centres, sums):
    for part in prange(len(sums)):
        sums[part] = 0
        for p in range(part, len(points), len(sums)):
            best, least = 0, np.float32(1e38)
            for c in range(K):
                away = np.float32(0)
                for d in range(8):
                    away += (points[p, d] - centres[c, d]) ** 2
                if away < least:
                    best, least = c, away
            for d in range(8):
                sums[part, best, d] += points[p, d]
            sums[part, best, 8] += 1


@njit(parallel=True)
def move(sums, centres):
    for c in prange(K):
        for d in range(8):
            total, count = np.float32(0), np.float32(0)
            for part in range(len(sums)):
                total += sums[part, c, d]
                count += sums[part, c, 8]
            centres[c, d] = total / max(count, 1)


data = read().reshape(n, 8)
sums = np.empty((1024, K, 9), np.float32)


def run():
    points, centres = data.copy(), data[:K].copy()
    for _ in range(steps):
        add(points, centres, sums)
        move(sums, centres)
    return centres


say("numba " + numba.__version__)
write(timed(run))
