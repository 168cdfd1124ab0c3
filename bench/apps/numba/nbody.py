import numba
import numpy as np
from numba import njit, prange
from program import n, read, say, steps, timed, write


@njit(parallel=True)
def move(old, v, new, dt):
    for i in prange(len(old)):
        ax = ay = az = np.float32(0)
        for k in range(len(old)):
            dx, dy, dz = old[k, 0] - old[i, 0], old[k, 1] - old[i, 1], old[k, 2] - old[i, 2]
            d = dx * dx + dy * dy + dz * dz + np.float32(0.01)
            pull = old[k, 3] / (d * np.sqrt(d))
            ax += dx * pull
            ay += dy * pull
            az += dz * pull
        v[i, 0] += ax * dt
        v[i, 1] += ay * dt
        v[i, 2] += az * dt
        for c in range(3):
            new[i, c] = old[i, c] + v[i, c] * dt
        new[i, 3] = old[i, 3]


bodies = read().reshape(n, 4)


def run():
    now, new, v = bodies.copy(), np.empty_like(bodies), np.zeros((n, 3), np.float32)
    for _ in range(steps):
        move(now, v, new, np.float32(0.01))
        now, new = new, now
    return now


say("numba " + numba.__version__)
write(timed(run))
