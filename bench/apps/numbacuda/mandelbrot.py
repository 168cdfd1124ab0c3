import numba
import numpy as np
from numba import cuda
from numba.cuda.libdevice import fadd_rn, fmul_rn, fsub_rn  # not fused, as in the others
from program import n, say, steps, timed, write


@cuda.jit
def mandelbrot(out, limit):
    px, py = cuda.grid(2)
    n = out.shape[0]
    if px < n and py < n:
        step = np.float32(2.4) / np.float32(n)
        a, b = fadd_rn(np.float32(-1.7), fmul_rn(step, np.float32(px))), fadd_rn(np.float32(-1.2), fmul_rn(step, np.float32(py)))
        x = y = np.float32(0)
        count = 0
        while count < limit and fadd_rn(fmul_rn(x, x), fmul_rn(y, y)) <= np.float32(4):
            x, y = fadd_rn(fsub_rn(fmul_rn(x, x), fmul_rn(y, y)), a), fadd_rn(fmul_rn(np.float32(2) * x, y), b)
            count += 1
        out[py, px] = count


def run():
    out = cuda.device_array((n, n), np.uint16)
    mandelbrot[((n + 31) // 32, (n + 7) // 8), (32, 8)](out, steps)
    return out.copy_to_host()


say("numba " + numba.__version__ + ", CUDA")
write(timed(run))
