"""Times the allocators, copies and launches of CuPy or PyTorch, or the allocators of RMM,
and prints one JSON object.

usage: compare.py cupy|torch|rmm [simulated]

The sizes are those of the Go benchmarks. A library that is missing, or that finds no
device, is reported with the reason, and so is a size for which it has not enough
memory. Times are in nanoseconds, rates in MB/s. With the second argument nothing is
loaded: it only says whether the library is installed.
"""

import importlib.util
import json
import sys
import time

SIZES = [4 << 10, 1 << 20, 64 << 20]


def measure(fn, sync, seconds=0.3):
    """Nanoseconds for one call of fn, the work it enqueues included."""
    fn()
    sync()
    n = 1
    while True:
        start = time.perf_counter_ns()
        for _ in range(n):
            fn()
        sync()
        took = time.perf_counter_ns() - start
        if took > seconds * 1e9:
            return took / n
        n = max(n * 2, int(n * seconds * 1e9 / max(took, 1)))


def measure_each(fn, sync):
    """Nanoseconds for one call of fn and the wait for its work, as the Go benchmarks count."""

    def call():
        fn()
        sync()

    return measure(call, sync)


def measure_launch(fn, sync):
    """Nanoseconds for one of 64 launches with one wait, as bench/devices counts."""

    def crowd():
        for _ in range(64):
            fn()
        sync()

    return {"ns/op": measure(crowd, sync) / 64}


def with_rates(times, size):
    return {k: {"ns/op": t, "MB/s": size / t * 1e3} for k, t in times.items()}


def each_size(results, measure_size):
    """Fills the results by size. If one size fails, the others are still measured."""
    for size in SIZES:
        results[str(size)] = attempt(lambda: measure_size(size), "error")
    return results


def cupy_results():
    import cupy
    import numpy

    cupy.cuda.Device().use()
    sync = cupy.cuda.Device().synchronize

    def measure_size(size):
        host = numpy.frombuffer(cupy.cuda.alloc_pinned_memory(size), dtype=numpy.uint8, count=size)
        pageable = numpy.zeros(size, dtype=numpy.uint8)
        a = cupy.zeros(size, dtype=cupy.uint8)
        b = cupy.zeros(size, dtype=cupy.uint8)
        stream = cupy.cuda.Stream(non_blocking=True)
        pool = cupy.get_default_memory_pool()

        def raw():
            cupy.cuda.runtime.free(cupy.cuda.runtime.malloc(size))

        def pooled():
            pool.malloc(size)

        return {
            "alloc": {"raw": {"ns/op": measure(raw, sync)}, "pool": {"ns/op": measure(pooled, sync)}},
            "copy": with_rates({
                "in-pinned": measure_each(lambda: a.set(host, stream=stream), stream.synchronize),
                "in-pageable": measure_each(lambda: a.set(pageable), sync),
                "out-pinned": measure_each(lambda: a.get(stream=stream, out=host), stream.synchronize),
                "device": measure_each(lambda: cupy.copyto(b, a), sync),
            }, size),
        }

    def launches():
        six = cupy.RawKernel("""extern "C" __global__ void six(unsigned *y, unsigned a, unsigned b, unsigned c, unsigned d, unsigned n) {
            if (blockIdx.x * blockDim.x + threadIdx.x < n) y[0] = a + b + c + d; }""", "six")
        five = cupy.RawKernel("""extern "C" __global__ void five(unsigned *y, const unsigned *a, const unsigned *b, const unsigned *c,
            const unsigned *d) { if (blockIdx.x * blockDim.x + threadIdx.x == 0) y[0] = a[0] + b[0] + c[0] + d[0]; }""", "five")
        arrays = tuple(cupy.zeros(1, dtype=cupy.uint32) for _ in range(5))
        words = (arrays[0],) + tuple(numpy.uint32(v) for v in (1, 20, 300, 4000, 1))
        return {
            "hal": measure_launch(lambda: six((1,), (1,), words), sync),
            "kernel": measure_launch(lambda: five((1,), (1,), arrays), sync),
        }

    results = {"version": cupy.__version__, "launch": attempt(launches, "error")}
    return each_size(results, measure_size)


def torch_results():
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("torch.cuda is not available")
    sync = torch.cuda.synchronize

    def measure_size(size):
        host = torch.zeros(size, dtype=torch.uint8, pin_memory=True)
        pageable = torch.zeros(size, dtype=torch.uint8)
        a = torch.zeros(size, dtype=torch.uint8, device="cuda")
        b = torch.zeros(size, dtype=torch.uint8, device="cuda")
        return {
            "alloc": {"pool": {"ns/op": measure(lambda: torch.empty(size, dtype=torch.uint8, device="cuda"), sync)}},
            "copy": with_rates({
                "in-pinned": measure_each(lambda: a.copy_(host, non_blocking=True), sync),
                "in-pageable": measure_each(lambda: a.copy_(pageable), sync),
                "out-pinned": measure_each(lambda: host.copy_(a, non_blocking=True), sync),
                "device": measure_each(lambda: b.copy_(a), sync),
            }, size),
        }

    def launches():
        x = torch.zeros(1, device="cuda")
        t = measure_launch(lambda: x.add_(1), sync)
        return {"hal": t, "kernel": t}

    results = {"version": torch.__version__, "launch": attempt(launches, "error")}
    return each_size(results, measure_size)


def rmm_results():
    import rmm
    from rmm.pylibrmm.stream import DEFAULT_STREAM

    sync = DEFAULT_STREAM.synchronize
    raw = rmm.mr.CudaMemoryResource()

    def take(resource, size):
        return lambda: resource.deallocate(resource.allocate(size), size)

    def measure_size(size):
        times = {"raw": {"ns/op": measure(take(raw, size), sync)}}
        # Each has what it needs before the first call that counts.
        pool = rmm.mr.PoolMemoryResource(raw, initial_pool_size=256 << 20)
        times["pool"] = {"ns/op": measure(take(pool, size), sync)}
        del pool

        def ordered():
            return {"ns/op": measure(take(rmm.mr.CudaAsyncMemoryResource(), size), sync)}

        times["stream"] = attempt(ordered, "error")
        return {"alloc": times}

    return each_size({"version": rmm.__version__}, measure_size)


def attempt(fn, key="unavailable"):
    try:
        return fn()
    except Exception as e:  # whatever is wrong with the library, the report says it
        return {key: "%s: %s" % (type(e).__name__, e)}


if __name__ == "__main__":
    libraries = {"cupy": cupy_results, "torch": torch_results, "rmm": rmm_results}
    name, rest = "".join(sys.argv[1:2]), sys.argv[2:]
    if name not in libraries or rest not in ([], ["simulated"]):
        sys.exit("usage: compare.py cupy|torch|rmm [simulated]")
    if importlib.util.find_spec(name) is None:
        result = {"unavailable": "not installed"}
    elif rest:
        result = {"unavailable": "installed, but not run on a simulated driver"}
    else:
        result = attempt(libraries[name])
    print(json.dumps(result))
