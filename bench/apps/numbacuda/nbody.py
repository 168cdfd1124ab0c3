import math

import numba
import numpy as np
from numba import cuda, float32
from program import n, read, say, steps, timed, write


@cuda.jit
def move(old, v, new, dt):
    piece = cuda.shared.array((64, 4), float32)
    i, me, n = cuda.grid(1), cuda.threadIdx.x, old.shape[0]
    x = y = z = ax = ay = az = float32(0)
    if i < n:
        x, y, z = old[i, 0], old[i, 1], old[i, 2]
    for first in range(0, n, 64):
        for c in range(4):
            piece[me, c] = old[first + me, c] if first + me < n else float32(0)
        cuda.syncthreads()
        for k in range(64):
            dx, dy, dz = piece[k, 0] - x, piece[k, 1] - y, piece[k, 2] - z
            d = dx * dx + dy * dy + dz * dz + float32(0.01)
            pull = piece[k, 3] / (d * math.sqrt(d))
            ax += dx * pull
            ay += dy * pull
            az += dz * pull
        cuda.syncthreads()
    if i < n:
        v[i, 0] += ax * dt
        v[i, 1] += ay * dt
        v[i, 2] += az * dt
        for c in range(3):
            new[i, c] = old[i, c] + v[i, c] * dt
        new[i, 3] = old[i, 3]


bodies = read().reshape(n, 4)


def run():
    now, new, v = cuda.to_device(bodies), cuda.device_array_like(bodies), cuda.to_device(np.zeros((n, 3), np.float32))
    for _ in range(steps):
        move[(n + 63) // 64, 64](now, v, new, np.float32(0.01))
        now, new = new, now
    return now.copy_to_host()


say("numba " + numba.__version__ + ", CUDA")
write(timed(run))
