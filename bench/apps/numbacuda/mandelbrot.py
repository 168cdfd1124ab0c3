import numba
import numpy as np
from numba import cuda
from program import n, say, steps, timed, write


@cuda.jit(fastmath=False, fmad=False)
def mandelbrot(out, limit):
    px, py = cuda.grid(2)
    n = out.shape[0]
    if px < n and py < n:
        step = np.float32(2.4) / np.float32(n)
        a, b = np.float32(-1.7) + step * np.float32(px), np.float32(-1.2) + step * np.float32(py)
        x = y = np.float32(0)
        count = 0
        while count < limit and x * x + y * y <= np.float32(4):
            x, y = x * x - y * y + a, np.float32(2) * x * y + b
            count += 1
        out[py, px] = count


def run():
    out = cuda.device_array((n, n), np.uint16)
    mandelbrot[((n + 31) // 32, (n + 7) // 8), (32, 8)](out, steps)
    return out.copy_to_host()


say("numba " + numba.__version__ + ", CUDA")
write(timed(run))
