import numba
import numpy as np
from numba import njit, prange
from program import n, say, steps, timed, write


@njit(parallel=True)
def mandelbrot(out, limit):
    n = len(out)
    step = np.float32(2.4) / np.float32(n)
    for py in prange(n):
        b = np.float32(-1.2) + step * np.float32(py)
        for px in range(n):
            a = np.float32(-1.7) + step * np.float32(px)
            x = y = np.float32(0)
            count = 0
            while count < limit and x * x + y * y <= np.float32(4):
                x, y = x * x - y * y + a, np.float32(2) * x * y + b
                count += 1
            out[py, px] = count


def run():
    out = np.empty((n, n), np.uint16)
    mandelbrot(out, steps)
    return out


say("numba " + numba.__version__)
write(timed(run))
