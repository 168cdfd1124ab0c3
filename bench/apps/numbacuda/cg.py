import numba
import numpy as np
from numba import cuda, float32
from program import n, read, say, steps, timed, write


@cuda.jit
def laplace(p, q):
    j, i = cuda.grid(2)
    n = p.shape[0]
    if i < n and j < n:
        v = float32(4) * p[i, j]
        if i > 0:
            v -= p[i - 1, j]
        if i < n - 1:
            v -= p[i + 1, j]
        if j > 0:
            v -= p[i, j - 1]
        if j < n - 1:
            v -= p[i, j + 1]
        q[i, j] = v


@cuda.jit
def rows(a, b, sums):
    part = cuda.shared.array(64, float32)
    i, me = cuda.blockIdx.x, cuda.threadIdx.x
    mine = float32(0)
    for j in range(me, a.shape[1], 64):
        mine += a[i, j] * b[i, j]
    part[me] = mine
    width = 32
    while width > 0:
        cuda.syncthreads()
        if me < width:
            part[me] += part[me + width]
        width //= 2
    if me == 0:
        sums[i] = part[0]


@cuda.jit
def total(sums, out):
    part = cuda.shared.array(64, float32)
    me = cuda.threadIdx.x
    mine = float32(0)
    for j in range(me, sums.shape[0], 64):
        mine += sums[j]
    part[me] = mine
    width = 32
    while width > 0:
        cuda.syncthreads()
        if me < width:
            part[me] += part[me + width]
        width //= 2
    if me == 0:
        out[0] = part[0]


@cuda.jit
def advance(x, r, p, q, rr, pq):
    j, i = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[0]:
        alpha = rr[0] / pq[0]
        x[i, j] += alpha * p[i, j]
        r[i, j] -= alpha * q[i, j]


@cuda.jit
def direct(p, r, now, before):
    j, i = cuda.grid(2)
    if i < p.shape[0] and j < p.shape[0]:
        p[i, j] = r[i, j] + now[0] / before[0] * p[i, j]


b = read().reshape(n, n)
grid = ((n + 31) // 32, (n + 7) // 8), (32, 8)
sums = cuda.device_array(n, np.float32)


def dot(a, b, out):
    rows[n, 64](a, b, sums)
    total[1, 64](sums, out)


def run():
    r = cuda.to_device(b)
    x, p, q = (cuda.device_array_like(r) for _ in range(3))
    x[:] = 0
    p.copy_to_device(r)
    rr, after, pq = (cuda.device_array(1, np.float32) for _ in range(3))
    dot(r, r, rr)
    for _ in range(steps):
        laplace[grid](p, q)
        dot(p, q, pq)
        advance[grid](x, r, p, q, rr, pq)
        dot(r, r, after)
        direct[grid](p, r, after, rr)
        rr, after = after, rr
    return x.copy_to_host()


say("numba " + numba.__version__ + ", CUDA")
write(timed(run))
