import time

import numpy as np
import pyopencl.array
from cl import kernels, queue
from program import n, sample, steps, write

groups, group = 64, 64
copy, mul, add, triad, nstream, inner = kernels("""
kernel void copy(global const double *a, global double *c) { size_t i = get_global_id(0); c[i] = a[i]; }
kernel void mul(global double *b, global const double *c) { size_t i = get_global_id(0); b[i] = 0.4 * c[i]; }
kernel void add(global const double *a, global const double *b, global double *c) { size_t i = get_global_id(0); c[i] = a[i] + b[i]; }
kernel void triad(global double *a, global const double *b, global const double *c) { size_t i = get_global_id(0); a[i] = b[i] + 0.4 * c[i]; }
kernel void nstream(global double *a, global const double *b, global const double *c) { size_t i = get_global_id(0); a[i] += b[i] + 0.4 * c[i]; }
kernel void inner(global const double *a, global const double *b, global double *sums, int n) {
    local double part[64];
    size_t me = get_local_id(0);
    double sum = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) sum += a[i] * b[i];
    part[me] = sum;
    for (size_t width = get_local_size(0) / 2; width > 0; width /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < width) part[me] += part[me + width];
    }
    if (me == 0) sums[get_group_id(0)] = part[0];
}""", "copy", "mul", "add", "triad", "nstream", "inner")
a, b, c = (pyopencl.array.to_device(queue, x) for x in (np.full(n, 0.1), np.full(n, 0.2), np.zeros(n)))
sums = pyopencl.array.empty(queue, groups, np.float64)
calls = [("copy", copy, (a, c)), ("mul", mul, (b, c)), ("add", add, (a, b, c)), ("triad", triad, (a, b, c)), ("nstream", nstream, (a, b, c))]
dot = 0.0
for step in range(steps):
    for name, kernel, arrays in calls:
        start = time.perf_counter_ns()
        kernel(queue, (n,), None, *(x.data for x in arrays)).wait()
        if step > 0:
            sample(name, start)
    start = time.perf_counter_ns()
    inner(queue, (groups * group,), (group,), a.data, b.data, sums.data, np.int32(n))
    dot = sums.get().sum()
    if step > 0:
        sample("dot", start)
write(a.get(), b.get(), c.get(), np.float64(dot))
