"""PyDotCompute's UnifiedBuffer. Without CuPy and a GPU its device array is its host array."""
import importlib.metadata
import logging

logging.disable(logging.CRITICAL)

import numpy
from pydotcompute.core.unified_buffer import UnifiedBuffer

from report import head, timed

probe = UnifiedBuffer(16, numpy.uint8).allocate()
shared = probe.device is probe.host
head("PyDotCompute UnifiedBuffer", importlib.metadata.version("pydotcompute"), "CPU" if shared else "CUDA",
     shared=shared)


def valid(size):
    b = UnifiedBuffer(size, numpy.uint8).allocate()
    b.host[0] = 1
    b.mark_host_dirty()
    b.device

    def once():
        b.device

    timed("acquire-valid", size, once, 100_000)


def ping_pong(size, rounds):
    b = UnifiedBuffer(size, numpy.uint8).allocate()

    def once():
        b.host[0] = 1
        b.mark_host_dirty()
        b.device
        b.mark_device_dirty()
        b.host[0]

    timed("ping-pong", size, once, rounds)


def update(size):
    b = UnifiedBuffer(size, numpy.uint8).allocate()
    b.host[:] = 0

    def once():
        b.host[:1024] = 1
        b.mark_host_dirty()
        b.device

    timed("update-1KiB", size, once, 1000)


def alloc(size):
    def once():
        b = UnifiedBuffer(size, numpy.uint8).allocate()
        b.free()

    timed("alloc-free", size, once, 5_000)


valid(1 << 20)
ping_pong(1, 1000)
ping_pong(1 << 20, 1000)
ping_pong(64 << 20, 100)
update(1 << 30)
alloc(4 << 10)
alloc(1 << 20)
