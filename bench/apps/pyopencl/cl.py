"""Opens a device of the platform whose name has the word that the command line gives."""

import pyopencl
from program import device, say

_platform = next(p for p in pyopencl.get_platforms() if device in p.name)
context = pyopencl.Context([_platform.get_devices()[0]])
queue = pyopencl.CommandQueue(context)
say("PyOpenCL " + pyopencl.VERSION_TEXT)


def kernels(text, *names):
    program = pyopencl.Program(context, text).build()
    return [pyopencl.Kernel(program, name) for name in names]
