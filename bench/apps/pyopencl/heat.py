import numpy as np
import pyopencl.array
from cl import kernels, queue
from program import n, read, steps, timed, write

(spread,) = kernels("""
kernel void spread(global const float *from, global float *to, int n) {
    int j = get_global_id(0), i = get_global_id(1), at = i * n + j;
    float above = i > 0 ? from[at - n] : 0, below = i < n - 1 ? from[at + n] : 0;
    float left = j > 0 ? from[at - 1] : 0, right = j < n - 1 ? from[at + 1] : 0;
    to[at] = from[at] + 0.1f * (above + below + left + right - 4 * from[at]);
}""", "spread")
plate = read()


def run():
    now = pyopencl.array.to_device(queue, plate)
    new = pyopencl.array.empty_like(now)
    for _ in range(steps):
        spread(queue, (n, n), None, now.data, new.data, np.int32(n))
        now, new = new, now
    return now.get()


write(timed(run))
