import numpy as np
import pyopencl.array
from cl import kernels, queue
from program import n, steps, timed, write

(mandelbrot,) = kernels("""
#pragma OPENCL FP_CONTRACT OFF
kernel void mandelbrot(global ushort *out, int n, int limit) {
    size_t px = get_global_id(0), py = get_global_id(1);
    float step = 2.4f / n, a = -1.7f + step * px, b = -1.2f + step * py, x = 0, y = 0;
    int count = 0;
    while (count < limit && x * x + y * y <= 4.0f) {
        float t = x * x - y * y + a;
        y = 2.0f * x * y + b;
        x = t;
        count++;
    }
    out[py * n + px] = count;
}""", "mandelbrot")
out = pyopencl.array.empty(queue, (n, n), np.uint16)


def run():
    mandelbrot(queue, (n, n), None, out.data, np.int32(n), np.int32(steps))
    return out.get()


write(timed(run))
