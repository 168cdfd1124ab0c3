import numpy as np
import pyopencl.array
from cl import kernels, queue
from program import n, read, steps, timed, write

block = 64
(move,) = kernels("""
kernel void move(global const float4 *old, global float *v, global float4 *now, int n, float dt) {
    local float4 piece[64];
    int i = get_global_id(0), me = get_local_id(0);
    float4 b = i < n ? old[i] : (float4)(0);
    float ax = 0, ay = 0, az = 0;
    for (int from = 0; from < n; from += 64) {
        piece[me] = from + me < n ? old[from + me] : (float4)(0);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 64; k++) {
            float4 o = piece[k];
            float dx = o.x - b.x, dy = o.y - b.y, dz = o.z - b.z;
            float d = dx * dx + dy * dy + dz * dz + 0.01f, pull = o.w / (d * sqrt(d));
            ax += dx * pull, ay += dy * pull, az += dz * pull;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i >= n) return;
    v[3 * i] += ax * dt, v[3 * i + 1] += ay * dt, v[3 * i + 2] += az * dt;
    now[i] = (float4)(b.x + v[3 * i] * dt, b.y + v[3 * i + 1] * dt, b.z + v[3 * i + 2] * dt, b.w);
}""", "move")
bodies = read()


def run():
    now, v = pyopencl.array.to_device(queue, bodies), pyopencl.array.zeros(queue, 3 * n, np.float32)
    new = pyopencl.array.empty_like(now)
    for _ in range(steps):
        move(queue, (-(-n // block) * block,), (block,), now.data, v.data, new.data, np.int32(n), np.float32(0.01))
        now, new = new, now
    return now.get()


write(timed(run))
