"""Has NumPy work on the buffers of a Go library: python3 tensor.py ./tensor.so"""

import ctypes
import sys

import numpy as np

lib = ctypes.CDLL(sys.argv[1])
python = ctypes.pythonapi

# Without these, ctypes would cut addresses to 32 bits.
for name, *types in (
    ("tensor_new", ctypes.c_longlong, ctypes.POINTER(ctypes.c_int)),
    ("tensor_fill", ctypes.c_int, ctypes.c_float),
    ("tensor_export", ctypes.c_int, ctypes.c_bool, ctypes.POINTER(ctypes.c_size_t)),
    ("tensor_delete", ctypes.c_size_t, ctypes.c_bool),
    ("tensor_sum", ctypes.c_int, ctypes.POINTER(ctypes.c_double)),
    ("tensor_close", ctypes.c_int),
    ("tensor_free", ctypes.c_void_p),
):
    function = getattr(lib, name)
    function.argtypes, function.restype = types, ctypes.c_void_p
lib.tensor_free.restype = None
python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
python.PyCapsule_New.restype = ctypes.py_object

# A destructor's capsule has no references any more, so Python must not make one: it is passed as an address.
is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", python))
pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", python))

NAMES = {False: b"dltensor", True: b"dltensor_versioned"}  # must outlive the capsules


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def unused(capsule):
    """Ends the loan of a capsule that goes. One whose tensor was taken has another name by then."""
    for versioned, name in NAMES.items():
        if is_valid(capsule, name):
            check(lib.tensor_delete(pointer(capsule, name), versioned))


def check(error):
    if error:
        text = ctypes.string_at(error).decode()
        lib.tensor_free(error)
        raise RuntimeError(text)


class Tensor:
    def __init__(self, n):
        self.id = ctypes.c_int()
        check(lib.tensor_new(n, ctypes.byref(self.id)))

    def fill(self, value):
        check(lib.tensor_fill(self.id, value))

    def sum(self):
        sum = ctypes.c_double()
        check(lib.tensor_sum(self.id, ctypes.byref(sum)))
        return sum.value

    def close(self):
        check(lib.tensor_close(self.id))

    def __dlpack_device__(self):
        return (1, 0)  # the host's memory, whatever device computes

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if stream is not None or copy or dl_device not in (None, (1, 0)):
            raise BufferError("the elements are lent where they are, at the host")
        versioned = max_version is not None and max_version[0] >= 1
        address = ctypes.c_size_t()
        check(lib.tensor_export(self.id, versioned, ctypes.byref(address)))
        return python.PyCapsule_New(address.value, NAMES[versioned], unused)


def main():
    x = Tensor(6)
    x.fill(7)  # on the device
    a = np.from_dlpack(x)
    print(a)
    try:
        x.fill(0)
    except RuntimeError as e:
        print("lent:", "has to wait for" in str(e))
    if a.flags.writeable:  # from NumPy 2.1 on
        a[0] = 1
    sum = float(a.sum())
    del a
    print("Go sees the same:", x.sum() == sum)

    x.__dlpack__()  # a capsule that nobody takes
    x.fill(2)  # and so this is free again
    print(x.sum())
    x.close()
    try:
        x.sum()
    except RuntimeError as e:
        print(e)


main()
