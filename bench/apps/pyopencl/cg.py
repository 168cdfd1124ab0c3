import numpy as np
import pyopencl.array
from cl import kernels, queue
from program import n, read, steps, timed, write

block = 64
product, total, laplace, advance, direct = kernels("""
void add_up(local float *part, float mine) {
    size_t me = get_local_id(0);
    part[me] = mine;
    for (size_t width = get_local_size(0) / 2; width > 0; width /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < width) part[me] += part[me + width];
    }
}
kernel void product(global const float *a, global const float *b, global float *sums, int n) {
    local float part[64];
    float mine = 0;
    size_t row = get_group_id(0) * n;
    for (size_t j = get_local_id(0); j < n; j += 64) mine += a[row + j] * b[row + j];
    add_up(part, mine);
    if (get_local_id(0) == 0) sums[get_group_id(0)] = part[0];
}
kernel void total(global const float *sums, global float *out, int n) {
    local float part[64];
    float mine = 0;
    for (size_t j = get_local_id(0); j < n; j += 64) mine += sums[j];
    add_up(part, mine);
    if (get_local_id(0) == 0) *out = part[0];
}
kernel void laplace(global const float *p, global float *q, int n) {
    int j = get_global_id(0), i = get_global_id(1), at = i * n + j;
    float above = i > 0 ? p[at - n] : 0, below = i < n - 1 ? p[at + n] : 0;
    float left = j > 0 ? p[at - 1] : 0, right = j < n - 1 ? p[at + 1] : 0;
    q[at] = 4 * p[at] - above - below - left - right;
}
kernel void advance(global float *x, global float *r, global const float *p, global const float *q, global const float *rr, global const float *pq) {
    size_t i = get_global_id(0);
    float alpha = *rr / *pq;
    x[i] += alpha * p[i];
    r[i] -= alpha * q[i];
}
kernel void direct(global float *p, global const float *r, global const float *now, global const float *before) {
    size_t i = get_global_id(0);
    p[i] = r[i] + *now / *before * p[i];
}""", "product", "total", "laplace", "advance", "direct")
right = read()
sums, rr, new, pq = (pyopencl.array.empty(queue, size, np.float32) for size in (n, 1, 1, 1))


def dot(a, b, out):
    product(queue, (block * n,), (block,), a.data, b.data, sums.data, np.int32(n))
    total(queue, (block,), (block,), sums.data, out.data, np.int32(n))


def run():
    global rr, new
    x, r, p = pyopencl.array.zeros(queue, n * n, np.float32), pyopencl.array.to_device(queue, right), pyopencl.array.to_device(queue, right)
    q = pyopencl.array.empty_like(x)
    dot(r, r, rr)
    for _ in range(steps):
        laplace(queue, (n, n), None, p.data, q.data, np.int32(n))
        dot(p, q, pq)
        advance(queue, (n * n,), None, x.data, r.data, p.data, q.data, rr.data, pq.data)
        dot(r, r, new)
        direct(queue, (n * n,), None, p.data, r.data, new.data, rr.data)
        rr, new = new, rr
    return x.get()


write(timed(run))
