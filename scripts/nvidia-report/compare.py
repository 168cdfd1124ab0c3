"""Times the allocators and copies of CuPy and PyTorch, and prints one JSON object.

The sizes are those of the Go benchmarks. A library that is missing, or that finds no
device, is reported with the reason. Times are in nanoseconds, rates in MB/s.
"""

import json
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


def with_rates(times, size):
    return {k: {"ns/op": t, "MB/s": size / t * 1e3} for k, t in times.items()}


def cupy_results():
    import cupy
    import numpy

    sync = cupy.cuda.Device().synchronize
    results = {"version": cupy.__version__}
    for size in SIZES:
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

        results[str(size)] = {
            "alloc": {"raw": {"ns/op": measure(raw, sync)}, "pool": {"ns/op": measure(pooled, sync)}},
            "copy": with_rates({
                "in-pinned": measure(lambda: a.set(host, stream=stream), stream.synchronize),
                "in-pageable": measure(lambda: a.set(pageable), sync),
                "out-pinned": measure(lambda: a.get(stream=stream, out=host), stream.synchronize),
                "device": measure(lambda: cupy.copyto(b, a), sync),
            }, size),
        }
    return results


def torch_results():
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("torch.cuda is not available")
    sync = torch.cuda.synchronize
    results = {"version": torch.__version__}
    for size in SIZES:
        host = torch.zeros(size, dtype=torch.uint8, pin_memory=True)
        pageable = torch.zeros(size, dtype=torch.uint8)
        a = torch.zeros(size, dtype=torch.uint8, device="cuda")
        b = torch.zeros(size, dtype=torch.uint8, device="cuda")
        results[str(size)] = {
            "alloc": {"pool": {"ns/op": measure(lambda: torch.empty(size, dtype=torch.uint8, device="cuda"), sync)}},
            "copy": with_rates({
                "in-pinned": measure(lambda: a.copy_(host, non_blocking=True), sync),
                "in-pageable": measure(lambda: a.copy_(pageable), sync),
                "out-pinned": measure(lambda: host.copy_(a, non_blocking=True), sync),
                "device": measure(lambda: b.copy_(a), sync),
            }, size),
        }
    return results


def attempt(fn):
    try:
        return fn()
    except Exception as e:  # whatever is wrong with the library, the report says it
        return {"unavailable": "%s: %s" % (type(e).__name__, e)}


print(json.dumps({"cupy": attempt(cupy_results), "torch": attempt(torch_results)}))
