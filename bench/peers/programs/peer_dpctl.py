"""dpctl.memory: explicit copies to and from USM device memory, by the program's own book-keeping."""
import sys

import dpctl
import dpctl.memory as usm
import numpy

from report import head, timed

platform = sys.argv[1]
q = next((dpctl.SyclQueue(d) for d in dpctl.get_devices()
          if d.backend == dpctl.backend_type.opencl and platform in d.sycl_platform.name), None)
if q is None:
    sys.exit("dpctl sees no OpenCL device of a platform with " + platform + " in its name")
head("dpctl.memory", dpctl.__version__, q.sycl_device.sycl_platform.name, "the program copies by hand")


def ping_pong(size, rounds):
    host, dev = numpy.zeros(size, numpy.uint8), usm.MemoryUSMDevice(size, queue=q)

    def once():
        host[0] += 1
        dev.copy_from_host(host)
        dev.copy_to_host(host)

    timed("ping-pong", size, once, rounds)


def update(size):
    dev = usm.MemoryUSMDevice(size, queue=q)
    dev.memset()
    part = numpy.zeros(1024, numpy.uint8)

    def once():
        part[0] ^= 1
        dev.copy_from_host(part)  # copies as many bytes as the source has

    timed("update-1KiB", size, once, 1000)


def alloc(size):
    def once():
        m = usm.MemoryUSMDevice(size, queue=q)
        del m

    timed("alloc-free", size, once, 2000)


ping_pong(1, 1000)
ping_pong(1 << 20, 50)
ping_pong(64 << 20, 3)
update(1 << 30)
alloc(4 << 10)
alloc(1 << 20)
