import numba
import numpy as np
from numba import njit, prange
from program import n, read, say, steps, timed, write


@njit(parallel=True)
def spread(now, new):
    n = len(now)
    for i in prange(n):
        for j in range(n):
            around = np.float32(0)
            if i > 0:
                around += now[i - 1, j]
            if i < n - 1:
                around += now[i + 1, j]
            if j > 0:
                around += now[i, j - 1]
            if j < n - 1:
                around += now[i, j + 1]
            new[i, j] = now[i, j] + np.float32(0.1) * (around - np.float32(4) * now[i, j])


plate = read().reshape(n, n)


def run():
    now, new = plate.copy(), np.empty_like(plate)
    for _ in range(steps):
        spread(now, new)
        now, new = new, now
    return now


say("numba " + numba.__version__)
write(timed(run))
