import numba
import numpy as np
from numba import cuda
from program import n, read, say, steps, timed, write


@cuda.jit
def spread(now, new):
    j, i = cuda.grid(2)
    n = now.shape[0]
    if i < n and j < n:
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
blocks, threads = ((n + 31) // 32, (n + 7) // 8), (32, 8)


def run():
    now, new = cuda.to_device(plate), cuda.device_array_like(plate)
    for _ in range(steps):
        spread[blocks, threads](now, new)
        now, new = new, now
    return now.copy_to_host()


say("numba " + numba.__version__ + ", CUDA")
write(timed(run))
